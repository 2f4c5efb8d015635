/* What a step has in hand, shared by the files of the step. Inside the room only. */
#ifndef RP_ELASTOPLASTIC_STATE_H
#define RP_ELASTOPLASTIC_STATE_H

#include "elastoplastic/collide.h"
#include "elastoplastic/fields.h"
#include "elastoplastic/implicit.h"

/* Particles and nodes that a thread takes at once. */
enum { RP_EP_PARTICLES = 2048, RP_EP_NODES = 4096 };

#define rp__elastoplastic_state RP_D(rp__elastoplastic_state)
typedef struct rp__elastoplastic_state {
    int dim;          /* first: the method reads it to choose between 2D and 3D */
    rp__grid grid;
    /* Nodes. In explicit steps they are in the scratch memory of the particles, which the sort has left by then. */
    double *mass, *velocity[3], *before[3], *mean;
    double *room;     /* explicit: that walls and bodies leave (room.h), when the velocities have done their work */
    double *nodes;    /* implicit: memory of these planes */
    int64_t node_capacity;
    rp__elastoplastic_law *laws;
    int first_field;
    double *kept[3];  /* FLIP: velocities of the particles before the transfer */
    int64_t kept_capacity;
    double unsmoothed;    /* time since volumes were last made to agree */
    double *theta;               /* implicit: logarithmic volumes */
    double *open;                /* and gains: scratch memory of the particles */
    int64_t theta_capacity;
    rp__elastoplastic_implicit implicit;
    unsigned char *left;         /* of each block: particles have gone from where its nodes reach */
    int64_t left_capacity;
    rp__elastoplastic_views views;
    double *clear;               /* of each node: the distance of the bodies that stand; NULL: there are none */
    int64_t clear_capacity;
    rp__elastoplastic_sight *sight; /* of each node, of one body at a time: scratch memory */
    int64_t sight_capacity;
    uint64_t clear_of;           /* which of them were present, as a number; 0: it must be found again */
    bool sorted;                 /* the grid holds the particles, `sorted_count` of them, none added since `sorted_id` */
    int64_t sorted_count, sorted_id, sorted_disturbed;
} rp__elastoplastic_state;

#define rp__elastoplastic_work RP_D(rp__elastoplastic_work)
typedef struct rp__elastoplastic_work {
    rp__elastoplastic_state *s;
    rp__world *world;
    rp__elastoplastic_step step;
    bool flip;               /* FLIP's change of velocity, with (keep_affine) or without the affine part of APIC */
    const double *moving[3]; /* the velocity of the grid at the particles */
    rp__particles *moved;    /* whose gradients the strain follows */
    bool smooths;            /* volumes are made to agree at the end of this step */
} rp__elastoplastic_work;

static inline double rp__elastoplastic_damping(const rp__elastoplastic_work *w)
{
    return 1 / (1 + w->step.dt * ((const rp__elastoplastic_params *)w->world->params)->damping);
}

/* step_dim.c: room for `needed` numbers and an eighth more, what was there is gone; a place for the planes of the nodes, for this
 * step alone; room for a velocity a particle. */
bool RP_D(rp__elastoplastic_make_room)(double **array, int64_t *capacity, int64_t needed);
rp_result RP_D(rp__elastoplastic_place_nodes)(rp__elastoplastic_state *s, rp__particles *p, bool flip, bool implicit);
rp_result RP_D(rp__elastoplastic_reserve_kept)(rp__elastoplastic_state *s, const rp__particles *p);

/* move_dim.c: moves the particles [begin, end) with w->moving, out of the way of bodies. block: the one they are in, when the
 * distances of the bodies that stand are known at its nodes; -1 otherwise. */
void RP_D(rp__elastoplastic_move)(const rp__elastoplastic_work *w, int64_t block, int64_t begin, int64_t end);

/* implicit_step_dim.c. */
rp_result RP_D(rp__elastoplastic_implicit_step)(rp__elastoplastic_work *w, int order, double *t, rp_step_stats *stats);

#endif
