/* Shapes in scenes: one key names the kind, beside it the pose. */
#include "base/error.h"
#include "base/file.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N(k) (offsetof(rp__shape_spec, number) + (k) * sizeof(double))
#define LARGE 1e300
#define END { 0 }
#define LENGTH3(name, k, initial, help) { name, RP_VEC3, N(k), initial, -LARGE, LARGE, "m", help, NULL }
#define SIZE(name, k, initial, help) { name, RP_REAL, N(k), initial, 0, 1e12, "m", help, NULL }

/* ---- tables and makers ---- */

static const rp_param sphere_table[] = { LENGTH3("centre", 0, 0, "centre"), SIZE("radius", 3, NAN, "radius"), END };
static rp_result make_sphere(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_sphere(s->number, s->number[3], out);
}

static const rp_param box_table[] = {
    LENGTH3("lower", 7, NAN, "smallest corner, with upper"),
    LENGTH3("upper", 10, NAN, "largest corner, with lower"),
    LENGTH3("centre", 0, NAN, "centre, with size; the origin when absent"),
    { "size", RP_VEC3, N(3), NAN, 0, 1e12, "m", "edges, with centre; one number for a cube", NULL },
    SIZE("rounding", 6, 0, "radius of the edges"),
    END,
};
static rp_result make_box(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    const double *n = s->number;
    double centre[3], half[3];
    bool corners = !isnan(n[7]) || !isnan(n[10]);
    if (corners == !isnan(n[3]) || isnan(n[7]) != isnan(n[10]) || (corners && !isnan(n[0])))
        return rp__base_fail(RP_BAD_ARGUMENT, "a box has either 'lower' and 'upper', or 'centre' and 'size'");
    for (int i = 0; i < 3; ++i) {
        centre[i] = corners ? (n[7 + i] + n[10 + i]) / 2 : isnan(n[i]) ? 0 : n[i];
        half[i] = corners ? (n[10 + i] - n[7 + i]) / 2 : n[3 + i] / 2;
        if (!(half[i] > 0))
            return rp__base_fail(RP_BAD_ARGUMENT, corners ? "the box has no inside: 'upper' must be above 'lower' along %c"
                                                          : "the box has no inside: 'size' must be above 0 along %c",
                                 "xyz"[i]);
    }
    return rp_shape_box(centre, half, n[6], out);
}

static const rp_param plane_table[] = {
    LENGTH3("point", 0, 0, "a point of the plane"),
    { "normal", RP_VEC3, N(3), NAN, -LARGE, LARGE, "", "points out of the solid side", NULL },
    END,
};
static rp_result make_plane(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_plane(s->number, s->number + 3, out);
}

static const rp_param cylinder_table[] = {
    LENGTH3("from", 0, NAN, "centre of one end"), LENGTH3("to", 3, NAN, "centre of the other end"),
    SIZE("radius", 6, NAN, "radius"), END,
};
static rp_result make_cylinder(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_cylinder(s->number, s->number + 3, s->number[6], out);
}
static rp_result make_capsule(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_capsule(s->number, s->number + 3, s->number[6], out);
}

static const rp_param cone_table[] = {
    LENGTH3("from", 0, NAN, "centre of one end"), LENGTH3("to", 3, NAN, "centre of the other end"),
    SIZE("radius_from", 6, 0, "radius at 'from'"), SIZE("radius_to", 7, 0, "radius at 'to'"), END,
};
static rp_result make_cone(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_cone(s->number, s->number + 3, s->number[6], s->number[7], out);
}

static const rp_param torus_table[] = {
    LENGTH3("centre", 0, 0, "centre"),
    { "axis", RP_VEC3, N(3), NAN, -LARGE, LARGE, "", "of the ring", NULL },
    SIZE("radius", 6, NAN, "from the centre to the middle of the tube"), SIZE("tube", 7, NAN, "radius of the tube"), END,
};
static rp_result make_torus(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_torus(s->number, s->number + 3, s->number[6], s->number[7], out);
}

static const rp_param ellipsoid_table[] = {
    LENGTH3("centre", 0, 0, "centre"),
    { "semi_axes", RP_VEC3, N(3), NAN, 0, 1e12, "m", "half its lengths along x, y, z", NULL },
    END,
};
static rp_result make_ellipsoid(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_ellipsoid(s->number, s->number + 3, out);
}

