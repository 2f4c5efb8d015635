/* Meshes: formats, distances, mending, refusals, cache, mass, speed, sequences. */
#include "base/file.h"
#include "base/memory.h"
#include "math/random.h"
#include "shape/mesh_tests.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MESHES RP_SOURCE_DIR "/tests/data/meshes/"

static rp_shape *load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, MESHES "%s", name);
    rp_shape *s = NULL;
    rp_result r = rp_shape_mesh(path, 1, &s);
    if (r != RP_OK)
        fail_msg("%s: %s", name, rp_last_error());
    return s;
}

/* A cube of edge 1 in all formats has the distance of the box. */
/* Faces of four and five corners, two of them not convex: a prism with a notch. */
static void polygons_are_cut_into_triangles(void **state)
{
    (void)state;
    rp_shape *s = load("concave.obj");
    double v;
    rp__vec3 c, g;
    rp__mat3 i;
    assert_int_equal(rp__shape_mass_properties(s, 3, 8, &v, &c, &i), RP_OK);
    assert_true(fabs(v - 2.5) < 1e-12 && fabs(c.x - 1) < 1e-12 && fabs(c.z - 0.5) < 1e-12);
    assert_true(rp__shape_distance_at(s, (rp__vec3){ 1, 0.8, 0.5 }, &g) > 0.1); /* in the notch */
    assert_true(fabs(rp__shape_distance_at(s, (rp__vec3){ 1, 0.3, 0.9 }, &g) + 0.1) < 1e-9); /* below the top face */
    assert_true(fabs(rp__shape_distance_at(s, (rp__vec3){ 1.9, 1.5, 0.95 }, &g) + 0.05) < 1e-9);
    assert_true(rp__shape_distance_at(s, (rp__vec3){ 1, 1.5, 1.05 }, &g) > 0.3); /* above the notch, not above a face */
    rp_shape_release(s);
}

static void all_formats_give_the_cube(void **state)
{
    (void)state;
    static const char *const names[] = { "cube.obj", "cube.stl", "cube.ply", "cube.gltf" };
    rp_shape *box = NULL;
    assert_int_equal(rp_shape_box((double[]){ 0, 0, 0 }, (double[]){ 0.5, 0.5, 0.5 }, 0, &box), RP_OK);
    for (int k = 0; k < 4; k++) {
        rp_shape *s = load(names[k]);
        rp__vec3 centre = { 0, 0, k == 3 ? 2 : 0 }; /* the node of the glTF file moves it */
        int kinks = 0;
        for (uint64_t n = 0; n < 3000; n++) {
            rp__vec3 p = random_point(n, 1.2), g, h;
            double d = rp__shape_distance_at(s, rp__vec3_add(p, centre), &g), e = rp__shape_distance_at(box, p, &h);
            assert_true(fabs(d - e) < 1e-9);
            kinks += rp__vec3_norm(rp__vec3_sub(g, h)) > 1e-6;
        }
        assert_true(kinks < 3);
        double v;
        rp__vec3 c;
        rp__mat3 i;
        assert_int_equal(rp__shape_mass_properties(s, 3, 8, &v, &c, &i), RP_OK);
        assert_true(fabs(v - 1) < 1e-12 && rp__vec3_norm(rp__vec3_sub(c, centre)) < 1e-12);
        assert_true(fabs(i.m[0][0] - 1.0 / 6) < 1e-12 && fabs(i.m[0][1]) < 1e-12);
        double lower[3], upper[3];
        rp_shape_bounds(s, lower, upper);
        assert_true(lower[0] == -0.5 && upper[1] == 0.5);
        rp_shape_release(s);
    }
    rp_shape_release(box);
}

/* The nearest of all triangles, and the exact winding number. */
static double distance_ref(const rp_shape *shape, rp__vec3 p)
{
    const rp__mesh_shape *s = (const rp__mesh_shape *)shape;
    rp__nearest n = { .squared = INFINITY };
    for (int64_t t = 0; t < s->bvh.triangle_count; t++) {
        const rp__vec3 *k = s->bvh.corners + 3 * t;
        rp__shape_triangle_nearest(k[0], k[1], k[2], p, &n);
    }
    return (fabs(rp__shape_bvh_winding_ref(&s->bvh, p)) > 0.5 ? -1 : 1) * sqrt(n.squared);
}

