/* Looking into a simulation from a test. */
#ifndef RP_TESTS_SIM_TESTS_H
#define RP_TESTS_SIM_TESTS_H

#include "cmocka_test.h"

#include <repose/repose.h>

/* A component of a double field, by particle. */
static inline const double *plane(const rp_sim *sim, const char *name, int component)
{
    rp_field_view view;
    if (rp_sim_field_named(sim, name, &view) != RP_OK)
        fail_msg("%s", rp_last_error());
    return (const double *)view.data + component * view.stride;
}

/* A hash of everything the next step depends on (FNV-1a). */
static inline uint64_t hash_state(const rp_sim *sim)
{
    rp_state state;
    assert_int_equal(rp_sim_save(sim, &state), RP_OK);
    uint64_t h = 14695981039346656037u;
    for (int b = 0; b < state.count; b++) {
        bool wide = state.blobs[b].type == RP_F64 || state.blobs[b].type == RP_I64;
        const unsigned char *bytes = state.blobs[b].data;
        for (int64_t i = 0; i < state.blobs[b].count * (wide ? 8 : 4); i++)
            h = (h ^ bytes[i]) * 1099511628211u;
    }
    rp_state_free(&state);
    return h;
}

/* sum of mass × velocity along an axis, over the mass */
static inline double mean_velocity(const rp_sim *sim, int axis)
{
    const double *mass = plane(sim, "mass", 0), *velocity = plane(sim, "velocity", axis);
    double momentum = 0, total = 0;
    for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
        momentum += mass[i] * velocity[i], total += mass[i];
    return momentum / total;
}

#endif
