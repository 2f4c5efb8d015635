/* `stress: dual`: velocities in quadratic B-splines, one constant stress for each dual cell. Compiled for RP_DIM. docs/dual.md.
 *
 * The dual cell of a node is the cube of one cell around it: its particles are those whose nearest node it is. All of their nodes are the
 * 3^d around it, so a stress has the index of the lowest of these, the base node of its particles: everything it needs lies in the block of
 * that node and the blocks after it, and its particles are in that block.
 *
 *   momentum   u_j = u*_j + (dt / m_j) sum_i chi(lambda_i - c_i e_N) g_ij,     g_ij = sum_p V_p grad N_j(x_p) over the dual cell i
 *   strain     gamma_i = chi^-1(sum_j sym(u_j (x) g_ij)) + k_i e_N
 *   law        (lambda_i, gamma_i) in Coulomb's law with mu_i
 *
 * Node velocities are kept as four numbers, the last of which is dt / m_j. */
#ifndef RP_NONSMOOTH_DUAL_H
#define RP_NONSMOOTH_DUAL_H

#include "body/meet.h"
#include "nonsmooth/dual_lanes.h"
#include "nonsmooth/local.h"
#include "nonsmooth/system.h"
#include "nonsmooth/wide.h"

#define DU(name) RP_D(rp__nonsmooth_dual_##name)

enum {
    DU_CENTRE = RP_DIM == 3 ? 13 : 4, /* of the stencil: the node of the dual cell */
    DU_SIDES = 256,             /* contacts of a dual cell with one surface; more cannot be (touch_at) */
    DU_TIE = 100,               /* surfaces from here on: ties, of walls, of bodies */
    DU_OUTSIDE = 100            /* … and of nodes outside the free surface */
};

typedef struct du_nodes {
    double *mass;               /* sum m_p N_j */
    double *bulk;               /* sum V_p / phi_max N_j */
    double *room;               /* integral of N_j over the domain less the bodies */
    double *momentum[3];        /* planes, as the transfer takes them */
    double *after[3];           /* planes: velocities at the end of the step */
    double *u;                  /* four a node: velocity while the solver runs, dt / m */
    double *previous;           /* four a node: u before the last sweep */
} du_nodes;

/* What the particles of a dual cell bring. */
typedef struct du_sum {
    double volume, bulk, mass, friction, cohesion, looseness, viscosity; /* the last four times V */
    int64_t count, first;       /* particles */
} du_sum;

/* The room of a dual cell: what lies in the domain and outside bodies. */
typedef struct du_room {
    double volume;
    double n[NS_STENCIL];           /* integral of N_j */
    double g[NS_STENCIL * RP_DIM];  /* integral of grad N_j */
} du_room;

typedef struct du_stress {
    double lambda[NS_S];        /* in the frame (ns_wide: in its coefficients), cohesion added */
    double viscous[NS_S];       /* -ratio × strain: the viscous stress, in the frame (ns_wide: coefficients of chi) */
    double ratio;               /* eta / volume */
    double k, mu, cohesion, apex;
    double weight;              /* of its residual: how much of a full dual cell it has, what its stress pushes with */
    double strict;              /* and how much more it counts at rest */
    double calm;                /* 1 at rest, 0 where it is strained */
    double full;                /* theta: 1 where the operator is that of the full room */
    double constant;            /* > 0: g is this times the stencil of a full dual cell */
    double volume;              /* of the grains, as g has it */
    double pressed;             /* lambda_N + apex above this: grains touch */
    bool touch;                 /* its grains touch: no gap to close first */
    double strain[2];           /* after the solve: rate of the volume, shear rate */
    double bend;                /* after the solve: what the law added to the strain, so that it is the volume at the end of the step (du_bend) */
} du_stress;

/* Contact of grains with a wall or a body: Coulomb's law on the velocity at one place, that of a node in or on the body or of a particle
 * near it. Or the tie of a node that has no stress of its own to the two before it: u_-1 - 2 u_0 + u_1 = 0 (dual_tie_dim.c). */
