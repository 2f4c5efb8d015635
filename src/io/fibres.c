/* Fibres as polylines: VTKHDF files of type PolyData, and other formats made from them. */
#include "base/error.h"
#include "base/memory.h"
#include "io/convert.h"
#include "io/hdf5_file.h"
#include "io/io.h"
#include "io/source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- writing ---- */

static rp_result make_group(hid_t where, const char *path, const char *name, hid_t *group)
{
    *group = H5Gcreate2(where, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return *group >= 0 ? RP_OK : rp__io_h5_failed(RP_IO_ERROR, path, "making group", name);
}

static rp_result put_cells(hid_t vtk, const char *path, const char *name, int64_t cells, const int64_t *offsets, int64_t points, const int64_t *connectivity)
{
    hid_t group;
    const hsize_t one = 1, ends = (hsize_t)cells + 1, ids = (hsize_t)points;
    RP_TRY(make_group(vtk, path, name, &group));
    rp_result result = rp__io_h5_put(group, path, "NumberOfCells", false, RP_I64, 1, &one, &cells);
    if (result == RP_OK)
        result = rp__io_h5_put(group, path, "NumberOfConnectivityIds", false, RP_I64, 1, &one, &points);
    if (result == RP_OK)
        result = rp__io_h5_put(group, path, "Offsets", false, RP_I64, 1, &ends, offsets);
    if (result == RP_OK)
        result = rp__io_h5_put(group, path, "Connectivity", false, RP_I64, 1, &ids, connectivity);
    H5Gclose(group);
    return result;
}

static rp_result put_data(hid_t vtk, const char *path, const rp_fibres_view *v)
{
    hid_t group;
    const hsize_t rows[2] = { (hsize_t)v->nodes, 3 }, cells = (hsize_t)v->count;
    RP_TRY(make_group(vtk, path, "PointData", &group));
    rp_result result = rp__io_h5_put(group, path, "velocity", false, RP_F64, 2, rows, v->velocity);
    if (result == RP_OK)
        result = rp__io_h5_put(group, path, "radius", false, RP_F64, 1, rows, v->radius);
    if (result == RP_OK)
        result = rp__io_h5_put(group, path, "tension", false, RP_F64, 1, rows, v->tension);
    H5Gclose(group);
    if (result == RP_OK)
        result = make_group(vtk, path, "CellData", &group);
    if (result != RP_OK)
        return result;
    result = rp__io_h5_put(group, path, "kind", false, RP_I32, 1, &cells, v->kind);
    H5Gclose(group);
    return result;
}

static rp_result fill(rp__io_h5 *h, hid_t vtk, const rp_fibres_view *v, double time)
{
    const char *path = h->target.path;
    const int64_t version[2] = { 2, 0 };
    const hsize_t one = 1, two = 2, rows[2] = { (hsize_t)v->nodes, 3 };
    const int64_t none = 0;
    int64_t *ids = RP_NEW_ARRAY(int64_t, v->nodes + 1);
    if (!ids)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < v->nodes; i++)
        ids[i] = i;
    rp_result result = rp__io_h5_put(vtk, path, "Version", true, RP_I64, 1, &two, version);
    if (result == RP_OK)
        result = rp__io_h5_put_text(vtk, path, "Type", "PolyData");
    if (result == RP_OK)
        result = rp__io_h5_put(vtk, path, "NumberOfPoints", false, RP_I64, 1, &one, &v->nodes);
    if (result == RP_OK)
        result = rp__io_h5_put(vtk, path, "Points", false, RP_F64, 2, rows, v->position);
    if (result == RP_OK)
        result = put_cells(vtk, path, "Lines", v->count, v->first, v->nodes, ids);
    static const char *const empty[] = { "Vertices", "Polygons", "Strips" };
    for (int k = 0; k < 3 && result == RP_OK; k++)
        result = put_cells(vtk, path, empty[k], 0, &none, 0, ids);
    if (result == RP_OK)
        result = put_data(vtk, path, v);
    if (result == RP_OK)
        result = rp__io_h5_put(vtk, path, "time", true, RP_F64, 0, NULL, &time);
    rp__base_free(ids);
    return result;
}

rp_result rp_fibres_write(rp_sim *sim, const char *path)
{
    rp_fibres_view view;
    rp__io_h5 h;
    hid_t group;
    RP_TRY(rp_sim_fibres(sim, &view));
    RP_TRY(rp__io_h5_create(&h, path, 80 * view.nodes + 16 * view.count + 65536));
    rp_result result = make_group(h.file, path, "VTKHDF", &group);
    if (result == RP_OK) {
        result = fill(&h, group, &view, rp_sim_time(sim));
        H5Gclose(group);
    }
    if (result == RP_OK)
        return rp__io_h5_commit(&h);
    result = rp__io_h5_result(&h, result);
    rp__io_h5_drop(&h);
    return result;
}

/* ---- reading ---- */

