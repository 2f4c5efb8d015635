/* Parameters of the method `nonsmooth`; the table is in nonsmooth.c. */
#ifndef RP_NONSMOOTH_PARAMS_H
#define RP_NONSMOOTH_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rp__nonsmooth_stress { RP__STRESS_DUAL, RP__STRESS_NODE } rp__nonsmooth_stress;

typedef enum rp__nonsmooth_yield { RP__YIELD_EXACT, RP__YIELD_LINEARISED } rp__nonsmooth_yield;
typedef enum rp__nonsmooth_compaction { RP__COMPACT_FRACTION, RP__COMPACT_DIVERGENCE } rp__nonsmooth_compaction;
typedef enum rp__nonsmooth_orientation { RP__ORIENT_NORMALS, RP__ORIENT_PLANES } rp__nonsmooth_orientation;

typedef struct rp__nonsmooth_params {
    int stress;             /* rp__nonsmooth_stress */
    int yield;              /* rp__nonsmooth_yield */
    int compaction;         /* rp__nonsmooth_compaction */
    int orientation;        /* rp__nonsmooth_orientation */
    double tolerance;       /* of the mean residual, in units of the typical stress rho (g L + u^2) */
    double tolerance_max;   /* of the largest one */
    int64_t max_iterations, min_iterations;
    bool warm_start;
    bool momentum;          /* extrapolation between sweeps, with restarts */
    double dilatancy;        /* K: opening in units of the shear and of the excess of packing */
    double dead_band, apex, apex_rate; /* closure.h */
    bool whole_room;        /* dual_assemble_dim.c: fill_gaps; dual_contact_dim.c: move_to_face */
    bool ties;              /* dual_tie_dim.c: nodes outside the free surface */
    bool split, merge;
    double split_ratio;
    int64_t most_per_cell;
    int64_t dump_problems, dump_every;
    char *dump_folder;
} rp__nonsmooth_params;

/* Fields added to the particles, in this order from the first. */
enum {
    RP__NS_GRADIENT,  /* c_p, 9 */
    RP__NS_ELLIPSOID, /* F_p, 6: xx yy zz xy xz yz */
    RP__NS_SIZE,      /* semi-axis of the sphere it was born with */
    RP__NS_FRICTION,  /* mu^ at the particle */
    RP__NS_COHESION,  /* c at the particle */
    RP__NS_LOOSENESS, /* s: volume that may be lost before grains touch, a part of their own */
    RP__NS_FIELDS,
    RP__NS_ORIENTATION = RP__NS_FIELDS /* nu, 6 as the ellipsoid; only when a material is anisotropic */
};

#endif
