/* The discrete system of one step, in the layout of the grid's blocks. Compiled for RP_DIM.
 *
 * Velocities live at the nodes, stresses at the nodes (`stress: node`) or in the cells (`stress: cell`; cell n has the index
 * of its lowest node). Everything is indexed by node as grid.h says: block * RP_BLOCK_NODES + local.
 *
 *   momentum   u_j = u*_j + (dt / m_j) sum_i chi(lambda_i - c_i e_N) g_ij         [daviet2016, (21)]
 *   strain     gamma_i = chi^-1(sum_j sym(u_j (x) g_ij)) + k_i e_N
 *   law        (lambda_i, gamma_i) in Coulomb's law with mu_i, one cone a stress in dimension NS_S
 *
 * While the solver runs, velocities and operator are scaled by s_j = sqrt(dt / m_j): w_j = u_j / s_j, h_ij = s_j g_ij, so that
 * sym(u (x) g) = sym(w (x) h) and w_j += chi(dlambda_i) h_ij needs no mass. Nodes that stick to a wall have w_j = 0. */
#ifndef RP_NONSMOOTH_SYSTEM_H
#define RP_NONSMOOTH_SYSTEM_H

#include "body/body.h"
#include "grid/grid.h"
#include "nonsmooth/closure.h"
#include "nonsmooth/params.h"
#include "particles/particles.h"
#include "sim/method.h"

#define NS(name) RP_D(rp__nonsmooth_##name)
#define NS_INLINE static inline __attribute__((always_inline))

enum {
#if RP_DIM == 2
    NS_S = 3,           /* numbers a symmetric tensor */
    NS_CORNERS = 4,     /* nodes a cell */
    NS_STENCIL = 9,     /* velocity nodes around a stress node */
    NS_TILE = 36,       /* nodes of a block and one layer around it */
    NS_BERNSTEIN = 9,
#else
    NS_S = 6,
    NS_CORNERS = 8,
    NS_STENCIL = 27,
    NS_TILE = 216,
    NS_BERNSTEIN = 27,
#endif
    NS_T = NS_S - 1,
    NS_SIDES = 8,       /* contacts of a node with one body at most */
    NS_TILE_SIDE = 6,
    NS_PAD = 4,         /* doubles a velocity: one vector register */
    NS_CELL = NS_BERNSTEIN + 2,
    NS_SUMS = 5
};

/* Tr chi(r) = NS_TRACE r_N; mu = NS_CONE mu^; c I has the coefficient NS_COHESION c. */
#if RP_DIM == 2
#define NS_TRACE 2.0
#define NS_CONE 1.0
#define NS_COHESION_N 1.0
#else
#define NS_TRACE 2.44948974278317809820
#define NS_CONE 0.81649658092772603273
#define NS_COHESION_N 1.22474487139158904910
#endif

typedef double ns_four __attribute__((vector_size(32)));

/* W_ii of a stress depends on G = sum_j (dt / m_j) g_ij g_ij^T alone: W lambda = chi^-1(sym(chi(lambda) G)). In the frame of
 * the eigenvectors of G it is diagonal but for the coupling of the trace with the diagonal deviators: what is left is one
 * 2 x 2 rotation (3D). Coefficients of stresses are kept in that frame while the solver runs. */
typedef struct ns_frame {
    double r[RP_DIM * RP_DIM];  /* columns: eigenvectors of G */
    double s[NS_T];             /* eigenvalues of the Schur complement of W_NN, diagonal deviators first */
    double a[RP_DIM - 1];       /* W_TN / W_NN, not zero only for the diagonal deviators */
    double nn;                  /* W_NN */
#if RP_DIM == 3
    double cs, sn;              /* of the rotation of the two diagonal deviators */
#endif
    double alpha;               /* the last root */
} ns_frame;

/* The same for laws without such a frame; see wide.h. */
typedef struct ns_wide {
    double e[NS_T * NS_T];      /* gamma~_T = e gamma_T, lambda_T = e^T lambda~_T */
    double s[NS_T], a[NS_T], nn, alpha;
} ns_wide;

typedef enum ns_law_kind {
    NS_LAW_ISOTROPIC,           /* exact cone, the same in all directions */
    NS_LAW_ANISOTROPIC,         /* exact cone, changed by the orientation of the grains */
    NS_LAW_LINEARISED           /* each coefficient with its own bound */
} ns_law_kind;

typedef struct ns_stress {
    double lambda[NS_S];        /* present value, in the frame */
    double previous[NS_S];      /* before the last sweep, for the extrapolation */
    double k, mu, cohesion;     /* gap, friction of the cone, c in the normal coefficient */
    double weight;              /* of the residual when the solver decides: how full, how near rest */
} ns_stress;

