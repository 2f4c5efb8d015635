/* Writing problems and solutions of the FCLIB collection. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "friction/hdf5_quiet.h"
#include "friction/fclib_copy.h"
#include "friction/problem.h"

#include <stdio.h>
#include <string.h>

/* The first failure is kept; the calls after it do nothing. */
typedef struct writer {
    hid_t file;
    bool failed;
} writer;

static void write_numbers(writer *w, const char *path, hid_t disk, hid_t memory, int64_t count, const void *data)
{
    if (w->failed)
        return;
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(1, &(hsize_t){ (hsize_t)count }, NULL);
    H5Pset_create_intermediate_group(links, 1);
    hid_t set = H5Dcreate2(w->file, path, disk, space, links, H5P_DEFAULT, H5P_DEFAULT);
    w->failed = set < 0 || (count > 0 && H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0);
    if (set >= 0)
        H5Dclose(set);
    if (space >= 0)
        H5Sclose(space);
    if (links >= 0)
        H5Pclose(links);
}

static void write_reals(writer *w, const char *path, int64_t count, const double *data)
{
    write_numbers(w, path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, count, data);
}

static void write_integers(writer *w, const char *path, int64_t count, const int32_t *data)
{
    write_numbers(w, path, H5T_STD_I32LE, H5T_NATIVE_INT32, count, data);
}

static void write_text(writer *w, const char *path, const char *text)
{
    if (w->failed || !text)
        return;
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    H5Pset_create_intermediate_group(links, 1);
    H5Tset_size(type, strlen(text) + 1);
    hid_t set = H5Dcreate2(w->file, path, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    w->failed = set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0;
    if (set >= 0)
        H5Dclose(set);
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(links);
}

/* nz = -1: compressed columns; nz = -2: compressed rows. */
static rp_result write_matrix(writer *w, const char *path, int64_t rows, int64_t columns, int storage, const int64_t *first,
                              const int32_t *index, const double *value)
{
    char part[128];
    int64_t lines = storage == -1 ? columns : rows;
    if (first[lines] > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "%s has %lld entries: the format holds at most 2^31 - 1", path, (long long)first[lines]);
    int32_t *pointers = RP_NEW_ARRAY(int32_t, lines + 1);
    if (!pointers)
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k <= lines; k++)
        pointers[k] = (int32_t)first[k];
    int32_t head[4] = { (int32_t)rows, (int32_t)columns, storage, (int32_t)first[lines] };
    const char *names[4] = { "m", "n", "nz", "nzmax" };
    for (int k = 0; k < 4; k++) {
        snprintf(part, sizeof part, "%s/%s", path, names[k]);
        write_integers(w, part, 1, &head[k]);
    }
    snprintf(part, sizeof part, "%s/p", path);
    write_integers(w, part, lines + 1, pointers);
    snprintf(part, sizeof part, "%s/i", path);
    write_integers(w, part, first[lines], index);
    snprintf(part, sizeof part, "%s/x", path);
    write_reals(w, part, first[lines], value);
    rp__base_free(pointers);
    return RP_OK;
}

/* W by scalar rows, zeros inside blocks kept. */
static rp_result write_w(writer *w, const rp_friction *p)
{
    int d = p->dimension;
    int64_t n = p->contacts, entries = p->first[n] * d * d;
    int64_t *first = RP_NEW_ARRAY(int64_t, n * d + 1);
    int32_t *index = RP_NEW_ARRAY(int32_t, entries);
    double *value = RP_NEW_ARRAY(double, entries);
    rp_result result = RP_OUT_OF_MEMORY;
    if (first && index && value) {
        int64_t out = 0;
        for (int64_t i = 0; i < n; i++)
            for (int a = 0; a < d; a++) {
                first[i * d + a] = out;
                for (int64_t k = p->first[i]; k < p->first[i + 1]; k++)
                    for (int c = 0; c < d; c++) {
                        index[out] = (int32_t)(p->column[k] * d + c);
                        value[out++] = p->block[(k * d + a) * d + c];
                    }
            }
        first[n * d] = out;
        result = write_matrix(w, "fclib_local/W", n * d, n * d, -2, first, index, value);
    }
    rp__base_free(first);
    rp__base_free(index);
    rp__base_free(value);
    return result;
}

