/* Where scenes are found: a path as it is, or the name of a bundled one. */
#ifndef REPOSE_APPS_FIND_SCENE_H
#define REPOSE_APPS_FIND_SCENE_H

#include <stdbool.h>
#include <stddef.h>

enum { SCENES_MOST = 512 };

/* Writes the path of the scene called `name` to `path`; false when there is none. */
bool find_scene(const char *name, char *path, size_t size);

/* Says on standard error that there is none, what is there in its place, and the bundled scene that may be meant. */
void say_no_scene(const char *name);

/* Names of the bundled scenes, sorted, at most `most`; each is to be freed. -1: their folder was not found. */
int list_scenes(char **names, int most);

/* The folder of bundled scenes in use; false when none was found. */
bool scene_folder(char *path, size_t size);

#endif
