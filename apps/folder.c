/* Folders for what a command writes. */
#include "folder.h"

#include <ctype.h>
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

const char *shell_word(const char *path, char *buffer, size_t size)
{
    bool plain = path[0] != '\0';
    for (const char *c = path; *c; c++) /* letters beyond ASCII mean nothing to a shell */
        plain = plain && ((*c & 0x80) || isalnum((unsigned char)*c) || strchr("_./-+,:@%", *c));
    if (plain || 4 * strlen(path) + 3 > size)
        return path;
    char *to = buffer;
    *to++ = '\'';
    for (const char *c = path; *c; c++) {
        if (*c == '\'')
            memcpy(to, "'\\'", 3), to += 3;
        *to++ = *c;
    }
    memcpy(to, "'", 2);
    return buffer;
}
