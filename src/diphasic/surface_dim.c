/* The surface of a fluid that does not fill the domain: the zero of a distance d at the nodes, d < 0 in the fluid (with the grains in it).
 *
 *   ∂d/∂t + u_f·∇d = 0,   |∇d| = 1,   ∫_Ω (1 - φ) dV = the volume of the fluid
 *
 * The surface goes with the fluid, not with the mixture: so grains that fall in raise it by what they displace. Its position is carried along paths of
 * the fluid, which is continued beyond it along ∇d; then d is made a distance again [zhao2005], and the surface moved as a whole so
 * that the fluid has its volume: nothing drifts. Air has no weight and one pressure, and none is kept: a bubble fills. */
#include "diphasic/closure.h"
#include "diphasic/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* ---- creation ---- */

void DP(free_surface)(dp_surface *s)
{
    if (!s)
        return;
    void *all[] = { s->distance, s->next, s->wet, s->velocity, s->reach, s->room, s->fraction, s->began, s->known, s->cut_of, s->cut, s->cut_cell };
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        rp__base_free(all[i]);
    rp__base_free(s);
}

rp_result DP(create_surface)(dp_system *y, const rp__world *world)
{
    const rp_fluid_def *fluid = world->def->fluid;
    int64_t n = y->node_count, wet = 0;
    bool closed = true;
    for (int f = 0; f < 2 * RP_DIM; f++)
        closed = closed && (y->lattice.periodic[f / 2] || y->wall_kind[f] != RP_FLUID_PRESSURE);
    if (!rp_fluid_has_surface(fluid))
        return RP_OK;
    dp_surface *s = y->surface = RP_NEW(dp_surface);
    if (!s)
        return RP_OUT_OF_MEMORY;
    memset(s, 0, sizeof *s);
    s->distance = RP_NEW_ARRAY(double, n), s->next = RP_NEW_ARRAY(double, n), s->wet = RP_NEW_ARRAY(double, n);
    s->reach = RP_NEW_ARRAY(double, n), s->room = RP_NEW_ARRAY(double, n), s->velocity = RP_NEW_ARRAY(double, RP_DIM * n);
    s->cut_of = RP_NEW_ARRAY(int32_t, y->cell_count);
    s->known = RP_NEW_ARRAY(uint8_t, n);
    s->fraction = RP_NEW_ARRAY(double, y->cell_count), s->began = RP_NEW_ARRAY(double, y->cell_count);
    if (!s->distance || !s->next || !s->wet || !s->reach || !s->room || !s->velocity || !s->cut_of || !s->fraction || !s->began || !s->known)
        return RP_OUT_OF_MEMORY;
    memset(s->velocity, 0, (size_t)(RP_DIM * n) * sizeof(double));
    for (int64_t j = 0; j < n; j++) {
        int64_t at[3];
        double x[3] = { 0 };
        dp_place(y->nodes, j, at);
        for (int a = 0; a < RP_DIM; a++)
            x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
        double d = world->def->gravity[y->up] > 0 ? fluid->level - x[y->up] : x[y->up] - fluid->level, most = DP_BAND * y->lattice.h;
        if (fluid->fill)
            d = rp_shape_distance(fluid->fill, x, NULL);
        s->distance[j] = d < -most ? -most : d < most ? d : most;
        wet += d < 0;
        s->wet[j] = 0;
    }
    for (int64_t c = 0; c < y->cell_count; c++)
        s->cut_of[c] = DP_DRY, s->fraction[c] = s->began[c] = 0;
    s->volume = -1, s->density = fluid->density;
    if (wet == 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "the fluid fills nothing of the domain: no node of the grid lies in it (give 'fluid' a level between "
                                              "the floor and the lid, or a shape inside the domain that is wider than a cell)");
    if (wet == n && closed) { /* full, and stays so */
        DP(free_surface)(s);
        y->surface = NULL;
    }
    return RP_OK;
}

/* ---- distances ---- */

/* The neighbour of a node along an axis, -1: none. */
DP_INLINE int64_t neighbour(const dp_system *y, int64_t j, const int64_t at[3], int axis, int side)
{
    int64_t stride = axis == 0 ? 1 : axis == 1 ? y->nodes[0] : y->nodes[0] * y->nodes[1], n = y->nodes[axis];
    if (at[axis] != (side ? n - 1 : 0))
        return j + (side ? stride : -stride);
    return y->lattice.periodic[axis] ? j + (side ? 1 - n : n - 1) * stride : -1;
}

