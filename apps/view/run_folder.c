#include "run_folder.h"

#include "apps/run_loop.h"
#include "scene_text.h"
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* "frame_000012.vtkhdf" → 12; -1 for everything else. */
static int64_t frame_number(const char *name)
{
    if (strncmp(name, "frame_", 6) != 0)
        return -1;
    size_t digits = strspn(name + 6, "0123456789");
    if (digits < 6 || digits > 15 || strcmp(name + 6 + digits, ".vtkhdf") != 0)
        return -1;
    return strtoll(name + 6, NULL, 10);
}

bool run_folder_scan(run_folder *r)
{
    int fd = openat(r->frames_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    int64_t *numbers = NULL, count = 0, room = 0;
    if (!stream && fd >= 0)
        close(fd);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        int64_t number = frame_number(entry->d_name);
        if (number < 0)
            continue;
        if (count == room) {
            int64_t *more = realloc(numbers, (size_t)(room = 2 * room + 64) * sizeof *more);
            if (!more)
                break;
            numbers = more;
        }
        numbers[count++] = number;
    }
    if (stream)
        closedir(stream);
    if (count)
        qsort(numbers, (size_t)count, sizeof *numbers, by_number);
    bool changed = count != r->count || (count && memcmp(numbers, r->numbers, (size_t)count * sizeof *numbers) != 0);
    if (changed && count > 0) {
        free(r->numbers);
        r->numbers = numbers, r->count = count;
        return true;
    }
    free(numbers);
    return false;
}

/* Opens PREFIX_000012.vtkhdf among the frames, an ordinary file only; its descriptor, and a path to what was opened whatever its name leads
 * to by then. -1: there is none. */
