/* Reading and writing the members of a structure through its parameter table (see <repose/param.h>).
 *
 * A table without errors of its own is assumed: names are unique, offsets lie in the target, enumerations have choices.
 * Every failure leaves a sentence that names the key, the value and what would be right. Unknown keys give RP_NOT_FOUND,
 * bad values RP_BAD_ARGUMENT; the target is unchanged on failure. */
#ifndef RP_BASE_PARAM_H
#define RP_BASE_PARAM_H

#include <repose/param.h>
#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

/* Sets every member to its initial value. RP_TEXT becomes NULL: read it with rp__param_text, which gives the initial text. */
void rp__param_defaults(const rp_param *table, void *target);

/* Sets one member from text: numbers with units ("5 cm"), true|false|yes|no|on|off, the name of a choice, any text,
 * three numbers "[1, 2, 3 m]" (a unit after the last one counts for those without). */
rp_result rp__param_set_text(const rp_param *table, void *target, const char *name, const char *value);

/* Sets one member from a number in SI units; RP_VEC3 and RP_TEXT are refused, RP_ENUM takes the index. */
rp_result rp__param_set_number(const rp_param *table, void *target, const char *name, double value);

/* Sets an RP_VEC3 from three numbers in SI units. */
rp_result rp__param_set_vec3(const rp_param *table, void *target, const char *name, const double value[3]);

/* The entry of that name, or NULL. */
const rp_param *rp__param_find(const rp_param *table, const char *name);

/* The known key nearest to `name` by edit distance, or NULL when nothing is near. */
const char *rp__param_nearest(const rp_param *table, const char *name);

/* Leaves "unknown key '...'; did you mean '...'?" (or the list of known keys) and returns RP_NOT_FOUND. */
rp_result rp__param_unknown(const rp_param *table, const char *name);

/* Checks every member against its range: for structures filled by hand. */
rp_result rp__param_check(const rp_param *table, const void *target);

/* The text of a member, in SI units, that rp__param_set_text reads back to the same bits. As snprintf: returns the length
 * it needs, without the end. Texts come as they are, without quotes. */
int rp__param_format(const rp_param *entry, const void *target, char *buffer, size_t size);

/* An RP_TEXT member, or its initial text, or "". */
const char *rp__param_text(const rp_param *entry, const void *target);

/* The name of choice `index` of an RP_ENUM: false when there is no such choice. */
bool rp__param_choice(const rp_param *entry, int index, char *buffer, size_t size);

/* Copies every member; texts are copied too. The members of `to` are overwritten, not freed. */
rp_result rp__param_copy(const rp_param *table, void *to, const void *from);

/* Frees the texts. */
void rp__param_free(const rp_param *table, void *target);

#endif