typedef struct nearest {
    dp_surface *s;
    double h;
    int64_t corner[DP_CORNERS];
} nearest;

/* Squared distance of a point to a piece: a segment, or a triangle. */
static double to_piece(const double p[RP_DIM], const dp_piece *piece)
{
    double e[RP_DIM - 1][RP_DIM], r[RP_DIM], g[3] = { 0 }, b[2] = { 0 }, t[2] = { 0 };
    for (int a = 0; a < RP_DIM; a++) {
        r[a] = p[a] - piece->x[0][a];
        for (int k = 0; k < RP_DIM - 1; k++)
            e[k][a] = piece->x[k + 1][a] - piece->x[0][a], b[k] += e[k][a] * r[a];
        g[0] += e[0][a] * e[0][a];
#if RP_DIM == 3
        g[1] += e[0][a] * e[1][a], g[2] += e[1][a] * e[1][a];
#endif
    }
#if RP_DIM == 2
    t[0] = g[0] > 0 ? fmin(fmax(b[0] / g[0], 0), 1) : 0;
#else
    double det = g[0] * g[2] - g[1] * g[1];
    if (det > 0)
        t[0] = (g[2] * b[0] - g[1] * b[1]) / det, t[1] = (g[0] * b[1] - g[1] * b[0]) / det;
    if (!(det > 0) || t[0] < 0 || t[1] < 0 || t[0] + t[1] > 1) { /* the nearest of its edges */
        double best = INFINITY, s = g[0] > 0 ? fmin(fmax(b[0] / g[0], 0), 1) : 0, u = g[2] > 0 ? fmin(fmax(b[1] / g[2], 0), 1) : 0;
        double length = g[0] - 2 * g[1] + g[2], v = length > 0 ? fmin(fmax((b[1] - b[0] + g[0] - g[1]) / length, 0), 1) : 0;
        const double edge[3][2] = { { s, 0 }, { 0, u }, { 1 - v, v } };
        for (int k = 0; k < 3; k++) {
            double i = edge[k][0], j = edge[k][1], q = i * i * g[0] + 2 * i * j * g[1] + j * j * g[2] - 2 * (i * b[0] + j * b[1]);
            if (q < best)
                best = q, t[0] = i, t[1] = j;
        }
    }
#endif
    double square = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double d = r[a];
        for (int k = 0; k < RP_DIM - 1; k++)
            d -= t[k] * e[k][a];
        square += d * d;
    }
    return square;
}

static void near_piece(void *context, const dp_piece *piece)
{
    const nearest *w = context;
    for (int n = 0; n < DP_CORNERS; n++) {
        double p[RP_DIM];
        for (int a = 0; a < RP_DIM; a++)
            p[a] = n >> a & 1;
        double d = w->h * sqrt(to_piece(p, piece));
        w->s->reach[w->corner[n]] = fmin(w->s->reach[w->corner[n]], d);
    }
}

/* |∇d| = 1 by differences towards the surface; exact for planes. */
DP_INLINE double eikonal(double near[RP_DIM], double h)
{
    for (int i = 0; i < RP_DIM; i++)
        for (int k = i + 1; k < RP_DIM; k++)
            if (near[k] < near[i]) {
                double t = near[i];
                near[i] = near[k], near[k] = t;
            }
    double sum = 0, squares = 0, d = INFINITY;
    for (int k = 0; k < RP_DIM && near[k] < d; k++) {
        sum += near[k], squares += near[k] * near[k];
        double count = k + 1, root = sum * sum - count * (squares - h * h);
        d = root > 0 ? (sum + sqrt(root)) / count : d;
    }
    return d;
}

typedef void node_fn(dp_system *y, int64_t j, const int64_t at[3]);

/* Through the nodes from each corner of the domain. */
static void sweep(dp_system *y, node_fn *visit)
{
    for (int from = 0; from < DP_CORNERS; from++)
        for (int64_t line = 0; line < y->nodes[1] * y->nodes[2]; line++) {
            int64_t at[3] = { 0, line % y->nodes[1], line / y->nodes[1] }, n = y->nodes[0];
            for (int a = 1; a < RP_DIM; a++)
                at[a] = from >> a & 1 ? y->nodes[a] - 1 - at[a] : at[a];
            int64_t j = dp_node_index(y, at);
            for (int64_t i = 0; i < n; i++) {
                at[0] = from & 1 ? n - 1 - i : i;
                visit(y, j + at[0], at);
            }
        }
}

