/* The motion of particles, among bodies or without them: see state.h. */
#include "body/room.h"
#include "elastoplastic/collide.h"
#include "elastoplastic/state.h"

#include <math.h>

typedef rp__elastoplastic_work work;

static void move_freely(const work *w, int64_t begin, int64_t end)
{
    rp__particles *p = w->world->particles;
    for (int a = 0; a < RP_DIM; a++)
        for (int64_t i = begin; i < end; i++)
            p->x[a][i] += w->step.dt * w->moving[a][i];
}

/* A ball around where the particles are and where they go. */
static double surround(const work *w, int64_t begin, int64_t end, rp__vec3 *centre)
{
    const rp__particles *p = w->world->particles;
    double middle[3] = { 0 }, square = 0, farthest = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = begin; i < end; i++) {
            double x = p->x[a][i], step = fabs(w->step.dt * w->moving[a][i]);
            low = x < low ? x : low;
            high = x > high ? x : high;
            farthest = step > farthest ? step : farthest;
        }
        middle[a] = 0.5 * (low + high);
        square += 0.25 * (high - low) * (high - low);
    }
    *centre = rp__vec3_load(middle);
    return sqrt(square) + 2 * farthest;
}

/* A body that the particles of the range cannot meet in this step: it is farther from all of them than they and it move. */
static bool out_of_reach(const work *w, const rp__body *body, rp__vec3 centre, double radius)
{
    double now = rp__body_distance(body, &body->pose, centre, NULL), then = rp__body_distance(body, &body->pose_next, centre, NULL);
    return fmin(now, then) > radius + fabs(now - then) + w->s->grid.lattice.h; /* false for NaN */
}

/* The distance from the bodies that stand at particle i of a block, by that of the nearest node: not more than the true one. */
static double clearance(const work *w, int64_t block, int64_t i)
{
    const rp__grid *g = &w->s->grid;
    const rp__particles *p = w->world->particles;
    int64_t inside[3] = { 0 };
    double square = 0;
    int turn[3] = { 1, 3, 9 }, at = RP_NEIGHBOURS / 2;
    for (int a = 0; a < RP_DIM; a++) {
        double q = rp__lattice_coordinate(&g->lattice, a, p->x[a][i]), node = floor(q + 0.5), offset = node - (double)g->coord[block][a] * RP_BLOCK;
        if (!(offset >= 0 && offset < 2 * RP_BLOCK))
            return -INFINITY; /* gone around, or away */
        square += (q - node) * (q - node);
        inside[a] = (int64_t)offset % RP_BLOCK;
        at += offset >= RP_BLOCK ? turn[a] : 0;
    }
    int32_t owner = g->neighbour[block][at];
    int64_t node = (int64_t)owner * RP_BLOCK_NODES + (inside[2] * RP_BLOCK + inside[1]) * RP_BLOCK + inside[0];
    return owner < 0 ? -INFINITY : w->s->clear[node] - g->lattice.h * sqrt(square);
}

/* A particle that goes `way` from x cannot meet the body, which stands. */
static bool too_far(const rp__body *body, rp__vec3 x, double way)
{
    return rp__body_rests(body) && rp__body_distance(body, &body->pose, x, NULL) > way; /* false for NaN */
}

/* The move where there are bodies: a body thinner than the cells, or between their nodes, still holds its grains. */
static void move_among_bodies(const work *w, int64_t block, int64_t begin, int64_t end)
{
    enum { MOST = 32 };
    rp__particles *p = w->world->particles;
    double tiny = 1e-6 * w->s->grid.lattice.h;
    const rp__body *near[MOST];
    rp__vec3 centre;
    double radius = surround(w, begin, end, &centre);
    int count = 0;
    bool all = false, moving = false; /* too many for the list; some do not stand */
    for (int b = 0; b < w->world->body_count && !all; b++) {
        const rp__body *body = &w->world->bodies[b];
        if (!body->present || out_of_reach(w, body, centre, radius))
            continue;
        all = count == MOST;
        if (!all)
            near[count++] = body;
        moving = moving || !rp__body_rests(body);
    }
    if (count == 0) {
        move_freely(w, begin, end);
        return;
    }
    const rp__body_room room = rp__body_room_of(w->world->def, w->world->bodies, w->world->body_count);
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 from = { p->x[0][i], p->x[1][i], p->x[2][i] }, to = from, v = { p->v[0][i], p->v[1][i], p->v[2][i] };
        to.x += w->step.dt * w->moving[0][i];
        to.y += w->step.dt * w->moving[1][i];
        if (RP_DIM == 3)
            to.z += w->step.dt * w->moving[2][i];
        double way = rp__vec3_norm(rp__vec3_sub(to, from)) + 4 * tiny;
        bool free = !moving && !all && block >= 0 && clearance(w, block, i) > way;
        for (int b = 0; b < count && !all && !free; b++)
            if (!too_far(near[b], from, way))
                rp__body_guard(near[b], from, tiny, &to, &v);
        for (int b = 0; b < w->world->body_count && all; b++)
            if (w->world->bodies[b].present)
                rp__body_guard(&w->world->bodies[b], from, tiny, &to, &v);
        if ((count > 1 || all) && !free && rp__body_room_clearance(&room, to) < 0) /* out of one body into another, or through a wall */
            (void)rp__body_room_find(&room, &to);
        p->x[0][i] = to.x, p->x[1][i] = to.y;
        p->v[0][i] = v.x, p->v[1][i] = v.y;
        if (RP_DIM == 3)
            p->x[2][i] = to.z, p->v[2][i] = v.z;
    }
}

void RP_D(rp__elastoplastic_move)(const work *w, int64_t block, int64_t begin, int64_t end)
{
    if (w->world->body_count)
        move_among_bodies(w, block, begin, end);
    else
        move_freely(w, begin, end);
}
