/* Mesh files in memory: each way to write the same tetrahedron, and what is none, by its sentence. */
#include "cmocka_test.h"
#include "shape/mesh_faces.h"

#include <repose/repose.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double corners[4][3] = { { 0, 0, 0 }, { 1.5, 0, 0 }, { 0, 2.25, 0 }, { 0, 0, -3e-1 } };

/* Vertices 0 to 3 in order, faces 021 013 032 123. */
static void check_tetrahedron(const char *what, const char *text, size_t size)
{
    rp_mesh m;
    if (rp__shape_mesh_parse(what, text, size, 2, &m) != RP_OK)
        fail_msg("%s: %s", what, rp_last_error());
    assert_int_equal(m.triangle_count, 4);
    static const int faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 0, 3, 2 }, { 1, 2, 3 } };
    for (int t = 0; t < 4; t++)
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++)
                if (fabs(m.vertices[3 * m.triangles[3 * t + k] + i] - 2 * corners[faces[t][k]][i]) > 1e-6)
                    fail_msg("%s: triangle %d, corner %d, is elsewhere", what, t, k);
    rp_mesh_free(&m);
}

static void check_text(const char *path, const char *text)
{
    check_tetrahedron(path, text, strlen(text));
}

static void obj_in_every_spelling(void **state)
{
    (void)state;
    check_text("plain.obj", "v 0 0 0\nv 1.5 0 0\nv 0 2.25 0\nv 0 0 -3e-1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    check_text("names.obj", "# a comment\r\nmtllib x.mtl\r\no thing\r\nv 0 0 0 1\r\nv 1.5 0 0 0.2 0.3 0.4\r\nv 0 2.25 0\r\nv 0 0 -3e-1\r\nvt 0 0\r\n"
                            "usemtl red\r\ns off\r\nl 1 2\r\np 1\r\nf 1/1/1 3/1/1 2/1/1\r\nf 1//1 2//1 4//1\r\nf 1/1 4/1 3/1\r\nf 2 3 4\r\n");
    check_text("backwards.obj", "v 0 0 0\nv 1.5 0 0\nv 0 2.25 0\nv 0 0 -3e-1\nf -4 -2 -3\nf -4 -3 -1\nf -4 -1 -2\nf -3 -2 -1");
    check_text("forwards.obj", "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nv 0 0 0\nv 1.5 0 0\nv 0 2.25 0\nv 0 0 -3e-1\n");
    check_text("long.obj", "\tv 0 0 0\n  v 1.5 \\\n 0 0\nv 0 2.25 0\nv 0 0 -3e-1\nf 1 \\\r\n3 2\nf 1 2 4 # the second\nf 1 4 3\nf 2 3 4\n");
}

/* "solid" in a name, blanks before words, and a file of several solids. */
static void stl_as_text(void **state)
{
    (void)state;
    char text[2000] = "solid vertex 1 2 3\n";
    static const int faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 0, 3, 2 }, { 1, 2, 3 } };
    for (int t = 0; t < 4; t++) {
        strcat(text, " facet normal 0 0 1\n  outer loop\n");
        for (int k = 0; k < 3; k++) {
            const double *x = corners[faces[t][k]];
            snprintf(text + strlen(text), sizeof text - strlen(text), "\tvertex %g %g %g\n", x[0], x[1], x[2]);
        }
        strcat(text, t == 1 ? "  endloop\n endfacet\nendsolid vertex\nsolid two\n" : "  endloop\n endfacet\n");
    }
    check_text("text.stl", text);
}

static size_t put(unsigned char *to, const void *bytes, size_t size, bool big)
{
    for (size_t i = 0; i < size; i++) /* this machine is little-endian, as all that we build on */
        to[i] = ((const unsigned char *)bytes)[big ? size - 1 - i : i];
    return size;
}

/* Doubles, floats, bytes and shorts in both orders; elements and properties that mean nothing to us before, between and after. */
static void ply_as_bytes(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        unsigned char file[1000];
        size_t at = (size_t)snprintf((char *)file, sizeof file,
                                     "ply\nformat binary_%s_endian 1.0\ncomment made by hand\nelement colour 1\nproperty list uchar short rgb\n"
                                     "element vertex 4\n"
                                     "property uchar grey\nproperty float32 x\nproperty double y\nproperty float z\nelement face 4\n"
                                     "property list uint16 int8 vertex_index\nproperty short flags\nend_header\n",
                                     big ? "big" : "little");
        static const short rgb[2] = { -1, 7 };
        file[at++] = 2;
        at += put(file + at, &rgb[0], 2, big), at += put(file + at, &rgb[1], 2, big);
        for (int v = 0; v < 4; v++) {
            float x = (float)corners[v][0], z = (float)corners[v][2];
            file[at++] = 200;
            at += put(file + at, &x, 4, big), at += put(file + at, &corners[v][1], 8, big), at += put(file + at, &z, 4, big);
        }
        static const signed char faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 0, 3, 2 }, { 1, 2, 3 } };
        for (int t = 0; t < 4; t++) {
            unsigned short count = 3;
            at += put(file + at, &count, 2, big);
            memcpy(file + at, faces[t], 3), at += 3;
            at += put(file + at, &rgb[0], 2, big);
        }
        file[at] = 0;
        check_tetrahedron(big ? "big.ply" : "little.ply", (const char *)file, at);
        rp_mesh m;
        assert_int_equal(rp__shape_mesh_parse("cut.ply", (const char *)file, at - 3, 1, &m), RP_BAD_FILE);
        assert_non_null(strstr(rp_last_error(), "'face' 4 of 4 is cut short"));
    }
}

