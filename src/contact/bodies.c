/* Free bodies with each other, with scripted ones and with walls: contacts like those of grains, in the same problem. A grain that pushes a body
 * which something else stops is stopped by it in the same step. */
#include "contact/state.h"

#include "base/memory.h"
#include "body/contacts.h"

static uint64_t name_of(int body, int wall)
{
    return body >= 0 ? rp__contact_name(NAME_BODY, body, 0) : rp__contact_name(NAME_WALL, wall, 0);
}

static rp_result add_touch(rp__contact_state *s, const rp__world *world, const rp__body_touch *t)
{
    const rp__body *a = &world->bodies[t->a], *b = t->b == RP__BODY_WORLD ? NULL : &world->bodies[t->b];
    int64_t first = world->particles->count;
    rp__contact_candidate c = { .gap = t->distance, .size = a->thickness, .normal = t->axis[0], .mu = t->mu, .body = -1, .wall = -1, .contact = -1 };
    c.key = (rp__collide_key){ name_of(t->a, -1), name_of(t->b, t->wall), (uint64_t)t->place };
    c.end[0] = (rp__contact_end){ (int32_t)(first + t->a), 0, 0, rp__vec3_sub(t->point, a->pose.position) };
    c.end[1].object = NOTHING;
    if (b && rp__body_is_moved(b)) {
        c.size = fmin(c.size, b->thickness);
        c.end[1] = (rp__contact_end){ (int32_t)(first + t->b), 0, 0, rp__vec3_sub(t->point, b->pose.position) };
    } else {
        c.surface = t->surface;
    }
    return rp__contact_add(s, &c);
}

rp_result rp__contact_find_bodies(rp__contact_state *s, const rp__world *world, double dt)
{
    const rp_sim_def *def = world->def;
    rp__body_room room = { def->dim, def->lower, def->upper, def->wall };
    rp__body_touches touches = { 0 };
    rp_result result = rp__body_find_touches(world->bodies, world->body_count, &room, dt, &touches);
    for (int64_t k = 0; k < touches.count && result == RP_OK; k++)
        result = add_touch(s, world, &touches.all[k]);
    rp__base_free(touches.all);
    return result;
}
