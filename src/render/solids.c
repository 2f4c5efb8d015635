/* Discs (coins) and ellipsoids for Embree: rays are taken to the unit solid by a linear map. */
#include "math/eigen.h"
#include "render/internal.h"

#include <string.h>

/* The unit coin is |(x, y)| <= 1, |z| <= 1; rows of the map are orthogonal, so distances along rows are as in the world. */
void rp__render_make_disc(solid *s, const double centre[3], double radius, double thickness, const double axis[3])
{
    f3 n = f3_unit(f3_make((float)axis[0], (float)axis[1], (float)axis[2])), a, b;
    f3_frame(n, &a, &b);
    float r = (float)fmax(radius, 1e-30), h = (float)fmax(radius * thickness, 1e-30);
    f3 rows[3] = { f3_scale(1 / r, a), f3_scale(1 / r, b), f3_scale(1 / h, n) };
    float nn[3] = { n.x, n.y, n.z };
    for (int d = 0; d < 3; d++) {
        s->centre[d] = (float)centre[d];
        s->bound[d] = r * sqrtf(fmaxf(0, 1 - nn[d] * nn[d])) + h * fabsf(nn[d]);
        s->map[3 * d] = rows[d].x, s->map[3 * d + 1] = rows[d].y, s->map[3 * d + 2] = rows[d].z;
    }
}

/* F = sum a aᵀ: the ellipsoid is { F^(1/2) y, |y| <= 1 }, so the map is F^(-1/2) and the box has half sizes sqrt(F_dd). */
bool rp__render_make_ellipsoid(solid *s, const double centre[3], const double f[6], double scale)
{
    double values[3];
    rp__mat3 v;
    for (int c = 0; c < 6; c++)
        if (!isfinite(f[c]))
            return false;
    rp__math_eigen_sym3(f, values, &v);
    double largest = values[2];
    if (!(largest > 0))
        return false;
    for (int d = 0; d < 3; d++) {
        s->centre[d] = (float)centre[d];
        s->bound[d] = (float)(scale * sqrt(fmax(f[d], 1e-6 * largest)));
        for (int e = 0; e < 3; e++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += v.m[d][k] * v.m[e][k] / sqrt(fmax(values[k], 1e-6 * largest));
            s->map[3 * d + e] = (float)(sum / scale);
        }
    }
    return true;
}

static void bounds(const struct RTCBoundsFunctionArguments *args)
{
    const geometry *g = args->geometryUserPtr;
    const solid *s = &g->solids[args->primID];
    float c[3];
    for (int d = 0; d < 3; d++)
        c[d] = s->centre[d];
    for (unsigned d = 0; d < 3 && g->shutter > 0; d++)
        c[d] += ((float)args->timeStep - 0.5f) * g->shutter * g->velocity[3 * args->primID + d];
    struct RTCBounds *b = args->bounds_o;
    b->lower_x = c[0] - s->bound[0], b->lower_y = c[1] - s->bound[1], b->lower_z = c[2] - s->bound[2];
    b->upper_x = c[0] + s->bound[0], b->upper_y = c[1] + s->bound[1], b->upper_z = c[2] + s->bound[2];
}

/* The first hit of o + t d with the unit ball in (near, far); the normal in the unit space. */
static bool hit_ball(f3 o, f3 d, float near, float far, float *t, f3 *normal)
{
    float a = f3_dot(d, d), b = f3_dot(o, d);
    f3 closest = f3_axpy(-b / a, d, o); /* better conditioned than b² - a c for a far origin */
    float disc = 1 - f3_dot(closest, closest);
    if (disc < 0)
        return false;
    float half = sqrtf(disc / a);
    for (int k = 0; k < 2; k++) {
        float at = -b / a + (k ? half : -half);
        if (at > near && at < far) {
            *t = at;
            *normal = f3_axpy(at, d, o);
            return true;
        }
    }
    return false;
}

static bool hit_coin(f3 o, f3 d, float near, float far, float *t, f3 *normal)
{
    float best = far;
    bool found = false;
    if (d.z != 0)
        for (int k = 0; k < 2; k++) {
            float face = k ? 1.0f : -1.0f, at = (face - o.z) / d.z;
            float x = o.x + at * d.x, y = o.y + at * d.y;
            if (at > near && at < best && x * x + y * y <= 1) {
                best = at, found = true;
                *normal = f3_make(0, 0, face);
            }
        }
    float a = d.x * d.x + d.y * d.y;
    if (a > 0) {
        float b = (o.x * d.x + o.y * d.y) / a;
        float cx = o.x - b * d.x, cy = o.y - b * d.y, disc = 1 - cx * cx - cy * cy;
        if (disc >= 0)
            for (int k = 0; k < 2; k++) {
                float at = -b + (k ? 1.0f : -1.0f) * sqrtf(disc / a), z = o.z + at * d.z;
                if (at > near && at < best && fabsf(z) <= 1) {
                    best = at, found = true;
                    *normal = f3_make(o.x + at * d.x, o.y + at * d.y, 0);
                }
            }
    }
    *t = best;
    return found;
}

