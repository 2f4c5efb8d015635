/* The motion of the material between two frames, as its particles felt the velocity of the grid.
 *
 * Around each node of cells as large as the grid's the displacements u of the steady particles of the eight cells at it are fitted by a
 * linear map,
 *
 *     u(x) = u_n + G (x - x_n),    G = [sum (u_j - ū)(x_j - x̄)ᵀ] [sum (x_j - x̄)(x_j - x̄)ᵀ]^-1,
 *
 * and between nodes the maps are interpolated by tents, so a linear motion is found exactly. Sums are made once a cell. */
#include "exec/exec.h"
#include "grains/grains.h"
#include "math/lanes.h"

#include <string.h>

/* Sums over particles: of their displacements u, places dx and products. */
typedef struct moments {
    double count, u[3], x[3], ux[9], xx[6];
} moments;

static const int row_of[6] = { 0, 1, 2, 0, 0, 1 }, column_of[6] = { 0, 1, 2, 1, 2, 2 };

typedef struct fit {
    const rp__carriers *from, *to;
    const rp__kin *kin;
    rp__motion_field *field;
    moments *sums;                /* one a filled cell */
    int32_t *number;              /* of a cell among the filled ones, -1: empty */
    int64_t *place;               /* of a numbered node among all */
} fit;

static void cell_at(const rp__cells *cells, int64_t cell, int64_t at[3])
{
    int64_t row = cell / cells->size[0];
    at[0] = cell % cells->size[0], at[1] = row % cells->size[1], at[2] = row / cells->size[1];
}

/* ---- sums ---- */

/* The steady particles of one cell, about its centre. */
static void sum_cell(const fit *f, int64_t cell, const double centre[3], moments *s)
{
    const rp__cells *cells = &f->from->cells;
    *s = (moments){ 0 };
    for (int64_t k = cells->first[cell]; k < cells->first[cell + 1]; k++) {
        int64_t j = cells->items[k];
        double dx[3], u[3];
        if (!f->kin->steady[j])
            continue;
        for (int d = 0; d < 3; d++) {
            dx[d] = f->from->x[d][j] - centre[d];
            u[d] = f->to->x[d][f->kin->next[j]] - f->from->x[d][j];
        }
        s->count += 1;
        for (int r = 0; r < 3; r++) {
            s->u[r] += u[r], s->x[r] += dx[r];
            for (int c = 0; c < 3; c++)
                s->ux[3 * r + c] += u[r] * dx[c];
        }
        for (int k6 = 0; k6 < 6; k6++)
            s->xx[k6] += dx[row_of[k6]] * dx[column_of[k6]];
    }
}

static void sum_cells(void *context, int64_t begin, int64_t end, int worker)
{
    const fit *f = context;
    const rp__cells *cells = &f->from->cells;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        int64_t at[3];
        double centre[3];
        cell_at(cells, f->field->filled[n], at);
        for (int d = 0; d < 3; d++)
            centre[d] = cells->origin[d] + ((double)at[d] + 0.5) * cells->width;
        sum_cell(f, f->field->filled[n], centre, &f->sums[n]);
    }
}

/* Adds the sums of a cell, whose centre is at e from the node, about the node. */
static void add_cell(const moments *c, const double e[3], moments *s)
{
    s->count += c->count;
    for (int r = 0; r < 3; r++) {
        s->u[r] += c->u[r];
        s->x[r] += c->x[r] + c->count * e[r];
        for (int k = 0; k < 3; k++)
            s->ux[3 * r + k] += c->ux[3 * r + k] + c->u[r] * e[k];
    }
    for (int k = 0; k < 6; k++) {
        int a = row_of[k], b = column_of[k];
        s->xx[k] += c->xx[k] + c->x[a] * e[b] + e[a] * c->x[b] + c->count * e[a] * e[b];
    }
}

/* ---- the fit ---- */

static bool invert_symmetric(const double d[6], double inverse[6])
{
    double a = d[1] * d[2] - d[5] * d[5], b = d[4] * d[5] - d[3] * d[2], c = d[3] * d[5] - d[4] * d[1];
    double det = d[0] * a + d[3] * b + d[4] * c;
    if (!(det > 0))
        return false;
    inverse[0] = a / det, inverse[3] = b / det, inverse[4] = c / det;
    inverse[1] = (d[0] * d[2] - d[4] * d[4]) / det;
    inverse[2] = (d[0] * d[1] - d[3] * d[3]) / det;
    inverse[5] = (d[3] * d[4] - d[0] * d[5]) / det;
    return true;
}

