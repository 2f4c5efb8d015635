/* The numbers of rp_sim_def in one list: defaults, range check, the scene reader, its schema and its reference come from it. To add a
 * parameter is a member in rp_sim_def, a line here, and its use. */
#ifndef RP_SIM_SETTINGS_H
#define RP_SIM_SETTINGS_H

#include <repose/sim.h>

/* REAL and WHOLE: member, its C type, initial, least, most, unit, help. CHOICE: member, its C type, initial, last, help, choices. */
#define RP__SIM_SETTINGS(REAL, WHOLE, CHOICE)                                                                                              \
    REAL(duration, double, 1, 0, 1e12, "s", "simulated time; the last frame is the first that is not before it")                           \
    REAL(frame_rate, double, 24, 1e-9, 1e9, "1/s", "frames a second")                                                                      \
    REAL(cfl, double, 1, 1e-3, 100, "", "cells the fastest particle may cross in a step")                                                  \
    REAL(dt_min, double, 0, 0, 1e9, "s", "shortest step; 0 for no limit")                                                                  \
    REAL(dt_max, double, 0, 0, 1e9, "s", "longest step; 0 for a frame")                                                                    \
    WHOLE(substeps, int, 0, 0, 1000000, "", "this many equal steps a frame, whatever the CFL says; 0 to adapt")                            \
    CHOICE(outside, rp_outside, RP_OUTSIDE_DELETE, 2, "what happens to particles that leave the domain", "error|delete|clamp")             \
    REAL(speed_limit, double, 0, 0, 1e12, "m/s", "above it the run has diverged; 0 for 1e5 cells a frame")                                 \
    WHOLE(particle_limit, int64_t, 200000000, 0, 1e12, "", "refuse to make more particles")                                                \
    WHOLE(seed, uint64_t, 0, 0, 9007199254740992.0, "", "of everything random; the same seed gives the same bytes")                        \
    WHOLE(threads, int, 0, 0, 4096, "", "0 for all cores; never changes a result")

#endif
