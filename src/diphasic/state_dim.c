/* What is kept from step to step beyond the particles, and the node fields that can be looked at. */
#include "diphasic/system.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

rp_result DP(save)(const void *state, rp_state *out)
{
    const dp_system *y = state;
    RP_TRY(rp_state_add(out, "diphasic/fluid", RP_F64, RP_DIM * y->node_count, y->fluid));
    RP_TRY(rp_state_add(out, "diphasic/pressure", RP_F64, y->cell_count, y->pressure));
    RP_TRY(rp_state_add(out, "diphasic/steps", RP_I64, 1, &y->steps));
    RP_TRY(rp_state_add(out, "diphasic/bend", RP_F64, DP_BENT * y->cell_count, y->bend));
    RP_TRY(rp_state_add(out, "diphasic/rubbed", RP_F64, DP_RUBBED * y->node_count, y->rubbed));
    if (y->surface) {
        RP_TRY(rp_state_add(out, "diphasic/distance", RP_F64, y->node_count, y->surface->distance));
        RP_TRY(rp_state_add(out, "diphasic/fraction", RP_F64, y->cell_count, y->surface->fraction));
        RP_TRY(rp_state_add(out, "diphasic/volume", RP_F64, 1, &y->surface->volume));
    }
    return rp_state_add(out, "diphasic/stress", RP_F64, DP_S * y->cell_count, y->lambda);
}

rp_result DP(restore)(void *state, const rp_state *in)
{
    dp_system *y = state;
    struct {
        const char *name;
        double *to;
        int64_t count;
        const rp_blob *blob;
    } all[] = { { "diphasic/fluid", y->fluid, RP_DIM * y->node_count, NULL },
                { "diphasic/pressure", y->pressure, y->cell_count, NULL },
                { "diphasic/stress", y->lambda, DP_S * y->cell_count, NULL },
                { "diphasic/bend", y->bend, DP_BENT * y->cell_count, NULL },
                { "diphasic/rubbed", y->rubbed, DP_RUBBED * y->node_count, NULL },
                { "diphasic/distance", y->surface ? y->surface->distance : NULL, y->node_count, NULL },
                { "diphasic/fraction", y->surface ? y->surface->fraction : NULL, y->cell_count, NULL },
                { "diphasic/volume", y->surface ? &y->surface->volume : NULL, 1, NULL } };
    int arrays = y->surface ? 8 : 5;
    for (int i = 0; i < arrays; i++) {
        all[i].blob = rp_state_find(in, all[i].name);
        if (!all[i].blob || all[i].blob->type != RP_F64 || all[i].blob->count != all[i].count)
            return rp__base_fail(RP_BAD_FILE, "the state has no usable array '%s' of %lld numbers", all[i].name, (long long)all[i].count);
    }
    const rp_blob *steps = rp_state_find(in, "diphasic/steps");
    if (!steps || steps->type != RP_I64 || steps->count != 1)
        return rp__base_fail(RP_BAD_FILE, "the state has no usable number 'diphasic/steps'");
    memcpy(&y->steps, steps->data, sizeof y->steps);
    for (int i = 0; i < arrays; i++)
        memcpy(all[i].to, all[i].blob->data, (size_t)all[i].count * sizeof(double));
    y->stress_count = 0;
    y->cold = y->steps == 0;
    return RP_OK;
}

enum { POSITION = 0, VELOCITY = 3, PRESSURE = 6, FRACTION, FLUID, FLUID_PRESSURE = FLUID + 3, DISTANCE, PLANES };

/* Nodes on a face have the mean of the cells beside them, half a cell inside; the next ones that of two rows: straight on to the face. */
static void to_faces(const dp_system *y, double *field, double least)
{
    for (int a = 0; a < RP_DIM; a++)
        for (int64_t j = 0; j < y->node_count && !y->lattice.periodic[a]; j++) {
            int64_t at[3];
            dp_place(y->nodes, j, at);
            if (at[a] != 0 && at[a] != y->cells[a])
                continue;
            at[a] += at[a] == 0 ? 1 : -1;
            field[j] = fmax(least, 2 * field[j] - field[dp_node_index(y, at)]);
        }
}

/* Volume over which the pressure of a node is a mean: the fluid. */
static double whole_of(const dp_system *y, int64_t node)
{
    double wet = dp_wet_volume(y, node);
    return wet > 0 ? wet : 1;
}

rp_result DP(node_fields)(void *state, const rp_field_view **views, int *count, int64_t *nodes)
{
    dp_system *y = state;
    int64_t n = y->node_count;
    if (n * PLANES > y->view_capacity) {
        double *data = RP_NEW_ARRAY(double, n * PLANES);
        if (!data)
            return RP_OUT_OF_MEMORY;
        rp__base_free(y->view_data);
        y->view_data = data;
        y->view_capacity = n * PLANES;
    }
    double *data = y->view_data;
    memset(data, 0, (size_t)(n * PLANES) * sizeof(double));
    for (int64_t j = 0; j < n; j++) {
        int64_t at[3];
        dp_place(y->nodes, j, at);
        for (int a = 0; a < RP_DIM; a++) {
            data[(POSITION + a) * n + j] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
            data[(VELOCITY + a) * n + j] = y->node[j].u[a];
            data[(FLUID + a) * n + j] = y->fluid[RP_DIM * j + a];
        }
        data[FRACTION * n + j] = y->grains[j] / y->volume[j];
        if (y->surface)
            data[DISTANCE * n + j] = y->surface->distance[j];
    }
    /* pressures of the cells around a node, their mean; of the grains where there are any */
    for (int64_t c = 0; c < y->cell_count; c++) {
        int64_t at[3], corner[DP_CORNERS];
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        double part = pow(0.5 * y->lattice.h, RP_DIM);
        for (int k = 0; k < DP_CORNERS; k++) {
            data[FLUID_PRESSURE * n + corner[k]] += y->pressure[c] * dp_wet_share(y, c, k) / whole_of(y, corner[k]);
            data[PRESSURE * n + corner[k]] += DP_CONTACT * y->lambda[DP_S * c] * part / y->volume[corner[k]];
        }
    }
    to_faces(y, data + PRESSURE * n, 0);
    to_faces(y, data + FLUID_PRESSURE * n, -INFINITY);
    static const struct {
        const char *name, *unit;
        int components, plane;
    } table[] = { { "position", "m", 3, POSITION },      { "velocity", "m/s", 3, VELOCITY },
                  { "pressure", "Pa", 1, PRESSURE },     { "volume_fraction", "", 1, FRACTION },
                  { "fluid_velocity", "m/s", 3, FLUID }, { "fluid_pressure", "Pa", 1, FLUID_PRESSURE },
                  { "fluid_distance", "m", 1, DISTANCE } };
    int total = (int)(sizeof table / sizeof *table) - !y->surface; /* the last one is of a surface */
    for (int v = 0; v < total; v++)
        y->views[v] = (rp_field_view){ .info = { table[v].name, RP_F64, table[v].components, table[v].unit, 1 },
                                       .data = data + table[v].plane * n,
                                       .count = n,
                                       .stride = n };
    *views = y->views;
    *count = total;
    *nodes = n;
    return RP_OK;
}
