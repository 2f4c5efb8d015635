/* Grains in a fluid: what the files of this room share. Compiled for RP_DIM.
 *
 * Velocities live at the nodes of the whole domain (multilinear), pressure and contact stress in its cells (constant). At a node j
 *
 *   u = û + M F + a P,   q = q^ + a F + Θ P
 *
 * u the velocity of the grains, q the flux of the mixture, F = dt sum_c χ(λ_c) g_cj the impulse of the contact stresses,
 * P = dt sum_c p_c D_cj that of the pressures, g_cj = sum_p V_p ∇N_j(x_p) over the particles of the cell, D_cj = ∫_c ∇N_j. The three numbers
 * M, a, Θ a component hold all of drag and inertia (nodes_dim.c). The constraint is D q = 0.
 *
 * Pressures that alternate between the cells around a node push nothing. So every node has a few velocities more, one for each way in which
 * the cells around it can alternate (in 2D the one +--+, in 3D xy, xz, yz and xyz): they answer to alternating pressures as the others do to
 * plain ones, with the sum of Θ over the axes of the pattern times ε, and flow out of cells with the same pattern. They begin each step
 * at rest. D Θ Dᵀ over all of them is, for ε = 1, the ordinary Laplacian whose face coefficient is the mean of Θ V over the nodes of the face. Contact
 * stresses push them too, and are answered, inside the grains: where drag is strong grains and fluid must be stabilised by the same rule, or
 * what the one lets leak the other resists. */
#ifndef RP_DIPHASIC_SYSTEM_H
#define RP_DIPHASIC_SYSTEM_H

#include "diphasic/params.h"
#include "exec/exec.h"
#include "friction/local.h"
#include "grid/grid.h"
#include "math/tensor.h"
#include "multigrid/multigrid.h"
#include "sim/method.h"

#define DP(name) RP_D(rp__diphasic_##name)
#define DP_INLINE static inline __attribute__((always_inline))

enum { DP_CORNERS = 1 << RP_DIM, DP_BODIES = RP__DIPHASIC_BODIES };
#if RP_DIM == 2
enum { DP_S = 3 };           /* coefficients of a stress */
#define DP_TRACE 2.0         /* Tr χ(e_N) */
#define DP_CONTACT 1.0       /* contact pressure = DP_CONTACT λ_N; and the friction of the cone over µ^ */
#define DP_CONE_NAME(name) name##_c3
#define dp_chi rp__tensor_from_coefficients_2d
#define dp_coefficients rp__tensor_to_coefficients_2d
#else
enum { DP_S = 6 };
#define DP_TRACE RP_SQRT6
#define DP_CONTACT 0.81649658092772603273
#define DP_CONE_NAME(name) name##_c6
#define dp_chi rp__tensor_from_coefficients_3d
#define dp_coefficients rp__tensor_to_coefficients_3d
#endif
enum { DP_ALTERNATING = RP_DIM == 2 ? 1 : 4, DP_PARTS = RP_DIM + DP_ALTERNATING, DP_BENT = RP_DIM * DP_ALTERNATING };
#define dp_factor DP_CONE_NAME(rp__friction_factor)

/* Volume fractions above this count as this in the algebra of a node: 1 - φ is divided by. */
#define DP_FULLEST 0.99

/* Bits of dp_hold: components held at their values. q: the flux as a whole. */
enum { DP_RUBBED = RP_DIM + 1, DP_HOLD_GRAINS = 1, DP_HOLD_FLUID = 1 << 3, DP_HOLD_FLUX = 1 << 6 };

/* What a sweep needs of a node, side by side. */
typedef struct dp_node {
    double u[DP_PARTS]; /* grains; the alternating parts follow the components */
    double w[DP_PARTS]; /* flux of the mixture */
    double m[DP_PARTS]; /* M */
    double a[DP_PARTS];
    double theta[DP_PARTS];
} dp_node;

/* Dilatancy and friction of a cell, by x = |γ_T|/λ_N (rheology_dim.c). */
typedef struct dp_rate {
    double phi;                   /* volume fraction of the grains where they touch */
    double slope, critical;       /* K, 0: they do not dilate; φ_c */
    double opening;               /* tan ψ at least, of cells that are too full */
    double root;                  /* √J of x = 1 */
    double least, most;           /* of tan ψ */
    double faster;                /* µ2 - µ1 */
    double viscous, inertial;     /* X of x = 1: J/J0, and I/I0 over √p */
} dp_rate;