static void reach_node(dp_system *y, int64_t j, const int64_t at[3])
{
    dp_surface *s = y->surface;
    double near[RP_DIM], least = INFINITY, h = y->lattice.h;
    for (int a = 0; a < RP_DIM; a++) {
        near[a] = INFINITY;
        for (int side = 0; side < 2; side++) {
            int64_t other = neighbour(y, j, at, a, side);
            near[a] = other < 0 ? near[a] : fmin(near[a], s->reach[other]);
        }
        least = fmin(least, near[a]);
    }
    if (least < fmin(s->reach[j], DP_BAND * h))
        s->reach[j] = fmin(s->reach[j], eikonal(near, h));
}

/* d becomes a distance; its zero stays, piece by piece. Corners of a cell that is cut are measured from its pieces; but where it is cut at another corner
 * only, the nearest piece is in a cell beside, and found through the neighbours. */
static void measure_distance(dp_system *y)
{
    dp_surface *s = y->surface;
    nearest w = { .s = s, .h = y->lattice.h };
    for (int64_t j = 0; j < y->node_count; j++)
        s->reach[j] = DP_BAND * w.h;
    for (int64_t c = 0; c < y->cell_count; c++) {
        int64_t at[3];
        double value[DP_CORNERS], least = INFINITY, most = -INFINITY;
        dp_cut unused;
        dp_place(y->cells, c, at);
        dp_corners(y, at, w.corner);
        for (int n = 0; n < DP_CORNERS; n++) {
            value[n] = s->distance[w.corner[n]];
            least = fmin(least, value[n]), most = fmax(most, value[n]);
        }
        if (!(least <= 0 && most >= 0))
            continue;
        DP(cut_cell)(value, w.h, &unused, near_piece, &w);
    }
    sweep(y, reach_node);
    for (int64_t j = 0; j < y->node_count; j++)
        s->distance[j] = s->distance[j] < 0 ? -s->reach[j] : s->reach[j];
}

/* ---- cells and nodes in the fluid ---- */

static rp_result list_cuts(dp_system *y)
{
    dp_surface *s = y->surface;
    s->cut_count = 0;
    for (int64_t c = 0; c < y->cell_count; c++) {
        int64_t at[3], corner[DP_CORNERS];
        double least = INFINITY, most = -INFINITY;
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            least = fmin(least, s->distance[corner[n]]), most = fmax(most, s->distance[corner[n]]);
        s->cut_of[c] = most <= 0 ? DP_WET : DP_DRY;
        if (!(least < 0 && most > 0))
            continue;
        if (!rp__base_grow(&s->cut_cell, &s->cell_capacity, s->cut_count + 1, sizeof *s->cut_cell) ||
            !rp__base_grow(&s->cut, &s->cut_capacity, s->cut_count + 1, sizeof *s->cut))
            return RP_OUT_OF_MEMORY;
        s->cut_cell[s->cut_count] = c;
        s->cut_of[c] = (int32_t)s->cut_count++;
    }
    return RP_OK;
}

static void make_cuts(void *context, int64_t begin, int64_t end, int worker)
{
    dp_system *y = context;
    dp_surface *s = y->surface;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3], corner[DP_CORNERS];
        double value[DP_CORNERS];
        dp_place(y->cells, s->cut_cell[i], at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            value[n] = s->distance[corner[n]];
        DP(cut_cell)(value, y->lattice.h, &s->cut[i], NULL, NULL);
        if (s->cut[i].fraction < DP_TRACE_OF_FLUID)
            s->cut_of[s->cut_cell[i]] = DP_DRY;
    }
}

/* ∫N over the fluid; sums its own volume, and that with the grains. What bodies keep away of a node counts as far as they do. */
static void wet_nodes(void *context, int64_t begin, int64_t end, double *sum)
{
    dp_system *y = context;
    dp_surface *s = y->surface;
    double part = pow(0.5 * y->lattice.h, RP_DIM);
    for (int64_t j = begin; j < end; j++) {
        int64_t at[3];
        int full = 0, cells = 0;
        double wet = 0;
        dp_place(y->nodes, j, at);
        for (int n = 0; n < DP_CORNERS; n++) {
            int64_t c = dp_cell_at_corner(y, at, n);
            int32_t cut = c < 0 ? DP_DRY : s->cut_of[c];
            cells += c >= 0, full += cut == DP_WET;
            wet += cut == DP_WET ? part : cut == DP_DRY ? 0 : s->cut[cut].part[n];
        }
        s->wet[j] = full == cells ? y->volume[j] : wet;
        double phi = y->grains[j] / y->volume[j];
        sum[0] += s->room[j] * (1 - fmin(phi, DP_FULLEST)) * s->wet[j];
        sum[1] += s->wet[j];
    }
}

