/* Cells that the surface of the fluid cuts: integrals over the part of a cell where a field, multilinear between its corners, is below
 * zero. The cell is taken apart into simplices around its centre (and those of its faces), in each of which the field is linear between the
 * corners; a field that is linear in the cell is met exactly. An edge of a simplex that the surface crosses splits it in two there, until none is left.
 * Both N and ∇N are then integrated by points, exactly. */
#include "diphasic/system.h"

#include <string.h>

typedef struct simplex {
    double x[RP_DIM + 1][RP_DIM], value[RP_DIM + 1];
} simplex;

typedef struct job {
    dp_cut *out;
    double h;
    dp_piece_fn *tell;
    void *context;
} job;

/* Volume, in cells. */
static double measure(const simplex *s)
{
    double e[RP_DIM][RP_DIM];
    for (int i = 0; i < RP_DIM; i++)
        for (int a = 0; a < RP_DIM; a++)
            e[i][a] = s->x[i + 1][a] - s->x[0][a];
#if RP_DIM == 2
    return fabs(e[0][0] * e[1][1] - e[0][1] * e[1][0]) / 2;
#else
    return fabs(e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
                e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) / 6;
#endif
}

static void add_point(const job *w, const double t[RP_DIM], double part)
{
    double weight[DP_CORNERS], gradient[DP_CORNERS][RP_DIM];
    dp_weights(t, weight);
    dp_gradients(t, 1, gradient);
    for (int n = 0; n < DP_CORNERS; n++) {
        w->out->part[n] += part * weight[n];
        for (int a = 0; a < RP_DIM; a++)
            w->out->leaves[n][a] += part * gradient[n][a];
    }
}

/* By the centres of the sides, and in 3D the vertices: exact up to the degree of N, with no weight below zero [stroud1971]. */
static void integrate(const job *w, const simplex *s)
{
    const double side = RP_DIM == 2 ? 1.0 / 3 : 9.0 / 40, vertex = RP_DIM == 2 ? 0 : 1.0 / 40;
    double volume = measure(s);
    w->out->fraction += volume;
    for (int q = 0; q <= RP_DIM && volume > 0; q++) { /* the side across from vertex q */
        double t[RP_DIM] = { 0 };
        for (int i = 0; i <= RP_DIM; i++)
            for (int a = 0; a < RP_DIM; a++)
                t[a] += i == q ? 0 : s->x[i][a] / RP_DIM;
        add_point(w, t, side * volume);
        if (vertex > 0)
            add_point(w, s->x[q], vertex * volume);
    }
}

/* The side of a simplex in the fluid whose corners are all on the surface. */
static void tell_piece(const job *w, const simplex *s)
{
    dp_piece piece;
    int count = 0;
    for (int i = 0; i <= RP_DIM; i++)
        if (s->value[i] == 0 && count < RP_DIM)
            memcpy(piece.x[count++], s->x[i], sizeof piece.x[0]);
    if (count == RP_DIM)
        w->tell(w->context, &piece);
}

static void add(const job *w, const simplex *s)
{
    bool inside = false;
    for (int i = 0; i <= RP_DIM; i++) {
        inside = inside || s->value[i] < 0;
        for (int j = 0; j <= RP_DIM; j++) {
            if (!(s->value[i] < 0 && s->value[j] > 0))
                continue;
            simplex part = *s;
            double t = s->value[i] / (s->value[i] - s->value[j]), cross[RP_DIM];
            for (int a = 0; a < RP_DIM; a++)
                cross[a] = s->x[i][a] + t * (s->x[j][a] - s->x[i][a]);
            memcpy(part.x[j], cross, sizeof cross);
            part.value[j] = 0;
            add(w, &part);
            part = *s;
            memcpy(part.x[i], cross, sizeof cross);
            part.value[i] = 0;
            add(w, &part);
            return;
        }
    }
    if (!inside)
        return;
    integrate(w, s);
    if (w->tell)
        tell_piece(w, s);
}

/* The mean of the corners of the cell that have the given bits at the given axes. */
static void middle(const double value[DP_CORNERS], int axes, int bits, double x[RP_DIM], double *mean)
{
    int count = 0;
    *mean = 0;
    for (int n = 0; n < DP_CORNERS; n++)
        if ((n & axes) == bits)
            *mean += value[n], count++;
    *mean /= count;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = axes >> a & 1 ? bits >> a & 1 : 0.5;
}

void DP(cut_cell)(const double value[DP_CORNERS], double h, dp_cut *out, dp_piece_fn *tell, void *context)
{
    job w = { out, h, tell, context };
    simplex s;
    memset(out, 0, sizeof *out);
    middle(value, 0, 0, s.x[0], &s.value[0]);
    for (int face = 0; face < 2 * RP_DIM; face++) {
        int axis = 1 << face / 2, side = face & 1 ? axis : 0;
#if RP_DIM == 2
        for (int k = 0; k < 2; k++)
            middle(value, 3, side | (k ? 3 ^ axis : 0), s.x[1 + k], &s.value[1 + k]);
        add(&w, &s);
#else
        middle(value, axis, side, s.x[1], &s.value[1]);
        for (int edge = 0; edge < 4; edge++) {
            int across = 1 << (face / 2 + 1 + (edge >> 1)) % 3, along = 7 ^ axis ^ across;
            for (int k = 0; k < 2; k++)
                middle(value, 7, side | (edge & 1 ? across : 0) | (k ? along : 0), s.x[2 + k], &s.value[2 + k]);
            add(&w, &s);
        }
#endif
    }
    double cell = pow(h, RP_DIM), face = cell / h;
    for (int n = 0; n < DP_CORNERS; n++) {
        out->part[n] *= cell;
        for (int a = 0; a < RP_DIM; a++)
            out->leaves[n][a] *= face;
    }
}