static const rp_param heightfield_table[] = {
    { "image", RP_TEXT, offsetof(rp__shape_spec, file), 0, 0, 0, "", "grey PNG or PGM file; or give heights", "" },
    { "lower", RP_VEC3, N(0), NAN, -LARGE, LARGE, "m", "corner of the rectangle it covers (x, y)", "2" },
    { "upper", RP_VEC3, N(3), NAN, -LARGE, LARGE, "m", "the other corner (x, y)", "2" },
    { "low", RP_REAL, N(6), 0, -LARGE, LARGE, "m", "height of black", NULL },
    { "high", RP_REAL, N(7), 1, -LARGE, LARGE, "m", "height of white", NULL },
    END,
};
static rp_result make_heightfield(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    if (s->heights && s->file)
        return rp__base_fail(RP_BAD_ARGUMENT, "a heightfield has either 'image' or 'heights'");
    if (s->heights)
        return rp_shape_heightfield(s->heights, s->columns, s->rows, s->number, s->number + 3, out);
    if (!s->file)
        return rp__base_fail(RP_BAD_ARGUMENT, "a heightfield needs 'image' or 'heights'");
    return rp_shape_heightfield_image(s->file, s->number, s->number + 3, s->number[6], s->number[7], out);
}

static const rp_param mesh_table[] = {
    { "file", RP_TEXT, offsetof(rp__shape_spec, file), 0, 0, 0, "",
      "closed triangle mesh (OBJ, STL, PLY, glTF); a relative path starts at the scene's folder", "" },
    { "unit", RP_REAL, N(0), 1, 1e-12, 1e12, "m", "length of one unit of the file ('1 mm')", NULL },
    END,
};
static rp_result make_mesh(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)c;
    return rp_shape_mesh(s->file, s->number[0], out);
}

static rp_result make_union(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    return rp_shape_union(c, s->child_count, out);
}
static rp_result make_intersection(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    return rp_shape_intersection(c, s->child_count, out);
}
static rp_result make_difference(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    if (s->child_count == 2)
        return rp_shape_difference(c[0], c[1], out);
    rp_shape *taken = NULL;
    if (s->child_count < 2)
        return rp__base_fail(RP_BAD_ARGUMENT, "'difference' needs at least two shapes: what stays, then what is taken away");
    RP_TRY(rp_shape_union(c + 1, s->child_count - 1, &taken));
    rp_result result = rp_shape_difference(c[0], taken, out);
    rp_shape_release(taken);
    return result;
}
static rp_result make_complement(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    (void)s;
    return rp_shape_complement(c[0], out);
}

static const rp_param offset_table[] = {
    { "distance", RP_REAL, N(0), NAN, -LARGE, LARGE, "m", "grown by this much; below 0: shrunk", NULL },
    END,
};
static rp_result make_offset(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    return rp_shape_offset(c[0], s->number[0], out);
}

static const rp_param shell_table[] = { SIZE("thickness", 0, NAN, "of the wall, half of it on each side"), END };
static rp_result make_shell(const rp__shape_spec *s, rp_shape *const *c, rp_shape **out)
{
    return rp_shape_shell(c[0], s->number[0], out);
}