static rp_result measure_wet(dp_system *y, double *volume)
{
    double sum[2];
    RP_TRY(list_cuts(y));
    rp__exec_for(y->surface->cut_count, 16, make_cuts, y);
    rp__exec_sum(y->node_count, 1024, 2, wet_nodes, y, sum);
    *volume = sum[0];
    y->surface->region = sum[1];
    return RP_OK;
}

static void move_level(dp_surface *s, int64_t nodes, double by)
{
    for (int64_t j = 0; j < nodes; j++)
        s->distance[j] -= by;
    s->mended += by;
}

/* How fast the volume grows with the level: the area, as nodes within a cell see it. */
static double area(const dp_system *y)
{
    const dp_surface *s = y->surface;
    double sum = 0, h = y->lattice.h;
    for (int64_t j = 0; j < y->node_count; j++)
        sum += s->room[j] * y->volume[j] * (1 - fmin(y->grains[j] / y->volume[j], DP_FULLEST)) * fmax(0, 1 - fabs(s->distance[j]) / h) / h;
    return sum;
}

/* Moves the surface as a whole until the fluid has its volume (by secants). */
static rp_result mend_volume(dp_system *y, const rp__world *world)
{
    dp_surface *s = y->surface;
    double found, slope = area(y);
    s->mended = 0;
    RP_TRY(measure_wet(y, &found));
    if (s->volume < 0)
        s->volume = found;
    for (int k = 0; k < 20 && fabs(found - s->volume) > DP_PART_OF_VOLUME * s->volume; k++) {
        double lacking = s->volume - found, by, before = found;
        if (!(slope > 0))
            break;
        by = lacking / slope;
        by = by > y->lattice.h ? y->lattice.h : by < -y->lattice.h ? -y->lattice.h : by;
        move_level(s, y->node_count, by);
        RP_TRY(measure_wet(y, &found));
        if ((found - before) * by > 0)
            slope = (found - before) / by;
    }
    if (found > 0 && s->volume - found > 1e-6 * s->volume + pow(y->lattice.h, RP_DIM)) /* none: it is gone through open faces, or thinner than a cell */
        return rp__base_fail(RP_DIVERGED, "there is no room for the fluid at t = %g s: %g m%d of it are there, and %g m%d are left beside grains and bodies: "
                                          "give the domain an open face, or more height",
                             world->time, s->volume, RP_DIM, found, RP_DIM);
    return RP_OK;
}

/* What bodies leave of each node, smooth in their place. */
static void find_room(dp_system *y, const rp__world *world)
{
    dp_surface *s = y->surface;
    double h = y->lattice.h;
    for (int64_t j = 0; j < y->node_count; j++) {
        int64_t at[3];
        double x[3] = { 0 }, least = INFINITY;
        s->room[j] = 1;
        if (!world->body_count)
            continue;
        dp_place(y->nodes, j, at);
        for (int a = 0; a < RP_DIM; a++)
            x[a] = y->lattice.origin[a] + h * (double)at[a];
        for (int b = 0; b < world->body_count; b++)
            if (world->bodies[b].present)
                least = fmin(least, rp__body_distance(&world->bodies[b], &world->bodies[b].pose, rp__vec3_load(x), NULL));
        s->room[j] = fmin(1, fmax(0, 0.5 + least / h));
    }
}

/* The weight of the fluid above each cell: the pressure that a run begins with. */
static void still_pressure(dp_system *y, const rp__world *world)
{
    double g = world->def->gravity[y->up], cell = world->def->fluid->density * fabs(g) * y->lattice.h;
    int64_t column = y->cell_count / y->cells[y->up];
    for (int64_t k = 0; k < column; k++) {
        int other[2] = { y->up == 0 ? 1 : 0, y->up == 2 ? 1 : 2 };
        double above = 0;
        for (int64_t n = 0; n < y->cells[y->up]; n++) {
            int64_t at[3] = { 0 };
            at[other[0]] = k % y->cells[other[0]], at[other[1]] = k / y->cells[other[0]];
            at[y->up] = g < 0 ? y->cells[y->up] - 1 - n : n;
            int64_t c = dp_cell_index(y, at);
            double weight = dp_wet_part(y, c) * cell;
            y->pressure[c] = weight > 0 ? above + 0.5 * weight : 0;
            above = weight > 0 ? above + weight : 0;
        }
    }
}

