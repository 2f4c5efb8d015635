/* Drucker–Prager elastoplasticity for sand   [klar2016]: the method's own structures. */
#ifndef RP_ELASTOPLASTIC_ELASTOPLASTIC_H
#define RP_ELASTOPLASTIC_ELASTOPLASTIC_H

#include "elastoplastic/closure.h"
#include "sim/method.h"

extern const rp__method rp__elastoplastic_method;

/* The time in which the fastest elastic wave crosses a cell. */
double rp__elastoplastic_wave_limit(const rp__world *world);

typedef enum rp__elastoplastic_transfer { RP_EP_APIC, RP_EP_FLIP, RP_EP_AFLIP } rp__elastoplastic_transfer;

typedef enum rp__elastoplastic_integrator { RP_EP_EXPLICIT, RP_EP_IMPLICIT } rp__elastoplastic_integrator;

typedef struct rp__elastoplastic_params {
    int kernel;            /* 0 quadratic, 1 cubic */
    int transfer;          /* rp__elastoplastic_transfer */
    double flip;
    int storage;           /* 0 double, 1 single: of strain and spin */
    double wave;           /* part of the limit of the elastic wave */
    bool volume_correction;
    double damping;        /* [1/s] of the grid velocities */
    double volume_smoothing; /* [1/s] */
    double apex; /* pressure over which the cone of what rests is rounded, in units of rho g h */
    int integrator;        /* rp__elastoplastic_integrator */
    double tolerance;      /* implicit: of the velocities, in units of what gravity adds in a step */
    int64_t newton, krylov; /* implicit: iterations at most; of GMRES for each of Newton */
} rp__elastoplastic_params;

/* The fields it adds to the particles; ends with a NULL name. */
const rp_field_info *rp__elastoplastic_field_list(const rp__elastoplastic_params *par);

/* Offsets of its fields from the first one it adds. Implicit steps keep the velocity gradient c_p of a particle whole; explicit ones
 * as rate of strain (c + c^T) / 2 in float and spin, yx zx zy of (c - c^T) / 2: the spin is what angular momentum consists of, and
 * the strain of the step is formed before either is rounded. Hardening and volume gain are float. */
enum { RP_EP_GRADIENT, RP_EP_STRAIN, RP_EP_HARDENING, RP_EP_VOLUME_GAIN, RP_EP_FIELDS, RP_EP_RATE = RP_EP_GRADIENT, RP_EP_SPIN = RP_EP_FIELDS };

/* What the law needs of a material, once a step. */
typedef struct rp__elastoplastic_law {
    double shear, lame;    /* mu, lambda [Pa] */
    double cone;           /* alpha = sqrt(2) mu^ / d, without hardening */
    double stiffness;      /* (d lambda + 2 mu) / (2 mu) */
    double hardening[4];   /* h0 … h3, radians; all 0: constant */
    double inverse_fraction; /* 1 / phi_max: bulk volume of a grain volume */
    double tip, decay;     /* tr e at the tip of the cone with cohesion, and how it falls: tip exp(-decay q) */
    double apex;           /* tr e over which the cone of what rests is rounded at its tip */
    double moving;         /* 1 / norm of the strain of a step, at which nothing of that is left */
    bool elastic;          /* a solid: no yield */
    bool hardens;
    bool varies;           /* cone or tip depend on the particle's hardening */
} rp__elastoplastic_law;

typedef struct rp__elastoplastic_step {
    double dt;
    int dim;
    double inverse_d;      /* 1 / D: 4/h² quadratic, 3/h² cubic */
    bool correct_volume;
    bool keep_affine;      /* APIC: c stays in the transfer; otherwise only the stress does */
    const rp__elastoplastic_law *laws;
    int first_field;
    bool single;           /* strain and spin are float */
} rp__elastoplastic_step;

/* law_kernel.c, over the particles [begin, end) of implicit steps, which have c_p; explicit ones have sweep.h.
 * stress: c_p <- (c_p or 0) - dt V0 / (m D) tau(strain): the force of the stress as part of the affine momentum (MLS form).
 * strain: the trial strain from the velocity gradient c_p, projected on the yield surface   [klar2016, (27)–(31)].
 * response: c_p <- - dt V0 / (m D) tau(the strain that c_p leads to); strain, hardening and gain are left as they are. */
void rp__elastoplastic_response_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end);
void rp__elastoplastic_stress_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end);
void rp__elastoplastic_strain_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end);

