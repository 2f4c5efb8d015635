/* glTF in memory: one tetrahedron written in every way, and what is none, by its sentence. */
#include "base/memory.h"
#include "cmocka_test.h"
#include "folder_tests.h"
#include "shape/mesh_faces.h"

#include <math.h>
#include <repose/repose.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float corners[4][3] = { { 0, 0, 0 }, { 1.5f, 0, 0 }, { 0, 2.25f, 0 }, { 0, 0, 0.25f } };
static const int faces[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };
static const double volume = 1.5 * 2.25 * 0.25 / 6;

/* ---- files ---- */

typedef struct writing {
    char json[8192];
    unsigned char bytes[1024];
    size_t size;
} writing;

static void add_bytes(writing *w, const void *data, size_t size)
{
    memcpy(w->bytes + w->size, data, size);
    w->size += size;
}

/* The positions from byte 0, `stride` apart; indices of `width` bytes behind them. */
static void put_tetrahedron(writing *w, size_t stride, size_t width)
{
    static const unsigned char gap[64] = { 7, 7, 7 };
    w->size = 0;
    for (int v = 0; v < 4; v++) {
        add_bytes(w, corners[v], 12);
        add_bytes(w, gap, stride - 12);
    }
    for (int k = 0; k < 12; k++) {
        const unsigned char index[4] = { (unsigned char)faces[k] };
        add_bytes(w, index, width);
    }
}

static void encode(const unsigned char *bytes, size_t size, char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t k = 0; k < size; k += 3) {
        unsigned bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (k + i < size ? bytes[k + i] : 0u);
        for (size_t i = 0; i < 4; i++)
            *text++ = i <= size - k || i == 0 ? letters[bits >> (18 - 6 * i) & 63] : '=';
    }
    *text = '\0';
}

/* %B in the format stands for the buffers with all bytes in base64. */
static const char *text_of(writing *w, const char *format)
{
    char base[2048], *out = w->json;
    encode(w->bytes, w->size, base);
    for (const char *p = format; *p; p++) {
        if (strncmp(p, "%B", 2) == 0) {
            out += sprintf(out, "\"buffers\":[{\"byteLength\":%zu,\"uri\":\"data:application/octet-stream;base64,%s\"}]", w->size, base);
            p++;
        } else {
            *out++ = *p;
        }
    }
    *out = '\0';
    return w->json;
}

static size_t put_word(unsigned char *out, size_t value)
{
    for (int k = 0; k < 4; k++)
        out[k] = (unsigned char)(value >> 8 * k);
    return 4;
}

/* Head, JSON filled up with blanks, bytes. */
static size_t binary_of(const writing *w, const char *json, unsigned char *out)
{
    size_t length = (strlen(json) + 3) / 4 * 4, at = 0;
    memcpy(out, "glTF", 4);
    at = 4 + put_word(out + 4, 2);
    at += put_word(out + at, 12 + 8 + length + 8 + w->size);
    at += put_word(out + at, length);
    memcpy(out + at, "JSON", 4);
    memset(out + at + 4, ' ', length);
    memcpy(out + at + 4, json, strlen(json));
    at += 4 + length;
    at += put_word(out + at, w->size);
    memcpy(out + at, "BIN\0", 4);
    memcpy(out + at + 4, w->bytes, w->size);
    return at + 4 + w->size;
}

/* ---- what is read ---- */

/* Volume inside and middle of it; the number of triangles is given back. */
static int64_t measure(const char *path, const void *text, size_t size, double *inside, double middle[3])
{
    rp_mesh m;
    char *own = malloc(size + 1); /* with a zero behind, as a file that was read */
    memcpy(own, text, size);
    own[size] = '\0';
    if (rp__shape_mesh_parse(path, own, size, 1, &m) != RP_OK)
        fail_msg("%s: %s", path, rp_last_error());
    *inside = middle[0] = middle[1] = middle[2] = 0;
    for (int64_t t = 0; t < m.triangle_count; t++) {
        const double *a = m.vertices + 3 * m.triangles[3 * t], *b = m.vertices + 3 * m.triangles[3 * t + 1], *c = m.vertices + 3 * m.triangles[3 * t + 2];
        double v = (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])) / 6;
        *inside += v;
        for (int i = 0; i < 3; i++)
            middle[i] += v * (a[i] + b[i] + c[i]) / 4;
    }
    for (int i = 0; i < 3; i++)
        middle[i] /= *inside;
    int64_t triangles = m.triangle_count;
    rp_mesh_free(&m);
    free(own);
    return triangles;
}

