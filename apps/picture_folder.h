/* Folders of pictures: each holds pictures that were made alike, told by its settings.txt, so that finished ones can be kept. */
#ifndef REPOSE_APPS_PICTURE_FOLDER_H
#define REPOSE_APPS_PICTURE_FOLDER_H

#include <repose/render.h>
#include <stdint.h>

/* Finds and makes the folder of the pictures of these settings. `named` is what the user asked for, or NULL: RUN/pictures, or, where that
 * holds pictures made otherwise, RUN/pictures-2, -3, ... A named folder with pictures made otherwise is refused, unless `again`.
 * -1 to go on with the folder in `folder`, or the exit code after a sentence on standard error. */
int picture_folder(const rp_film *film, const char *run, const char *named, const rp_film_def *def, bool again, char *folder,
                   size_t size);

/* FOLDER/frame_000012.png; free it. */
char *picture_path(const char *folder, int64_t number);

/* Says on standard error what could not be done with a path, and why; returns EXIT_FAILED. */
int picture_failed(const char *doing, const char *path);

#endif