/* G from sums about the node; it tends to zero where particles are few. False when there are too few, or they scatter. */
static bool fit_gradient(const moments *s, const double mean_u[3], const double mean_x[3], double g[9])
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    double xx[6], inverse[6], size = 0;
    if (s->count < 5)
        return false;
    for (int k = 0; k < 6; k++)
        xx[k] = s->xx[k] - s->count * mean_x[row_of[k]] * mean_x[column_of[k]];
    double keep = 0.01 * fmin(1, 8 / s->count) * (xx[0] + xx[1] + xx[2]);
    for (int k = 0; k < 3; k++)
        xx[k] += keep;
    if (!invert_symmetric(xx, inverse))
        return false;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            g[3 * r + c] = 0;
            for (int k = 0; k < 3; k++)
                g[3 * r + c] += (s->ux[3 * r + k] - mean_u[r] * s->x[k]) * inverse[at[k][c]];
            size += g[3 * r + c] * g[3 * r + c];
        }
    return size < 16; /* beyond it there is no continuum any more: grains that fly apart */
}

static void fit_node(const moments *s, rp__node_motion *node)
{
    double mean_u[3], mean_x[3], g[9];
    *node = (rp__node_motion){ .known = s->count >= 4 ? 1 : 0 };
    if (s->count < 4)
        return;
    for (int d = 0; d < 3; d++)
        mean_u[d] = s->u[d] / s->count, mean_x[d] = s->x[d] / s->count;
    if (!fit_gradient(s, mean_u, mean_x, g))
        memset(g, 0, sizeof g);
    for (int r = 0; r < 3; r++) {
        double u = mean_u[r];
        for (int c = 0; c < 3; c++) {
            node->g[3 * r + c] = (float)g[3 * r + c];
            u -= g[3 * r + c] * mean_x[c];
        }
        node->u[r] = (float)u;
    }
}

static void fit_nodes(void *context, int64_t begin, int64_t end, int worker)
{
    const fit *f = context;
    const rp__cells *cells = &f->from->cells;
    (void)worker;
    for (int64_t n = begin; n < end; n++) {
        int64_t place = f->place[n], row = place / (cells->size[0] + 1);
        int64_t at[3] = { place % (cells->size[0] + 1), row % (cells->size[1] + 1), row / (cells->size[1] + 1) };
        moments s = { 0 };
        for (int k = 0; k < 8; k++) {
            int64_t cell = 0;
            double e[3];
            bool there = true;
            for (int d = 2; d >= 0; d--) {
                int64_t c = at[d] - 1 + (k >> d & 1);
                there = there && c >= 0 && c < cells->size[d];
                cell = cell * cells->size[d] + c;
                e[d] = ((k >> d & 1) - 0.5) * cells->width;
            }
            if (there && f->number[cell] >= 0)
                add_cell(&f->sums[f->number[cell]], e, &s);
        }
        fit_node(&s, &f->field->nodes[n]);
    }
}

/* ---- which cells and nodes ---- */

static int64_t corner_of(const rp__cells *cells, const int64_t at[3], int k)
{
    return at[0] + (k & 1) + (cells->size[0] + 1) * (at[1] + (k >> 1 & 1) + (cells->size[1] + 1) * (at[2] + (k >> 2)));
}