/* A cell with grains in it. */
typedef struct dp_stress {
    double g[DP_CORNERS][RP_DIM];
    const double (*leaves)[RP_DIM]; /* D_cj of its fluid */
    double inner[DP_CORNERS];     /* how much of φ the alternating parts of the corner feel: none at the edge of the grains */
    double bend[DP_BENT];         /* stress that varies over the cell, axis by axis: what holds velocities that alternate between its corners */
    double bend_unit[RP_DIM];     /* what it does to the strain that it meets */
    double bend_arm;              /* volume of grains over √12 h */
    double lambda[DP_S];
    double before[DP_S];          /* at the start of the round: for the restarts */
    double w[DP_S][DP_S];         /* W~ */
    double k;                     /* gap, as a rate */
    double densest;               /* volume fraction that its grains can have at most, as few as they are around it */
    double opening;               /* tan ψ of a cell that is too full */
    double mu;                    /* of the cone */
    double shift[DP_S];           /* what λ takes off the pressure of the cell */
    double stiffness;             /* outflow that a pressure of the cell makes; 0: pressures are left to the others */
    double scale, scale_t;        /* units of the residual */
    bool usable;                  /* some corner can move */
    bool touches;                 /* some corner is in touch with a body */
    double weight;                /* in the residual: how full the cell is */
    bool rated;                   /* its law depends on the rate of shear, and is the following */
    dp_rate rate;
    double root;                  /* √(|γ_T|/λ_N) of the last visit; 0: at rest, or apart */
    double volume, packing, loose; /* sums over its particles: V, V φ, V s */
    double touching;              /* volume of those that touch, s <= 0 */
    double faster, inertia;       /* µ2 - µ1 of friction that grows with the rate of shear; d √ρ / I0 (rheology_dim.c) */
    double coming;                /* looseness beyond theirs, by the row that is about to come in (start_dim.c) */
    double mass;
    double load;                  /* λ_N under the weight of the grains above */
    double extent;                /* volume of grains that g stands for */
    double even;                  /* 1: g is the integral over a full cell, 0: the sum over its particles */
    int64_t cell;
    int32_t node[DP_CORNERS];
    dp_factor factor;
} dp_stress;

/* A node where grains may rub: on a frictional wall, or in a body. */
typedef struct dp_contact {
    int64_t node;
    int32_t body;                 /* -1 - face: a wall */
    double normal[RP_DIM], target[RP_DIM], place[3];
    double mu;
    double share;                 /* of a free body: its contacts over its mass */
    double impulse[RP_DIM], before[RP_DIM]; /* on the grains */
} dp_contact;

/* A node inside a body. */
typedef struct dp_held {
    int64_t node;
    double arm[3];                /* from where the body is */
    int64_t cell[DP_CORNERS];     /* around it, -1: none, or without a pressure */
} dp_held;

/* Items that follow one another along x, and where the first is; a list of such. */
typedef struct dp_run {
    int64_t first, count, at[3];
} dp_run;

typedef struct dp_runs {
    dp_run *run;
    int64_t count, capacity;
} dp_runs;

/* A cell that the surface of the fluid cuts: integrals over its part in the fluid. */
typedef struct dp_cut {
    double leaves[DP_CORNERS][RP_DIM]; /* ∫∇N_j */
    double part[DP_CORNERS];           /* ∫N_j */
    double fraction;                   /* of the cell */
} dp_cut;

/* The surface of a fluid that does not fill the domain (surface_dim.c). */
typedef struct dp_surface {
    double *distance;             /* of nodes, less than zero in the fluid: state */
    double *next;
    double *wet;                  /* ∫N over the fluid with the grains in it, of nodes */
    double *velocity;             /* with which it moves, RP_DIM a node */
    double *reach;                /* of nodes: while distances are looked for */
    uint8_t *known;               /* of nodes: their velocity is that of fluid */
    double *room;                 /* of nodes: the part that bodies leave */
    int32_t *cut_of;              /* of cells: which of the cuts, or one of those below */
    dp_cut *cut;
    int64_t *cut_cell;
    int64_t cut_count, cut_capacity, cell_capacity;
    double none[DP_CORNERS][RP_DIM];
    double *fraction;             /* of cells, that is in the fluid: state */
    double *began;                /* pressure of cells that the step began with */
    double density;
    double leak;                  /* see dp_leak */
    double volume;                /* of the fluid alone: state; less than zero: not measured yet */
    double region;                /* volume of the fluid with what is in it */
    double mended;                /* what the level was moved by in this step, to keep the volume */
} dp_surface;
enum { DP_WET = -1, DP_DRY = -2 }; /* cells of which nothing is cut */

