/* Unit quaternions (w, x, y, z) for orientations, and rigid poses. */
#ifndef RP_MATH_QUAT_H
#define RP_MATH_QUAT_H

#include "math/vec.h"

typedef struct rp__quat {
    double w, x, y, z;
} rp__quat;

/* x_world = position + rotate(orientation, x_local) */
typedef struct rp__pose {
    rp__vec3 position;
    rp__quat orientation;
} rp__pose;

static inline rp__quat rp__quat_identity(void)
{
    return (rp__quat){ 1, 0, 0, 0 };
}
static inline rp__pose rp__pose_identity(void)
{
    return (rp__pose){ { 0, 0, 0 }, { 1, 0, 0, 0 } };
}
rp__quat rp__quat_multiply(rp__quat a, rp__quat b); /* b first, then a */
rp__quat rp__quat_conjugate(rp__quat a);
rp__quat rp__quat_unit(rp__quat a);                     /* identity when zero */
rp__quat rp__quat_from_axis(rp__vec3 axis, double angle); /* [rad]; any length of axis */
rp__quat rp__quat_from_vector(rp__vec3 rotation);         /* rotation vector: exp map */
rp__vec3 rp__quat_to_vector(rp__quat a);                  /* its inverse, angle in [0, pi] */
rp__quat rp__quat_slerp(rp__quat a, rp__quat b, double t);
rp__vec3 rp__quat_rotate(rp__quat a, rp__vec3 v);
rp__mat3 rp__quat_matrix(rp__quat a);
rp__quat rp__quat_from_matrix(const rp__mat3 *r);
/* Integrates dq/dt = 1/2 omega q over dt exactly for constant omega (world frame). */
rp__quat rp__quat_advance(rp__quat a, rp__vec3 omega, double dt);

rp__vec3 rp__pose_apply(const rp__pose *p, rp__vec3 local);
rp__vec3 rp__pose_inverse_apply(const rp__pose *p, rp__vec3 world);
rp__pose rp__pose_multiply(const rp__pose *a, const rp__pose *b); /* b first, then a */

#endif
