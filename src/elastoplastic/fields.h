/* Node fields for output, made from the particles when they are asked for. */
#ifndef RP_ELASTOPLASTIC_FIELDS_H
#define RP_ELASTOPLASTIC_FIELDS_H

#include "elastoplastic/elastoplastic.h"
#include "grid/grid.h"

enum { RP_EP_VIEWS = 7 };

typedef struct rp__elastoplastic_views {
    double *data;
    int64_t capacity;
    rp_field_view view[RP_EP_VIEWS];
} rp__elastoplastic_views;

/* Means around the nodes of the grid that have particles near: position, velocity, pressure, shear_stress, volume_fraction,
 * stress, region (0 take-off, 1 stick, 2 slide). Particles are only read; they need not be sorted. */
rp_result RP_D(rp__elastoplastic_node_fields)(const rp__grid *g, const rp__world *world, int first_field, bool single,
                                              bool has_gradient, rp__elastoplastic_views *views, int64_t *nodes);

#endif
