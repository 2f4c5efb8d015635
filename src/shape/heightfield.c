/* The solid below a bilinear height field, flat beyond its border. The distance is that to the nearest point of the bilinear
 * patches, found in a tree of the least and greatest heights. */
#include "base/error.h"
#include "base/memory.h"
#include "shape/image.h"
#include "shape/shape_class.h"

#include <math.h>
#include <string.h>

enum { LEVELS = 32 };

typedef struct span {
    double low, high;
} span;

typedef struct heightfield {
    rp_shape base;
    double *heights; /* columns × rows, row after row */
    int64_t columns, rows;
    double lower[2], upper[2], step[2];
    span *spans;     /* the levels of the tree, the cells first */
    int levels;
    int64_t first[LEVELS], wide[LEVELS], high[LEVELS]; /* where a level starts, and its size */
} heightfield;

static double height_at(const heightfield *s, int64_t i, int64_t j)
{
    return s->heights[j * s->columns + i];
}

/* The cell of a coordinate clamped to the field, and the place in it in [0, 1]. */
static int64_t cell_of(const heightfield *s, int axis, double x, double *within)
{
    int64_t cells = (axis == 0 ? s->columns : s->rows) - 1;
    double f = (fmin(fmax(x, s->lower[axis]), s->upper[axis]) - s->lower[axis]) / s->step[axis];
    int64_t i = (int64_t)f;
    i = i < 0 ? 0 : i >= cells ? cells - 1 : i;
    *within = fmin(fmax(f - (double)i, 0), 1);
    return i;
}

/* z = a + b u + c v + e u v over a cell. */
typedef struct patch {
    double x, y, a, b, c, e;
} patch;

static patch patch_of(const heightfield *s, int64_t i, int64_t j)
{
    double h00 = height_at(s, i, j), h10 = height_at(s, i + 1, j), h01 = height_at(s, i, j + 1), h11 = height_at(s, i + 1, j + 1);
    return (patch){ s->lower[0] + (double)i * s->step[0], s->lower[1] + (double)j * s->step[1], h00, h10 - h00, h01 - h00,
                    h00 - h10 - h01 + h11 };
}

/* ---- the nearest point ---- */

typedef struct search {
    const heightfield *s;
    rp__vec3 p;
    double squared;
    rp__vec3 nearest;
} search;

static double offer(search *f, rp__vec3 q)
{
    rp__vec3 r = rp__vec3_sub(f->p, q);
    double squared = rp__vec3_dot(r, r);
    if (squared < f->squared) {
        f->squared = squared;
        f->nearest = q;
    }
    return squared;
}

static rp__vec3 on_patch(const heightfield *s, const patch *k, double u, double v)
{
    return rp__vec3_make(k->x + u * s->step[0], k->y + v * s->step[1], k->a + k->b * u + k->c * v + k->e * u * v);
}

static double unit_clamp(double x)
{
    return fmin(fmax(x, 0), 1);
}

/* For fixed v the patch is a line in u: its nearest point, and the same for the other. */
static void line_steps(const search *f, const patch *k, double *u, double *v)
{
    double dx = f->s->step[0], dy = f->s->step[1];
    double slope = k->b + k->e * *v, rise = f->p.z - (k->a + k->c * *v);
    *u = unit_clamp(((f->p.x - k->x) * dx + rise * slope) / (dx * dx + slope * slope));
    slope = k->c + k->e * *u, rise = f->p.z - (k->a + k->b * *u);
    *v = unit_clamp(((f->p.y - k->y) * dy + rise * slope) / (dy * dy + slope * slope));
}