static void write_info(writer *w, const rp_friction *p, const char *group)
{
    char path[128];
    const char *names[3] = { "title", "description", "math_info" }, *texts[3] = { p->title, p->description, p->math };
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/info/%s", group, names[k]);
        write_text(w, path, texts[k]);
    }
    snprintf(path, sizeof path, "%s/spacedim", group);
    write_integers(w, path, 1, &(int32_t){ p->dimension });
    snprintf(path, sizeof path, "%s/vectors/mu", group);
    write_reals(w, path, p->contacts, p->mu);
}

static rp_result write_problem(writer *w, const rp_friction *p)
{
    if (p->form == RP_FRICTION_LOCAL) {
        write_info(w, p, "fclib_local");
        write_reals(w, "fclib_local/vectors/q", p->contacts * p->dimension, p->b);
        return write_w(w, p);
    }
    write_info(w, p, "fclib_global");
    write_reals(w, "fclib_global/vectors/w", p->contacts * p->dimension, p->w);
    write_reals(w, "fclib_global/vectors/f", p->dofs, p->f);
    RP_TRY(write_matrix(w, "fclib_global/M", p->m.rows, p->m.columns, -1, p->m.first, p->m.row, p->m.value));
    return write_matrix(w, "fclib_global/H", p->hm.rows, p->hm.columns, -1, p->hm.first, p->hm.row, p->hm.value);
}

/* Where the solution lives: older files have it at the root, which is what the collection's own reader looks for. */
static rp_result write_answers(writer *w, const rp_friction *p, const double *r, const double *u)
{
    const char *names[4] = { "solution/r", "solution/u", "solution/v", "solution/l" };
    for (int k = 0; k < 4; k++)
        if (H5Lexists(w->file, "solution", H5P_DEFAULT) > 0 && H5Lexists(w->file, names[k], H5P_DEFAULT) > 0)
            w->failed = w->failed || H5Ldelete(w->file, names[k], H5P_DEFAULT) < 0;
    if (r)
        write_reals(w, "solution/r", p->contacts * p->dimension, r);
    if (u)
        write_reals(w, "solution/u", p->contacts * p->dimension, u);
    if (p->form != RP_FRICTION_GLOBAL || !r)
        return RP_OK;
    double *v = RP_NEW_ARRAY(double, p->dofs);
    rp_result result = v ? rp__friction_velocities(p, r, v) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        write_reals(w, "solution/v", p->dofs, v);
    rp__base_free(v);
    return result;
}

static rp_result finish(writer *w, rp__file *target, const char *path, rp_result result)
{
    if (w->file >= 0 && H5Fclose(w->file) < 0)
        w->failed = true;
    if (result == RP_OK && w->failed)
        result = rp__base_fail(RP_IO_ERROR, "%s: HDF5 could not write it", path);
    if (result == RP_OK)
        return rp__file_commit(target);
    rp__file_drop(target);
    return result;
}

rp_result rp_friction_write(const rp_friction *p, const char *path, const double *r, const double *u)
{
    if (!p || !path)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_write: the problem or the path is NULL");
    if (p->form == RP_FRICTION_OPERATOR)
        return rp__base_fail(RP_UNSUPPORTED, "a problem given as an operator has no matrix to write");
    rp__file target;
    RP_TRY(rp__file_begin_path(&target, path));
    rp__friction_quiet q = rp__friction_be_quiet();
    writer w = { .file = H5Fcreate(target.part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) };
    w.failed = w.file < 0;
    rp_result result = w.failed ? RP_OK : write_problem(&w, p);
    if (result == RP_OK && !w.failed && (r || u))
        result = write_answers(&w, p, r, u);
    result = finish(&w, &target, path, result);
    rp__friction_speak_again(q);
    return result;
}

rp_result rp_friction_write_solution(const rp_friction *p, const char *source, const char *path, const double *r, const double *u)
{
    if (!p || !source || !path || !r || !u)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_write_solution: an argument is NULL");
    rp__file target;
    char *data = NULL;
    size_t size = 0;
    RP_TRY(rp__file_read(source, (size_t)1 << 40, &data, &size));
    rp_result result = rp__file_begin_path(&target, path);
    if (result == RP_OK) {
        rp__friction_quiet q = rp__friction_be_quiet();
        writer w = { .file = H5Fcreate(target.part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) };
        w.failed = w.file < 0;
        if (!w.failed)
            result = rp__friction_copy_file(source, data, size, w.file);
        if (!w.failed && result == RP_OK)
            result = write_answers(&w, p, r, u);
        result = finish(&w, &target, path, result);
        rp__friction_speak_again(q);
    }
    rp__base_free(data);
    return result;
}
