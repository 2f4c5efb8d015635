/* What every file of the room knows: dimensions, frames of operators, and what is kept of the grains from step to step. Compiled for RP_DIM. dual.h has
 * the discrete system of a step. */
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
    NS_S = RP_DIM == 2 ? 3 : 6,         /* numbers a symmetric tensor */
    NS_T = NS_S - 1,
    NS_STENCIL = RP_DIM == 2 ? 9 : 27,  /* velocity nodes of a stress */
    NS_PAD = 4                          /* doubles a velocity: one vector register */
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

/* What is kept of the grains from step to step, whatever the elements: births, splitting and merging. */
typedef struct ns_grains {
    rp__lattice lattice;
    const rp__nonsmooth_params *params;
    int first_field;
    bool oriented;              /* particles have an orientation */
    int64_t born_count;         /* particles made so far, and their volume: the mean decides about splitting */
    double born_volume;
    unsigned char *remove;      /* particle: scratch of merging */
    int64_t remove_capacity;
} ns_grains;

/* nonsmooth.c: whether the particles of a definition have an orientation. */
bool rp__nonsmooth_oriented(const rp_sim_def *def);

/* grains_dim.c: their life; the fields of new ones; the box that they stay in; the law of their materials. */
rp_result NS(grains_create)(const rp__world *world, int first_field, ns_grains **grains);
void NS(grains_destroy)(ns_grains *grains);
rp_result NS(born)(ns_grains *y, rp__world *world, int64_t first, int64_t count, double spacing);
void NS(bounds)(const ns_grains *y, const rp__world *world, double *low, double *high);
ns_law_kind NS(law_of)(const ns_grains *y, const rp__world *world);
bool NS(is_viscous)(const rp__world *world);

/* orientation_dim.c: nu of new particles; nu one step on. */
void NS(orient_born)(ns_grains *y, const rp__world *world, int64_t first, int64_t count);
void NS(turn)(ns_grains *y, const rp__world *world, double dt);

/* split_dim.c: F with its semi-axes between `low` and `high`; particles that are drawn out split, small ones merge. */
void NS(clamp_ellipsoid)(double *f, double low, double high);
rp_result NS(split_and_merge)(ns_grains *y, const rp__world *world, int64_t *split, int64_t *merged);

#endif
