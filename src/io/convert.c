/* From frames to other formats: which files, under which names. */
#include "io/convert.h"

#include "base/error.h"
#include "base/locale.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static rp_result write_vtkhdf(const rp_frame *frame, const char *path)
{
    return rp__io_frame_write(frame, path, true); /* compressed: for keeping */
}

typedef struct file_format {
    const char *name;
    const char *each;                                  /* extension of the file of one frame */
    rp_result (*write)(const rp_frame *, const char *); /* NULL: one file for all */
} file_format;

static const file_format formats[] = {
    { "vtp", "vtp", rp__io_vtp_write }, { "pvd", "vtp", rp__io_vtp_write }, { "ply", "ply", rp__io_ply_write },
    { "usda", "usda", NULL },           { "csv", "csv", rp__io_csv_write }, { "npz", "npz", rp__io_npz_write },
    { "vtkhdf", "vtkhdf", write_vtkhdf },
};
enum { FORMATS = sizeof formats / sizeof *formats };

const char *rp_convert_formats(void)
{
    return "vtp pvd ply usda csv npz vtkhdf";
}

/* The extension of a path without its dot: "" when there is none. */
static const char *extension(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot && dot[1] ? dot + 1 : "";
}

static rp_result find_format(const char *to, const char *name, const file_format **out)
{
    const char *wanted = name && name[0] ? name : extension(to);
    const char *names[FORMATS];
    for (int f = 0; f < FORMATS; f++) {
        names[f] = formats[f].name;
        if (strcmp(formats[f].name, wanted) == 0) {
            *out = &formats[f];
            return RP_OK;
        }
    }
    int near = rp__text_nearest(wanted, names, FORMATS);
    if (!wanted[0])
        return rp__base_fail(RP_BAD_ARGUMENT, "%s has no extension that says which format it should have; known: %s", to,
                             rp_convert_formats());
    return rp__base_fail(RP_UNSUPPORTED, "unknown format '%s'%s%s%s; known: %s", wanted, near >= 0 ? ", did you mean '" : "",
                         near >= 0 ? names[near] : "", near >= 0 ? "'?" : "", rp_convert_formats());
}

/* ---- names ---- */

typedef struct job {
    const file_format *format;
    const char *to;
    char **from;       /* frame files */
    int64_t *index;
    int64_t count;
    bool folder;       /* `from` was one */
    int64_t readable, bad; /* of a folder: frames that can be read (when that was asked), frames left out */
} job;

static void free_job(job *j)
{
    for (int64_t i = 0; i < j->count; i++)
        rp__base_free(j->from[i]);
    rp__base_free(j->from);
    rp__base_free(j->index);
}

/* The file of frame i: `to` itself for a single one, NAME_000012.ext of NAME.ext, or NAME/frame_000012.ext of NAME. */
static char *target(const job *j, int64_t i, bool numbered)
{
    rp__text text = { 0 };
    size_t ending = strlen(extension(j->to));
    if (!numbered)
        rp__text_append_string(&text, j->to);
    else if (ending)
        rp__text_append(&text, "%.*s_%06lld.%s", (int)(strlen(j->to) - ending - 1), j->to, (long long)j->index[i], j->format->each);
    else
        rp__text_append(&text, "%s/frame_%06lld.%s", j->to, (long long)j->index[i], j->format->each);
    char *path = rp__text_take(&text);
    rp__text_free(&text);
    return path;
}

static rp_result make_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return RP_OK;
    char *folder = rp__base_copy_text(path);
    if (!folder)
        return RP_OUT_OF_MEMORY;
    folder[slash - path] = '\0';
    rp_result result = rp__file_make_folder(folder);
    rp__base_free(folder);
    return result;
}

/* Frames of an output folder, or of its folder frames/. */
static rp_result list_frames(const char *from, rp__io_list *list, bool *inside)
{
    char *frames = rp__file_join(from, RP_IO_FRAMES);
    if (!frames)
        return RP_OUT_OF_MEMORY;
    *inside = rp__io_is_folder(frames);
    rp_result result = rp__io_list_make(list, *inside ? frames : from, RP_IO_FRAME_PREFIX, RP_IO_FRAME_SUFFIX);
    rp__base_free(frames);
    return result;
}

static rp_result find_frames(const char *from, job *j)
{
    rp__io_list list;
    bool inside;
    RP_TRY(list_frames(from, &list, &inside));
    if (list.count == 0)
        return rp__base_fail(RP_NOT_FOUND, "%s holds no frames", from);
    j->index = list.numbers; /* ours now */
    j->from = rp__base_alloc_zero((size_t)list.count * sizeof *j->from);
    if (!j->from)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < list.count; i++) {
        rp__text name = { 0 };
        rp__text_append(&name, "%s%s%06lld%s", inside ? RP_IO_FRAMES "/" : "", RP_IO_FRAME_PREFIX, (long long)list.numbers[i],
                        RP_IO_FRAME_SUFFIX);
        j->from[i] = rp__text_result(&name) == RP_OK ? rp__file_join(from, name.data) : NULL;
        rp__text_free(&name);
        if (!j->from[i])
            return RP_OUT_OF_MEMORY;
        j->count = i + 1;
    }
    return RP_OK;
}

static rp_result single_frame(const char *from, job *j)
{
    j->from = rp__base_alloc_zero(sizeof *j->from);
    j->index = rp__base_alloc_zero(sizeof *j->index);
    if (!j->from || !j->index || !(j->from[0] = rp__base_copy_text(from)))
        return RP_OUT_OF_MEMORY;
    j->count = 1;
    return RP_OK;
}