static int open_numbered(const run_folder *r, const char *prefix, int64_t number, char path[64])
{
    snprintf(path, 64, "%s_%06lld.vtkhdf", prefix, (long long)number);
    int fd = openat(r->frames_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    if (fd >= 0 && (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        close(fd);
        fd = -1;
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static rp_result read_frame(const run_folder *r, const char *prefix, int64_t number, rp_frame *out)
{
    char path[64];
    int fd = open_numbered(r, prefix, number, path);
    if (fd < 0)
        return RP_NOT_FOUND;
    rp_result result = rp_frame_read(path, out);
    close(fd);
    return result;
}

rp_result run_folder_read(const run_folder *r, int64_t number, rp_frame *out)
{
    return read_frame(r, "frame", number, out);
}

rp_result run_folder_nodes(const run_folder *r, int64_t number, rp_frame *out)
{
    return read_frame(r, "grid", number, out);
}

rp_result run_folder_fibres(const run_folder *r, int64_t number, rp_fibres_frame *out)
{
    char path[64];
    int fd = rp_scene_sim_def(r->scene)->fibres_count > 0 ? open_numbered(r, "fibres", number, path) : -1;
    if (fd < 0)
        return RP_NOT_FOUND;
    rp_result result = rp_fibres_read(path, out);
    close(fd);
    return result;
}

static bool load(run_folder *r, int width, int height)
{
    rp_result result = rp_run_scene(r->path, &r->scene);
    if (result != RP_OK) {
        fprintf(stderr, "repose: %s is not the folder of a run: %s\n", r->path, rp_last_error());
        return false;
    }
    result = RP_NOT_FOUND;
    for (int64_t i = 0; i < r->count && result != RP_OK; i++)
        result = run_folder_read(r, r->numbers[i], &r->first);
    if (result != RP_OK) {
        fprintf(stderr, "repose: no frame of %s can be read: %s\n", r->path, rp_last_error());
        return false;
    }
    result = wire_palette_make(rp_scene_sim_def(r->scene), &r->palette);
    if (result == RP_OK)
        result = rp_stage_make(r->scene, &r->first, width, height, &r->stage);
    if (result != RP_OK)
        report_failure(r->path, result);
    return result == RP_OK;
}

bool run_folder_open(const char *path, int width, int height, run_folder *out)
{
    *out = (run_folder){ .fd = -1, .frames_fd = -1 };
    out->path = malloc(strlen(path) + 1);
    if (!out->path)
        return false;
    strcpy(out->path, path);
    out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->fd >= 0)
        out->frames_fd = openat(out->fd, "frames", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out->frames_fd < 0)
        fprintf(stderr, "repose: %s: %s\n", path, out->fd < 0 ? strerror(errno) : "it has no frames; a run writes them to its folder frames");
    else if (!run_folder_scan(out))
        fprintf(stderr, "repose: %s has no frames yet\n", path);
    else if (load(out, width, height))
        return true;
    run_folder_close(out);
    return false;
}

void run_folder_close(run_folder *r)
{
    rp_frame_free(&r->first);
    rp_stage_free(&r->stage);
    wire_palette_free(&r->palette);
    if (r->scene)
        rp_scene_destroy(r->scene);
    if (r->frames_fd >= 0)
        close(r->frames_fd);
    if (r->fd >= 0)
        close(r->fd);
    free(r->numbers);
    free(r->path);
    *r = (run_folder){ .fd = -1, .frames_fd = -1 };
}

void run_folder_list(const run_folder *r, FILE *to)
{
    fputs(",\"frames\":[", to);
    for (int64_t i = 0; i < r->count; i++)
        fprintf(to, "%s%lld", i ? "," : "", (long long)r->numbers[i]);
    fputs("]", to);
}

/* ---- ranges ---- */

/* By grains and fibres; right when either has the field. */
static rp_result widen_both(const run_folder *r, const rp_frame *frame, const char *field, double range[2])
{
    rp_result result = wire_widen(frame, field, range);
    rp_fibres_frame fibres;
    if (run_folder_fibres(r, frame->index, &fibres) == RP_OK) {
        rp_result also = wire_widen_fibres(&fibres.view, field, range);
        result = also == RP_OK ? also : result;
        rp_fibres_free(&fibres);
    }
    return result;
}

rp_result run_folder_range(const run_folder *r, const char *field, double range[2])
{
    enum { LOOKS = 5 };
    rp_result result = RP_OK;
    range[0] = INFINITY, range[1] = -INFINITY;
    int64_t before = -1;
    for (int k = 0; k < LOOKS && result == RP_OK; k++) {
        int64_t i = (r->count - 1) * k / (LOOKS - 1);
        rp_frame frame;
        if (i == before)
            continue;
        before = i;
        if (run_folder_read(r, r->numbers[i], &frame) != RP_OK)
            continue; /* said when it is asked for */
        if (frame.step > 0 || r->count == 1 || k == LOOKS - 1) /* before the first step fields of the nodes are zero */
            result = widen_both(r, &frame, field, range);
        rp_frame_free(&frame);
    }
    if (!(range[0] <= range[1]))
        range[0] = 0, range[1] = 1;
    if (range[0] > 0 && range[0] < 0.4 * range[1])
        range[0] = 0;
    if (range[0] == range[1])
        range[1] = range[0] + (range[0] != 0 ? fabs(range[0]) : 1);
    return result;
}

/* ---- tables ---- */

enum { COLUMNS_MOST = 128, TABLE_MOST = 256 << 20 };

/* The whole file at `name`; NULL when there is none. */
static char *read_all(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 && facts.st_size < TABLE_MOST &&
        (text = malloc((size_t)facts.st_size + 1))) {
        size_t size = 0;
        for (ssize_t n = 1; n > 0 && size < (size_t)facts.st_size; size += n > 0 ? (size_t)n : 0)
            n = read(fd, text + size, (size_t)facts.st_size - size);
        text[size] = '\0';
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* Cuts a line at its commas, in place. */
static int cut(char *line, char *cells[COLUMNS_MOST])
{
    int n = 0;
    for (char *at = line; at && n < COLUMNS_MOST; n++) {
        cells[n] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return n;
}

typedef struct column {
    FILE *to;
    char *text;
    size_t size;
    bool numbers;              /* some cell is one */
} column;

static void put_row(char *line, column *columns, int count, bool first)
{
    char *cells[COLUMNS_MOST];
    int n = cut(line, cells);
    for (int c = 0; c < count; c++) {
        char *end = NULL;
        double value = c < n ? strtod(cells[c], &end) : NAN;
        bool number = c < n && end != cells[c] && *end == '\0' && isfinite(value);
        columns[c].numbers = columns[c].numbers || number;
        if (number)
            fprintf(columns[c].to, "%s%.7g", first ? "" : ",", value);
        else
            fprintf(columns[c].to, "%snull", first ? "" : ",");
    }
}

static char *table_text(column *columns, char *const *names, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fputs("{\"type\":\"table\",\"columns\":[", to);
    for (int c = 0, n = 0; c < count; c++) {
        if (!columns[c].numbers)
            continue;
        fprintf(to, "%s{\"name\":", n++ ? "," : "");
        json_quote(to, names[c]);
        fprintf(to, ",\"values\":[%s]}", columns[c].text);
    }
    fputs("]}", to);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *run_folder_table(const run_folder *r, int64_t most)
{
    char *all = read_all(r->fd, "stats.csv");
    if (!all)
        return NULL;
    char *names[COLUMNS_MOST], *at = strchr(all, '\n');
    column columns[COLUMNS_MOST] = { 0 };
    if (!at) {
        free(all);
        return NULL;
    }
    *at++ = '\0';
    int count = cut(all, names);
    bool good = true;
    for (int c = 0; c < count; c++)
        good = (columns[c].to = open_memstream(&columns[c].text, &columns[c].size)) && good;
    int64_t rows = 0, row = 0;
    for (const char *c = at; (c = strchr(c, '\n')); c++)
        rows++;
    int64_t every = 1 + rows / (most > 0 ? most : 1);
    bool first = true;
    for (char *end; good && (end = strchr(at, '\n')); at = end + 1, row++) { /* a last line without an end is being written */
        *end = '\0';
        if (row % every == 0 || row == rows - 1) {
            put_row(at, columns, count, first);
            first = false;
        }
    }
    for (int c = 0; c < count; c++)
        if (columns[c].to)
            good = fclose(columns[c].to) == 0 && good;
    char *text = good ? table_text(columns, names, count) : NULL;
    for (int c = 0; c < count; c++)
        free(columns[c].text);
    free(all);
    return text;
}
