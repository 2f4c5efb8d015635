/* The parts compiled for 2D and 3D. */
#ifndef RP_ELASTOPLASTIC_STEP_H
#define RP_ELASTOPLASTIC_STEP_H

#include "elastoplastic/elastoplastic.h"

rp_result rp__elastoplastic_create_2d(rp__world *world, int first_field, void **out);
rp_result rp__elastoplastic_create_3d(rp__world *world, int first_field, void **out);
void rp__elastoplastic_destroy_2d(void *self);
void rp__elastoplastic_destroy_3d(void *self);
rp_result rp__elastoplastic_advance_2d(void *self, rp__world *world, double dt, rp_step_stats *stats);
rp_result rp__elastoplastic_advance_3d(void *self, rp__world *world, double dt, rp_step_stats *stats);

rp_result rp__elastoplastic_save_2d(const void *self, const rp__world *world, rp_state *out);
rp_result rp__elastoplastic_save_3d(const void *self, const rp__world *world, rp_state *out);
rp_result rp__elastoplastic_restore_2d(void *self, rp__world *world, const rp_state *in);
rp_result rp__elastoplastic_restore_3d(void *self, rp__world *world, const rp_state *in);
rp_result rp__elastoplastic_fields_2d(void *self, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes);
rp_result rp__elastoplastic_fields_3d(void *self, const rp__world *world, const rp_field_view **views, int *count, int64_t *nodes);

#endif
