/* Contacts of grains with bodies: at the places on the surface where particles would touch it.
 *
 * Each particle near a body is projected to the surface. The places in one cell that look the same way make one contact, with their
 * mean normal: the velocity of the grains is the mean of what the corners of the cell give there, and the impulse goes back to them with
 * the same weights. So the force acts where the surface is, however it lies against the grid: for a pressure p the nodes get what
 * the stresses in cells filled up to the surface leave, int p N_j n dA. (The weights at the mean place would not do: the surface
 * may pass through two corners and cut the cell in half, and the others must be held as well.) Sheets thinner than a
 * cell are seen from the side where the particles are. What is left between the nearest particle and the surface is the gap,
 * which may be closed in this step: a particle keeps the half of its width away. */
#include "nonsmooth/contact.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

typedef struct job {
    ns_system *y;
    const rp__world *world;
    double dt, full;
    double fastest; /* particle, gravity of the step added */
} job;

/* Particles within this part of a cell take part in the mean place. */
#define NS_REACH 0.75
/* Of a cell: what is nearer to a face lies on it. */
#define NS_HAIR 1e-4

static double speed_at(const rp__body *body, rp__vec3 x)
{
    return rp__vec3_norm(rp__body_velocity_at(body, x));
}

/* Which bodies may touch particles of a block in this step. */
static uint64_t bodies_near(const ns_system *y, const rp__world *world, int64_t block, double dt)
{
    uint64_t near = 0;
    double x[3] = { 0 }, h = y->lattice.h;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = y->lattice.origin[a] + h * (4.0 * y->grid.coord[block][a] + 2);
    for (int k = 0; k < world->body_count && k < 64; k++) {
        const rp__body *body = &world->bodies[k];
        if (!body->present)
            continue;
        double way = dt * speed_at(body, rp__vec3_load(x));
        if (rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL) < (2 * sqrt(RP_DIM) + 2) * h + way)
            near |= (uint64_t)1 << k;
    }
    return near;
}

/* The lowest node of the cell of a place on a surface with normal n, and the weights of the corners. A surface along a face of cells
 * belongs to the cell on the side of the grains. If no grains are near the place, it is taken into the cell of particle i. */
static int64_t cell_of(const ns_system *y, const rp__particles *p, int64_t i, double *place, rp__vec3 n, double *share)
{
    double along[3] = { n.x, n.y, n.z }, t[3] = { 0 };
    int64_t at[3] = { 0 }, near[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++) {
        double q = rp__lattice_coordinate(&y->lattice, a, place[a]);
        at[a] = (int64_t)floor(q + NS_HAIR * along[a]);
        t[a] = q - (double)at[a];
        near[a] = at[a] + (t[a] > 0.5);
    }
    int64_t node = RP_D(rp__grid_node)(&y->grid, near[0], near[1], near[2]);
    if (node < 0 || !(y->scale[node] > 0))
        for (int a = 0; a < RP_DIM; a++) {
            double q = rp__lattice_coordinate(&y->lattice, a, place[a]), low = floor(rp__lattice_coordinate(&y->lattice, a, p->x[a][i]));
            double to = q < low ? low : q > low + 1 ? low + 1 : q;
            at[a] = (int64_t)low;
            t[a] = to - low;
            place[a] = y->lattice.origin[a] + y->lattice.h * to;
        }
    for (int c = 0; c < NS_CORNERS; c++) {
        share[c] = 1;
        for (int a = 0; a < RP_DIM; a++) {
            double in = t[a] < 0 ? 0 : t[a] > 1 ? 1 : t[a];
            share[c] *= c >> a & 1 ? in : 1 - in;
        }
    }
    return RP_D(rp__grid_node)(&y->grid, at[0], at[1], at[2]);
}

/* From a point at the bound d with the gradient n to the surface: combined shapes give a bound of the distance only, and where their
 * parts overlap a bound that is far too small: what looks like a surface must be one. *d becomes the way there; false when there is none
 * within `reach`. */
static bool find_surface(const rp__body *body, double h, double reach, rp__vec3 at, double *d, rp__vec3 *n, rp__vec3 *place)
{
    double e = *d;
    *place = at;
    for (int k = 0; k < 5; k++) {
        rp__vec3 m;
        *place = rp__vec3_axpy(-e, *n, *place);
        e = rp__body_distance(body, &body->pose, *place, &m);
        if (fabs(e) < 0.02 * h)
            return true;
        double length = rp__vec3_norm(m);
        *d += e;
        if (!(length > 0) || *d > reach)
            return false;
        *n = rp__vec3_scale(1 / length, m);
        if (RP_DIM == 2)
            n->z = 0;
    }
    return false;
}

