/* What the files of this room share.
 *
 * Things that move are objects: grains (0 … grains - 1, in the order of the particles), free bodies, fibres. Their velocities stand in
 * one vector: six numbers a grain or body (velocity, angular velocity), 4 N + 3 a fibre. A contact between two of them, or between one
 * and a wall or scripted body, is a column block of H in
 *
 *   A v = f + H r,   u = Hᵀ v + w,   (u_i, r_i) in Coulomb's law with mu_i                                        [daviet2011, §2]
 *
 * with A = M for grains and bodies and A = M + (dt² + damping dt) K for fibres. */
#ifndef RP_CONTACT_STATE_H
#define RP_CONTACT_STATE_H

#include "collide/collide.h"
#include "rod/rod.h"
#include "sim/method.h"

#include <repose/friction.h>

typedef enum rp__contact_elements { RP_CONTACT_SPHERES, RP_CONTACT_CAPSULES } rp__contact_elements;
typedef enum rp__contact_sizes { RP_CONTACT_SAME, RP_CONTACT_UNIFORM, RP_CONTACT_GAUSSIAN, RP_CONTACT_SIEVE } rp__contact_sizes;

typedef struct rp__contact_params {
    int elements, sizes;
    double aspect, diameter, spread;
    char *sieve;
    double restitution, rolling_friction;
    double push, overlap;
    double tolerance, tolerance_max;
    int64_t max_iterations;
    int solver, local_solver;
    bool warm_start;
    int64_t passes;
    int64_t dump_problems, dump_every;
    char *dump_folder;
} rp__contact_params;

/* ---- grains ---- */

/* Fields that the method adds to the particles. */
enum { FIELD_RADIUS, FIELD_SPIN, FIELD_AXIS, FIELD_FIXED, FIELD_COUNT };

/* The grains of a step as arrays that belong to the particle store. A capsule of half length h has its axis along `axis`. */
typedef struct rp__contact_grains {
    int64_t count;
    double *x[3], *v[3], *spin[3], *axis[3], *radius, *mass;
    double *fixed;       /* 1: it stays where it is */
    int64_t *id;
    int32_t *material;
    double slenderness;  /* half length of the axis over the radius: aspect - 1; 0: spheres */
    int dim;
} rp__contact_grains;

rp__contact_grains rp__contact_grains_of(const rp__world *world, int first_field);
rp__collide_capsule rp__contact_capsule(const rp__contact_grains *g, int64_t i);
/* About the axis and across it. */
void rp__contact_inertia(const rp__contact_grains *g, int64_t i, double *along, double *across);
/* I⁻¹ a, and I a. */
rp__vec3 rp__contact_turn(const rp__contact_grains *g, int64_t i, rp__vec3 a);
rp__vec3 rp__contact_angular_momentum(const rp__contact_grains *g, int64_t i, rp__vec3 spin);
double rp__contact_grain_volume(double radius, double slenderness, int dim);

/* Radii, masses and axes of grains that are born, and room for them. */
rp_result rp__contact_born(const rp__world *world, int first_field, int64_t first, int64_t count, double spacing);
rp_result rp__contact_check_sieve(const char *sieve);

/* ---- fibres ---- */

typedef struct rp__contact_fibre {
    rp__rod *rod;
    const rp_fibres_def *def;
    double friction, damping;
    int64_t first;           /* of its velocities */
    int32_t item;            /* of its first segment among the boxes */
    double *factor;          /* of A in this step */
} rp__contact_fibre;

/* ---- contacts ---- */

enum { NOTHING = -1 };
enum { NAME_GRAIN = 1, NAME_SEGMENT, NAME_NODE, NAME_BODY, NAME_WALL };

/* A name that stays with a thing for the whole run. */
static inline uint64_t rp__contact_name(int kind, int64_t thing, int64_t part)
{
    return (uint64_t)kind << 60 | (uint64_t)thing << 20 | (uint64_t)part;
}

/* One side of a contact: an object, and where on it. */
typedef struct rp__contact_end {
    int32_t object;          /* NOTHING: it moves as it is told to */
    int32_t part;            /* of a fibre: edge, or node when place < 0 */
    double place;            /* on the edge, 0 … 1; -1: at the node itself */
    rp__vec3 arm;            /* rigid: from its centre to the contact; fibre: from its axis */
} rp__contact_end;

