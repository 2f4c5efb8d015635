#include "shape/shape_class.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>

void *rp__shape_new(const rp__shape_class *type, size_t size)
{
    rp_shape *shape = rp__base_alloc_zero(size);
    if (!shape)
        return NULL;
    shape->type = type;
    atomic_init(&shape->references, 1);
    shape->lower = rp__vec3_make(-INFINITY, -INFINITY, -INFINITY);
    shape->upper = rp__vec3_make(INFINITY, INFINITY, INFINITY);
    return shape;
}

rp_shape *rp_shape_retain(const rp_shape *shape)
{
    rp_shape *kept = (rp_shape *)(uintptr_t)shape; /* the count is not part of what const protects */
    if (kept)
        atomic_fetch_add_explicit(&kept->references, 1, memory_order_relaxed);
    return kept;
}

void rp_shape_release(rp_shape *shape)
{
    if (!shape || atomic_fetch_sub_explicit(&shape->references, 1, memory_order_acq_rel) != 1)
        return;
    if (shape->type->destroy)
        shape->type->destroy(shape);
    rp__base_free(shape->path);
    rp__base_free(shape);
}

double rp_shape_distance(const rp_shape *shape, const double point[3], double gradient[3])
{
    rp__vec3 g;
    double d = rp__shape_distance_at(shape, rp__vec3_load(point), gradient ? &g : NULL);
    if (gradient)
        rp__vec3_store(gradient, g);
    return d;
}

void rp_shape_bounds(const rp_shape *shape, double lower[3], double upper[3])
{
    rp__vec3_store(lower, shape->lower);
    rp__vec3_store(upper, shape->upper);
}

double rp__shape_distance_posed(const rp_shape *shape, const rp__pose *pose, rp__vec3 point, rp__vec3 *gradient)
{
    double d = rp__shape_distance_at(shape, rp__pose_inverse_apply(pose, point), gradient);
    if (gradient)
        *gradient = rp__quat_rotate(pose->orientation, *gradient);
    return d;
}

typedef struct batch {
    const rp_shape *shape;
    const double *x, *y, *z;
    double *distance;
    double *const *gradient;
} batch;

static void batch_range(void *context, int64_t begin, int64_t end, int worker)
{
    const batch *b = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 p = { b->x[i], b->y[i], b->z ? b->z[i] : 0 }, g;
        b->distance[i] = rp__shape_distance_at(b->shape, p, b->gradient ? &g : NULL);
        if (b->gradient)
            b->gradient[0][i] = g.x, b->gradient[1][i] = g.y, b->gradient[2][i] = g.z;
    }
}

void rp__shape_distances(const rp_shape *shape, int64_t count, const double *x, const double *y, const double *z,
                         double *distance, double *const gradient[3])
{
    batch b = { shape, x, y, z, distance, gradient };
    rp__exec_for(count, 512, batch_range, &b);
}

/* ---- checks ---- */

rp_result rp__shape_check_point(const char *shape, const char *what, const double p[3])
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(p[i]) <= RP_SHAPE_LIMIT))
            return rp__base_fail(RP_BAD_ARGUMENT, "%s: component %c of %s is %g; it must be a finite number, at most %g in size",
                                 shape, "xyz"[i], what, p[i], RP_SHAPE_LIMIT);
    return RP_OK;
}

rp_result rp__shape_check_positive(const char *shape, const char *what, double value)
{
    if (value > 0 && value <= RP_SHAPE_LIMIT)
        return RP_OK;
    return rp__base_fail(RP_BAD_ARGUMENT, "%s: %s is %g; it must be greater than 0 and at most %g", shape, what, value,
                         RP_SHAPE_LIMIT);
}

rp_result rp__shape_check_not_negative(const char *shape, const char *what, double value)
{
    if (value >= 0 && value <= RP_SHAPE_LIMIT)
        return RP_OK;
    return rp__base_fail(RP_BAD_ARGUMENT, "%s: %s is %g; it must be 0 or more and at most %g", shape, what, value, RP_SHAPE_LIMIT);
}

rp_result rp__shape_check_child(const char *shape, const rp_shape *child)
{
    return child ? RP_OK : rp__base_fail(RP_BAD_ARGUMENT, "%s: one of its shapes is missing (NULL)", shape);
}

/* ---- small geometry ---- */

rp__vec3 rp__shape_orthogonal(rp__vec3 a)
{
    rp__vec3 e = fabs(a.x) <= fabs(a.y) && fabs(a.x) <= fabs(a.z) ? rp__vec3_make(1, 0, 0)
                 : fabs(a.y) <= fabs(a.z)                         ? rp__vec3_make(0, 1, 0)
                                                                  : rp__vec3_make(0, 0, 1);
    return rp__vec3_unit(rp__vec3_cross(a, e), rp__vec3_make(1, 0, 0));
}

void rp__shape_add_point_inertia(rp__mat3 *inertia, double m, rp__vec3 r)
{
    double c[3] = { r.x, r.y, r.z }, rr = rp__vec3_dot(r, r);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            inertia->m[i][j] += m * ((i == j ? rr : 0) - c[i] * c[j]);
}

rp__mat3 rp__shape_axial_inertia(rp__vec3 axis, double along, double across)
{
    double c[3] = { axis.x, axis.y, axis.z };
    rp__mat3 out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.m[i][j] = (i == j ? across : 0) + (along - across) * c[i] * c[j];
    return out;
}
