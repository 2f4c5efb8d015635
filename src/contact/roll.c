/* Rolling friction of grains: a law of Coulomb for moments. At every contact the angular impulse L that one surface gives the other obeys
 *
 *   |L| <= rolling_friction r_N R,   L = -|L|max spin / |spin| where they spin over each other,
 *
 * R the radius, of two grains r_a r_b / (r_a + r_b). L and the impulses r are found in turns: r with L given, by the friction library,
 * then L <- P(L - spin / softness). L is remembered with its pair, so that what rests begins with what held it. */
#include "contact/state.h"

#include <string.h>

/* Whether both ends are grains or do not move; the softness against turning, and R. */
static bool rolls(const rp__contact_candidate *c, const rp__contact_grains *g, double *softness, double *radius)
{
    double curvature = 0, along, across;
    *softness = 0;
    for (int e = 0; e < 2; e++) {
        int32_t o = c->end[e].object;
        if (o == NOTHING)
            continue;
        if (o >= g->count)
            return false;
        rp__contact_inertia(g, o, &along, &across);
        *softness += 1 / fmin(along, across); /* the larger of the two: smaller steps, never too large ones */
        curvature += 1 / g->radius[o];
    }
    *radius = 1 / curvature;
    return true;
}

static void apply(rp__contact_system *y, const rp__contact_candidate *c, const rp__contact_grains *g, rp__vec3 moment)
{
    for (int e = 0; e < 2; e++) {
        int32_t o = c->end[e].object;
        if (o == NOTHING)
            continue;
        double *w = y->free_velocity + 6 * (int64_t)o + 3;
        rp__vec3_store(w, rp__vec3_axpy(e == 0 ? 1 : -1, rp__contact_turn(g, o, moment), rp__vec3_load(w)));
    }
}

/* b = Hᵀ v_free + w */
static void refresh(rp__contact_system *y)
{
    for (int64_t i = 0; i < y->count; i++)
        for (int k = 0; k < y->dim; k++) {
            double sum = y->w[i * y->dim + k];
            for (int e = 0; e < 2; e++)
                for (int r = 0; r < y->column[i][e].rows; r++)
                    sum += y->column[i][e].h[r][k] * y->free_velocity[y->column[i][e].first + r];
            y->b[i * y->dim + k] = sum;
        }
}

void rp__contact_roll_start(rp__contact_state *s, const rp__world *world, int64_t from)
{
    rp__contact_system *y = &s->system;
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    double softness, radius;
    for (int64_t i = from; i < y->count; i++) {
        const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
        const rp__collide_record *old = rp__collide_find(s->memory, s->memory_count, &c->key);
        memset(y->moment[i], 0, sizeof y->moment[i]);
        if (!old || !rolls(c, &g, &softness, &radius))
            continue;
        memcpy(y->moment[i], old->moment, sizeof y->moment[i]);
        apply(y, c, &g, rp__vec3_load(y->moment[i]));
    }
    refresh(y);
}

void rp__contact_roll(rp__contact_state *s, const rp__world *world)
{
    rp__contact_system *y = &s->system;
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    double softness, radius;
    for (int64_t i = 0; i < y->count; i++) {
        const rp__contact_candidate *c = &s->candidates[y->candidate[i]];
        if (!rolls(c, &g, &softness, &radius))
            continue;
        rp__vec3 spin = { 0, 0, 0 }, old = rp__vec3_load(y->moment[i]);
        for (int e = 0; e < 2; e++)
            if (c->end[e].object != NOTHING)
                spin = rp__vec3_axpy(e == 0 ? 1 : -1, rp__vec3_load(y->velocity + 6 * (int64_t)c->end[e].object + 3), spin);
        rp__vec3 moment = rp__vec3_axpy(-1 / softness, spin, old);
        double most = s->params->rolling_friction * fmax(0, y->r[i * y->dim]) * radius, size = rp__vec3_norm(moment);
        if (size > most)
            moment = rp__vec3_scale(most / size, moment);
        rp__vec3 change = rp__vec3_sub(moment, old);
        rp__vec3_store(y->moment[i], moment);
        apply(y, c, &g, change);
        /* the next contact of the same grain sees it */
        for (int e = 0; e < 2; e++)
            if (c->end[e].object != NOTHING) {
                double *w = y->velocity + 6 * (int64_t)c->end[e].object + 3;
                rp__vec3_store(w, rp__vec3_axpy(e == 0 ? 1 : -1, rp__contact_turn(&g, c->end[e].object, change), rp__vec3_load(w)));
            }
    }
    refresh(y);
}
