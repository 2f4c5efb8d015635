/* Meshes in memory: freed, and welded where vertices coincide. */
#include "base/error.h"
#include "base/memory.h"
#include "shape/mesh.h"

#include <string.h>

void rp_mesh_free(rp_mesh *mesh)
{
    if (!mesh)
        return;
    rp__base_free(mesh->vertices);
    rp__base_free(mesh->triangles);
    *mesh = (rp_mesh){ NULL, NULL, 0, 0 };
}

/* ---- welding ---- */

static uint64_t place_hash(const double *p)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 3; i++) {
        double x = p[i] + 0.0; /* -0 is 0 */
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        h = (h ^ bits) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

rp_result rp__shape_mesh_weld_map(const rp_mesh *mesh, int32_t *map, int64_t *count)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)mesh->vertex_count)
        size *= 2;
    int32_t *table = RP_NEW_ARRAY(int32_t, size); /* the old number of the first vertex at a place */
    if (!table)
        return RP_OUT_OF_MEMORY;
    memset(table, 0xff, size * sizeof *table);
    int64_t kept = 0;
    for (int64_t v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->vertices + 3 * v;
        uint64_t at = place_hash(p) & (size - 1);
        for (; table[at] >= 0; at = (at + 1) & (size - 1)) {
            const double *q = mesh->vertices + 3 * (int64_t)table[at];
            if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2])
                break;
        }
        if (table[at] >= 0)
            map[v] = map[table[at]];
        else {
            table[at] = (int32_t)v;
            map[v] = (int32_t)kept++;
        }
    }
    rp__base_free(table);
    *count = kept;
    return RP_OK;
}

rp_result rp__shape_mesh_weld(const rp_mesh *mesh, const int32_t *map, int64_t count, rp_mesh *out)
{
    rp_mesh m = { RP_NEW_ARRAY(double, 3 * count), RP_NEW_ARRAY(int32_t, 3 * mesh->triangle_count), count, 0 };
    if (!m.vertices || !m.triangles) {
        rp_mesh_free(&m);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t v = mesh->vertex_count - 1; v >= 0; v--) /* the first one wins */
        memcpy(m.vertices + 3 * (int64_t)map[v], mesh->vertices + 3 * v, 3 * sizeof(double));
    for (int64_t t = 0; t < mesh->triangle_count; t++) {
        const int32_t *from = mesh->triangles + 3 * t;
        int32_t a = map[from[0]], b = map[from[1]], c = map[from[2]], *to = m.triangles + 3 * m.triangle_count;
        if (a == b || b == c || c == a)
            continue;
        to[0] = a, to[1] = b, to[2] = c;
        m.triangle_count++;
    }
    *out = m;
    return RP_OK;
}

rp_result rp_mesh_load(const char *path, double scale, rp_mesh *out)
{
    rp_mesh raw;
    RP_TRY(rp__shape_mesh_read(path, scale, &raw));
    int64_t count = 0;
    int32_t *map = RP_NEW_ARRAY(int32_t, raw.vertex_count);
    rp_result result = map ? rp__shape_mesh_weld_map(&raw, map, &count) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = rp__shape_mesh_weld(&raw, map, count, out);
    rp__base_free(map);
    rp_mesh_free(&raw);
    return result;
}