typedef struct dp_report {
    int64_t rounds, pressure_iterations;
    double residual_mean, residual_max, divergence;
    int64_t take_off, stick, slide;
    bool converged;
} dp_report;

typedef struct dp_system {
    const rp__diphasic_params *params;
    int first_field;
    rp__lattice lattice;
    rp__grid grid;                /* sorts the particles */
    int64_t cells[3], cell_count; /* unused axes have one */
    int64_t nodes[3], node_count;
    rp__multigrid *poisson;
    dp_surface *surface;          /* NULL: the fluid fills the domain */
    double leaves[DP_CORNERS][RP_DIM]; /* D_cj of a cell full of fluid */

    /* nodes */
    dp_node *node;
    double *theta;                /* Θ, RP_DIM a node */
    double epsilon;
    double face;                  /* (h/2)^(d-1) */
    bool cold;                    /* no step was made yet */
    int64_t steps;
    double *volume;               /* ∫N of the domain */
    double *grains;               /* volume of grains */
    double *diameter;             /* volume × diameter of them */
    double *momentum;             /* of grains, RP_DIM a node; mass in the next */
    double *mass;
    double *inner;                /* least `even` of the cells around */
    double *phi;                  /* volume fraction, at most DP_FULLEST */
    double *fluid;                /* velocity of the fluid, RP_DIM a node: the state from step to step */
    double *carried;              /* the same after it carried itself along */
    double *scratch[4];           /* RP_DIM a node each */
    uint16_t *hold;
    double *viscous;              /* impulse of viscosity on nodes in bodies, RP_DIM a node */
    double *held;                 /* velocity that held components have, RP_DIM a node */
    int32_t *inside;              /* body that holds the node, -1: none */
    double *free_node;            /* ∫N outside of bodies, of nodes with grains */

    /* cells */
    double *pressure, *rhs, *change; /* state: pressure */
    double *lambda;               /* DP_S a cell, state: contact stress of the last step */
    double *eta;                  /* viscosity of the mixture */
    double *free_cell, *part;     /* volume outside of bodies, of cells with grains; what of it each of the corners has */
    int32_t *stress_of;           /* index of the cell's stress, -1: no grains in it */
    double *source;               /* sum of ground × pressure outside, of open faces */
    double outside[6];            /* pressure at open faces */
    int wall_kind[6];             /* of the fluid; rp_fluid_wall_kind without auto */
    int32_t *room;                /* fluid that bodies part from the rest: 1, 2 …; 0: cells that are all body, or open to the outside */
    int64_t *room_queue;
    int32_t rooms;                /* that are shut */
    bool open[6];

    /* Stresses stand column by column along the axis of gravity, columns by colour: those of one colour share no node. A sweep goes
     * through a column from end to end, so that weight is handed down in one go. */
    int up;
    dp_stress *stress;
    int64_t stress_count, stress_capacity;
    int64_t *column_first;        /* of columns + 1 */
    int32_t *column_items;        /* 0, 1, 2 … */
    int64_t column_count;
    int64_t colour_first[DP_CORNERS / 2 + 1];
    int64_t *cell_first;          /* of cells: first particle, how many */
    int32_t *cell_particles;
    dp_contact *contacts;
    int64_t contact_count, contact_capacity;
    double *rubbed;               /* DP_RUBBED a node, state: force of its first contact in the last step, and which that is (touch_dim.c) */
    int32_t *contact_at;          /* of nodes: the first of their contacts with bodies, -1: none */
    double (*previous)[DP_S];     /* of stresses: the last round's end */
    double (*previous_bend)[DP_BENT];
    double *residual;             /* of stresses */
    double *bend;                 /* DP_BENT a cell, state */
    double *previous_pressure, *previous_u, *previous_w;
    int64_t previous_capacity;

    /* where rounds work (near_dim.c) */
    uint8_t *near_cell, *near_node;
    dp_runs near_cells, near_nodes;
    double *pushed;               /* pressure that far nodes have felt */
    double *previous_rhs;         /* of far cells, as previous_pressure */

    double frame[RP_DIM];         /* velocity of the frame in which paths are followed: zero where walls or bodies stand */
    double stress_unit;           /* typical stress */
    double smallest_outflow;      /* of a cell, below which it is rounding */
    rp__vec3 body_velocity[DP_BODIES], body_omega[DP_BODIES]; /* before anything in the step has pushed them */
    rp__vec3 body_last[DP_BODIES]; /* velocity after the last round */
    double body_inverse[DP_BODIES][36]; /* inverse mass, linear then angular */
    bool body_free[DP_BODIES];
    dp_held *held_node;           /* nodes inside bodies, body by body */
    int64_t held_first[DP_BODIES + 1], held_capacity;
    double body_resistance[DP_BODIES]; /* of the fluid to a free body, with all around it held: dt Σ K over pairs of its nodes and others [kg] */
    double *coupling;             /* b = dt β V of nodes */
    double *view_data;
    int64_t view_capacity;
    rp_field_view views[16];
} dp_system;

