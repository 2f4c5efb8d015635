/* What the tests of meshes share. */
#ifndef RP_SHAPE_MESH_TESTS_H
#define RP_SHAPE_MESH_TESTS_H

#include "base/memory.h"
#include "math/random.h"
#include "shape/mesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static inline rp__vec3 random_point(uint64_t n, double size)
{
    return rp__vec3_make(size * (2 * rp__random_unit(2, n, 0) - 1), size * (2 * rp__random_unit(2, n, 1) - 1),
                         size * (2 * rp__random_unit(2, n, 2) - 1));
}

/* A torus of n × m quads, as a closed mesh. */
static inline rp_mesh torus_mesh(int n, int m, double radius, double tube)
{
    rp_mesh mesh = { RP_NEW_ARRAY(double, 3 * n * m), RP_NEW_ARRAY(int32_t, 6 * n * m), (int64_t)n * m, 2 * (int64_t)n * m };
    assert_non_null(mesh.vertices);
    assert_non_null(mesh.triangles);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            double a = 2 * PI * i / n, b = 2 * PI * j / m, r = radius + tube * cos(b);
            int64_t at = (int64_t)i * m + j;
            mesh.vertices[3 * at] = r * cos(a), mesh.vertices[3 * at + 1] = r * sin(a), mesh.vertices[3 * at + 2] = tube * sin(b);
            int32_t p = (int32_t)at, q = (i + 1) % n * m + j, s = i * m + (j + 1) % m, w = (i + 1) % n * m + (j + 1) % m;
            int32_t t[6] = { p, q, w, p, w, s };
            memcpy(mesh.triangles + 6 * at, t, sizeof t);
        }
    return mesh;
}

#endif
