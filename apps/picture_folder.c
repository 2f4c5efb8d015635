/* Folders of pictures made alike. */
#include "picture_folder.h"

#include "commands.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_SIZE = 2048, MOST_FOLDERS = 1000 };

char *picture_path(const char *folder, int64_t number)
{
    size_t size = strlen(folder) + 40;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/frame_%06lld.png", folder, (long long)number);
    return path;
}

int picture_failed(const char *doing, const char *path)
{
    fprintf(stderr, "repose: cannot %s %s: %s\n", doing, path, strerror(errno));
    return EXIT_FAILED;
}

/* ---- settings ---- */

static void settings_text(const rp_film_def *def, char *text, size_t size)
{
    snprintf(text, size, "view %s\ncolour %s\nrange %.17g %.17g\nsize %d %d\nquality %d\nsamples %d\ngrains %.17g\nupsample %.17g\nlegend %d\ntime %d\n"
             "shutter %g\naperture %g\nturntable %g\n",
             def->view ? def->view : "-", def->colour ? def->colour : "-", def->colour_range[0], def->colour_range[1],
             def->width, def->height, (int)def->quality, def->samples, def->grains_per_particle, def->upsample, def->legend, def->time_label, def->shutter,
             def->aperture, def->turntable);
}

static bool read_settings(const char *path, char text[SETTINGS_SIZE])
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    text[fread(text, 1, SETTINGS_SIZE - 1, file)] = '\0';
    fclose(file);
    return true;
}

static bool write_settings(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool done = file && fputs(text, file) >= 0;
    return (!file || fclose(file) == 0) && done;
}

/* The first line in which two settings differ. */
static void different_line(const char *old, const char *text, char line[80])
{
    size_t at = 0, start = 0;
    for (; old[at] && old[at] == text[at]; at++)
        if (old[at] == '\n')
            start = at + 1;
    snprintf(line, 80, "%.*s", (int)strcspn(old + start, "\n"), old + start);
}

/* ---- folders ---- */

static bool is_picture(const char *name)
{
    size_t n = strlen(name);
    return strncmp(name, "frame_", 6) == 0 && n > 4 && strcmp(name + n - 4, ".png") == 0;
}

static bool has_pictures(const char *folder)
{
    DIR *stream = opendir(folder);
    bool found = false;
    for (struct dirent *entry; stream && !found && (entry = readdir(stream));)
        found = is_picture(entry->d_name);
    if (stream)
        closedir(stream);
    return found;
}

typedef enum kind { FREE, ALIKE, OTHERWISE } kind;

/* Whether a folder has pictures of these settings, none, or others; of others the line that tells. */
static kind kind_of(const char *folder, const char *settings, char line[80])
{
    char path[4200], old[SETTINGS_SIZE];
    snprintf(path, sizeof path, "%s/settings.txt", folder);
    snprintf(line, 80, "no settings.txt");
    if (read_settings(path, old)) {
        if (strcmp(old, settings) == 0)
            return ALIKE;
        different_line(old, settings, line);
    }
    return has_pictures(folder) ? OTHERWISE : FREE;
}

/* Removes the pictures of a folder that are of the frames of the film. */
static int remove_pictures(const rp_film *film, const char *folder)
{
    for (int64_t i = 0; i < rp_film_count(film); i++) {
        char *picture = picture_path(folder, rp_film_frame_number(film, i));
        if (picture && unlink(picture) != 0 && errno != ENOENT) {
            int code = picture_failed("remove", picture);
            free(picture);
            return code;
        }
        free(picture);
    }
    return -1;
}

int picture_folder(const rp_film *film, const char *run, const char *named, const rp_film_def *def, bool again, char *folder,
                   size_t size)
{
    char settings[SETTINGS_SIZE], line[80], path[4200];
    kind found = OTHERWISE;
    settings_text(def, settings, sizeof settings);
    snprintf(folder, size, "%s%s", named ? named : run, named ? "" : "/pictures");
    for (int number = 2; (found = kind_of(folder, settings, line)) == OTHERWISE && !named && number < MOST_FOLDERS; number++)
        snprintf(folder, size, "%s/pictures-%d", run, number);
    if (found == OTHERWISE && !again) {
        fprintf(stderr, "repose: %s holds pictures made with other settings (%s); name another folder, or give --again to replace them\n",
                folder, line);
        return EXIT_USAGE;
    }
    if (found == ALIKE)
        return -1;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return picture_failed("make the folder", folder);
    int code = found == OTHERWISE ? remove_pictures(film, folder) : -1;
    snprintf(path, sizeof path, "%s/settings.txt", folder);
    if (code < 0 && !write_settings(path, settings))
        code = picture_failed("write", path);
    return code;
}