/* Volumes: what a particle gained in tension; the logarithm of its volume, tr e + gain; and a change of that. Zero and without
 * effect for elastic solids. */
typedef struct rp__elastoplastic_volumes {
    const rp__elastoplastic_step *step;
    const int32_t *material;
    float *gain;            /* planes */
    void *strain[3];
    const double *grains, *mass; /* volume of the grains, mass */
    const float *rate[6];   /* rate of strain, xx yy zz xy xz yz; NULL in implicit steps */
} rp__elastoplastic_volumes;

/* What the neighbourhood of a particle tells. */
typedef struct rp__elastoplastic_around {
    double theta, gain;     /* means of the logarithm of the volume, and of the gain */
    double density;         /* mass a volume, as the grid has it; 0: not known */
    double relax;           /* part of the way to the means */
    double time;            /* since the last time */
} rp__elastoplastic_around;

rp__elastoplastic_volumes rp__elastoplastic_find_volumes(const rp__elastoplastic_step *step, const rp__particles *p);
double rp__elastoplastic_gain(const rp__elastoplastic_volumes *v, int64_t i);
double rp__elastoplastic_theta(const rp__elastoplastic_volumes *v, int64_t i);
/* Makes the volume of a particle agree with its neighbours, and with the room that there is. */
void rp__elastoplastic_settle(const rp__elastoplastic_volumes *v, int64_t i, const rp__elastoplastic_around *around);

/* law.c: the plain twins, one particle at a time. strain: xx yy zz xy xz yz. */
void rp__elastoplastic_tau_ref(const rp__elastoplastic_law *law, const double strain[6], double tau[6]);
/* The trial A b A^T of b = exp(2 strain), A = I + increment; `right` = b A^T. */
rp__mat3 rp__elastoplastic_trial(const rp__mat3 *increment, const double strain[6], rp__mat3 *right);
/* One step of a particle: strain, q and gain in and out; returns the case 1, 2, 3 of the projection. */
int rp__elastoplastic_strain_ref(const rp__elastoplastic_law *law, int dim, bool correct_volume, const rp__mat3 *increment,
                                 double strain[6], double *q, double *gain);
/* alpha of a hardening state. */
double rp__elastoplastic_cone(const rp__elastoplastic_law *law, double q);
/* tr e at the tip of the cone; and that over which it is rounded there, for a strain of `size` (norm of its symmetric part) in the step. */
double rp__elastoplastic_tip(const rp__elastoplastic_law *law, double q, double gain);
double rp__elastoplastic_apex(const rp__elastoplastic_law *law, double size, double gain);
/* The projection in principal strains; returns the case. */
int rp__elastoplastic_project(const rp__elastoplastic_law *law, int dim, double tip, double apex, double e[3], double *q, double *gain,
                              bool correct_volume);
/* tangent.c: the derivative of tau after the step with respect to the increment dt grad v. */
typedef struct rp__elastoplastic_tangent {
    double right[3][3];    /* b A^T, with A = I + increment: d(A b A^T) = dA b A^T + its transpose */
    double v[3][3];        /* columns: principal directions of the trial */
    double normal[3][3];   /* d e'_i / d b_j of the principal values */
    double shear[3];       /* (e'_i - e'_j) / (b_i - b_j) for xy, xz, yz */
    double volume[3];      /* 1 / (2 b_j): of the trace before projection */
    double apex[3];        /* d e'_i / d apex */
    double fading[3][3];   /* d apex / d increment */
} rp__elastoplastic_tangent;

/* strain, q and gain at the beginning of the step; returns the case of the projection. */
int rp__elastoplastic_linearise(const rp__elastoplastic_law *law, int dim, bool correct_volume, const rp__mat3 *increment,
                                const double strain[6], double q, double gain, rp__elastoplastic_tangent *out);
void rp__elastoplastic_tangent_apply(const rp__elastoplastic_law *law, int dim, const rp__elastoplastic_tangent *t,
                                     const rp__mat3 *change, double dtau[6]);

rp__elastoplastic_law rp__elastoplastic_make_law(const rp_material_def *material, int dim);
/* The cone of what rests is rounded over `part` of the pressure under a layer one cell thick, rho g h: sets `apex` and `moving`. */
void rp__elastoplastic_round_tip(rp__elastoplastic_law *law, const rp_material_def *material, int dim, double part, double gravity, double h,
                            double dt);

#endif
