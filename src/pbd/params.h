/* Parameters of `pbd`; the table is in pbd.c. */
#ifndef RP_PBD_PARAMS_H
#define RP_PBD_PARAMS_H

#include <repose/sim.h>

/* Which law a contact obeys: Coulomb's cone with remembered forces, Macklin's friction by depth, or the law as printed in [sommer2022]. */
typedef enum rp__pbd_law { RP_PBD_CONE, RP_PBD_MACKLIN, RP_PBD_SEED } rp__pbd_law;

/* What free bodies are, and what scripted ones are to grains. */
typedef enum rp__pbd_body_kind { RP_PBD_LEVEL_SET, RP_PBD_SHAPE_MATCHING } rp__pbd_body_kind;
typedef enum rp__pbd_boundary { RP_PBD_SURFACE, RP_PBD_PARTICLES } rp__pbd_boundary;

/* Step and sweeps together. */
typedef enum rp__pbd_quality { RP_PBD_DRAFT, RP_PBD_STANDARD, RP_PBD_FINE, RP_PBD_FINEST } rp__pbd_quality;

typedef struct rp__pbd_params {
    int contact;           /* rp__pbd_law */
    double radius;         /* of every grain [m]; 0: half a cell */
    int quality;           /* rp__pbd_quality: step and sweeps, where they are not given */
    double step;           /* longest step [s]; 0: by quality */
    int64_t sweeps;        /* 0: by quality */
    double friction;       /* between grains; below zero: from the materials, by the angle of their heaps */
    double kinetic;        /* part of the friction left once a contact slips */
    bool settle;           /* begin as densely as a bed that has settled */
    double margin;         /* pairs farther apart than 2 r (1 + margin) are not looked at */
    int64_t stabilisation; /* macklin and seed: sweeps that undo overlaps at the beginning of a step */
    int body;              /* rp__pbd_body_kind */
    int boundary;          /* rp__pbd_boundary */
    double mass_scaling;   /* macklin and seed: k of m* = m exp(-k height) [1/m] */
} rp__pbd_params;

/* r: as given, or half a cell. */
static inline double rp__pbd_radius(const rp_sim_def *def, const rp__pbd_params *par)
{
    return par->radius > 0 ? par->radius : 0.5 * def->cell_size;
}

double rp__pbd_longest_step(const rp__pbd_params *par);
int64_t rp__pbd_sweeps(const rp__pbd_params *par);

#endif
