/* Names and listings of an output folder. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/io.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The number of PREFIX<digits>SUFFIX, or -1. */
static int64_t number_of(const char *name, const char *prefix, const char *suffix)
{
    size_t before = strlen(prefix);
    if (strncmp(name, prefix, before) != 0)
        return -1;
    int64_t number = 0;
    int digits = 0;
    for (name += before; name[digits] >= '0' && name[digits] <= '9' && digits < 18; digits++)
        number = number * 10 + (name[digits] - '0');
    return digits && strcmp(name + digits, suffix) == 0 ? number : -1;
}

rp_result rp__io_list_make(rp__io_list *list, const char *folder, const char *prefix, const char *suffix)
{
    *list = (rp__io_list){ 0 };
    DIR *stream = opendir(folder);
    if (!stream)
        return errno == ENOENT ? RP_OK : rp__base_fail(RP_IO_ERROR, "cannot read folder %s: %s", folder, strerror(errno));
    int64_t capacity = 0;
    rp_result result = RP_OK;
    for (const struct dirent *item; result == RP_OK && (item = readdir(stream));) {
        int64_t number = number_of(item->d_name, prefix, suffix);
        if (number < 0)
            continue;
        if (rp__base_grow(&list->numbers, &capacity, list->count + 1, sizeof *list->numbers))
            list->numbers[list->count++] = number;
        else
            result = RP_OUT_OF_MEMORY;
    }
    closedir(stream);
    if (result != RP_OK)
        rp__io_list_free(list);
    else if (list->count)
        qsort(list->numbers, (size_t)list->count, sizeof *list->numbers, by_number);
    return result;
}

void rp__io_list_free(rp__io_list *list)
{
    rp__base_free(list->numbers);
    *list = (rp__io_list){ 0 };
}

static char *numbered(const char *folder, const char *inside, const char *prefix, int digits, int64_t number, const char *suffix)
{
    rp__text text = { 0 };
    rp__text_append(&text, "%s%s%s/%s%0*lld%s", folder, folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/", inside,
                    prefix, digits, (long long)number, suffix);
    char *path = rp__text_take(&text);
    rp__text_free(&text);
    return path;
}

char *rp__io_problem_path(const char *folder, int64_t number)
{
    return numbered(folder, RP_IO_PROBLEMS, RP_IO_PROBLEM_PREFIX, 6, number, RP_IO_PROBLEM_SUFFIX);
}

char *rp__io_frame_path(const char *folder, const char *prefix, int64_t index)
{
    return numbered(folder, RP_IO_FRAMES, prefix, 6, index, RP_IO_FRAME_SUFFIX);
}

char *rp__io_checkpoint_path(const char *folder, int64_t step)
{
    return numbered(folder, RP_IO_CHECKPOINTS, RP_IO_CHECKPOINT_PREFIX, 9, step, RP_IO_CHECKPOINT_SUFFIX);
}

bool rp__io_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}
