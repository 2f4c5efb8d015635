/* Packing: how much is packed too tightly, the law of dilatancy that restores it as it is sheared (closure.h), and velocities that carry
 * particles without gathering
 * them in every second row. */
#include "nonsmooth/system.h"

#include "exec/exec.h"

#include <math.h>
#include <string.h>

static void error_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const ns_system *y = context;
    for (int64_t i = begin; i < end; i++) {
        if (!(y->volume[i] > 0))
            continue;
        double over = y->bulk[i] - y->room[i];
        sum[0] += over > 0 ? over : 0;
        sum[1] += y->bulk[i];
    }
}

/* Sum of max(0, phi - phi_max), as a part of the material. */
double NS(volume_error)(ns_system *y)
{
    double sum[2];
    rp__exec_sum((int64_t)y->grid.blocks * RP_BLOCK_NODES, 4096, 2, error_chunk, y, sum);
    return sum[1] > 0 ? sum[0] / sum[1] : 0;
}

/* Neighbour n of 3^d: its place in the tile, and its weight in [1 2 1] / 4 along each axis. */
static int around(int local, int n, double *weight)
{
    int x = n % 3 - 1, v = n / 3 % 3 - 1, z = RP_DIM == 3 ? n / 9 - 1 : 0;
    *weight = (x ? 1 : 2) * (v ? 1 : 2) * (z ? 1 : 2);
    return ns_tile_of_local(local) + x + NS_TILE_SIDE * (v + NS_TILE_SIDE * z);
}

/* Rate of shear sqrt(2 D':D') at a stress, D' the deviator of the strain rate D, and |D| = sqrt(D:D), of the velocities before the solve
 * (what gravity adds has no gradient). The operator is not scaled
 * yet. */
double NS(shear_at)(const ns_system *y, int64_t block, int local, double *strain)
{
    int64_t i = block * RP_BLOCK_NODES + local;
    const double *g = y->g + i * y->stencil * RP_DIM;
    double c[3][3] = { { 0 } }, trace = 0, sum = 0;
    for (int n = 0; n < y->stencil; n++) {
        int64_t j = ns_tile_node(y, block, ns_tile_of_local(local) + y->offset[n]);
        for (int r = 0; j >= 0 && r < RP_DIM; r++)
            for (int q = 0; q < RP_DIM; q++)
                c[r][q] += ns_velocity(y, j)[r] * g[n * RP_DIM + q] / y->volume[i];
    }
    for (int r = 0; r < RP_DIM; r++)
        trace += c[r][r];
    for (int r = 0; r < RP_DIM; r++)
        for (int q = 0; q < RP_DIM; q++) {
            double d = 0.5 * (c[r][q] + c[q][r]) - (r == q ? trace / RP_DIM : 0);
            sum += d * d;
        }
    *strain = sqrt(sum + trace * trace / RP_DIM);
    return sqrt(2 * sum);
}

/* phi / phi_max - 1 in its own place and over that and its neighbours: the one that is nearer to zero, for what sampling does to one node
 * is no packing. *least: how full the
 * emptiest of the places around is. */
static double excess(const ns_system *y, int64_t block, int local, double *least)
{
    int64_t i = block * RP_BLOCK_NODES + local;
    double bulk = 0, room = 0, none = 1e-3 * pow(y->lattice.h, RP_DIM), weight;
    *least = INFINITY;
    for (int n = 0; n < NS_STENCIL; n++) {
        int64_t j = ns_tile_node(y, block, around(local, n, &weight));
        if (j < 0 || !(y->volume[j] > 0)) {
            *least = j >= 0 && !(y->room[j] > 0) ? *least : 0; /* behind a wall there is no room to fill */
            continue;
        }
        double fill = y->room[j] > none ? y->bulk[j] / y->room[j] : 1;
        *least = fill < *least ? fill : *least;
        bulk += weight * y->bulk[j], room += weight * y->room[j];
    }
    if (!(room > 0))
        return 0;
    double wide = bulk / room - 1, own = y->room[i] > none ? y->bulk[i] / y->room[i] - 1 : wide;
    return wide * own <= 0 ? 0 : fabs(wide) < fabs(own) ? wide : own;
}

double NS(dilation_at)(const ns_system *y, int64_t block, int local, double mu, double shear, double dt)
{
    if (!(shear > 0) || !(y->params->dilatancy > 0))
        return 0;
    double least, over = excess(y, block, local, &least);
    return ns_dilation(over, least > NS_INSIDE, y->params->dilatancy, y->params->volume_tolerance, y->params->dead_band, mu, shear, dt);
}

/* Inside, without the part that alternates from node to node, else as they are. Stresses do not see that part, so nothing ends it, and it
 * would gather grains in every second row. */
static void calm_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    ns_system *y = context;
    double full = pow(y->lattice.h, RP_DIM), weight;
    (void)worker;
    for (int64_t block = begin; block < end; block++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            int64_t i = block * RP_BLOCK_NODES + l;
            ns_four sum = { 0 };
            double all = 0;
            bool inside = true;
            for (int n = 0; n < NS_STENCIL && inside; n++) {
                int64_t j = ns_tile_node(y, block, around(l, n, &weight));
                inside = j >= 0 && y->room[j] > NS_ROOMY * full && y->bulk[j] > NS_FILLED * y->room[j] && !y->stick[j];
                if (inside)
                    sum += weight * *(const ns_four *)(y->u + NS_PAD * j), all += weight;
            }
            *(ns_four *)(y->older + NS_PAD * i) = inside ? sum / all : *(const ns_four *)(y->u + NS_PAD * i);
        }
}

const double *NS(calm)(ns_system *y)
{
    rp__exec_for(y->grid.blocks, 4, calm_blocks, y);
    return y->older;
}
