/* States of a simulation to go back to: one a frame at first, fewer as they become many. */
#ifndef REPOSE_APPS_VIEW_CHECKPOINTS_H
#define REPOSE_APPS_VIEW_CHECKPOINTS_H

#include <repose/repose.h>
#include <stddef.h>

enum { CHECKPOINTS_MOST = 96 };

typedef struct checkpoints {
    rp_state state[CHECKPOINTS_MOST];
    int64_t frame[CHECKPOINTS_MOST];
    int count;
    int64_t every;             /* frames between two */
    size_t bytes, most;        /* held, and how many may be */
} checkpoints;

void checkpoints_init(checkpoints *c, size_t most_bytes);
void checkpoints_free(checkpoints *c);
/* Keeps the present state when one is due; the first is always kept. */
rp_result checkpoints_keep(checkpoints *c, const rp_sim *sim);
/* Sets the simulation back to the latest state not after `frame`; what was kept after it is forgotten. */
rp_result checkpoints_go_back(checkpoints *c, rp_sim *sim, int64_t frame);

#endif