static f3 apply(const float *m, f3 v)
{
    return f3_make(m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                   m[6] * v.x + m[7] * v.y + m[8] * v.z);
}

static bool hit_solid(const geometry *g, unsigned prim, f3 o, f3 d, float time, float near, float far, float *t, f3 *normal)
{
    const solid *s = &g->solids[prim];
    f3 c = f3_make(s->centre[0], s->centre[1], s->centre[2]);
    if (g->shutter > 0)
        c = f3_axpy((time - 0.5f) * g->shutter,
                    f3_make(g->velocity[3 * prim], g->velocity[3 * prim + 1], g->velocity[3 * prim + 2]), c);
    f3 lo = apply(s->map, f3_sub(o, c)), ld = apply(s->map, d), n;
    if (!(g->kind == GEOMETRY_DISCS ? hit_coin : hit_ball)(lo, ld, near, far, t, &n))
        return false;
    /* Normals go back by the transpose. */
    const float *m = s->map;
    *normal = f3_make(m[0] * n.x + m[3] * n.y + m[6] * n.z, m[1] * n.x + m[4] * n.y + m[7] * n.z,
                      m[2] * n.x + m[5] * n.y + m[8] * n.z);
    return true;
}

/* Embree hands over N rays as planes of N numbers, in the order of the members of RTCRay and RTCHit. */
enum { ORG = 0, NEAR = 3, DIR = 4, TIME = 7, FAR = 8, RAY_PLANES = 12, NORMAL = 0, U = 3, V = 4, PRIM = 5, GEOM = 6, INST = 7 };

static bool hit_ray(const geometry *g, unsigned prim, const float *ray, unsigned n, unsigned i, float *t, f3 *normal)
{
    f3 o = f3_make(ray[ORG * n + i], ray[(ORG + 1) * n + i], ray[(ORG + 2) * n + i]);
    f3 d = f3_make(ray[DIR * n + i], ray[(DIR + 1) * n + i], ray[(DIR + 2) * n + i]);
    return hit_solid(g, prim, o, d, ray[TIME * n + i], ray[NEAR * n + i], ray[FAR * n + i], t, normal);
}

static void intersect(const struct RTCIntersectFunctionNArguments *args)
{
    unsigned n = args->N;
    float *ray = (float *)(void *)args->rayhit, *hit = ray + (size_t)RAY_PLANES * n;
    for (unsigned i = 0; i < n; i++) {
        float t;
        f3 normal;
        if (!args->valid[i] || !hit_ray(args->geometryUserPtr, args->primID, ray, n, i, &t, &normal))
            continue;
        ray[FAR * n + i] = t;
        hit[NORMAL * n + i] = normal.x, hit[(NORMAL + 1) * n + i] = normal.y, hit[(NORMAL + 2) * n + i] = normal.z;
        hit[U * n + i] = hit[V * n + i] = 0;
        unsigned none = RTC_INVALID_GEOMETRY_ID;
        memcpy(&hit[PRIM * n + i], &args->primID, sizeof none);
        memcpy(&hit[GEOM * n + i], &args->geomID, sizeof none);
        memcpy(&hit[INST * n + i], &none, sizeof none);
    }
}

static void occluded(const struct RTCOccludedFunctionNArguments *args)
{
    float *ray = (float *)(void *)args->ray, t;
    f3 normal;
    for (unsigned i = 0; i < args->N; i++)
        if (args->valid[i] && hit_ray(args->geometryUserPtr, args->primID, ray, args->N, i, &t, &normal))
            ray[FAR * args->N + i] = -INFINITY;
}

void rp__render_solid_callbacks(RTCGeometry g, geometry *solids)
{
    rtcSetGeometryUserData(g, solids);
    rtcSetGeometryBoundsFunction(g, bounds, NULL);
    rtcSetGeometryIntersectFunction(g, intersect);
    rtcSetGeometryOccludedFunction(g, occluded);
}