/* Where particle i would touch the body; false when it is too far away. */
static bool touch(const job *w, int64_t i, int index, ns_touch *t)
{
    const ns_system *y = w->y;
    const rp__particles *p = w->world->particles;
    const rp__body *body = &w->world->bodies[index];
    double h = y->lattice.h, bulk = p->volume[i] / w->world->materials[p->material[i]].volume_fraction;
    double x[3] = { 0 }, v[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++)
        x[a] = p->x[a][i], v[a] = p->v[a][i] + w->dt * w->world->def->gravity[a];
    rp__vec3 at = rp__vec3_load(x), n;
    double d = rp__body_distance(body, &body->pose, at, &n), length = rp__vec3_norm(n);
    if (RP_DIM == 2)
        n.z = 0, length = rp__vec3_norm(n);
    if (!(length > 0))
        return false;
    n = rp__vec3_scale(1 / length, n);
    double radius = 0.5 * (RP_DIM == 3 ? cbrt(bulk) : sqrt(bulk)), reach = NS_REACH * h;
    if (!(d - radius < reach)) {
        double approach = -w->dt * rp__vec3_dot(rp__vec3_sub(rp__vec3_load(v), rp__body_velocity_at(body, at)), n);
        reach += approach > 0 ? approach : 0;
        if (!(d - radius < reach))
            return false;
    }
    rp__vec3 place;
    if (!find_surface(body, h, reach + radius, at, &d, &n, &place))
        return false;
    double clear = d - radius;
    t->body = index;
    t->weight = 1 - clear / (NS_REACH * h);
    t->weight = t->weight < 0.01 ? 0.01 : t->weight > 1 ? 1 : t->weight;
    t->gap = clear > 0 ? clear : 0;
    t->volume = bulk;
    if (d > h) /* the place stays near the particle's cell; a body not yet there is met on the way */
        place = rp__vec3_axpy(-h, n, at);
    rp__vec3_store(t->place, place);
    rp__vec3_store(t->normal, n);
    t->node = cell_of(y, p, i, t->place, n, t->share);
    return t->node >= 0;
}

static void find_near(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        w->y->touch_near[b] = bodies_near(w->y, w->world, b, w->dt);
}

/* Of the bodies near a block those that may touch particles of one cell: all that is more than a cell and the way of the step off is far. */
static uint64_t near_cell(const job *w, uint64_t near, const int64_t *at)
{
    double x[3] = { 0 }, h = w->y->lattice.h;
    uint64_t found = 0;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = w->y->lattice.origin[a] + h * ((double)at[a] + 0.5);
    for (uint64_t bits = near; bits; bits &= bits - 1) {
        int k = __builtin_ctzll(bits);
        const rp__body *body = &w->world->bodies[k];
        double d = rp__body_distance(body, &body->pose, rp__vec3_load(x), NULL), reach = (0.51 * sqrt(RP_DIM) + NS_REACH + 0.5) * h;
        if (d < reach || d < reach + w->dt * (speed_at(body, rp__vec3_load(x)) + w->fastest))
            found |= (uint64_t)1 << k;
    }
    return found;
}

static void touch_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    ns_system *y = w->y;
    const rp__particles *p = w->world->particles;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        ns_touch *to = y->touches + y->touch_range[b][0];
        int64_t at[3] = { INT64_MIN, 0, 0 }, now[3] = { 0 };
        uint64_t near = 0;
        y->touch_range[b][1] = 0;
        for (int64_t i = y->grid.first[b]; y->touch_near[b] && i < y->grid.first[b + 1]; i++) {
            for (int a = 0; a < RP_DIM; a++)
                now[a] = (int64_t)floor(rp__lattice_coordinate(&y->lattice, a, p->x[a][i]));
            if (memcmp(at, now, sizeof at) != 0) {
                memcpy(at, now, sizeof at);
                near = near_cell(w, y->touch_near[b], at);
            }
            for (uint64_t bits = near; bits; bits &= bits - 1)
                if (touch(w, i, __builtin_ctzll(bits), &to[y->touch_range[b][1]]))
                    y->touch_range[b][1]++;
        }
    }
}

/* Adds a touch to the contact of its cell that looks the same way, or makes one. Sums until finish_contact: target[0] is the
 * weight, mass the volume, previous[0] links the contacts of the cell. */
static rp_result add(ns_system *y, const ns_touch *t)
{
    int32_t side = 0;
    ns_contact *c = NULL;
    for (int32_t k = y->node_contact[t->node]; k >= 0; k = (int32_t)y->contacts[k].previous[0]) {
        ns_contact *other = &y->contacts[k];
        if (other->surface != 6 + t->body)
            continue;
        side++;
        double along = 0, length = 0;
        for (int a = 0; a < 3; a++)
            along += other->normal[a] * t->normal[a], length += other->normal[a] * other->normal[a];
        if (along > 0.5 * sqrt(length))
            c = other;
    }
    if (!c) {
        if (side >= NS_SIDES)
            return RP_OK;
        c = NS(append_contact)(y);
        if (!c)
            return RP_OUT_OF_MEMORY;
        c->node = t->node;
        c->surface = 6 + t->body;
        c->side = side;
        c->gap = t->gap;
        c->previous[0] = y->node_contact[t->node];
        y->node_contact[t->node] = (int32_t)(y->contact_count - 1);
    }
    c->gap = t->gap < c->gap ? t->gap : c->gap;
    c->target[0] += t->weight;
    c->mass += t->weight * t->volume;
    for (int n = 0; n < NS_CORNERS; n++)
        c->share[n] += t->weight * t->share[n];
    for (int a = 0; a < 3; a++) {
        c->place[a] += t->weight * t->place[a];
        c->normal[a] += t->weight * t->normal[a];
    }
    return RP_OK;
}