static void check(const char *what, const void *text, size_t size, int64_t triangles, double wanted, double x, double y, double z)
{
    double inside, middle[3];
    assert_int_equal(measure(what, text, size, &inside, middle), triangles);
    if (fabs(inside - wanted) > 1e-6 || fabs(middle[0] - x) > 1e-6 || fabs(middle[1] - y) > 1e-6 || fabs(middle[2] - z) > 1e-6)
        fail_msg("%s: volume %g, middle %g %g %g", what, inside, middle[0], middle[1], middle[2]);
    assert_int_equal(rp_memory_in_use(), 0);
}

#define VIEWS "\"bufferViews\":[{\"buffer\":0,\"byteLength\":48},{\"buffer\":0,\"byteOffset\":48,\"byteLength\":24}]"
#define ACCESSORS \
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},{\"bufferView\":1,\"componentType\":5123,\"count\":12," \
            "\"type\":\"SCALAR\"}]"
#define MESHES "\"meshes\":[{\"primitives\":[{\"attributes\":{\"NORMAL\":9,\"POSITION\":0},\"indices\":1}]}]"

static void texts(void **state)
{
    (void)state;
    writing w;
    put_tetrahedron(&w, 12, 2);
    const char *text = text_of(&w, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"\\u00e9\\ud83d\\ude00\"},\"nodes\":[{\"mesh\":0,"
            "\"name\":\"K\\u00f6rper\",\"translation\":[1,2,3]}],"
                                   "\"scenes\":[{\"nodes\":[0]}],\"scene\":0," VIEWS "," ACCESSORS "," MESHES ",%B}");
    check("plain.gltf", text, strlen(text), 4, volume, 1 + 0.375, 2 + 0.5625, 3 + 0.0625);

    /* no scene: nodes that are no children; a child turned by 90° about z and scaled below one that is moved */
    text = text_of(&w, "{\"nodes\":[{\"mesh\":0,\"rotation\":[0,0,0.7071067811865476,0.7071067811865476],\"scale\":[2,2,2]},{\"translation\":[0,0,5],"
            "\"children\":[0]}]," VIEWS
                       "," ACCESSORS "," MESHES ",%B}");
    check("nested.gltf", text, strlen(text), 4, 8 * volume, -2 * 0.5625, 2 * 0.375, 5 + 2 * 0.0625);

    /* a mesh at two nodes, one of which mirrors it: both have their volume inside */
    text = text_of(&w, "{\"nodes\":[{\"mesh\":0,\"translation\":[10,0,0]},{\"mesh\":0,\"matrix\":[-1,0,0,0, 0,1,0,0, 0,0,1,0, -10,0,0,1]}]," VIEWS "," ACCESSORS
                       "," MESHES ",%B}");
    check("twice.gltf", text, strlen(text), 8, 2 * volume, 0, 0.5625, 0.0625);
}

static void binaries(void **state)
{
    (void)state;
    writing w;
    unsigned char file[4096];
    static const struct { size_t stride, width; int type; } ways[] = { { 12, 1, 5121 }, { 20, 2, 5123 }, { 16, 4, 5125 } };
    for (int k = 0; k < 3; k++) {
        char json[2048];
        put_tetrahedron(&w, ways[k].stride, ways[k].width);
        snprintf(json, sizeof json,
                 "{\"buffers\":[{\"byteLength\":%zu}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":%zu,\"byteStride\":%zu},{\"buffer\":0,"
                         "\"byteOffset\":%zu,\"byteLength\":%zu}],"
                 "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},{\"bufferView\":1,\"componentType\":%d,"
                         "\"count\":12,\"type\":\"SCALAR\"}],"
                 "\"nodes\":[{\"mesh\":0}]," MESHES "}",
                 w.size, 4 * ways[k].stride, ways[k].stride, 4 * ways[k].stride, 12 * ways[k].width, ways[k].type);
        check("parts.glb", file, binary_of(&w, json, file), 4, volume, 0.375, 0.5625, 0.0625);
    }
}

/* A strip without indices, and positions as normalised whole numbers. */
static void strips_and_whole_numbers(void **state)
{
    (void)state;
    writing w = { .size = 0 };
    static const int strip[6] = { 0, 2, 1, 3, 0, 2 };
    for (int k = 0; k < 6; k++)
        add_bytes(&w, corners[strip[k]], 12);
    const char *text = text_of(&w, "{\"nodes\":[{\"mesh\":0}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":72}],\"accessors\":[{\"bufferView\":0,"
            "\"componentType\":5126,\"count\":6,"
                                   "\"type\":\"VEC3\"}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"mode\":5},{\"attributes\":{},"
                                           "\"mode\":0}]}],%B}");
    check("strip.gltf", text, strlen(text), 4, volume, 0.375, 0.5625, 0.0625);
    w.size = 0;
    for (int v = 0; v < 4; v++) {
        unsigned char whole[3];
        for (int i = 0; i < 3; i++)
            whole[i] = corners[v][i] > 0 ? 255 : 0;
        add_bytes(&w, whole, 3);
    }
    for (int k = 0; k < 12; k++)
        add_bytes(&w, &(unsigned char){ (unsigned char)faces[k] }, 1);
    text = text_of(&w, "{\"nodes\":[{\"mesh\":0}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":12},{\"buffer\":0,\"byteOffset\":12,"
            "\"byteLength\":12}],\"accessors\":[{\"bufferView\":0,"
                       "\"componentType\":5121,\"normalized\":true,\"count\":4,\"type\":\"VEC3\"},{\"bufferView\":1,\"componentType\":5121,"
                               "\"count\":12,\"type\":\"SCALAR\"}]," MESHES ",%B}");
    check("whole.gltf", text, strlen(text), 4, 1.0 / 6, 0.25, 0.25, 0.25);
}

