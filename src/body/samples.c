/* Points on the surface of a free body: where it can touch others. */
#include "body/contacts.h"

#include "base/error.h"
#include "base/memory.h"
#include "shape/shape_internal.h"

#include <math.h>
#include <string.h>

enum { ACROSS = 14, ACROSS_2D = 24, HALVINGS = 40, CLIMBS = 60 };

static rp_result keep(rp__body *body, int64_t *capacity, rp__vec3 point)
{
    if (!rp__base_grow(&body->samples, capacity, body->sample_count + 1, sizeof *body->samples))
        return RP_OUT_OF_MEMORY;
    body->samples[body->sample_count++] = rp__vec3_sub(point, body->centre_local);
    return RP_OK;
}

/* The zero of the distance between a (inside) and b (outside). */
static rp__vec3 crossing(const rp_shape *shape, rp__vec3 a, rp__vec3 b)
{
    for (int k = 0; k < HALVINGS; k++) {
        rp__vec3 middle = rp__vec3_scale(0.5, rp__vec3_add(a, b));
        double at[3];
        rp__vec3_store(at, middle);
        if (rp_shape_distance(shape, at, NULL) < 0)
            a = middle;
        else
            b = middle;
    }
    return a;
}

/* 2D: where the section at z = 0 crosses the edges of a lattice. */
static rp_result section(rp__body *body, const double *lower, const double *upper)
{
    int64_t capacity = 0;
    double h[2], start[2];
    for (int a = 0; a < 2; a++) {
        h[a] = (upper[a] - lower[a]) / (ACROSS_2D - 0.5);
        start[a] = lower[a] - 0.25 * h[a];
    }
    for (int j = 0; j <= ACROSS_2D; j++)
        for (int i = 0; i <= ACROSS_2D; i++) {
            double at[3] = { start[0] + h[0] * i, start[1] + h[1] * j, 0 };
            double here = rp_shape_distance(body->def.shape, at, NULL);
            for (int a = 0; a < 2; a++) {
                double next[3] = { at[0], at[1], 0 };
                next[a] += h[a];
                double there = rp_shape_distance(body->def.shape, next, NULL);
                if ((here < 0) == (there < 0))
                    continue;
                rp__vec3 p = rp__vec3_load(at), q = rp__vec3_load(next);
                RP_TRY(keep(body, &capacity, here < 0 ? crossing(body->def.shape, p, q) : crossing(body->def.shape, q, p)));
            }
        }
    return RP_OK;
}

/* The point on the surface farthest along a direction, as far as a climb from the farthest sample gets: up, back to the surface, with steps that shrink.
 * Samples of a lattice cut edges and corners, and these are what touches first. */
static rp__vec3 farthest(const rp__body *body, rp__vec3 along)
{
    rp__vec3 best = rp__vec3_add(body->samples[0], body->centre_local);
    for (int64_t i = 1; i < body->sample_count; i++) {
        rp__vec3 x = rp__vec3_add(body->samples[i], body->centre_local);
        if (rp__vec3_dot(along, x) > rp__vec3_dot(along, best))
            best = x;
    }
    double length = 0.1 * body->radius;
    for (int k = 0; k < CLIMBS; k++) {
        rp__vec3 x = rp__vec3_axpy(length, along, best);
        double at[3], n[3], off = INFINITY;
        for (int m = 0; m < 4 && fabs(off) > 1e-12 * body->radius; m++) {
            rp__vec3_store(at, x);
            off = rp_shape_distance(body->def.shape, at, n);
            x = rp__vec3_axpy(-off, rp__vec3_load(n), x);
        }
        if (rp__vec3_dot(along, x) > rp__vec3_dot(along, best) && fabs(off) < 1e-6 * body->radius)
            best = x;
        else
            length *= 0.5;
    }
    return best;
}

/* Corners, edges and tips: the farthest points along the axes and between them. */
static rp_result add_tips(rp__body *body, int dim)
{
    int64_t capacity = body->sample_count;
    rp__vec3 tips[27];
    int count = 0;
    if (capacity == 0)
        return RP_OK;
    for (int k = 0; k < (dim == 2 ? 9 : 27); k++) {
        rp__vec3 along = { k % 3 - 1, k / 3 % 3 - 1, dim == 2 ? 0 : k / 9 - 1 };
        if (!(rp__vec3_norm(along) > 0))
            continue;
        rp__vec3 tip = farthest(body, rp__vec3_scale(1 / rp__vec3_norm(along), along));
        bool known = false;
        for (int m = 0; m < count; m++)
            known |= rp__vec3_norm(rp__vec3_sub(tip, tips[m])) < 1e-6 * body->radius;
        if (!known)
            tips[count++] = tip;
    }
    for (int m = 0; m < count; m++)
        RP_TRY(keep(body, &capacity, tips[m]));
    return RP_OK;
}

static void measure(rp__body *body, int dim)
{
    double high[3] = { -INFINITY, -INFINITY, -INFINITY }, low[3] = { INFINITY, INFINITY, INFINITY };
    for (int64_t i = 0; i < body->sample_count; i++) {
        double x[3];
        body->radius = fmax(body->radius, rp__vec3_norm(body->samples[i]));
        rp__vec3_store(x, body->samples[i]);
        for (int a = 0; a < 3; a++) {
            low[a] = fmin(low[a], x[a]);
            high[a] = fmax(high[a], x[a]);
        }
    }
    body->thickness = body->radius;
    for (int a = 0; a < dim; a++)
        body->thickness = fmin(body->thickness, 0.5 * (high[a] - low[a]));
}

rp_result rp__body_make_samples(rp__body *body, int dim)
{
    double lower[3], upper[3];
    rp_shape_bounds(body->def.shape, lower, upper);
    if (dim == 2)
        RP_TRY(section(body, lower, upper));
    else {
        rp_mesh mesh;
        for (int a = 0; a < 3; a++) { /* off the lattice of the shape's own faces */
            double margin = 0.013 * (upper[a] - lower[a]);
            lower[a] -= margin, upper[a] += 0.9 * margin;
        }
        RP_TRY(rp_shape_triangulate(body->def.shape, lower, upper, ACROSS, &mesh));
        int64_t capacity = 0;
        rp_result result = RP_OK;
        for (int64_t i = 0; i < mesh.vertex_count && result == RP_OK; i++)
            result = keep(body, &capacity, rp__vec3_load(mesh.vertices + 3 * i));
        rp_mesh_free(&mesh);
        RP_TRY(result);
    }
    measure(body, dim);
    RP_TRY(add_tips(body, dim));
    measure(body, dim);
    return RP_OK;
}
