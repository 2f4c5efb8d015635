/* Any bytes as vertices and triangles: refused with a sentence, or a solid whose distances are numbers; nothing is lost. */
#include <math.h>
#include <repose/memory.h>
#include <repose/shape.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VERTICES = 24, TRIANGLES = 48 };

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
    rp_shape *shape = NULL;
    if (rp_shape_mesh_data(v, vertices, t, triangles, &shape) == RP_OK) {
        for (int n = 0; n < 27; n++) {
            double p[3] = { 1.9 * (n % 3), 1.9 * (n / 3 % 3), 1.9 * (n / 9) }, g[3];
            double d = rp_shape_distance(shape, p, g);
            if (!isfinite(d) || !(fabs(g[0] * g[0] + g[1] * g[1] + g[2] * g[2] - 1) < 1e-6))
                __builtin_trap();
        }
        rp_shape_release(shape);
    } else if (rp_last_error()[0] == '\0')
        __builtin_trap();
    if (rp_memory_in_use() != before)
        __builtin_trap();
    return 0;
}
