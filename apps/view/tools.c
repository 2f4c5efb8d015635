#include "tools.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = { "none", "hand", "rake", "scoop", "spout" };

const char *tool_name(tool_kind kind)
{
    return names[kind];
}

void tools_init(tools *t, rp_sim *sim, const rp_stage *stage)
{
    const rp_sim_def *def = rp_sim_definition(sim);
    memset(t, 0, sizeof *t);
    t->sim = sim;
    t->up_axis = stage->up_axis, t->up_sign = stage->up_sign;
    double least = INFINITY;
    for (int d = 0; d < def->dim; d++)
        least = fmin(least, def->upper[d] - def->lower[d]);
    t->unit = fmax(2 * def->cell_size, 0.07 * least); /* a body thinner than the cells would not be felt */
    t->size = 1;
    tools_reset(t);
}

void tools_reset(tools *t)
{
    char name[64];
    for (int k = 0; k < TOOL_KINDS; k++) {
        t->body[k] = -1;
        t->moving[k] = true;
        snprintf(name, sizeof name, "tool-%s", names[k]);
        for (int b = 0; b < rp_sim_body_count(t->sim); b++) {
            rp_body_state s;
            if (strcmp(rp_sim_body_name(t->sim, b), name) == 0 && rp_sim_body(t->sim, b, &s) == RP_OK && s.present)
                t->body[k] = b;
        }
        t->put[k] = t->body[k] >= 0; /* perhaps it waits already: then it is taken away once more */
    }
    t->poured = -INFINITY;
}

void tools_message(tools *t, const message *m)
{
    int kind = TOOL_NONE;
    for (int k = 0; k < TOOL_KINDS; k++)
        if (strcmp(m->field, names[k]) == 0)
            kind = k;
    const rp_sim_def *def = rp_sim_definition(t->sim);
    t->kind = (tool_kind)kind;
    t->down = m->down && kind != TOOL_NONE;
    t->size = m->size > 0 ? fmin(fmax(m->size, 0.25), 4) : 1;
    t->pitch = fmin(fmax(m->value, -3.2), 3.2);
    memcpy(t->across, m->across, sizeof t->across);
    /* Between a tool and a wall there is room for the grains to get out of the way: caught between two bodies that do not give way they
     * could go nowhere, and no method has an answer to that. */
    double margin = kind == TOOL_SPOUT ? 0 : t->unit * t->size + def->cell_size;
    for (int d = 0; d < 3; d++) {
        double low = def->lower[d] + margin, high = def->upper[d] - margin;
        if (low > high)
            low = high = 0.5 * (def->lower[d] + def->upper[d]);
        t->goal[d] = d < def->dim ? fmin(fmax(m->position[d], low), high) : 0;
    }
}

/* ---- rotations: (w, x, y, z) ---- */

static void rotation(const double axis[3], double angle, double q[4])
{
    q[0] = cos(0.5 * angle);
    for (int d = 0; d < 3; d++)
        q[1 + d] = sin(0.5 * angle) * axis[d];
}

static void multiply(const double a[4], const double b[4], double out[4])
{
    double r[4] = { a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0] };
    memcpy(out, r, sizeof r);
}

/* How a tool is held: turned about the vertical so that its width lies across the view, then tipped about its width. Shapes are made for
 * z upwards and the width along x; where another axis is up they are turned there first. */
