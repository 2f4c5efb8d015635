/* Reading problems of the FCLIB collection. Nothing in a file is believed: kinds, sizes and indices are checked before memory is
 * asked for, and every refusal names the dataset. */
#include "friction/fclib.h"
#include "friction/hdf5_quiet.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 128, MAX_TEXT = 65536 };

/* True when every link of `path` under `parent` is there, and a hard one: links to other files are not followed. */
static bool has(hid_t parent, const char *path)
{
    char part[NAME_LENGTH];
    const char *at = path;
    for (;;) {
        const char *slash = strchr(at, '/');
        size_t length = slash ? (size_t)(slash - path) : strlen(path);
        if (length >= sizeof part)
            return false;
        memcpy(part, path, length);
        part[length] = '\0';
        H5L_info_t info;
        if (H5Lexists(parent, part, H5P_DEFAULT) <= 0 || H5Lget_info(parent, part, &info, H5P_DEFAULT) < 0 ||
            info.type != H5L_TYPE_HARD)
            return false;
        if (!slash)
            return true;
        at = slash + 1;
    }
}

/* Opens a dataset of numbers with one axis and checks its length before anybody reads it. */
static rp_result open_numbers(hid_t parent, const char *path, hid_t *dataset, int64_t *count)
{
    if (!has(parent, path))
        return rp__base_fail(RP_BAD_FILE, "dataset %s is missing", path);
    hid_t set = H5Dopen2(parent, path, H5P_DEFAULT);
    if (set < 0)
        return rp__base_fail(RP_BAD_FILE, "%s is not a dataset", path);
    hid_t space = H5Dget_space(set), type = H5Dget_type(set), creation = H5Dget_create_plist(set);
    H5T_class_t kind = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    int axes = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    hssize_t length = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    bool external = creation >= 0 && H5Pget_external_count(creation) > 0;
    hsize_t stored = H5Dget_storage_size(set);
    rp_result result = RP_OK;
    if (kind != H5T_INTEGER && kind != H5T_FLOAT)
        result = rp__base_fail(RP_BAD_FILE, "dataset %s does not hold numbers", path);
    else if (axes < 0 || axes > 2 || length < 0 || size == 0 || size > 16)
        result = rp__base_fail(RP_BAD_FILE, "dataset %s is not a list of numbers", path);
    else if (external)
        result = rp__base_fail(RP_BAD_FILE, "dataset %s keeps its numbers in another file", path);
    else if (length > INT32_MAX)
        result = rp__base_fail(RP_TOO_LARGE, "dataset %s claims %lld numbers: more than 2^31 - 1", path, (long long)length);
    else if ((hsize_t)length * size > (hsize_t)1 << 22 && (hsize_t)length * size / 1024 > stored)
        result = rp__base_fail(RP_BAD_FILE, "dataset %s claims %lld numbers but the file holds %llu bytes for it", path,
                               (long long)length, (unsigned long long)stored);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (creation >= 0)
        H5Pclose(creation);
    if (result != RP_OK) {
        H5Dclose(set);
        return result;
    }
    *dataset = set;
    *count = length;
    return RP_OK;
}