/* The solve of a step: friction and pressure together. */
typedef struct dp_solve {
    dp_system *y;
    const rp__world *world;
    double dt;
    bool backward;
    double beta;
    double relax;   /* part of what the law asks for that a visit does */
    double moved;   /* change of the velocity of a free body in the last round */
    double largest; /* right side of the pressure in this step */
    bool rounds;    /* the pressure was found once: only near cells and nodes are kept from then on */
} dp_solve;

/* ---- places ---- */

DP_INLINE int64_t dp_cell_index(const dp_system *y, const int64_t at[3])
{
    return (at[2] * y->cells[1] + at[1]) * y->cells[0] + at[0];
}
DP_INLINE int64_t dp_node_index(const dp_system *y, const int64_t at[3])
{
    return (at[2] * y->nodes[1] + at[1]) * y->nodes[0] + at[0];
}
DP_INLINE void dp_place(const int64_t n[3], int64_t index, int64_t at[3])
{
    at[0] = index % n[0];
    at[1] = index / n[0] % n[1];
    at[2] = index / (n[0] * n[1]);
}
/* Nodes at the corners of a cell; corner bits x, y, z. */
DP_INLINE void dp_corners(const dp_system *y, const int64_t at[3], int64_t out[DP_CORNERS])
{
    for (int c = 0; c < DP_CORNERS; c++) {
        int64_t n[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++) {
            n[a] = at[a] + (c >> a & 1);
            n[a] = n[a] == y->nodes[a] ? 0 : n[a]; /* around a periodic axis */
        }
        out[c] = dp_node_index(y, n);
    }
}
/* The cell beyond a face, -1: none. */
DP_INLINE int64_t dp_beyond(const dp_system *y, const int64_t at[3], int axis, int side)
{
    int64_t n = y->cells[axis], stride = axis == 0 ? 1 : axis == 1 ? y->cells[0] : y->cells[0] * y->cells[1];
    bool last = at[axis] == (side ? n - 1 : 0);
    if (last && !y->lattice.periodic[axis])
        return -1;
    return dp_cell_index(y, at) + (side ? 1 : -1) * (last ? (1 - n) * stride : stride);
}
/* The cell of which a node is corner n, -1: beyond a face of the domain. */
DP_INLINE int64_t dp_cell_at_corner(const dp_system *y, const int64_t at[3], int n)
{
    int64_t cell[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++) {
        cell[a] = at[a] - (n >> a & 1);
        if (y->lattice.periodic[a])
            cell[a] = cell[a] < 0 ? y->cells[a] - 1 : cell[a];
        if (cell[a] < 0 || cell[a] >= y->cells[a])
            return -1;
    }
    return dp_cell_index(y, cell);
}
/* Cells around a node, as corner n of which it is; false on a face of the domain. */
DP_INLINE bool dp_around(const dp_system *y, const int64_t at[3], int64_t out[DP_CORNERS])
{
    for (int n = 0; n < DP_CORNERS; n++) {
        out[n] = dp_cell_at_corner(y, at, n);
        if (out[n] < 0)
            return false;
    }
    return true;
}
/* Axes of a part of the velocity of a node, as bits. */
DP_INLINE int dp_axes(int part)
{
    static const int axes[7] = { 1, 2, RP_DIM == 2 ? 3 : 4, 3, 5, 6, 7 };
    return axes[part];
}
/* Sign with which part k of the velocity of a corner leaves the cell: that of the corner along the axes of the part. */
DP_INLINE double dp_sign(int corner, int part)
{
    int low = dp_axes(part) & ~corner;
    return ((low ^ low >> 1 ^ low >> 2) & 1) ? -1 : 1;
}
/* D_cj for corner j and part k of its velocity: ± half a face along each axis. */
DP_INLINE double dp_divergence(const dp_system *y, int corner, int part)
{
    return y->face * dp_sign(corner, part);
}
/* D_cj of a cell as far as it is in the fluid: ∫∇N_j. */
DP_INLINE const double (*dp_leaves(const dp_system *y, int64_t cell))[RP_DIM]
{
    int32_t cut = y->surface ? y->surface->cut_of[cell] : DP_WET;
    return cut == DP_WET ? y->leaves : cut == DP_DRY ? (const double (*)[RP_DIM])y->surface->none : (const double (*)[RP_DIM])y->surface->cut[cut].leaves;
}
/* The part of a cell that is in the fluid. */
DP_INLINE double dp_wet_part(const dp_system *y, int64_t cell)
{
    int32_t cut = y->surface ? y->surface->cut_of[cell] : DP_WET;
    return cut == DP_WET ? 1 : cut == DP_DRY ? 0 : y->surface->cut[cut].fraction;
}
/* What goes through the surface of a cell that is cut, an impulse of pressure: a corner of it that few drops reach would otherwise have to take what
 * the others leave of the constraint, at any speed. It answers to changes of the pressure within a step, as alternating parts do. */
