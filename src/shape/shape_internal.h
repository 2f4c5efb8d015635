/* What rooms above shape use besides the public header: distances for many points at once. */
#ifndef RP_SHAPE_INTERNAL_H
#define RP_SHAPE_INTERNAL_H

#include "base/json.h"
#include "base/text.h"
#include "math/quat.h"

#include <repose/shape.h>
#include <stdint.h>

/* distance[i] (and gradient planes gx gy gz, if not NULL) at the points (x[i], y[i], z[i]), in parallel. */
void rp__shape_distances(const rp_shape *shape, int64_t count, const double *x, const double *y, const double *z,
                         double *distance, double *const gradient[3]);

/* Which parts of a combination of shapes decide within `reach` of a place: for many distances there. What it gives is the distance of the shape, to the
 * bit, as long as points are within reach. */
enum { RP_SHAPE_CUTS = 16 };
typedef struct rp__shape_cut {
    int used;              /* combinations in the order of visits; -1: there are too many, nothing is cut */
    uint32_t keep[RP_SHAPE_CUTS];
} rp__shape_cut;

void rp__shape_cut_at(const rp_shape *shape, rp__vec3 place, double reach, rp__shape_cut *cut);
double rp__shape_distance_cut(const rp_shape *shape, const rp__shape_cut *cut, rp__vec3 p, rp__vec3 *gradient);

/* The distance of a shape moved by `pose`. */
double rp__shape_distance_posed(const rp_shape *shape, const rp__pose *pose, rp__vec3 point, rp__vec3 *gradient);

rp_result rp__motion_pose_at(const rp_motion *motion, double t, rp__pose *pose);

/* Volume, centre of mass and inertia tensor (about the centre, density 1) of a shape with bounded inside, by
 * quadrature on a lattice of about `resolution` cells across (exact for meshes). */
rp_result rp__shape_mass_properties(const rp_shape *shape, int dim, int resolution, double *volume, rp__vec3 *centre,
                                    rp__mat3 *inertia);

/* A shape as JSON: {"shape":"sphere","numbers":[0,0,0,0.1]}, {"shape":"union","of":[…]}, {"shape":"mesh","path":"…","numbers":[1]}.
 * The numbers are the arguments of its constructor, so what is read back is the same shape, to the bit. Height fields, and meshes that
 * did not come from a file, cannot be written: RP_UNSUPPORTED. */
rp_result rp__shape_write(const rp_shape *shape, rp__text *text);
rp_result rp__shape_read(rp__json *json, rp_shape **out);

/* The text an expression was made from. */
const char *rp__shape_expression_source(const rp_expression *expression);

#endif