/* A step of Newton's method on the squared distance, kept when it does not increase it. */
static bool newton_step(const search *f, const patch *k, double *u, double *v, double *value)
{
    double dx = f->s->step[0], dy = f->s->step[1];
    rp__vec3 r = rp__vec3_sub(on_patch(f->s, k, *u, *v), f->p);
    double zu = k->b + k->e * *v, zv = k->c + k->e * *u;
    double gu = r.x * dx + r.z * zu, gv = r.y * dy + r.z * zv;
    double uu = dx * dx + zu * zu, vv = dy * dy + zv * zv, uv = zu * zv + r.z * k->e, det = uu * vv - uv * uv;
    if (!(det > 1e-12 * uu * vv))
        return false;
    double nu = unit_clamp(*u - (vv * gu - uv * gv) / det), nv = unit_clamp(*v - (uu * gv - uv * gu) / det);
    rp__vec3 moved = rp__vec3_sub(on_patch(f->s, k, nu, nv), f->p);
    double next = rp__vec3_dot(moved, moved);
    if (next > *value)
        return false;
    *u = nu, *v = nv, *value = next;
    return true;
}

static void search_patch(search *f, int64_t i, int64_t j)
{
    patch k = patch_of(f->s, i, j);
    double u = 0.5, v = 0.5, value = INFINITY;
    for (int n = 0; n < 9; n++) { /* start from the nearest of nine points */
        double a = 0.5 * (n % 3), b = 0.5 * (n / 3 % 3);
        rp__vec3 r = rp__vec3_sub(on_patch(f->s, &k, a, b), f->p);
        if (rp__vec3_dot(r, r) < value)
            value = rp__vec3_dot(r, r), u = a, v = b;
    }
    for (int n = 0; n < 30; n++) {
        double was_u = u, was_v = v;
        if (!newton_step(f, &k, &u, &v, &value) || (u == was_u && v == was_v)) {
            line_steps(f, &k, &u, &v);
            rp__vec3 r = rp__vec3_sub(on_patch(f->s, &k, u, v), f->p);
            value = rp__vec3_dot(r, r);
        }
        if (fabs(u - was_u) + fabs(v - was_v) < 1e-13)
            break;
    }
    offer(f, on_patch(f->s, &k, u, v));
}

static double outside(double x, double low, double high)
{
    return x < low ? low - x : x > high ? x - high : 0;
}

static double to_node(const search *f, int level, int64_t i, int64_t j)
{
    const heightfield *s = f->s;
    span z = s->spans[s->first[level] + j * s->wide[level] + i];
    double size = (double)((int64_t)1 << level);
    double x0 = s->lower[0] + (double)i * size * s->step[0], y0 = s->lower[1] + (double)j * size * s->step[1];
    double dx = outside(f->p.x, x0, fmin(x0 + size * s->step[0], s->upper[0]));
    double dy = outside(f->p.y, y0, fmin(y0 + size * s->step[1], s->upper[1]));
    double dz = outside(f->p.z, z.low, z.high);
    return dx * dx + dy * dy + dz * dz;
}

static void search_tree(search *f, int level, int64_t i, int64_t j)
{
    if (level == 0) {
        search_patch(f, i, j);
        return;
    }
    const heightfield *s = f->s;
    double distance[4];
    int order[4], count = 0;
    for (int n = 0; n < 4; n++) {
        int64_t a = 2 * i + (n & 1), b = 2 * j + (n >> 1);
        distance[n] = a < s->wide[level - 1] && b < s->high[level - 1] ? to_node(f, level - 1, a, b) : INFINITY;
        if (!(distance[n] < f->squared))
            continue;
        int at = count++;
        for (; at > 0 && distance[order[at - 1]] > distance[n]; at--)
            order[at] = order[at - 1];
        order[at] = n;
    }
    for (int n = 0; n < count; n++)
        if (distance[order[n]] < f->squared)
            search_tree(f, level - 1, 2 * i + (order[n] & 1), 2 * j + (order[n] >> 1));
}