static void distances_match_all_triangles(void **state)
{
    (void)state;
    static const char *const names[] = { "torus.ply", "sphere.obj", "hollow.obj", "overlapping.obj", "hole.obj", "fin.obj" };
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        rp_shape *s = load(names[k]);
        int differ = 0;
        for (uint64_t n = 0; n < 2000; n++) {
            rp__vec3 p = random_point(n, 1.6), g;
            double d = rp__shape_distance_at(s, p, &g), e = distance_ref(s, p);
            assert_true(fabs(fabs(d) - fabs(e)) < 1e-12);
            differ += d * e < 0;
            assert_true(fabs(rp__vec3_norm(g) - 1) < 1e-9);
            if (fabs(d) > 1e-6) { /* the foot lies on the surface */
                rp__vec3 foot = rp__vec3_axpy(-d, g, p);
                assert_true(fabs(rp__shape_distance_at(s, foot, NULL)) < 1e-9);
            }
        }
        /* at a hole the winding number passes 1/2 slowly: its approximation may differ there, and only there */
        if (differ > (strcmp(names[k], "hole.obj") == 0 ? 4 : 0))
            fail_msg("%s: %d signs differ", names[k], differ);
        /* close to the surface, where the sign is hardest */
        for (uint64_t n = 0; n < 3000; n++) {
            rp__vec3 p = random_point(n + 5000, 1.6), g;
            double d = rp__shape_distance_at(s, p, &g);
            rp__vec3 q = rp__vec3_axpy(-d + (n % 2 ? 1e-5 : -1e-5), g, p);
            double near = rp__shape_distance_at(s, q, NULL), e = distance_ref(s, q);
            assert_true(fabs(near - e) < 1e-12 || strcmp(names[k], "hole.obj") == 0);
        }
        rp_shape_release(s);
    }
}

static void winding_numbers_match_all_triangles(void **state)
{
    (void)state;
    rp_mesh m = torus_mesh(200, 80, 1, 0.4);
    rp__bvh bvh;
    assert_int_equal(rp__shape_bvh_build(&m, &bvh), RP_OK);
    double worst = 0;
    for (uint64_t n = 0; n < 300; n++) {
        rp__vec3 p = random_point(n, 1.5);
        worst = fmax(worst, fabs(rp__shape_bvh_winding(&bvh, p) - rp__shape_bvh_winding_ref(&bvh, p)));
    }
    if (worst > 0.05)
        fail_msg("the winding number is off by %g", worst);
    rp__shape_bvh_free(&bvh);
    rp_mesh_free(&m);
}

/* Inside-out, flipped, with a hole: the same solid as the sphere they were made from. */
static void broken_meshes_are_mended(void **state)
{
    (void)state;
    static const char *const names[] = { "inside_out.obj", "flipped.obj", "hole.obj", "hole_flipped.obj" };
    rp_shape *good = load("sphere.obj");
    double v, w;
    rp__vec3 c;
    rp__mat3 i;
    assert_int_equal(rp__shape_mass_properties(good, 3, 8, &v, &c, &i), RP_OK);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        rp_shape *s = load(names[k]);
        int wrong = 0;
        for (uint64_t n = 0; n < 4000; n++) {
            rp__vec3 p = random_point(n, 1.3);
            double d = rp__shape_distance_at(s, p, NULL), e = rp__shape_distance_at(good, p, NULL);
            wrong += d * e < 0;
        }
        if (wrong > (k < 2 ? 0 : 25)) /* about the missing triangles the solid is not the same */
            fail_msg("%s: %d of 4000 signs are wrong", names[k], wrong);
        assert_int_equal(rp__shape_mass_properties(s, 3, 8, &w, &c, &i), RP_OK);
        assert_true(fabs(w / v - 1) < (k < 2 ? 1e-9 : 0.03));
        rp_shape_release(s);
    }
    rp_shape_release(good);
    rp_shape *hollow = load("hollow.obj");
    assert_true(rp_shape_distance(hollow, (double[]){ 0, 0, 0 }, NULL) > 0.4);
    assert_true(rp_shape_distance(hollow, (double[]){ 0.7, 0, 0 }, NULL) < 0);
    rp_shape_release(hollow);
}

typedef struct refusal {
    const char *name;
    rp_result result;
    const char *words;
} refusal;

