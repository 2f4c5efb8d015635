#ifndef REPOSE_APPS_FOLDER_H
#define REPOSE_APPS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* A folder and those above it; true when it is there. */
bool make_folder(const char *path);
bool path_ends_with(const char *path, const char *end);

/* The path as a word that a shell reads back to it: as it is, or quoted in the buffer, for commands that a message proposes. */
const char *shell_word(const char *path, char *buffer, size_t size);

#endif
