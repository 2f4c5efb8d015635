/* Vectors and 3×3 matrices by value. */
#ifndef RP_MATH_VEC_H
#define RP_MATH_VEC_H

#include <math.h>

typedef struct rp__vec3 {
    double x, y, z;
} rp__vec3;

/* Row-major: m[row][column]. */
typedef struct rp__mat3 {
    double m[3][3];
} rp__mat3;

static inline rp__vec3 rp__vec3_make(double x, double y, double z)
{
    return (rp__vec3){ x, y, z };
}
static inline rp__vec3 rp__vec3_load(const double *p)
{
    return (rp__vec3){ p[0], p[1], p[2] };
}
static inline void rp__vec3_store(double *p, rp__vec3 a)
{
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}
static inline rp__vec3 rp__vec3_add(rp__vec3 a, rp__vec3 b)
{
    return (rp__vec3){ a.x + b.x, a.y + b.y, a.z + b.z };
}
static inline rp__vec3 rp__vec3_sub(rp__vec3 a, rp__vec3 b)
{
    return (rp__vec3){ a.x - b.x, a.y - b.y, a.z - b.z };
}
static inline rp__vec3 rp__vec3_scale(double s, rp__vec3 a)
{
    return (rp__vec3){ s * a.x, s * a.y, s * a.z };
}
/* a + s b */
static inline rp__vec3 rp__vec3_axpy(double s, rp__vec3 b, rp__vec3 a)
{
    return (rp__vec3){ a.x + s * b.x, a.y + s * b.y, a.z + s * b.z };
}
static inline double rp__vec3_dot(rp__vec3 a, rp__vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline rp__vec3 rp__vec3_cross(rp__vec3 a, rp__vec3 b)
{
    return (rp__vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}
static inline double rp__vec3_norm(rp__vec3 a)
{
    return sqrt(rp__vec3_dot(a, a));
}
/* a / |a|, or `otherwise` when |a| = 0 */
static inline rp__vec3 rp__vec3_unit(rp__vec3 a, rp__vec3 otherwise)
{
    double n = rp__vec3_norm(a);
    return n > 0 ? rp__vec3_scale(1 / n, a) : otherwise;
}

static inline rp__mat3 rp__mat3_identity(void)
{
    return (rp__mat3){ { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
}
static inline rp__vec3 rp__mat3_apply(const rp__mat3 *a, rp__vec3 v)
{
    return (rp__vec3){ a->m[0][0] * v.x + a->m[0][1] * v.y + a->m[0][2] * v.z,
                       a->m[1][0] * v.x + a->m[1][1] * v.y + a->m[1][2] * v.z,
                       a->m[2][0] * v.x + a->m[2][1] * v.y + a->m[2][2] * v.z };
}
/* aᵀ v */
static inline rp__vec3 rp__mat3_apply_transposed(const rp__mat3 *a, rp__vec3 v)
{
    return (rp__vec3){ a->m[0][0] * v.x + a->m[1][0] * v.y + a->m[2][0] * v.z,
                       a->m[0][1] * v.x + a->m[1][1] * v.y + a->m[2][1] * v.z,
                       a->m[0][2] * v.x + a->m[1][2] * v.y + a->m[2][2] * v.z };
}
static inline rp__mat3 rp__mat3_multiply(const rp__mat3 *a, const rp__mat3 *b)
{
    rp__mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j];
    return c;
}
static inline rp__mat3 rp__mat3_transpose(const rp__mat3 *a)
{
    rp__mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a->m[j][i];
    return c;
}
static inline double rp__mat3_determinant(const rp__mat3 *a)
{
    return a->m[0][0] * (a->m[1][1] * a->m[2][2] - a->m[1][2] * a->m[2][1]) -
           a->m[0][1] * (a->m[1][0] * a->m[2][2] - a->m[1][2] * a->m[2][0]) +
           a->m[0][2] * (a->m[1][0] * a->m[2][1] - a->m[1][1] * a->m[2][0]);
}

#endif