static void hopeless_meshes_are_refused(void **state)
{
    (void)state;
    static const refusal all[] = {
        { "sheet.obj", RP_BAD_FILE, "4 open edges" },
        { "cup.obj", RP_BAD_FILE, "4 open edges" },
        { "half.obj", RP_BAD_FILE, "16 open edges" },
        { "flat.obj", RP_BAD_FILE, "no inside" },
        { "nan.obj", RP_BAD_FILE, "is nan; it must be a finite number" },
        { "infinite.obj", RP_BAD_FILE, "finite" },
        { "empty.obj", RP_BAD_FILE, "empty.obj" },
        { "points.obj", RP_BAD_FILE, "points.obj" },
        { "index.obj", RP_BAD_FILE, "index.obj" },
        { "short.stl", RP_BAD_FILE, "short.stl" },
        { "text.ply", RP_BAD_FILE, "text.ply" },
        { "endless.ply", RP_BAD_FILE, "line 9 of its header, 'end_head'" },
        { "midline.ply", RP_BAD_FILE, "of its header, 'end_head'" },
        { "cut.ply", RP_BAD_FILE, "a line 'end_header'" },
        { "twice.ply", RP_BAD_FILE, "line 5 of its header" },
        { "flat.ply", RP_BAD_FILE, "no x, y and z" },
        { "many.ply", RP_BAD_FILE, "4000000000 elements" },
        { "foreign.xyz", RP_UNSUPPORTED, ".obj, .stl, .ply" },
        { "nothing.obj", RP_NOT_FOUND, "no such mesh" },
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        char path[512];
        snprintf(path, sizeof path, MESHES "%s", all[k].name);
        rp_shape *s = NULL;
        rp_result r = rp_shape_mesh(path, 1, &s);
        if (r != all[k].result || !strstr(rp_last_error(), all[k].words))
            fail_msg("%s gives %s: %s", all[k].name, rp_result_name(r), rp_last_error());
        assert_null(s);
    }
    rp_shape *s = NULL;
    assert_int_equal(rp_shape_mesh(MESHES "cube.obj", 0, &s), RP_BAD_ARGUMENT);
    assert_int_equal(rp_shape_mesh(NULL, 1, &s), RP_BAD_ARGUMENT);
    double v[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    int32_t t[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };
    assert_int_equal(rp_shape_mesh_data(v, 4, t, 4, &s), RP_OK);
    assert_true(rp_shape_distance(s, (double[]){ 0.1, 0.1, 0.1 }, NULL) < 0);
    rp_shape_release(s);
    s = NULL;
    t[3] = 4;
    assert_int_equal(rp_shape_mesh_data(v, 4, t, 4, &s), RP_BAD_ARGUMENT);
    assert_non_null(strstr(rp_last_error(), "uses vertex 4 of 4"));
    t[3] = -1;
    assert_int_equal(rp_shape_mesh_data(v, 4, t, 4, &s), RP_BAD_ARGUMENT);
    assert_int_equal(rp_shape_mesh_data(v, 4, t, 0, &s), RP_BAD_ARGUMENT);
    t[3] = 0, v[4] = NAN;
    assert_int_equal(rp_shape_mesh_data(v, 4, t, 4, &s), RP_BAD_ARGUMENT);
    assert_int_equal(rp_shape_mesh_data(NULL, 4, t, 4, &s), RP_BAD_ARGUMENT);
    assert_null(s);
}

static char folder[] = "/tmp/repose-mesh-XXXXXX";

static int entries(char first[256])
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (e->d_name[0] != '.') {
            n++;
            snprintf(first, 256, "%s", e->d_name);
        }
    if (d)
        closedir(d);
    return n;
}