/* Reads a whole dataset; `wanted` >= 0 is the length it must have. */
static rp_result read_numbers(hid_t parent, const char *path, hid_t type, size_t size, int64_t wanted, void **data, int64_t *count)
{
    hid_t set = -1;
    int64_t length = 0;
    RP_TRY(open_numbers(parent, path, &set, &length));
    rp_result result = RP_OK;
    void *values = NULL;
    if (wanted >= 0 && length != wanted)
        result = rp__base_fail(RP_BAD_FILE, "dataset %s has %lld numbers: there must be %lld", path, (long long)length,
                               (long long)wanted);
    else if (!(values = rp__base_alloc_array((size_t)length, size)))
        result = RP_OUT_OF_MEMORY;
    else if (length > 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        result = rp__base_fail(RP_BAD_FILE, "dataset %s cannot be read: the file is damaged", path);
    H5Dclose(set);
    if (result != RP_OK) {
        rp__base_free(values);
        return result;
    }
    *data = values;
    if (count)
        *count = length;
    return RP_OK;
}

static rp_result read_integer(hid_t parent, const char *path, int64_t low, int64_t high, int64_t *value)
{
    int64_t *data = NULL;
    RP_TRY(read_numbers(parent, path, H5T_NATIVE_INT64, sizeof *data, 1, (void **)&data, NULL));
    *value = data[0];
    rp__base_free(data);
    if (*value < low || *value > high)
        return rp__base_fail(*value > high ? RP_TOO_LARGE : RP_BAD_FILE, "dataset %s is %lld: it must be in %lld .. %lld", path,
                             (long long)*value, (long long)low, (long long)high);
    return RP_OK;
}

static rp_result read_vector(hid_t parent, const char *group, const char *name, int64_t wanted, double **data, int64_t *count)
{
    char path[NAME_LENGTH];
    snprintf(path, sizeof path, "%s/vectors/%s", group, name);
    return read_numbers(parent, path, H5T_NATIVE_DOUBLE, sizeof(double), wanted, (void **)data, count);
}

/* A text, or NULL when there is none or it is odd: descriptions are never worth a refusal. */
static char *read_text(hid_t parent, const char *group, const char *name)
{
    char path[NAME_LENGTH];
    snprintf(path, sizeof path, "%s/info/%s", group, name);
    if (!has(parent, path))
        return NULL;
    hid_t set = H5Dopen2(parent, path, H5P_DEFAULT);
    if (set < 0)
        return NULL;
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    char *text = NULL;
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && size <= MAX_TEXT &&
        H5Sget_simple_extent_npoints(space) == 1) {
        hid_t memory = H5Tcopy(type);
        text = rp__base_alloc_zero(size + 1);
        if (text && H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0) {
            rp__base_free(text);
            text = NULL;
        }
        H5Tclose(memory);
    }
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    H5Dclose(set);
    return text;
}

typedef struct raw_matrix {
    int64_t rows, columns, entries, storage; /* storage: nz of the file */
    int32_t *p, *i;
    double *x;
} raw_matrix;

static void free_raw(raw_matrix *raw)
{
    rp__base_free(raw->p);
    rp__base_free(raw->i);
    rp__base_free(raw->x);
}

static rp_result check_pointers(const raw_matrix *raw, const char *path)
{
    int64_t lines = raw->storage == -1 ? raw->columns : raw->rows;
    if (raw->p[0] != 0)
        return rp__base_fail(RP_BAD_FILE, "dataset %s/p begins with %d: it must begin with 0", path, (int)raw->p[0]);
    for (int64_t k = 0; k < lines; k++)
        if (raw->p[k + 1] < raw->p[k] || raw->p[k + 1] > raw->entries)
            return rp__base_fail(RP_BAD_FILE, "dataset %s/p: entry %lld is %d, outside %d .. %lld", path, (long long)(k + 1),
                                 (int)raw->p[k + 1], (int)raw->p[k], (long long)raw->entries);
    return RP_OK;
}

static rp_result check_indices(const raw_matrix *raw, const char *path)
{
    bool coordinates = raw->storage >= 0;
    int64_t used = coordinates ? raw->storage : raw->p[raw->storage == -1 ? raw->columns : raw->rows];
    int64_t bound = raw->storage == -2 ? raw->columns : raw->rows;
    for (int64_t k = 0; k < used; k++) {
        if (raw->i[k] < 0 || raw->i[k] >= bound)
            return rp__base_fail(RP_BAD_FILE, "dataset %s/i: entry %lld is %d, outside 0 .. %lld", path, (long long)k, (int)raw->i[k],
                                 (long long)bound - 1);
        if (coordinates && (raw->p[k] < 0 || raw->p[k] >= raw->columns))
            return rp__base_fail(RP_BAD_FILE, "dataset %s/p: entry %lld is %d, outside 0 .. %lld", path, (long long)k, (int)raw->p[k],
                                 (long long)raw->columns - 1);
        if (!isfinite(raw->x[k]))
            return rp__base_fail(RP_BAD_FILE, "dataset %s/x: entry %lld is not a finite number", path, (long long)k);
    }
    return RP_OK;
}

