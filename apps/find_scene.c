#include "find_scene.h"

#include "options.h"

#include <dirent.h>
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

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int list_scenes(char **names, int most)
{
    char folder[2048];
    DIR *dir = scene_folder(folder, sizeof folder) ? opendir(folder) : NULL;
    if (!dir)
        return -1;
    int count = 0;
    for (struct dirent *entry; count < most && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0 && (names[count] = strdup(entry->d_name)))
            names[count++][length - 5] = '\0';
    }
    closedir(dir);
    qsort(names, (size_t)count, sizeof *names, by_name);
    return count;
}

void say_no_scene(const char *name)
{
    struct stat status;
    if (stat(name, &status) == 0) {
        fprintf(stderr, "repose: '%s' is %s, not a file with a scene\n", name, S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
        return;
    }
    char *names[SCENES_MOST];
    int count = list_scenes(names, SCENES_MOST), best = -1;
    size_t most = 2 * strlen(name) / 3; /* two letters of three are as in the name that is proposed */
    for (int i = 0; i < count; i++)
        if (likeness(name, names[i]) > most)
            most = likeness(name, names[best = i]);
    fprintf(stderr, "repose: there is no scene '%s', neither a file nor a bundled one%s%s%s (see: repose scenes)\n", name,
            best >= 0 ? "; did you mean '" : "", best >= 0 ? names[best] : "", best >= 0 ? "'?" : "");
    for (int i = 0; i < count; i++)
        free(names[i]);
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
