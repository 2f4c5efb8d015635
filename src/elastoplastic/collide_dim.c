/* Collisions on the grid: the constraint first, friction from the change it made afterwards   [klar2016, §8, §8.1]. */
#include "elastoplastic/collide.h"

#include "elastoplastic/elastoplastic.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

typedef struct meeting {
    const rp__grid *g;
    const rp__world *world;
    double dt;
    const double *mass;
    double *const *velocity; /* what meets walls and bodies */
    double *const *rubbed;   /* implicit: the solution, to which friction is applied; NULL: `velocity` itself */
    double *slope;           /* 9 numbers a node, or NULL */
    unsigned char *kinds;    /* 2 RP_DIM a node: what each face does to it, or NULL */
    const rp__body *body;    /* the one met */
    rp__elastoplastic_sight *sight; /* what nodes see of it; NULL: it has no columns */
    int axis;                /* along which columns are mirrored */
    int face;                /* or the wall */
    rp__vec3 gain;           /* of gravity in the step, contained in the velocities */
    double whole;            /* (1 + damping dt): velocities are divided by it, impulses are not */
    double reach;            /* beyond this distance a body is not felt */
    const double *clear;     /* of the bodies that stand, or NULL */
} meeting;

static rp__vec3 get_velocity(double *const *velocity, int64_t i)
{
    return rp__vec3_make(velocity[0][i], velocity[1][i], RP_DIM == 3 ? velocity[2][i] : 0);
}

static void set_velocity(double *const *velocity, int64_t i, rp__vec3 v)
{
    velocity[0][i] = v.x;
    velocity[1][i] = v.y;
    if (RP_DIM == 3)
        velocity[2][i] = v.z;
}

static rp__vec3 node_position(const rp__grid *g, int64_t i)
{
    int64_t at[3];
    rp__grid_coordinates(g, i, at);
    const rp__lattice *l = &g->lattice;
    return rp__vec3_make(l->origin[0] + l->h * (double)at[0], l->origin[1] + l->h * (double)at[1],
                         RP_DIM == 3 ? l->origin[2] + l->h * (double)at[2] : 0);
}

/* The velocity after friction: the impulse j = m push allows a tangential change of mu |j| / m. */
static rp__vec3 rub(double push, rp__vec3 after, rp__vec3 surface_velocity, rp__vec3 n, double friction)
{
    rp__vec3 relative = rp__vec3_sub(after, surface_velocity);
    double normal = rp__vec3_dot(relative, n);
    rp__vec3 slide = rp__vec3_axpy(-normal, n, relative);
    double speed = rp__vec3_norm(slide), most = friction * push;
    if (speed <= most)
        return rp__vec3_add(surface_velocity, rp__vec3_scale(normal, n));
    return rp__vec3_axpy(-most / speed, slide, after);
}

/* What a wall or body makes of a velocity. */
typedef struct contact {
    bool met, held;     /* held: sticks, all of it is prescribed */
    rp__vec3 velocity;  /* without friction */
    rp__vec3 normal, surface_velocity;
} contact;

/* `now` is the distance at x. */
static contact meet_body(const meeting *w, rp__vec3 x, double now, rp__vec3 v)
{
    const rp__body *body = w->body;
    const rp_surface *surface = &body->def.surface;
    contact c = { .velocity = v };
    if (now > w->reach + w->dt * rp__vec3_norm(v))
        return c;
    double then = rp__body_distance(body, &body->pose_next, rp__vec3_axpy(w->dt, v, x), &c.normal);
    double least = now < 0 ? now : 0;
    c.surface_velocity = rp__body_velocity_at(body, x);
    if (surface->kind == RP_STICK) {
        c.met = c.held = now < 0 || then < 0;
        if (c.met)
            c.velocity = c.surface_velocity;
    } else {
        c.met = then < least || (surface->adhesion > 0 && now < 0);
        if (c.met) /* x <- x - (phi - a) grad phi */
            c.velocity = rp__vec3_axpy((least - then) / w->dt, c.normal, v);
    }
    if (RP_DIM == 2)
        c.velocity.z = 0;
    return c;
}

