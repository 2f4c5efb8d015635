/* Any bytes as a mesh file; the first tells the format. Refused with a sentence, or triangles whose vertices are there and are numbers. */
#include "base/fuzz_file.h"

#include <math.h>
#include <repose/memory.h>
#include <repose/repose.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_file(const char *path)
{
    size_t before = rp_memory_in_use();
    rp_mesh mesh;
    if (rp_mesh_load(path, 0.5, &mesh) == RP_OK) {
        for (int64_t i = 0; i < 3 * mesh.triangle_count; i++)
            if (mesh.triangles[i] < 0 || mesh.triangles[i] >= mesh.vertex_count)
                __builtin_trap();
        for (int64_t i = 0; i < 3 * mesh.vertex_count; i++)
            if (!isfinite(mesh.vertices[i]))
                __builtin_trap();
        rp_mesh_free(&mesh);
    } else if (rp_last_error()[0] == '\0')
        __builtin_trap();
    if (rp_memory_in_use() != before)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const endings[] = { "obj", "stl", "ply" };
    const char *path = fuzz_file("fuzz_mesh", endings, 3, data, size);
    if (path)
        try_file(path);
    return 0;
}