/* As a cell empties the depth of its fluid goes to zero, and its pressure too: by as much as has gone, or what is left would be thrown away. The leak is
 * ε times what all nodes of a full cell answer to its pressure. */
static void begin_pressure(dp_system *y)
{
    dp_surface *s = y->surface;
    double full = 0;
    for (int64_t c = 0; c < y->cell_count; c++) {
        double now = dp_wet_part(y, c);
        y->pressure[c] *= now < s->fraction[c] ? now / s->fraction[c] : 1;
        s->fraction[c] = now;
        s->began[c] = y->pressure[c];
    }
    for (int n = 0; n < DP_CORNERS; n++)
        for (int a = 0; a < RP_DIM; a++)
            full += y->leaves[n][a] * y->leaves[n][a];
    s->leak = y->epsilon * full / (s->density * pow(y->lattice.h, RP_DIM));
}

rp_result DP(find_surface)(dp_system *y, const rp__world *world)
{
    dp_surface *s = y->surface;
    if (!s)
        return RP_OK;
    find_room(y, world);
    measure_distance(y);
    RP_TRY(mend_volume(y, world));
    for (int64_t k = 0; k < y->stress_count; k++)
        y->stress[k].leaves = dp_leaves(y, y->stress[k].cell);
    if (y->cold)
        still_pressure(y, world);
    begin_pressure(y);
    return RP_OK;
}

/* ---- motion ---- */

/* Nodes that have a velocity of their own: in the fluid, or with an edge that the surface crosses. What little a node beyond has of the fluid, in the
 * corner of a cell that is farthest from it, says nothing of how the fluid moves. */
static void find_known(dp_system *y)
{
    dp_surface *s = y->surface;
    for (int64_t j = 0; j < y->node_count; j++) {
        int64_t at[3];
        bool known = s->distance[j] < 0;
        dp_place(y->nodes, j, at);
        for (int f = 0; f < 2 * RP_DIM && !known; f++) {
            int64_t other = neighbour(y, j, at, f / 2, f & 1);
            known = other >= 0 && s->distance[other] < 0;
        }
        s->known[j] = known && s->wet[j] > 0;
    }
}

/* The velocity beyond the surface: the same along ∇d. */
static void extend_node(dp_system *y, int64_t j, const int64_t at[3])
{
    dp_surface *s = y->surface;
    double sum[RP_DIM] = { 0 }, all = 0;
    if (s->known[j] || s->distance[j] >= DP_BAND * y->lattice.h)
        return;
    for (int a = 0; a < RP_DIM; a++) {
        int64_t near = -1;
        for (int side = 0; side < 2; side++) {
            int64_t other = neighbour(y, j, at, a, side);
            near = other >= 0 && (near < 0 || s->distance[other] < s->distance[near]) ? other : near;
        }
        double weight = near < 0 ? 0 : s->distance[j] - s->distance[near];
        if (!(weight > 0))
            continue;
        all += weight;
        for (int b = 0; b < RP_DIM; b++)
            sum[b] += weight * s->velocity[RP_DIM * near + b];
    }
    for (int a = 0; a < RP_DIM && all > 0; a++)
        s->velocity[RP_DIM * j + a] = sum[a] / all;
}

/* At a wall or a body that holds the fluid the surface slides all the same: there it has the mean velocity of the nodes beside that are free. */
static void slide_node(const dp_system *y, int64_t j, double v[RP_DIM])
{
    int64_t at[3];
    double sum[RP_DIM] = { 0 }, count = 0;
    dp_place(y->nodes, j, at);
    for (int a = 0; a < RP_DIM; a++)
        for (int side = 0; side < 2; side++) {
            int64_t other = neighbour(y, j, at, a, side);
            if (other < 0 || !y->surface->known[other] || y->hold[other] & (DP_HOLD_FLUX | dp_fluid_hold(0) | dp_fluid_hold(1) | dp_fluid_hold(2)))
                continue;
            count++;
            for (int b = 0; b < RP_DIM; b++)
                sum[b] += y->fluid[RP_DIM * other + b];
        }
    for (int a = 0; a < RP_DIM && count > 0; a++)
        v[a] = sum[a] / count;
}

