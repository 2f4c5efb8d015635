/* What `render` and `sheet` share: options of pictures, and a film opened from them. */
#ifndef REPOSE_APPS_PICTURE_OPTIONS_H
#define REPOSE_APPS_PICTURE_OPTIONS_H

#include "options.h"

#include <math.h>
#include <repose/render.h>

typedef struct picture_line {
    const char *view, *colour, *size, *quality, *range;
    double grains, upsample, shutter, aperture, turntable;
    int samples, threads;
    bool time, no_legend;
} picture_line;

#define PICTURE_DEFAULTS { .grains = -1, .upsample = -1, .shutter = NAN, .aperture = NAN, .turntable = NAN }

#define PICTURE_OPTIONS(type, member)                                                                                        \
    { "--view", 'v', OPT_TEXT, offsetof(type, member.view), "VIEW",                                                          \
      "auto, iso, front, side, top, close, ortho-NAME, x,y,z or x,y,z:x,y,z (camera and target in metres)" },                \
    { "--color", 'c', OPT_TEXT, offsetof(type, member.colour), "FIELD",                                                      \
      "material, or a field: velocity, velocity.z, pressure, phi, friction, region, ..." },                                                 \
    { "--colour", 0, OPT_TEXT, offsetof(type, member.colour), "FIELD", "the same" },                                         \
    { "--range", 0, OPT_TEXT, offsetof(type, member.range), "LOW:HIGH", "values of the first and the last colour" },         \
    { "--size", 's', OPT_TEXT, offsetof(type, member.size), "WxH", "size of a picture in pixels" },                          \
    { "--quality", 'q', OPT_TEXT, offsetof(type, member.quality), "NAME", "draft, good or best" },                           \
    { "--samples", 0, OPT_INT, offsetof(type, member.samples), "N", "light paths a pixel, in place of the quality's" },      \
    { "--grains", 'g', OPT_REAL, offsetof(type, member.grains), "N", "render samples a particle; 0 for the particles" },     \
    { "--upsample", 0, OPT_REAL, offsetof(type, member.upsample), "R", "radius [m] of fine grains that particles lead (pbd); 0 for none" }, \
    { "--shutter", 0, OPT_REAL, offsetof(type, member.shutter), "PART",                                                      \
      "motion blur: part of the frame time for which the shutter is open" },                                                 \
    { "--aperture", 0, OPT_REAL, offsetof(type, member.aperture), "METRES", "depth of field: radius of the lens" },          \
    { "--turntable", 0, OPT_REAL, offsetof(type, member.turntable), "TURNS", "turns a second about the target" },            \
    { "--time", 0, OPT_FLAG, offsetof(type, member.time), NULL, "writes the time into each picture" },                       \
    { "--no-legend", 0, OPT_FLAG, offsetof(type, member.no_legend), NULL, "no legend with a field" },                        \
    { "--threads", 't', OPT_INT, offsetof(type, member.threads), "N", "threads; 0 for all cores" }

/* -1 to go on, or the exit code after a sentence on standard error. */
int picture_film_def(const picture_line *line, rp_quality usual, rp_film_def *def);

/* Opens the film of a run; a view or colour that the run does not have is wrong usage. -1 to go on, or the exit code. */
int picture_open(const char *folder, const rp_film_def *def, rp_film **film);

#endif
