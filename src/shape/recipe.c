/* Shapes written down and made again. */
#include "base/error.h"
#include "base/memory.h"
#include "shape/shape_class.h"

#include <math.h>
#include <string.h>

enum { DEPTH = 32, MOST_PARTS = 4096 };

void rp__shape_note(rp_shape *shape, const char *kind, int count, const double *numbers)
{
    shape->kind = kind;
    shape->number_count = count;
    if (count)
        memcpy(shape->numbers, numbers, (size_t)count * sizeof *numbers);
}

void rp__shape_note_parts(rp_shape *shape, rp_shape *const *parts, int count)
{
    shape->parts = parts;
    shape->part_count = count;
}

/* ---- writing ---- */

rp_result rp__shape_write(const rp_shape *shape, rp__text *text)
{
    if (!shape)
        return rp__base_fail(RP_BAD_ARGUMENT, "there is no shape (NULL)");
    if (!shape->kind)
        return rp__base_fail(RP_UNSUPPORTED, "a %s cannot be written down as a line of text; of meshes, those from a file can", shape->type->name);
    rp__text_append(text, "{\"shape\":\"%s\"", shape->kind);
    if (shape->path) {
        rp__text_append_string(text, ",\"path\":");
        rp__text_append_quoted(text, shape->path);
    }
    if (shape->number_count) {
        rp__text_append_string(text, ",\"numbers\":[");
        for (int i = 0; i < shape->number_count; i++) {
            rp__text_append_string(text, i ? "," : "");
            if (isfinite(shape->numbers[i]))
                rp__text_append_number(text, shape->numbers[i]);
            else
                rp__text_append_string(text, shape->numbers[i] > 0 ? "\"inf\"" : "\"-inf\"");
        }
        rp__text_append_string(text, "]");
    }
    for (int i = 0; i < shape->part_count; i++) {
        rp__text_append_string(text, i ? "," : ",\"of\":[");
        RP_TRY(rp__shape_write(shape->parts[i], text));
    }
    rp__text_append_string(text, shape->part_count ? "]}" : "}");
    return RP_OK;
}

/* ---- reading ---- */

typedef struct recipe {
    char kind[32], path[4096];
    double numbers[RP_SHAPE_NUMBERS];
    int number_count, part_count;
    rp_shape **parts;
} recipe;

typedef rp_result (*maker)(const recipe *r, rp_shape **out);

static rp_result make_plane(const recipe *r, rp_shape **out) { return rp_shape_plane(r->numbers, r->numbers + 3, out); }
static rp_result make_box(const recipe *r, rp_shape **out) { return rp_shape_box(r->numbers, r->numbers + 3, r->numbers[6], out); }
static rp_result make_sphere(const recipe *r, rp_shape **out) { return rp_shape_sphere(r->numbers, r->numbers[3], out); }
static rp_result make_capsule(const recipe *r, rp_shape **out) { return rp_shape_capsule(r->numbers, r->numbers + 3, r->numbers[6], out); }
static rp_result make_cone(const recipe *r, rp_shape **out) { return rp_shape_cone(r->numbers, r->numbers + 3, r->numbers[6], r->numbers[7], out); }
static rp_result make_torus(const recipe *r, rp_shape **out) { return rp_shape_torus(r->numbers, r->numbers + 3, r->numbers[6], r->numbers[7], out); }
static rp_result make_ellipsoid(const recipe *r, rp_shape **out) { return rp_shape_ellipsoid(r->numbers, r->numbers + 3, out); }
static rp_result make_mesh(const recipe *r, rp_shape **out) { return rp_shape_mesh(r->path, r->numbers[0], out); }
static rp_result make_union(const recipe *r, rp_shape **out) { return rp_shape_union(r->parts, r->part_count, out); }
static rp_result make_intersection(const recipe *r, rp_shape **out) { return rp_shape_intersection(r->parts, r->part_count, out); }
static rp_result make_offset(const recipe *r, rp_shape **out) { return rp_shape_offset(r->parts[0], r->numbers[0], out); }
static rp_result make_shell(const recipe *r, rp_shape **out) { return rp_shape_shell(r->parts[0], r->numbers[0], out); }
static rp_result make_complement(const recipe *r, rp_shape **out) { return rp_shape_complement(r->parts[0], out); }
static rp_result make_place(const recipe *r, rp_shape **out)
{
    return rp_shape_place(r->parts[0], r->numbers, r->numbers + 3, r->numbers[6], out);
}

