/* In the place of this room where the component 'pictures' is left out: every function of <repose/grains.h> is there and refuses by name. */
#include "base/absent.h"

#include <repose/grains.h>

#define COMPONENT "'pictures' (grain samples)"

REFUSE(rp_samples_seed, const rp_samples_def *def, const rp_frame *frame, rp_samples *out)
REFUSE(rp_samples_advance, const rp_samples_def *def, const rp_samples *samples, const rp_frame *before, const rp_frame *after, rp_samples *out)
REFUSE(rp_samples_write, const rp_samples *samples, const char *path)
REFUSE(rp_samples_read, const char *path, rp_samples *out)
REFUSE(rp_upsample_create, const rp_upsample_def *def, rp_upsample **out)
REFUSE(rp_upsample_fill, rp_upsample *upsample, const rp_shape *hull, const rp_frame *bodies)
REFUSE(rp_upsample_add, rp_upsample *upsample, const double position[3], const double velocity[3], int64_t guide, const rp_frame *bodies)
REFUSE(rp_upsample_put, rp_upsample *upsample, const double position[3], const double velocity[3])
REFUSE(rp_upsample_step, rp_upsample *upsample, const rp_guides *guides, const rp_frame *bodies, double bodies_moved, double dt)
REFUSE(rp_samples_fine_seed, const rp_upsample_def *def, const rp_grains_def *grains, int grains_count, const rp_frame *frame, rp_samples *out)
REFUSE(rp_samples_fine_advance, const rp_upsample_def *def, const rp_samples *samples, const rp_frame *before, const rp_frame *after, rp_samples *out)
REFUSE(rp_upsample_guide_radius, const rp_frame *frame, double *radius)

/* What has no result: nothing was ever made, so there is nothing to tell or to free. */
GIVE(rp_samples_def, ((rp_samples_def){ 0 }), rp_default_samples_def, void)
GIVE(rp_samples_def, ((rp_samples_def){ 0 }), rp_samples_def_of, const rp_sim_def *sim, const rp_shape **bodies)
NOTHING(rp_samples_free, rp_samples *samples)
GIVE(uint64_t, 0, rp_samples_frame_sum, const rp_frame *frame)
NOTHING(rp_samples_positions, const rp_samples *samples, const rp_frame *frame, int64_t begin, int64_t end, double *x, double *y, double *z)
GIVE(rp_upsample_def, ((rp_upsample_def){ 0 }), rp_default_upsample_def, void)
NOTHING(rp_upsample_destroy, rp_upsample *upsample)
NOTHING(rp_upsample_set_gravity, rp_upsample *upsample, const double gravity[3])
GIVE(int64_t, 0, rp_upsample_count, const rp_upsample *upsample)
GIVE(rp_upsample_stats, ((rp_upsample_stats){ 0 }), rp_upsample_statistics, const rp_upsample *upsample)
NOTHING(rp_upsample_view, const rp_upsample *upsample, const float *x[3], const float *v[3], const uint8_t **tone)
