/* Parameter tables: one table drives defaults, range checks, the scene parser, the schema and the reference page. */
#ifndef REPOSE_PARAM_H
#define REPOSE_PARAM_H

#include <repose/export.h>
#include <repose/result.h>
#include <stddef.h>

RP_BEGIN

typedef enum rp_param_type {
    RP_REAL, /* double */
    RP_INT,  /* int64_t */
    RP_BOOL, /* bool */
    RP_ENUM, /* int, the index into `choices` */
    RP_TEXT, /* char *, owned by the target; NULL is "" */
    RP_VEC3  /* double[3] */
} rp_param_type;

/* One parameter. A table is an array of them that ends with { 0 }. */
typedef struct rp_param {
    const char *name;
    rp_param_type type;
    size_t offset;               /* of the member in the target structure */
    double initial, least, most; /* default and range (least = most: no range); for an RP_VEC3 of every component */
    const char *unit;            /* SI unit such as "m", "kg/m3", "rad"; "" for a plain number; NULL is "" */
    const char *help;            /* one sentence */
    const char *choices;         /* "exact|linearised" for RP_ENUM, initial text for RP_TEXT, else NULL */
} rp_param;

/* A number with a unit, "5 ms", in SI units; a number alone is in SI already. `unit` is what is wanted ("s"; "" for a plain number):
 * anything else is refused with a sentence. */
RP_API rp_result rp_parse_quantity(const char *text, const char *unit, double *value);

RP_END
#endif
