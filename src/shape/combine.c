/* Union, intersection, difference, offset, shell, complement and placement. */
#include "shape/shape_class.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>

static rp__vec3 least(rp__vec3 a, rp__vec3 b)
{
    return rp__vec3_make(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z));
}

static rp__vec3 most(rp__vec3 a, rp__vec3 b)
{
    return rp__vec3_make(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z));
}

/* ---- many shapes ---- */

typedef struct many {
    rp_shape base;
    rp_shape **parts;
    int count;
} many;

static void many_destroy(rp_shape *shape)
{
    many *s = (many *)shape;
    for (int i = 0; i < s->count; i++)
        rp_shape_release(s->parts[i]);
    rp__base_free(s->parts);
}

/* How far x is outside of low … high. */
static double beyond(double low, double high, double x)
{
    double under = low - x, over = x - high, most_of = under > over ? under : over;
    return most_of > 0 ? most_of : 0;
}

/* Distance from p to the bounds of a shape, 0 inside them: never more than the distance to the shape. */
static double to_bounds(const rp_shape *s, rp__vec3 p)
{
    rp__vec3 q = { beyond(s->lower.x, s->upper.x, p.x), beyond(s->lower.y, s->upper.y, p.y), beyond(s->lower.z, s->upper.z, p.z) };
    return rp__vec3_norm(q);
}

static double union_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const many *s = (const many *)shape;
    double best = INFINITY;
    if (gradient)
        *gradient = rp__vec3_make(0, 0, 1);
    for (int i = 0; i < s->count; i++) {
        if (to_bounds(s->parts[i], p) > (best > 0 ? best : 0)) /* where parts overlap the deepest counts: their borders inside are none */
            continue;
        rp__vec3 g;
        double d = rp__shape_distance_at(s->parts[i], p, gradient ? &g : NULL);
        if (d < best) {
            best = d;
            if (gradient)
                *gradient = g;
        }
    }
    return best;
}

static double intersection_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const many *s = (const many *)shape;
    double best = -INFINITY;
    if (gradient)
        *gradient = rp__vec3_make(0, 0, 1);
    for (int i = 0; i < s->count; i++) {
        rp__vec3 g;
        double d = rp__shape_distance_at(s->parts[i], p, gradient ? &g : NULL);
        if (d > best) {
            best = d;
            if (gradient)
                *gradient = g;
        }
    }
    return best;
}

static const rp__shape_class union_class = { "union", union_distance, many_destroy, NULL, false };
static const rp__shape_class intersection_class = { "intersection", intersection_distance, many_destroy, NULL, false };

static rp_result combine(const rp__shape_class *type, rp_shape *const *shapes, int count, rp_shape **out)
{
    if (count < 1 || !shapes)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s: it has no shapes; give one at least", type->name);
    for (int i = 0; i < count; i++)
        RP_TRY(rp__shape_check_child(type->name, shapes[i]));
    many *s = rp__shape_new(type, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->parts = RP_NEW_ARRAY(rp_shape *, count);
    if (!s->parts) {
        rp_shape_release(&s->base);
        return RP_OUT_OF_MEMORY;
    }
    s->count = count;
    s->base.lower = shapes[0]->lower, s->base.upper = shapes[0]->upper;
    for (int i = 0; i < count; i++) {
        s->parts[i] = rp_shape_retain(shapes[i]);
        bool wider = type == &union_class;
        s->base.lower = wider ? least(s->base.lower, shapes[i]->lower) : most(s->base.lower, shapes[i]->lower);
        s->base.upper = wider ? most(s->base.upper, shapes[i]->upper) : least(s->base.upper, shapes[i]->upper);
    }
    rp__shape_note(&s->base, type->name, 0, NULL);
    rp__shape_note_parts(&s->base, s->parts, count);
    *out = &s->base;
    return RP_OK;
}

rp_result rp_shape_union(rp_shape *const *shapes, int count, rp_shape **out)
{
    return combine(&union_class, shapes, count, out);
}

rp_result rp_shape_intersection(rp_shape *const *shapes, int count, rp_shape **out)
{
    return combine(&intersection_class, shapes, count, out);
}

rp_result rp_shape_difference(rp_shape *from, rp_shape *taken, rp_shape **out)
{
    RP_TRY(rp__shape_check_child("difference", from));
    RP_TRY(rp__shape_check_child("difference", taken));
    rp_shape *outside = NULL;
    RP_TRY(rp_shape_complement(taken, &outside));
    rp_shape *both[2] = { from, outside };
    rp_result result = combine(&intersection_class, both, 2, out);
    rp_shape_release(outside);
    return result;
}

/* ---- one shape, changed ---- */

typedef struct changed {
    rp_shape base;
    rp_shape *part;
    double amount;
} changed;

static void changed_destroy(rp_shape *shape)
{
    rp_shape_release(((changed *)shape)->part);
}

static double offset_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const changed *s = (const changed *)shape;
    return rp__shape_distance_at(s->part, p, gradient) - s->amount;
}