static rp_result read_raw(hid_t file, const char *group, const char *name, int64_t rows, int64_t columns, raw_matrix *raw)
{
    char path[NAME_LENGTH], part[NAME_LENGTH + 8];
    snprintf(path, sizeof path, "%s/%s", group, name);
    memset(raw, 0, sizeof *raw);
    struct {
        const char *name;
        int64_t low, *to;
    } numbers[] = { { "m", 0, &raw->rows }, { "n", 0, &raw->columns }, { "nz", -2, &raw->storage } };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        snprintf(part, sizeof part, "%s/%s", path, numbers[k].name);
        RP_TRY(read_integer(file, part, numbers[k].low, INT32_MAX - 1, numbers[k].to));
    }
    if (raw->rows != rows || raw->columns != columns)
        return rp__base_fail(RP_BAD_FILE, "%s is %lld × %lld: by the vectors and spacedim it must be %lld × %lld", path,
                             (long long)raw->rows, (long long)raw->columns, (long long)rows, (long long)columns);
    int64_t pointers = raw->storage >= 0 ? -1 : (raw->storage == -1 ? raw->columns : raw->rows) + 1, got = 0;
    snprintf(part, sizeof part, "%s/x", path);
    RP_TRY(read_numbers(file, part, H5T_NATIVE_DOUBLE, sizeof(double), -1, (void **)&raw->x, &raw->entries));
    snprintf(part, sizeof part, "%s/i", path);
    RP_TRY(read_numbers(file, part, H5T_NATIVE_INT32, sizeof(int32_t), -1, (void **)&raw->i, &got));
    if (got < raw->entries)
        raw->entries = got;
    snprintf(part, sizeof part, "%s/p", path);
    RP_TRY(read_numbers(file, part, H5T_NATIVE_INT32, sizeof(int32_t), pointers, (void **)&raw->p, &got));
    if (raw->storage >= 0) {
        if (got < raw->entries)
            raw->entries = got;
        if (raw->storage > raw->entries)
            return rp__base_fail(RP_BAD_FILE, "dataset %s/nz claims %lld entries, the arrays hold %lld", path,
                                 (long long)raw->storage, (long long)raw->entries);
    } else {
        RP_TRY(check_pointers(raw, path));
    }
    return check_indices(raw, path);
}

/* Any of the three storages to compressed columns. */
static rp_result to_columns(const raw_matrix *raw, const char *name, rp__friction_csc *to)
{
    int64_t lines = raw->storage == -2 ? raw->rows : raw->columns;
    int64_t used = raw->storage >= 0 ? raw->storage : raw->p[lines];
    int64_t *first = rp__base_alloc_zero((size_t)(lines + 2) * sizeof *first);
    int32_t *row = RP_NEW_ARRAY(int32_t, used);
    double *value = RP_NEW_ARRAY(double, used);
    rp_result result = first && row && value ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK && raw->storage >= 0) {
        int64_t *next = first + 1; /* shifted by one while filling */
        for (int64_t k = 0; k < used; k++)
            next[raw->p[k] + 1]++;
        for (int64_t j = 0; j < lines; j++)
            next[j + 1] += next[j];
        for (int64_t k = 0; k < used; k++) {
            int64_t place = next[raw->p[k]]++;
            row[place] = raw->i[k];
            value[place] = raw->x[k];
        }
    } else if (result == RP_OK) {
        for (int64_t j = 0; j <= lines; j++)
            first[j] = raw->p[j];
        if (used > 0) {
            memcpy(row, raw->i, (size_t)used * sizeof *row);
            memcpy(value, raw->x, (size_t)used * sizeof *value);
        }
    }
    if (result == RP_OK) {
        bool by_rows = raw->storage == -2;
        rp_friction_matrix view = { .rows = by_rows ? raw->columns : raw->rows, .columns = lines, .first = first, .row = row,
                                    .value = value };
        rp__friction_csc sorted;
        result = rp__friction_csc_copy(&view, name, by_rows ? &sorted : to);
        if (result == RP_OK && by_rows) {
            result = rp__friction_csc_transpose(&sorted, to);
            rp__friction_csc_free(&sorted);
        }
    }
    rp__base_free(first);
    rp__base_free(row);
    rp__base_free(value);
    return result;
}

static rp_result read_matrix(hid_t file, const char *group, const char *name, int64_t rows, int64_t columns, rp__friction_csc *to)
{
    raw_matrix raw;
    rp_result result = read_raw(file, group, name, rows, columns, &raw);
    if (result == RP_OK)
        result = to_columns(&raw, name, to);
    free_raw(&raw);
    return result;
}