/* Beyond the border along `axis` the surface is the profile of that border, extruded; it stays flat past its ends. */
static void search_border(search *f, int axis, bool upper)
{
    const heightfield *s = f->s;
    int other = 1 - axis;
    int64_t n = other == 0 ? s->columns : s->rows, fixed = !upper ? 0 : (axis == 0 ? s->columns : s->rows) - 1;
    double across = axis == 0 ? f->p.x : f->p.y, along = other == 0 ? f->p.x : f->p.y;
    double reach = sqrt(f->squared), at;
    int64_t begin = cell_of(s, other, along - reach, &at), end = cell_of(s, other, along + reach, &at);
    for (int64_t k = begin; k <= end; k++) {
        double z0 = other == 0 ? height_at(s, k, fixed) : height_at(s, fixed, k);
        double z1 = other == 0 ? height_at(s, k + 1, fixed) : height_at(s, fixed, k + 1);
        double l0 = s->lower[other] + (double)k * s->step[other], dl = s->step[other], dz = z1 - z0;
        double t = unit_clamp(((along - l0) * dl + (f->p.z - z0) * dz) / (dl * dl + dz * dz));
        double l = l0 + t * dl, z = z0 + t * dz;
        offer(f, axis == 0 ? rp__vec3_make(across, l, z) : rp__vec3_make(l, across, z));
        if (k == 0 && along < s->lower[other])
            offer(f, axis == 0 ? rp__vec3_make(across, along, z0) : rp__vec3_make(along, across, z0));
        if (k == n - 2 && along > s->upper[other])
            offer(f, axis == 0 ? rp__vec3_make(across, along, z1) : rp__vec3_make(along, across, z1));
    }
}

static double heightfield_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const heightfield *s = (const heightfield *)shape;
    double u, v;
    int64_t i = cell_of(s, 0, p.x, &u), j = cell_of(s, 1, p.y, &v);
    patch k = patch_of(s, i, j);
    double height = k.a + k.b * u + k.c * v + k.e * u * v;
    search f = { s, p, INFINITY, { 0, 0, 0 } };
    offer(&f, rp__vec3_make(p.x, p.y, height)); /* straight above or below */
    int top = s->levels - 1;
    if (to_node(&f, top, 0, 0) < f.squared)
        search_tree(&f, top, 0, 0);
    if (p.x < s->lower[0])
        search_border(&f, 0, false);
    if (p.x > s->upper[0])
        search_border(&f, 0, true);
    if (p.y < s->lower[1])
        search_border(&f, 1, false);
    if (p.y > s->upper[1])
        search_border(&f, 1, true);
    double d = sqrt(f.squared), sign = p.z > height ? 1 : -1;
    if (gradient) {
        double scale = s->step[0] + s->step[1];
        if (d > 1e-10 * scale)
            *gradient = rp__vec3_scale(sign / d, rp__vec3_sub(p, f.nearest));
        else { /* on the surface: its normal */
            double hx = p.x < s->lower[0] || p.x > s->upper[0] ? 0 : (k.b + k.e * v) / s->step[0];
            double hy = p.y < s->lower[1] || p.y > s->upper[1] ? 0 : (k.c + k.e * u) / s->step[1];
            rp__vec3 normal = { -hx, -hy, 1 };
            *gradient = rp__vec3_unit(normal, normal);
        }
    }
    return sign * d;
}

static void heightfield_destroy(rp_shape *shape)
{
    heightfield *s = (heightfield *)shape;
    rp__base_free(s->heights);
    rp__base_free(s->spans);
}

static const rp__shape_class heightfield_class = { "heightfield", heightfield_distance, heightfield_destroy, NULL, false };

/* ---- creation ---- */

static rp_result build_tree(heightfield *s)
{
    int64_t total = 0, w = s->columns - 1, h = s->rows - 1;
    for (s->levels = 0;; w = (w + 1) / 2, h = (h + 1) / 2) {
        int l = s->levels++;
        s->first[l] = total, s->wide[l] = w, s->high[l] = h;
        total += w * h;
        if (w == 1 && h == 1)
            break;
    }
    s->spans = RP_NEW_ARRAY(span, total);
    if (!s->spans)
        return RP_OUT_OF_MEMORY;
    for (int l = 0; l < s->levels; l++)
        for (int64_t j = 0; j < s->high[l]; j++)
            for (int64_t i = 0; i < s->wide[l]; i++) {
                span r = { INFINITY, -INFINITY };
                for (int n = 0; n < 4; n++) {
                    int64_t a = (l ? 2 * i : i) + (n & 1), b = (l ? 2 * j : j) + (n >> 1);
                    if (l && (a >= s->wide[l - 1] || b >= s->high[l - 1]))
                        continue;
                    span c = { 0, 0 };
                    if (l)
                        c = s->spans[s->first[l - 1] + b * s->wide[l - 1] + a];
                    else
                        c.low = c.high = height_at(s, a, b);
                    r.low = fmin(r.low, c.low), r.high = fmax(r.high, c.high);
                }
                s->spans[s->first[l] + j * s->wide[l] + i] = r;
            }
    return RP_OK;
}

