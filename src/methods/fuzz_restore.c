/* Checkpoints whose checksums are right and whose numbers are not: arrays of a real state are overwritten, shortened, renamed and
 * dropped, then restored. Refused with a sentence, or a state from which a step can be tried; never harm. */
#include "base/fuzz_choice.h"
#include "base/memory.h"

#include <repose/repose.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { METHODS = 6 };

static const char *const scenes[METHODS] = {
    "method: ballistic\n"
    "domain: [0.6, 0.5, 0.5]\ncell_size: 10 cm\nduration: 1 s\nwalls: {all: slip, bottom: 0.5}\nmaterial: dry-sand\n"
    "grains: [{shape: {sphere: {centre: [0.3, 0.25, 0.3], radius: 10 cm}}, per_cell: 2}]\n"
    "emitters: [{shape: {box: {lower: [0.1, 0.1, 0.4], upper: [0.3, 0.3, 0.45]}}, rate: 2 l/s, velocity: [0, 0, -1]}]\n"
    "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: [0.4, 0.2, 0.1]}]\n",
    "method: nonsmooth\n"
    "domain: [0.6, 0.4]\ncell_size: 10 cm\nduration: 1 s\nwalls: {all: slip, bottom: stick}\n"
    "material: {friction: 0.4, cohesion: 10, cohesion_decay: 1, anisotropy: 0.3, elongation: 0.5}\n"
    "grains: [{shape: {box: {lower: [0, 0], upper: [0.25, 0.3]}}, per_cell: 4}]\n"
    "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: [0.45, 0.2, 0]}]\n",
    "method: pbd\n"
    "domain: [0.6, 0.5, 0.5]\ncell_size: 10 cm\nduration: 1 s\nwalls: {all: slip, bottom: 0.5}\nmaterial: dry-sand\n"
    "grains: [{shape: {sphere: {centre: [0.3, 0.25, 0.3], radius: 15 cm}}}]\npbd: {radius: 3 cm}\n"
    "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: [0.4, 0.2, 0.1]}]\n",
    "method: elastoplastic\n"
    "domain: [0.6, 0.4]\ncell_size: 10 cm\nduration: 1 s\nframe_rate: 500\nwalls: {all: slip, bottom: stick}\n"
    "material: {preset: dry-sand, youngs_modulus: 100 kPa}\n"
    "grains: [{shape: {box: {lower: [0, 0], upper: [0.25, 0.3]}}, per_cell: 4}]\n",
    "method: contact\n"
    "domain: [0.6, 0.5, 0.5]\ncell_size: 10 cm\nduration: 1 s\nwalls: {all: slip, bottom: 0.5}\nmaterial: dry-sand\n"
    "grains: [{shape: {sphere: {centre: [0.3, 0.25, 0.2], radius: 15 cm}}, per_cell: 0.5}]\n"
    "fibres: [{curve: [[0.1, 0.2, 0.4], [0.3, 0.2, 0.4]], radius: 5 mm, segments: 4, youngs_modulus: 1 MPa, root: clamped}]\n"
    "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: [0.4, 0.2, 0.1]}]\n",
    "method: diphasic\n"
    "domain: [0.6, 0.4]\ncell_size: 10 cm\nduration: 1 s\nwalls: {all: slip, bottom: stick}\nmaterial: dry-sand\n"
    "fluid: {density: 1000, viscosity: 0.01}\n"
    "grains: [{shape: {box: {lower: [0, 0], upper: [0.25, 0.3]}}, per_cell: 4}]\n"
    "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: [0.45, 0.2, 0]}]\n",
};

static rp_scene *scene[METHODS];
static rp_state good[METHODS]; /* after two steps */
static rp_sim *kept[METHODS];  /* restored again and again: making one takes nine times as long as the rest */

