/* Walls: which velocity nodes touch them. Walls and bodies: what force they take. Contacts with bodies are found in touch_dim.c. */
#include "nonsmooth/contact.h"
#include "nonsmooth/shared.h"
#include "nonsmooth/wide.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>


/* NULL when there is no room. */
ns_contact *NS(append_contact)(ns_system *y)
{
    if (!rp__base_grow(&y->contacts, &y->contact_capacity, y->contact_count + 1, sizeof(ns_contact)))
        return NULL;
    ns_contact *c = &y->contacts[y->contact_count++];
    memset(c, 0, sizeof *c);
    c->free_body = -1;
    return c;
}

static bool has_wall_contacts(const rp__world *world)
{
    for (int f = 0; f < 2 * RP_DIM; f++)
        if (world->def->wall[f].kind == RP_SLIP || world->def->wall[f].kind == RP_FRICTIONAL)
            return true;
    return false;
}

static rp_result wall_contacts(ns_system *y, const rp__world *world, double dt, int64_t node, const int64_t *at)
{
    double area = pow(y->lattice.h, RP_DIM - 1);
    for (int f = 0; f < 2 * RP_DIM; f++) {
        const rp_surface *wall = &world->def->wall[f];
        if ((wall->kind != RP_SLIP && wall->kind != RP_FRICTIONAL) || at[f / 2] != (f & 1 ? world->cells[f / 2] : 0))
            continue;
        ns_contact *c = NS(append_contact)(y);
        if (!c)
            return RP_OUT_OF_MEMORY;
        c->node = node;
        c->surface = f;
        c->count = 1;
        c->share[0] = y->scale[node];
        c->mass = y->mass[node];
        c->normal[f / 2] = f & 1 ? -1 : 1;
        c->mu = wall->kind == RP_FRICTIONAL ? wall->friction : 0;
        c->adhesion = wall->adhesion * area * dt;
    }
    return RP_OK;
}

/* Impulses of the last step for the contacts that are there again; contacts are sorted by block. */
static void place_warm(ns_system *y)
{
    for (int64_t k = 0; k < y->warm_contact_count; k++) {
        const int32_t *key = y->warm_contact_node[k];
        int64_t node = RP_D(rp__grid_node)(&y->grid, key[0], key[1], key[2]);
        if (node < 0)
            continue;
        int64_t block = node / RP_BLOCK_NODES;
        for (int64_t i = y->contact_first[block]; i < y->contact_first[block + 1]; i++) {
            ns_contact *c = &y->contacts[i];
            if (c->node == node && NS_SIDES * c->surface + c->side == key[3]) {
                memcpy(c->impulse, y->warm_contact + 3 * k, 3 * sizeof(double));
                memcpy(c->previous, y->warm_contact + 3 * k, 3 * sizeof(double));
            }
        }
    }
}

/* Counting sort by the block, stable. */
static rp_result sort_contacts(ns_system *y)
{
    if (!rp__base_grow(&y->contacts, &y->contact_capacity, 1, sizeof(ns_contact)))
        return RP_OUT_OF_MEMORY;
    ns_contact *sorted = RP_NEW_ARRAY(ns_contact, y->contact_capacity);
    if (!sorted)
        return RP_OUT_OF_MEMORY;
    int64_t *first = y->contact_first;
    memset(first, 0, ((size_t)y->grid.blocks + 1) * sizeof *first);
    for (int64_t i = 0; i < y->contact_count; i++)
        first[y->contacts[i].node / RP_BLOCK_NODES + 1]++;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        first[b + 1] += first[b];
    for (int64_t i = 0; i < y->contact_count; i++)
        sorted[first[y->contacts[i].node / RP_BLOCK_NODES]++] = y->contacts[i];
    for (int64_t b = y->grid.blocks; b > 0; b--)
        first[b] = first[b - 1];
    first[0] = 0;
    rp__base_free(y->contacts);
    y->contacts = sorted;
    return RP_OK;
}

