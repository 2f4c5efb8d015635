/* A rod: creation, frames and their transport, ends, the linearly implicit step without contacts. */
#include "rod/rod.h"

#include "base/error.h"
#include "base/memory.h"
#include "rod/rest.h"

#include <string.h>

rp__rod_def rp__rod_default_def(void)
{
    rp__rod_def def;
    memset(&def, 0, sizeof def);
    return def;
}

/* ---- frames ---- */

/* The smallest rotation that takes t0 to t1, applied to d. */
static rp__vec3 transport(rp__vec3 t0, rp__vec3 t1, rp__vec3 d)
{
    rp__vec3 b = rp__vec3_cross(t0, t1), bd = rp__vec3_cross(b, d);
    double c = 1 + rp__vec3_dot(t0, t1);
    return rp__vec3_axpy(1 / c, rp__vec3_cross(b, bd), rp__vec3_add(d, bd));
}

/* Perpendicular to t, of unit length. */
static rp__vec3 upright(rp__vec3 d, rp__vec3 t)
{
    d = rp__vec3_axpy(-rp__vec3_dot(d, t), t, d);
    return rp__vec3_unit(d, rp__vec3_make(0, 0, 0));
}

static rp__vec3 turn(rp__vec3 d, rp__vec3 t, double angle)
{
    return rp__vec3_axpy(sin(angle), rp__vec3_cross(t, d), rp__vec3_scale(cos(angle), d));
}

static double signed_angle(rp__vec3 u, rp__vec3 v, rp__vec3 axis)
{
    return atan2(rp__vec3_dot(rp__vec3_cross(u, v), axis), rp__vec3_dot(u, v));
}

void rp__rod_frame(const rp__rod *rod, int edge, rp__vec3 *m1, rp__vec3 *m2)
{
    rp__vec3 d = rp__vec3_load(rod->director + 3 * edge), t = rp__vec3_load(rod->tangent + 3 * edge);
    rp__vec3 d2 = rp__vec3_cross(t, d);
    double c = cos(rod->theta[edge]), s = sin(rod->theta[edge]);
    *m1 = rp__vec3_axpy(s, d2, rp__vec3_scale(c, d));
    *m2 = rp__vec3_axpy(-s, d, rp__vec3_scale(c, d2));
}

void rp__rod_update(rp__rod *rod)
{
    for (int j = 0; j < rod->edges; j++) {
        rp__vec3 e = rp__vec3_sub(rp__rod_node(rod, j + 1), rp__rod_node(rod, j));
        rp__vec3_store(rod->tangent + 3 * j, rp__vec3_unit(e, rp__vec3_load(rod->tangent + 3 * j)));
    }
}

bool rp__rod_move(rp__rod *rod, const double *change)
{
    for (int i = 0; i <= rod->edges; i++)
        for (int a = 0; a < 3; a++)
            rod->x[3 * i + a] += change[4 * i + a];
    for (int j = 0; j < rod->edges; j++) {
        rod->theta[j] += change[4 * j + 3];
        rp__vec3 e = rp__vec3_sub(rp__rod_node(rod, j + 1), rp__rod_node(rod, j));
        double length = rp__vec3_norm(e);
        rp__vec3 before = rp__vec3_load(rod->tangent + 3 * j), after = rp__vec3_scale(1 / length, e);
        if (!(length > 0) || !isfinite(length) || !(rp__vec3_dot(before, after) > -0.999999))
            return false;
        rp__vec3 d = transport(before, after, rp__vec3_load(rod->director + 3 * j));
        rp__vec3_store(rod->director + 3 * j, upright(d, after));
        rp__vec3_store(rod->tangent + 3 * j, after);
    }
    for (int i = 0; i + 1 < rod->edges; i++) {
        rp__vec3 te = rp__vec3_load(rod->tangent + 3 * i), tf = rp__vec3_load(rod->tangent + 3 * i + 3);
        if (!(rp__vec3_dot(te, tf) > -0.999999))
            return false;
        rp__vec3 u = turn(transport(te, tf, rp__vec3_load(rod->director + 3 * i)), tf, rod->reference_twist[i]);
        rod->reference_twist[i] += signed_angle(u, rp__vec3_load(rod->director + 3 * i + 3), tf);
    }
    return true;
}