DP_INLINE double dp_leak(const dp_system *y, int64_t cell)
{
    int32_t cut = y->surface ? y->surface->cut_of[cell] : DP_WET;
    return cut < 0 ? 0 : y->surface->leak * (1 - y->surface->cut[cut].fraction);
}
DP_INLINE double dp_leaked(const dp_system *y, int64_t cell, double dt)
{
    double leak = dp_leak(y, cell);
    return leak > 0 ? dt * leak * (y->pressure[cell] - y->surface->began[cell]) : 0;
}
/* What of that its corner n has. */
DP_INLINE double dp_wet_share(const dp_system *y, int64_t cell, int n)
{
    int32_t cut = y->surface ? y->surface->cut_of[cell] : DP_WET;
    return cut == DP_WET ? pow(0.5 * y->lattice.h, RP_DIM) : cut == DP_DRY ? 0 : y->surface->cut[cut].part[n];
}
/* ∫N of a node over the fluid with the grains in it. */
DP_INLINE double dp_wet_volume(const dp_system *y, int64_t node)
{
    return y->surface ? y->surface->wet[node] : y->volume[node];
}
/* For a cell with grains, corner and part of its velocity: the alternating parts move only where all is fluid, or none. */
DP_INLINE double dp_leaving(const dp_system *y, const double (*leaves)[RP_DIM], int corner, int part)
{
    return part < RP_DIM ? leaves[corner][part] : y->face * dp_sign(corner, part);
}
/* Weights of the corners of a cell at t in [0, 1]^d, and their derivatives. */
DP_INLINE void dp_weights(const double t[RP_DIM], double weight[DP_CORNERS])
{
    for (int c = 0; c < DP_CORNERS; c++) {
        weight[c] = 1;
        for (int a = 0; a < RP_DIM; a++)
            weight[c] *= c >> a & 1 ? t[a] : 1 - t[a];
    }
}
DP_INLINE void dp_gradients(const double t[RP_DIM], double inverse_h, double gradient[DP_CORNERS][RP_DIM])
{
    for (int c = 0; c < DP_CORNERS; c++)
        for (int a = 0; a < RP_DIM; a++) {
            gradient[c][a] = c >> a & 1 ? inverse_h : -inverse_h;
            for (int b = 0; b < RP_DIM; b++)
                if (b != a)
                    gradient[c][a] *= c >> b & 1 ? t[b] : 1 - t[b];
        }
}
DP_INLINE void dp_multiply(const double s[DP_S], const double g[RP_DIM], double out[RP_DIM])
{
#if RP_DIM == 2
    out[0] = s[0] * g[0] + s[2] * g[1];
    out[1] = s[2] * g[0] + s[1] * g[1];
#else
    out[0] = s[0] * g[0] + s[3] * g[1] + s[4] * g[2];
    out[1] = s[3] * g[0] + s[1] * g[1] + s[5] * g[2];
    out[2] = s[4] * g[0] + s[5] * g[1] + s[2] * g[2];
#endif
}
/* sum += sym(u ⊗ g), as a symmetric tensor. */
DP_INLINE void dp_add_strain(const double u[RP_DIM], const double g[RP_DIM], double sum[DP_S])
{
#if RP_DIM == 2
    sum[0] += u[0] * g[0];
    sum[1] += u[1] * g[1];
    sum[2] += 0.5 * (u[0] * g[1] + u[1] * g[0]);
#else
    sum[0] += u[0] * g[0];
    sum[1] += u[1] * g[1];
    sum[2] += u[2] * g[2];
    sum[3] += 0.5 * (u[0] * g[1] + u[1] * g[0]);
    sum[4] += 0.5 * (u[0] * g[2] + u[2] * g[0]);
    sum[5] += 0.5 * (u[1] * g[2] + u[2] * g[1]);
#endif
}

