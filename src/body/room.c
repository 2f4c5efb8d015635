/* See room.h. */
#include "body/room.h"

#include <math.h>

enum { TURNS = 64, REACH = 8 /* cells */, CIRCLES = 8 /* a cell */, AROUND = 16 };

rp__body_room rp__body_room_of(const rp_sim_def *def, const rp__body *bodies, int count)
{
    rp__body_room room = { .bodies = bodies, .count = count, .dim = def->dim, .cell = def->cell_size };
    for (int a = 0; a < 3; a++)
        for (int side = 0; side < 2; side++) {
            rp_surface_kind kind = def->wall[2 * a + side].kind;
            bool holds = a < def->dim && kind != RP_OPEN && kind != RP_PERIODIC;
            if (side)
                room.upper[a] = holds ? def->upper[a] : INFINITY;
            else
                room.lower[a] = holds ? def->lower[a] : -INFINITY;
        }
    return room;
}

/* The deepest of the bodies at x and the way out of it. */
static double deepest(const rp__body_room *room, rp__vec3 x, rp__vec3 *normal)
{
    double least = INFINITY;
    for (int b = 0; b < room->count; b++) {
        const rp__body *body = &room->bodies[b];
        rp__vec3 n;
        double d = body->present ? rp__body_distance(body, &body->pose_next, x, &n) : INFINITY;
        if (d < least)
            least = d, *normal = n;
    }
    return least;
}

rp__vec3 rp__body_room_within(const rp__body_room *room, rp__vec3 x)
{
    return rp__vec3_make(fmin(fmax(x.x, room->lower[0]), room->upper[0]), fmin(fmax(x.y, room->lower[1]), room->upper[1]),
                         fmin(fmax(x.z, room->lower[2]), room->upper[2]));
}

double rp__body_room_clearance(const rp__body_room *room, rp__vec3 x)
{
    rp__vec3 n;
    double at[3], least = deepest(room, x, &n);
    rp__vec3_store(at, x);
    for (int a = 0; a < room->dim; a++)
        least = fmin(least, fmin(at[a] - room->lower[a], room->upper[a] - at[a]));
    return least;
}

/* Direction k of those tried around a place: even on the circle; in space on a spiral from pole to pole. */
static rp__vec3 direction(int dim, int k)
{
    double golden = 2.399963229728653; /* pi (3 - sqrt 5) */
    if (dim == 2)
        return rp__vec3_make(cos(6.283185307179586 * k / AROUND), sin(6.283185307179586 * k / AROUND), 0);
    double z = 1 - (2 * k + 1) / (double)(4 * AROUND), r = sqrt(1 - z * z);
    return rp__vec3_make(r * cos(golden * k), r * sin(golden * k), z);
}

/* The nearest circle with a free place on it, and there the one that is farthest from everything. */
static bool press_out(const rp__body_room *room, rp__vec3 *x)
{
    int count = room->dim == 2 ? AROUND : 4 * AROUND;
    for (int ring = 1; ring <= REACH * CIRCLES; ring++) {
        double best = 0;
        rp__vec3 place = *x;
        for (int k = 0; k < count; k++) {
            rp__vec3 at = rp__vec3_axpy(ring * room->cell / CIRCLES, direction(room->dim, k), *x);
            double d = rp__body_room_clearance(room, at);
            if (d > best)
                best = d, place = at;
        }
        if (best > 0) {
            *x = place;
            return true;
        }
    }
    return false;
}

bool rp__body_room_find(const rp__body_room *room, rp__vec3 *x)
{
    double tiny = 1e-6 * room->cell;
    rp__vec3 at = rp__body_room_within(room, *x), n;
    for (int k = 0; k < TURNS; k++) {
        double d = deepest(room, at, &n);
        if (d >= 0) {
            *x = at;
            return true;
        }
        at = rp__body_room_within(room, rp__vec3_axpy(2 * tiny - d, n, at));
    }
    return press_out(room, x);
}
