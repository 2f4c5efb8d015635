/* The derivative of the stress after a step, plasticity included   [klar2016, §5.6].
 *
 * The strain after the step is an isotropic function of the trial b' = A b A^T: e' = sum_i e'_i(b'_1 … b'_d) v_i v_i^T. In the
 * principal directions of b' its derivative is
 *     (de')_ii = sum_j (d e'_i / d b'_j) (db')_jj,   (de')_ij = (e'_i - e'_j) / (b'_i - b'_j) (db')_ij,
 * and the rounding of the tip at rest adds (d e'_i / d apex) dapex to (de')_ii. */
#include "elastoplastic/elastoplastic.h"
#include "math/eigen.h"
#include "math/tensor.h"

#include <math.h>
#include <string.h>

/* (ln x - ln y) / (2 (x - y)): with m the mean and d = (x - y) / (2 m) it is atanh(d) / (2 m d). */
static double log_difference(double x, double y)
{
    double m = 0.5 * (x + y), d = (x - y) / (2 * m), z = d * d;
    if (z < 1e-3)
        return (1 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9))))) / (2 * m);
    return 0.5 * (log(x) - log(y)) / (x - y);
}

/* Principal values and directions of b'; in 2D those of the plane come first. */
static void principal(int dim, const rp__mat3 *b, double values[3], double v[3][3])
{
    double s[6] = { b->m[0][0], b->m[1][1], b->m[2][2], b->m[0][1], b->m[0][2], b->m[1][2] };
    if (dim == 2) {
        double mean = 0.5 * (s[0] + s[1]), half = 0.5 * (s[0] - s[1]), radius = hypot(half, s[3]);
        double angle = 0.5 * atan2(s[3], half), c = cos(angle), n = sin(angle);
        double turn[3][3] = { { c, -n, 0 }, { n, c, 0 }, { 0, 0, 1 } };
        values[0] = mean + radius, values[1] = mean - radius, values[2] = 1;
        for (int i = 0; i < 9; i++)
            v[i / 3][i % 3] = turn[i / 3][i % 3];
        return;
    }
    rp__mat3 vectors;
    rp__math_eigen_sym3(s, values, &vectors);
    for (int i = 0; i < 9; i++)
        v[i / 3][i % 3] = vectors.m[i / 3][i % 3];
}

/* d e'_i / d e_j in `out`, d e'_i / d apex in `by_apex`; returns the part of the deviator that stays. `e` are the trial strains, gain
 * taken back already. */
static double projection_derivative(const rp__elastoplastic_law *law, int dim, const double e[3], double q, double tip, double apex,
                                    double out[3][3], double by_apex[3], int *kase)
{
    double trace = 0, norm = 0, n[3] = { 0, 0, 0 };
    for (int i = 0; i < dim; i++)
        trace += e[i];
    for (int i = 0; i < dim; i++) {
        n[i] = e[i] - trace / dim;
        norm += n[i] * n[i];
    }
    norm = sqrt(norm);
    /* e' = (tension ? tip : trace) / d + min(1, radius / norm) n, radius = k sqrt(below² + apex²), below = min(0, trace - tip) */
    bool tension = !law->elastic && trace >= tip;
    double k = law->stiffness * rp__elastoplastic_cone(law, q), below = fmin(0, trace - tip), root = hypot(below, apex), radius = k * root;
    bool yields = !law->elastic && norm > radius;
    double stays = yields ? radius / norm : 1, slope = yields && root > 0 ? k * below / root : 0; /* d radius / d trace */
    for (int i = 0; i < 3; i++)
        by_apex[i] = yields && root > 0 ? k * apex / root * n[i] / norm : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double same = i == j ? 1 : 0, sheared = same - 1.0 / dim - (yields ? n[i] * n[j] / (norm * norm) : 0);
            out[i][j] = i >= dim || j >= dim ? 0 : (tension ? 0 : 1.0 / dim) + (yields ? slope * n[i] / norm : 0) + stays * sheared;
        }
    *kase = tension ? 2 : yields ? 3 : 1;
    return stays;
}

