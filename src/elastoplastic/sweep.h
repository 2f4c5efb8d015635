/* The explicit step between particles and grid in two passes over the particles, law and motion included.
 *
 * Particles are in the order of a build of the grid, not necessarily of this step: they may have moved since as far as the nodes
 * of their block and of its neighbours at +1 reach (a cell either way after rp__grid_build_loose with the quadratic kernel).
 * With single storage the arithmetic is single too, except for positions and the sums on the grid. */
#ifndef RP_ELASTOPLASTIC_SWEEP_H
#define RP_ELASTOPLASTIC_SWEEP_H

#include "elastoplastic/elastoplastic.h"
#include "grid/grid.h"

typedef struct rp__elastoplastic_sweep {
    const rp__grid *g;
    rp__particles *p;
    const rp__elastoplastic_step *step;
    int order;                 /* 2 or 3 */
    double *mass, *velocity[3]; /* nodes */
    /* FLIP: momentum without the stresses (velocity[] then has their part alone), later the velocity before the step; and the
     * part of a particle's own velocity that it keeps, v <- u + flip (v - u_before). NULL: APIC alone. */
    double *before[3], flip;
    double *moving[3];         /* particles: the velocity they move with; FLIP writes it, otherwise it is their own */
    double *value[4];          /* nodes: two for volumes; `mass`; the room there is (room.h) */
    double relax, since;       /* volumes: part of the way to the mean; time since the last time */
    unsigned char *left;       /* a byte a block: a particle of it is where its block does not reach */
    /* After the strain of the particles [begin, end) of a block; NULL: they move with `moving`. */
    void (*move)(void *context, int64_t block, int64_t begin, int64_t end);
    void *context;
} rp__elastoplastic_sweep;

/* Mass and momentum of the nodes, the impulse of the stresses included (FLIP: apart): transfer/transfer.h's to_grid (APIC) of
 * c_p - dt V0 tau / (m D). Blocks with left[b] != 0 give too little: sort and begin again. Particles are only read. */
void RP_D(rp__elastoplastic_scatter)(rp__elastoplastic_sweep *sweep);

/* Velocities and gradients of the particles, their strains, and their motion; fills left[]. */
void RP_D(rp__elastoplastic_gather)(rp__elastoplastic_sweep *sweep);

/* Means of logarithmic volume and gain (times mass) around the nodes; then the volumes of the particles, which have not moved
 * since the scatter, go the part `relax` of the way to them, and the packing has its say (rp__elastoplastic_settle). `mass` is that of the
 * scatter. Density is mass over the room there is, sum_j N_j m_j / sum_j N_j room_j, so that sand of one density has it beside walls and bodies
 * too. */
void RP_D(rp__elastoplastic_agree)(rp__elastoplastic_sweep *sweep);

#endif