/* The face f of the domain at the node with coordinates `at`. */
static contact meet_wall(const meeting *w, int f, const int64_t at[3], rp__vec3 v)
{
    const rp_surface *wall = &w->world->def->wall[f];
    int axis = f / 2;
    bool beyond = f & 1 ? at[axis] >= w->world->cells[axis] : at[axis] <= 0;
    contact c = { .velocity = v };
    if (!beyond || wall->kind == RP_OPEN || wall->kind == RP_PERIODIC)
        return c;
    double normal[3] = { 0, 0, 0 };
    normal[axis] = f & 1 ? -1 : 1;
    c.normal = rp__vec3_load(normal);
    double vn = rp__vec3_dot(v, c.normal);
    c.held = wall->kind == RP_STICK;
    c.met = c.held || vn < 0 || wall->adhesion > 0;
    if (c.met)
        c.velocity = c.held ? c.surface_velocity : rp__vec3_axpy(-vn, c.normal, v);
    return c;
}

/* Sets the velocities of a node after a contact; returns the impulse on the wall or body. */
static rp__vec3 answer(const meeting *w, int64_t i, const rp_surface *surface, rp__vec3 v, const contact *c)
{
    rp__vec3 change = rp__vec3_sub(v, c->velocity), after = c->velocity;
    if (!w->rubbed) {
        if (!c->held && surface->kind == RP_FRICTIONAL)
            after = rub(rp__vec3_norm(change), after, c->surface_velocity, c->normal, surface->friction);
        set_velocity(w->velocity, i, after);
        return rp__vec3_scale(w->mass[i], rp__vec3_sub(v, after));
    }
    set_velocity(w->velocity, i, c->velocity);
    rp__vec3 solution = get_velocity(w->rubbed, i);
    after = c->held ? c->velocity : solution;
    if (!c->held && surface->kind == RP_FRICTIONAL)
        after = rub(rp__vec3_norm(change), solution, c->surface_velocity, c->normal, surface->friction);
    set_velocity(w->rubbed, i, after);
    return rp__vec3_scale(w->mass[i], rp__vec3_add(change, rp__vec3_sub(solution, after)));
}

/* ---- columns ---- */

/* Nodes on a line across a surface. Surfaces are mirrors: the sand continues behind with the velocity turned round,
 * v(-y) = -v(y) relative to the surface, so that a linear profile passes from particles to grid and back as if there were no
 * end, and the surface is where it is, not at the nearest node below. The velocities of a column are then one unknown g times
 * its shares a (distances from the surface, that of the first node half a cell or more outside is 1); what particles gave to
 * its nodes goes there in the norm of the masses,
 *     g = sum a m (v - w) / sum a² m,   v <- w + a g
 * with w the velocity of the surface; where a < 0, v is taken without 2 dt g of gravity, which has the other sign behind the
 * mirror. On a wall a = -1, 0, 1. Without the mirror, a node outside at rest slows the layer above it in each step (a viscosity of
 * the order of 0.005 h² / dt, seen as 6 % more friction on a floor), and sand sinks until it meets the nodes inside a body. */
enum { COLUMN = 8 };

typedef struct column {
    int count;
    int64_t node[COLUMN];
    double mass[COLUMN], share[COLUMN];
    rp__vec3 surface[COLUMN]; /* velocity of the surface, at the nodes */
} column;

/* Index of the next node along an axis, or -1. */
static int64_t beside(const rp__grid *g, int64_t node, int axis, int way)
{
    static const int stride[3] = { 1, RP_BLOCK, RP_BLOCK * RP_BLOCK }, turn[3] = { 1, 3, 9 };
    int64_t block = node / RP_BLOCK_NODES;
    int local = (int)(node % RP_BLOCK_NODES), at = local / stride[axis] % RP_BLOCK;
    if (at + way >= 0 && at + way < RP_BLOCK)
        return node + way * stride[axis];
    int32_t other = g->neighbour[block][RP_NEIGHBOURS / 2 + way * turn[axis]];
    return other < 0 ? -1 : (int64_t)other * RP_BLOCK_NODES + local - way * (RP_BLOCK - 1) * stride[axis];
}

