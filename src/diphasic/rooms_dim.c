/* Fluid that bodies shut in.
 *
 * Cells all of whose corners are in bodies have no pressure. The others make rooms, joined by faces that fluid can pass. What comes into a room
 * that has no open face has to leave it: rounding is spread over its cells, and a body that presses on shut-in fluid is told as such. */
#include "diphasic/system.h"

#include "base/error.h"

#include <string.h>

/* The cell beyond a face of a cell, -1: none, or fluid cannot pass. */
static int64_t beyond(const dp_system *y, int64_t c, int axis, int side)
{
    int64_t at[3], other;
    dp_place(y->cells, c, at);
    other = dp_beyond(y, at, axis, side);
    return other >= 0 && rp__multigrid_faces(y->poisson, axis)[side ? c : other] > 0 ? other : -1;
}

void DP(find_rooms)(dp_system *y, const rp__world *world)
{
    y->rooms = 0;
    if (!world->body_count)
        return;
    memset(y->room, 0, (size_t)y->cell_count * sizeof *y->room);
    const double *ground = rp__multigrid_ground(y->poisson);
    int32_t next = 0;
    for (int64_t start = 0; start < y->cell_count; start++) {
        if (y->room[start] || !(rp__multigrid_diagonal(y->poisson, start) > 0))
            continue;
        int64_t count = 0;
        bool open = false;
        y->room[start] = ++next;
        y->room_queue[count++] = start;
        for (int64_t i = 0; i < count; i++) {
            int64_t c = y->room_queue[i];
            open = open || ground[c] > 0;
            for (int f = 0; f < 2 * RP_DIM; f++) {
                int64_t other = beyond(y, c, f / 2, f & 1);
                if (other >= 0 && !y->room[other])
                    y->room[other] = next, y->room_queue[count++] = other;
            }
        }
        for (int64_t i = 0; i < count && open; i++)
            y->room[y->room_queue[i]] = -1;
        next -= open;
    }
    for (int64_t c = 0; c < y->cell_count; c++)
        y->room[c] = y->room[c] < 0 ? 0 : y->room[c];
    y->rooms = next;
}

rp_result DP(balance_rooms)(const dp_system *y, const rp__world *world, double dt, double *rhs)
{
    for (int64_t c = 0; c < y->cell_count && world->body_count; c++)
        if (!(rp__multigrid_diagonal(y->poisson, c) > 0))
            rhs[c] = 0;
    double cell = pow(y->lattice.h, RP_DIM);
    for (int32_t room = 1; room <= y->rooms; room++) {
        double sum = 0, count = 0;
        for (int64_t c = 0; c < y->cell_count; c++)
            if (y->room[c] == room)
                sum += rhs[c], count++;
        double lost = sum * dt * dt / cell; /* cells of fluid in this step */
        if (fabs(lost) > 1e-3 * count || fabs(lost) > 1)
            return rp__base_fail(RP_DIVERGED, "fluid is shut in at t = %g s, and bodies %s it by %.3g cells in a step of %g s: give it a way out "
                                              "(a face of the domain that is open, fluid: {walls: {top: {pressure: 0}}}), or keep bodies clear of the walls",
                                 world->time, lost < 0 ? "press on" : "draw at", fabs(lost), dt);
        for (int64_t c = 0; c < y->cell_count; c++)
            if (y->room[c] == room)
                rhs[c] -= sum / count;
    }
    return RP_OK;
}
