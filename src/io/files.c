/* Meshes and images of a run: copied into its folder, under names that hold the checksum of their bytes.
 *
 * The scene of the run names the copies, so that resume and render need nothing else, wherever the folder is moved and whatever becomes
 * of the originals; and a copy that was changed no longer agrees with its name. */
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/io.h"

#include <ctype.h>
#include <dirent.h>
#include <string.h>

enum { DIGITS = 16 };
static const size_t LARGEST = (size_t)1 << 36;

/* files/NAME-0123456789abcdef.ext: NAME of letters, digits, '.', '_' and '-'. */
static char *copy_name(const char *path, uint64_t checksum)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int stem = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    rp__text text = { 0 };
    rp__text_append(&text, "%s/%.*s-%016llx%s", RP_IO_FILES, stem < 80 ? stem : 80, base, (unsigned long long)checksum, dot ? dot : "");
    for (char *c = text.data ? text.data + strlen(RP_IO_FILES) + 1 : NULL; c && *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '_';
    char *name = rp__text_result(&text) == RP_OK ? rp__text_take(&text) : NULL;
    rp__text_free(&text);
    return name;
}

/* The checksum in a name; false when it has none. */
static bool checksum_of(const char *name, uint64_t *checksum)
{
    const char *dot = strrchr(name, '.');
    const char *end = dot ? dot : name + strlen(name);
    if (end - name < DIGITS + 2 || end[-DIGITS - 1] != '-')
        return false;
    *checksum = 0;
    for (const char *c = end - DIGITS; c < end; c++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, *c);
        if (!at || !*c)
            return false;
        *checksum = *checksum << 4 | (uint64_t)(at - digits);
    }
    return true;
}

/* A .gltf file may name others beside it, which would not be there. */
static bool names_others(const char *path, const char *data)
{
    const char *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".gltf") != 0 && strcmp(dot, ".GLTF") != 0))
        return false;
    for (const char *p = data; (p = strstr(p, "\"uri\"")) != NULL; p += 5) {
        const char *quote = strchr(p + 5, '"');
        if (quote && strncmp(quote + 1, "data:", 5) != 0)
            return true;
    }
    return false;
}

/* Every "from" of a text becomes "to", both as they stand between the quotes of a scene. */
static rp_result replace(char **text, const char *from, const char *to)
{
    rp__text old = { 0 }, new = { 0 }, out = { 0 };
    rp__text_append_quoted(&old, from);
    rp__text_append_quoted(&new, to);
    rp_result result = rp__text_result(&old) == RP_OK ? rp__text_result(&new) : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        const char *at = *text;
        for (const char *hit; (hit = strstr(at, old.data)) != NULL; at = hit + old.length) {
            rp__text_append_bytes(&out, at, (size_t)(hit - at));
            rp__text_append_string(&out, new.data);
        }
        rp__text_append_string(&out, at);
        result = rp__text_result(&out);
    }
    if (result == RP_OK) {
        rp__base_free(*text);
        *text = rp__text_take(&out);
    }
    rp__text_free(&old);
    rp__text_free(&new);
    rp__text_free(&out);
    return result;
}

static rp_result copy_one(const char *folder, const char *path, char **text)
{
    char *data = NULL;
    size_t size = 0;
    RP_TRY(rp__file_read(path, LARGEST, &data, &size));
    if (names_others(path, data)) {
        RP_WARN("%s names other files, so it is not copied into the run: resume and render will need it where it is (a .glb holds everything)",
                path);
        rp__base_free(data);
        return RP_OK;
    }
    char *name = copy_name(path, rp__io_crc64(0, data, size)), *to = name ? rp__file_join(folder, name) : NULL;
    rp_result result = to ? RP_OK : RP_OUT_OF_MEMORY;
    rp__file file = { 0 };
    if (result == RP_OK)
        result = rp__file_begin(&file, to);
    if (result == RP_OK) {
        fwrite(data, 1, size, file.stream); /* commit looks at ferror */
        result = rp__file_commit(&file);
    }
    if (result == RP_OK)
        result = replace(text, path, name);
    rp__base_free(name);
    rp__base_free(to);
    rp__base_free(data);
    return result;
}

rp_result rp__io_copy_files(const char *folder, const rp_scene *scene, char **scene_text)
{
    int count = rp_scene_file_count(scene);
    if (count == 0)
        return RP_OK;
    char *inside = rp__file_join(folder, RP_IO_FILES);
    rp_result result = inside ? rp__file_make_folder(inside) : RP_OUT_OF_MEMORY;
    rp__base_free(inside);
    for (int i = 0; i < count && result == RP_OK; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || strcmp(rp_scene_file(scene, k), rp_scene_file(scene, i)) == 0;
        if (!again)
            result = copy_one(folder, rp_scene_file(scene, i), scene_text);
    }
    return result;
}

/* Calls `each` for the copies in a run's folder. */
static rp_result for_each(const char *folder, rp_result (*each)(const char *path, uint64_t checksum, void *context), void *context)
{
    char *inside = rp__file_join(folder, RP_IO_FILES);
    DIR *stream = inside ? opendir(inside) : NULL;
    rp_result result = inside ? RP_OK : RP_OUT_OF_MEMORY;
    for (const struct dirent *item; stream && result == RP_OK && (item = readdir(stream));) {
        uint64_t checksum;
        if (!checksum_of(item->d_name, &checksum))
            continue;
        char *path = rp__file_join(inside, item->d_name);
        result = path ? each(path, checksum, context) : RP_OUT_OF_MEMORY;
        rp__base_free(path);
    }
    if (stream)
        closedir(stream);
    rp__base_free(inside);
    return result;
}

static rp_result verify_one(const char *path, uint64_t checksum, void *context)
{
    char *data = NULL;
    size_t size = 0;
    RP_TRY(rp__file_read(path, LARGEST, &data, &size));
    uint64_t is = rp__io_crc64(0, data, size);
    rp__base_free(data);
    ++*(int *)context;
    return is == checksum ? RP_OK
                          : rp__base_fail(RP_BAD_FILE, "%s has changed since the run began: its checksum is %016llx, its name says %016llx",
                                          path, (unsigned long long)is, (unsigned long long)checksum);
}

rp_result rp__io_verify_files(const char *folder, int *count)
{
    int unused = 0;
    return for_each(folder, verify_one, count ? count : &unused);
}

static rp_result remove_one(const char *path, uint64_t checksum, void *context)
{
    (void)checksum;
    (void)context;
    return remove(path) == 0 ? RP_OK : rp__base_fail(RP_IO_ERROR, "cannot remove %s", path);
}

rp_result rp__io_remove_files(const char *folder)
{
    return for_each(folder, remove_one, NULL);
}
