/* Fibres of scenes: their sources, what is refused, and files of strands. */
#include <repose/repose.h>

#include "scene/groom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                                                                    \
    "method: contact\ndomain: [1, 1, 1]\ncell_size: 10 cm\nbodies: {name: head, shape: {sphere: {radius: 10 cm}}, position: [0.5, 0.5, "        \
    "0.5]}\nfibres:\n"

static const rp_fibres_def *first(rp_scene *scene)
{
    const rp_sim_def *def = rp_scene_sim_def(scene);
    assert_int_equal(def->fibres_count, 1);
    return def->fibres;
}

static rp_scene *parse(const char *text)
{
    rp_scene *scene = NULL;
    if (rp_scene_parse(text, "fibres", NULL, NULL, &scene) != RP_OK)
        fail_msg("%s", rp_last_error());
    return scene;
}

static void test_sources(void **state)
{
    (void)state;
    rp_scene *scene = parse(HEAD "  - {curve: [[0.1, 0.1, 0.1], [0.3, 0.1, 0.1], [0.3, 0.3, 0.1]], segments: 8, radius: 2 mm}\n");
    assert_int_equal(first(scene)->counts[0], 9);
    assert_true(first(scene)->radius == 2e-3 && first(scene)->nodes[3 * 4] > 0.3 - 1e-12); /* the corner is half way */
    rp_scene_destroy(scene);
    scene = parse(HEAD "  - {path: \"s, 0.5, 0.5 + 0.1 * math.sin(6 * s)\", segments: 30}\n");
    assert_int_equal(first(scene)->counts[0], 31);
    rp_scene_destroy(scene);
    scene = parse(HEAD "  - {scatter: {count: 7, length: 10 cm, segments: 5, shape: {box: {lower: [0.2, 0.2, 0.2], upper: [0.8, 0.8, 0.8]}}}}\n");
    assert_int_equal(first(scene)->count, 7);
    rp_scene_destroy(scene);
    scene = parse(HEAD "  - {body: head, root: clamped, radius: 1 mm, groom: {count: 40, length: 5 cm, segments: 4, comb: [0, 0, -3]}}\n");
    assert_int_equal(first(scene)->count, 40);
    for (int i = 0; i < 200; i++) { /* nothing inside the head, roots on it */
        const double *x = first(scene)->nodes + 3 * i;
        double d[3] = { x[0] - 0.5, x[1] - 0.5, x[2] - 0.5 }, r = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        assert_true(r > 0.1 * 0.1 && (i % 5 != 0 || r < 0.102 * 0.102));
    }
    char *once = NULL, *twice = NULL;
    rp_scene *again = NULL;
    assert_int_equal(rp_scene_format(scene, &once), RP_OK);
    assert_int_equal(rp_scene_parse(once, "again", NULL, NULL, &again), RP_OK);
    assert_int_equal(rp_scene_format(again, &twice), RP_OK);
    assert_string_equal(once, twice);
    assert_memory_equal(first(scene)->nodes, first(again)->nodes, 600 * sizeof(double));
    rp_text_free(once);
    rp_text_free(twice);
    rp_scene_destroy(scene);
    rp_scene_destroy(again);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct { const char *text, *says; } bad[] = {
        { "  - {radius: 1 mm}\n", "one of 'curve'" },
        { "  - {curve: [[0, 0, 0]]}\n", "at least two points" },
        { "  - {curve: [[0, 0, 0], [1, 0, 0]], path: \"s, 0, 0\"}\n", "one of 'curve'" },
        { "  - {curve: [[0, 0, 0], [1, 0, 0]], raduis: 1 mm}\n", "did you mean 'radius'" },
        { "  - {curve: [[0, 0, 0], [1, 0, 0]], youngs_modulus: 0}\n", "youngs_modulus" },
        { "  - {curve: [[0, 0, 0], [1, 0, 0]], segments: 0}\n", "segments" },
        { "  - {body: haed, groom: {count: 3}}\n", "did you mean 'head'" },
        { "  - {body: head, groom: {count: 1000000000}}\n", "the limit is" },
        { "  - {groom: {count: 3}}\n", "needs a 'shape'" },
        { "  - {path: \"s, 0\"}\n", "" },
        { "  - {file: /nowhere/strands.obj}\n", "strands.obj" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char text[2000];
        rp_scene *scene = NULL;
        snprintf(text, sizeof text, HEAD "%s", bad[k].text);
        assert_int_not_equal(rp_scene_parse(text, "bad", NULL, NULL, &scene), RP_OK);
        if (!strstr(rp_last_error(), bad[k].says) || !strstr(rp_last_error(), "bad:"))
            fail_msg("'%s' gives: %s", bad[k].text, rp_last_error());
    }
}

static rp_result strands(const char *name, const char *text, rp__strands *out)
{
    char path[200];
    snprintf(path, sizeof path, "/tmp/repose-strands-%ld-%s", (long)rand(), name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    memset(out, 0, sizeof *out);
    rp_result result = rp__scene_read_strands(path, 0.5, 1000, out);
    remove(path);
    return result;
}

static void test_files(void **state)
{
    (void)state;
    rp__strands s;
    assert_int_equal(strands("a.obj", "# two\nv 0 0 0\nv 1 0 0\nv 1 1 0\nl 1 2 3\nl -1 -2\n", &s), RP_OK);
    assert_true(s.count == 2 && s.counts[0] == 3 && s.counts[1] == 2 && s.nodes[3] == 0.5);
    rp__scene_strands_free(&s);
    assert_int_equal(strands("a.csv", "fibre,x,y,z\n0,0,0,0\n0,1,0,0\n\n1,0,0,1\n1,0,0,2\n1,0,0,3", &s), RP_OK);
    assert_true(s.count == 2 && s.counts[1] == 3 && s.nodes[14] == 1.5);
    rp__scene_strands_free(&s);
    static const char *const bad[][2] = { { "b.obj", "v 0 0\nl 1 2\n" }, { "b.obj", "v 0 0 0\nl 1 2\n" }, { "b.obj", "v 0 0 0\nv 1 0 0\nl 1\n" },
                                          { "b.obj", "v 0 0 0\n" },      { "b.csv", "0,1,2\n0,1,2\n" },   { "b.csv", "0,1,2,3\n1,1,2,3\n1,2,2,3\n" },
                                          { "b.csv", "" },               { "b.csv", "0,0,0,0\n0,nan,0,0\n" }, { "b.obj", "v 1e999 0 0\nl 1 1\n" } };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(strands(bad[k][0], bad[k][1], &s), RP_BAD_FILE);
        rp__scene_strands_free(&s);
    }
}

/* A zip of two arrays as np.savez writes it: `fault` changes a byte or leaves something out. */
static size_t make_npz(unsigned char *out, int rows, int fault)
{
    static const char *const names[] = { "position.npy", "fibre.npy" };
    size_t at = 0, starts[2], sizes[2], directory;
    for (int k = 0; k < 2; k++) {
        char head[160];
        int length = snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': %s%d%s), }\n", k ? "<i4" : "<f8", "(",
                              fault == 1 ? 1000000 : rows, k ? "," : ", 3");
        starts[k] = at;
        memset(out + at, 0, 30);
        memcpy(out + at, "PK\3\4", 4);
        out[at + 26] = (unsigned char)strlen(names[k]);
        memcpy(out + at + 30, names[k], strlen(names[k]));
        size_t data = at + 30 + strlen(names[k]);
        memcpy(out + data, "\x93NUMPY\x01\x00", 8);
        out[data + 8] = (unsigned char)length, out[data + 9] = 0;
        memcpy(out + data + 10, head, (size_t)length);
        size_t p = data + 10 + (size_t)length;
        for (int i = 0; i < rows; i++)
            for (int a = 0; a < (k ? 1 : 3); a++) {
                double x = fault == 2 && i == 1 ? (double)NAN : i + 0.25 * a;
                int32_t fibre = i / (fault == 3 ? 1 : 2);
                memcpy(out + p, k ? (void *)&fibre : (void *)&x, k ? 4 : 8);
                p += k ? 4 : 8;
            }
        sizes[k] = p - data;
        at = p;
    }
    directory = at;
    for (int k = 0; k < 2; k++) {
        memset(out + at, 0, 46);
        memcpy(out + at, "PK\1\2", 4);
        out[at + 10] = fault == 4 ? 8 : 0;
        out[at + 20] = (unsigned char)sizes[k], out[at + 21] = (unsigned char)(sizes[k] >> 8);
        out[at + 28] = (unsigned char)strlen(names[k]);
        out[at + 42] = (unsigned char)starts[k], out[at + 43] = (unsigned char)(starts[k] >> 8);
        memcpy(out + at + 46, names[k], strlen(names[k]));
        at += 46 + strlen(names[k]);
    }
    memset(out + at, 0, 22);
    memcpy(out + at, "PK\5\6", 4);
    out[at + 8] = out[at + 10] = fault == 5 ? 1 : 2;
    out[at + 16] = (unsigned char)directory, out[at + 17] = (unsigned char)(directory >> 8);
    return at + 22;
}

