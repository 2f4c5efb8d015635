/* What the files of pbd share.
 *
 * A step sorts the grains by cells (order.c), finds pairs and surfaces that may touch and gives them the forces of the step before
 * (pairs.c, surfaces.c), packs the pairs into lanes (lanes.c), sweeps (sweep.c with the kernel sweep_kernel.c) and moves the grains.
 *
 * Grains of one step are numbered in the order of their cells. Cells are cut into slabs across the slow axis, one or more layers
 * of cells thick, so that a pair lies in one slab or in two neighbours: the slabs are the unit of work. */
#ifndef RP_PBD_STATE_H
#define RP_PBD_STATE_H

#include "pbd/params.h"
#include "math/quat.h"
#include "sim/method.h"

enum { RP_PBD_LANES = 8, RP_PBD_SLAB = 256 /* grains a slab, at least */, RP_PBD_WINDOW = 32 /* groups of lanes that are filled at a time */ };

typedef float rp__pbd_real; /* of what a pair keeps; displacements are doubles */

/* Eight pairs that share no grain. Grain i is the later one, n points from j to i, l >= 0 is what pushes them apart and t, normal
 * to n, the friction on i: both in metres of relative displacement; inv = 1 / (w_i + w_j) turns them into w-scaled impulses. */
typedef struct rp__pbd_wide {
    int32_t i[RP_PBD_LANES], j[RP_PBD_LANES];
    int32_t pair[RP_PBD_LANES]; /* number of the pair; -1: the lane is empty */
    rp__pbd_real n[3][RP_PBD_LANES], gap[RP_PBD_LANES], l[RP_PBD_LANES], t[3][RP_PBD_LANES], mu[RP_PBD_LANES], inv[RP_PBD_LANES];
} rp__pbd_wide;

/* What a pair keeps for the next step; slipped ones have -l in place of l. */
typedef struct rp__pbd_force {
    rp__pbd_real l, t[3];
} rp__pbd_force;

/* The pairs of a step: those of grain k, whose partners come before it, are first[k] … + count[k]. */
typedef struct rp__pbd_table {
    int64_t grains;
    int32_t *count;
    int64_t *first;
    int32_t *partner;      /* j of the pairs */
    rp__pbd_force *force;  /* at the end of the step */
    int64_t grain_capacity, pair_capacity, force_capacity;
    int32_t room;          /* pairs a grain that slabs have room for */
} rp__pbd_table;

/* Contact of a grain with a surface: face f of the domain as number f, body b as 6 + b. Push and friction on the grain are in metres of
 * its own way: the force is m (l n + t) / h². */
typedef struct rp__pbd_touch {
    int32_t surface;
    int32_t grain;
    int32_t free;          /* number of the free body in the sweeps, or -1 */
    double n[3], g;        /* normal out of the surface; the approach that is allowed */
    double over;           /* overlap to be taken away in this step */
    double l, t[3];
    double mu;
    double s[3];           /* way of the surface in this step; of a free body: from its centre to the contact */
    double share[2];       /* w_i / (w_i + w_body), along n and across; 1 when the surface does not give way */
    double gap;            /* phi - r at the beginning */
} rp__pbd_touch;

/* Those of grain k: all[first[k]] … + count[k]. */
typedef struct rp__pbd_touches {
    int64_t grains;
    int64_t *first;
    int32_t *count;
    rp__pbd_touch *all;
    int64_t grain_capacity, capacity;
    int32_t room;          /* touches a grain that slabs have room for */
} rp__pbd_touches;

typedef struct rp__pbd_slab {
    int64_t begin, end;    /* its grains */
    int64_t layer[2];      /* its cells along the slow axis */
    int64_t groups[2];     /* lanes of the pairs within it and with the slab before: begin, end */
    int64_t touches[2];    /* of its grains: begin, end */
    double gap;            /* the least of its pairs at the beginning of the step [m] */
} rp__pbd_slab;

/* Groups of lanes that hold pairs of a grain: bit k stands for the group base + k. */
typedef struct rp__pbd_used {
    int32_t base;
    uint32_t mask;
} rp__pbd_used;

