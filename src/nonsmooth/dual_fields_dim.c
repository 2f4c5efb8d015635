/* Node fields that can be looked at: one row for each dual cell in use. */
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

typedef struct job {
    const dual *y;
    const double *from;
    double *to;
    int axis;
} job;

enum { WIDTH = NS_S + 1 }; /* coefficients of chi; the volume v of the packed grains, a part of a whole dual cell, as g has it */

/* Volume of the room of a dual cell, a part of a whole one. */
static double room_of(const dual *y, int64_t i)
{
    return y->cut[i] == -1 ? 1 : y->cut[i] >= 0 ? y->rooms[y->cut[i]].volume / du_power(y->lattice.h) : 0;
}

/* Volume of grains that two dual cells beside each other have in common, a part of a whole one: that of two whole ones, or of a half at a wall and the one
 * before it, is a whole. */
static double common(const job *w, int64_t i, int64_t j)
{
    double own = fmin(w->from[WIDTH * i + NS_S], room_of(w->y, i)), other = fmin(w->from[WIDTH * j + NS_S], room_of(w->y, j));
    return fmin(2 * fmin(own, other), fmax(own, other));
}

static int64_t used_beside(const dual *y, int64_t i, int axis, int step)
{
    int way[3] = { 0 };
    way[axis] = step;
    int64_t j = i < 0 ? -1 : du_beside(y, i, way);
    return du_in_use(y, j) ? j : -1;
}

/* Stresses that alternate from one dual cell to the next along an axis exert no force and are not determined: the mean [1 2 1] / 4 takes them out, and at an
 * end, where the last dual cell is a half, [1 1] / 2. As an exchange, v_i s_i += (v_ij / 4) (s_j - s_i), it keeps the sum of v s: the force over a plane. */
static void smooth_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            const double *from = w->from + WIDTH * i;
            double *to = w->to + WIDTH * i;
            memcpy(to, from, WIDTH * sizeof *to);
            for (int step = -1; step <= 1; step += 2) {
                int64_t j = used_beside(y, i, w->axis, step);
                if (j < 0)
                    continue;
                const double *other = w->from + WIDTH * j;
                double part = 0.25 * common(w, i, j) / from[NS_S];
                for (int c = 0; c < NS_S; c++)
                    to[c] += part * (other[c] - from[c]);
            }
        }
}

/* At a wall the mean of the last one and a half cells stands 5/8 of a cell before the node: it is continued to it. */
static void reach_walls(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dual *y = w->y;
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits), at[3];
            du_centre(y, i, at);
            bool low = at[w->axis] == 0, high = at[w->axis] == y->lattice.cells[w->axis];
            int64_t one = low || high ? used_beside(y, i, w->axis, low ? 1 : -1) : -1, two = used_beside(y, one, w->axis, low ? 1 : -1);
            if (two < 0 || w->from[WIDTH * one + NS_S] < 0.5 || w->from[WIDTH * two + NS_S] < 0.5)
                continue;
            for (int c = 0; c < NS_S; c++)
                w->to[WIDTH * i + c] += 0.625 * (w->to[WIDTH * one + c] - w->to[WIDTH * two + c]);
        }
}

/* NS_S coefficients of chi (without cohesion), and v, for each stress. */
double *DU(smooth)(dual *y)
{
    double *from = y->smooth[0], *to = y->smooth[1];
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            du_chi_of(y, i, y->viscous, from + WIDTH * i);
            from[WIDTH * i + NS_S] = y->stress[i].volume * y->sum[i].bulk / (y->sum[i].volume * du_power(y->lattice.h));
        }
    for (int axis = 0; axis < RP_DIM; axis++) {
        job w = { .y = y, .from = from, .to = to, .axis = axis };
        rp__exec_for(y->grid.blocks, 8, smooth_blocks, &w);
        rp__exec_for(y->grid.blocks, 8, reach_walls, &w);
        double *other = from;
        from = to;
        to = other;
    }
    return from;
}

enum { POSITION = 0, VELOCITY = 3, PRESSURE = 6, SHEAR, FRACTION, REGION, STRESS, PLANES = STRESS + 6 };