typedef struct rp__contact_candidate {
    rp__collide_key key;
    rp__contact_end end[2];
    rp__vec3 normal;         /* from end 1 to end 0 */
    rp__vec3 along;          /* first tangent, not yet perpendicular to the normal; 0: any */
    rp__vec3 surface;        /* velocity of a surface that moves as told */
    double gap, size, mu, restitution;
    int32_t body, wall;      /* that feels the impulse; -1: none */
    int64_t side;
    int64_t contact;         /* its number in the problem; -1: it is not in it */
} rp__contact_candidate;

enum { RP__CONTACT_ROWS = 11 }; /* of a node of a fibre: itself, its neighbours and the edges between them */

/* The part of H and Y = A⁻¹ H of one end: `rows` numbers from velocity `first` on for H, `y_rows` from `y_first` on for Y, three columns each. */
typedef struct rp__contact_column {
    int64_t first, y_first, y; /* y: place in the pool */
    int32_t rows, y_rows, object;
    double h[RP__CONTACT_ROWS][3];
} rp__contact_column;

/* A contact of spheres (discs) with each other or with what moves as told. With the arms -r n and + r n of its ends everything is in the
 * axes n, t and n×t:  u_N = n·dv,  u_t = t·dv - (n×t)·s,  u_(n×t) = (n×t)·dv + t·s,  s = r_a omega_a + r_b omega_b. */
typedef struct rp__contact_ball {
    rp__vec3 n, t;
    double radius[2], softness[2]; /* 1 / mass; 0 of an end that moves as told */
} rp__contact_ball;

/* Rolling friction of a contact: the moment is `radius` times the last components of r; `turn` is radius × I⁻¹ of each end. */
typedef struct rp__contact_rolling {
    double radius, turn[2][9];
} rp__contact_rolling;

typedef struct rp__contact_system {
    int dim;                       /* of space: components of an impulse */
    int width;                     /* numbers a contact: with rolling friction its moment too */
    int64_t objects, size;         /* velocities */
    int64_t *object_first;         /* of an object's velocities; objects + 1 */
    double *free_velocity, *velocity, *product;
    double *shift;                 /* velocities that take overlaps away within the step and are then gone */
    /* contacts */
    int64_t count, capacity;
    int64_t *candidate;            /* of a contact */
    bool *is_new;                  /* it came in this pass: it has no impulse yet */
    rp__vec3 (*axis)[3];
    int32_t (*object)[2];          /* of the ends of a contact */
    bool *is_ball;
    rp__contact_ball *ball;        /* of contacts that are of spheres; of the others a column an end */
    double turning;                /* of spheres: m r² / I */
    rp__contact_column (*column)[2];
    double *pool;                  /* Y */
    int64_t pool_size, pool_capacity;
    double *diagonal, *b, *mu, *r, *u, *w;
    int64_t *record;               /* of the memory, with which a contact begins; -1: none */
    double *rolling;               /* coefficients; used when width > dim */
    rp__contact_rolling *roll;
    /* contacts of an object: touching[touch_first[o] … touch_first[o + 1]) is 2 × contact + end */
    int64_t *touch_first, *touching;
    int colors;
    int64_t *color_first;
    int32_t *color_items;
    /* W by blocks, when that is shorter than Y (blocks.c) */
    bool by_blocks;
    int64_t *block_first;
    int32_t *block_column;
    double *block;
    int64_t capacities[32];
} rp__contact_system;

/* Room for `count` elements in an array of the system; its capacity is one of the list. */
#define RP__CONTACT_GROW(y, member, slot, count) rp__base_grow(&(y)->member, &(y)->capacities[slot], (count) + 1, sizeof *(y)->member)

