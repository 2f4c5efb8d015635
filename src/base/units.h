/* Numbers with units, and numbers as text, whatever the caller's locale. */
#ifndef RP_BASE_UNITS_H
#define RP_BASE_UNITS_H

#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads "5 cm", "2.2 g/cm3", "1 mPa s" into SI units and checks the dimension against `expected_unit` ("m", "kg/m3", "rad",
 * "" for a plain number). A number without unit is in SI already. On failure nothing is set and the sentence names the value
 * and what would be right; RP_BAD_ARGUMENT. */
rp_result rp__units_parse(const char *text, const char *expected_unit, double *si_value);

/* The same, with the name of the key in the sentence ("'5 kg' is a mass [kg]; 'cell_size' needs a length [m]"). */
rp_result rp__units_parse_key(const char *text, const char *key, const char *expected_unit, double *si_value);

/* The factor to SI of a unit alone ("kPa" -> 1000) and whether it is a unit at all. */
bool rp__units_factor(const char *unit, double *factor);

/* What an SI unit measures: "length" for "m"; "quantity" when it has no name of its own. */
const char *rp__units_quantity(const char *unit);

/* strtod in the C locale, without hexadecimal, infinities and NaN: the end of the number, or NULL when there is none
 * or it is too large for a double. */
const char *rp__units_number(const char *text, double *value);

/* The shortest decimal text that reads back to the same double ("0.1", "1e-07", "inf", "nan"); a point whatever the
 * locale. As snprintf. */
int rp__units_format(double value, char *buffer, size_t size);

#endif
