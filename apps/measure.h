/* Friction of a scene's own grains, measured in a shear cell, and the continuum that is run with it. */
#ifndef REPOSE_APPS_MEASURE_H
#define REPOSE_APPS_MEASURE_H

#include <repose/repose.h>
#include <stdbool.h>

enum { RATES_MOST = 16, MEASURE_BLOCKS = 5 };

/* One rate: means over blocks of strain, and the standard errors of these means. */
typedef struct shear_point {
    double inertial, inertial_error; /* I = rate d sqrt(rho / P) */
    double mu, mu_error;             /* shear force over normal force on the plate */
    double fraction;                 /* volume fraction in the middle half */
    int64_t steps, unconverged;
} shear_point;

/* mu = mu_s + (mu_2 - mu_s) / (1 + I_0 / I) [jop2006]. */
typedef struct shear_fit {
    double mu_s, mu_2, i_0;
    double mu_s_error, mu_2_error, i_0_error;
    double misfit;                   /* root mean square of the distances, in standard errors */
} shear_fit;

typedef struct shear_cell {
    int dim, wide, deep, high;       /* grains along each axis at the start */
    double strain;                   /* measured a rate; the first half of that besides is not counted */
    double rate[RATES_MOST];         /* inertial numbers asked for */
    int rates, threads;
    bool quiet;
} shear_cell;

/* Measures the grains of `scene` (method contact): `diameter` and `density` are found on the way. */
rp_result shear_measure(const rp_scene *scene, const shear_cell *cell, shear_point *points, double *diameter, double *density);
bool shear_fit_law(const shear_point *points, int count, shear_fit *fit);

#endif