static rp_result number_all(fit *f)
{
    const rp__cells *cells = &f->from->cells;
    rp__motion_field *field = f->field;
    int64_t count = cells->size[0] * cells->size[1] * cells->size[2];
    int64_t corners = (cells->size[0] + 1) * (cells->size[1] + 1) * (cells->size[2] + 1), most = 0, used = 0;
    f->number = RP_NEW_ARRAY(int32_t, count + 1);
    field->filled = RP_NEW_ARRAY(int32_t, f->from->count + 1);
    field->number = RP_NEW_ARRAY(int32_t, corners);
    if (!f->number || !field->filled || !field->number)
        return RP_OUT_OF_MEMORY;
    for (int64_t c = 0; c < count; c++) {
        f->number[c] = cells->first[c] < cells->first[c + 1] ? (int32_t)field->filled_count : -1;
        if (f->number[c] >= 0)
            field->filled[field->filled_count++] = (int32_t)c;
    }
    most = 8 * field->filled_count < corners ? 8 * field->filled_count : corners;
    f->place = RP_NEW_ARRAY(int64_t, most + 1);
    if (!f->place)
        return RP_OUT_OF_MEMORY;
    memset(field->number, 0xff, (size_t)corners * sizeof *field->number);
    for (int64_t n = 0; n < field->filled_count; n++) {
        int64_t at[3];
        cell_at(cells, field->filled[n], at);
        for (int k = 0; k < 8; k++) {
            int64_t place = corner_of(cells, at, k);
            if (field->number[place] < 0) {
                field->number[place] = (int32_t)used;
                f->place[used++] = place;
            }
        }
    }
    f->sums = RP_NEW_ARRAY(moments, field->filled_count + 1);
    field->nodes = RP_NEW_ARRAY(rp__node_motion, used + 1);
    if (!f->sums || !field->nodes)
        return RP_OUT_OF_MEMORY;
    rp__exec_for(field->filled_count, 64, sum_cells, f);
    rp__exec_for(used, 64, fit_nodes, f);
    return RP_OK;
}

rp_result rp__grains_fit(const rp__carriers *from, const rp__carriers *to, const rp__kin *kin, rp__motion_field *out)
{
    *out = (rp__motion_field){ .cells = &from->cells };
    fit f = { .from = from, .to = to, .kin = kin, .field = out };
    rp_result result = number_all(&f);
    rp__base_free(f.number);
    rp__base_free(f.place);
    rp__base_free(f.sums);
    if (result != RP_OK)
        rp__grains_fit_free(out);
    return result;
}

void rp__grains_fit_free(rp__motion_field *field)
{
    rp__base_free(field->filled);
    rp__base_free(field->number);
    rp__base_free(field->nodes);
    memset(field, 0, sizeof *field);
}

/* ---- its use ---- */

void rp__grains_corners(const rp__motion_field *field, int64_t cell, rp__corners *out)
{
    const rp__cells *cells = field->cells;
    int64_t at[3];
    cell_at(cells, cell, at);
    out->width = (float)cells->width;
    out->per_width = cells->per_width;
    out->most = 0;
    out->known = true;
    for (int d = 0; d < 3; d++)
        out->lower[d] = cells->origin[d] + (double)at[d] * cells->width;
    for (int k = 0; k < 8; k++) {
        const rp__node_motion *n = &field->nodes[field->number[corner_of(cells, at, k)]];
        out->node[k] = n;
        out->known = out->known && n->known > 0;
        for (int c = 0; c < 9; c++)
            out->most = fabsf(n->g[c]) > out->most ? fabsf(n->g[c]) : out->most;
    }
}

bool rp__grains_motion(const rp__corners *corners, const double x[3], float g[12], float u[3])
{
    float part[3][2], weight[8], sum = 0, all[12] = { 0 };
    for (int d = 0; d < 3; d++) {
        part[d][1] = (float)((x[d] - corners->lower[d]) * corners->per_width);
        part[d][0] = 1 - part[d][1];
    }
    for (int k = 0; k < 8; k++) {
        weight[k] = part[0][k & 1] * part[1][k >> 1 & 1] * part[2][k >> 2] * corners->node[k]->known;
        sum += weight[k];
    }
    float scale = sum > 1e-6f ? 1 / sum : 0;
    for (int k = 0; k < 8; k++) {
        const float *from = corners->node[k]->g, w = scale * weight[k];
        RP_SIMD
        for (int c = 0; c < 12; c++)
            all[c] += w * from[c];
    }
    memcpy(g, all, sizeof all);
    for (int r = 0; r < 3 && u; r++)
        u[r] = 0;
    for (int k = 0; k < 8 && u; k++) {
        const rp__node_motion *n = corners->node[k];
        float e[3], w = scale * weight[k];
        for (int d = 0; d < 3; d++)
            e[d] = (part[d][1] - (float)(k >> d & 1)) * corners->width;
        for (int r = 0; r < 3; r++)
            u[r] += w * (n->u[r] + n->g[3 * r] * e[0] + n->g[3 * r + 1] * e[1] + n->g[3 * r + 2] * e[2]);
    }
    return scale > 0;
}