/* What a step knows of a body. */
typedef struct rp__pbd_body {
    bool there, rests;     /* rests: distances to it may be remembered */
    bool moves;            /* in this step */
    bool beaded;           /* made of beads: its level set touches nothing */
    bool matched;          /* of beads that are kept rigid */
    rp__quat match;        /* their turn in this step */
    int free;              /* number among the free ones with six unknowns, or -1 */
    double lower[3], upper[3]; /* where contacts with it may be */
    double w[36];          /* free: inverse mass × mean mass of grains, linear then angular */
    double d[6];           /* free: displacement and turn of the step [m, rad] */
    double alone[6];       /* without contacts */
} rp__pbd_body;

/* Balls that stand for bodies: along their surfaces (`boundary: particles`), or filling free ones that are kept rigid by matching their
 * shape (`body: shape_matching`). In a step they are grains; only those of matched bodies give way. */
typedef struct rp__pbd_beads {
    int64_t count, capacity;
    double (*local)[3];    /* from the body's centre, in its frame */
    double (*x)[3], (*u)[3]; /* in this step */
    double *mass;          /* 0: does not give way */
    int32_t *body, *slot;
    int64_t *first;        /* of each body, one more than there are */
    int bodies;
} rp__pbd_beads;

/* A contact with a free body: these are visited one after the other. */
typedef struct rp__pbd_loose {
    int64_t touch;
    int32_t grain;
} rp__pbd_loose;

typedef struct rp__pbd {
    const rp__pbd_params *par;
    double r, h, h_old;
    int dim, slot_field, clearance_field;
    /* grains in the order of cells */
    int64_t n, capacity;
    int32_t *order;        /* index in the store */
    int32_t *slot;         /* number in the step before, -1: new */
    int32_t *cell;         /* of the grains as they lie in the store */
    double (*x)[4];        /* place at the beginning of the step */
    double (*u)[4];        /* displacement, and w = mean mass / mass */
    double (*alone)[3];    /* displacement without contacts */
    double (*push)[4];     /* displacement that takes overlaps away, and w */
    float *place[6];       /* where it is and, from 3 on, where the step would bring it, from the origin of the cells */
    float *range;          /* r and how far it may come in this step: what is nearer than both ranges is looked at */
    double *sight;         /* how near a surface must be to be looked at */
    int32_t *home;         /* its cell */
    int32_t *owner;        /* body of a bead, -1: a grain */
    double *mass;
    int32_t *material;
    int64_t *id;
    double mean_mass;
    /* cells */
    int axis[3];           /* slow, middle (upright), fast */
    bool upward;           /* the middle axis points up */
    int64_t cells[3];      /* along these, with a rim of one */
    double origin[3], width;
    int32_t *cell_first;
    int64_t cell_capacity;
    rp__pbd_slab *slabs;
    int64_t slab_count, slab_capacity;
    /* contacts: of this step and of the one before */
    rp__pbd_table now, old;
    int32_t *before;       /* of the pairs of now: twice the number in old, one more when i and j changed places; -1: it is new */
    int32_t *lane;         /* of the pairs of now: 8 × group + lane */
    int64_t before_capacity, lane_capacity;
    rp__pbd_wide *wide;    /* the pairs of now in lanes */
    int64_t groups, wide_capacity;
    rp__pbd_touches touch, touch_old;
    rp__pbd_body *bodies;
    int64_t body_count, body_capacity;
    bool any_free, any_rest, any_matched;
    rp__pbd_beads beads;
    int32_t *bead_at;      /* their numbers in this step */
    int64_t bead_at_capacity;
    rp__pose *rested;      /* poses of the bodies at rest to which the clearances of grains belong */
    int64_t rested_capacity;
    int rested_count;
    rp__pbd_loose *loose;
    int64_t loose_count, loose_capacity;
    int64_t swept;         /* sweeps of this step */
    int64_t left_out;      /* pairs of this step beyond those that a grain may have */
    bool told;             /* that there were such */
    double *mu;            /* kinds × kinds: materials, then the surfaces of bodies made of beads */
    int kinds;
    int64_t mu_capacity;
    rp__pbd_used *used;    /* groups that grains are in, two for each */
    int64_t used_capacity;
    /* work of a sweep */
    int64_t *colour_first;
    int32_t *items;
    int64_t colour_capacity, item_capacity;
    double *residual;      /* a group of lanes: sum and largest change of the last sweep */
    int64_t residual_capacity;
    double (*shift)[4];    /* macklin and seed: sums of corrections, and their number */
    int64_t shift_capacity;
    double (*began)[4];    /* macklin and seed: places at the beginning */
    int64_t began_capacity;
} rp__pbd;

