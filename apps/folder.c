/* Folders for what a command writes. */
#include "folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool make_folder(const char *path)
{
    char part[1024];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = part + 1;; slash++) {
        char end = *slash;
        if (end && end != '/')
            continue;
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
        *slash = end;
        if (!end)
            return true;
    }
}

bool path_ends_with(const char *path, const char *end)
{
    size_t a = strlen(path), b = strlen(end);
    return a >= b && strcmp(path + a - b, end) == 0;
}