static void wanted_orientation(const tools *t, double q[4])
{
    static const double axes[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    double tip[4], yaw[4], stand[4] = { 1, 0, 0, 0 };
    if (rp_sim_definition(t->sim)->dim == 2) {
        rotation(axes[2], t->pitch, q);
        return;
    }
    rotation(axes[0], t->pitch, tip);
    if (t->up_axis == 1)
        rotation(axes[0], -1.5707963267948966, stand);
    else if (t->up_axis == 0)
        rotation(axes[1], 1.5707963267948966, stand);
    /* `across` in the frame of the shapes: its angle about their z */
    double x = t->up_axis == 0 ? -t->across[2] : t->across[0], y = t->up_axis == 1 ? -t->across[2] : t->across[1];
    rotation(axes[2], x * x + y * y > 1e-6 ? atan2(y, x) : 0, yaw);
    multiply(yaw, tip, q);
    multiply(stand, q, q);
}

/* The rotation vector a second that leads from one orientation to the other. */
static void turning(const double from[4], const double to[4], double rate, double most, double w[3])
{
    double back[4] = { from[0], -from[1], -from[2], -from[3] }, d[4];
    multiply(to, back, d);
    double sign = d[0] < 0 ? -1 : 1, s = sqrt(d[1] * d[1] + d[2] * d[2] + d[3] * d[3]), angle = 2 * atan2(s, sign * d[0]);
    double speed = fmin(rate * angle, most);
    for (int k = 0; k < 3; k++)
        w[k] = s > 1e-9 && angle > 1e-3 ? sign * d[1 + k] / s * speed : 0;
}

/* ---- shapes ---- */

static rp_result rake_shape(double r, int dim, rp_shape **out)
{
    enum { TINES = 5 };
    rp_shape *parts[TINES + 1] = { NULL };
    double h = 0.28 * r;
    rp_result result = rp_shape_box((double[3]){ 0, 0, 1.1 * r }, (double[3]){ 2.4 * r, h, h }, 0, &parts[0]);
    int n = 1;
    for (int k = 0; k < TINES && result == RP_OK; k++, n++) {
        double x = (k - 2) * 1.1 * r;
        result = rp_shape_capsule((double[3]){ x, 0, 1.1 * r }, (double[3]){ x, 0, -0.5 * r }, h, &parts[n]);
    }
    (void)dim;
    if (result == RP_OK)
        result = rp_shape_union(parts, n, out);
    for (int k = 0; k <= TINES; k++)
        rp_shape_release(parts[k]);
    return result;
}

/* Half a pipe with closed ends, its hollow upwards and forwards. */
static rp_result scoop_shape(double r, rp_shape **out)
{
    rp_shape *outer = NULL, *inner = NULL, *front = NULL, *taken = NULL;
    double wall = 0.3 * r, wide = 1.7 * r;
    rp_result result = rp_shape_cylinder((double[3]){ -wide, 0, 0 }, (double[3]){ wide, 0, 0 }, 1.3 * r, &outer);
    if (result == RP_OK)
        result = rp_shape_cylinder((double[3]){ -wide + wall, 0, 0 }, (double[3]){ wide - wall, 0, 0 }, 1.3 * r - wall, &inner);
    if (result == RP_OK)
        result = rp_shape_box((double[3]){ 0, 2 * r, 2 * r }, (double[3]){ 4 * r, 2.6 * r, 2.2 * r }, 0, &front);
    rp_shape *both[2] = { inner, front };
    if (result == RP_OK)
        result = rp_shape_union(both, 2, &taken);
    if (result == RP_OK)
        result = rp_shape_difference(outer, taken, out);
    rp_shape_release(outer);
    rp_shape_release(inner);
    rp_shape_release(front);
    rp_shape_release(taken);
    return result;
}

static rp_result make_shape(const tools *t, tool_kind kind, rp_shape **out)
{
    double r = t->unit * t->size;
    int dim = rp_sim_definition(t->sim)->dim;
    if (kind == TOOL_RAKE && dim == 3)
        return rake_shape(r, dim, out);
    if (kind == TOOL_SCOOP && dim == 3)
        return scoop_shape(r, out);
    if (kind == TOOL_HAND)
        return rp_shape_sphere((double[3]){ 0, 0, 0 }, r, out);
    return rp_shape_box((double[3]){ 0, 0, 0 }, (double[3]){ 1.6 * r, 0.4 * r, 0.4 * r }, 0, out); /* sections: a bar */
}

/* ---- bodies ---- */

static const double at_rest[3] = { 0, 0, 0 };

/* Above the grains that were pointed at: it then goes down into them. */
static void first_place(const tools *t, double position[3], double q[4])
{
    memcpy(position, t->goal, 3 * sizeof *position);
    position[t->up_axis] += t->up_sign * t->unit * t->size;
    wanted_orientation(t, q);
}

static rp_result add_body(tools *t)
{
    char name[64];
    double q[4];
    rp_shape *shape = NULL;
    rp_result result = make_shape(t, t->kind, &shape);
    if (result != RP_OK)
        return result;
    snprintf(name, sizeof name, "tool-%s", names[t->kind]);
    rp_body_def def = rp_default_body_def();
    def.name = name;
    def.kind = RP_BODY_SCRIPTED;
    def.shape = shape;
    def.surface = (rp_surface){ .kind = RP_FRICTIONAL, .friction = 0.4 };
    static const double red[3] = { 0.72, 0.25, 0.18 };
    memcpy(def.colour, red, sizeof red);
    first_place(t, def.position, q);
    result = rp_sim_add_body(t->sim, &def, &t->body[t->kind]);
    if (result == RP_OK) {
        t->body_size[t->kind] = t->size;
        if (t->added)
            t->added(t->context, t->body[t->kind], name, shape);
    }
    rp_shape_release(shape);
    return result;
}

/* A body of a tool is kept between uses: methods take so many bodies and no more. */
static rp_result put(tools *t)
{
    double position[3], q[4];
    rp_result result = RP_OK;
    if (t->body[t->kind] >= 0 && t->body_size[t->kind] != t->size) {
        result = rp_sim_remove_body(t->sim, t->body[t->kind]);
        t->body[t->kind] = -1;
    }
    if (result == RP_OK && t->body[t->kind] < 0)
        result = add_body(t);
    if (result != RP_OK)
        return result;
    first_place(t, position, q);
    t->put[t->kind] = t->moving[t->kind] = true;
    return rp_sim_set_body_pose(t->sim, t->body[t->kind], position, q);
}

static rp_result take_away(tools *t, int kind)
{
    const rp_sim_def *def = rp_sim_definition(t->sim);
    double far[3], upright[4] = { 1, 0, 0, 0 };
    for (int d = 0; d < 3; d++)
        far[d] = d < def->dim ? 0.5 * (def->lower[d] + def->upper[d]) : 0;
    far[t->up_axis] -= t->up_sign * 4 * (def->upper[t->up_axis] - def->lower[t->up_axis]);
    t->put[kind] = false;
    rp_result result = rp_sim_set_body_velocity(t->sim, t->body[kind], at_rest, at_rest);
    return result == RP_OK ? rp_sim_set_body_pose(t->sim, t->body[kind], far, upright) : result;
}

/* Towards the goal at a speed that falls with the distance, and never so fast that it would fly through the grains. */
static rp_result lead(tools *t)
{
    rp_body_state s;
    int body = t->body[t->kind];
    rp_result result = rp_sim_body(t->sim, body, &s);
    if (result != RP_OK)
        return result;
    double v[3], w[3], q[4], distance = 0, most = 25 * t->unit;
    for (int d = 0; d < 3; d++)
        v[d] = t->goal[d] - s.position[d], distance += v[d] * v[d];
    distance = sqrt(distance);
    bool still = distance < 1e-3 * t->unit;
    double factor = still ? 0 : fmin(12, most / distance);
    for (int d = 0; d < 3; d++)
        v[d] *= factor;
    wanted_orientation(t, q);
    turning(s.orientation, q, 8, 5, w);
    bool moves = !still || w[0] != 0 || w[1] != 0 || w[2] != 0;
    if (!moves && !t->moving[t->kind])
        return RP_OK;
    t->moving[t->kind] = moves;
    return rp_sim_set_body_velocity(t->sim, body, v, w);
}

/* Ten drops a second of a simulation, falling. */
static rp_result pour(tools *t)
{
    const rp_sim_def *def = rp_sim_definition(t->sim);
    double time = rp_sim_time(t->sim), r = t->unit * t->size;
    if (time < t->poured + 0.1 || def->material_count == 0)
        return RP_OK;
    t->poured = time;
    rp_grains_def grains = rp_default_grains_def();
    grains.name = "spout";
    rp_result result = rp_shape_sphere(t->goal, r, &grains.shape);
    if (result != RP_OK)
        return result;
    grains.velocity[t->up_axis] = -t->up_sign * 20 * r; /* gone before the next drop */
    grains.seed = (uint64_t)rp_sim_steps(t->sim);
    int64_t added;
    result = rp_sim_add_grains(t->sim, &grains, &added);
    rp_shape_release(grains.shape);
    return result;
}

rp_result tools_apply(tools *t)
{
    rp_result result = RP_OK;
    for (int k = 0; k < TOOL_KINDS && result == RP_OK; k++)
        if (t->put[k] && (k != (int)t->kind || !t->down || t->body_size[k] != t->size))
            result = take_away(t, k);
    if (result != RP_OK || !t->down)
        return result;
    if (t->kind == TOOL_SPOUT)
        return pour(t);
    if (!t->put[t->kind] && (result = put(t)) != RP_OK)
        return result;
    return lead(t);
}