/* A contact of grains with a wall or a body: Coulomb's law in dimension RP_DIM between the impulse and the relative velocity at
 * one place: a node on a wall, or the part of a body's surface in a cell, where the velocity is a mean of those of the corners. */
typedef struct ns_contact {
    int64_t node;               /* of a wall; the lowest of the cell of a body's surface */
    int32_t surface;            /* face 0 … 5, or 6 + body */
    int32_t side;               /* several at one place: both faces of a sheet, the faces at an edge */
    int32_t free_body;          /* body index when its velocity takes part in the solve, else -1 */
    int32_t count;              /* nodes: 1 or NS_CORNERS */
    double share[NS_CORNERS];   /* N_j s_j, N_j its mean over the place: the velocity is sum_j share_j w_j, an impulse p adds share_j p / dt to w_j */
    double mass;                /* dt / sum_j share_j^2 */
    double place[3];
    double normal[3];           /* out of the wall or body, into the grains */
    double target[3];           /* velocity of the surface (without the free part) */
    double gap;                 /* d / dt that may still be closed */
    double mu, adhesion;        /* adhesion as an impulse */
    double impulse[3];          /* on the grains, without adhesion */
    double previous[3];
} ns_contact;

/* A particle near a body, and where it would touch it. */
typedef struct ns_touch {
    int64_t node;               /* the lowest of the cell of the place */
    int32_t body;
    double weight, gap, volume; /* volume of the packed material */
    double place[3], normal[3];
    double share[NS_CORNERS];   /* N_j at the place */
} ns_touch;

/* Stresses, impulses and velocities at one moment of the solve, to come back to. */
typedef struct ns_iterate {
    int64_t stress_room, velocity_room, impulse_room, body_room; /* numbers that there is room for */
    double *lambda, *u, *impulse, *body;
    double merit;               /* its residual in units of what is asked for */
} ns_iterate;

/* Sums at the nodes of what particles bring. */
enum { NS_MASS, NS_MOMENTUM /* RP_DIM of them */ };

typedef struct ns_system {
    rp__lattice lattice;
    rp__grid grid;
    const rp__nonsmooth_params *params;
    int first_field;
    bool stress_cell;
    int stencil;                /* velocity nodes of a stress: NS_STENCIL or NS_CORNERS */
    ns_law_kind law;            /* of this step */
    bool oriented;              /* particles have an orientation */
    bool varied;                /* several materials, mu(I) or cohesion: friction differs from place to place */

    int64_t node_capacity;      /* of the arrays below */
    double *mass;               /* node */
    double *u;                  /* node, NS_PAD: momentum, then velocity u*, then w, then u again */
    double *before;             /* node, NS_PAD: w before the last sweep */
    double *older;              /* node, NS_PAD: for the viscosity; then velocities that carry the particles */
    double *unstressed;         /* node, NS_PAD: u before the stresses act */
    double *other;              /* node, NS_PAD: for the viscosity, made when there is some */
    double stiffness[NS_CORNERS * RP_DIM * NS_CORNERS * RP_DIM]; /* of the viscosity in a cell of size and eta V one */
    double *scale;              /* node: s_j */
    double *volume;             /* stress: sum V N_i */
    double *bulk;               /* stress: sum V N_i / phi_max */
    double *friction;           /* stress: sum V mu^ N_i, then (varied) */
    double *cohesion;           /* stress: sum V c N_i */
    double *loose;              /* stress: sum V s N_i */
    double *viscous;            /* cell (index of its lowest node): sum V eta */
    double *room;               /* stress: integral of N_i over the domain less the bodies */
    double *cell;               /* cell, NS_CELL: sums of Bernstein polynomials, volume, volume / phi_max */
    double *g;                  /* stress, stencil, RP_DIM; scaled to h while the solver runs */
    ns_frame *frame;
    ns_wide *wide;              /* stress: in place of the frame when the law needs it; made then */
    double *full;               /* stress: W~, linearised law only */
    double *orientation;        /* stress, NS_S: sum V alpha nu N_i, made when particles have an orientation */
    ns_stress *stress;
    unsigned char *stick;       /* node: glued to a wall (face + 1) */
    uint64_t *active;           /* block: bits of the stresses in use */
    uint64_t *awake;            /* block: those of them that sweeps visit just now */
    unsigned char *quiet;       /* block: pairs of sweeps that it is still left out of */
    unsigned char *masked;      /* block: its tile has a stuck node */
    unsigned char *aliased;     /* block: a node appears twice in its tile (periodic, one block wide) */
    double *partial;            /* block, NS_SUMS: sums of the solver */

    bool cut_any;               /* a body is near some block; else the next are not set */
    int64_t cut_blocks, cut_capacity;
    uint64_t *cut, *cut_near;   /* block: cells that bodies cut or fill; bodies near */
    int64_t *cut_first;         /* block: place of its first cell in cut_moment */
    double *cut_moment;         /* cell, NS_BERNSTEIN: integrals over the part outside bodies, in units of the cell */

    int64_t contact_count, contact_capacity;
    ns_contact *contacts;       /* sorted by node */
    int64_t *contact_first;     /* block + 1 */
    int64_t free_count, free_capacity;
    int64_t *free_contact;      /* indices of those with free bodies */
    int32_t *node_contact;      /* cell: the last of its contacts while they are found, else -1 */
    int64_t touch_capacity, touch_blocks;
    ns_touch *touches;
    int64_t (*touch_range)[2];  /* block: first, count */
    uint64_t *touch_near;       /* block: bodies near */
    int64_t block_capacity;

    int32_t tile_neighbour[NS_TILE], tile_local[NS_TILE];
    int32_t offset[NS_STENCIL]; /* of the stencil in the tile */

    /* Stresses of the last step by lattice coordinates: the warm start. Coefficients of chi, pascals. */
    int64_t warm_count, warm_capacity;
    int32_t (*warm_node)[3];
    double *warm_stress;        /* NS_S each */
    int64_t warm_contact_count, warm_contact_capacity;
    int32_t (*warm_contact_node)[4]; /* and the surface */
    double *warm_contact;       /* 3 each */

    double *body_velocity;      /* 6 a body: linear, angular, while the solver runs */
    double *body_before;
    double *body_inverse;       /* 36 a body */
    int body_capacity;

    ns_iterate start, best;     /* of the solve */

    double stress_scale;        /* rho (g L + u^2) */
    double strict;              /* factor of the tolerances: rho (g min(L, 4 h) + u^2) over the typical stress */
    double most_cohesion;       /* of the materials */
    double fall;                /* g L */
    double skin;                /* rho g h: the weight of a layer one cell thick */
    double slow;                /* neighbours that slide past each other more slowly than this are near rest */
    unsigned char *remove;
    int64_t remove_capacity;
    int64_t steps;
    int64_t settled;            /* steps since there was nothing to start from */
    int64_t born_count;         /* particles made so far, and their volume: the mean decides about splitting */
    double born_volume;

    rp_field_view views[8];
    double *view_data;
    int64_t view_capacity, view_nodes;
    double last_dt;
} ns_system;