void rp_fibres_free(rp_fibres_frame *frame)
{
    rp__base_free(frame->storage);
    memset(frame, 0, sizeof *frame);
}

static rp_result check(const rp_fibres_view *v, const char *path)
{
    for (int64_t k = 0; k < v->count; k++)
        if (v->first[k] < 0 || v->first[k + 1] < v->first[k] + 2 || v->first[k + 1] > v->nodes)
            return rp__base_fail(RP_BAD_FILE, "%s: fibre %lld has no nodes, or more than there are", path, (long long)k);
    if (v->first[0] != 0 || v->first[v->count] != v->nodes)
        return rp__base_fail(RP_BAD_FILE, "%s: the fibres do not hold all nodes", path);
    for (int64_t i = 0; i < 3 * v->nodes; i++)
        if (!isfinite(v->position[i]) || !isfinite(v->velocity[i]) || !isfinite(v->radius[i / 3]))
            return rp__base_fail(RP_BAD_FILE, "%s: node %lld is not a place", path, (long long)(i / 3));
    return RP_OK;
}

static rp_result read_all(rp__io_source *source, rp_fibres_frame *out)
{
    const char *path = source->path;
    int64_t nodes = 0, count = 0;
    uint64_t vtk;
    rp_result result = rp__hdf5_find(&source->file, source->file.root, "VTKHDF", &vtk);
    if (result != RP_OK)
        return result == RP_NOT_FOUND ? rp__base_fail(RP_BAD_FILE, "%s: there are no fibres in it", path) : rp__io_source_failed(source, result);
    RP_TRY(rp__io_source_numbers(source, vtk, "NumberOfPoints", RP_I64, 1, &nodes));
    RP_TRY(rp__io_source_numbers(source, vtk, "Lines/NumberOfCells", RP_I64, 1, &count));
    if (nodes < 2 || count < 1 || nodes > INT64_MAX / 64 || count > nodes / 2)
        return rp__base_fail(RP_BAD_FILE, "%s: %lld fibres with %lld nodes make no sense", path, (long long)count, (long long)nodes);
    rp__hdf5_array points; /* first of all: a file that holds so many nodes is worth the memory */
    RP_TRY(rp__io_source_load(source, vtk, "Points", 3 * nodes, &points));
    double *p = rp__base_alloc_array((size_t)(8 * nodes + 2 * (count + 1)), sizeof *p);
    if (p)
        rp__hdf5_numbers(&points, 0, points.count, RP_F64, p);
    rp__hdf5_release(&points);
    if (!p)
        return RP_OUT_OF_MEMORY;
    out->storage = p;
    double *position = p, *velocity = position + 3 * nodes, *radius = velocity + 3 * nodes, *tension = radius + nodes;
    int64_t *first = (int64_t *)(void *)(tension + nodes);
    int32_t *kind = (int32_t *)(void *)(first + count + 1);
    RP_TRY(rp__io_source_numbers(source, vtk, "PointData/velocity", RP_F64, 3 * nodes, velocity));
    RP_TRY(rp__io_source_numbers(source, vtk, "PointData/radius", RP_F64, nodes, radius));
    RP_TRY(rp__io_source_numbers(source, vtk, "PointData/tension", RP_F64, nodes, tension));
    RP_TRY(rp__io_source_numbers(source, vtk, "Lines/Offsets", RP_I64, count + 1, first));
    RP_TRY(rp__io_source_numbers(source, vtk, "CellData/kind", RP_I32, count, kind));
    out->view = (rp_fibres_view){ count, nodes, first, kind, position, velocity, radius, tension };
    RP_TRY(rp__io_source_attribute(source, vtk, "time", RP_F64, 1, &out->time));
    return check(&out->view, path);
}

rp_result rp_fibres_read(const char *path, rp_fibres_frame *out)
{
    rp__io_source source;
    memset(out, 0, sizeof *out);
    RP_TRY(rp__io_source_open(&source, path));
    rp_result result = read_all(&source, out);
    rp__io_source_close(&source);
    if (result != RP_OK)
        rp_fibres_free(out);
    return result;
}

bool rp__io_is_fibres(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, RP_IO_FIBRES_PREFIX, strlen(RP_IO_FIBRES_PREFIX)) == 0;
}

/* ---- other formats ---- */

static void put_obj(FILE *out, const rp_fibres_view *v)
{
    fprintf(out, "# %lld fibres\n", (long long)v->count);
    for (int64_t i = 0; i < v->nodes; i++)
        fprintf(out, "v %.17g %.17g %.17g\n", v->position[3 * i], v->position[3 * i + 1], v->position[3 * i + 2]);
    for (int64_t k = 0; k < v->count; k++) {
        fputs("l", out);
        for (int64_t i = v->first[k]; i < v->first[k + 1]; i++)
            fprintf(out, " %lld", (long long)i + 1);
        fputs("\n", out);
    }
}