/* Bits of the axes across which a node lies on a closed wall of the fluid. */
static unsigned across_walls(const dp_system *y, const int64_t at[3])
{
    unsigned axes = 0;
    for (int f = 0; f < 2 * RP_DIM; f++)
        if (!y->lattice.periodic[f / 2] && y->wall_kind[f] != RP_FLUID_PRESSURE && at[f / 2] == (f & 1 ? y->cells[f / 2] : 0))
            axes |= 1U << f / 2;
    return axes;
}

/* The velocity of the surface; the fluid beyond it is given the same. */
static void continue_fluid(dp_system *y)
{
    dp_surface *s = y->surface;
    find_known(y);
    memcpy(s->velocity, y->fluid, (size_t)(RP_DIM * y->node_count) * sizeof(double));
    for (int64_t j = 0; j < y->node_count; j++) {
        bool held = y->hold[j] & DP_HOLD_FLUX;
        for (int a = 0; a < RP_DIM; a++) {
            held = held || (y->hold[j] & dp_fluid_hold(a) && s->distance[j] < DP_BAND * y->lattice.h);
            if (!s->known[j])
                s->velocity[RP_DIM * j + a] = 0;
        }
        if (held && s->known[j])
            slide_node(y, j, s->velocity + RP_DIM * j);
    }
    sweep(y, extend_node);
    for (int64_t j = 0; j < y->node_count; j++) {
        int64_t at[3];
        dp_place(y->nodes, j, at);
        unsigned across = across_walls(y, at);
        for (int a = 0; a < RP_DIM; a++) {
            if (across >> a & 1)
                s->velocity[RP_DIM * j + a] = y->held[RP_DIM * j + a];
            if (!s->known[j])
                y->fluid[RP_DIM * j + a] = s->velocity[RP_DIM * j + a];
        }
    }
}

typedef struct job {
    dp_system *y;
    double dt;
} job;

static void carry_back(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_system *y = w->y;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double place[RP_DIM];
        DP(trace)(y, y->surface->velocity, j, w->dt, place);
        DP(sample)(y, y->surface->distance, 1, place, &y->surface->next[j], NULL, NULL);
    }
}

/* Corrected by half of what going there and back changes, within the values around [selle2008]. */
static void carry_correct(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dp_surface *s = w->y->surface;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double place[RP_DIM], back, unused, least, most;
        DP(trace)(w->y, s->velocity, j, -w->dt, place);
        DP(sample)(w->y, s->next, 1, place, &back, NULL, NULL);
        DP(trace)(w->y, s->velocity, j, w->dt, place);
        DP(sample)(w->y, s->distance, 1, place, &unused, &least, &most);
        s->reach[j] = fmin(fmax(s->next[j] + 0.5 * (s->distance[j] - back), least), most);
    }
}

/* Fluid that has gone out through open faces, less what came in. */
static double gone_out(const dp_system *y, double dt)
{
    double sum = 0;
    for (int f = 0; f < 2 * RP_DIM; f++) {
        int axis = f / 2;
        if (y->lattice.periodic[axis] || (y->wall_kind[f] != RP_FLUID_PRESSURE && y->wall_kind[f] != RP_FLUID_VELOCITY))
            continue;
        for (int64_t j = 0; j < y->node_count; j++) {
            int64_t at[3];
            dp_place(y->nodes, j, at);
            if (at[axis] != (f & 1 ? y->cells[axis] : 0) || !(y->surface->wet[j] > 0))
                continue;
            double face = y->surface->wet[j] / (0.5 * y->lattice.h); /* as much of the face as of the node */
            sum += (f & 1 ? dt : -dt) * face * (1 - y->phi[j]) * y->fluid[RP_DIM * j + axis];
        }
    }
    return sum;
}

void DP(move_surface)(dp_system *y, double dt)
{
    dp_surface *s = y->surface;
    if (!s)
        return;
    job w = { y, dt };
    s->volume = fmax(0, s->volume - gone_out(y, dt));
    continue_fluid(y);
    rp__exec_for(y->node_count, 512, carry_back, &w);
    rp__exec_for(y->node_count, 512, carry_correct, &w);
    memcpy(s->distance, s->reach, (size_t)y->node_count * sizeof(double));
}