/* Place in a cell kept off its faces by a hair: on a face a node would have gradient but no mass. Every use agrees. */
static inline double ns_inside(double t)
{
    return t < 1e-7 ? 1e-7 : t > 1 - 1e-7 ? 1 - 1e-7 : t;
}

/* What the solver tells. */
typedef struct ns_report {
    int64_t iterations, stresses, take_off, stick, slide;
    double residual_mean, residual_max;
    bool converged;
} ns_report;

static inline double *ns_velocity(const ns_system *y, int64_t node)
{
    return y->u + NS_PAD * node;
}

/* Part of the full volume around a stress. */
static inline double ns_fill(const ns_system *y, int64_t i)
{
    double fill = y->bulk[i] / pow(y->lattice.h, RP_DIM);
    return fill < 1 ? fill : 1;
}

/* Index of the block around `block` that holds tile coordinate parts; see tile_neighbour. */
static inline int64_t ns_tile_node(const ns_system *y, int64_t block, int tile)
{
    int64_t b = y->grid.neighbour[block][y->tile_neighbour[tile]];
    return b < 0 ? -1 : b * RP_BLOCK_NODES + y->tile_local[tile];
}

/* Tile index of the local node of the block itself. */
static inline int ns_tile_of_local(int local)
{
    int i = local & 3, j = local >> 2 & 3, k = local >> 4;
#if RP_DIM == 2
    (void)k;
    return (j + 1) * NS_TILE_SIDE + i + 1;
#else
    return ((k + 1) * NS_TILE_SIDE + j + 1) * NS_TILE_SIDE + i + 1;
#endif
}

/* Offset in the tile of corner k of a cell. */
static inline int ns_corner(int k)
{
    return (k & 1) + NS_TILE_SIDE * ((k >> 1 & 1) + NS_TILE_SIDE * (k >> 2));
}

/* nonsmooth.c: whether the particles of a definition have an orientation. */
bool rp__nonsmooth_oriented(const rp_sim_def *def);

/* system_dim.c */
rp_result NS(reserve)(ns_system *y);
rp_result NS(reserve_law)(ns_system *y);
void NS(release)(ns_system *y);

/* assemble_dim.c: mass, momentum, volumes, averages, room and g from the particles. */
void NS(assemble)(ns_system *y, const rp__world *world);
void NS(assemble_ref)(ns_system *y, const rp__world *world);

/* room_dim.c: cells that bodies cut, before the assembly; the integral of N_i over the domain less the bodies, after it. */
rp_result NS(cut_cells)(ns_system *y, const rp__world *world);
void NS(room)(ns_system *y, const rp__world *world);