/* ---- ends ---- */

int rp__rod_fixed(const rp__rod *rod, int end, int *first)
{
    int count = rod->end[end] == RP_ROD_CLAMPED ? 7 : rod->end[end] == RP_ROD_PINNED ? 3 : 0;
    *first = end == 0 ? 0 : rp__rod_unknowns(rod) - count;
    return count;
}

static rp__vec3 carried(const rp__pose *from, const rp__pose *to, rp__vec3 x)
{
    return rp__pose_apply(to, rp__pose_inverse_apply(from, x));
}

void rp__rod_drive(rp__rod *rod, int end, const rp__pose *from, const rp__pose *to, double dt)
{
    double *v = rod->prescribed[end];
    int node = end == 0 ? 0 : rod->edges - (rod->end[1] == RP_ROD_CLAMPED), edge = end == 0 ? 0 : rod->edges - 1;
    memset(v, 0, sizeof rod->prescribed[end]);
    for (int k = 0; k < (rod->end[end] == RP_ROD_CLAMPED ? 2 : 1); k++) {
        rp__vec3 x = rp__rod_node(rod, node + k);
        rp__vec3_store(v + 4 * k, rp__vec3_scale(1 / dt, rp__vec3_sub(carried(from, to, x), x)));
    }
    if (rod->end[end] != RP_ROD_CLAMPED)
        return;
    /* m1 turns with the pose; the reference director only by parallel transport: the angle takes the rest. */
    rp__quat r = rp__quat_multiply(to->orientation, rp__quat_conjugate(from->orientation));
    rp__vec3 t = rp__vec3_load(rod->tangent + 3 * edge), m1, m2;
    rp__rod_frame(rod, edge, &m1, &m2);
    rp__vec3 t_next = rp__quat_rotate(r, t), d_next = transport(t, t_next, rp__vec3_load(rod->director + 3 * edge));
    v[3] = signed_angle(turn(d_next, t_next, rod->theta[edge]), rp__quat_rotate(r, m1), t_next) / dt;
}

/* ---- creation ---- */

static rp_result check(const rp__rod_def *def)
{
    if (def->node_count < 2)
        return rp__base_fail(RP_BAD_ARGUMENT, "a fibre has %d node%s; it needs at least 2", def->node_count, def->node_count == 1 ? "" : "s");
    if (def->node_count > 1000000)
        return rp__base_fail(RP_TOO_LARGE, "a fibre has %d nodes; at most 1000000 are possible", def->node_count);
    rp__vec3 before = { 0, 0, 0 };
    for (int i = 0; i < def->node_count; i++) {
        const double *x = def->nodes + 3 * i;
        if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]))
            return rp__base_fail(RP_BAD_ARGUMENT, "node %d of a fibre is not a place: a coordinate is not a finite number", i + 1);
        if (i == 0)
            continue;
        rp__vec3 e = rp__vec3_sub(rp__vec3_load(x), rp__vec3_load(x - 3));
        double length = rp__vec3_norm(e), size = rp__vec3_norm(rp__vec3_load(x)) + rp__vec3_norm(rp__vec3_load(x - 3));
        if (!(length > 1e-12 * size))
            return rp__base_fail(RP_BAD_ARGUMENT, "nodes %d and %d of a fibre are the same place: the segment between them has no length", i, i + 1);
        rp__vec3 t = rp__vec3_scale(1 / length, e);
        if (i > 1 && rp__vec3_dot(before, t) < -0.9999)
            return rp__base_fail(RP_BAD_ARGUMENT, "a fibre turns straight back on itself at node %d; it must turn by less than half a turn", i);
        before = t;
    }
    const rp__rod_section *s = &def->section;
    if (!(s->stretch > 0) || !(s->bend[0] > 0) || !(s->bend[1] > 0) || !(s->twist > 0) || !(s->mass > 0) || !(s->inertia > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "a fibre needs a stiffness and a mass above zero (Young's modulus, density and radius)");
    if (def->rest == RP_ROD_SAG_FREE && (def->end[0] != RP_ROD_CLAMPED || def->end[1] != RP_ROD_FREE))
        return rp__base_fail(RP_BAD_ARGUMENT, "only a fibre that is clamped at its root and free at its tip can have a sag-free rest shape");
    return RP_OK;
}

