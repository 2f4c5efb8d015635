/* Over-packing: how much there is, and displacements that make room. */
#include "nonsmooth/system.h"

#include "exec/exec.h"

#include <math.h>

typedef struct job {
    const ns_system *y;
} job;

static void error_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const ns_system *y = ((job *)context)->y;
    for (int64_t i = begin; i < end; i++) {
        double v = y->volume[i];
        if (!(v > 0))
            continue;
        double over = y->bulk[i] - y->room[i];
        sum[0] += over > 0 ? over : 0;
        sum[1] += y->bulk[i];
    }
}

/* Sum of max(0, phi - phi_max), as a part of the material. */
double NS(volume_error)(const ns_system *y)
{
    job w = { y };
    double sum[2];
    rp__exec_sum((int64_t)y->grid.blocks * RP_BLOCK_NODES, 4096, 2, error_chunk, &w, sum);
    return sum[1] > 0 ? sum[0] / sum[1] : 0;
}