const rp__shape_kind rp__scene_shape_kinds[] = {
    { "sphere", "A ball; a disc in 2D.", "{sphere: {centre: [0, 0, 1], radius: 10 cm}}", sphere_table, RP_SHAPE_LEAF,
      "radius", make_sphere },
    { "box", "A box along the axes.", "{box: {lower: [0, 0, 0], upper: [1, 1, 50 cm]}}", box_table, RP_SHAPE_LEAF, "",
      make_box },
    { "plane", "Everything on one side of a plane.", "{plane: {point: [0, 0, 0.1], normal: [0, 0, 1]}}", plane_table,
      RP_SHAPE_LEAF, "normal", make_plane },
    { "cylinder", "A cylinder with flat ends.", "{cylinder: {from: [0, 0, 0], to: [0, 0, 1], radius: 0.2}}", cylinder_table,
      RP_SHAPE_LEAF, "from to radius", make_cylinder },
    { "capsule", "A cylinder with round ends.", "{capsule: {from: [0, 0, 0], to: [0, 0, 1], radius: 0.2}}", cylinder_table,
      RP_SHAPE_LEAF, "from to radius", make_capsule },
    { "cone", "A cone, pointed or cut.", "{cone: {from: [0, 0, 0], to: [0, 0, 1], radius_from: 0.5}}", cone_table,
      RP_SHAPE_LEAF, "from to", make_cone },
    { "torus", "A ring.", "{torus: {centre: [0, 0, 0.5], axis: [0, 0, 1], radius: 0.3, tube: 5 cm}}", torus_table,
      RP_SHAPE_LEAF, "axis radius tube", make_torus },
    { "ellipsoid", "An ellipsoid along the axes.", "{ellipsoid: {centre: [0, 0, 0.5], semi_axes: [0.3, 0.2, 0.1]}}",
      ellipsoid_table, RP_SHAPE_LEAF, "semi_axes", make_ellipsoid },
    { "heightfield", "Everything below a surface over x and y, from a grey image or a list of rows.",
      "{heightfield: {heights: [[0, 0.1], [0.1, 0.3]], lower: [0, 0], upper: [1, 1]}}", heightfield_table, RP_SHAPE_LEAF,
      "lower upper", make_heightfield },
    { "mesh", "The inside of a closed triangle mesh.", "{mesh: {file: rock.obj, unit: 1 cm}, position: [0, 0, 1]}",
      mesh_table, RP_SHAPE_LEAF, "file", make_mesh },
    { "union", "All of several shapes.", "{union: [{sphere: {radius: 1}}, {box: {size: 1}}]}", NULL, RP_SHAPE_LIST, "",
      make_union },
    { "intersection", "What several shapes share.", "{intersection: [{sphere: {radius: 1}}, {box: {size: 1.5}}]}", NULL,
      RP_SHAPE_LIST, "", make_intersection },
    { "difference", "The first shape without the others.",
      "{difference: [{box: {size: 1}}, {sphere: {radius: 0.6}}]}", NULL, RP_SHAPE_LIST, "", make_difference },
    { "complement", "Everything outside a shape.", "{complement: {sphere: {radius: 1}}}", NULL, RP_SHAPE_ONE, "",
      make_complement },
    { "offset", "A shape grown or shrunk.", "{offset: {shape: {box: {size: 1}}, distance: 5 cm}}", offset_table,
      RP_SHAPE_KEYED, "distance", make_offset },
    { "shell", "The wall around a shape's surface.", "{shell: {shape: {sphere: {radius: 1}}, thickness: 5 cm}}",
      shell_table, RP_SHAPE_KEYED, "thickness", make_shell },
    { 0 },
};

#define P(member) offsetof(rp__shape_spec, member)
const rp_param rp__scene_place_table[] = {
    { "position", RP_VEC3, P(position), 0, -LARGE, LARGE, "m", "where the shape's origin is put, last", NULL },
    { "rotation", RP_VEC3, P(rotation), 0, -LARGE, LARGE, "rad", "rotation vector, or {axis, angle}; after scale", NULL },
    { "scale", RP_REAL, P(scale), 1, 1e-9, 1e9, "", "size, first", NULL },
    END,
};

/* ---- reading ---- */

rp_result rp__scene_resolve_path(rp__reader *r, const rp__node *value, const char **path)
{
    if (!**path)
        return rp__scene_fail(&r->tree, value, "'%s' needs the name of a file", value->key ? value->key->text : "file");
    if (**path == '/')
        return RP_OK;
    if (!r->folder)
        return rp__scene_fail(&r->tree, value, "'%s' is a relative path, and this scene has no folder; give the whole path",
                              *path);
    char here[4096] = "/";
    if (r->folder[0] != '/' && !getcwd(here, sizeof here))
        return rp__scene_fail(&r->tree, value, "the present folder has no name");
    char *folder = strcmp(r->folder, ".") == 0 ? rp__base_copy_text(here) : rp__file_join(here, r->folder);
    char *whole = folder ? rp__file_join(folder, *path) : NULL;
    rp__base_free(folder);
    if (!whole)
        return RP_OUT_OF_MEMORY;
    *path = rp__scene_pool_copy(&r->scene->pool, whole, strlen(whole));
    rp__base_free(whole);
    return *path ? RP_OK : RP_OUT_OF_MEMORY;
}

