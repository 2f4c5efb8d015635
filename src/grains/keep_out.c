/* Where samples may not be: beyond closed walls, and in bodies. */
#include "grains/grains.h"

#include "math/quat.h"

#include <string.h>

typedef struct rp__obstacle {
    const rp_shape *shape;
    rp_shape *own;                /* of a deforming body: made for the frame */
    rp__pose pose;
    double lower[3], upper[3];    /* in its own frame */
} rp__obstacle;

double rp__grains_margin(const rp_samples_def *def, double unit_volume)
{
    double bulk = unit_volume / def->volume_fraction;
    return 0.5 * (def->dim == 2 ? sqrt(bulk) : cbrt(bulk));
}

rp_result rp__grains_obstacles(const rp_samples_def *def, const rp_frame *frame, rp__obstacles *out)
{
    rp__obstacles o = { .def = def, .bodies = rp__base_alloc_zero(sizeof *o.bodies * (size_t)(def->body_count + 1)) };
    if (!o.bodies)
        return RP_OUT_OF_MEMORY;
    for (int b = 0; b < def->body_count && b < frame->body_count; b++) {
        const rp_body_state *s = &frame->bodies[b];
        const rp_mesh_sequence *sequence = def->deforming ? def->deforming[b].sequence : NULL;
        rp__obstacle *to = &o.bodies[o.count];
        if (!s->present || (!def->bodies[b] && !sequence))
            continue;
        if (sequence) {
            rp_result result = rp_mesh_sequence_evaluate(sequence, frame->time, &to->own);
            if (result != RP_OK) {
                rp__grains_obstacles_free(&o);
                return result;
            }
        }
        to->shape = sequence ? to->own : def->bodies[b];
        to->pose = (rp__pose){ rp__vec3_load(s->position), { s->orientation[0], s->orientation[1], s->orientation[2], s->orientation[3] } };
        rp_shape_bounds(to->shape, to->lower, to->upper);
        o.count++;
    }
    *out = o;
    return RP_OK;
}

void rp__grains_obstacles_free(rp__obstacles *o)
{
    for (int b = 0; b < o->count; b++)
        rp_shape_release(o->bodies[b].own);
    rp__base_free(o->bodies);
    memset(o, 0, sizeof *o);
}

double rp__grains_body_distance(const rp__obstacles *o, const double x[3], double range)
{
    double nearest = INFINITY;
    for (int b = 0; b < o->count; b++) {
        const rp__obstacle *body = &o->bodies[b];
        double local[3];
        bool inside = true;
        rp__vec3_store(local, rp__pose_inverse_apply(&body->pose, rp__vec3_load(x)));
        for (int d = 0; d < 3; d++)
            inside = inside && local[d] > body->lower[d] - range && local[d] < body->upper[d] + range;
        if (inside)
            nearest = fmin(nearest, rp_shape_distance(body->shape, local, NULL));
    }
    return nearest;
}

static void hold_in_domain(const rp_samples_def *def, double margin, double x[3])
{
    for (int d = 0; d < def->dim; d++) {
        double low = def->lower[d] + margin, high = def->upper[d] - margin;
        if (!def->open[2 * d] && x[d] < low)
            x[d] = low;
        if (!def->open[2 * d + 1] && x[d] > high)
            x[d] = high;
    }
}

static double body_distance(const rp__obstacle *body, const rp__shape_cut *cut, const double x[3], double gradient[3])
{
    rp__vec3 local = rp__pose_inverse_apply(&body->pose, rp__vec3_load(x)), g;
    double d = rp__shape_distance_cut(body->shape, cut, local, gradient ? &g : NULL);
    if (gradient)
        rp__vec3_store(gradient, rp__quat_rotate(body->pose.orientation, g));
    return d;
}

/* The smallest distance to a body, and its gradient when that is not NULL. */
static double nearest_body(const rp__obstacles *o, const double x[3], double gradient[3])
{
    static const rp__shape_cut whole = { .used = -1 };
    double nearest = INFINITY;
    for (int b = 0; b < o->count; b++) {
        double g[3], d = body_distance(&o->bodies[b], &whole, x, gradient ? g : NULL);
        if (d < nearest) {
            nearest = d;
            if (gradient)
                memcpy(gradient, g, sizeof g);
        }
    }
    return nearest;
}