/* The band is kept by content, found again, and made again when its file is damaged anywhere. */
static void bands_are_cached(void **state)
{
    (void)state;
    char name[256] = "";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(rp_shape_cache_folder(folder), RP_OK);
    rp_shape *first = load("cube.obj");
    assert_int_equal(entries(name), 1);
    rp_shape *again = load("cube.stl"); /* other files, other vertex numbers: other content */
    rp_shape_release(again);
    int files = entries(name);
    assert_true(files == 1 || files == 2);
    rp_mesh m;
    assert_int_equal(rp_mesh_load(MESHES "cube.obj", 1, &m), RP_OK);
    rp__mesh_hash hash = rp__shape_mesh_hash(&m, rp__shape_mesh_band_size(&m));
    rp_mesh_free(&m);
    const rp__band *band = &((const rp__mesh_shape *)first)->band;
    rp__band kept;
    assert_true(rp__shape_cache_load(hash, &kept));
    assert_int_equal(kept.block_count, band->block_count);
    assert_memory_equal(kept.fine, band->fine, (size_t)band->block_count * RP_BAND_NODES * sizeof(float));
    assert_true(kept.trusted == band->trusted && kept.h == band->h);
    rp__shape_band_free(&kept);
    snprintf(name, sizeof name, "%016llx%016llx.band", (unsigned long long)hash.a, (unsigned long long)hash.b);
    char *path = rp__file_join(folder, name), *data = NULL;
    size_t size = 0;
    assert_int_equal(rp__file_read(path, (size_t)1 << 30, &data, &size), RP_OK);
    for (int k = 0; k < 40; k++) { /* a byte changed, or the end cut off */
        size_t at = k < 20 ? (size_t)k * 8 : size * (size_t)(k - 20) / 20;
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        char was = data[at];
        data[at] = (char)(was ^ 0x10);
        fwrite(data, 1, k % 2 ? at : size, f);
        data[at] = was;
        fclose(f);
        assert_false(rp__shape_cache_load(hash, &kept));
    }
    rp_shape *rebuilt = load("cube.obj");
    assert_true(rp__shape_cache_load(hash, &kept));
    rp__shape_band_free(&kept);
    assert_true(rp_shape_distance(rebuilt, (double[]){ 0.1, 0.2, 0.3 }, NULL) == rp_shape_distance(first, (double[]){ 0.1, 0.2, 0.3 }, NULL));
    rp_shape_release(rebuilt);
    rp_shape_release(first);
    /* a folder that cannot be made costs nothing but time */
    assert_int_equal(rp_shape_cache_folder("/dev/null/nowhere"), RP_OK);
    rp_shape_release(load("cube.obj"));
    assert_int_equal(rp_shape_cache_folder(NULL), RP_OK);
    rp__base_free(data);
    rp__base_free(path);
    while (entries(name) > 0) {
        path = rp__file_join(folder, name);
        unlink(path);
        rp__base_free(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void no_memory_is_an_answer(void **state)
{
    (void)state;
    double v[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
    int32_t t[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };
    size_t before = rp_memory_in_use();
    for (int64_t n = 1;; n++) {
        rp_shape *s = NULL;
        rp__base_fail_allocation(n);
        rp_result r = rp_shape_mesh_data(v, 4, t, 4, &s);
        rp__base_fail_allocation(0);
        rp_shape_release(s);
        assert_int_equal(rp_memory_in_use(), before);
        if (r == RP_OK)
            break;
        assert_int_equal(r, RP_OUT_OF_MEMORY);
        assert_true(n < 200);
    }
}

/* The distance is the same whatever the rest of the box knows: with the band and without. */
static void sequences_move_and_push(void **state)
{
    (void)state;
    static const char *const paths[] = { MESHES "foot_0.obj", MESHES "foot_1.obj", MESHES "foot_2.obj" };
    const double times[] = { 0, 1, 3 };
    rp_mesh_sequence *q = NULL;
    assert_int_equal(rp_mesh_sequence_create(paths, times, 3, 2, &q), RP_OK);
    rp_shape *s = NULL;
    double v[3], tip[3] = { 0.4, 0, 0.1 };
    /* the toe at x = 0.26 rises by 0.1 m a second at first (scale 2), then half as fast */
    assert_int_equal(rp_mesh_sequence_evaluate(q, 0.5, &s), RP_OK);
    rp_mesh_sequence_velocity(s, tip, v);
    assert_true(fabs(v[2] - 0.1) < 1e-6 && v[0] == 0 && v[1] == 0);
    double toe[3] = { 0.26, 0, 0.05 };
    assert_true(fabs(rp_shape_distance(s, toe, NULL)) < 1e-6);
    rp_shape_release(s);
    assert_int_equal(rp_mesh_sequence_evaluate(q, 2, &s), RP_OK);
    rp_mesh_sequence_velocity(s, tip, v);
    assert_true(fabs(v[2] - 0.05) < 1e-6);
    /* as the same mesh made on its own */
    const rp__mesh_shape *ms = (const rp__mesh_shape *)s;
    rp_shape *alone = NULL;
    assert_int_equal(rp_shape_mesh_data(ms->mesh.vertices, ms->mesh.vertex_count, ms->mesh.triangles, ms->mesh.triangle_count, &alone), RP_OK);
    for (uint64_t n = 0; n < 2000; n++) {
        double p[3];
        rp__vec3_store(p, random_point(n, 0.4));
        assert_true(fabs(rp_shape_distance(s, p, NULL) - rp_shape_distance(alone, p, NULL)) < 1e-12);
    }
    rp_mesh_sequence_velocity(alone, tip, v);
    assert_true(v[2] == 0);
    rp_shape_release(alone);
    rp_shape_release(s);
    static const double outside[] = { -1, 3, 7 };
    for (int k = 0; k < 3; k++) { /* held before and after */
        assert_int_equal(rp_mesh_sequence_evaluate(q, outside[k], &s), RP_OK);
        rp_mesh_sequence_velocity(s, tip, v);
        assert_true(v[2] == 0);
        rp_shape_release(s);
    }
    s = NULL;
    assert_int_equal(rp_mesh_sequence_evaluate(q, NAN, &s), RP_BAD_ARGUMENT);
    rp_mesh_sequence *kept = rp_mesh_sequence_retain(q);
    rp_mesh_sequence_release(q);
    rp_mesh_sequence_release(kept);
    q = NULL;
    static const char *const other[] = { MESHES "foot_0.obj", MESHES "foot_other.obj" };
    assert_int_equal(rp_mesh_sequence_create(other, times, 2, 1, &q), RP_BAD_FILE);
    assert_non_null(strstr(rp_last_error(), "foot_other.obj: its triangles are not those of"));
    static const char *const open[] = { MESHES "sheet.obj", MESHES "sheet.obj" };
    assert_int_equal(rp_mesh_sequence_create(open, times, 2, 1, &q), RP_BAD_FILE);
    assert_int_equal(rp_mesh_sequence_create(paths, (double[]){ 0, 0, 1 }, 3, 1, &q), RP_BAD_ARGUMENT);
    assert_int_equal(rp_mesh_sequence_create(paths, times, 0, 1, &q), RP_BAD_ARGUMENT);
    assert_null(q);
}

static void sequences_from_arrays(void **state)
{
    (void)state;
    double a[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 }, b[12];
    int32_t t[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };
    for (int i = 0; i < 12; i++)
        b[i] = a[i] + (i % 3 == 0 ? 2 : 0);
    const double *const both[2] = { a, b };
    rp_mesh_sequence *q = NULL;
    rp_shape *s = NULL;
    double v[3];
    assert_int_equal(rp_mesh_sequence_create_data(both, (double[]){ 1, 2 }, 2, 4, t, 4, &q), RP_OK);
    assert_int_equal(rp_mesh_sequence_evaluate(q, 1.5, &s), RP_OK);
    assert_true(rp_shape_distance(s, (double[]){ 1.1, 0.1, 0.1 }, NULL) < 0);
    rp_mesh_sequence_velocity(s, (double[]){ 5, 5, 5 }, v);
    assert_true(fabs(v[0] - 2) < 1e-12 && v[1] == 0);
    rp_shape_release(s);
    rp_mesh_sequence_release(q);
    b[5] = NAN;
    q = NULL;
    assert_int_equal(rp_mesh_sequence_create_data(both, (double[]){ 1, 2 }, 2, 4, t, 4, &q), RP_BAD_ARGUMENT);
    assert_null(q);
}

static int no_cache(void **state)
{
    (void)state;
    return rp_shape_cache_folder(NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats_give_the_cube),
        cmocka_unit_test(polygons_are_cut_into_triangles),
        cmocka_unit_test(distances_match_all_triangles),
        cmocka_unit_test(winding_numbers_match_all_triangles),
        cmocka_unit_test(broken_meshes_are_mended),
        cmocka_unit_test(hopeless_meshes_are_refused),
        cmocka_unit_test(bands_are_cached),
        cmocka_unit_test(no_memory_is_an_answer),
        cmocka_unit_test(sequences_move_and_push),
        cmocka_unit_test(sequences_from_arrays),
    };
    return cmocka_run_group_tests_name("shape mesh", tests, no_cache, NULL);
}