/* viscosity_dim.c: (M/dt + A) u* = M/dt u + M g. Returns the iterations. */
void NS(make_stiffness)(ns_system *y);
rp_result NS(viscosity)(ns_system *y, int64_t *iterations);

/* coupled_dim.c: friction and viscosity at once; u is what NS(viscosity) left. */
rp_result NS(solve_coupled)(ns_system *y, const rp__world *world, double dt, ns_report *report, int64_t *rounds);

/* touch_dim.c: contacts with bodies, appended to those with walls. */
rp_result NS(find_touches)(ns_system *y, const rp__world *world, double dt);
ns_contact *NS(append_contact)(ns_system *y);

/* contact_dim.c */
rp_result NS(find_contacts)(ns_system *y, const rp__world *world, double dt);
void NS(stick_momentum)(const ns_system *y, rp__world *world, double dt);
void NS(stick_forces)(const ns_system *y, rp__world *world);
rp_result NS(report_contacts)(ns_system *y, rp__world *world, double dt);

/* prepare_dim.c: gaps, frictions, scaling, frames, warm start. */
rp_result NS(prepare)(ns_system *y, const rp__world *world, double dt);
void NS(make_frames)(ns_system *y, double dt);
rp_result NS(keep_warm)(ns_system *y);

/* solver_dim.c: u and lambda. */
rp_result NS(solve)(ns_system *y, const rp__world *world, double dt, ns_report *report);

/* iterate_dim.c: a state of the solve kept and taken up again (with nothing to extrapolate from). */
rp_result NS(reserve_iterates)(ns_system *y);
void NS(keep_iterate)(const ns_system *y, ns_iterate *to, double merit);
void NS(take_iterate)(ns_system *y, const ns_iterate *from);
void NS(release_iterate)(ns_iterate *iterate);

/* work_dim.c: velocities before the stresses act, kept; power taken by friction, -sum lambda_T : gamma_T [W], and the work of the stresses
 * over the step [J]: what they add to the kinetic
 * energy, less than zero but for rounding and the tolerance. */
void NS(keep_unstressed)(ns_system *y);
void NS(work)(const ns_system *y, double dt, double *dissipated, double *made);

/* dump_dim.c: the problem as it stands before the solve, to a file. */
rp_result NS(dump_problem)(ns_system *y, const rp__world *world, double dt);

/* library_dim.c: stresses and impulses to start from, by a solver of the friction library. */
rp_result NS(solve_library)(ns_system *y, const rp__world *world, double dt, int64_t *iterations);

/* volume_dim.c: the over-packed part; rate of shear (and of all strain) at a stress before the solve; div u that dilatancy asks for;
 * velocities that carry the particles. */
double NS(volume_error)(ns_system *y);
double NS(shear_at)(const ns_system *y, int64_t block, int local, double *strain);
double NS(dilation_at)(const ns_system *y, int64_t block, int local, double mu, double shear, double dt);
const double *NS(calm)(ns_system *y);

/* smooth_dim.c: `count` values a stress, at a distance of `stride`, without the part that alternates from node to node. Both arrays are used;
 * returns the one that holds the answer. */
double *NS(smooth)(const ns_system *y, double *values, double *scratch, int count, int64_t stride);

/* advect_dim.c */
void NS(bounds)(const ns_system *y, const rp__world *world, double *low, double *high);
void NS(to_particles)(ns_system *y, const rp__world *world, double dt);

/* orientation_dim.c: nu of new particles; the averages at stresses; nu one step on. */
void NS(orient_born)(ns_system *y, const rp__world *world, int64_t first, int64_t count);
rp_result NS(gather_orientation)(ns_system *y, const rp__world *world);
void NS(turn)(ns_system *y, const rp__world *world, double dt);

/* split_dim.c */
/* F with its semi-axes between `low` and `high`. */
void NS(clamp_ellipsoid)(double *f, double low, double high);
rp_result NS(split_and_merge)(ns_system *y, const rp__world *world, int64_t *split, int64_t *merged);

/* fields_dim.c */
rp_result NS(grid_fields)(ns_system *y, const rp_field_view **views, int *count, int64_t *nodes);

/* step_dim.c: what nonsmooth.c calls. */
rp_result NS(create)(rp__world *world, int first_field, void **state);
ns_law_kind NS(law_of)(const ns_system *y, const rp__world *world);
bool NS(is_viscous)(const rp__world *world);
void NS(destroy)(void *state);
rp_result NS(step)(void *state, rp__world *world, double dt, rp_step_stats *stats);
rp_result NS(save)(const void *state, rp_state *out);
rp_result NS(restore)(void *state, const rp_state *in);
rp_result NS(node_fields)(void *state, const rp_field_view **views, int *count, int64_t *nodes);

#endif