static double shell_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const changed *s = (const changed *)shape;
    double d = rp__shape_distance_at(s->part, p, gradient);
    if (d < 0 && gradient)
        *gradient = rp__vec3_scale(-1, *gradient);
    return fabs(d) - s->amount / 2;
}

static double complement_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const changed *s = (const changed *)shape;
    double d = rp__shape_distance_at(s->part, p, gradient);
    if (gradient)
        *gradient = rp__vec3_scale(-1, *gradient);
    return -d;
}

static const rp__shape_class offset_class = { "offset", offset_distance, changed_destroy, NULL, false };
static const rp__shape_class shell_class = { "shell", shell_distance, changed_destroy, NULL, false };
static const rp__shape_class complement_class = { "complement", complement_distance, changed_destroy, NULL, false };

static changed *change(const rp__shape_class *type, rp_shape *part, double amount)
{
    changed *s = rp__shape_new(type, sizeof *s);
    if (!s)
        return NULL;
    s->part = rp_shape_retain(part);
    s->amount = amount;
    return s;
}

static void inflate(rp_shape *shape, const rp_shape *from, double by)
{
    rp__vec3 e = { by, by, by };
    shape->lower = rp__vec3_sub(from->lower, e);
    shape->upper = rp__vec3_add(from->upper, e);
}

rp_result rp_shape_offset(rp_shape *shape, double distance, rp_shape **out)
{
    RP_TRY(rp__shape_check_child("offset", shape));
    if (!(fabs(distance) <= RP_SHAPE_LIMIT))
        return rp__base_fail(RP_BAD_ARGUMENT, "offset: the distance is %g; it must be a finite length", distance);
    changed *s = change(&offset_class, shape, distance);
    if (!s)
        return RP_OUT_OF_MEMORY;
    inflate(&s->base, shape, distance);
    rp__shape_note(&s->base, "offset", 1, (double[]){ distance });
    rp__shape_note_parts(&s->base, &s->part, 1);
    *out = &s->base;
    return RP_OK;
}

rp_result rp_shape_shell(rp_shape *shape, double thickness, rp_shape **out)
{
    RP_TRY(rp__shape_check_child("shell", shape));
    RP_TRY(rp__shape_check_positive("shell", "thickness", thickness));
    changed *s = change(&shell_class, shape, thickness);
    if (!s)
        return RP_OUT_OF_MEMORY;
    /* a complement has the surface of what it leaves out */
    const rp_shape *surface = shape;
    while (surface->type == &complement_class)
        surface = ((const changed *)surface)->part;
    inflate(&s->base, surface, thickness / 2);
    rp__shape_note(&s->base, "shell", 1, (double[]){ thickness });
    rp__shape_note_parts(&s->base, &s->part, 1);
    *out = &s->base;
    return RP_OK;
}