/* The velocities of a column behind the mirror, from those it has. */
static void reflect(const meeting *w, const column *c, double *const *velocity, rp__vec3 v[COLUMN], rp__vec3 held[COLUMN])
{
    rp__vec3 momentum = { 0, 0, 0 };
    double mass = 0;
    for (int k = 0; k < c->count; k++) {
        v[k] = get_velocity(velocity, c->node[k]);
        rp__vec3 relative = rp__vec3_sub(v[k], c->surface[k]);
        if (c->share[k] < 0)
            relative = rp__vec3_axpy(-2, w->gain, relative);
        momentum = rp__vec3_axpy(c->share[k] * c->mass[k], relative, momentum);
        mass += c->share[k] * c->share[k] * c->mass[k];
    }
    for (int k = 0; k < c->count; k++)
        held[k] = rp__vec3_axpy(c->share[k] / mass, momentum, c->surface[k]);
}

/* The impulse that takes a column from v to held, normal to the wall and along it. */
static void impulse_of(const column *c, const rp__vec3 v[COLUMN], const rp__vec3 held[COLUMN], rp__vec3 n, rp__vec3 *push,
                       rp__vec3 *pull)
{
    *push = *pull = rp__vec3_make(0, 0, 0);
    for (int k = 0; k < c->count; k++) {
        rp__vec3 change = rp__vec3_scale(c->mass[k], rp__vec3_sub(held[k], v[k])), along = rp__vec3_scale(rp__vec3_dot(change, n), n);
        *push = rp__vec3_add(*push, along);
        *pull = rp__vec3_add(*pull, rp__vec3_sub(change, along));
    }
}

/* Takes a column the part `normal` of the way from v to held on n, and `tangential` of it across. */
static void go(const column *c, const rp__vec3 v[COLUMN], const rp__vec3 held[COLUMN], rp__vec3 n, double normal, double tangential,
               double *const *velocity)
{
    for (int k = 0; k < c->count; k++) {
        rp__vec3 change = rp__vec3_sub(held[k], v[k]), along = rp__vec3_scale(rp__vec3_dot(change, n), n);
        set_velocity(velocity, c->node[k], rp__vec3_axpy(tangential, rp__vec3_sub(change, along), rp__vec3_axpy(normal, along, v[k])));
    }
}

/* The part of the way to the mirror that the tangential velocities go: friction takes `pull` as far as the push allows. */
static double tangential_part(const rp_surface *surface, rp__vec3 push, rp__vec3 pull, rp__vec3 n)
{
    if (surface->kind != RP_FRICTIONAL)
        return surface->kind == RP_STICK ? 1 : 0;
    double needed = rp__vec3_norm(pull), most = surface->friction * fmax(0, rp__vec3_dot(push, n));
    return needed <= most ? 1 : most / needed;
}

/* ---- bodies ---- */

/* The direction of the grid that is nearest to a normal: 2 axis, + 1 when it points down the axis. */
static int face_of(rp__vec3 n)
{
    double part[3] = { n.x, n.y, RP_DIM == 3 ? n.z : 0 };
    int axis = 0;
    for (int a = 1; a < RP_DIM; a++)
        if (fabs(part[a]) > fabs(part[axis]))
            axis = a;
    return 2 * axis + (part[axis] < 0);
}

/* The nearest surface; then the one that is nearest two cells above it, and so on: in a corner that is the other side of the corner, which the
 * distance at the node does not tell of. Planes go on behind each other, as the walls of a domain do. */
static void look(const meeting *w, int64_t i, rp__elastoplastic_sight *sight, rp__vec3 normal[RP_DIM])
{
    double h = w->g->lattice.h, far = 2 * h;
    rp__vec3 x = node_position(w->g, i), at = x;
    for (int k = 0; k < RP_DIM; k++) {
        rp__vec3 n;
        double d = rp__body_distance(w->body, &w->body->pose, at, &n);
        int face = face_of(n), axis = face / 2;
        if (d > (k == 0 ? 1.501 * h : 0.999 * far) || sight->face[axis] >= 0) /* no column begins so far out; nothing else is there */
            return;
        sight->distance[axis] = d - rp__vec3_dot(rp__vec3_sub(at, x), n);
        sight->face[axis] = (signed char)face;
        normal[axis] = n;
        at = rp__vec3_axpy(far - d, n, at);
    }
}