static rp_result check_field(int64_t columns, int64_t rows, const double lower[2], const double upper[2])
{
    if (columns < 2 || rows < 2)
        return rp__base_fail(RP_BAD_ARGUMENT, "heightfield: %lld × %lld heights; it needs 2 at least each way", (long long)columns,
                             (long long)rows);
    if (columns > 100000 || rows > 100000 || columns * rows > 400000000)
        return rp__base_fail(RP_TOO_LARGE, "heightfield: %lld × %lld heights need %.3g GB; at most 400 million are allowed",
                             (long long)columns, (long long)rows, (double)columns * (double)rows * 30e-9);
    for (int a = 0; a < 2; a++)
        if (!(fabs(lower[a]) <= RP_SHAPE_LIMIT) || !(fabs(upper[a]) <= RP_SHAPE_LIMIT) || !(lower[a] < upper[a]))
            return rp__base_fail(RP_BAD_ARGUMENT, "heightfield: it reaches from %g to %g along %c; the second must be greater", lower[a],
                                 upper[a], "xy"[a]);
    return RP_OK;
}

rp_result rp_shape_heightfield(const double *heights, int64_t columns, int64_t rows, const double lower[2], const double upper[2],
                               rp_shape **out)
{
    RP_TRY(check_field(columns, rows, lower, upper));
    for (int64_t i = 0; i < columns * rows; i++)
        if (!(fabs(heights[i]) <= RP_SHAPE_LIMIT))
            return rp__base_fail(RP_BAD_ARGUMENT, "heightfield: the height in column %lld, row %lld is %g; it must be finite",
                                 (long long)(i % columns), (long long)(i / columns), heights[i]);
    heightfield *s = rp__shape_new(&heightfield_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->columns = columns, s->rows = rows;
    for (int a = 0; a < 2; a++) {
        s->lower[a] = lower[a], s->upper[a] = upper[a];
        s->step[a] = (upper[a] - lower[a]) / (double)((a == 0 ? columns : rows) - 1);
    }
    s->heights = RP_NEW_ARRAY(double, columns * rows);
    rp_result result = s->heights ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        memcpy(s->heights, heights, (size_t)(columns * rows) * sizeof *heights);
        result = build_tree(s);
    }
    if (result != RP_OK) {
        rp_shape_release(&s->base);
        return result;
    }
    s->base.upper.z = s->spans[s->first[s->levels - 1]].high;
    *out = &s->base;
    return RP_OK;
}

rp_result rp_shape_heightfield_image(const char *path, const double lower[2], const double upper[2], double low, double high,
                                     rp_shape **out)
{
    if (!(fabs(low) <= RP_SHAPE_LIMIT) || !(fabs(high) <= RP_SHAPE_LIMIT))
        return rp__base_fail(RP_BAD_ARGUMENT, "heightfield: black is at %g and white at %g; both must be finite heights", low, high);
    rp__shape_image image;
    RP_TRY(rp__shape_image_read(path, &image));
    rp_result result = RP_OK;
    double *heights = RP_NEW_ARRAY(double, image.width * image.height);
    if (!heights)
        result = RP_OUT_OF_MEMORY;
    for (int64_t j = 0; result == RP_OK && j < image.height; j++)
        for (int64_t i = 0; i < image.width; i++) /* the top of the picture is the far side, y = upper */
            heights[(image.height - 1 - j) * image.width + i] = low + (high - low) * (image.grey[j * image.width + i] / 65535.0);
    if (result == RP_OK) {
        result = rp_shape_heightfield(heights, image.width, image.height, lower, upper, out);
        if (result != RP_OK)
            rp__base_fail_prefix(result, "%s: ", path);
    }
    rp__base_free(heights);
    rp__base_free(image.grey);
    return result;
}