typedef struct block_list {
    int64_t *first;
    int32_t *column;
    double *blocks;
} block_list;

/* Groups the entries of W, given by rows, in blocks of d×d. */
static rp_result group_blocks(const rp__friction_csc *rows, int d, int64_t contacts, block_list *list)
{
    int32_t *stamp = RP_NEW_ARRAY(int32_t, contacts);
    int64_t *slot = RP_NEW_ARRAY(int64_t, contacts);
    list->first = rp__base_alloc_zero((size_t)(contacts + 1) * sizeof(int64_t));
    rp_result result = stamp && slot && list->first ? RP_OK : RP_OUT_OF_MEMORY;
    for (int pass = 0; pass < 2 && result == RP_OK; pass++) {
        int64_t out = 0;
        for (int64_t i = 0; i < contacts; i++)
            stamp[i] = -1;
        for (int64_t i = 0; i < contacts; i++) {
            for (int a = 0; a < d; a++)
                for (int64_t k = rows->first[i * d + a]; k < rows->first[i * d + a + 1]; k++) {
                    int64_t j = rows->row[k] / d;
                    if (stamp[j] != i) {
                        stamp[j] = (int32_t)i;
                        slot[j] = out++;
                    }
                    if (pass == 1) {
                        list->column[slot[j]] = (int32_t)j;
                        list->blocks[(slot[j] * d + a) * d + rows->row[k] % d] = rows->value[k];
                    }
                }
            list->first[i + 1] = out;
        }
        if (pass == 0) {
            list->column = RP_NEW_ARRAY(int32_t, out);
            list->blocks = rp__base_alloc_zero((size_t)out * (size_t)(d * d) * sizeof(double));
            if (!list->column || !list->blocks)
                result = RP_OUT_OF_MEMORY;
        }
    }
    rp__base_free(stamp);
    rp__base_free(slot);
    return result;
}

static rp_result create_from_w(const rp__friction_csc *w, int d, const double *q, const double *mu, int64_t contacts,
                               rp_friction **problem)
{
    rp__friction_csc rows;
    RP_TRY(rp__friction_csc_transpose(w, &rows));
    block_list list = { 0 };
    rp_result result = group_blocks(&rows, d, contacts, &list);
    rp__friction_csc_free(&rows);
    if (result == RP_OK) {
        rp_friction_local_def def = rp_default_friction_local_def();
        def.dimension = d;
        def.contacts = contacts;
        def.first = list.first;
        def.column = list.column;
        def.blocks = list.blocks;
        def.b = q;
        def.mu = mu;
        result = rp_friction_create_local(&def, problem);
    }
    rp__base_free(list.first);
    rp__base_free(list.column);
    rp__base_free(list.blocks);
    return result;
}

static rp_result read_local(hid_t file, int d, rp_friction **problem)
{
    double *q = NULL, *mu = NULL;
    int64_t contacts = 0;
    rp__friction_csc w = { 0 };
    rp_result result = read_vector(file, "fclib_local", "mu", -1, &mu, &contacts);
    if (result == RP_OK)
        result = read_vector(file, "fclib_local", "q", contacts * d, &q, NULL);
    if (result == RP_OK)
        result = read_matrix(file, "fclib_local", "W", contacts * d, contacts * d, &w);
    if (result == RP_OK)
        result = create_from_w(&w, d, q, mu, contacts, problem);
    rp__friction_csc_free(&w);
    rp__base_free(q);
    rp__base_free(mu);
    return result;
}

/* Equality constraints are not part of the problems solved here. */
static rp_result refuse_constraints(hid_t file)
{
    if (!has(file, "fclib_global/G/n"))
        return RP_OK;
    int64_t columns;
    RP_TRY(read_integer(file, "fclib_global/G/n", 0, INT32_MAX, &columns));
    if (columns > 0)
        return rp__base_fail(RP_UNSUPPORTED, "fclib_global/G: %lld equality constraints, which are not supported", (long long)columns);
    return RP_OK;
}

