/* Reads any bytes as an FCLIB file; what can be read is solved for a moment; nothing is lost. */
#include "friction/fclib.h"

#include <repose/memory.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_image(const uint8_t *data, size_t size)
{
    rp_friction *problem = NULL;
    if (rp__friction_read_image(data, size, "image", &problem) != RP_OK) {
        if (rp_last_error()[0] == '\0')
            __builtin_trap();
        return;
    }
    rp_friction_options options = rp_default_friction_options();
    options.max_iterations = 20;
    options.threads = 1;
    double *r = calloc((size_t)(problem->contacts * problem->dimension) + 1, sizeof *r);
    if (r)
        (void)rp_friction_solve(problem, &options, r, NULL, NULL);
    free(r);
    rp_friction_destroy(problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t before = rp_memory_in_use();
    try_image(data, size);
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