/* order.c: numbers the grains by cells of at least `width`, by the predicted places x + u; fills order, slot, x, u, mass, … */
rp_result rp__pbd_order(rp__pbd *s, rp__world *world, double width);

/* pairs.c: the pairs that may meet, and which they were in s->old. */
rp_result rp__pbd_find_pairs(rp__pbd *s);

/* surfaces.c: walls and bodies. */
rp_result rp__pbd_find_touches(rp__pbd *s, rp__world *world);

/* bodies.c */
rp_result rp__pbd_begin_bodies(rp__pbd *s, const rp__world *world);
rp__vec3 rp__pbd_body_way(const rp__pbd *s, const rp__body *body, rp__vec3 x); /* of its point at x, in this step */
void rp__pbd_loosen(const rp__pbd *s, int64_t grain, rp__pbd_touch *t);         /* sets the shares of a touch with a free body */
rp_result rp__pbd_list_loose(rp__pbd *s);
void rp__pbd_visit_loose(rp__pbd *s, bool warm);
double rp__pbd_surface_friction(const rp_surface *surface);
void rp__pbd_surface_forces(rp__pbd *s, rp__world *world);

/* beads.c */
rp_result rp__pbd_set_beads(rp__pbd *s, const rp__world *world);   /* samples the bodies that need it, once */
void rp__pbd_place_beads(rp__pbd *s, const rp__world *world);      /* where they are in this step */
rp_result rp__pbd_find_beads(rp__pbd *s);                           /* in the order of this step */
bool rp__pbd_is_matched(const rp__pbd *s, const rp__body *body);
void rp__pbd_match_shapes(rp__pbd *s);                             /* makes the displacements of matched bodies rigid again */
void rp__pbd_bead_forces(rp__pbd *s, rp__world *world);
void rp__pbd_free_beads(rp__pbd_beads *beads);

/* lanes.c: packs s->now into lanes, with their geometry and the forces of s->old. */
rp_result rp__pbd_pack(rp__pbd *s);
rp__vec3 rp__pbd_any_direction(const rp__pbd *s, int64_t i, int64_t j); /* from j to i when they lie in one point */
double rp__pbd_friction(const rp__pbd *s, int64_t i, int64_t j);

/* sweep.c */
rp_result rp__pbd_sweep(rp__pbd *s, int64_t sweeps, const volatile int *cancel, double residual[2]); /* sum and largest |Δl| of the last sweep */

/* energy.c */
bool rp__pbd_makes_energy(rp__pbd *s);
void rp__pbd_forget_excess(rp__pbd *s);

void rp__pbd_visit_touch(rp__pbd_touch *t, double u[4], bool warm, double relax); /* with a surface that does not give way */

/* sweep_kernel.c: groups [begin, end) of lanes on the displacements. Warm: what they carry is applied; else one visit each.
 * `residual`, when not NULL, gets for each group the sum and the largest of what changed, |Δl|. */
void rp__pbd_groups_warm(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4]);
void rp__pbd_groups_visit(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4], double *residual, rp__pbd_real relax);
/* Takes overlaps beyond `slop` away, on displacements p that are no speed. */
void rp__pbd_groups_push(const rp__pbd_wide *wide, int64_t begin, int64_t end, double (*p)[4], rp__pbd_real slop);
/* What they carry becomes a part of it. */
void rp__pbd_groups_scale(rp__pbd_wide *wide, int64_t begin, int64_t end, rp__pbd_real part);
/* What the pairs carry at the end, for the next step. */
void rp__pbd_groups_keep(const rp__pbd_wide *wide, int64_t begin, int64_t end, rp__pbd_force *to);
void rp__pbd_groups_warm_ref(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4]);
void rp__pbd_groups_visit_ref(rp__pbd_wide *wide, int64_t begin, int64_t end, double (*u)[4], double relax);

/* averaged.c: the laws of Macklin and of the seed. */
rp_result rp__pbd_averaged(rp__pbd *s, rp__world *world, double residual[2]);

/* memory.c: what a step leaves for the next. */
rp_result rp__pbd_save(const void *state, const rp__world *world, rp_state *out);
rp_result rp__pbd_restore(void *state, rp__world *world, const rp_state *in);

#endif