static const struct {
    const char *kind;
    int numbers, parts; /* parts -1: one or more */
    maker make;
} kinds[] = {
    { "plane", 6, 0, make_plane },         { "box", 7, 0, make_box },           { "sphere", 4, 0, make_sphere },
    { "capsule", 7, 0, make_capsule },     { "cone", 8, 0, make_cone },         { "torus", 8, 0, make_torus },
    { "ellipsoid", 6, 0, make_ellipsoid }, { "mesh", 1, 0, make_mesh },         { "union", 0, -1, make_union },
    { "offset", 1, 1, make_offset },       { "shell", 1, 1, make_shell },       { "intersection", 0, -1, make_intersection },
    { "place", 7, 1, make_place },         { "complement", 0, 1, make_complement },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static rp_result read_shape(rp__json *json, int depth, rp_shape **out);

static rp_result read_parts(rp__json *json, int depth, recipe *r)
{
    bool first = true, more = true;
    int64_t capacity = r->part_count;
    RP_TRY(rp__json_array(json));
    for (;;) {
        RP_TRY(rp__json_item(json, &first, &more));
        if (!more)
            return RP_OK;
        if (r->part_count == MOST_PARTS)
            return rp__base_fail(RP_BAD_FILE, "a shape has more than %d parts", MOST_PARTS);
        if (!rp__base_grow(&r->parts, &capacity, r->part_count + 1, sizeof *r->parts))
            return RP_OUT_OF_MEMORY;
        RP_TRY(read_shape(json, depth + 1, &r->parts[r->part_count]));
        r->part_count++;
    }
}

static rp_result read_members(rp__json *json, int depth, recipe *r)
{
    bool first = true, more = true;
    char key[32];
    RP_TRY(rp__json_object(json));
    for (;;) {
        RP_TRY(rp__json_key(json, &first, key, sizeof key, &more));
        if (!more)
            return RP_OK;
        if (strcmp(key, "shape") == 0) {
            RP_TRY(rp__json_text(json, r->kind, sizeof r->kind));
        } else if (strcmp(key, "path") == 0) {
            RP_TRY(rp__json_text(json, r->path, sizeof r->path));
        } else if (strcmp(key, "numbers") == 0) {
            double *numbers = NULL;
            int64_t count = 0;
            RP_TRY(rp__json_numbers_any(json, &numbers, &count));
            r->number_count = count > RP_SHAPE_NUMBERS ? RP_SHAPE_NUMBERS + 1 : (int)count;
            for (int i = 0; i < r->number_count && i < RP_SHAPE_NUMBERS; i++)
                r->numbers[i] = numbers[i];
            rp__base_free(numbers);
        } else if (strcmp(key, "of") == 0 && !r->parts) {
            RP_TRY(read_parts(json, depth, r));
        } else {
            return rp__base_fail(RP_BAD_FILE, "a shape has no \"%s\" (or has it twice); it has shape, numbers, of, path", key);
        }
    }
}

static rp_result make(const recipe *r, rp_shape **out)
{
    const char *names[KINDS];
    for (int k = 0; k < KINDS; k++) {
        names[k] = kinds[k].kind;
        if (strcmp(kinds[k].kind, r->kind) != 0)
            continue;
        if (r->number_count != kinds[k].numbers || (kinds[k].parts < 0 ? r->part_count < 1 : r->part_count != kinds[k].parts))
            return rp__base_fail(RP_BAD_FILE, "the shape '%s' needs %d numbers and %s shapes in \"of\"", r->kind, kinds[k].numbers,
                                 kinds[k].parts < 0 ? "some" : kinds[k].parts ? "1" : "no");
        return kinds[k].make(r, out);
    }
    int nearest = rp__text_nearest(r->kind, names, KINDS);
    return nearest < 0 ? rp__base_fail(RP_BAD_FILE, "there is no shape '%s'", r->kind)
                       : rp__base_fail(RP_BAD_FILE, "there is no shape '%s'; did you mean '%s'?", r->kind, names[nearest]);
}

static rp_result read_shape(rp__json *json, int depth, rp_shape **out)
{
    if (depth > DEPTH)
        return rp__base_fail(RP_BAD_FILE, "shapes are nested more than %d deep", DEPTH);
    recipe *r = RP_NEW(recipe);
    if (!r)
        return RP_OUT_OF_MEMORY;
    rp_result result = read_members(json, depth, r);
    if (result == RP_OK)
        result = make(r, out);
    for (int i = 0; i < r->part_count; i++)
        rp_shape_release(r->parts[i]);
    rp__base_free(r->parts);
    rp__base_free(r);
    return result;
}

rp_result rp__shape_read(rp__json *json, rp_shape **out)
{
    return read_shape(json, 0, out);
}
