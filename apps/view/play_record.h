/* What was played, so that `repose run DIR/scene.yaml --actions DIR` computes it again. */
#ifndef REPOSE_APPS_VIEW_PLAY_RECORD_H
#define REPOSE_APPS_VIEW_PLAY_RECORD_H

#include <repose/repose.h>
#include <stddef.h>
#include <stdio.h>

/* The folder of a record grows while it is played: who kills the program loses nothing but the frame under way. */
typedef struct play_recorder {
    const char *folder; /* NULL: nothing is recorded */
    FILE *journal;      /* actions.jsonl */
    size_t written;     /* bytes of the journal that are in it */
} play_recorder;

/* The scene as played, and an empty journal; false with a message. */
bool play_record_begin(play_recorder *recorder, const char *folder, const rp_scene *scene);

/* After a whole step: what was done since goes to the file; all of it anew when the simulation went back in time (`anew`). False with a message. */
bool play_record_go_on(play_recorder *recorder, const rp_sim *sim, bool anew);

/* At the end: the journal and the last state, synced; the exit code. */
int play_record_end(play_recorder *recorder, const rp_scene *scene, rp_sim *sim);

#endif