/* heights: [[row], [row], ...], row j at y_j. */
static rp_result read_heights(rp__reader *r, const rp__node *value, rp__shape_spec *spec)
{
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, "heights"));
    const rp__node *first = value->first;
    if (!first || first->kind != RP_NODE_LIST || first->count < 2 || value->count < 2)
        return rp__scene_fail(&r->tree, value, "'heights' needs at least two rows of two numbers");
    spec->rows = value->count;
    spec->columns = first->count;
    spec->heights = rp__scene_pool_alloc(&r->scene->pool, (size_t)spec->rows * (size_t)spec->columns * sizeof(double));
    if (!spec->heights)
        return RP_OUT_OF_MEMORY;
    double *to = spec->heights;
    for (const rp__node *row = first; row; row = row->next) {
        RP_TRY(rp__scene_need(r, row, RP_NODE_LIST, "heights"));
        if (row->count != spec->columns)
            return rp__scene_fail(&r->tree, row, "a row of %d heights; the first row has %d", row->count, spec->columns);
        for (const rp__node *h = row->first; h; h = h->next)
            RP_TRY(rp__scene_read_number(r, h, "heights", "m", to++));
    }
    return RP_OK;
}

static bool is_required(const rp__shape_kind *kind, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = kind->required; (p = strstr(p, name)) != NULL; p += length)
        if ((p == kind->required || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
            return true;
    return false;
}

/* The keys of a kind, in a map. */
static rp_result read_keys(rp__reader *r, const rp__shape_kind *kind, const rp__node *map, rp__shape_spec *spec)
{
    RP_TRY(rp__scene_need(r, map, RP_NODE_MAP, kind->name));
    rp__param_defaults(kind->table, spec);
    bool heights = kind->make == make_heightfield;
    for (const rp__node *c = map->first; c; c = c->next) {
        const rp_param *entry = rp__param_find(kind->table, c->key->text);
        if (entry) {
            RP_TRY(rp__scene_read_param(r, entry, c, spec));
            if (entry->type == RP_TEXT) {
                RP_TRY(rp__scene_resolve_path(r, c, &spec->file));
                RP_TRY(rp__scene_note_file(r->scene, spec->file));
            }
        } else if (heights && strcmp(c->key->text, "heights") == 0)
            RP_TRY(read_heights(r, c, spec));
        else if (kind->form != RP_SHAPE_KEYED || strcmp(c->key->text, "shape") != 0) {
            const char *names[16] = { NULL };
            int n = 0;
            for (const rp_param *e = kind->table; e->name; ++e)
                names[n++] = e->name;
            if (heights || kind->form == RP_SHAPE_KEYED)
                names[n++] = heights ? "heights" : "shape";
            char hint[300];
            return rp__scene_fail(&r->tree, c->key, "unknown key '%.100s' in %s%s", c->key->text, kind->name,
                                  rp__scene_suggest(c->key->text, names, hint, sizeof hint));
        }
    }
    for (const rp_param *e = kind->table; e->name; ++e)
        if (is_required(kind, e->name) && !rp__scene_get(map, e->name))
            return rp__scene_fail(&r->tree, map->key ? map->key : map, "missing key '%s' in %s: %s", e->name, kind->name,
                                  e->help);
    double *n = spec->number;
    if (r->dim == 2 && kind->make == make_box && n[9] == 0 && n[12] == 0) {
        n[12] = fmax(n[10] - n[7], n[11] - n[8]) / 2; /* a rectangle: the section at z = 0 is what counts */
        n[9] = -n[12];
    }
    return RP_OK;
}

static rp_result find_kind(rp__reader *r, const rp__node *map, const rp__shape_kind **kind, const rp__node **value)
{
    *kind = NULL;
    if (map->kind != RP_NODE_MAP)
        return rp__scene_fail(&r->tree, map, "a shape is a map such as {sphere: {radius: 1}}, not %s", rp__scene_kind(map));
    for (const rp__node *c = map->first; c; c = c->next) {
        if (rp__param_find(rp__scene_place_table, c->key->text))
            continue;
        const rp__shape_kind *k = rp__scene_shape_kinds;
        const char *names[32];
        int n = 0;
        for (; k->name && strcmp(k->name, c->key->text) != 0; ++k)
            names[n++] = k->name;
        if (!k->name) {
            for (const rp_param *e = rp__scene_place_table; e->name; ++e)
                names[n++] = e->name;
            names[n] = NULL;
            char hint[400];
            return rp__scene_fail(&r->tree, c->key, "unknown shape '%.100s'%s", c->key->text,
                                  rp__scene_suggest(c->key->text, names, hint, sizeof hint));
        }
        if (*kind)
            return rp__scene_fail(&r->tree, c->key, "a shape has one kind; this one is '%s' and '%s' (use union)",
                                  (*kind)->name, k->name);
        *kind = k;
        *value = c;
    }
    if (!*kind)
        return rp__scene_fail(&r->tree, map, "a shape needs its kind, such as {sphere: {radius: 1}}");
    return RP_OK;
}

static rp_result read_child(rp__reader *r, const rp__node *value, rp__shape_spec *spec, rp_shape **children)
{
    int at = spec->child_count;
    RP_TRY(rp__scene_read_shape(r, value, &spec->children[at], &children[at]));
    ++spec->child_count;
    return RP_OK;
}

static rp_result read_children(rp__reader *r, const rp__node *value, rp__shape_spec *spec, rp_shape **children)
{
    switch (spec->kind->form) {
    case RP_SHAPE_LIST:
        for (const rp__node *c = value->first; c; c = c->next)
            RP_TRY(read_child(r, c, spec, children));
        return RP_OK;
    case RP_SHAPE_ONE: return read_child(r, value, spec, children);
    case RP_SHAPE_KEYED: {
        const rp__node *inner = rp__scene_get(value, "shape");
        if (!inner)
            return rp__scene_fail(&r->tree, value->key, "missing key 'shape' in %s", spec->kind->name);
        return read_child(r, inner, spec, children);
    }
    default: return RP_OK;
    }
}

/* Makes the shape of a spec whose children are made. */
static rp_result make(const rp__shape_spec *spec, rp_shape *const *children, rp_shape **out)
{
    rp_shape *shape = NULL;
    RP_TRY(spec->kind->make(spec, children, &shape));
    rp_result result = RP_OK;
    if (spec->placed) {
        rp_shape *placed = NULL;
        result = rp_shape_place(shape, spec->position, spec->rotation, spec->scale, &placed);
        rp_shape_release(shape);
        shape = placed;
    }
    if (result == RP_OK)
        *out = shape;
    return result;
}

rp_result rp__scene_read_shape(rp__reader *r, const rp__node *value, rp__shape_spec **out_spec, rp_shape **out)
{
    const rp__shape_kind *kind;
    const rp__node *inner = NULL;
    RP_TRY(find_kind(r, value, &kind, &inner));
    rp__shape_spec *spec = rp__scene_pool_alloc(&r->scene->pool, sizeof *spec);
    if (!spec)
        return RP_OUT_OF_MEMORY;
    spec->kind = kind;
    spec->scale = 1;
    for (const rp__node *c = value->first; c; c = c->next) {
        const rp_param *entry = rp__param_find(rp__scene_place_table, c->key->text);
        if (!entry)
            continue;
        RP_TRY(rp__scene_read_param(r, entry, c, spec));
        spec->placed = true;
    }
    if (kind->table)
        RP_TRY(read_keys(r, kind, inner, spec));
    int count = kind->form == RP_SHAPE_LEAF ? 0 : 1;
    if (kind->form == RP_SHAPE_LIST) {
        RP_TRY(rp__scene_need(r, inner, RP_NODE_LIST, kind->name));
        count = inner->count;
        if (count == 0)
            return rp__scene_fail(&r->tree, inner, "'%s' needs at least one shape", kind->name);
    }
    rp_shape **children = rp__scene_pool_alloc(&r->scene->pool, (size_t)(count + 1) * sizeof *children);
    spec->children = rp__scene_pool_alloc(&r->scene->pool, (size_t)(count + 1) * sizeof *spec->children);
    if (!children || !spec->children)
        return RP_OUT_OF_MEMORY;
    rp_result result = read_children(r, inner, spec, children);
    if (result == RP_OK)
        result = rp__scene_wrap(&r->tree, inner->key, make(spec, children, out));
    for (int i = 0; i < count; ++i)
        rp_shape_release(children[i]);
    *out_spec = spec;
    return result;
}
