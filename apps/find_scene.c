#include "find_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* share/repose/scenes beside the program's folder, as `cmake --install` lays it. */
static bool beside_program(char *path, size_t size)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return (size_t)snprintf(path, size, "%s/share/repose/scenes", program) < size && is_folder(path);
}

bool scene_folder(char *path, size_t size)
{
    const char *wanted = getenv("REPOSE_SCENES");
    if (wanted)
        return (size_t)snprintf(path, size, "%s", wanted) < size && is_folder(path);
    if (beside_program(path, size))
        return true;
    return (size_t)snprintf(path, size, "%s", REPOSE_SCENE_DIR) < size && is_folder(path);
}

const char *no_scene_but(const char *name)
{
    struct stat status;
    if (stat(name, &status) != 0 || S_ISREG(status.st_mode))
        return NULL;
    return S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device";
}

bool find_scene(const char *name, char *path, size_t size)
{
    if (is_file(name))
        return (size_t)snprintf(path, size, "%s", name) < size;
    char folder[2048];
    if (!scene_folder(folder, sizeof folder))
        return false;
    return (size_t)snprintf(path, size, "%s/%s.yaml", folder, name) < size && is_file(path);
}
