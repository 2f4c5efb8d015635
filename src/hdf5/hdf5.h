/* Reading HDF5 files that nobody vouches for: the part of the format that frames, fibres and problems of FCLIB use. Every place and size in
 * a file is compared with its end before it is used, no byte is walked over twice on one way, and memory grows with the file alone. The HDF5
 * library has no part in it; files are written with it. See docs/hdf5.md.
 *
 * Sentences of errors do not name the file: callers put its name before them. */
#ifndef RP_HDF5_HDF5_H
#define RP_HDF5_HDF5_H

#include <repose/field.h>
#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp__hdf5_file {
    const unsigned char *bytes;
    uint64_t size;   /* as its head tells; what follows belongs to others */
    uint64_t unread; /* bytes that no array has taken yet: arrays do not share bytes, so this bounds what they hold */
    uint64_t root;
} rp__hdf5_file;

/* The bytes must stay for as long as the file and its arrays are used. There is nothing to close. */
rp_result rp__hdf5_open(const void *bytes, size_t size, rp__hdf5_file *file);

/* ---- groups ---- */

/* An object is told by its place in the file. */
typedef struct rp__hdf5_link {
    const char *name; /* without a zero at its end */
    size_t length;
    uint64_t object;
} rp__hdf5_link;

typedef struct rp__hdf5_links {
    rp__hdf5_link *link; /* by name */
    int64_t count, room;
} rp__hdf5_links;

/* The objects of a group. Links to names and to other files are left out. */
rp_result rp__hdf5_list(const rp__hdf5_file *file, uint64_t group, rp__hdf5_links *links);
void rp__hdf5_links_free(rp__hdf5_links *links);

/* PATH ("a/b/c") from a group; RP_NOT_FOUND when it is not there. */
rp_result rp__hdf5_find(const rp__hdf5_file *file, uint64_t from, const char *path, uint64_t *object);

/* ---- arrays ---- */

typedef enum rp__hdf5_kind { RP_HDF5_INTEGER, RP_HDF5_REAL, RP_HDF5_TEXT, RP_HDF5_OTHER } rp__hdf5_kind;
typedef enum rp__hdf5_layout { RP_HDF5_IN_HEAD, RP_HDF5_IN_ONE, RP_HDF5_IN_CHUNKS } rp__hdf5_layout;
typedef enum rp__hdf5_filter { RP_HDF5_DEFLATE = 1, RP_HDF5_SHUFFLE = 2, RP_HDF5_FLETCHER32 = 3 } rp__hdf5_filter;
enum { RP_HDF5_AXES = 32 /* the format has no more */, RP_HDF5_FILTERS = 3 /* each at most once */ };

typedef struct rp__hdf5_array {
    rp__hdf5_kind kind;
    bool big_endian, has_sign;
    uint32_t width; /* bytes of an element */
    int axes;       /* 0: a single element */
    uint64_t dims[RP_HDF5_AXES], count;

    rp__hdf5_layout layout;
    uint64_t place, stored; /* of the bytes; of the index of the chunks */
    uint64_t chunk[RP_HDF5_AXES];
    rp__hdf5_filter filters[RP_HDF5_FILTERS];
    int filter_count;

    const unsigned char *bytes; /* all elements, row by row, once loaded */
    void *own;                  /* where they were put together from chunks */
} rp__hdf5_array;

/* Arrays that were made and never written have no bytes in the file: they are described, and cannot be loaded. */
bool rp__hdf5_is_written(const rp__hdf5_array *array);
/* What a dataset is. Nothing is loaded yet: sizes can be judged first. */
rp_result rp__hdf5_describe(const rp__hdf5_file *file, uint64_t object, rp__hdf5_array *array);
/* The elements of an array of which all are in the file. Each array can be loaded once. Free with rp__hdf5_release. */
rp_result rp__hdf5_load(rp__hdf5_file *file, rp__hdf5_array *array);
/* Every attribute of an object that can be read, described and loaded; other than RP_OK ends the way through them. */
typedef rp_result rp__hdf5_on_attribute(const char *name, const rp__hdf5_array *array, void *context);
rp_result rp__hdf5_attributes(const rp__hdf5_file *file, uint64_t object, rp__hdf5_on_attribute *on, void *context);
/* An attribute, described and loaded; RP_NOT_FOUND when there is none of that name. */
rp_result rp__hdf5_attribute(const rp__hdf5_file *file, uint64_t object, const char *name, rp__hdf5_array *array);
void rp__hdf5_release(rp__hdf5_array *array); /* safe on a zeroed struct */

/* Elements first … first + count - 1 of a loaded array of numbers as `type`; what is outside the range of integers becomes its end, what is
 * no number 0. */
void rp__hdf5_numbers(const rp__hdf5_array *array, uint64_t first, uint64_t count, rp_type type, void *out);
/* Element `at` of a loaded array of texts, cut to fit; `size` with the zero at its end. */
void rp__hdf5_text(const rp__hdf5_array *array, uint64_t at, char *out, size_t size);

#endif