/* ---- work ---- */

static void put_escaped(rp__text *text, const char *string)
{
    for (; *string; string++) {
        const char *entity = *string == '&' ? "&amp;" : *string == '<' ? "&lt;" : *string == '"' ? "&quot;" : NULL;
        if (entity)
            rp__text_append_string(text, entity);
        else
            rp__text_append_bytes(text, string, 1);
    }
}

static void collection_entry(rp__text *text, double time, const char *path, const char *beside)
{
    const char *slash = strrchr(beside, '/');
    size_t skip = slash ? (size_t)(slash - beside) + 1 : 0; /* written relative to the collection */
    rp__text_append_string(text, "    <DataSet timestep=\"");
    rp__text_append_number(text, time);
    rp__text_append_string(text, "\" group=\"\" part=\"0\" file=\"");
    put_escaped(text, strncmp(path, beside, skip) == 0 ? path + skip : path);
    rp__text_append_string(text, "\"/>\n");
}

static rp_result convert_each(job *j, rp__text *collection)
{
    bool numbered = j->folder || collection;
    for (int64_t i = 0; i < j->count; i++) {
        rp_frame frame;
        rp_result read = rp_frame_read(j->from[i], &frame);
        if (read != RP_OK && read != RP_OUT_OF_MEMORY && j->folder) { /* a bad frame among many: told, and on */
            RP_WARN("%s; it is left out", rp_last_error());
            j->bad++;
            continue;
        }
        RP_TRY(read);
        j->index[i] = j->folder ? j->index[i] : frame.index;
        char *path = target(j, i, numbered);
        rp_result result = path ? make_parent(path) : RP_OUT_OF_MEMORY;
        if (result == RP_OK)
            result = j->format->write(&frame, path);
        if (result == RP_OK && collection)
            collection_entry(collection, frame.time, path, j->to);
        rp__base_free(path);
        rp_frame_free(&frame);
        RP_TRY(result);
    }
    return RP_OK;
}

/* For formats that put all frames into one file: only those that can be read. */
static rp_result leave_bad_out(job *j)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < j->count; i++) {
        rp_frame frame;
        rp_result read = rp_frame_read(j->from[i], &frame);
        if (read == RP_OUT_OF_MEMORY)
            return read;
        if (read == RP_OK) {
            char *sound = j->from[i];
            rp_frame_free(&frame);
            j->from[i] = j->from[kept];
            j->index[kept] = j->index[i];
            j->from[kept++] = sound;
        } else {
            RP_WARN("%s; it is left out", rp_last_error());
            j->bad++;
        }
    }
    j->readable = kept;
    return kept ? RP_OK : rp__base_fail(RP_BAD_FILE, "none of the %lld frames can be read", (long long)j->count);
}

static rp_result convert_collection(job *j)
{
    rp__text text = { 0 };
    rp__text_append_string(&text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
                                  "  <Collection>\n");
    rp_result result = convert_each(j, &text);
    rp__text_append_string(&text, "  </Collection>\n</VTKFile>\n");
    if (result == RP_OK)
        result = rp__text_result(&text);
    if (result == RP_OK)
        result = rp__file_write_text(j->to, text.data);
    rp__text_free(&text);
    return result;
}

static rp_result convert(const char *from, const char *to, const char *name)
{
    job j = { .to = to, .folder = rp__io_is_folder(from) };
    if (!j.folder && rp__io_is_fibres(from)) {
        RP_TRY(make_parent(to));
        return rp__io_fibres_convert(from, to, name);
    }
    RP_TRY(find_format(to, name, &j.format));
    if (strcmp(from, to) == 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s cannot be converted onto itself", from);
    rp_result result = j.folder ? find_frames(from, &j) : single_frame(from, &j);
    if (result == RP_OK && j.folder && !j.format->write)
        result = leave_bad_out(&j);
    if (result == RP_OK)
        result = make_parent(to);
    if (result == RP_OK) {
        if (!j.format->write)
            result = rp__io_usda_write(j.from, j.folder ? j.readable : j.count, to);
        else if (strcmp(j.format->name, "pvd") == 0)
            result = convert_collection(&j);
        else
            result = convert_each(&j, NULL);
    }
    if (result == RP_OK && j.bad)
        result = rp__base_fail(RP_BAD_FILE, "%lld frames of %s could not be read; the others were converted", (long long)j.bad, from);
    free_job(&j);
    return result;
}

rp_result rp_convert(const char *from, const char *to, const char *format)
{
    if (!from || !to)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_convert needs two paths (there is a NULL)");
    void *locale = rp__base_locale_enter();
    rp_result result = convert(from, to, format);
    rp__base_locale_leave(locale);
    return result;
}

rp_result rp_frame_convert(const rp_frame *frame, const char *to, const char *format)
{
    const file_format *found = NULL;
    if (!frame || !to)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_frame_convert needs a frame and a path (there is a NULL)");
    void *locale = rp__base_locale_enter();
    rp_result result = find_format(to, format, &found);
    if (result == RP_OK && (!found->write || strcmp(found->name, "pvd") == 0))
        result = rp__base_fail(RP_UNSUPPORTED, "a frame alone cannot become %s; use vtp, ply, csv or npz", found->name);
    if (result == RP_OK)
        result = make_parent(to);
    if (result == RP_OK)
        result = found->write(frame, to);
    rp__base_locale_leave(locale);
    return result;
}
