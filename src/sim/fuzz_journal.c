/* Lines of a journal, whatever they hold: refused with a sentence, or performed; a line that was read is written to one that reads back
 * to itself. Never harm. To make a simulation costs a thousand times as much as to read a line: one input in 1024 is performed. */
#include "base/fuzz_choice.h"
#include "base/memory.h"
#include "sim/action.h"

#include <repose/repose.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rp_scene *scene;

static void release(void)
{
    rp_scene_destroy(scene);
    scene = NULL;
}

static void make(void)
{
    static const char text[] = "method: ballistic\ndomain: [0.6, 0.5, 0.5]\ncell_size: 10 cm\nduration: 1 s\nwalls: {all: slip, bottom: 0.5}\n"
                               "material: dry-sand\ngrains: [{shape: {sphere: {centre: [0.3, 0.25, 0.3], radius: 10 cm}}, per_cell: 2}]\n"
                               "bodies: [{name: ball, kind: free, shape: {sphere: {radius: 8 cm}}, position: [0.4, 0.2, 0.1]}]\n";
    if (rp_scene_parse(text, "fuzz", NULL, NULL, &scene) != RP_OK || atexit(release) != 0)
        abort();
}

/* What is written reads back to the same line. */
static void there_and_back(const char *line, size_t length)
{
    rp__action first, second;
    rp__text a = { 0 }, b = { 0 };
    if (rp__action_read(line, length, &first) != RP_OK) {
        if (rp_last_error()[0] == '\0')
            __builtin_trap();
        return;
    }
    if (rp__action_write(&first, &a) == RP_OK) {
        if (rp__action_read(a.data, (size_t)a.length - 1, &second) != RP_OK || rp__action_write(&second, &b) != RP_OK ||
            strcmp(a.data, b.data) != 0)
            __builtin_trap();
        rp__action_free(&second);
    }
    rp__action_free(&first);
    rp__text_free(&a);
    rp__text_free(&b);
}

static void perform(const char *text)
{
    rp_sim *sim = NULL;
    if (rp_sim_create(rp_scene_sim_def(scene), &sim) != RP_OK)
        abort();
    rp_sim_set_threads(sim, 1);
    rp_result result = rp_sim_replay(sim, text);
    for (int i = 0; i < 2 && result == RP_OK; i++)
        result = rp_sim_step(sim, NULL);
    if (result != RP_OK && rp_last_error()[0] == '\0')
        __builtin_trap();
    rp_sim_destroy(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096 || memchr(data, 0, size))
        return 0;
    if (!scene)
        make();
    size_t before = rp_memory_in_use();
    char *text = rp__base_alloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    for (const char *line = text; *line; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        there_and_back(line, length);
        line += length;
    }
    if (fuzz_chosen(data, size, 1024))
        perform(text);
    rp__base_free(text);
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