static rp_result allocate(int edges, rp__rod **out)
{
    size_t n = (size_t)edges, vertices = n - 1, unknowns = 4 * n + 3;
    size_t moving = 3 * (n + 1) + n + 3 * n + vertices + unknowns, total = moving + 3 * n + n + vertices + 2 * vertices + vertices + unknowns;
    rp__rod *rod = RP_NEW(rp__rod);
    double *block = rod ? rp__base_alloc_zero(total * sizeof(double)) : NULL;
    if (!block) {
        rp__base_free(rod);
        return RP_OUT_OF_MEMORY;
    }
    rod->edges = edges;
    rod->state_size = moving;
    rod->x = block, block += 3 * (n + 1);
    rod->theta = block, block += n;
    rod->director = block, block += 3 * n;
    rod->reference_twist = block, block += vertices;
    rod->velocity = block, block += unknowns;
    rod->tangent = block, block += 3 * n;
    rod->length = block, block += n;
    rod->span = block, block += vertices;
    rod->rest_curvature = block, block += 2 * vertices;
    rod->rest_twist = block, block += vertices;
    rod->mass = block;
    *out = rod;
    return RP_OK;
}

/* A ghost edge of the length of its neighbour goes on beyond a clamped end. */
static void place(rp__rod *rod, const rp__rod_def *def)
{
    int first = rp__rod_first(rod), last = first + def->node_count - 1;
    memcpy(rod->x + 3 * first, def->nodes, 3 * (size_t)def->node_count * sizeof(double));
    for (int end = 0; end < 2; end++) {
        if (def->end[end] != RP_ROD_CLAMPED)
            continue;
        int root = end == 0 ? first : last, next = end == 0 ? first + 1 : last - 1, ghost = end == 0 ? 0 : last + 1;
        rp__vec3 along = rp__vec3_sub(rp__rod_node(rod, root), rp__rod_node(rod, next)); /* outwards */
        double length = rp__vec3_norm(along);
        rp__vec3 wanted = rp__vec3_scale(end == 0 ? -1 : 1, rp__vec3_load(def->clamp[end]));
        along = rp__vec3_unit(wanted, rp__vec3_scale(1 / length, along));
        rp__vec3_store(rod->x + 3 * ghost, rp__vec3_axpy(length, along, rp__rod_node(rod, root)));
    }
    rp__rod_update(rod);
}

/* Space-parallel directors: no reference twist at the start. */
static void set_directors(rp__rod *rod, const double director[3])
{
    rp__vec3 t = rp__vec3_load(rod->tangent), d = upright(rp__vec3_load(director), t);
    if (!(rp__vec3_norm(d) > 0.5)) {
        double x = fabs(t.x), y = fabs(t.y), z = fabs(t.z);
        rp__vec3 axis = { x <= y && x <= z, y < x && y <= z, z < x && z < y };
        d = upright(axis, t);
    }
    rp__vec3_store(rod->director, d);
    for (int j = 1; j < rod->edges; j++) {
        rp__vec3 t0 = rp__vec3_load(rod->tangent + 3 * j - 3), t1 = rp__vec3_load(rod->tangent + 3 * j);
        d = upright(transport(t0, t1, d), t1);
        rp__vec3_store(rod->director + 3 * j, d);
    }
}

/* Lumped: a node has half of the edges beside it, an angle the inertia of its edge about its axis. Ghosts have none. */
static void set_masses(rp__rod *rod)
{
    memset(rod->mass, 0, (size_t)rp__rod_unknowns(rod) * sizeof(double));
    int first = rp__rod_first(rod), last = first + rp__rod_nodes(rod) - 1;
    for (int j = first; j < last; j++) {
        for (int a = 0; a < 3; a++) {
            rod->mass[4 * j + a] += 0.5 * rod->section.mass * rod->length[j];
            rod->mass[4 * j + 4 + a] += 0.5 * rod->section.mass * rod->length[j];
        }
        rod->mass[4 * j + 3] = rod->section.inertia * rod->length[j];
    }
}

