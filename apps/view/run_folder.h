/* The folder of a run as `view` and `export` read it: under one descriptor, by numbers, never through links. */
#ifndef REPOSE_APPS_VIEW_RUN_FOLDER_H
#define REPOSE_APPS_VIEW_RUN_FOLDER_H

#include "protocol.h"

#include <stdio.h>

typedef struct run_folder {
    char *path;                /* as the user gave it, for messages and command lines */
    int fd, frames_fd;
    int64_t *numbers;          /* of the frames, ascending */
    int64_t count;
    rp_scene *scene;
    rp_stage stage;
    rp_frame first;            /* the first sound frame */
    wire_palette palette;
} run_folder;

/* False after a sentence on standard error. */
bool run_folder_open(const char *path, int width, int height, run_folder *out);
void run_folder_close(run_folder *r);
/* Looks again; true when there are other frames than before. */
bool run_folder_scan(run_folder *r);
/* Reads the frame of this number. */
rp_result run_folder_read(const run_folder *r, int64_t number, rp_frame *out);
/* The fibres and the fields of the nodes that were written with it; RP_NOT_FOUND when there are none. */
rp_result run_folder_fibres(const run_folder *r, int64_t number, rp_fibres_frame *out);
rp_result run_folder_nodes(const run_folder *r, int64_t number, rp_frame *out);
/* `{"type":"table",…}` of stats.csv, thinned to at most `most` rows; NULL when there is none. Free it. */
char *run_folder_table(const run_folder *r, int64_t most);
/* ,"frames":[0,1,…] */
void run_folder_list(const run_folder *r, FILE *to);
/* A range for a field from a few frames of the run. */
rp_result run_folder_range(const run_folder *r, const char *field, double range[2]);

#endif