typedef struct du_contact {
    int64_t key;                /* node, or stress of the particle */
    int32_t surface;            /* face 0 … 5, or 6 + body; DU_TIE + either, or + DU_OUTSIDE */
    int32_t side;               /* of a tie: axis and direction */
    int32_t free_body;          /* or -1 */
    int32_t count;              /* nodes */
    int32_t at[NS_STENCIL];     /* their places in the tile of the block */
    double share[NS_STENCIL];   /* the velocity is sum share_j u_j */
    double mass;                /* 1 / sum share^2 / m_j */
    double place[3], normal[3], target[3];
    double gap, mu, adhesion;   /* gap: d / dt that may still be closed; adhesion as an impulse */
    double strict;              /* how much more its residual counts: as that of the dual cell */
    double impulse[3], previous[3];
} du_contact;

typedef struct du_contacts {
    du_contact *list;           /* by block */
    int64_t count, capacity;
    int64_t *first;             /* block + 1 */
    int64_t *free;              /* those with free bodies */
    int64_t free_count, free_capacity;
    double *body_velocity, *body_previous, *body_inverse; /* 6, 6, 36 a body */
    int body_capacity;
    rp__body_meetings meetings; /* of free bodies with what is not grains */
} du_contacts;

typedef struct du_warm {
    int64_t count, capacity;
    double *place;              /* 3 each: lattice coordinates of the base node, and the way that the grains went since */
    double *stress;             /* NS_S each: coefficients of chi, without cohesion */
    double *viscous;            /* NS_S each: the viscous part, which is not in `stress` */
    int64_t contact_count, contact_capacity;
    double *contact_place;      /* 6 each: place in cells as carried, normal */
    int32_t (*contact_side)[2]; /* surface, side */
    double *contact;            /* 3 each: force */
    double *nearest;            /* scratch of the start: contact, distance of the one it starts from */
    int64_t nearest_capacity;
} du_warm;

typedef struct du_best {        /* iterate with the least residual, kept when the solve takes long */
    double residual, largest;   /* mean and largest of that state, in units of `scale` */
    double scale;
    double *u, *lambda, *impulse, *body; /* lambda: by slots of the lanes */
    int64_t capacity, contact_capacity;
} du_best;

typedef struct dual {
    rp__lattice lattice;
    rp__grid grid;
    const rp__nonsmooth_params *params;
    ns_grains *upkeep;          /* what the room keeps of particles: birth, splitting, merging */
    int first_field;
    bool trilinear;             /* `stress: node`: the elements of the paper, see trilinear_dim.c */
    int64_t block_capacity;
    du_nodes nodes;
    du_sum *sum;                /* stress */
    int32_t *cut;               /* stress: place in `rooms` of a dual cell that walls or bodies cut, else -1; -2: no room */
    du_room *rooms;
    int64_t room_count, room_capacity;
    uint64_t *near;             /* block: bodies near */
    int8_t *outer;              /* node outside the free surface: the way to the two that it goes on from, 0 … NS_STENCIL - 1; else -1 */
    double *g;                  /* stress, NS_STENCIL, RP_DIM */
    ns_frame *frame;            /* stress */
    ns_wide *wide;              /* stress: in place of the frame when the law is not isotropic */
    double *full, *plain;       /* stress, NS_S × NS_S: W~ of the linearised law, W of viscous grains whose law is not isotropic */
    double *orientation;        /* stress, NS_S: sum V alpha nu of its particles, when they have an orientation */
    int64_t wide_capacity, full_capacity, plain_capacity, orientation_capacity;
    ns_law_kind law;            /* of this step */
    bool viscous;               /* some grains are, in this step */
    du_stress *stress;
    uint64_t *active;           /* block: bits of the stresses in use */
    double *partial;            /* block, DU_SUMS: sums of the solver */
    double *pressed;            /* block: its pressure at the last look of the solver */
    double *smooth[2];          /* scratch of output and mu(I): stress, NS_S + 1 */
    double *kept;               /* scratch of the start: stress, 2 NS_S + 1 */
    double *bulk;               /* scratch: particle, V / phi_max */
    int64_t bulk_capacity;
    du_contacts contacts;
    du_warm warm;
    du_best best;
    du_lanes lanes;             /* of the solver */
    double constant[NS_STENCIL * RP_DIM]; /* the stencil of a full dual cell of size one */
    int32_t tile_neighbour[DU_TILE], tile_local[DU_TILE], offset[NS_STENCIL];
    int32_t tile_same[DU_TILE]; /* the first node of the tile that is the same: itself, but for periodic axes of one block */
    double stress_scale;        /* rho g L, or the mean pressure, if that is more */
    double weight_scale;        /* rho g L */
    double gravity;             /* |g| */
    double ahead;               /* time after which the law speaks of the volume: dt; 0: of its rate now */
    bool varied;                /* mu(I) or decaying cohesion */
    rp_field_view views[8];
    double *view_data;
    int64_t view_capacity;
} dual;