/* Nodes out of reach of a body that stands. */
static bool is_spared(const meeting *w, int64_t i)
{
    double margin = 0.1 * w->g->lattice.h + (w->rubbed ? 0 : w->reach);
    if (!(w->mass[i] > 0))
        return true;
    return w->clear && rp__body_rests(w->body) && w->clear[i] > margin + 2 * w->dt * rp__vec3_norm(get_velocity(w->velocity, i));
}

static void look_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const meeting *w = context;
    rp__vec3 normal[RP_DIM];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        for (int a = 0; a < RP_DIM; a++)
            w->sight[i].face[a] = -1;
        if (w->mass[i] > 0 && !is_spared(w, i))
            look(w, i, &w->sight[i], normal);
    }
}

/* A column goes inwards from the last node that is half a cell or more outside, as long as nodes have mass and see the surface in the
 * same direction. False: the node begins none along the axis. */
static bool body_column(const meeting *w, int64_t first, int axis, column *c)
{
    const rp__elastoplastic_sight *own = &w->sight[first];
    double near = 0.5 * w->g->lattice.h;
    int face = own->face[axis];
    c->count = 0;
    if (face < 0 || own->distance[axis] < near)
        return false;
    for (int64_t i = first; c->count < COLUMN; i = beside(w->g, i, axis, face & 1 ? 1 : -1)) {
        if (i < 0 || !(w->mass[i] > 0) || w->sight[i].face[axis] != face || (i != first && w->sight[i].distance[axis] >= near))
            break;
        c->node[c->count] = i, c->mass[c->count] = w->mass[i];
        c->share[c->count] = w->sight[i].distance[axis] / own->distance[axis];
        c->surface[c->count] = rp__body_velocity_at(w->body, node_position(w->g, i));
        c->count++;
    }
    return c->count > 1;
}

/* Whether a node belongs to the column of another along the axis. */
static bool is_in_column(const meeting *w, int64_t i, int axis)
{
    int face = w->sight[i].face[axis];
    double near = 0.5 * w->g->lattice.h;
    if (face < 0 || w->sight[i].distance[axis] >= near)
        return false;
    for (int k = 1; k < COLUMN; k++) {
        i = beside(w->g, i, axis, face & 1 ? -1 : 1);
        if (i < 0 || !(w->mass[i] > 0) || w->sight[i].face[axis] != face)
            return false;
        if (w->sight[i].distance[axis] >= near)
            return true;
    }
    return false;
}

/* Tells of a contact at a node, where somebody listens. */
static void tell(const meeting *w, int surface, int64_t i, rp__vec3 n, rp__vec3 j)
{
    if (!w->world->touches || !(rp__vec3_dot(j, j) > 0))
        return;
    rp__touch touch = { .surface = surface, .place = i };
    rp__vec3_store(touch.point, node_position(w->g, i));
    rp__vec3_store(touch.normal, n);
    rp__vec3_store(touch.impulse, rp__vec3_scale(w->whole, j));
    rp__sim_touch((rp__world *)(uintptr_t)w->world, &touch);
}

/* Adds the impulse of a node on the body, its moment, and its part along the normal. */
static void add_reaction(const meeting *w, int64_t i, rp__vec3 n, rp__vec3 j, double *sum)
{
    rp__vec3 turn = rp__vec3_cross(rp__body_arm(w->body, node_position(w->g, i)), j);
    rp__vec3 along = rp__vec3_scale(rp__vec3_dot(j, n), n);
    sum[0] += j.x, sum[1] += j.y, sum[2] += j.z;
    sum[3] += turn.x, sum[4] += turn.y, sum[5] += turn.z;
    sum[6] += along.x, sum[7] += along.y, sum[8] += along.z;
    tell(w, 6 + (int)(w->body - w->world->bodies), i, n, j);
}