/* From sums to a contact; false when no node can take its impulse. */
static bool finish_contact(const job *w, ns_contact *c)
{
    const ns_system *y = w->y;
    const rp__body *body = &w->world->bodies[c->surface - 6];
    const rp_surface *surface = &body->def.surface;
    double length = 0, all = 0, squares = 0, area = c->mass / (0.5 * NS_REACH * y->lattice.h), weight = c->target[0];
    for (int a = 0; a < 3; a++) {
        c->place[a] /= weight;
        c->target[a] = 0;
        length += c->normal[a] * c->normal[a];
    }
    for (int a = 0; a < 3; a++)
        c->normal[a] /= sqrt(length);
    int64_t block = c->node / RP_BLOCK_NODES;
    int base = ns_tile_of_local((int)(c->node % RP_BLOCK_NODES));
    c->count = NS_CORNERS;
    for (int n = 0; n < NS_CORNERS; n++) {
        int64_t j = ns_tile_node(y, block, base + ns_corner(n));
        double value = c->share[n] / weight;
        c->share[n] = 0;
        if (j < 0 || !(y->scale[j] > 0))
            continue;
        all += value;
        c->share[n] = y->stick[j] ? 0 : value * y->scale[j];
    }
    if (!(all > 1e-3))
        return false;
    for (int n = 0; n < NS_CORNERS; n++) {
        c->share[n] /= all;
        squares += c->share[n] * c->share[n];
    }
    if (!(squares > 0))
        return false;
    c->mass = w->dt / squares;
    bool close = !(c->gap > 0);
    c->gap /= w->dt;
    c->mu = surface->kind == RP_STICK ? (close ? INFINITY : 1e3) : surface->kind == RP_FRICTIONAL ? surface->friction : 0;
    c->adhesion = close ? surface->adhesion * area * w->dt : 0;
    memset(c->previous, 0, sizeof c->previous);
    if (body->def.kind == RP_BODY_FREE && body->inverse_mass > 0)
        c->free_body = c->surface - 6;
    else
        rp__vec3_store(c->target, rp__body_velocity_at(body, rp__vec3_load(c->place)));
    return true;
}

static void fastest_chunk(void *context, int64_t begin, int64_t end, double *most)
{
    const rp__particles *p = ((const job *)context)->world->particles;
    for (int64_t i = begin; i < end; i++) {
        double square = p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
        most[0] = square > most[0] ? square : most[0];
    }
}

static rp_result reserve(ns_system *y)
{
    if (y->touch_blocks < y->grid.blocks) {
        int64_t blocks = y->grid.blocks + y->grid.blocks / 8 + 8;
        rp__base_free(y->touch_range);
        rp__base_free(y->touch_near);
        y->touch_blocks = 0;
        y->touch_range = rp__base_alloc_array((size_t)blocks, sizeof *y->touch_range);
        y->touch_near = RP_NEW_ARRAY(uint64_t, blocks);
        if (!y->touch_range || !y->touch_near)
            return RP_OUT_OF_MEMORY;
        y->touch_blocks = blocks;
    }
    return RP_OK;
}

rp_result NS(find_touches)(ns_system *y, const rp__world *world, double dt)
{
    const double *g = world->def->gravity;
    job w = { y, world, dt, pow(y->lattice.h, RP_DIM), dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) };
    double most = 0;
    rp__exec_max(world->particles->count, 16384, 1, fastest_chunk, &w, &most);
    w.fastest += sqrt(most);
    RP_TRY(reserve(y));
    rp__exec_for(y->grid.blocks, 8, find_near, &w);
    int64_t total = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        y->touch_range[b][0] = total;
        total += __builtin_popcountll(y->touch_near[b]) * (y->grid.first[b + 1] - y->grid.first[b]);
    }
    if (!rp__base_grow(&y->touches, &y->touch_capacity, total + 1, sizeof(ns_touch)))
        return RP_OUT_OF_MEMORY;
    rp__exec_for(y->grid.blocks, 4, touch_blocks, &w);
    memset(y->node_contact, 0xff, (size_t)y->grid.blocks * RP_BLOCK_NODES * sizeof *y->node_contact);
    int64_t first = y->contact_count, kept;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (int64_t k = 0; k < y->touch_range[b][1]; k++)
            RP_TRY(add(y, &y->touches[y->touch_range[b][0] + k]));
    kept = first;
    for (int64_t i = first; i < y->contact_count; i++)
        if (finish_contact(&w, &y->contacts[i]))
            y->contacts[kept++] = y->contacts[i];
    y->contact_count = kept;
    return RP_OK;
}