typedef struct du_report {
    int64_t iterations, stresses, take_off, stick, slide;
    double residual_mean, residual_max;
    bool converged;
} du_report;

/* Node of the tile of a block, or -1. */
static inline int64_t du_tile_node(const dual *y, int64_t block, int tile)
{
    int64_t b = y->grid.neighbour[block][y->tile_neighbour[tile]];
    return b < 0 ? -1 : b * RP_BLOCK_NODES + y->tile_local[tile];
}

/* First node of a stress in the tile. */
static inline int du_tile_base(int local)
{
#if RP_DIM == 2
    return (local & 3) + DU_SIDE * (local >> 2);
#else
    return (local & 3) + DU_SIDE * ((local >> 2 & 3) + DU_SIDE * (local >> 4));
#endif
}

/* The stress beside i, by whole cells in -1 … 1 on each axis, or -1. */
static inline int64_t du_beside(const dual *y, int64_t i, const int *way)
{
    static const int step[3] = { 1, 3, 9 };
    int64_t block = i / RP_BLOCK_NODES;
    int local = (int)(i % RP_BLOCK_NODES), to = 0, neighbour = RP_NEIGHBOURS / 2;
    for (int a = 0; a < RP_DIM; a++) {
        int at = (local >> 2 * a & 3) + way[a];
        neighbour += at < 0 ? -step[a] : at > 3 ? step[a] : 0;
        to |= (at & 3) << 2 * a;
    }
    int64_t b = y->grid.neighbour[block][neighbour];
    return b < 0 ? -1 : b * RP_BLOCK_NODES + to;
}

/* Lattice coordinates of the node of a dual cell. */
static inline void du_centre(const dual *y, int64_t i, int64_t at[3])
{
    rp__grid_coordinates(&y->grid, i, at);
    for (int a = 0; a < RP_DIM; a++)
        at[a]++;
}

static inline bool du_in_use(const dual *y, int64_t i)
{
    return i >= 0 && (y->active[i / RP_BLOCK_NODES] >> (i % RP_BLOCK_NODES) & 1);
}

static inline bool du_closed(const rp__world *world, int face)
{
    rp_surface_kind kind = world->def->wall[face].kind;
    return kind != RP_OPEN && kind != RP_PERIODIC;
}

static inline double du_power(double h)
{
    return RP_DIM == 3 ? h * h * h : h * h;
}

/* Weights of the three nodes at a place in [-1/2, 1/2] of the dual cell, in cells, and their derivatives. */
static inline void du_spline(double t, double w[3], double d[3])
{
    double a = 0.5 - t, b = 0.5 + t;
    w[0] = 0.5 * a * a, w[1] = 0.75 - t * t, w[2] = 0.5 * b * b;
    d[0] = -a, d[1] = -2 * t, d[2] = b;
}

/* The same of the hats of `stress: node`. */
static inline void du_hat(double t, double w[3], double d[3])
{
    bool low = t < 0;
    w[0] = low ? -t : 0, w[1] = low ? 1 + t : 1 - t, w[2] = low ? 0 : t;
    d[0] = low ? -1 : 0, d[1] = low ? 1 : -1, d[2] = low ? 0 : 1;
}