rp_result rp_shape_complement(rp_shape *shape, rp_shape **out)
{
    RP_TRY(rp__shape_check_child("complement", shape));
    changed *s = change(&complement_class, shape, 0);
    if (!s)
        return RP_OUT_OF_MEMORY;
    rp__shape_note(&s->base, "complement", 0, NULL);
    rp__shape_note_parts(&s->base, &s->part, 1);
    *out = &s->base;
    return RP_OK;
}

/* ---- placement ---- */

typedef struct placed {
    rp_shape base;
    rp_shape *part;
    rp__vec3 position;
    rp__mat3 rotation;
    double scale;
} placed;

static void placed_destroy(rp_shape *shape)
{
    rp_shape_release(((placed *)shape)->part);
}

static double placed_distance(const rp_shape *shape, rp__vec3 p, rp__vec3 *gradient)
{
    const placed *s = (const placed *)shape;
    rp__vec3 local = rp__mat3_apply_transposed(&s->rotation, rp__vec3_sub(p, s->position));
    double d = rp__shape_distance_at(s->part, rp__vec3_scale(1 / s->scale, local), gradient);
    if (gradient)
        *gradient = rp__mat3_apply(&s->rotation, *gradient);
    return s->scale * d;
}

static bool placed_mass(const rp_shape *shape, rp__shape_mass *mass)
{
    const placed *s = (const placed *)shape;
    rp__shape_mass m;
    if (!s->part->type->mass || !s->part->type->mass(s->part, &m))
        return false;
    double c = s->scale * s->scale * s->scale;
    mass->volume = c * m.volume;
    mass->centre = rp__vec3_add(s->position, rp__mat3_apply(&s->rotation, rp__vec3_scale(s->scale, m.centre)));
    rp__mat3 back = rp__mat3_transpose(&s->rotation), turned = rp__mat3_multiply(&s->rotation, &m.inertia);
    mass->inertia = rp__mat3_multiply(&turned, &back);
    for (int i = 0; i < 9; i++)
        mass->inertia.m[i / 3][i % 3] *= c * s->scale * s->scale;
    return true;
}

static const rp__shape_class placed_class = { "placement", placed_distance, placed_destroy, placed_mass, false };

/* Interval arithmetic on R [lower, upper]; what is infinite does not count where the rotation only has rounding noise. */
static void place_bounds(placed *s)
{
    double lo[3] = { s->part->lower.x, s->part->lower.y, s->part->lower.z };
    double hi[3] = { s->part->upper.x, s->part->upper.y, s->part->upper.z };
    double at[3] = { s->position.x, s->position.y, s->position.z }, lower[3], upper[3];
    for (int i = 0; i < 3; i++) {
        lower[i] = upper[i] = at[i];
        for (int j = 0; j < 3; j++) {
            double r = s->scale * s->rotation.m[i][j];
            if (fabs(s->rotation.m[i][j]) < 1e-12 && (isinf(lo[j]) || isinf(hi[j])))
                continue;
            if (r == 0)
                continue;
            lower[i] += r > 0 ? r * lo[j] : r * hi[j];
            upper[i] += r > 0 ? r * hi[j] : r * lo[j];
        }
    }
    s->base.lower = rp__vec3_load(lower);
    s->base.upper = rp__vec3_load(upper);
    if (!(lo[0] <= hi[0] && lo[1] <= hi[1] && lo[2] <= hi[2])) { /* an empty inside stays empty */
        s->base.lower = rp__vec3_make(INFINITY, INFINITY, INFINITY);
        s->base.upper = rp__vec3_make(-INFINITY, -INFINITY, -INFINITY);
    }
}

rp_result rp_shape_place(rp_shape *shape, const double position[3], const double rotation[3], double scale, rp_shape **out)
{
    RP_TRY(rp__shape_check_child("placement", shape));
    RP_TRY(rp__shape_check_point("placement", "position", position));
    RP_TRY(rp__shape_check_point("placement", "rotation", rotation));
    RP_TRY(rp__shape_check_positive("placement", "scale", scale));
    placed *s = rp__shape_new(&placed_class, sizeof *s);
    if (!s)
        return RP_OUT_OF_MEMORY;
    s->part = rp_shape_retain(shape);
    s->position = rp__vec3_load(position);
    s->rotation = rp__quat_matrix(rp__quat_from_vector(rp__vec3_load(rotation)));
    s->scale = scale;
    place_bounds(s);
    rp__shape_note(&s->base, "place", 7, (double[]){ position[0], position[1], position[2], rotation[0], rotation[1], rotation[2], scale });
    rp__shape_note_parts(&s->base, &s->part, 1);
    *out = &s->base;
    return RP_OK;
}