typedef struct rp__contact_state {
    const rp__contact_params *params;
    int first_field, dim;
    rp__collide_grid *grid;
    rp__contact_fibre *fibres;
    int64_t fibre_count, segments;
    int64_t *segment_fibre;        /* of a segment */
    rp__collide_box *boxes;
    int64_t box_capacity;
    rp__contact_candidate *candidates;
    int64_t candidate_count, candidate_capacity;
    rp__collide_record *memory;    /* sorted by key */
    int64_t memory_count, memory_capacity;
    rp__contact_system system;
    rp__pose *root_before;         /* of bodies with roots, at the beginning of the step */
    int64_t dumped, steps;
    /* of the last step */
    int64_t missed;
    double deepest, overlap_sum;
    int64_t overlaps;
    double *polyline;              /* what fibres look like, for output */
    int64_t polyline_capacity;
} rp__contact_state;

/* ---- the parts of a step ---- */

rp_result rp__contact_find(rp__contact_state *s, rp__world *world, double dt);                 /* find.c: candidates */
rp_result rp__contact_find_bodies(rp__contact_state *s, const rp__world *world, double dt);     /* bodies.c: of bodies with each other and walls */
rp_result rp__contact_add(rp__contact_state *s, const rp__contact_candidate *c);
rp_result rp__contact_prepare(rp__contact_state *s, rp__world *world, double dt);              /* system.c: velocities without contacts */
rp_result rp__contact_activate(rp__contact_state *s, const rp__world *world, double dt, bool first, int64_t *added);
/* New contacts begin with what they had in the last step; impulses of the others stay as they are. */
rp_result rp__contact_assemble(rp__contact_state *s, const rp__world *world, double dt);
rp_result rp__contact_order(rp__contact_state *s); /* order.c: contacts by colours, and who touches what */
rp_result rp__contact_solve(rp__contact_state *s, rp__world *world, double dt, rp_step_stats *stats); /* solve.c */
rp_result rp__contact_dump(const rp__contact_state *s, const rp__world *world, double dt, const char *path); /* dump.c */
/* operator.c: what H and Y = A⁻¹ H do. u = Hᵀ v of contact i; v += Y r of end e; v = Y r of all; the last two as the friction library calls. */
void rp__contact_pull(const rp__contact_system *y, int64_t i, const double *velocity, double *u);
void rp__contact_push(const rp__contact_system *y, int64_t i, int e, const double *r, double *velocity);
void rp__contact_apply(const rp__contact_system *y, const double *r, double *velocity);
void rp__contact_set_operator(rp__contact_system *y, rp_friction_operator_def *def);
/* w += H_aᵀ Y_b over the rows that both have (system.c). */
void rp__contact_add_block(const rp__contact_system *y, const rp__contact_column *a, const rp__contact_column *b, double *w);
/* blocks.c: W by blocks where that is shorter; the problem with W as it is held. */
rp_result rp__contact_make_blocks(rp__contact_system *y);
rp_result rp__contact_make_problem(rp__contact_system *y, rp_friction **problem);
/* roll.c: whether rolling friction acts at contact i; its radius, softnesses and coefficient. */
void rp__contact_set_rolling(rp__contact_state *s, const rp__contact_grains *g, int64_t i);
void rp__contact_roll_told(rp__contact_state *s, const rp__world *world, int64_t i);
/* The columns of a contact, also of one of spheres, without its Y. */
void rp__contact_set_columns(const rp__contact_state *s, int64_t i, rp__contact_column column[2]);
double rp__contact_closing(const rp__contact_state *s, const rp__world *world, const rp__contact_candidate *c, const double *velocity);
void rp__contact_free_system(rp__contact_system *y);

/* fibres.c */
rp_result rp__contact_make_fibres(rp__contact_state *s, const rp__world *world);
void rp__contact_free_fibres(rp__contact_state *s);
rp_result rp__contact_save_fibres(const rp__contact_state *s, rp_state *out);
rp_result rp__contact_restore_fibres(rp__contact_state *s, const rp_state *in);
rp_result rp__contact_view_fibres(void *state, const rp__world *world, rp_fibres_view *view);

static inline bool rp__contact_is_fibre(const rp__contact_state *s, int64_t object)
{
    return object >= s->system.objects - s->fibre_count;
}
static inline const rp__contact_fibre *rp__contact_fibre_of(const rp__contact_state *s, int64_t object)
{
    return &s->fibres[object - (s->system.objects - s->fibre_count)];
}

#endif
