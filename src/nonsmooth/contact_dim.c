/* Walls and bodies: which velocity nodes touch them, and what force they take. */
#include "nonsmooth/contact.h"
#include "nonsmooth/local.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* Appends; false when there is no room. */
static ns_contact *append(ns_system *y)
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
        ns_contact *c = append(y);
        if (!c)
            return RP_OUT_OF_MEMORY;
        c->node = node;
        c->surface = f;
        c->normal[f / 2] = f & 1 ? -1 : 1;
        y->hold[node] |= (unsigned char)(1 << f / 2);
        c->mu = wall->kind == RP_FRICTIONAL ? wall->friction : 0;
        c->adhesion = wall->adhesion * area * dt;
    }
    return RP_OK;
}

static rp_result body_contact(ns_system *y, const rp__world *world, double dt, int64_t node, const int64_t *at, int index)
{
    const rp__body *body = &world->bodies[index];
    double x[3] = { 0 }, h = y->lattice.h;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = y->lattice.origin[a] + h * (double)at[a];
    rp__vec3 n, p = rp__vec3_load(x);
    double d = rp__body_distance(body, &body->pose, p, &n);
    if (!(d < h))
        return RP_OK;
    double length = rp__vec3_norm(n);
    if (!(length > 0))
        return RP_OK;
    ns_contact *c = append(y);
    if (!c)
        return RP_OUT_OF_MEMORY;
    c->node = node;
    c->surface = 6 + index;
    rp__vec3_store(c->normal, rp__vec3_scale(1 / length, n));
    const rp_surface *surface = &body->def.surface;
    c->mu = surface->kind == RP_STICK ? (d <= 0 ? INFINITY : 1e3) : surface->kind == RP_FRICTIONAL ? surface->friction : 0;
    c->gap = d > 0 ? d / dt : 0;
    if (d < 0)
        y->hold[node] = 7;
    c->adhesion = d > 0 ? 0 : surface->adhesion * pow(h, RP_DIM - 1) * dt;
    if (body->def.kind == RP_BODY_FREE && body->inverse_mass > 0)
        c->free_body = index;
    else
        rp__vec3_store(c->target, rp__body_velocity_at(body, p));
    return RP_OK;
}

/* Which bodies are near a block. */
static uint64_t bodies_near(const ns_system *y, const rp__world *world, int64_t block)
{
    uint64_t near = 0;
    double x[3] = { 0 }, h = y->lattice.h;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = y->lattice.origin[a] + h * (4.0 * y->grid.coord[block][a] + 1.5);
    for (int k = 0; k < world->body_count && k < 64; k++) {
        rp__vec3 n;
        if (world->bodies[k].present &&
            rp__body_distance(&world->bodies[k], &world->bodies[k].pose, rp__vec3_load(x), &n) < (1.5 * sqrt(RP_DIM) + 1) * h)
            near |= (uint64_t)1 << k;
    }
    return near;
}

/* Impulses of the last step for the contacts that are there again; contacts are sorted by node. */
static void place_warm(ns_system *y)
{
    for (int64_t k = 0; k < y->warm_contact_count; k++) {
        const int32_t *key = y->warm_contact_node[k];
        int64_t node = RP_D(rp__grid_node)(&y->grid, key[0], key[1], key[2]), low = 0, high = y->contact_count;
        if (node < 0)
            continue;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (y->contacts[middle].node < node)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < y->contact_count && y->contacts[low].node == node; low++)
            if (y->contacts[low].surface == key[3]) {
                memcpy(y->contacts[low].impulse, y->warm_contact + 3 * k, 3 * sizeof(double));
                memcpy(y->contacts[low].previous, y->warm_contact + 3 * k, 3 * sizeof(double));
            }
    }
}

rp_result NS(find_contacts)(ns_system *y, const rp__world *world, double dt)
{
    bool walls = has_wall_contacts(world);
    y->contact_count = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        y->contact_first[b] = y->contact_count;
        uint64_t near = world->body_count ? bodies_near(y, world, b) : 0;
        if (!walls && !near)
            continue;
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t node = b * RP_BLOCK_NODES + l, at[3];
            if (!(y->scale[node] > 0) || y->stick[node])
                continue;
            rp__grid_coordinates(&y->grid, node, at);
            if (walls)
                RP_TRY(wall_contacts(y, world, dt, node, at));
            for (uint64_t bits = near; bits; bits &= bits - 1)
                RP_TRY(body_contact(y, world, dt, node, at, __builtin_ctzll(bits)));
        }
    }
    y->contact_first[y->grid.blocks] = y->contact_count;
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
        y->warm_contact_node[i][3] = y->contacts[i].surface;
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
        double force[3];
        for (int a = 0; a < 3; a++)
            force[a] = -(c->impulse[a] - c->adhesion * c->normal[a]) / dt;
        if (c->surface < 6) {
            for (int a = 0; a < 3; a++)
                world->wall_force[c->surface][a] += force[a];
        } else {
            rp__body *body = &world->bodies[c->surface - 6];
            int64_t at[3];
            double x[3] = { 0 };
            rp__grid_coordinates(&y->grid, c->node, at);
            for (int a = 0; a < RP_DIM; a++)
                x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
            rp__vec3 f = rp__vec3_load(force), arm = rp__vec3_sub(rp__vec3_load(x), body->pose.position);
            body->force = rp__vec3_add(body->force, f);
            body->torque = rp__vec3_add(body->torque, rp__vec3_cross(arm, f));
        }
    }
    for (int k = 0; k < world->body_count; k++)
        if (world->bodies[k].present && world->bodies[k].def.kind == RP_BODY_FREE) {
            world->bodies[k].velocity = rp__vec3_load(y->body_velocity + 6 * k);
            world->bodies[k].omega = rp__vec3_load(y->body_velocity + 6 * k + 3);
            rp__body_predict(&world->bodies[k], dt);
        }
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
            double lambda[NS_S], h[RP_DIM * RP_DIM], m[RP_DIM * RP_DIM];
            memcpy(lambda, y->stress[i].lambda, sizeof lambda);
            lambda[0] -= y->stress[i].cohesion;
            ns_frame_tensor(&y->frame[i], lambda, m);
            ns_rotate_out(y->frame[i].r, m, h);
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
