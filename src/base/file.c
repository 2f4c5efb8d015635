#include "base/file.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int_fast64_t commits;
static atomic_int_fast64_t fail_at; /* 0: never */

int64_t rp__file_fail_commit(int64_t nth)
{
    atomic_store(&fail_at, nth);
    return (int64_t)atomic_exchange(&commits, 0);
}

static rp_result io_failed(const char *doing, const char *path)
{
    return rp__base_fail(RP_IO_ERROR, "%s %s: %s", doing, path, strerror(errno));
}

rp_result rp__file_begin_path(rp__file *file, const char *path)
{
    memset(file, 0, sizeof *file);
    file->path = rp__base_copy_text(path);
    file->part = rp__base_alloc(strlen(path) + sizeof ".part");
    if (!file->path || !file->part) {
        rp__base_free(file->part); /* it names no file yet: drop must not unlink it */
        file->part = NULL;
        rp__file_drop(file);
        return RP_OUT_OF_MEMORY;
    }
    strcpy(file->part, path);
    strcat(file->part, ".part");
    return RP_OK;
}

rp_result rp__file_begin(rp__file *file, const char *path)
{
    RP_TRY(rp__file_begin_path(file, path));
    file->stream = fopen(file->part, "wb");
    if (!file->stream) {
        io_failed("cannot create", file->part);
        rp__file_drop(file);
        return RP_IO_ERROR;
    }
    return RP_OK;
}

static rp_result sync_path(const char *path, int flags)
{
    int descriptor = open(path, flags | O_CLOEXEC);
    if (descriptor < 0)
        return io_failed("cannot open", path);
    int failed = fsync(descriptor);
    if (failed && (errno == EINVAL || errno == EROFS))
        failed = 0; /* some file systems cannot sync a folder */
    if (failed)
        io_failed("cannot sync", path);
    close(descriptor);
    return failed ? RP_IO_ERROR : RP_OK;
}

static rp_result finish_stream(rp__file *file)
{
    FILE *stream = file->stream;
    file->stream = NULL;
    bool failed = ferror(stream) || fflush(stream) != 0 || fsync(fileno(stream)) != 0;
    if (failed)
        io_failed("cannot write", file->part);
    if (fclose(stream) != 0 && !failed) {
        failed = true;
        io_failed("cannot write", file->part);
    }
    return failed ? RP_IO_ERROR : RP_OK;
}

static void sync_folder_of(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder)
        return;
    if (length == 0)
        strcpy(folder, slash ? "/" : ".");
    else {
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    (void)sync_path(folder, O_RDONLY | O_DIRECTORY); /* the file itself is safe already */
}

rp_result rp__file_commit(rp__file *file)
{
    int64_t number = (int64_t)atomic_fetch_add(&commits, 1) + 1;
    rp_result result = file->stream ? finish_stream(file) : sync_path(file->part, O_RDONLY);
    if (result == RP_OK && number == (int64_t)atomic_load(&fail_at)) {
        errno = ENOSPC;
        result = io_failed("cannot write", file->part);
    }
    if (result == RP_OK && rename(file->part, file->path) != 0)
        result = io_failed("cannot rename to", file->path);
    if (result == RP_OK) {
        sync_folder_of(file->path);
        rp__base_free(file->part);
        file->part = NULL;
    }
    rp__file_drop(file);
    return result;
}

void rp__file_drop(rp__file *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->part)
        unlink(file->part);
    rp__base_free(file->path);
    rp__base_free(file->part);
    memset(file, 0, sizeof *file);
}

rp_result rp__file_write_text(const char *path, const char *text)
{
    rp__file file;
    RP_TRY(rp__file_begin(&file, path));
    fputs(text, file.stream); /* commit looks at ferror */
    return rp__file_commit(&file);
}

rp_result rp__file_check_regular(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return rp__base_fail(errno == ENOENT || errno == ENOTDIR ? RP_NOT_FOUND : RP_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
    if (S_ISREG(status.st_mode))
        return RP_OK;
    return rp__base_fail(RP_IO_ERROR, "%s is a %s, not a file", path,
                         S_ISDIR(status.st_mode)    ? "folder"
                         : S_ISFIFO(status.st_mode) ? "pipe"
                         : S_ISCHR(status.st_mode)  ? "device"
                                                    : "special file");
}

rp_result rp__file_read(const char *path, size_t limit, char **data, size_t *size)
{
    RP_TRY(rp__file_check_regular(path));
    FILE *stream = fopen(path, "rb");
    struct stat status;
    if (!stream)
        return rp__base_fail(errno == ENOENT ? RP_NOT_FOUND : RP_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
    size_t told = fstat(fileno(stream), &status) == 0 && status.st_size > 0 ? (size_t)status.st_size : 0, used = 0;
    char *text = NULL;
    int64_t capacity = 0;
    rp_result result = RP_OK;
    if (told > limit)
        result = rp__base_fail(RP_TOO_LARGE, "%s is larger than %zu bytes", path, limit);
    else if (!(text = rp__base_alloc(told + 2))) /* one for the end of the file, one for the zero */
        result = RP_OUT_OF_MEMORY;
    capacity = (int64_t)told + 2;
    while (result == RP_OK) {
        if (!rp__base_grow(&text, &capacity, (int64_t)used + 2, 1)) {
            result = RP_OUT_OF_MEMORY;
            break;
        }
        size_t got = fread(text + used, 1, (size_t)capacity - used - 1, stream);
        used += got;
        if (used > limit)
            result = rp__base_fail(RP_TOO_LARGE, "%s is larger than %zu bytes", path, limit);
        else if (ferror(stream))
            result = io_failed("cannot read", path);
        else if (got == 0)
            break;
    }
    fclose(stream);
    if (result != RP_OK) {
        rp__base_free(text);
        return result;
    }
    text[used] = '\0';
    *data = text;
    if (size)
        *size = used;
    return RP_OK;
}

rp_result rp__file_make_folder(const char *path)
{
    char *copy = rp__base_copy_text(path);
    if (!copy)
        return RP_OUT_OF_MEMORY;
    rp_result result = RP_OK;
    for (char *p = *copy ? copy + 1 : copy; result == RP_OK; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            result = io_failed("cannot create folder", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    struct stat status;
    if (result == RP_OK && (stat(copy, &status) != 0 || !S_ISDIR(status.st_mode)))
        result = rp__base_fail(RP_IO_ERROR, "%s is not a folder", path);
    rp__base_free(copy);
    return result;
}

rp_result rp__file_lock(const char *folder, int *lock)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return rp__base_fail(RP_IO_ERROR, "cannot open the folder %s: %s", folder, strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return RP_OK;
    bool busy = errno == EWOULDBLOCK;
    close(*lock);
    *lock = -1;
    return busy ? rp__base_fail(RP_IO_ERROR, "%s is in use: another program is writing a run there", folder) : RP_OK;
}

void rp__file_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

bool rp__file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool rp__file_is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

char *rp__file_join(const char *folder, const char *name)
{
    if (name[0] == '/' || folder[0] == '\0')
        return rp__base_copy_text(name);
    size_t length = strlen(folder), size = length + strlen(name) + 2;
    char *path = rp__base_alloc(size);
    if (path)
        snprintf(path, size, "%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", name);
    return path;
}