static rp_result read_global(hid_t file, int d, rp_friction **problem)
{
    double *f = NULL, *w = NULL, *mu = NULL;
    int64_t contacts = 0, dofs = 0;
    rp__friction_csc m = { 0 }, h = { 0 };
    rp_result result = refuse_constraints(file);
    if (result == RP_OK)
        result = read_vector(file, "fclib_global", "mu", -1, &mu, &contacts);
    if (result == RP_OK)
        result = read_vector(file, "fclib_global", "w", contacts * d, &w, NULL);
    if (result == RP_OK)
        result = read_vector(file, "fclib_global", "f", -1, &f, &dofs);
    if (result == RP_OK)
        result = read_matrix(file, "fclib_global", "M", dofs, dofs, &m);
    if (result == RP_OK)
        result = read_matrix(file, "fclib_global", "H", dofs, contacts * d, &h);
    if (result == RP_OK) {
        rp_friction_global_def def = rp_default_friction_global_def();
        def.dimension = d;
        def.contacts = contacts;
        def.dofs = dofs;
        def.m = (rp_friction_matrix){ m.rows, m.columns, m.first, m.row, m.value };
        def.h = (rp_friction_matrix){ h.rows, h.columns, h.first, h.row, h.value };
        def.f = f;
        def.w = w;
        def.mu = mu;
        result = rp_friction_create_global(&def, problem);
    }
    rp__friction_csc_free(&m);
    rp__friction_csc_free(&h);
    rp__base_free(f);
    rp__base_free(w);
    rp__base_free(mu);
    return result;
}

static rp_result read_open_file(hid_t file, rp_friction **problem)
{
    bool local = has(file, "fclib_local"), global = has(file, "fclib_global");
    if (!local && !global && has(file, "fclib_global_rolling"))
        return rp__base_fail(RP_UNSUPPORTED, "fclib_global_rolling: contacts with rolling friction (dimension 5), which are not supported");
    if (!local && !global)
        return rp__base_fail(RP_BAD_FILE, "there is no group fclib_local and no group fclib_global: not a file of FCLIB");
    const char *group = local ? "fclib_local" : "fclib_global";
    int64_t dimension;
    RP_TRY(read_integer(file, local ? "fclib_local/spacedim" : "fclib_global/spacedim", 2, 6, &dimension));
    if (dimension != 2 && dimension != 3 && dimension != 6)
        return rp__base_fail(RP_BAD_FILE, "dataset %s/spacedim is %lld: it must be 2, 3 or 6", group, (long long)dimension);
    rp_friction *p = NULL;
    RP_TRY(local ? read_local(file, (int)dimension, &p) : read_global(file, (int)dimension, &p));
    p->title = read_text(file, group, "title");
    p->description = read_text(file, group, "description");
    p->math = read_text(file, group, "math_info");
    *problem = p;
    return RP_OK;
}

static rp_result read_with(const char *path, hid_t access, rp_friction **problem)
{
    rp__friction_quiet q = rp__friction_be_quiet();
    if (access >= 0)
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG); /* also what a damaged file left open inside HDF5 */
    hid_t file = access < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, access);
    rp_result result;
    if (file < 0) {
        result = rp__base_fail(RP_BAD_FILE, "not an HDF5 file, or a truncated one");
    } else {
        result = read_open_file(file, problem);
        H5Fclose(file);
    }
    if (access >= 0)
        H5Pclose(access);
    rp__friction_speak_again(q);
    return result == RP_OK ? RP_OK : rp__base_fail_prefix(result, "%s: ", path);
}

rp_result rp_friction_read(const char *path, rp_friction **problem)
{
    if (!path || !problem)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_read: the path or the place of the result is NULL");
    if (!rp__file_exists(path))
        return rp__base_fail(RP_NOT_FOUND, "%s: no such file", path);
    RP_TRY(rp__file_check_regular(path));
    return read_with(path, H5Pcreate(H5P_FILE_ACCESS), problem);
}

rp_result rp__friction_read_image(const void *data, size_t size, rp_friction **problem)
{
    if (size == 0)
        return rp__base_fail(RP_BAD_FILE, "image: it is empty");
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && (H5Pset_fapl_core(access, 65536, 0) < 0 || H5Pset_file_image(access, (void *)(uintptr_t)data, size) < 0)) {
        H5Pclose(access);
        access = -1;
    }
    return read_with("image", access, problem);
}
