/* Any bytes as a mesh file; the first tells the format. Refused with a sentence, or triangles whose vertices are there and are numbers.
 * Seeds: tests/data/meshes. */
#include "shape/mesh_faces.h"

#include <math.h>
#include <repose/memory.h>
#include <repose/repose.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "fuzz.obj", "fuzz.stl", "fuzz.ply", "fuzz.gltf" };
    if (size < 1)
        return 0;
    size_t before = rp_memory_in_use();
    char *text = malloc(size); /* its own, so that reading beyond the end is seen */
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    rp_mesh mesh;
    if (rp__shape_mesh_parse(names[data[0] % 4], text, size - 1, 0.5, &mesh) == RP_OK) {
        for (int64_t i = 0; i < 3 * mesh.triangle_count; i++)
            if (mesh.triangles[i] < 0 || mesh.triangles[i] >= mesh.vertex_count)
                __builtin_trap();
        for (int64_t i = 0; i < 3 * mesh.vertex_count; i++)
            if (!isfinite(mesh.vertices[i]))
                __builtin_trap();
        rp_mesh_free(&mesh);
    } else if (rp_last_error()[0] == '\0') {
        __builtin_trap();
    }
    free(text);
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