rp_result NS(find_contacts)(ns_system *y, const rp__world *world, double dt)
{
    y->contact_count = 0;
    if (has_wall_contacts(world))
        for (int64_t b = 0; b < y->grid.blocks; b++)
            for (int l = 0; l < RP_BLOCK_NODES; l++) {
                int64_t node = b * RP_BLOCK_NODES + l, at[3];
                if (!(y->scale[node] > 0) || y->stick[node])
                    continue;
                rp__grid_coordinates(&y->grid, node, at);
                RP_TRY(wall_contacts(y, world, dt, node, at));
            }
    if (world->body_count)
        RP_TRY(NS(find_touches)(y, world, dt));
    RP_TRY(sort_contacts(y));
    y->free_count = 0;
    if (!rp__base_grow(&y->free_contact, &y->free_capacity, y->contact_count + 1, sizeof *y->free_contact))
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < y->contact_count; i++)
        if (y->contacts[i].free_body >= 0)
            y->free_contact[y->free_count++] = i;
    if (y->params->warm_start)
        place_warm(y);
    if (world->body_count > y->body_capacity) {
        rp__base_free(y->body_velocity);
        rp__base_free(y->body_before);
        rp__base_free(y->body_inverse);
        y->body_velocity = RP_NEW_ARRAY(double, 6 * world->body_count);
        y->body_before = RP_NEW_ARRAY(double, 6 * world->body_count);
        y->body_inverse = RP_NEW_ARRAY(double, 36 * world->body_count);
        y->body_capacity = 0;
        if (!y->body_velocity || !y->body_before || !y->body_inverse)
            return RP_OUT_OF_MEMORY;
        y->body_capacity = world->body_count;
    }
    for (int k = 0; k < world->body_count; k++) {
        rp__vec3_store(y->body_velocity + 6 * k, world->bodies[k].velocity);
        rp__vec3_store(y->body_velocity + 6 * k + 3, world->bodies[k].omega);
        rp__body_inverse_mass(&world->bodies[k], y->body_inverse + 36 * k);
    }
    return RP_OK;
}

static rp_result keep_warm(ns_system *y)
{
    if (y->contact_count > y->warm_contact_capacity) {
        int64_t room = y->contact_count + y->contact_count / 4;
        int32_t(*node)[4] = rp__base_alloc_array((size_t)room, sizeof *node);
        double *impulse = RP_NEW_ARRAY(double, room * 3);
        if (!node || !impulse) {
            rp__base_free(node);
            rp__base_free(impulse);
            return RP_OUT_OF_MEMORY;
        }
        rp__base_free(y->warm_contact_node);
        rp__base_free(y->warm_contact);
        y->warm_contact_node = node, y->warm_contact = impulse;
        y->warm_contact_capacity = room;
    }
    for (int64_t i = 0; i < y->contact_count; i++) {
        int64_t at[3];
        rp__grid_coordinates(&y->grid, y->contacts[i].node, at);
        for (int a = 0; a < 3; a++)
            y->warm_contact_node[i][a] = (int32_t)at[a];
        y->warm_contact_node[i][3] = NS_SIDES * y->contacts[i].surface + y->contacts[i].side;
        memcpy(y->warm_contact + 3 * i, y->contacts[i].impulse, 3 * sizeof(double));
    }
    y->warm_contact_count = y->contact_count;
    return RP_OK;
}

/* Forces on walls and bodies are the opposite of those on the grains. Free bodies get their new velocity. */
rp_result NS(report_contacts)(ns_system *y, rp__world *world, double dt)
{
    for (int64_t i = 0; i < y->contact_count; i++) {
        const ns_contact *c = &y->contacts[i];
        ns_report_contact(world, c->surface, i, c->place, c->normal, c->adhesion, c->impulse, dt);
    }
    ns_move_bodies(world, y->body_velocity, dt);
    return keep_warm(y);
}

/* Walls that hold their nodes take all the momentum that would be there: what comes with u* … */
void NS(stick_momentum)(const ns_system *y, rp__world *world, double dt)
{
    for (int64_t j = 0; j < (int64_t)y->grid.blocks * RP_BLOCK_NODES; j++)
        if (y->stick[j])
            for (int a = 0; a < RP_DIM; a++)
                world->wall_force[y->stick[j] - 1][a] += y->mass[j] * ns_velocity(y, j)[a] / dt;
}

/* … and what the stresses bring: sum_i chi(lambda_i - c_i) g_ij. */
void NS(stick_forces)(const ns_system *y, rp__world *world)
{
    for (int64_t block = 0; block < y->grid.blocks; block++) {
        if (!y->masked[block])
            continue;
        for (uint64_t bits = y->active[block]; bits; bits &= bits - 1) {
            int l = __builtin_ctzll(bits), base = ns_tile_of_local(l);
            int64_t i = block * RP_BLOCK_NODES + l;
            double lambda[NS_S], h[RP_DIM * RP_DIM];
            memcpy(lambda, y->stress[i].lambda, sizeof lambda);
            lambda[0] -= y->stress[i].cohesion;
            ns_tensor_of(y, i, lambda, h);
            for (int n = 0; n < y->stencil; n++) {
                int64_t j = ns_tile_node(y, block, base + y->offset[n]);
                if (j < 0 || !y->stick[j])
                    continue;
                for (int a = 0; a < RP_DIM; a++)
                    for (int b = 0; b < RP_DIM; b++)
                        world->wall_force[y->stick[j] - 1][a] +=
                            h[a * RP_DIM + b] * y->g[(i * y->stencil + n) * RP_DIM + b] / y->scale[j];
            }
        }
    }
}
