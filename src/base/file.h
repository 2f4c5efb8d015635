/* Files that appear whole or not at all: written aside, synced, renamed. */
#ifndef RP_BASE_FILE_H
#define RP_BASE_FILE_H

#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file being written aside as PATH.part; commit syncs and renames it, drop removes it. */
typedef struct rp__file {
    FILE *stream; /* NULL when a library writes to `part` itself (HDF5) */
    char *path, *part;
} rp__file;

rp_result rp__file_begin(rp__file *file, const char *path);        /* opens the stream */
rp_result rp__file_begin_path(rp__file *file, const char *path);   /* only the names; the caller writes file->part */
rp_result rp__file_commit(rp__file *file);                         /* an error leaves the old file as it was */
void rp__file_drop(rp__file *file);                                /* safe after commit and on a zeroed struct */

/* For tests: the n-th commit from now (1 = the next) fails as on a full disk, 0 for none; returns how many there were since the
 * last call. */
int64_t rp__file_fail_commit(int64_t nth);

rp_result rp__file_write_text(const char *path, const char *text); /* begin, write, commit */

/* The whole file with a final 0 byte; refuses more than `limit` bytes. Free with rp__base_free. */
rp_result rp__file_read(const char *path, size_t limit, char **data, size_t *size);

rp_result rp__file_make_folder(const char *path); /* with parents; fine when it is there */

/* A folder for one writer at a time. The lock goes with its holder, however that ends, and leaves nothing behind; where the file
 * system knows no locks there is none (-1). */
rp_result rp__file_lock(const char *folder, int *lock);
void rp__file_unlock(int lock);

bool rp__file_exists(const char *path);
bool rp__file_is_link(const char *path); /* symbolic; false when there is nothing */

/* RP_OK for a regular file; RP_NOT_FOUND, or RP_IO_ERROR and a sentence for folders, pipes and devices, which could be read for ever. */
rp_result rp__file_check_regular(const char *path);
char *rp__file_join(const char *folder, const char *name); /* free with rp__base_free; an absolute name wins */

#endif