/* From x in a body back towards its owner, to the last point that is outside: it never comes out on the other side. */
static void retreat(const rp__obstacles *o, const double home[3], double x[3])
{
    double from[3], good = 0, bad = 1, g[3];
    memcpy(from, x, sizeof from);
    for (int k = 0; k < 10; k++) {
        double t = 0.5 * (good + bad);
        for (int e = 0; e < 3; e++)
            x[e] = home[e] + t * (from[e] - home[e]);
        if (nearest_body(o, x, g) >= 0)
            good = t;
        else
            bad = t;
    }
    for (int e = 0; e < 3; e++)
        x[e] = home[e] + 0.97 * good * (from[e] - home[e]); /* what is stored is rounded */
}

/* From inside a body out along the gradient: its owner is inside too, so there is no side to keep. Where it lands in the next one, a wall
 * or a body, it is tried again. */
static void push_out(const rp__obstacles *o, double margin, double x[3])
{
    double g[3];
    for (int k = 0; k < 12; k++) {
        double d = nearest_body(o, x, g), step = (margin - d) * (k < 6 ? 1 : 2);
        if (d >= 0)
            return;
        for (int e = 0; e < o->def->dim; e++)
            x[e] += step * g[e];
        hold_in_domain(o->def, margin, x);
    }
}

void rp__grains_keep_out(const rp__obstacles *o, double margin, const double home[3], double x[3])
{
    double g[3], before[3];
    hold_in_domain(o->def, margin, x);
    if (o->count == 0)
        return;
    double d = nearest_body(o, x, g);
    if (d < 0) {
        retreat(o, home, x);
        hold_in_domain(o->def, margin, x);
        d = nearest_body(o, x, g);
    }
    if (d < 0)
        push_out(o, margin, x);
    if (d < 0 || d >= margin)
        return;
    memcpy(before, x, sizeof before);
    for (int e = 0; e < o->def->dim; e++)
        x[e] += (margin - d) * g[e];
    hold_in_domain(o->def, margin, x);
    if (nearest_body(o, x, g) < 0) /* a narrow place */
        memcpy(x, before, sizeof before);
}

void rp__grains_look_around(const rp__obstacles *o, const double place[3], double reach, double range, rp__grains_near *near)
{
    *near = (rp__grains_near){ .reach = reach, .beyond = INFINITY };
    memcpy(near->place, place, sizeof near->place);
    for (int b = 0; b < o->count; b++) {
        const rp__obstacle *body = &o->bodies[b];
        rp__vec3 local = rp__pose_inverse_apply(&body->pose, rp__vec3_load(place));
        double d = rp__shape_distance_posed(body->shape, &body->pose, rp__vec3_load(place), NULL) - reach;
        if (d > range) {
            near->beyond = fmin(near->beyond, d);
            continue;
        }
        if (near->count == RP_GRAINS_NEAR) {
            near->reach = -1; /* too many: all are asked */
            return;
        }
        near->body[near->count] = b;
        rp__shape_cut_at(body->shape, local, reach, &near->cut[near->count++]);
    }
}

/* Distance of the bodies that are near, or a bound of that of the others. */
static double near_distance(const rp__obstacles *o, const rp__grains_near *near, const double x[3], double gradient[3])
{
    double a = x[0] - near->place[0], b = x[1] - near->place[1], c = x[2] - near->place[2], nearest = near->beyond;
    if (!(near->reach > 0) || !(a * a + b * b + c * c < near->reach * near->reach))
        return nearest_body(o, x, gradient);
    for (int k = 0; k < near->count; k++) {
        double g[3], d = body_distance(&o->bodies[near->body[k]], &near->cut[k], x, gradient ? g : NULL);
        if (d < nearest) {
            nearest = d;
            if (gradient)
                memcpy(gradient, g, sizeof g);
        }
    }
    return nearest;
}

bool rp__grains_push(const rp__obstacles *o, const rp__grains_near *near, double radius, double x[3], double v[3], double *gap)
{
    bool met = false;
    for (int k = 0; k < 16; k++) { /* from one body into another, into a wall and back, or by a bound that falls short */
        double g[3] = { 0, 0, 0 }, speed = 0;
        *gap = near_distance(o, near, x, NULL);
        if (*gap >= radius)
            break;
        double d = near_distance(o, near, x, g); /* few need the gradient, which costs more than the distance */
        met = true;
        for (int e = 0; e < o->def->dim; e++)
            speed += v[e] * g[e];
        for (int e = 0; e < o->def->dim; e++) {
            x[e] += (radius * (1 + 1e-6) - d) * g[e];
            v[e] -= speed < 0 ? speed * g[e] : 0;
        }
        hold_in_domain(o->def, radius, x);
    }
    return met;
}
