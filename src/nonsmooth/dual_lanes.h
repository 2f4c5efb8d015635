/* The sweeps of `stress: dual` work on DU_LANES blocks of a colour at once, a lane each: dual cells with the same place in their blocks are visited
 * together. Blocks of a colour share no node, so what a lane computes does not depend on its company. */
#ifndef RP_NONSMOOTH_DUAL_LANES_H
#define RP_NONSMOOTH_DUAL_LANES_H

#include "nonsmooth/system.h"

enum {
    DU_LANES = 4,               /* the tile of four blocks, 27 kB, stays in the first cache; that of eight would not */
    DU_SIDE = 6,                /* a block and two layers after it */
    DU_TILE = RP_DIM == 3 ? 216 : 36,
};

/* Sums of a block over a sweep: squares of the residual and the largest, the same with rest in units of rho g h, how far the sweep turned against the
 * momentum, squares of the strain rate; at a look the squares of the residual as the sweeps count it, without the means of dual_residual_dim.c. */
enum { DU_SQUARES, DU_LARGEST, DU_UPHILL, DU_CALM_SQUARES, DU_CALM_LARGEST, DU_STRAINS, DU_BARE, DU_SUMS };

typedef double du_v __attribute__((vector_size(8 * DU_LANES)));
typedef int64_t du_mask __attribute__((vector_size(8 * DU_LANES)));

/* What a visit needs of the dual cells at one place of the blocks of a group. Lanes without a dual cell have an operator of zero and a gap: they stay
 * at no stress. */
typedef struct du_slot {
    du_v lambda[NS_S], previous[NS_S];
    du_v r[RP_DIM * RP_DIM], s[NS_T], a[RP_DIM - 1], nn; /* ns_frame */
#if RP_DIM == 3
    du_v cs, sn;
#endif
    du_v root;                  /* the last root of the law */
    du_v k, mu, apex, weight, strict, thin; /* thin: 1 / volume */
    du_v factor;                /* without g: of the stencil of a full dual cell */
    int64_t g;                  /* first of the vectors of the operator, or -1 */
    int32_t local;              /* place in the block */
} du_slot;

/* Of a slot with viscous grains: eta / volume, and the stress -(eta / volume) × strain that goes with the velocities. */
typedef struct du_viscous {
    du_v ratio, stress[NS_S], previous[NS_S];
} du_viscous;

/* Of a slot whose law has no simple frame: ns_wide, W~ (linearised law) and W (viscous grains) in coefficients of chi. */
typedef struct du_wide {
    du_v e[NS_T * NS_T], s[NS_T], a[NS_T], full[NS_S * NS_S], plain[NS_S * NS_S];
} du_wide;

typedef struct du_group {
    int64_t block[DU_LANES];    /* or -1 */
    int64_t slot, slots;        /* the first, how many */
} du_group;

/* A block with something to do. Blocks with dual cells at the same places, and full ones, go well together. */
typedef struct du_member {
    uint64_t active, full;
    int64_t block;
} du_member;

typedef struct du_lanes {
    du_group *group;
    int64_t groups, group_capacity;
    int64_t colour_first[RP_COLOURS + 1]; /* groups of a colour */
    du_member *member;          /* scratch: the blocks of a colour */
    int64_t member_capacity;
    du_slot *slot;
    int64_t slots, slot_capacity;
    du_v *g;                    /* NS_STENCIL × RP_DIM for each slot that is not all full dual cells */
    int64_t g_count, g_capacity;
    du_viscous *viscous;        /* slot: when some grains are viscous */
    int64_t viscous_capacity;
    du_wide *wide;              /* slot: when the law is not the isotropic one */
    int64_t wide_capacity;
} du_lanes;

/* Velocities around the blocks of a group, and dt / m. */
typedef struct du_tile {
    du_v u[DU_TILE][RP_DIM];
    du_v push[DU_TILE];
} du_tile;

/* How a sweep goes. */
typedef struct du_manner {
    double beta, omega;         /* momentum, relaxation */
    double ahead;               /* dual.ahead */
    bool look;                  /* residuals only: nothing moves */
} du_manner;

struct dual;

/* dual_lanes_dim.c: from blocks to lanes before the sweeps, and the stresses back after them; the tile of a group. */
rp_result RP_D(rp__nonsmooth_dual_to_lanes)(struct dual *y);
void RP_D(rp__nonsmooth_dual_from_lanes)(struct dual *y);
void RP_D(rp__nonsmooth_dual_keep_lanes)(struct dual *y, double *lambda, bool keep); /* the stresses, a lane of a slot each; or back; then viscous ones */

/* The mean pressure in units of lambda_N, without cohesion, by weight; the change of the sums of each block since the last call, as a part of all of them. */
double RP_D(rp__nonsmooth_dual_mean_pressure)(const struct dual *y, double *drift);
void RP_D(rp__nonsmooth_dual_load_tile)(const struct dual *y, const du_group *group, du_tile *tile);
void RP_D(rp__nonsmooth_dual_store_tile)(const struct dual *y, const du_group *group, const du_tile *tile);

/* dual_sweep_kernel_dim.c: one visit of every dual cell of the group. sums: DU_LANES × DU_SUMS, added to. */
void RP_D(rp__nonsmooth_dual_sweep_group)(const struct dual *y, const du_group *group, const du_manner *manner, du_tile *tile, double *sums);

#endif