static inline void du_weights(const dual *y, double t, double w[3], double d[3])
{
    if (y->trilinear)
        du_hat(t, w, d);
    else
        du_spline(t, w, d);
}

/* How far the sums over particles have passed to those over the room, by the filling. */
static inline double du_passed(double filling)
{
    double theta = (filling - DU_PARTLY) / (DU_FULL - DU_PARTLY);
    return theta < 0 ? 0 : theta > 1 ? 1 : theta;
}

/* The g of a stress, and the factor that goes with it. */
static inline const double *du_operator(const dual *y, int64_t i, double *factor)
{
    bool constant = y->stress[i].constant > 0;
    *factor = constant ? y->stress[i].constant : 1;
    return constant ? y->constant : y->g + i * (NS_STENCIL * RP_DIM);
}

/* Coefficients of chi of the stress: without cohesion; with or without its viscous part. */
static inline void du_chi_of(const dual *y, int64_t i, bool viscous, double *chi)
{
    const du_stress *s = &y->stress[i];
    double lambda[NS_S];
    bool framed = y->law == NS_LAW_ISOTROPIC;
    for (int k = 0; k < NS_S; k++)
        lambda[k] = s->lambda[k] - (k == 0 ? s->cohesion : 0) + (viscous && framed ? s->viscous[k] : 0);
    if (framed) {
        ns_frame_to_chi(&y->frame[i], lambda, chi);
        return;
    }
    ns_wide_to_chi(&y->wide[i], lambda, chi);
    for (int k = 0; k < NS_S && viscous; k++)
        chi[k] += s->viscous[k];
}

/* Size of the shear as the law measures it, and its bound. */
static inline double du_shear_of(const dual *y, const du_stress *s)
{
    double sum = 0, most = 0;
    for (int k = 1; k < NS_S; k++) {
        sum += s->lambda[k] * s->lambda[k];
        most = fabs(s->lambda[k]) > most ? fabs(s->lambda[k]) : most;
    }
    return y->law == NS_LAW_LINEARISED ? most : sqrt(sum);
}

static inline double du_bound_of(const du_stress *s)
{
    return s->mu * sqrt(s->lambda[0] * s->lambda[0] + s->apex * s->apex);
}

/* Sums of the principal minors of a matrix: of order 2, and of order 3, the determinant. */
static inline double du_second(const double *a)
{
#if RP_DIM == 3
    return a[0] * a[4] - a[1] * a[3] + a[0] * a[8] - a[2] * a[6] + a[4] * a[8] - a[5] * a[7];
#else
    return a[0] * a[3] - a[1] * a[2];
#endif
}

static inline double du_third(const double *a)
{
#if RP_DIM == 3
    return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]);
#else
    (void)a;
    return 0;
#endif
}

/* Grains go straight ahead in a step, x + dt u: volumes change by det(1 + A) - 1 = Tr A + I2(A) + det A, A = dt grad u, not by Tr A alone. The last two, as a
 * strain; `h` = V grad u. An A longer than one, which turns a dual cell inside out, counts as long as one. */
static inline double du_bend(const double *h, double volume, double ahead)
{
    double a[RP_DIM * RP_DIM], square = 0;
    if (!(ahead > 0))
        return 0;
    for (int k = 0; k < RP_DIM * RP_DIM; k++) {
        a[k] = ahead / volume * h[k];
        square += a[k] * a[k];
    }
    double s = square > 1 ? 1 / sqrt(square) : 1;
    return (s * s * du_second(a) + s * s * s * du_third(a)) * volume / (ahead * NS_TRACE);
}

/* dual_memory_dim.c */
rp_result DU(reserve)(dual *y, int64_t particles);
void DU(release)(dual *y);

/* dual_room_dim.c: bodies near blocks; the rooms of dual cells that walls and bodies cut; the room of the nodes. */
rp_result DU(rooms)(dual *y, const rp__world *world);