DP_INLINE int dp_grain_hold(int axis)
{
    return DP_HOLD_GRAINS << axis;
}
DP_INLINE int dp_fluid_hold(int axis)
{
    return DP_HOLD_FLUID << axis;
}

/* ---- the parts of a step ---- */

rp_result DP(gather)(dp_system *y, rp__world *world);                       /* particles to nodes and cells */
void DP(find_frame)(dp_system *y, const rp__world *world);
void DP(carry)(dp_system *y, double dt);                                    /* the fluid by itself */
rp_result DP(set_holds)(dp_system *y, const rp__world *world, double dt);   /* walls and bodies */
void DP(find_space)(dp_system *y, const rp__world *world);                  /* that bodies leave */
void DP(node_algebra)(dp_system *y, const rp__world *world, double dt);     /* û, ŵ, M, a, Θ */
void DP(fill_cells)(dp_system *y, const rp__world *world, double dt);       /* g of cells that grains fill, or drag holds */
void DP(find_rooms)(dp_system *y, const rp__world *world);
rp_result DP(balance_rooms)(const dp_system *y, const rp__world *world, double dt, double *rhs); /* what comes into shut rooms must leave them */
void DP(make_laplacian)(dp_system *y, const rp__world *world);
rp_result DP(find_near)(dp_system *y, const rp__world *world);              /* where rounds work */
rp_result DP(viscosity)(dp_system *y, const rp__world *world, double dt, int64_t *iterations);
void DP(start)(dp_system *y, const rp__world *world, double dt);            /* with the stresses and pressures of the last step */
void DP(make_rate)(const dp_system *y, double viscosity, dp_stress *s);       /* the law of a cell that depends on the rate of shear */
void DP(obey_rate)(const dp_stress *s, const double b[DP_S], double *root, double next[DP_S]); /* λ in it, where γ = W λ + b; `root` from the last time */
rp_result DP(solve)(dp_system *y, const rp__world *world, double dt, dp_report *report);
void DP(make_operators)(dp_solve *w);
/* u += dt a Dᵀp, w += dt Θ Dᵀp of a pressure: the whole one, with what pushes from outside, or a change of it. */
void DP(push_nodes)(dp_system *y, const double *pressure, bool whole, double dt);
void DP(push_far_nodes)(dp_system *y, double dt);                            /* what the pressure has become since the first solve of the step */
rp_result DP(solve_pressure)(dp_solve *w, double part, double least, dp_report *report); /* brings r = D w down to `part` of what it is, or to `least` */
rp_result DP(list_held)(dp_system *y, const rp__world *world);               /* nodes inside bodies */
void DP(start_bodies)(dp_solve *w);
void DP(settle_bodies)(const dp_solve *w);                                   /* velocities of free bodies from all that pushes them */
void DP(push_free_bodies)(const dp_solve *w, const double *change);          /* what a change of the pressure gives to them */
void DP(add_free_bodies)(const dp_system *y, const double *x, double *out);  /* out += D R I Rᵀ Dᵀ x */
double DP(moved_bodies)(const dp_solve *w);                                  /* largest change of a velocity since the last call */
void DP(start_contacts)(dp_solve *w);                                        /* with the forces of the last step */
void DP(keep_contacts)(dp_system *y, double dt);
void DP(visit_contacts)(dp_solve *w);
void DP(visit_corners)(const dp_solve *w, const dp_stress *s);               /* contacts of its corners with bodies */
bool DP(free_bodies)(const rp__world *world);
void DP(for_columns)(dp_system *y, rp__exec_item_fn function, void *context); /* colour by colour */
/* Impulse on a body over the step, as things stand: pressure (with the weight of the fluid kept away), viscosity, grains. */
typedef struct dp_push {
    rp__vec3 impulse, turn;       /* of all */
    rp__vec3 pressure, viscous;   /* parts of the impulse */
} dp_push;
dp_push DP(body_push)(const dp_system *y, const rp__world *world, int body, double dt);
double DP(filter_pressure)(dp_system *y, const double gravity[3]); /* how much of the pressure alternated between cells */
void DP(finish_fluid)(dp_system *y, rp__world *world, double dt, double exchange[3]); /* velocity of the fluid, forces on bodies */
void DP(finish_grains)(dp_system *y, rp__world *world, double dt);
/* K u of a cell for viscosity one, and the same by Gauss's rule, for tests. */
void DP(viscous_cell)(double h, double u[DP_CORNERS][RP_DIM], double f[DP_CORNERS][RP_DIM]);
void DP(viscous_cell_ref)(double h, double u[DP_CORNERS][RP_DIM], double f[DP_CORNERS][RP_DIM]);
double DP(born_looseness)(const dp_system *y, const rp_material_def *material, double phi);
void DP(follow_volume)(const dp_system *y, const rp__world *world, const dp_stress *s, double part, int64_t i, double *loose, double *packing);
double DP(drag)(const rp_fluid_def *fluid, double phi, double slip, double diameter); /* β/φ */
double DP(thickening)(const rp_fluid_def *fluid, double phi);               /* η_e / η */

