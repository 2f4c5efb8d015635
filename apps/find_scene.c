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

/* Scenes in a folder by their names without .yaml; -1 when there is no folder. */
static int list_folder(const char *folder, char **names, int most)
{
    DIR *dir = opendir(folder);
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

int list_scenes(char **names, int most)
{
    char folder[2048];
    return scene_folder(folder, sizeof folder) ? list_folder(folder, names, most) : -1;
}

/* The name most like the one wanted, if two letters of three are as in it; its likeness must be more than *most, which it becomes. */
static bool propose(const char *wanted, const char *folder, const char *ending, size_t *most, char *proposed, size_t size)
{
    char *names[SCENES_MOST];
    int count = *folder ? list_folder(folder, names, SCENES_MOST) : list_scenes(names, SCENES_MOST);
    bool found = false;
    for (int i = 0; i < count; i++) {
        if (likeness(wanted, names[i]) > *most) {
            *most = likeness(wanted, names[i]);
            found = (size_t)snprintf(proposed, size, "%s%s%s%s", strcmp(folder, ".") == 0 ? "" : folder, *folder && strcmp(folder, ".") != 0 ? "/" : "",
                                     names[i], ending) < size;
        }
        free(names[i]);
    }
    return found;
}

void say_no_scene(const char *name)
{
    struct stat status;
    if (stat(name, &status) == 0) {
        fprintf(stderr, "repose: '%s' is %s, not a file with a scene\n", name, S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
        return;
    }
    char folder[1024] = ".", wanted[256], proposed[2048];
    const char *slash = strrchr(name, '/');
    if (slash && slash > name)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
    snprintf(wanted, sizeof wanted, "%s", slash ? slash + 1 : name);
    char *dot = strrchr(wanted, '.');
    if (dot && strcmp(dot, ".yaml") == 0)
        *dot = '\0';
    size_t most = 2 * strlen(wanted) / 3;
    bool found = propose(wanted, folder, ".yaml", &most, proposed, sizeof proposed); /* files first, where both are as near */
    if (!slash)
        found |= propose(wanted, "", "", &most, proposed, sizeof proposed);
    fprintf(stderr, "repose: there is no scene '%s', neither a file nor a bundled one%s%s%s (see: repose scenes)\n", name,
            found ? "; did you mean '" : "", found ? proposed : "", found ? "'?" : "");
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