/* Numbers in a file beside it, whose name has a blank. */
static void files_beside(void **state)
{
    (void)state;
    writing w;
    put_tetrahedron(&w, 12, 2);
    FILE *stream = fopen(in_folder("the numbers.bin"), "wb");
    assert_int_equal(fwrite(w.bytes, 1, w.size, stream), w.size);
    fclose(stream);
    stream = fopen(in_folder("beside.gltf"), "wb");
    fputs("{\"buffers\":[{\"byteLength\":72,\"uri\":\"the%20numbers.bin\"}],\"nodes\":[{\"mesh\":0}]," VIEWS "," ACCESSORS "," MESHES "}", stream);
    fclose(stream);
    rp_shape *shape = NULL;
    if (rp_shape_mesh(in_folder("beside.gltf"), 1, &shape) != RP_OK)
        fail_msg("%s", rp_last_error());
    rp_shape_release(shape);
}

/* ---- what is none ---- */

static void refused(const char *format, const char *sentence)
{
    writing w;
    rp_mesh m;
    put_tetrahedron(&w, 12, 2);
    const char *text = text_of(&w, format);
    rp_result result = rp__shape_mesh_parse("bad.gltf", text, strlen(text), 1, &m);
    if (result == RP_OK || !strstr(rp_last_error(), sentence) || !strstr(rp_last_error(), "bad.gltf"))
        fail_msg("'%s' gives %s: %s", format, rp_result_name(result), rp_last_error());
    assert_int_equal(rp_memory_in_use(), 0);
}

#define ONE "\"nodes\":[{\"mesh\":0}],"
#define ACCESSOR(what) "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},{" what "}]"