rp_result rp__rod_create(const rp__rod_def *def, rp__rod **out)
{
    RP_TRY(check(def));
    rp__rod *rod = NULL;
    int ghosts = (def->end[0] == RP_ROD_CLAMPED) + (def->end[1] == RP_ROD_CLAMPED);
    RP_TRY(allocate(def->node_count - 1 + ghosts, &rod));
    rod->section = def->section;
    rod->end[0] = def->end[0];
    rod->end[1] = def->end[1];
    place(rod, def);
    for (int i = 0; i + 1 < rod->edges; i++) {
        rp__vec3 te = rp__vec3_load(rod->tangent + 3 * i), tf = rp__vec3_load(rod->tangent + 3 * i + 3);
        if (rp__vec3_dot(te, tf) < -0.9999) {
            rp__rod_destroy(rod);
            return rp__base_fail(RP_BAD_ARGUMENT, "the clamp of a fibre points against the fibre itself; it must turn by less than half a turn");
        }
    }
    set_directors(rod, def->director);
    for (int j = 0; j < rod->edges; j++)
        rod->length[j] = rp__vec3_norm(rp__vec3_sub(rp__rod_node(rod, j + 1), rp__rod_node(rod, j)));
    set_masses(rod);
    rp_result result = rp__rod_set_rest(rod, def);
    if (result != RP_OK) {
        rp__rod_destroy(rod);
        return result;
    }
    *out = rod;
    return RP_OK;
}

void rp__rod_destroy(rp__rod *rod)
{
    if (!rod)
        return;
    rp__base_free(rod->x);
    rp__base_free(rod);
}

/* ---- the step without contacts ---- */

static void assemble(const rp__rod *rod, double dt, double damping, double *band)
{
    int n = rp__rod_unknowns(rod);
    memset(band, 0, (size_t)n * RP_ROD_ROW * sizeof *band);
    rp__rod_stiffen(rod, RP_ROD_GAUSS_NEWTON, dt * dt + damping * dt, dt * dt, band);
    for (int i = 0; i < n; i++)
        band[(size_t)i * RP_ROD_ROW + RP_ROD_BAND] += rod->mass[i];
}

static void fix_ends(const rp__rod *rod, double *band, double *right)
{
    int n = rp__rod_unknowns(rod), first;
    for (int end = 0; end < 2; end++)
        for (int count = rp__rod_fixed(rod, end, &first), k = 0; k < count; k++)
            rp__rod_band_fix(band, n, first + k, rod->prescribed[end][k], right);
}

static rp_result factorise(const rp__rod *rod, double *band)
{
    if (!rp__rod_band_factorise(band, rp__rod_unknowns(rod)))
        return rp__base_fail(RP_DIVERGED, "the matrix of a fibre is not positive definite: its numbers are not finite");
    return RP_OK;
}

rp_result rp__rod_factorise(const rp__rod *rod, double dt, double damping, double *band)
{
    assemble(rod, dt, damping, band);
    fix_ends(rod, band, NULL);
    return factorise(rod, band);
}

void rp__rod_solve(const rp__rod *rod, const double *factor, double *vector)
{
    int first;
    for (int end = 0; end < 2; end++)
        for (int count = rp__rod_fixed(rod, end, &first), k = 0; k < count; k++)
            vector[first + k] = 0;
    rp__rod_band_solve(factor, rp__rod_unknowns(rod), vector);
}

void rp__rod_solve3(const rp__rod *rod, const double *factor, int first, double *vectors)
{
    int from;
    for (int end = 0; end < 2; end++)
        for (int count = rp__rod_fixed(rod, end, &from), k = 0; k < count; k++)
            memset(vectors + 3 * (from + k), 0, 3 * sizeof *vectors);
    rp__rod_band_solve3(factor, rp__rod_unknowns(rod), first, vectors);
}

rp_result rp__rod_free_velocity(const rp__rod *rod, double dt, double damping, const double *force, double *factor, double *velocity)
{
    int n = rp__rod_unknowns(rod);
    rp__rod_force(rod, velocity);
    for (int i = 0; i < n; i++)
        velocity[i] = rod->mass[i] * rod->velocity[i] + dt * (velocity[i] + (force ? force[i] : 0));
    assemble(rod, dt, damping, factor);
    fix_ends(rod, factor, velocity);
    RP_TRY(factorise(rod, factor));
    rp__rod_band_solve(factor, n, velocity);
    return RP_OK;
}
