/* Parameters of the method `diphasic`; the table is in diphasic.c. */
#ifndef RP_DIPHASIC_PARAMS_H
#define RP_DIPHASIC_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rp__diphasic_dilatancy { RP__DILATANCY_NONE, RP__DILATANCY_ROUX_RADJAI } rp__diphasic_dilatancy;
typedef enum rp__diphasic_coupling { RP__COUPLING_EFFECTIVE, RP__COUPLING_ALTERNATE } rp__diphasic_coupling;

typedef struct rp__diphasic_params {
    double tolerance;        /* of the mean residual, in units of the typical stress */
    double tolerance_max;    /* of the largest one */
    int64_t max_rounds;
    int coupling;            /* rp__diphasic_coupling */
    bool warm_start, momentum, advection, full_cells, bending;
    double viscosity_tolerance;
    double stabilisation;    /* ε: how much of the pressure operator is the ordinary Laplacian */
    int dilatancy;           /* rp__diphasic_dilatancy */
    double dilatancy_slope;  /* K of tan psi = K (phi - phi_eq) */
    double critical_fraction; /* phi_c */
    double loosest_fraction; /* phi_rlp: below it grains at rest do not touch */
    double largest_dilatancy; /* of |tan psi| */
    double viscous_number;   /* J0 of friction that grows with J = eta rate / pressure */
} rp__diphasic_params;

enum { RP__DIPHASIC_BODIES = 64 }; /* at most */

/* Fields added to the particles, in this order from the first. */
enum {
    RP__DP_GRADIENT,  /* c_p, 9 */
    RP__DP_LOOSENESS, /* s: bulk volume that may be lost before grains touch, a part of the packed volume */
    RP__DP_PACKING,   /* volume fraction of the material around the particle, by its own strain */
    RP__DP_FIELDS
};

#endif