/* dual_assemble_dim.c: what particles bring to nodes and dual cells; then gaps, dilatancy, friction, frames. */
void DU(assemble)(dual *y, const rp__world *world);
void DU(prepare)(dual *y, const rp__world *world, double dt);
void DU(find_scale)(dual *y); /* once the stresses of the last step are placed */
double DU(volume_error)(const dual *y);

/* dual_laws_dim.c: memory for the law of the step; orientations of the dual cells; the frame or the wide frame of one of them from
 * G = sum_j (dt / m_j) g_ij g_ij^T, false when there is nothing to push against. */
rp_result DU(reserve_law)(dual *y);
void DU(gather_orientation)(dual *y, const rp__world *world);
bool DU(make_frame)(dual *y, int64_t i, const double *sum);
double DU(friction_across)(const dual *y, int64_t i, const double *normal);

/* trilinear_dim.c: `stress: node`. What particles bring to nodes and stresses; one stress; velocities and gradients of the particles. */
void DU(assemble_trilinear)(dual *y, const rp__world *world);
void DU(prepare_trilinear)(dual *y, int64_t i, int64_t node, double dt);
void DU(velocities_trilinear)(dual *y, const rp__world *world);

/* dual_tie_dim.c: mass and filling of nodes behind bodies, before the velocities; nodes outside the free surface; the ties of a block; a contact that is all
 * zeros, or NULL. */
void DU(count_behind)(dual *y, const rp__world *world);
void DU(find_outer)(dual *y, const rp__world *world);
rp_result DU(tie_block)(dual *y, const rp__world *world, int64_t block);
du_contact *DU(new_contact)(dual *y);

/* dual_contact_dim.c */
rp_result DU(find_contacts)(dual *y, const rp__world *world, double dt);
void DU(report_contacts)(dual *y, rp__world *world, double dt);

/* dual_solver_dim.c: u and lambda. */
rp_result DU(solve)(dual *y, const rp__world *world, double dt, du_report *report);

/* dual_residual_dim.c: after the visits of a look, for the blocks from begin to end, the residuals of which lie in smooth[0]: means along the axes, one after
 * the other, from smooth[axis % 2] to the other; and what is in smooth[from] to the partial sums. */
void DU(mean_residuals)(const dual *y, int axis, int64_t begin, int64_t end);
void DU(add_residuals)(const dual *y, int from, int64_t begin, int64_t end);

/* dual_cold_dim.c: stresses to start from when there was no step before. */
void DU(start_cold)(dual *y, const rp__world *world);

/* dual_free_dim.c: contacts of free bodies with grains and with each other, one after the other. Returns the largest change and adds the squares, in units
 * of stress. */
double DU(free_contacts)(dual *y, const rp__world *world, double dt, double beta, bool apply, double *squares);
void DU(start_free)(dual *y, const rp__world *world);

/* dual_warm_dim.c. start_from: a stress to start from, coefficients of chi without cohesion, into the frame and the cone of dual cell i. */
void DU(start_from)(dual *y, int64_t i, const double *kept, const double *viscous);
void DU(place_warm)(dual *y);
rp_result DU(reserve_warm_contacts)(dual *y);
void DU(place_warm_contacts)(dual *y, double dt);
rp_result DU(keep_warm)(dual *y, double dt);
rp_result DU(save)(const void *state, rp_state *out);
rp_result DU(restore)(void *state, const rp_state *in);

/* dual_advect_dim.c */
void DU(to_particles)(dual *y, const rp__world *world, double dt);

/* dual_work_dim.c: the power that friction takes, the energy that the stresses give in the step. */
void DU(work)(const dual *y, const rp__world *world, double dt, double *dissipated, double *made);

/* dual_fields_dim.c */
double *DU(smooth)(dual *y);
rp_result DU(node_fields)(void *state, const rp_field_view **views, int *count, int64_t *nodes);

/* dual_step_dim.c: what nonsmooth.c calls. */
rp_result DU(create)(rp__world *world, int first_field, void **state);
void DU(destroy)(void *state);
rp_result DU(born)(void *state, rp__world *world, int64_t first, int64_t count, double spacing);
rp_result DU(step)(void *state, rp__world *world, double dt, rp_step_stats *stats);

#endif
