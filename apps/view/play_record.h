/* What was played, so that `repose run DIR/scene.yaml --actions DIR` computes it again. */
#ifndef REPOSE_APPS_VIEW_PLAY_RECORD_H
#define REPOSE_APPS_VIEW_PLAY_RECORD_H

#include <repose/repose.h>

/* The scene as played, what was done (actions.jsonl), and the last state; the exit code. */
int play_record(const char *folder, const rp_scene *scene, rp_sim *sim);

#endif
