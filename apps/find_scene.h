/* Where scenes are found: a path as it is, or the name of a bundled one. */
#ifndef REPOSE_APPS_FIND_SCENE_H
#define REPOSE_APPS_FIND_SCENE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the scene called `name` to `path`; false when there is none. */
bool find_scene(const char *name, char *path, size_t size);

/* What else is there under that name: "a folder", "a pipe or a device"; NULL for nothing. */
const char *no_scene_but(const char *name);

/* The folder of bundled scenes in use; false when none was found. */
bool scene_folder(char *path, size_t size);

#endif