static void mirror_at_body(const meeting *w, const column *c, rp__vec3 n, double *sum)
{
    const rp_surface *surface = &w->body->def.surface;
    rp__vec3 v[COLUMN], held[COLUMN], push, pull;
    reflect(w, c, w->velocity, v, held);
    impulse_of(c, v, held, n, &push, &pull);
    if (surface->kind != RP_STICK && surface->adhesion <= 0 && rp__vec3_dot(push, n) <= 0)
        return;
    go(c, v, held, n, 1, tangential_part(surface, push, pull, n), w->velocity);
    for (int k = 0; k < c->count; k++)
        add_reaction(w, c->node[k], n, rp__vec3_scale(c->mass[k], rp__vec3_sub(v[k], get_velocity(w->velocity, c->node[k]))), sum);
}

/* Columns along one axis at a time (w->axis), so that those of a corner, which cross, are mirrored one after the other. */
static void mirror_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const meeting *w = context;
    column line;
    for (int64_t i = begin; i < end; i++) {
        if (w->sight[i].face[w->axis] < 0 || !body_column(w, i, w->axis, &line))
            continue;
        rp__elastoplastic_sight sight;
        rp__vec3 normal[RP_DIM];
        memset(sight.face, -1, sizeof sight.face);
        look(w, i, &sight, normal);
        mirror_at_body(w, &line, normal[w->axis], sum);
    }
}

/* Whether a node is part of a column along any axis. */
static bool is_mirrored(const meeting *w, int64_t i)
{
    column line;
    for (int a = 0; a < RP_DIM; a++)
        if (body_column(w, i, a, &line) || is_in_column(w, i, a))
            return true;
    return false;
}

/* Nodes that are in no column. */
static void meet_body_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    meeting *w = context;
    for (int64_t i = begin; i < end; i++) {
        if (is_spared(w, i) || (w->sight && is_mirrored(w, i)))
            continue;
        rp__vec3 x = node_position(w->g, i), v = get_velocity(w->velocity, i);
        contact c = meet_body(w, x, rp__body_distance(w->body, &w->body->pose, x, NULL), v);
        if (c.met)
            add_reaction(w, i, c.normal, answer(w, i, &w->body->def.surface, v, &c), sum);
    }
}

static void add_sum(meeting *w, rp__exec_sum_fn function, double sum[9])
{
    double part[9];
    rp__exec_sum((int64_t)w->g->blocks * RP_BLOCK_NODES, 2048, 9, function, w, part);
    for (int k = 0; k < 9; k++)
        sum[k] += part[k];
}

/* ---- walls ---- */

/* A node on a wall with its neighbours, one cell outside the domain and one inside. False when one of them has no mass: there
 * is nothing to fold. */
static bool find_column(const meeting *w, int64_t node, int f, column *c)
{
    int way = f & 1 ? -1 : 1; /* into the domain */
    *c = (column){ .count = 3, .node = { beside(w->g, node, f / 2, -way), node, beside(w->g, node, f / 2, way) }, .share = { -1, 0, 1 } };
    for (int k = 0; k < 3; k++) {
        if (c->node[k] < 0 || !(w->mass[c->node[k]] > 0))
            return false;
        c->mass[k] = w->mass[c->node[k]];
    }
    return true;
}

/* What a face does to a node: nothing; takes the normal velocity; takes all of it; the same two for a column, as a mirror. */
enum { FREE, FLAT, HELD, MIRRORED, MIRRORED_HELD };

static int wall_kind(const meeting *w, int64_t i, int f, column *line)
{
    int axis = f / 2;
    int64_t at[3];
    rp__grid_coordinates(w->g, i, at);
    int64_t depth = f & 1 ? at[axis] - w->world->cells[axis] : -at[axis]; /* layers beyond the wall */
    if (depth < 0)
        return FREE;
    bool columns = false;
    if (depth <= 1) {
        int64_t on = depth == 0 ? i : beside(w->g, i, axis, f & 1 ? -1 : 1);
        columns = on >= 0 && find_column(w, on, f, line);
    }
    if (columns && depth == 1)
        return FREE; /* with the node on the wall */
    contact c = meet_wall(w, f, at, get_velocity(w->velocity, i));
    return !c.met ? FREE : columns ? (c.held ? MIRRORED_HELD : MIRRORED) : c.held ? HELD : FLAT;
}