/* P of a node: sum over the cells around of p_c D_cj (without dt), and what pushes on open faces. */
void DP(pressure_impulse)(const dp_system *y, const double *pressure, bool boundary, int64_t node, double out[RP_DIM]);

/* The field of `width` numbers a node at a place, and the least and largest values around it (may be NULL); where the path through node j was a
 * time s ago (or will be, s < 0). */
void DP(sample)(const dp_system *y, const double *field, int width, const double *place, double *out, double *least, double *most);
void DP(trace)(const dp_system *y, const double *velocity, int64_t j, double s, double place[RP_DIM]);

/* surface_dim.c, cut_dim.c, wet_pressure_dim.c: a fluid that does not fill the domain. */
rp_result DP(create_surface)(dp_system *y, const rp__world *world);
void DP(free_surface)(dp_surface *surface);
rp_result DP(find_surface)(dp_system *y, const rp__world *world);            /* where it is, with the volume that the fluid has */
void DP(move_surface)(dp_system *y, double dt);                              /* with the fluid, which is continued beyond it */
/* Integrals over the part of a cell where a multilinear field is below zero; pieces of its zero (may be NULL). */
typedef struct dp_piece {
    double x[RP_DIM][RP_DIM];
} dp_piece;
typedef void dp_piece_fn(void *context, const dp_piece *piece);
void DP(cut_cell)(const double value[DP_CORNERS], double h, dp_cut *out, dp_piece_fn *tell, void *context);
void DP(make_wet_laplacian)(dp_system *y);
void DP(apply_wet)(void *context, const double *x, double *out);             /* D Θ Dᵀ with its alternating parts */
void DP(filter_wet)(dp_system *y);                                           /* change: what alternates */
DP_INLINE void dp_alternating_impulse(const dp_system *y, const double *pressure, const int64_t at[3], double out[DP_ALTERNATING])
{
    int64_t cell[DP_CORNERS];
    for (int k = 0; k < DP_ALTERNATING; k++)
        out[k] = 0;
    if (!dp_around(y, at, cell))
        return;
#pragma GCC unroll 8
    for (int n = 0; n < DP_CORNERS; n++)
        for (int k = 0; k < DP_ALTERNATING; k++)
            out[k] += pressure[cell[n]] * dp_divergence(y, n, RP_DIM + k);
}

/* state_dim.c */
rp_result DP(save)(const void *state, rp_state *out);
rp_result DP(restore)(void *state, const rp_state *in);

#endif
