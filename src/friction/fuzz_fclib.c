/* Reads any bytes as an FCLIB file; what can be read is solved for a moment. */
#include "friction/fclib.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_friction *problem = NULL;
    if (rp__friction_read_image(data, size, &problem) != RP_OK)
        return 0;
    rp_friction_options options = rp_default_friction_options();
    options.max_iterations = 20;
    options.threads = 1;
    double *r = calloc((size_t)(problem->contacts * problem->dimension) + 1, sizeof *r);
    if (r)
        (void)rp_friction_solve(problem, &options, r, NULL, NULL);
    free(r);
    rp_friction_destroy(problem);
    return 0;
}