static void put_csv(FILE *out, const rp_fibres_view *v)
{
    fputs("fibre,x,y,z,vx,vy,vz,radius,tension\n", out);
    for (int64_t k = 0; k < v->count; k++)
        for (int64_t i = v->first[k]; i < v->first[k + 1]; i++)
            fprintf(out, "%lld,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", (long long)k, v->position[3 * i], v->position[3 * i + 1],
                    v->position[3 * i + 2], v->velocity[3 * i], v->velocity[3 * i + 1], v->velocity[3 * i + 2], v->radius[i], v->tension[i]);
}

static void put_usda(FILE *out, const rp_fibres_view *v)
{
    double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
    for (int64_t i = 0; i < v->nodes; i++)
        for (int a = 0; a < 3; a++) {
            lower[a] = fmin(lower[a], v->position[3 * i + a] - v->radius[i]);
            upper[a] = fmax(upper[a], v->position[3 * i + a] + v->radius[i]);
        }
    fputs("#usda 1.0\n(\n    defaultPrim = \"fibres\"\n    metersPerUnit = 1\n    upAxis = \"Z\"\n)\n\ndef BasisCurves \"fibres\"\n{\n"
          "    uniform token type = \"linear\"\n    uniform token wrap = \"nonperiodic\"\n    int[] curveVertexCounts = [", out);
    for (int64_t k = 0; k < v->count; k++)
        fprintf(out, "%s%lld", k ? ", " : "", (long long)(v->first[k + 1] - v->first[k]));
    fputs("]\n    point3f[] points = [", out);
    for (int64_t i = 0; i < v->nodes; i++)
        fprintf(out, "%s(%.9g, %.9g, %.9g)", i ? ", " : "", v->position[3 * i], v->position[3 * i + 1], v->position[3 * i + 2]);
    fputs("]\n    vector3f[] velocities = [", out);
    for (int64_t i = 0; i < v->nodes; i++)
        fprintf(out, "%s(%.9g, %.9g, %.9g)", i ? ", " : "", v->velocity[3 * i], v->velocity[3 * i + 1], v->velocity[3 * i + 2]);
    fputs("]\n    float[] widths = [", out);
    for (int64_t i = 0; i < v->nodes; i++)
        fprintf(out, "%s%.9g", i ? ", " : "", 2 * v->radius[i]);
    fprintf(out, "] (\n        interpolation = \"vertex\"\n    )\n    float3[] extent = [(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)]\n}\n", lower[0], lower[1],
            lower[2], upper[0], upper[1], upper[2]);
}

/* As a frame of points with the number of their fibre, for the writers that take frames. */
static rp_result write_points(const rp_fibres_view *v, double time, const char *path)
{
    int64_t n = v->nodes;
    double *planes = RP_NEW_ARRAY(double, 6 * n);
    int64_t *fibre = RP_NEW_ARRAY(int64_t, n);
    rp_result result = planes && fibre ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        for (int64_t i = 0; i < n; i++)
            for (int a = 0; a < 3; a++) {
                planes[a * n + i] = v->position[3 * i + a];
                planes[(3 + a) * n + i] = v->velocity[3 * i + a];
            }
        for (int64_t k = 0; k < v->count; k++)
            for (int64_t i = v->first[k]; i < v->first[k + 1]; i++)
                fibre[i] = k;
        rp_field_view fields[] = {
            { { "position", RP_F64, 3, "m", 1 }, planes, n, n },          { { "velocity", RP_F64, 3, "m/s", 1 }, planes + 3 * n, n, n },
            { { "radius", RP_F64, 1, "m", 1 }, v->radius, n, n },         { { "tension", RP_F64, 1, "N", 1 }, v->tension, n, n },
            { { "fibre", RP_I64, 1, "", 1 }, fibre, n, n },
        };
        rp_frame frame = { .time = time, .dim = 3, .count = n, .fields = fields, .field_count = 5 };
        result = rp__io_npz_write(&frame, path);
    }
    rp__base_free(planes);
    rp__base_free(fibre);
    return result;
}

rp_result rp__io_fibres_convert(const char *from, const char *to, const char *format)
{
    const char *dot = strrchr(to, '.');
    const char *kind = format && *format ? format : dot ? dot + 1 : "";
    void (*put)(FILE *, const rp_fibres_view *) = strcmp(kind, "obj") == 0    ? put_obj
                                                  : strcmp(kind, "csv") == 0  ? put_csv
                                                  : strcmp(kind, "usda") == 0 ? put_usda
                                                                              : NULL;
    if (!put && strcmp(kind, "npz") != 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "fibres can be converted to obj, usda, csv and npz; not to '%s'", kind);
    rp_fibres_frame frame;
    RP_TRY(rp_fibres_read(from, &frame));
    rp_result result;
    if (put) {
        rp__file file = { 0 };
        result = rp__file_begin(&file, to);
        if (result == RP_OK) {
            put(file.stream, &frame.view);
            result = rp__file_commit(&file);
        }
        rp__file_drop(&file);
    } else
        result = write_points(&frame.view, frame.time, to);
    rp_fibres_free(&frame);
    return result;
}