/* Mirrors the normal velocity, and the tangential one as far as friction can; returns the impulse on the wall. In implicit steps
 * the solution has the normal part of the mirror (on a stick wall all of it) already: friction acts on it, with the push that v*
 * needs. */
static rp__vec3 mirror(const meeting *w, int f, const column *c)
{
    const rp_surface *wall = &w->world->def->wall[f];
    double normal[3] = { 0 };
    normal[f / 2] = f & 1 ? -1 : 1;
    rp__vec3 n = rp__vec3_load(normal), v[COLUMN], held[COLUMN], push, pull, unused;
    bool stick = wall->kind == RP_STICK;
    reflect(w, c, w->velocity, v, held);
    impulse_of(c, v, held, n, &push, &pull);
    if (w->rubbed) {
        go(c, v, held, n, 1, stick ? 1 : 0, w->velocity);
        if (stick)
            return rp__vec3_scale(-1, rp__vec3_add(push, pull));
        reflect(w, c, w->rubbed, v, held);
        impulse_of(c, v, held, n, &unused, &pull);
    }
    double part = tangential_part(wall, push, pull, n);
    go(c, v, held, n, w->rubbed ? 0 : 1, part, w->rubbed ? w->rubbed : w->velocity);
    return rp__vec3_scale(-1, rp__vec3_axpy(part, pull, push));
}

/* Layers of nodes of the block that lie on the face f or beyond it. */
static bool at_face(const meeting *w, int64_t block, int f)
{
    int64_t first = (int64_t)w->g->coord[block][f / 2] * RP_BLOCK;
    return f & 1 ? first + RP_BLOCK > w->world->cells[f / 2] : first <= 0;
}

static void meet_wall_node(const meeting *w, int64_t i, double *sum)
{
    column line;
    rp__vec3 j;
    int kind = wall_kind(w, i, w->face, &line);
    if (kind == FREE)
        return;
    if (kind >= MIRRORED)
        j = mirror(w, w->face, &line);
    else {
        int64_t at[3];
        rp__grid_coordinates(w->g, i, at);
        rp__vec3 v = get_velocity(w->velocity, i);
        contact c = meet_wall(w, w->face, at, v);
        j = answer(w, i, &w->world->def->wall[w->face], v, &c);
    }
    sum[0] += j.x, sum[1] += j.y, sum[2] += j.z;
    double n[3] = { 0, 0, 0 };
    n[w->face / 2] = w->face & 1 ? -1 : 1;
    tell(w, w->face, i, rp__vec3_load(n), j);
}

static void meet_wall_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    meeting *w = context;
    for (int64_t i = begin; i < end; i++) {
        if (i % RP_BLOCK_NODES == 0 && !at_face(w, i / RP_BLOCK_NODES, w->face)) {
            i += RP_BLOCK_NODES - 1;
            continue;
        }
        if (w->mass[i] > 0)
            meet_wall_node(w, i, sum);
    }
}

static bool is_closed(const rp__world *world, int f)
{
    return world->def->wall[f].kind != RP_OPEN && world->def->wall[f].kind != RP_PERIODIC;
}

