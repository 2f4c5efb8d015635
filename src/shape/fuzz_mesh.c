/* Any bytes as vertices and triangles: refused with a sentence, or welded, turned and put into a tree; one input in 256 is made a solid, whose
 * distances are numbers. Nothing is lost. */
#include "base/fuzz_choice.h"
#include "base/memory.h"
#include "shape/mesh.h"

#include <math.h>
#include <repose/memory.h>
#include <repose/shape.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VERTICES = 24, TRIANGLES = 48 };

static void expect_sentence(rp_result result)
{
    if (result != RP_OK && rp_last_error()[0] == '\0')
        __builtin_trap();
}

/* What reading does before distances are computed. */
static rp_result make_ready(const rp_mesh *given)
{
    int64_t count = 0;
    rp_mesh mesh;
    rp__mesh_report report;
    rp__bvh tree;
    rp_result result = rp__shape_mesh_validate("mesh", given);
    if (result != RP_OK)
        return result;
    int32_t *map = RP_NEW_ARRAY(int32_t, given->vertex_count), *adjacent = RP_NEW_ARRAY(int32_t, 3 * given->triangle_count);
    if (!map || !adjacent || rp__shape_mesh_weld_map(given, map, &count) != RP_OK)
        __builtin_trap();
    result = rp__shape_mesh_weld(given, map, count, &mesh);
    if (result == RP_OK) {
        result = mesh.triangle_count > 0 ? rp__shape_mesh_orient(&mesh, adjacent, &report) : RP_OK;
        if (result == RP_OK && mesh.triangle_count > 0 && (result = rp__shape_bvh_build(&mesh, &tree)) == RP_OK)
            rp__shape_bvh_free(&tree);
        rp_mesh_free(&mesh);
    }
    rp__base_free(map);
    rp__base_free(adjacent);
    return result;
}

static rp_result make_solid(const rp_mesh *given)
{
    rp_shape *shape = NULL;
    rp_result result = rp_shape_mesh_data(given->vertices, given->vertex_count, given->triangles, given->triangle_count, &shape);
    for (int n = 0; n < 27 && result == RP_OK; n++) {
        double p[3] = { 1.9 * (n % 3), 1.9 * (n / 3 % 3), 1.9 * (n / 9) }, g[3], d = rp_shape_distance(shape, p, g);
        if (!isfinite(d) || !(fabs(g[0] * g[0] + g[1] * g[1] + g[2] * g[2] - 1) < 1e-6))
            __builtin_trap();
    }
    rp_shape_release(shape);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_shape_cache_folder(NULL);
    if (size < 1)
        return 0;
    /* one byte a coordinate on a small lattice, so that vertices meet and triangles cross; 255 is not a number */
    int vertices = 3 + data[0] % (VERTICES - 3), triangles = 0;
    double v[3 * VERTICES] = { 0 };
    int32_t t[3 * TRIANGLES];
    size_t at = 1;
    for (int i = 0; i < 3 * vertices; i++) {
        uint8_t byte = at < size ? data[at++] : (uint8_t)(37 * i);
        v[i] = byte == 255 ? (double)NAN : 0.25 * (byte % 16);
    }
    for (; at + 3 <= size && triangles < TRIANGLES; at += 3, triangles++)
        for (int k = 0; k < 3; k++)
            t[3 * triangles + k] = data[at + (size_t)k] == 254 ? -1 : data[at + (size_t)k] % (vertices + 1);
    size_t before = rp_memory_in_use();
    const rp_mesh given = { v, t, vertices, triangles };
    expect_sentence(make_ready(&given));
    if (fuzz_chosen(data, size, 256))
        expect_sentence(make_solid(&given));
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
