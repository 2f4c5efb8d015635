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

enum { WIDTH = NS_S + 1 }; /* coefficients of chi, volume */

/* Stresses that alternate from one dual cell to the next along an axis exert no force and are not determined: the mean [1 2 1] / 4, by the
 * volume of the grains, takes them out. At an end where both neighbours inward are full, [3 2 -1] / 4 keeps what is linear. */
static void smooth_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const dual *y = w->y;
    double half = 0.5 * du_power(y->lattice.h);
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits), side[2], far;
            const double *own = w->from + WIDTH * i;
            double weight[4] = { 2 * own[NS_S], 0, 0, 0 }, all = weight[0];
            int64_t at[4] = { i, i, i, i };
            for (int k = 0; k < 2; k++) {
                int way[3] = { 0 };
                way[w->axis] = 2 * k - 1;
                side[k] = du_beside(y, i, way);
                side[k] = du_in_use(y, side[k]) ? side[k] : -1;
                if (side[k] >= 0)
                    at[1 + k] = side[k], weight[1 + k] = w->from[WIDTH * side[k] + NS_S], all += weight[1 + k];
            }
            if ((side[0] < 0) != (side[1] < 0) && own[NS_S] > 0.4 * half) {
                int k = side[0] < 0, way[3] = { 0 };
                way[w->axis] = 2 * k - 1;
                far = du_beside(y, side[k], way);
                if (du_in_use(y, far) && w->from[WIDTH * far + NS_S] > half && w->from[WIDTH * side[k] + NS_S] > half) {
                    all = 4;
                    weight[0] = 3, weight[1 + k] = 2, weight[3] = -1, at[3] = far;
                }
            }
            for (int c = 0; c < NS_S; c++) {
                double sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += weight[k] * w->from[WIDTH * at[k] + c];
                w->to[WIDTH * i + c] = sum / all;
            }
            w->to[WIDTH * i + NS_S] = own[NS_S];
        }
}

/* NS_S coefficients of chi (without cohesion) and the volume for each stress. */
double *DU(smooth)(dual *y)
{
    double *from = y->smooth[0], *to = y->smooth[1];
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            double lambda[NS_S];
            memcpy(lambda, y->stress[i].lambda, sizeof lambda);
            lambda[0] -= y->stress[i].cohesion;
            ns_frame_to_chi(&y->frame[i], lambda, from + WIDTH * i);
            from[WIDTH * i + NS_S] = y->stress[i].volume / (y->sum[i].volume / y->sum[i].bulk);
        }
    for (int axis = 0; axis < RP_DIM; axis++) {
        job w = { .y = y, .from = from, .to = to, .axis = axis };
        rp__exec_for(y->grid.blocks, 8, smooth_blocks, &w);
        double *other = from;
        from = to;
        to = other;
    }
    return from;
}

enum { POSITION = 0, VELOCITY = 3, PRESSURE = 6, SHEAR, FRACTION, REGION, STRESS, PLANES = STRESS + 6 };

/* 0 take-off (no stress but rounding of rho g h), 1 stick, 2 slide (on the cone to a hundredth). */
static double region_of(const du_stress *s)
{
    double tangent = 0;
    for (int k = 1; k < NS_S; k++)
        tangent += s->lambda[k] * s->lambda[k];
    if (!(s->lambda[0] > 1e-6 * s->pressed / DU_PRESSED) && !(tangent > 0))
        return 0;
    return sqrt(tangent) < 0.99 * s->mu * sqrt(s->lambda[0] * s->lambda[0] + s->apex * s->apex) ? 1 : 2;
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
    data[REGION * n + at] = region_of(s);
    /* Of the node, but where that has no room of its own. */
    double room = y->nodes.room[node], phi = sum->volume / sum->bulk, full = du_power(y->lattice.h);
    data[FRACTION * n + at] = room > 0.1 * full ? phi * y->nodes.bulk[node] / room : phi * s->weight;
    double tangent = 0, chi[NS_S], h[RP_DIM * RP_DIM];
    memcpy(chi, r, sizeof chi);
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