/* ---- what decides near a place ---- */

static bool is_combination(const rp_shape *shape)
{
    return (shape->type == &union_class || shape->type == &intersection_class) && ((const many *)shape)->count <= 32;
}

static bool is_steady(const rp_shape *shape)
{
    if (shape->type == &complement_class || shape->type == &offset_class || shape->type == &shell_class)
        return is_steady(((const changed *)shape)->part);
    if (shape->type != &union_class && shape->type != &intersection_class)
        return shape->type->steady;
    const many *s = (const many *)shape;
    bool steady = true;
    for (int i = 0; i < s->count; i++)
        steady = steady && is_steady(s->parts[i]);
    return steady;
}

/* A part of a union is out when another is nearer by more than twice the reach (of an intersection: farther). */
static void cut_node(const rp_shape *shape, rp__vec3 place, double reach, rp__shape_cut *cut)
{
    if (shape->type == &complement_class)
        shape = ((const changed *)shape)->part;
    if (!is_combination(shape) || cut->used < 0)
        return;
    if (cut->used == RP_SHAPE_CUTS) {
        cut->used = -1;
        return;
    }
    const many *s = (const many *)shape;
    double sign = shape->type == &union_class ? 1 : -1, d[32], least = INFINITY;
    uint32_t *keep = &cut->keep[cut->used++];
    *keep = 0;
    for (int i = 0; i < s->count; i++) {
        bool steady = is_steady(s->parts[i]);
        d[i] = steady ? sign * rp__shape_distance_at(s->parts[i], place, NULL) : -INFINITY;
        least = steady && d[i] < least ? d[i] : least;
    }
    for (int i = 0; i < s->count; i++)
        *keep |= (uint32_t)!(d[i] > least + 2 * reach) << i;
    for (int i = 0; i < s->count; i++)
        if (*keep >> i & 1)
            cut_node(s->parts[i], place, reach, cut);
}

void rp__shape_cut_at(const rp_shape *shape, rp__vec3 place, double reach, rp__shape_cut *cut)
{
    cut->used = 0;
    cut_node(shape, place, reach * (1 + 1e-9), cut);
}

static double cut_distance(const rp_shape *shape, const rp__shape_cut *cut, int *at, rp__vec3 p, rp__vec3 *gradient)
{
    if (shape->type == &complement_class) {
        double d = cut_distance(((const changed *)shape)->part, cut, at, p, gradient);
        if (gradient)
            *gradient = rp__vec3_scale(-1, *gradient);
        return -d;
    }
    if (!is_combination(shape))
        return rp__shape_distance_at(shape, p, gradient);
    const many *s = (const many *)shape;
    bool nearest = shape->type == &union_class;
    double best = nearest ? INFINITY : -INFINITY;
    if (gradient)
        *gradient = rp__vec3_make(0, 0, 1);
    for (uint32_t keep = cut->keep[(*at)++]; keep; keep &= keep - 1) {
        rp__vec3 g;
        double d = cut_distance(s->parts[__builtin_ctz(keep)], cut, at, p, gradient ? &g : NULL);
        if (nearest ? d < best : d > best) {
            best = d;
            if (gradient)
                *gradient = g;
        }
    }
    return best;
}

double rp__shape_distance_cut(const rp_shape *shape, const rp__shape_cut *cut, rp__vec3 p, rp__vec3 *gradient)
{
    int at = 0;
    return cut->used < 0 ? rp__shape_distance_at(shape, p, gradient) : cut_distance(shape, cut, &at, p, gradient);
}
