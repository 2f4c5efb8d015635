/* What the tests of actions share: a room with a paddle, a ball and a rotor beside a bed of sand. */
#ifndef RP_SIM_ACTION_TESTS_H
#define RP_SIM_ACTION_TESTS_H

#include "sim_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROOM                                                                                                      \
    "domain: [0.6, 0.4, 0.4]\ncell_size: 5 cm\nduration: 0.3 s\nframe_rate: 20\n"                                  \
    "walls: {all: slip, bottom: 0.5}\nmaterial: {preset: dry-sand, youngs_modulus: 10 kPa}\n"                      \
    "grains: [{shape: {box: {lower: [0.05, 0, 0], upper: [0.3, 0.4, 0.1]}}, per_cell: 2}]\n"                       \
    "bodies:\n"                                                                                                    \
    "- {name: paddle, shape: {box: {lower: [-0.02, -0.15, 0], upper: [0.02, 0.15, 0.1]}}, position: [0.4, 0.2, 0.02]}\n" \
    "- {name: ball, kind: free, shape: {sphere: {radius: 5 cm}}, position: [0.5, 0.1, 0.3]}\n"                     \
    "- {name: rotor, kind: free, shape: {sphere: {radius: 3 cm}}, position: [0.5, 0.3, 0.3],\n"                    \
    "   joint: {kind: hinge, point: [0.5, 0.3, 0.2], axis: [0, 1, 0]}, motor: {angular_speed: 1}}\n"

enum { PADDLE, BALL, ROTOR };

static const double still[4] = { 1, 0, 0, 0 }, zero[3] = { 0, 0, 0 };

static inline rp_sim *make(const char *scene_text)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    if (rp_scene_parse(scene_text, "test", NULL, NULL, &scene) != RP_OK || rp_sim_create(rp_scene_sim_def(scene), &sim) != RP_OK)
        fail_msg("%s", rp_last_error());
    rp_scene_destroy(scene);
    rp_sim_set_threads(sim, 1);
    return sim;
}

static inline void ok(rp_result result)
{
    if (result != RP_OK)
        fail_msg("%s: %s", rp_result_name(result), rp_last_error());
}

static inline void refused(rp_result result, rp_result expected, const char *word)
{
    if (result != expected || !strstr(rp_last_error(), word))
        fail_msg("%s, '%s', where '%s' should be said", rp_result_name(result), rp_last_error(), word);
}

static inline rp_body_state body(const rp_sim *sim, int index)
{
    rp_body_state state;
    ok(rp_sim_body(sim, index, &state));
    return state;
}

#endif
