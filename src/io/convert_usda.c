/* USD text: one Points prim. Of several frames every attribute becomes a list of time samples, a time code a frame; the frames
 * are read once for each attribute, so that no more than one is in memory. */
#include "base/error.h"
#include "base/memory.h"
#include "io/convert.h"

#include <math.h>
#include <string.h>

typedef void (*put_fn)(FILE *stream, const rp_frame *frame);

static double component(const rp_field_view *view, int c, int64_t i)
{
    return rp__io_element(view, c * view->stride + i);
}

static void put_vectors(FILE *stream, const rp_field_view *view)
{
    fputc('[', stream);
    for (int64_t i = 0; i < view->count; i++)
        fprintf(stream, "%s(%.9g, %.9g, %.9g)", i ? ", " : "", component(view, 0, i), component(view, 1, i), component(view, 2, i));
    fputc(']', stream);
}

static void put_points(FILE *stream, const rp_frame *frame)
{
    put_vectors(stream, rp_frame_field(frame, "position"));
}

static void put_velocities(FILE *stream, const rp_frame *frame)
{
    put_vectors(stream, rp_frame_field(frame, "velocity"));
}

/* The diameter of a ball (a disc in 2D) with the volume of the particle's grains. */
static void put_widths(FILE *stream, const rp_frame *frame)
{
    const double pi = 3.14159265358979323846;
    const rp_field_view *view = rp_frame_field(frame, "volume");
    fputc('[', stream);
    for (int64_t i = 0; i < view->count; i++) {
        double volume = component(view, 0, i);
        fprintf(stream, "%s%.9g", i ? ", " : "", frame->dim == 3 ? cbrt(6 * volume / pi) : sqrt(4 * volume / pi));
    }
    fputc(']', stream);
}

static void put_ids(FILE *stream, const rp_frame *frame)
{
    const rp_field_view *view = rp_frame_field(frame, "id");
    fputc('[', stream);
    for (int64_t i = 0; i < view->count; i++)
        fprintf(stream, "%s%lld", i ? ", " : "", (long long)((const int64_t *)view->data)[i]);
    fputc(']', stream);
}

/* The box around the particles, with half a width around it where widths are known. */
static void put_extent(FILE *stream, const rp_frame *frame)
{
    const double pi = 3.14159265358979323846;
    double lower[3] = { 0 }, upper[3] = { 0 }, radius = 0;
    const rp_field_view *points = rp_frame_field(frame, "position"), *volume = rp_frame_field(frame, "volume");
    for (int64_t i = 0; i < points->count; i++)
        for (int d = 0; d < 3; d++) {
            double x = component(points, d, i);
            lower[d] = i && lower[d] < x ? lower[d] : x;
            upper[d] = i && upper[d] > x ? upper[d] : x;
        }
    for (int64_t i = 0; volume && i < volume->count; i++) {
        double v = component(volume, 0, i), r = 0.5 * (frame->dim == 3 ? cbrt(6 * v / pi) : sqrt(4 * v / pi));
        radius = r > radius ? r : radius;
    }
    fprintf(stream, "[(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)]", lower[0] - radius, lower[1] - radius, lower[2] - radius,
            upper[0] + radius, upper[1] + radius, upper[2] + radius);
}

static bool has_field(const rp_frame *frame, const char *name, int components)
{
    const rp_field_view *view = rp_frame_field(frame, name);
    return view && view->info.components == components && (strcmp(name, "id") != 0 || view->info.type == RP_I64);
}

static rp_result put_attribute(FILE *stream, char *const *paths, int64_t count, const char *type, const char *name,
                               const char *field, int components, const char *metadata, put_fn put)
{
    if (metadata && count > 1)
        fprintf(stream, "    %s %s %s\n", type, name, metadata);
    fprintf(stream, count > 1 ? "    %s %s.timeSamples = {\n" : "    %s %s = ", type, name);
    for (int64_t i = 0; i < count; i++) {
        rp_frame frame;
        RP_TRY(rp_frame_read(paths[i], &frame));
        bool there = has_field(&frame, field, components);
        if (count > 1)
            fprintf(stream, "        %lld: ", (long long)frame.index);
        if (there)
            put(stream, &frame);
        else
            fputs(count > 1 ? "None" : "[]", stream);
        fputs(count > 1 ? ",\n" : "", stream);
        rp_frame_free(&frame);
    }
    fputs(count > 1 ? "    }\n" : "", stream);
    if (count == 1)
        fprintf(stream, "%s%s\n", metadata ? " " : "", metadata ? metadata : "");
    return RP_OK;
}

static rp_result put_stage(FILE *stream, char *const *paths, int64_t count)
{
    rp_frame first, last;
    RP_TRY(rp_frame_read(paths[0], &first));
    rp_result result = rp_frame_read(paths[count - 1], &last);
    if (result == RP_OK) {
        fprintf(stream, "#usda 1.0\n(\n    defaultPrim = \"particles\"\n    metersPerUnit = 1\n    upAxis = \"%s\"\n",
                first.dim == 3 ? "Z" : "Y");
        fprintf(stream, "    startTimeCode = %lld\n    endTimeCode = %lld\n    timeCodesPerSecond = %.17g\n    framesPerSecond = %.17g\n)\n\n",
                (long long)first.index, (long long)last.index, first.frame_rate, first.frame_rate);
        fputs("def Points \"particles\"\n{\n", stream);
        bool velocity = has_field(&first, "velocity", 3), volume = has_field(&first, "volume", 1), id = has_field(&first, "id", 1);
        result = put_attribute(stream, paths, count, "float3[]", "extent", "position", 3, NULL, put_extent);
        if (result == RP_OK)
            result = put_attribute(stream, paths, count, "point3f[]", "points", "position", 3, NULL, put_points);
        if (result == RP_OK && velocity)
            result = put_attribute(stream, paths, count, "vector3f[]", "velocities", "velocity", 3, NULL, put_velocities);
        if (result == RP_OK && volume)
            result = put_attribute(stream, paths, count, "float[]", "widths", "volume", 1, "(\n        interpolation = \"vertex\"\n    )",
                                   put_widths);
        if (result == RP_OK && id)
            result = put_attribute(stream, paths, count, "int64[]", "ids", "id", 1, NULL, put_ids);
        fputs("}\n", stream);
        rp_frame_free(&last);
    }
    rp_frame_free(&first);
    return result;
}

rp_result rp__io_usda_write(char *const *paths, int64_t count, const char *path)
{
    rp__file file;
    RP_TRY(rp__file_begin(&file, path));
    rp_result result = put_stage(file.stream, paths, count);
    if (result == RP_OK)
        return rp__file_commit(&file);
    rp__file_drop(&file);
    return result;
}