/* 0 take-off (no stress but rounding of rho g h), 1 stick, 2 slide (on the cone to a hundredth). */
static double region_of(const dual *y, const du_stress *s)
{
    double shear = du_shear_of(y, s), least = 1e-6 * s->pressed / DU_PRESSED;
    if (!(s->lambda[0] > least) && !(shear > least))
        return 0;
    return shear < 0.99 * du_bound_of(s) ? 1 : 2;
}

static void fill_row(const dual *y, int64_t i, const double *r, int64_t at, int64_t n, double *data)
{
    int64_t c[3];
    const du_stress *s = &y->stress[i];
    const du_sum *sum = &y->sum[i];
    int64_t node = du_tile_node(y, i / RP_BLOCK_NODES, du_tile_base((int)(i % RP_BLOCK_NODES)) + y->offset[DU_CENTRE]);
    du_centre(y, i, c);
    for (int a = 0; a < RP_DIM; a++) {
        data[(POSITION + a) * n + at] = y->lattice.origin[a] + y->lattice.h * (double)c[a];
        data[(VELOCITY + a) * n + at] = y->nodes.after[a][node];
    }
    data[REGION * n + at] = region_of(y, s);
    /* As the method has it: the volume of grains with which a stress pushes, up to phi_max; beyond, the stress is more, so that their product stays. */
    double phi = sum->volume / sum->bulk, room = room_of(y, i), filled = room > 0 ? r[NS_S] / room : 1, beyond = filled > 1 ? filled : 1;
    data[FRACTION * n + at] = phi * (filled / beyond);
    double tangent = 0, chi[NS_S], h[RP_DIM * RP_DIM];
    for (int k = 0; k < NS_S; k++)
        chi[k] = beyond * r[k];
    double floor = -sum->cohesion / sum->volume * NS_COHESION_N;
    chi[0] = chi[0] > floor ? chi[0] : floor;
    for (int k = 1; k < NS_S; k++)
        tangent += chi[k] * chi[k];
    data[PRESSURE * n + at] = chi[0] * NS_TRACE / RP_DIM;
    data[SHEAR * n + at] = sqrt(tangent);
    ns_chi_tensor(chi, h); /* Cauchy stress: -lambda */
#if RP_DIM == 3
    static const int place[6] = { 0, 4, 8, 1, 2, 5 };
    for (int k = 0; k < 6; k++)
        data[(STRESS + k) * n + at] = -h[place[k]];
#else
    data[(STRESS + 0) * n + at] = -h[0];
    data[(STRESS + 1) * n + at] = -h[3];
    data[(STRESS + 3) * n + at] = -h[1];
#endif
}

rp_result DU(node_fields)(void *state, const rp_field_view **views, int *count, int64_t *nodes)
{
    dual *y = state;
    int64_t n = 0, at = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        n += __builtin_popcountll(y->active[b]);
    if (!rp__base_grow(&y->view_data, &y->view_capacity, n * PLANES + 1, sizeof *y->view_data))
        return RP_OUT_OF_MEMORY;
    memset(y->view_data, 0, (size_t)(n * PLANES) * sizeof(double));
    const double *chi = n ? DU(smooth)(y) : NULL;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            fill_row(y, i, chi + WIDTH * i, at++, n, y->view_data);
        }
    static const struct {
        const char *name, *unit;
        int components, plane;
    } table[] = { { "position", "m", 3, POSITION },  { "velocity", "m/s", 3, VELOCITY }, { "pressure", "Pa", 1, PRESSURE },
                  { "shear_stress", "Pa", 1, SHEAR }, { "volume_fraction", "", 1, FRACTION }, { "stress", "Pa", 6, STRESS },
                  { "region", "", 1, REGION } };
    int total = (int)(sizeof table / sizeof *table);
    for (int v = 0; v < total; v++)
        y->views[v] = (rp_field_view){ .info = { table[v].name, RP_F64, table[v].components, table[v].unit, 1 },
                                       .data = y->view_data + table[v].plane * n,
                                       .count = n,
                                       .stride = n };
    *views = y->views;
    *count = total;
    *nodes = n;
    return RP_OK;
}
