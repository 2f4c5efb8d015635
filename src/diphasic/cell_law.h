/* The law of one cell: its strain, what its stress does to its nodes, and how far it is from Coulomb. Compiled for RP_DIM.
 * λ_N of a cell takes the pressure back that it would cause there (the effective stress, solve_dim.c). */
#ifndef RP_DIPHASIC_CELL_LAW_H
#define RP_DIPHASIC_CELL_LAW_H

#include "diphasic/closure.h"
#include "diphasic/system.h"

#include <string.h>

/* γ = χ⁻¹ sum_j sym(u_j ⊗ g_cj), with the gap. */
DP_INLINE void dp_strain(const dp_system *y, const dp_stress *s, double gamma[DP_S])
{
    double sum[DP_S] = { 0 }, alternating = 0;
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++) {
        const dp_node *j = &y->node[s->node[n]];
        dp_add_strain(j->u, s->g[n], sum);
        for (int k = RP_DIM; k < DP_PARTS; k++)
            alternating += s->inner[n] * dp_divergence(y, n, k) * j->u[k];
    }
    dp_coefficients(sum, gamma);
    gamma[0] += s->k + 0.5 * DP_CONTACT * alternating;
}

/* D_c · w */
DP_INLINE double dp_outflow(const dp_system *y, const dp_stress *s, double dt)
{
    double sum = y->surface ? dp_leaked(y, s->cell, dt) : 0;
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++)
        for (int k = 0; k < DP_PARTS; k++)
            sum += dp_leaving(y, s->leaves, n, k) * y->node[s->node[n]].w[k];
    return sum;
}

/* What a stress takes off the pressure of its cell. */
DP_INLINE double dp_shifted(const dp_stress *s, const double lambda[DP_S])
{
    double sum = 0;
    for (int k = 0; k < DP_S; k++)
        sum += s->shift[k] * lambda[k];
    return sum;
}

/* Push of a stress on a corner, over dt: χ(λ) g, and of the contact pressure on the alternating parts. */
DP_INLINE void dp_corner_force(const dp_system *y, const dp_stress *s, int n, const double tensor[DP_S], double normal, int parts,
                               double f[DP_PARTS])
{
    dp_multiply(tensor, s->g[n], f);
    for (int k = RP_DIM; k < parts; k++)
        f[k] = DP_CONTACT * normal * s->inner[n] * dp_divergence(y, n, k);
}

/* The nodes of a cell get the impulse of a stress and of a pressure. */
DP_INLINE void dp_scatter(dp_system *y, const dp_stress *s, double dt, double pressure, const double lambda[DP_S], int parts)
{
    double tensor[DP_S];
    dp_chi(lambda, tensor);
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++) {
        dp_node *to = &y->node[s->node[n]];
        double f[DP_PARTS];
        dp_corner_force(y, s, n, tensor, lambda[0], parts, f);
        for (int a = 0; a < parts; a++) {
            double push = pressure * dp_leaving(y, s->leaves, n, a);
            to->u[a] += dt * (to->m[a] * f[a] + to->a[a] * push);
            to->w[a] += dt * (to->a[a] * f[a] + to->theta[a] * push);
        }
    }
}

/* γ~; returns the outflow. */
DP_INLINE double dp_shifted_strain(const dp_system *y, const dp_stress *s, double dt, double gamma[DP_S])
{
    double r = 0;
    dp_strain(y, s, gamma);
    if (s->stiffness > 0) {
        r = dp_outflow(y, s, dt);
        for (int i = 0; i < DP_S; i++)
            gamma[i] -= 0.5 * s->shift[i] * r;
    }
    return r;
}

/* Strain that varies over a cell: the velocities of its corners that alternate, which no stress that is constant in cells sees. */
DP_INLINE void dp_bent_strain(const dp_system *y, const dp_stress *s, double gamma[DP_BENT])
{
    for (int i = 0; i < DP_BENT; i++)
        gamma[i] = 0;
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++)
        for (int k = 0; k < DP_ALTERNATING; k++)
            for (int a = 0; a < RP_DIM; a++)
                gamma[RP_DIM * k + a] += s->bend_arm * dp_sign(n, RP_DIM + k) * y->node[s->node[n]].u[a];
}

DP_INLINE void dp_scatter_bent(dp_system *y, const dp_stress *s, double dt, const double change[DP_BENT])
{
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++) {
        dp_node *to = &y->node[s->node[n]];
        for (int k = 0; k < DP_ALTERNATING; k++)
            for (int a = 0; a < RP_DIM; a++) {
                double f = dt * s->bend_arm * dp_sign(n, RP_DIM + k) * change[RP_DIM * k + a];
                to->u[a] += to->m[a] * f;
                to->w[a] += to->a[a] * f;
            }
    }
}

/* Where the law of friction puts it: it holds as the mean stress of the cell does, and gives way beyond what friction can carry (closure.h). */
DP_INLINE void dp_bent_law(const dp_stress *s, const double gamma[DP_BENT], double next[DP_BENT])
{
    double square = 0, most = DP_BENDING * s->mu * s->lambda[0];
    for (int i = 0; i < DP_BENT; i++) {
        double unit = s->bend_unit[i % RP_DIM];
        next[i] = unit > 0 ? s->bend[i] - gamma[i] / unit : 0;
        square += next[i] * next[i];
    }
    double part = square > most * most ? most / sqrt(square) : 1;
    for (int i = 0; i < DP_BENT; i++)
        next[i] *= part;
}

/* Alart and Curnier's function with a unit for each part: zero if and only if (γ, λ) is in Coulomb's law. */
DP_INLINE double dp_law_residual(const dp_stress *s, const double gamma[DP_S])
{
    double normal = s->lambda[0] - gamma[0] / s->scale, sum, tangent = 0, x[DP_S];
    normal = normal > 0 ? normal : normal <= 0 ? 0 : normal; /* a NaN stays one */
    sum = (s->lambda[0] - normal) * (s->lambda[0] - normal);
    for (int i = 1; i < DP_S; i++) {
        x[i] = s->lambda[i] - gamma[i] / s->scale_t;
        tangent += x[i] * x[i];
    }
    tangent = sqrt(tangent);
    double most = s->mu * normal, part = tangent > most ? most / tangent : 1;
    for (int i = 1; i < DP_S; i++)
        sum += (s->lambda[i] - part * x[i]) * (s->lambda[i] - part * x[i]);
    return sqrt(sum);
}

#endif
