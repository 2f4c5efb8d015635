#ifndef REPOSE_APPS_FOLDER_H
#define REPOSE_APPS_FOLDER_H

#include <stdbool.h>

/* A folder and those above it; true when it is there. */
bool make_folder(const char *path);
bool path_ends_with(const char *path, const char *end);

#endif
