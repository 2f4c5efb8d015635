/* Rolling friction of grains: at every contact an angular impulse L that one surface gives the other obeys
 *
 *   |L| <= rolling_friction r_N R,   L opposed to the spin where they spin over each other,
 *
 * R the radius, of two grains r_a r_b / (r_a + r_b). L / R stands beside the impulse in the problem of the step, in the axes of the world;
 * the friction library solves both laws at once. */
#include "contact/state.h"

#include <string.h>

void rp__contact_set_rolling(rp__contact_state *s, const rp__contact_grains *g, int64_t i)
{
    rp__contact_system *y = &s->system;
    rp__contact_rolling *roll = &y->roll[i];
    double curvature = 0;
    memset(roll, 0, sizeof *roll);
    y->rolling[i] = 0;
    for (int e = 0; e < 2; e++) {
        int32_t o = y->object[i][e];
        if (o != NOTHING && o >= g->count)
            return; /* fibres and bodies: their contacts carry no moment */
        if (o != NOTHING)
            curvature += 1 / g->radius[o];
    }
    const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
    if (c->body < 0 && c->wall < 0 && y->object[i][1] == NOTHING) /* a fixed grain: size is the sum of both radii */
        curvature += 1 / (c->size - 1 / curvature);
    roll->radius = 1 / curvature;
    y->rolling[i] = s->params->rolling_friction;
    for (int e = 0; e < 2; e++)
        for (int k = 0; k < 3 && y->object[i][e] != NOTHING; k++) {
            double axis[3] = { k == 0, k == 1, k == 2 }, turned[3];
            rp__vec3_store(turned, rp__vec3_scale(roll->radius, rp__contact_turn(g, y->object[i][e], rp__vec3_load(axis))));
            for (int a = 0; a < 3; a++)
                roll->turn[e][3 * a + k] = turned[a];
        }
}

/* A body that turns as told turns under the grains. */
void rp__contact_roll_told(rp__contact_state *s, const rp__world *world, int64_t i)
{
    rp__contact_system *y = &s->system;
    const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
    if (c->body < 0 || c->end[1].object != NOTHING)
        return;
    double spin[3];
    rp__vec3_store(spin, world->bodies[c->body].omega);
    for (int k = y->dim; k < y->width; k++)
        y->b[i * y->width + k] -= y->roll[i].radius * spin[y->dim == 2 ? 2 : k - y->dim];
}