static void a_vertex_beyond_use_is_left_out(void **state)
{
    (void)state;
    static const char text[] = "v 1e9 0 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 3 4\n";
    rp_mesh m;
    assert_int_equal(rp__shape_mesh_parse("far.obj", text, sizeof text - 1, 1, &m), RP_OK);
    assert_int_equal(m.vertex_count, 3);
    assert_int_equal(m.triangles[0], 0);
    rp_mesh_free(&m);
}

#define PLY "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face "

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *words;
    } all[] = {
        { "a.obj", "v 1 2\nf 1 1 1\n", "a.obj, line 1: a vertex needs three numbers: 'v 1 2'" },
        { "a.obj", "v 0 0 0\r\n\r\nv 1 0,5 0\n", "a.obj, line 3: a vertex needs three numbers" },
        { "a.obj", "v 0 0 0\nf 1 0 1\n", "line 2: '0' is no corner" },
        { "a.obj", "v 0 0 0\nf 1 x 1\n", "line 2: 'x' is no corner" },
        { "a.obj", "v 0 0 0\nv 0 1 0\nv 1 0 0\nf 1 2 4\n", "uses vertex 3, counted from 0, of 3" },
        { "a.obj", "v 0 0 0\nv 0 1 0\nv 1 0 0\nf 1 2 -4\n", "uses vertex -1" },
        { "a.obj", "v 0 0 0\nv 0 1 0\nv 1 0 0\nl 1 2 3\n", "it has no triangles" },
        { "a.obj", "", "it has no triangles" },
        { "a.stl", "solid\nfacet\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n", "'endloop' is missing" },
        { "a.stl", "solid\nvertex 0 0\n", "line 2: a vertex needs three numbers" },
        { "a.stl", "stolid", "no STL file" },
        /* numbers in the data that a reader could take for room to make: gigabytes, or a search without end */
        { "a.ply", PLY "1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n2000000000 0 1 2\n", "'face' 1 of 1 is cut short" },
        { "a.ply", PLY "1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n-3 0 1 2\n", "'face' 1 of 1 is cut short" },
        { "a.ply", PLY "1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 x\n0 1 0\n3 0 1 2\n",
          "'vertex' 2 of 3 is cut short or not made of numbers" },
        { "a.ply", PLY "1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "uses vertex 3" },
        { "a.ply", PLY "1\nproperty list int int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 1e300\n", "uses vertex -1" },
        { "a.ply", PLY "1\nproperty list float int vertex_indices\nend_header\n", "line 8 of its header" },
        { "a.ply", PLY "1\nproperty int strips\nend_header\n", "no faces" },
        { "a.ply", "ply\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nend_header\n", "no line 'format'" },
        { "a.ply", "ply\nformat ascii 1.0\nelement vertex 2.5\n", "line 3 of its header" },
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        rp_mesh m;
        rp_result r = rp__shape_mesh_parse(all[k].path, all[k].text, strlen(all[k].text), 1, &m);
        if (r != RP_BAD_FILE || !strstr(rp_last_error(), all[k].words))
            fail_msg("%zu (%s): %s: %s", k, all[k].text, rp_result_name(r), rp_last_error());
    }
}

/* A face of very many corners is a fan, at once. */
static void a_large_face_takes_no_time(void **state)
{
    (void)state;
    enum { CORNERS = 300000 };
    char *text = malloc(40 * CORNERS);
    size_t at = 0;
    for (int k = 0; k < CORNERS; k++)
        at += (size_t)sprintf(text + at, "v %d %d 0\n", k, k % 7);
    at += (size_t)sprintf(text + at, "f");
    for (int k = 0; k < CORNERS; k++)
        at += (size_t)sprintf(text + at, " %d", k + 1);
    rp_mesh m;
    assert_int_equal(rp__shape_mesh_parse("large.obj", text, at, 1, &m), RP_OK);
    assert_int_equal(m.triangle_count, CORNERS - 2);
    rp_mesh_free(&m);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(obj_in_every_spelling), cmocka_unit_test(stl_as_text),
        cmocka_unit_test(ply_as_bytes), cmocka_unit_test(a_vertex_beyond_use_is_left_out),
        cmocka_unit_test(what_is_none_is_refused), cmocka_unit_test(a_large_face_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
