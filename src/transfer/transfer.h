/* Between particles and grid nodes. Compiled for RP_DIM. The particles must be sorted by rp__grid_build of the same
 * `order`. Arrays of nodes have grid->blocks * RP_BLOCK_NODES values; vectors are planar (one array a component). */
#ifndef RP_TRANSFER_TRANSFER_H
#define RP_TRANSFER_TRANSFER_H

#include "grid/grid.h"
#include "particles/particles.h"

typedef enum rp__transfer_kind { RP_TRANSFER_PIC, RP_TRANSFER_FLIP, RP_TRANSFER_APIC } rp__transfer_kind;

typedef struct rp__transfer_options {
    int order;              /* 1 linear, 2 quadratic, 3 cubic */
    rp__transfer_kind kind;
    double flip;            /* FLIP: v = flip (v + du) + (1 - flip) u */
    int gradient;           /* APIC: field index of c_p (9 numbers, row-major: c[a][b] = dv_a/dx_b; RP_F64 or RP_F32), -1 if none */
    /* Work on the particles [begin, end) of a block while they are in the cache: before they are read (to_grid), after they
     * were written (to_particles). NULL: nothing. */
    void (*each)(void *context, int64_t begin, int64_t end);
    void *context;
} rp__transfer_options;

/* m_j = sum_p m_p N_j(x_p);  m_j u_j = sum_p m_p N_j(x_p) (v_p + c_p (x_j - x_p))   [daviet2016, (16)–(17)]
 * Momentum, not velocity, is returned in momentum[d]. Arrays are overwritten.
 * For order >= 2, APIC uses c_p = B_p D_p^-1 already (D constant), so the same formula holds for every order. */
void RP_D(rp__transfer_to_grid)(const rp__grid *g, const rp__particles *p, const rp__transfer_options *options,
                                double *mass, double *const momentum[3]);
void RP_D(rp__transfer_to_grid_ref)(const rp__grid *g, const rp__particles *p, const rp__transfer_options *options,
                                    double *mass, double *const momentum[3]);

/* v_p from the node velocities u (and before: u^n for FLIP, NULL otherwise); c_p for APIC:
 * linear: c_p = sum_j u_j (x) grad N_j(x_p);  quadratic, cubic: c_p = D^-1 sum_j N_j u_j (x) (x_j - x_p), D = h²/4, h²/3.
 * grad (9 planes, may be NULL): the velocity gradient sum_j u_j (x) grad N_j. Does not move particles.
 * In 2D the z components of velocity and c_p are left alone, those of grad are set to zero. */
void RP_D(rp__transfer_to_particles)(const rp__grid *g, rp__particles *p, const rp__transfer_options *options,
                                     const double *const velocity[3], const double *const before[3], double *const grad[9]);
void RP_D(rp__transfer_to_particles_ref)(const rp__grid *g, rp__particles *p, const rp__transfer_options *options,
                                         const double *const velocity[3], const double *const before[3], double *const grad[9]);

/* One scalar plane (weight[i] of particle i): value_j = sum_p w_p N_j(x_p) (not divided). */
void RP_D(rp__transfer_scalar_to_grid)(const rp__grid *g, const rp__particles *p, int order, const double *weight, double *value);
void RP_D(rp__transfer_scalar_to_grid_ref)(const rp__grid *g, const rp__particles *p, int order, const double *weight, double *value);

/* The other way: result_p = sum_j N_j(x_p) value_j. */
void RP_D(rp__transfer_scalar_to_particles)(const rp__grid *g, const rp__particles *p, int order, const double *value, double *result);
void RP_D(rp__transfer_scalar_to_particles_ref)(const rp__grid *g, const rp__particles *p, int order, const double *value,
                                                double *result);

#endif