static void meet_all(meeting *w, rp__world *world)
{
    int64_t nodes = (int64_t)w->g->blocks * RP_BLOCK_NODES;
    for (int b = 0; b < world->body_count; b++) {
        rp__body *body = &world->bodies[b];
        if (!body->present)
            continue;
        double sum[9] = { 0 };
        w->body = body;
        if (w->sight)
            rp__exec_for(nodes, 512, look_chunk, w);
        for (w->axis = 0; w->axis < RP_DIM && w->sight; w->axis++)
            add_sum(w, mirror_chunk, sum);
        add_sum(w, meet_body_chunk, sum);
        rp__vec3 impulse = rp__vec3_scale(w->whole, rp__vec3_load(sum)), turn = rp__vec3_scale(w->whole, rp__vec3_load(sum + 3));
        rp__body_apply(body, impulse, turn);
        body->force = rp__vec3_scale(1 / w->dt, impulse);
        body->torque = rp__vec3_scale(1 / w->dt, turn);
        body->normal_force = rp__vec3_scale(w->whole / w->dt, rp__vec3_load(sum + 6));
    }
    for (int f = 0; f < 2 * RP_DIM; f++) {
        double sum[3] = { 0 };
        w->face = f;
        if (is_closed(world, f))
            rp__exec_sum(nodes, 4096, 3, meet_wall_chunk, w, sum);
        for (int a = 0; a < 3; a++)
            world->wall_force[f][a] = w->whole * sum[a] / w->dt;
    }
}

static meeting begin(const rp__grid *g, const rp__world *world, double dt, const double *mass, double *const velocity[3])
{
    const double *gravity = world->def->gravity;
    double whole = 1 + dt * ((const rp__elastoplastic_params *)world->params)->damping, gain = dt / whole;
    return (meeting){ .g = g, .world = world, .dt = dt, .mass = mass, .velocity = velocity, .reach = 2 * g->lattice.h, .whole = whole,
                      .gain = rp__vec3_make(gain * gravity[0], gain * gravity[1], RP_DIM == 3 ? gain * gravity[2] : 0) };
}

void RP_D(rp__elastoplastic_collide)(const rp__grid *g, rp__world *world, double dt, const double *mass, double *const velocity[3],
                                     const double *clear, rp__elastoplastic_sight *sight)
{
    meeting w = begin(g, world, dt, mass, velocity);
    w.clear = clear, w.sight = sight;
    meet_all(&w, world);
}

void RP_D(rp__elastoplastic_rub)(const rp__grid *g, rp__world *world, double dt, const double *mass, double *const star[3],
                                 double *const velocity[3])
{
    meeting w = begin(g, world, dt, mass, star);
    w.rubbed = velocity;
    meet_all(&w, world);
}

/* ---- bodies that stand ---- */

typedef struct clearing {
    const rp__grid *g;
    const rp__world *world;
    double *clear;
} clearing;

static void clear_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const clearing *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        rp__vec3 x = node_position(w->g, i);
        double least = INFINITY;
        for (int b = 0; b < w->world->body_count; b++) {
            const rp__body *body = &w->world->bodies[b];
            if (!body->present || !rp__body_rests(body))
                continue;
            double d = rp__body_distance(body, &body->pose, x, NULL);
            least = d >= least ? least : d; /* NaN stays, and spares nothing */
        }
        w->clear[i] = least;
    }
}

void RP_D(rp__elastoplastic_find_clear)(const rp__grid *g, const rp__world *world, double *clear)
{
    clearing w = { g, world, clear };
    rp__exec_for((int64_t)g->blocks * RP_BLOCK_NODES, 512, clear_chunk, &w);
}

/* ---- the constraint alone ---- */

/* slope <- (I - n n^T) slope, or 0 where the node is held. */
static void project_slope(const contact *c, double *slope)
{
    double n[3] = { c->normal.x, c->normal.y, RP_DIM == 3 ? c->normal.z : 0 };
    for (int j = 0; j < 3; j++) {
        double along = n[0] * slope[j] + n[1] * slope[3 + j] + n[2] * slope[6 + j];
        for (int i = 0; i < 3; i++)
            slope[3 * i + j] = c->held ? 0 : slope[3 * i + j] - along * n[i];
    }
}