static void what_is_none_is_refused(void **state)
{
    (void)state;
    refused("", "not a sound glTF file");
    refused("{\"nodes\":[", "not a sound glTF file");
    refused("{\"nodes\":[{\"mesh\":-1}]}", "counts or points is -1");
    refused("{}", "");
    refused("{" ONE "%B}", "there is no mesh 0");
    refused("{\"scenes\":[{\"nodes\":[7]}],%B}", "there is no node 7");
    refused("{\"scenes\":[{}],\"scene\":3,%B}", "there is no scene 3");
    refused("{\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"children\":[1]},{\"children\":[0]}],%B}", "below two others, or below itself");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":1,\"componentType\":5123,\"count\":13,\"type\":\"SCALAR\"") "," MESHES ","
            "%B}", "accessor 1 claims more numbers");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":1,\"componentType\":5123,\"count\":9007199254740992,\"type\":\"SCALAR\"") "," MESHES ","
            "%B}", "claims more numbers");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":1,\"byteOffset\":25,\"componentType\":5123,\"count\":1,\"type\":\"SCALAR\"") "," MESHES ","
            "%B}", "claims more numbers");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":5,\"componentType\":5123,\"count\":12,\"type\":\"SCALAR\"") "," MESHES ",%B}", "not there");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":1,\"componentType\":5123,\"count\":4,\"type\":\"VEC3\"") "," MESHES ",%B}", "another type");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":1,\"componentType\":5126,\"count\":6,\"type\":\"SCALAR\"") "," MESHES ",%B}", "fractions");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":0,\"componentType\":5121,\"count\":12,\"type\":\"SCALAR\"") "," MESHES ",%B}", "");
    refused("{" ONE VIEWS "," ACCESSOR("\"bufferView\":1,\"sparse\":{},\"componentType\":5123,\"count\":12,\"type\":\"SCALAR\"") "," MESHES ",%B}", "sparse");
    refused("{" ONE VIEWS "," ACCESSORS "," MESHES ",\"buffers\":[{\"byteLength\":72}]}", "claims more numbers");
    refused("{" ONE VIEWS "," ACCESSORS "," MESHES ",\"buffers\":[{\"uri\":\"data:;base64,AAAA*\"}]}", "another letter");
    refused("{" ONE VIEWS "," ACCESSORS "," MESHES ",\"buffers\":[{\"uri\":\"absent.bin\"}]}", "'absent.bin', which is not there");
    refused("{" ONE VIEWS "," ACCESSORS "," MESHES ",\"buffers\":[{\"uri\":\"/dev/zero\"}]}", "no file beside it");
    refused("{" ONE VIEWS "," ACCESSORS "," MESHES ",\"buffers\":[{\"uri\":\"http://a.b/c\"}]}", "no file beside it");
    refused("{\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]," ONE VIEWS "," ACCESSORS "," MESHES ",%B}", "KHR_draco_mesh_compression,"
            " which is not read");
    refused("{" ONE VIEWS "," ACCESSORS ",\"meshes\":[{\"primitives\":[{\"indices\":1}]}],%B}", "no positions");
}

/* Every byte of a file changed, and every cut of one: read or refused. */
static void changed_files(void **state)
{
    (void)state;
    writing w;
    unsigned char file[4096];
    put_tetrahedron(&w, 12, 2);
    size_t size = binary_of(&w, "{\"buffers\":[{\"byteLength\":72}],\"nodes\":[{\"mesh\":0}]," VIEWS "," ACCESSORS "," MESHES "}", file);
    int refusals = 0;
    for (size_t k = 0; k < 2 * size; k++) {
        size_t length = k < size ? size : k - size;
        char *own = malloc(length + 1);
        memcpy(own, file, length);
        own[length] = '\0';
        if (k < size)
            own[k] = (char)(own[k] + 1 + (int)(k % 3));
        rp_mesh m;
        if (rp__shape_mesh_parse("changed.glb", own, length, 1, &m) == RP_OK)
            rp_mesh_free(&m);
        else
            refusals++;
        free(own);
        assert_int_equal(rp_memory_in_use(), 0);
    }
    assert_true(refusals > (int)size);
}

static int set_up(void **state)
{
    (void)state;
    return folder_make("test_mesh_gltf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts), cmocka_unit_test(binaries), cmocka_unit_test(strips_and_whole_numbers), cmocka_unit_test(files_beside),
        cmocka_unit_test(what_is_none_is_refused), cmocka_unit_test(changed_files),
    };
    return cmocka_run_group_tests(tests, set_up, folder_remove);
}
