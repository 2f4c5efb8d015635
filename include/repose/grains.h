/* Grain samples: many points to look at for each particle. They are carried along by the particles around them and never leave
 * the material: each stays in the ellipsoid of the particle that owns it. */
#ifndef REPOSE_GRAINS_H
#define REPOSE_GRAINS_H

#include <repose/export.h>
#include <repose/output.h>
#include <repose/result.h>
#include <repose/shape.h>
#include <stdbool.h>
#include <stdint.h>

RP_BEGIN

typedef struct rp_samples_def {
    double per_particle;          /* of a particle of mean volume */
    uint64_t seed;
    int dim;
    double cell_size;
    double volume_fraction;       /* of packed grains: turns volumes into sizes where a frame has no ellipsoids */
    double lower[3], upper[3];    /* of the domain */
    bool open[6];                 /* faces that samples may cross: -x +x -y +y -z +z */
    const rp_shape *const *bodies; /* shape of body b of the frames, in its own frame; NULL entries are left out */
    const rp_body_def *deforming;  /* definitions of the same bodies: one with a sequence has its shape at the time of the frame; or NULL */
    int body_count;
} rp_samples_def;
RP_API rp_samples_def rp_default_samples_def(void);
/* From the definition of a run: domain, walls, bodies. `bodies` must have room for sim->body_count pointers. */
RP_API rp_samples_def rp_samples_def_of(const rp_sim_def *sim, const rp_shape **bodies);

/* Samples of one frame, in the order of its particles: those of particle i are first[i] … first[i + 1] - 1. */
typedef struct rp_samples {
    int64_t particles, count, frame;
    int64_t *first;               /* particles + 1 */
    int16_t *offset;              /* 3 a sample: from the particle, in units of scale / 32767 */
    uint8_t *tone;                /* kept for life: chooses colour and tilt of the grain */
    double scale;                 /* [m] */
    double unit_volume;           /* volume of grains that a sample stands for */
    uint64_t frame_sum;           /* rp_samples_frame_sum of the frame they belong to */
    float *place, *velocity;      /* of upsampling: 3 a sample, in space, instead of offsets; else NULL */
} rp_samples;
RP_API void rp_samples_free(rp_samples *samples);

/* Fresh samples in the ellipsoids of a frame. */
RP_API rp_result rp_samples_seed(const rp_samples_def *def, const rp_frame *frame, rp_samples *out);
/* The samples of `before` moved to the frame `after`: the fit of the motion of the particles around carries them; a sample that
 * leaves its ellipsoid goes to another that holds it, or back to the rim. Particles that split, merge, appear and vanish
 * are found by their ids. */
RP_API rp_result rp_samples_advance(const rp_samples_def *def, const rp_samples *samples, const rp_frame *before,
                                    const rp_frame *after, rp_samples *out);

/* A checksum of the positions of a frame: samples of an earlier run in the same folder are known by it. */
RP_API uint64_t rp_samples_frame_sum(const rp_frame *frame);

/* Positions of the samples of particles begin … end - 1, from plane index 0 on. */
RP_API void rp_samples_positions(const rp_samples *samples, const rp_frame *frame, int64_t begin, int64_t end, double *x,
                                 double *y, double *z);

/* 7 bytes a sample and 2 a particle, with a checksum. */
RP_API rp_result rp_samples_write(const rp_samples *samples, const char *path);
RP_API rp_result rp_samples_read(const char *path, rp_samples *out);

/* ---- upsampling: fine grains that particles lead, with places and velocities of their own ----
 *
 * For methods whose particles are balls: many fine grains for each of them, which keep out of bodies and walls, fall where no particle is
 * near and stay where particles stay. Made for every frame while a run goes on, or afterwards from its frames (docs/grains.md). */

typedef struct rp_upsample_def {
    rp_samples_def room;          /* domain, open faces, bodies, seed */
    double radius;                /* of the fine grains [m] */
    double guide_radius;          /* of the particles that lead them [m] */
    double gravity[3];
    const rp_sink_def *sinks;     /* grains in them are taken away */
    int sink_count;
    bool as_printed;              /* without the rule that keeps gravity out of dense sand: to compare with */
} rp_upsample_def;
RP_API rp_upsample_def rp_default_upsample_def(void);

/* Particles at the beginning of a step, and their mean velocities over it: planes of `count` numbers. */
typedef struct rp_guides {
    int64_t count;
    const double *x[3], *v[3];
} rp_guides;

typedef struct rp_upsample_stats {
    int64_t blocks, still;        /* blocks of 64 grains, and those that had nothing to do */
    int64_t falling;              /* grains on which gravity acts */
} rp_upsample_stats;

typedef struct rp_upsample rp_upsample;
RP_API rp_result rp_upsample_create(const rp_upsample_def *def, rp_upsample **out);
RP_API void rp_upsample_destroy(rp_upsample *upsample);
/* Fills a shape with fine grains, as many as fit in at random, out of the bodies of a frame (NULL: none). */
RP_API rp_result rp_upsample_fill(rp_upsample *upsample, const rp_shape *hull, const rp_frame *bodies);
/* Fine grains around a new particle: as many as its volume holds. `guide` is its id. */
RP_API rp_result rp_upsample_add(rp_upsample *upsample, const double position[3], const double velocity[3], int64_t guide, const rp_frame *bodies);
/* One grain. */
RP_API rp_result rp_upsample_put(rp_upsample *upsample, const double position[3], const double velocity[3]);
/* For the steps that follow. */
RP_API void rp_upsample_set_gravity(rp_upsample *upsample, const double gravity[3]);
/* One step of length dt, about 1/60 s. Bodies stand as in the frame, at the end of the step; no point of them went farther than
 * `bodies_moved` in it. Same bytes for any number of threads, and for each grain whatever the others are. */
RP_API rp_result rp_upsample_step(rp_upsample *upsample, const rp_guides *guides, const rp_frame *bodies, double bodies_moved, double dt);
RP_API int64_t rp_upsample_count(const rp_upsample *upsample);
RP_API rp_upsample_stats rp_upsample_statistics(const rp_upsample *upsample);
/* Planes of places, from the lower corner of the domain, and velocities (or NULL), and tones (or NULL); valid until the next call. */
RP_API void rp_upsample_view(const rp_upsample *upsample, const float *x[3], const float *v[3], const uint8_t **tone);

/* Samples by upsampling, from frames alone: fresh ones in the shapes that were filled at the start (and around other particles), and those of
 * one frame moved to the next. The radius of the guides, from the volumes of a frame. */
RP_API rp_result rp_samples_fine_seed(const rp_upsample_def *def, const rp_grains_def *grains, int grains_count, const rp_frame *frame, rp_samples *out);
RP_API rp_result rp_samples_fine_advance(const rp_upsample_def *def, const rp_samples *samples, const rp_frame *before, const rp_frame *after,
                                         rp_samples *out);
RP_API rp_result rp_upsample_guide_radius(const rp_frame *frame, double *radius);

RP_END
#endif
