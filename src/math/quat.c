#include "math/quat.h"

rp__quat rp__quat_multiply(rp__quat a, rp__quat b)
{
    return (rp__quat){ a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                       a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w };
}

rp__quat rp__quat_conjugate(rp__quat a)
{
    return (rp__quat){ a.w, -a.x, -a.y, -a.z };
}

rp__quat rp__quat_unit(rp__quat a)
{
    double largest = fmax(fmax(fabs(a.w), fabs(a.x)), fmax(fabs(a.y), fabs(a.z)));
    if (!(largest > 0))
        return rp__quat_identity();
    a = (rp__quat){ a.w / largest, a.x / largest, a.y / largest, a.z / largest };
    double n = 1 / sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
    return (rp__quat){ n * a.w, n * a.x, n * a.y, n * a.z };
}

rp__quat rp__quat_from_axis(rp__vec3 axis, double angle)
{
    rp__vec3 u = rp__vec3_unit(axis, rp__vec3_make(0, 0, 0));
    if (rp__vec3_dot(u, u) == 0)
        return rp__quat_identity();
    double s = sin(0.5 * angle);
    return (rp__quat){ cos(0.5 * angle), s * u.x, s * u.y, s * u.z };
}

rp__quat rp__quat_from_vector(rp__vec3 rotation)
{
    double angle = rp__vec3_norm(rotation);
    /* sin(angle/2) / angle; below 1e-4 its series is exact to rounding */
    double s = angle > 1e-4 ? sin(0.5 * angle) / angle : 0.5 - angle * angle / 48;
    return (rp__quat){ cos(0.5 * angle), s * rotation.x, s * rotation.y, s * rotation.z };
}

rp__vec3 rp__quat_to_vector(rp__quat a)
{
    if (a.w < 0)
        a = (rp__quat){ -a.w, -a.x, -a.y, -a.z };
    rp__vec3 v = { a.x, a.y, a.z };
    double n = rp__vec3_norm(v);
    double factor = n > 1e-150 ? 2 * atan2(n, a.w) / n : 2;
    return rp__vec3_scale(factor, v);
}

/* The shorter of the two great arcs. */
rp__quat rp__quat_slerp(rp__quat a, rp__quat b, double t)
{
    double cosine = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
    if (cosine < 0) {
        b = (rp__quat){ -b.w, -b.x, -b.y, -b.z };
        cosine = -cosine;
    }
    /* |a - b| / 2 = sin(angle / 2): accurate for near equal quaternions, where acos is not */
    double dw = a.w - b.w, dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    double angle = 2 * asin(fmin(1, 0.5 * sqrt(dw * dw + dx * dx + dy * dy + dz * dz)));
    double wa = 1 - t, wb = t;
    if (angle > 1e-7) {
        double s = 1 / sin(angle);
        wa = s * sin((1 - t) * angle);
        wb = s * sin(t * angle);
    }
    return rp__quat_unit((rp__quat){ wa * a.w + wb * b.w, wa * a.x + wb * b.x, wa * a.y + wb * b.y, wa * a.z + wb * b.z });
}

/* v + 2 w (u × v) + 2 u × (u × v) */
rp__vec3 rp__quat_rotate(rp__quat a, rp__vec3 v)
{
    rp__vec3 u = { a.x, a.y, a.z };
    rp__vec3 t = rp__vec3_scale(2, rp__vec3_cross(u, v));
    return rp__vec3_add(rp__vec3_axpy(a.w, t, v), rp__vec3_cross(u, t));
}

rp__mat3 rp__quat_matrix(rp__quat a)
{
    double w = a.w, x = a.x, y = a.y, z = a.z;
    return (rp__mat3){ { { 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y) },
                         { 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x) },
                         { 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y) } } };
}

/* Divides by the largest of the four components, which is at least 1/2: stable for every rotation. */
rp__quat rp__quat_from_matrix(const rp__mat3 *r)
{
    double xx = r->m[0][0], yy = r->m[1][1], zz = r->m[2][2];
    double four[4] = { 1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz }; /* 4 w², 4 x², ... */
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (four[i] > four[k])
            k = i;
    double wx = r->m[2][1] - r->m[1][2], wy = r->m[0][2] - r->m[2][0], wz = r->m[1][0] - r->m[0][1]; /* 4 w x, ... */
    double xy = r->m[0][1] + r->m[1][0], xz = r->m[0][2] + r->m[2][0], yz = r->m[1][2] + r->m[2][1]; /* 4 x y, ... */
    rp__quat q;
    switch (k) {
    case 0: q = (rp__quat){ four[0], wx, wy, wz }; break;
    case 1: q = (rp__quat){ wx, four[1], xy, xz }; break;
    case 2: q = (rp__quat){ wy, xy, four[2], yz }; break;
    default: q = (rp__quat){ wz, xz, yz, four[3] }; break;
    }
    return rp__quat_unit(q);
}

rp__quat rp__quat_advance(rp__quat a, rp__vec3 omega, double dt)
{
    return rp__quat_unit(rp__quat_multiply(rp__quat_from_vector(rp__vec3_scale(dt, omega)), a));
}

rp__vec3 rp__pose_apply(const rp__pose *p, rp__vec3 local)
{
    return rp__vec3_add(p->position, rp__quat_rotate(p->orientation, local));
}

rp__vec3 rp__pose_inverse_apply(const rp__pose *p, rp__vec3 world)
{
    return rp__quat_rotate(rp__quat_conjugate(p->orientation), rp__vec3_sub(world, p->position));
}

rp__pose rp__pose_multiply(const rp__pose *a, const rp__pose *b)
{
    return (rp__pose){ rp__pose_apply(a, b->position), rp__quat_multiply(a->orientation, b->orientation) };
}
