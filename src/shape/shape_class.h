/* How a kind of shape plugs in: one table of functions a kind, and a struct that starts with rp_shape.
 * To add a kind: a file with its struct, its table and its rp_shape_… constructor; see analytic.c. */
#ifndef RP_SHAPE_CLASS_H
#define RP_SHAPE_CLASS_H

#include "math/quat.h"
#include "shape/shape_internal.h"

#include <repose/shape.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Volume, centre and inertia about the centre, at density 1. */
typedef struct rp__shape_mass {
    double volume;
    rp__vec3 centre;
    rp__mat3 inertia;
} rp__shape_mass;

typedef struct rp__shape_class {
    const char *name;
    /* Signed distance; writes the unit gradient when `gradient` is not NULL. |d| never exceeds the true distance. */
    double (*distance)(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient);
    void (*destroy)(rp_shape *shape);                             /* what it holds, not the memory itself; or NULL */
    bool (*mass)(const rp_shape *shape, rp__shape_mass *mass);    /* exact, or NULL; false when it has no closed form */
    bool steady;                                                  /* distances of two points never differ by more than the points are apart */
} rp__shape_class;

enum { RP_SHAPE_NUMBERS = 8 };

struct rp_shape {
    const rp__shape_class *type;
    atomic_long references;
    rp__vec3 lower, upper; /* bounds of the inside; lower > upper when it is surely empty */
    /* What it was made from, so that it can be written down (recipe.c); no kind: it cannot. */
    const char *kind;
    double numbers[RP_SHAPE_NUMBERS];
    int number_count;
    rp_shape *const *parts; /* within the shape's own struct */
    int part_count;
    char *path;             /* of a file; owned */
};

/* Notes what a shape was made from: the arguments of its constructor, in their order. */
void rp__shape_note(rp_shape *shape, const char *kind, int count, const double *numbers);
void rp__shape_note_parts(rp_shape *shape, rp_shape *const *parts, int count);

/* A zeroed shape of `size` bytes with one reference, unbounded; NULL when there is no room. */
void *rp__shape_new(const rp__shape_class *type, size_t size);

/* Checks for arguments: the sentence names the shape, the quantity, the value and what would be right. */
rp_result rp__shape_check_point(const char *shape, const char *what, const double p[3]);
rp_result rp__shape_check_positive(const char *shape, const char *what, double value);
rp_result rp__shape_check_not_negative(const char *shape, const char *what, double value);
rp_result rp__shape_check_child(const char *shape, const rp_shape *child);

/* Sizes and positions beyond this [m] are refused: their squares would lose the small ones. */
#define RP_SHAPE_LIMIT 1e12

static inline double rp__shape_distance_at(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    return shape->type->distance(shape, p, gradient);
}

/* Any unit vector orthogonal to the unit vector a. */
rp__vec3 rp__shape_orthogonal(rp__vec3 a);

/* Inertia of a point mass at r: m (r·r 1 - r rᵀ), added to `inertia` with factor m. */
void rp__shape_add_point_inertia(rp__mat3 *inertia, double m, rp__vec3 r);

/* Solid of revolution about the unit `axis`: inertia with `along` about the axis and `across` about any normal to it. */
rp__mat3 rp__shape_axial_inertia(rp__vec3 axis, double along, double across);

#endif