/* At the end; an empty array ends where its memory does, which looks lost to a leak checker. */
static void release(void)
{
    for (int m = 0; m < METHODS; m++) {
        rp_sim_destroy(kept[m]);
        rp_state_free(&good[m]);
        rp_scene_destroy(scene[m]);
        scene[m] = NULL;
    }
}

static rp_sim *make_sim(int m)
{
    rp_sim *sim = NULL;
    if (rp_sim_create(rp_scene_sim_def(scene[m]), &sim) != RP_OK)
        abort();
    rp_sim_set_threads(sim, 1);
    return sim;
}

static void make(int m)
{
    static bool noted;
    if (!noted && atexit(release) == 0)
        noted = true;
    if (rp_scene_parse(scenes[m], "fuzz", NULL, NULL, &scene[m]) != RP_OK)
        abort();
    rp_sim *sim = make_sim(m);
    if (rp_sim_step(sim, NULL) != RP_OK || rp_sim_step(sim, NULL) != RP_OK || rp_sim_save(sim, &good[m]) != RP_OK)
        abort();
    kept[m] = sim;
}

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static unsigned take(input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

static void put_value(input *in, rp_blob *blob, int64_t at)
{
    static const double reals[] = { 0, -1, 1e300, -1e300, 1e-300, 0.3, 5, 1e9, -1e9 };
    static const int64_t wholes[] = { 0, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 1, 2, 1000000 };
    unsigned which = take(in) % 12;
    double real = which < 9 ? reals[which] : which == 9 ? (double)__builtin_nanf("") : which == 10 ? (double)__builtin_inff() : take(in) / 64.0;
    int64_t whole = which < 9 ? wholes[which] : (int64_t)take(in);
    switch (blob->type) {
    case RP_F64:
        ((double *)blob->data)[at] = real;
        break;
    case RP_F32:
        ((float *)blob->data)[at] = real > 1e38 || real < -1e38 ? __builtin_inff() : (float)real;
        break;
    case RP_I64:
        ((int64_t *)blob->data)[at] = whole;
        break;
    case RP_I32:
        ((int32_t *)blob->data)[at] = (int32_t)(uint32_t)whole;
        break;
    default:
        break;
    }
}

/* One change to a state. */
static void harm(input *in, rp_state *state)
{
    rp_blob *blob = &state->blobs[take(in) % (unsigned)state->count];
    unsigned what = take(in);
    if (what < 200 && blob->count > 0)
        put_value(in, blob, (int64_t)(what + 251u * take(in)) % blob->count);
    else if (what < 220 && blob->count > 0)
        blob->count--;
    else if (what < 230)
        blob->name[0] = 'x';
    else if (what < 240)
        blob->type = blob->type == RP_F64 ? RP_I64 : blob->type == RP_I64 ? RP_F64 : blob->type;
    else
        for (int64_t i = 0; i < blob->count; i++)
            put_value(in, blob, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > 64)
        return 0;
    int m = data[0] % METHODS;
    if (!scene[m])
        make(m);
    bool fresh = fuzz_chosen(data, size, 16); /* a simulation of its own, after which nothing may be left */
    size_t before = rp_memory_in_use();
    rp_state state = { 0 };
    for (int b = 0; b < good[m].count; b++)
        if (rp_state_add(&state, good[m].blobs[b].name, good[m].blobs[b].type, good[m].blobs[b].count, good[m].blobs[b].data) != RP_OK)
            abort();
    input in = { data + 1, size - 1 };
    while (in.size > 0)
        harm(&in, &state);
    rp_sim *sim = fresh ? make_sim(m) : kept[m];
    rp_result result = rp_sim_restore(sim, &state);
    if (result == RP_OK)
        result = rp_sim_step(sim, NULL);
    if (result != RP_OK && rp_last_error()[0] == '\0')
        __builtin_trap();
    rp_state_free(&state);
    if (fresh) {
        rp_sim_destroy(sim);
        if (rp_memory_in_use() != before)
            __builtin_trap();
    }
    return 0;
}
