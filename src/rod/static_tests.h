/* Equilibria of rods for the tests: Newton's method with the full stiffness. */
#ifndef RP_ROD_STATIC_TESTS_H
#define RP_ROD_STATIC_TESTS_H

#include "base/memory.h"
#include "rod/rod.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A section with bending stiffness b1, b2, twist c, mass a metre m. */
static inline rp__rod_section section_of(double stretch, double b1, double b2, double c, double m)
{
    return (rp__rod_section){ .stretch = stretch, .bend = { b1, b2 }, .twist = c, .mass = m, .inertia = 1e-3 * m, .radius = 1e-3 };
}

/* The full stiffness with the unknowns marked in `fixed` (may be NULL) and those of the ends taken out, and `shift` on its diagonal. */
static inline void stiffness(const rp__rod *rod, const bool *fixed, double shift, double *band, double *right)
{
    int n = rp__rod_unknowns(rod), first;
    memset(band, 0, (size_t)n * RP_ROD_ROW * sizeof *band);
    rp__rod_stiffen(rod, RP_ROD_FULL, 1, 1, band);
    for (int i = 0; i < n; i++)
        band[i * RP_ROD_ROW + RP_ROD_BAND] += shift;
    for (int i = 0; fixed && i < n; i++)
        if (fixed[i])
            rp__rod_band_fix(band, n, i, 0, right);
    for (int end = 0; end < 2; end++)
        for (int count = rp__rod_fixed(rod, end, &first), k = 0; k < count; k++)
            rp__rod_band_fix(band, n, first + k, 0, right);
}

static inline double imbalance(const rp__rod *rod, const bool *fixed, const double *load, double *residual)
{
    int n = rp__rod_unknowns(rod), first;
    double most = 0;
    rp__rod_force(rod, residual);
    for (int i = 0; i < n; i++)
        residual[i] = fixed && fixed[i] ? 0 : residual[i] + load[i];
    for (int end = 0; end < 2; end++)
        for (int count = rp__rod_fixed(rod, end, &first), k = 0; k < count; k++)
            residual[first + k] = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(residual[i]));
    return most;
}

/* Moves the rod to rest under `load` (all unknowns); false when it has not come there. */
static inline bool settle(rp__rod *rod, const bool *fixed, const double *load, double tolerance)
{
    int n = rp__rod_unknowns(rod);
    double *band = RP_NEW_ARRAY(double, n * RP_ROD_ROW), *step = RP_NEW_ARRAY(double, n), *residual = RP_NEW_ARRAY(double, n);
    double shift = 1, before = imbalance(rod, fixed, load, residual), least = DBL_MAX;
    bool done = false;
    for (int j = 0; j < rod->edges; j++)
        least = fmin(least, rod->length[j]);
    for (int k = 0; k < 3000 && !done; k++) {
        for (;;) {
            memcpy(step, residual, (size_t)n * sizeof *step);
            stiffness(rod, fixed, shift, band, step);
            if (rp__rod_band_factorise(band, n))
                break;
            shift = fmax(10 * shift, 1e-8);
        }
        rp__rod_band_solve(band, n, step);
        double most = 0;
        for (int i = 0; i < n; i++)
            most = fmax(most, fabs(step[i]));
        for (int i = 0; i < n && most > 0.5 * least; i++)
            step[i] *= 0.5 * least / most;
        if (!rp__rod_move(rod, step))
            break;
        double now = imbalance(rod, fixed, load, residual);
        shift = fmax(now < 1.5 * before ? 0.3 * shift : 2 * shift, 1e-12);
        before = now;
        done = now < tolerance && most < 1e-8;
    }
    rp__base_free(band);
    rp__base_free(step);
    rp__base_free(residual);
    return done;
}

/* Whether the second variation on the unknowns that are not fixed is positive definite. */
static inline bool stable(const rp__rod *rod, const bool *fixed)
{
    int n = rp__rod_unknowns(rod);
    double *band = RP_NEW_ARRAY(double, n * RP_ROD_ROW);
    stiffness(rod, fixed, 0, band, NULL);
    bool positive = rp__rod_band_factorise(band, n);
    rp__base_free(band);
    return positive;
}

/* Weight q a metre along axis (sign included) as a load; the caller frees it. */
static inline double *weight(const rp__rod *rod, int axis, double q)
{
    int n = rp__rod_unknowns(rod);
    double *load = RP_NEW_ARRAY(double, n);
    memset(load, 0, (size_t)n * sizeof *load);
    for (int i = 0; i <= rod->edges; i++)
        load[4 * i + axis] = q * rod->mass[4 * i + axis] / rod->section.mass;
    return load;
}

/* A straight rod from the origin along a direction, of length 1. */
static inline rp__rod *straight_rod(int segments, rp__vec3 along, rp__rod_section section, rp__rod_end root, rp__rod_end tip, const double director[3])
{
    double *nodes = RP_NEW_ARRAY(double, 3 * (segments + 1));
    for (int i = 0; i <= segments; i++)
        rp__vec3_store(nodes + 3 * i, rp__vec3_scale((double)i / segments, along));
    rp__rod_def def = rp__rod_default_def();
    def.nodes = nodes;
    def.node_count = segments + 1;
    def.section = section;
    def.end[0] = root;
    def.end[1] = tip;
    if (director)
        memcpy(def.director, director, sizeof def.director);
    rp__rod *rod = NULL;
    assert_int_equal(rp__rod_create(&def, &rod), RP_OK);
    rp__base_free(nodes);
    return rod;
}

/* A copy to try things on. */
static inline void copy_state(rp__rod *to, const rp__rod *from)
{
    memcpy(to->x, from->x, from->state_size * sizeof(double));
    rp__rod_update(to);
}

#endif
