/* What the method adds to the paper: every number of it, with its reason and unit. docs/elastoplastic.md tells users; parameters have their defaults in the
 * table of elastoplastic.c. */
#ifndef RP_ELASTOPLASTIC_CLOSURE_H
#define RP_ELASTOPLASTIC_CLOSURE_H

/* Grains that opened by more than this (logarithm of the volume) do not touch: the cone of what rests is not rounded for them. */
#define RP_EP_TOUCHING 0.01
/* By more than this, five times the volume, they are not bonded: cohesion is gone. */
#define RP_EP_BONDED 1.6094379124341003

/* Packings e within this of 1 (logarithm) cannot be told from the sampling by a few particles a cell: nothing is corrected. Test:
 * packing_has_its_say_where_sand_is_sheared. */
#define RP_EP_DEAD_BAND 0.05
/* Dilatancy of what is packed more tightly: d tr e = -K (ln e - delta) |shear rate| dt, as in nonsmooth. The same test; `volume_correction: false` turns it
 * off. */
#define RP_EP_DILATANCY 4.0

/* Volumes are made to agree once the relaxation would be this far, not every step: it is slow beside the elastic wave. */
#define RP_EP_SMOOTHING_STEP 0.05

#endif
