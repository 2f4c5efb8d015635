/* Fine grains of a simulation that goes on: half a million to look at, led by its particles. What they do changes no result. Only the thread
 * of the simulation calls these. */
#ifndef REPOSE_APPS_VIEW_FINE_H
#define REPOSE_APPS_VIEW_FINE_H

#include "protocol.h"

typedef struct fine_grains fine_grains;

/* *out stays NULL when the scene asks for none (`output: {upsample: R}`), or has none to show in two dimensions. */
rp_result fine_open(const rp_scene *scene, rp_sim *sim, fine_grains **out);
void fine_close(fine_grains *f);
/* After a step: they follow when a sixtieth of a second of the simulation has passed. *moved: they did. */
rp_result fine_follow(fine_grains *f, bool *moved);
/* The simulation was set back: they are put anew, where the particles are now. */
rp_result fine_reset(fine_grains *f);
/* Gravity has another direction from now on. */
void fine_lean(fine_grains *f, const double gravity[3]);
/* To be sent; valid until the next call. */
wire_fine fine_view(const fine_grains *f);

#endif
