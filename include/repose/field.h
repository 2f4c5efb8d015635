/* Fields of particles: what they are and how to look at them. */
#ifndef REPOSE_FIELD_H
#define REPOSE_FIELD_H

#include <repose/export.h>
#include <stdint.h>

RP_BEGIN

typedef enum rp_type { RP_F64, RP_F32, RP_I64, RP_I32 } rp_type;

typedef struct rp_field_info {
    const char *name;
    rp_type type;
    int components; /* 1 scalar, 3 vector, 6 symmetric tensor (xx yy zz xy xz yz), 9 matrix (row-major) */
    const char *unit;
    int saved;      /* written to frames (checkpoints hold every field) */
} rp_field_info;

/* A field as it lies in memory: component c of particle i is element c * stride + i of `data`. */
typedef struct rp_field_view {
    rp_field_info info;
    const void *data;
    int64_t count;
    int64_t stride;
} rp_field_view;

RP_END
#endif
