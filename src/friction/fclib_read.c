/* Reading problems of the FCLIB collection. Nothing in a file is believed: kinds, sizes and indices are checked before memory is
 * asked for, and every refusal names the dataset. */
#include "friction/fclib.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "hdf5/hdf5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 128 };

static rp_result look_for(const rp__hdf5_file *file, const char *path, bool *there)
{
    uint64_t object;
    rp_result result = rp__hdf5_find(file, file->root, path, &object);
    *there = result == RP_OK;
    return result == RP_NOT_FOUND ? RP_OK : result;
}

/* Describes a list of numbers and checks its length before anybody reads it. */
static rp_result describe_numbers(const rp__hdf5_file *file, const char *path, rp__hdf5_array *array)
{
    uint64_t object;
    rp_result result = rp__hdf5_find(file, file->root, path, &object);
    if (result == RP_NOT_FOUND)
        return rp__base_fail(RP_BAD_FILE, "dataset %s is missing", path);
    if (result == RP_OK)
        result = rp__hdf5_describe(file, object, array);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "dataset %s: ", path);
    if (array->kind != RP_HDF5_INTEGER && array->kind != RP_HDF5_REAL)
        return rp__base_fail(RP_BAD_FILE, "dataset %s does not hold numbers", path);
    if (array->axes > 2)
        return rp__base_fail(RP_BAD_FILE, "dataset %s is not a list of numbers", path);
    if (array->count > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "dataset %s claims %llu numbers: more than 2^31 - 1", path, (unsigned long long)array->count);
    return RP_OK;
}

/* Reads a whole dataset; `wanted` >= 0 is the length it must have. */
static rp_result read_numbers(rp__hdf5_file *file, const char *path, rp_type type, size_t size, int64_t wanted, void **data, int64_t *count)
{
    rp__hdf5_array array = { 0 };
    RP_TRY(describe_numbers(file, path, &array));
    int64_t length = (int64_t)array.count;
    if (wanted >= 0 && length != wanted)
        return rp__base_fail(RP_BAD_FILE, "dataset %s has %lld numbers: there must be %lld", path, (long long)length, (long long)wanted);
    rp_result result = rp__hdf5_load(file, &array);
    if (result != RP_OK)
        return rp__base_fail_prefix(result, "dataset %s: ", path);
    void *values = rp__base_alloc_array((size_t)length, size);
    if (values) {
        rp__hdf5_numbers(&array, 0, array.count, type, values);
        *data = values;
        if (count)
            *count = length;
    }
    rp__hdf5_release(&array);
    return values ? RP_OK : RP_OUT_OF_MEMORY;
}

static rp_result read_integer(rp__hdf5_file *file, const char *path, int64_t low, int64_t high, int64_t *value)
{
    int64_t *data = NULL;
    RP_TRY(read_numbers(file, path, RP_I64, sizeof *data, 1, (void **)&data, NULL));
    *value = data[0];
    rp__base_free(data);
    if (*value < low || *value > high)
        return rp__base_fail(*value > high ? RP_TOO_LARGE : RP_BAD_FILE, "dataset %s is %lld: it must be in %lld .. %lld", path,
                             (long long)*value, (long long)low, (long long)high);
    return RP_OK;
}

static rp_result read_vector(rp__hdf5_file *file, const char *group, const char *name, int64_t wanted, double **data, int64_t *count)
{
    char path[NAME_LENGTH];
    snprintf(path, sizeof path, "%s/vectors/%s", group, name);
    return read_numbers(file, path, RP_F64, sizeof(double), wanted, (void **)data, count);
}

/* A text, or NULL when there is none or it is odd: descriptions are never worth a refusal. */
static rp_result read_text(rp__hdf5_file *file, const char *group, const char *name, char **text)
{
    char path[NAME_LENGTH];
    uint64_t object;
    rp__hdf5_array array = { 0 };
    snprintf(path, sizeof path, "%s/info/%s", group, name);
    rp_result result = rp__hdf5_find(file, file->root, path, &object);
    if (result == RP_OK)
        result = rp__hdf5_describe(file, object, &array);
    if (result == RP_OK && array.kind == RP_HDF5_TEXT && array.count == 1)
        result = rp__hdf5_load(file, &array);
    if (result == RP_OK && array.bytes) {
        *text = rp__base_alloc((size_t)array.width + 1);
        if (*text)
            rp__hdf5_text(&array, 0, *text, (size_t)array.width + 1);
        else
            result = RP_OUT_OF_MEMORY;
    }
    rp__hdf5_release(&array);
    return result == RP_OUT_OF_MEMORY ? result : RP_OK;
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

static rp_result read_raw(rp__hdf5_file *file, const char *group, const char *name, int64_t rows, int64_t columns, raw_matrix *raw)
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
    RP_TRY(read_numbers(file, part, RP_F64, sizeof(double), -1, (void **)&raw->x, &raw->entries));
    snprintf(part, sizeof part, "%s/i", path);
    RP_TRY(read_numbers(file, part, RP_I32, sizeof(int32_t), -1, (void **)&raw->i, &got));
    if (got < raw->entries)
        raw->entries = got;
    snprintf(part, sizeof part, "%s/p", path);
    RP_TRY(read_numbers(file, part, RP_I32, sizeof(int32_t), pointers, (void **)&raw->p, &got));
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

static rp_result read_matrix(rp__hdf5_file *file, const char *group, const char *name, int64_t rows, int64_t columns, rp__friction_csc *to)
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

static rp_result read_local(rp__hdf5_file *file, int d, rp_friction **problem)
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
static rp_result refuse_constraints(rp__hdf5_file *file)
{
    bool there;
    RP_TRY(look_for(file, "fclib_global/G/n", &there));
    if (!there)
        return RP_OK;
    int64_t columns;
    RP_TRY(read_integer(file, "fclib_global/G/n", 0, INT32_MAX, &columns));
    if (columns > 0)
        return rp__base_fail(RP_UNSUPPORTED, "fclib_global/G: %lld equality constraints, which are not supported", (long long)columns);
    return RP_OK;
}

static rp_result read_global(rp__hdf5_file *file, int d, rp_friction **problem)
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

static rp_result read_problem(rp__hdf5_file *file, rp_friction **problem)
{
    bool local, global, rolling;
    RP_TRY(look_for(file, "fclib_local", &local));
    RP_TRY(look_for(file, "fclib_global", &global));
    RP_TRY(look_for(file, "fclib_global_rolling", &rolling));
    if (!local && !global && rolling)
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
    rp_result result = read_text(file, group, "title", &p->title);
    if (result == RP_OK)
        result = read_text(file, group, "description", &p->description);
    if (result == RP_OK)
        result = read_text(file, group, "math_info", &p->math);
    if (result == RP_OK)
        *problem = p;
    else
        rp_friction_destroy(p);
    return result;
}

rp_result rp__friction_read_image(const void *data, size_t size, const char *name, rp_friction **problem)
{
    rp__hdf5_file file;
    rp_result result = rp__hdf5_open(data, size, &file);
    if (result == RP_OK)
        result = read_problem(&file, problem);
    return result == RP_OK ? RP_OK : rp__base_fail_prefix(result, "%s: ", name);
}

rp_result rp_friction_read(const char *path, rp_friction **problem)
{
    if (!path || !problem)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_read: the path or the place of the result is NULL");
    char *data = NULL;
    size_t size = 0;
    RP_TRY(rp__file_read(path, (size_t)1 << 40, &data, &size));
    rp_result result = rp__friction_read_image(data, size, path, problem);
    rp__base_free(data);
    return result;
}