static void test_npz(void **state)
{
    (void)state;
    unsigned char bytes[4096];
    rp__strands s = { 0 };
    size_t size = make_npz(bytes, 6, 0);
    assert_int_equal(rp__scene_npz_strands("a.npz", (char *)bytes, size, 0.5, 1000, &s), RP_OK);
    assert_true(s.count == 3 && s.counts[2] == 2 && s.node_count == 6 && s.nodes[3 * 5] == 2.5 && s.nodes[3 * 5 + 1] == 2.625);
    rp__scene_strands_free(&s);
    for (size_t cut = 0; cut < size; cut++) { /* a file that ends anywhere */
        assert_int_equal(rp__scene_npz_strands("a.npz", (char *)bytes, cut, 0.5, 1000, &s), RP_BAD_FILE);
        rp__scene_strands_free(&s);
    }
    for (int fault = 1; fault <= 5; fault++) {
        size = make_npz(bytes, 6, fault);
        memset(&s, 0, sizeof s);
        assert_int_equal(rp__scene_npz_strands("a.npz", (char *)bytes, size, 0.5, 1000, &s), RP_BAD_FILE);
        rp__scene_strands_free(&s);
    }
    size = make_npz(bytes, 6, 0);
    memset(&s, 0, sizeof s);
    assert_int_equal(rp__scene_npz_strands("a.npz", (char *)bytes, size, 0.5, 5, &s), RP_BAD_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sources), cmocka_unit_test(test_refused), cmocka_unit_test(test_files),
                                        cmocka_unit_test(test_npz) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