/* The rounding of the tip, and its derivative by the increment: -(that of what rests) moving D / ||D||, D the symmetric part of the increment. */
static double apex_derivative(const rp__elastoplastic_law *law, const rp__mat3 *increment, double gain, double out[3][3])
{
    double size = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[i][j] = 0.5 * (increment->m[i][j] + increment->m[j][i]);
            size += out[i][j] * out[i][j];
        }
    size = sqrt(size);
    double apex = rp__elastoplastic_apex(law, size, gain);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = apex > 0 && size > 0 ? -law->apex * law->moving * out[i][j] / size : 0;
    return apex;
}

int rp__elastoplastic_linearise(const rp__elastoplastic_law *law, int dim, bool correct_volume, const rp__mat3 *increment,
                                const double strain[6], double q, double gain, rp__elastoplastic_tangent *out)
{
    rp__mat3 right, b = rp__elastoplastic_trial(increment, strain, &right);
    memcpy(out->right, right.m, sizeof out->right);
    double values[3], e[3], part = correct_volume && !law->elastic ? gain / dim : 0;
    int kase;
    principal(dim, &b, values, out->v);
    for (int i = 0; i < 3; i++) {
        values[i] = values[i] > 1e-4 ? values[i] : 1e-4; /* the bound of the update */
        e[i] = 0.5 * log(values[i]) + (i < dim ? part : 0);
        out->volume[i] = i < dim ? 0.5 / values[i] : 0;
    }
    double tip = rp__elastoplastic_tip(law, q, gain), apex = apex_derivative(law, increment, gain, out->fading);
    double stays = projection_derivative(law, dim, e, q, tip, apex, out->normal, out->apex, &kase);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out->normal[i][j] *= out->volume[j];
    out->shear[0] = stays * log_difference(values[0], values[1]);
    out->shear[1] = stays * log_difference(values[0], values[2]);
    out->shear[2] = stays * log_difference(values[1], values[2]);
    return kase;
}

/* out = V^T s V, or V s V^T with `back`; symmetric. */
static void turn(const double v[3][3], bool back, double s[3][3], double out[3][3])
{
    double half[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            half[i][j] = 0;
            for (int k = 0; k < 3; k++)
                half[i][j] += s[i][k] * (back ? v[j][k] : v[k][j]);
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[i][j] = 0;
            for (int k = 0; k < 3; k++)
                out[i][j] += (back ? v[i][k] : v[k][i]) * half[k][j];
        }
}

void rp__elastoplastic_tangent_apply(const rp__elastoplastic_law *law, int dim, const rp__elastoplastic_tangent *t,
                                     const rp__mat3 *change, double dtau[6])
{
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    double db[3][3], own[3][3], de[3][3], trace = 0, dapex = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            own[i][j] = change->m[i][0] * t->right[0][j] + change->m[i][1] * t->right[1][j] + change->m[i][2] * t->right[2][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            db[i][j] = own[i][j] + own[j][i], dapex += t->fading[i][j] * change->m[i][j];
    turn(t->v, false, db, own);
    if (law->elastic) { /* tau = mu (b - I) + lambda ln J */
        for (int j = 0; j < dim; j++)
            trace += t->volume[j] * own[j][j];
        for (int k = 0; k < 6; k++)
            dtau[k] = law->shear * db[row[k]][column[k]] + (k < 3 ? law->lame * trace : 0);
        return;
    }
    for (int i = 0; i < 3; i++) {
        de[i][i] = t->normal[i][0] * own[0][0] + t->normal[i][1] * own[1][1] + t->normal[i][2] * own[2][2] + t->apex[i] * dapex;
        trace += de[i][i];
    }
    de[0][1] = de[1][0] = t->shear[0] * own[0][1];
    de[0][2] = de[2][0] = t->shear[1] * own[0][2];
    de[1][2] = de[2][1] = t->shear[2] * own[1][2];
    turn(t->v, true, de, db);
    for (int k = 0; k < 6; k++)
        dtau[k] = 2 * law->shear * db[row[k]][column[k]] + (k < 3 ? law->lame * trace : 0);
}
