/* The particle store: structure of arrays driven by one field table, the same in 2D and 3D (z = 0 in 2D). */
#ifndef RP_PARTICLES_PARTICLES_H
#define RP_PARTICLES_PARTICLES_H

#include <repose/field.h>
#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields every method has. A method adds its own with rp__particles_add_field. */
#define RP_PARTICLE_FIELDS(F) /* type, C type, name, components, unit, saved */ \
    F(RP_F64, double, position, 3, "m", 1)                                      \
    F(RP_F64, double, velocity, 3, "m/s", 1)                                    \
    F(RP_F64, double, volume, 1, "m3", 1)  /* of the grains, without the voids (an area in 2D: m2) */ \
    F(RP_F64, double, mass, 1, "kg", 1)                                         \
    F(RP_I32, int32_t, material, 1, "", 1)                                      \
    F(RP_I64, int64_t, id, 1, "", 1)

enum { RP_PARTICLES_MAX_FIELDS = 32 };

typedef struct rp__particles {
    int64_t count, capacity; /* planes are `capacity` elements apart */
    int64_t next_id;         /* ids are never used twice */
    int fields;
    rp_field_info info[RP_PARTICLES_MAX_FIELDS];
    void *data[RP_PARTICLES_MAX_FIELDS];
    /* The planes of the common fields, kept up to date: x[d][i], v[d][i]. */
    double *x[3], *v[3], *volume, *mass;
    int32_t *material;
    int64_t *id;
    /* Scratch memory, kept from call to call. */
    void *spare;
    size_t spare_size;
} rp__particles;

size_t rp__particles_type_size(rp_type type);

rp_result rp__particles_init(rp__particles *p); /* the common fields, no particle */
void rp__particles_free(rp__particles *p);

/* Adds a field (zero for particles already there); `info->name` must outlive the store. Its index in *index. */
rp_result rp__particles_add_field(rp__particles *p, const rp_field_info *info, int *index);
int rp__particles_find(const rp__particles *p, const char *name); /* index or -1 */

/* Component plane of a field: element i is particle i. Valid until the store grows or is sorted. */
void *rp__particles_plane(const rp__particles *p, int field, int component);
static inline double *rp__particles_f64(const rp__particles *p, int field, int component)
{
    return (double *)rp__particles_plane(p, field, component);
}

/* Makes room for at least `capacity` particles; never shrinks. Nothing changes on failure. */
rp_result rp__particles_reserve(rp__particles *p, int64_t capacity);

/* Appends `count` particles, all fields zero, ids fresh; *first (may be NULL) is the index of the first. */
rp_result rp__particles_append(rp__particles *p, int64_t count, int64_t *first);
/* The first `count` particles of a store without any, at `points` (x y z each), all other fields zero, ids fresh. Takes the points
 * over and frees them, also on failure: before the other fields are there, so that there is never room for both. */
rp_result rp__particles_start(rp__particles *p, double *points, int64_t count);
void rp__particles_copy_one(rp__particles *p, int64_t from, int64_t to); /* every field, id too */

/* Removes the particles with remove[i] != 0, keeping the order of the others; returns how many went. */
int64_t rp__particles_remove(rp__particles *p, const unsigned char *remove);

/* Reorders every field: new particle i is the old particle order[i]; `order` must be a permutation of 0 … count-1, and count
 * below 2^31; it may lie in the scratch memory behind the part that the permutation takes. Nothing changes on failure. */
rp_result rp__particles_permute(rp__particles *p, const int32_t *order);

/* Scratch memory of the store, at least `bytes` of it, for whoever needs some for a while: sorting, and the nodes of a step. What
 * it holds is lost when it grows; a permutation takes its first rp__particles_permute_bytes. NULL: there is no memory for it. */
void *rp__particles_scratch(rp__particles *p, size_t bytes);
size_t rp__particles_permute_bytes(const rp__particles *p);

rp_field_view rp__particles_view(const rp__particles *p, int field);

#endif