/* Bodies, node by node. */
static void constrain_node(const meeting *w, int64_t i)
{
    rp__vec3 x = node_position(w->g, i), v = get_velocity(w->velocity, i);
    double *slope = w->slope ? w->slope + 9 * i : NULL;
    meeting own = *w;
    for (int k = 0; k < 9 && slope; k++)
        slope[k] = k % 4 == 0 ? 1 : 0;
    for (int b = 0; b < w->world->body_count; b++) {
        own.body = &w->world->bodies[b];
        if (!own.body->present)
            continue;
        contact c = meet_body(&own, x, rp__body_distance(own.body, &own.body->pose, x, NULL), v);
        if (!c.met)
            continue;
        v = c.velocity;
        if (slope)
            project_slope(&c, slope);
    }
    set_velocity(w->velocity, i, v);
}

static void constrain_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const meeting *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        if (w->mass[i] > 0)
            constrain_node(w, i);
}

/* What a face makes of velocities, or with `gain` = 0 of changes of them: the map is linear once it is known who meets it. */
static void apply_wall(const meeting *w, int f, int kind, int64_t i, const column *c, rp__vec3 gain)
{
    double gains[3] = { gain.x, gain.y, gain.z };
    for (int a = 0; a < RP_DIM; a++) {
        double *v = w->velocity[a];
        if (a != f / 2 && kind != HELD && kind != MIRRORED_HELD)
            continue;
        if (kind <= HELD) {
            v[i] = 0;
            continue;
        }
        double inside = (c->mass[2] * v[c->node[2]] - c->mass[0] * (v[c->node[0]] - 2 * gains[a])) / (c->mass[0] + c->mass[2]);
        v[c->node[2]] = inside;
        v[c->node[1]] = 0;
        v[c->node[0]] = -inside;
    }
}

static void constrain_wall_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const meeting *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        column line = { 0 };
        int kind = w->mass[i] > 0 && at_face(w, i / RP_BLOCK_NODES, w->face) ? wall_kind(w, i, w->face, &line) : FREE;
        if (kind != FREE)
            apply_wall(w, w->face, kind, i, &line, w->gain);
        if (w->kinds)
            w->kinds[2 * RP_DIM * i + w->face] = (unsigned char)kind;
    }
}

static void bodies_then_walls(meeting *w, rp__exec_fn bodies, rp__exec_fn walls)
{
    int64_t nodes = (int64_t)w->g->blocks * RP_BLOCK_NODES;
    if (w->world->body_count)
        rp__exec_for(nodes, 2048, bodies, w);
    for (w->face = 0; w->face < 2 * RP_DIM; w->face++)
        if (is_closed(w->world, w->face))
            rp__exec_for(nodes, 4096, walls, w);
}

void RP_D(rp__elastoplastic_constrain)(const rp__grid *g, const rp__world *world, double dt, const double *mass,
                                       double *const velocity[3], double *slope, unsigned char *kinds)
{
    meeting w = begin(g, world, dt, mass, velocity);
    w.slope = slope, w.kinds = kinds;
    bodies_then_walls(&w, constrain_chunk, constrain_wall_chunk);
}

static void change_body_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const meeting *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const double *slope = w->slope + 9 * i;
        if (!(w->mass[i] > 0))
            continue;
        rp__vec3 v = get_velocity(w->velocity, i);
        set_velocity(w->velocity, i, rp__vec3_make(slope[0] * v.x + slope[1] * v.y + slope[2] * v.z,
                                                   slope[3] * v.x + slope[4] * v.y + slope[5] * v.z,
                                                   slope[6] * v.x + slope[7] * v.y + slope[8] * v.z));
    }
}

static void change_wall_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const meeting *w = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int kind = w->kinds[2 * RP_DIM * i + w->face];
        column line = { 0 };
        if (kind == FREE || (kind >= MIRRORED && !find_column(w, i, w->face, &line)))
            continue;
        apply_wall(w, w->face, kind, i, &line, rp__vec3_make(0, 0, 0));
    }
}

void RP_D(rp__elastoplastic_constrain_change)(const rp__grid *g, const rp__world *world, const double *mass, double *slope,
                                              unsigned char *kinds, double *const change[3])
{
    meeting w = { .g = g, .world = world, .mass = mass, .velocity = change, .slope = slope, .kinds = kinds };
    bodies_then_walls(&w, change_body_chunk, change_wall_chunk);
}
