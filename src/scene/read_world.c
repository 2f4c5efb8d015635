/* The domain, gravity and walls. */
#include "base/error.h"
#include "base/log.h"
#include "base/param.h"
#include "base/units.h"
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

#define LARGE 1e300
#define CELLS_MOST 8000000.0 /* along an axis */

/* ---- domain ---- */

typedef struct domain {
    double lower[3], upper[3], size[3], centre[3], cells[3]; /* NaN: not given */
} domain;

#define D(member) offsetof(domain, member)
static const rp_param domain_params[] = {
    { "lower", RP_VEC3, D(lower), NAN, -LARGE, LARGE, "m", "smallest corner; the origin when only size or cells is given", NULL },
    { "upper", RP_VEC3, D(upper), NAN, -LARGE, LARGE, "m", "largest corner; or give size or cells", NULL },
    { "size", RP_VEC3, D(size), NAN, 0, 1e12, "m", "lengths of the edges", NULL },
    { "centre", RP_VEC3, D(centre), NAN, -LARGE, LARGE, "m", "centre, with size or cells, instead of lower", NULL },
    { "cells", RP_VEC3, D(cells), NAN, 1, CELLS_MOST, "", "number of cells along each axis", NULL },
    { 0 },
};
static const rp_param *domain_table(void) { return domain_params; }
static void domain_defaults(void *target) { rp__param_defaults(domain_params, target); }

const rp__scene_block rp__scene_domain = {
    "domain", "the domain",
    "A list of two or three numbers is its size, with the smallest corner at the origin; in full it is a map. Two numbers make "
    "a 2D scene, in which y is up. The domain is a whole number of cells: where the given one is not, its upper faces are moved "
    "outwards to the next cell, and the log says so.",
    "domain: {lower: [-1, -1, 0], size: [2, 2, 1]}", domain_table, NULL, domain_defaults,
    "{\"$ref\":\"#/$defs/vector\"}",
};

int rp__scene_guess_dimension(const rp__node *value)
{
    const rp__node *list = value;
    for (const rp_param *e = domain_params; value->kind == RP_NODE_MAP && e->name && list == value; ++e) {
        const rp__node *given = rp__scene_get(value, e->name);
        if (given && given->kind == RP_NODE_LIST)
            list = given;
    }
    return list->kind == RP_NODE_LIST && list->count == 2 ? 2 : 3;
}

static rp_result read_corners(rp__reader *r, const rp__node *value, domain *d)
{
    domain_defaults(d);
    if (value->kind == RP_NODE_LIST) {
        rp_param entry = domain_params[2];
        entry.name = "domain";
        RP_TRY(rp__scene_read_param(r, &entry, value, d));
    } else
        RP_TRY(rp__scene_read_block(r, &rp__scene_domain, value, d));
    double h = r->scene->settings.cell_size;
    bool lower = !isnan(d->lower[0]), upper = !isnan(d->upper[0]), size = !isnan(d->size[0]), centre = !isnan(d->centre[0]),
         cells = !isnan(d->cells[0]);
    if (upper + size + cells != 1 || (lower && centre) || (upper && (centre || !lower)))
        return rp__scene_fail(&r->tree, value,
                              "the domain has 'lower' and 'upper', or 'size' or 'cells' with 'lower' or 'centre' if wanted");
    if (cells && !(h > 0))
        return rp__scene_fail(&r->tree, value, "'cells' needs 'cell_size'");
    for (int a = 0; a < 3; ++a) {
        if (cells && d->cells[a] != floor(d->cells[a]))
            return rp__scene_fail(&r->tree, value, "'cells' needs whole numbers");
        double length = cells ? d->cells[a] * h : d->size[a];
        if (!lower)
            d->lower[a] = centre ? d->centre[a] - length / 2 : 0;
        if (!upper)
            d->upper[a] = d->lower[a] + length;
    }
    return RP_OK;
}

/* Moves the upper faces outwards to a whole number of cells, unless they are there to rounding. */
static rp_result snap(rp__reader *r, const rp__node *value, const domain *d)
{
    rp_sim_def *sim = &r->scene->sim;
    double h = r->scene->settings.cell_size;
    for (int a = 0; a < 3; ++a) {
        sim->lower[a] = a < r->dim ? d->lower[a] : 0;
        sim->upper[a] = 0;
        if (a >= r->dim)
            continue;
        double cells = (d->upper[a] - d->lower[a]) / h;
        if (!(cells > 1e-6))
            return rp__scene_fail(&r->tree, value, "the domain has no length along %c: it goes from %g to %g m", "xyz"[a],
                                  d->lower[a], d->upper[a]);
        if (!(cells <= CELLS_MOST))
            return rp__scene_fail(&r->tree, value, "the domain has %.3g cells along %c (%g m with cells of %g m); at most %.3g",
                                  cells, "xyz"[a], d->upper[a] - d->lower[a], h, CELLS_MOST);
        double whole = fmax(1, ceil(cells - 1e-6 * fmax(1, cells / 1000)));
        sim->upper[a] = d->lower[a] + whole * h;
        if (whole - cells > 1e-6 * fmax(1, cells))
            RP_INFO("the domain was %g cells long along %c; its upper face moved from %g to %g m", cells, "xyz"[a],
                    d->upper[a], sim->upper[a]);
    }
    return RP_OK;
}

rp_result rp__scene_read_domain(rp__reader *r, const rp__node *value, const rp__node *resolution)
{
    domain d;
    rp__settings *s = &r->scene->settings;
    const rp__node *size = rp__scene_get(r->tree.root, "cell_size");
    RP_TRY(read_corners(r, value, &d));
    if (resolution && size && rp__scene_rank(size) > rp__scene_rank(resolution))
        resolution = NULL;
    if (resolution) {
        double count, longest = 0;
        RP_TRY(rp__scene_read_number(r, resolution, "resolution", "", &count));
        if (size && rp__scene_rank(size) == rp__scene_rank(resolution))
            return rp__scene_fail(&r->tree, resolution, "give 'cell_size' or 'resolution', not both");
        if (!(count >= 1 && count <= CELLS_MOST) || count != floor(count))
            return rp__scene_fail(&r->tree, resolution, "'resolution' is a whole number of cells, from 1 to %g", CELLS_MOST);
        for (int a = 0; a < r->dim; ++a)
            longest = fmax(longest, d.upper[a] - d.lower[a]);
        s->cell_size = longest / count;
    }
    if (!(s->cell_size > 0))
        return rp__scene_fail(&r->tree, value->key, "missing key 'cell_size' (or 'resolution') in the scene");
    r->scene->sim.cell_size = s->cell_size;
    return snap(r, value, &d);
}

/* ---- gravity ---- */

static void gravity_defaults(void *target) { rp__param_defaults(rp__scene_gravity_table(), target); }

const rp__scene_block rp__scene_gravity = {
    "gravity", "gravity",
    "A list is the vector, a single number its strength straight down (along -z, in 2D along -y). As a map it may be tilted: "
    "a scene on an incline, drawn level.",
    "gravity: {tilt: 25 deg, toward: +x}", rp__scene_gravity_table, NULL, gravity_defaults,
    "{\"$ref\":\"#/$defs/number\"},{\"$ref\":\"#/$defs/vector\"}",
};

rp_result rp__scene_read_gravity(rp__reader *r, const rp__node *value)
{
    double *g = r->scene->sim.gravity;
    if (value->kind == RP_NODE_LIST)
        return rp__scene_read_vector(r, value, "gravity", "m/s2", g, NULL);
    rp__gravity_draft draft;
    gravity_defaults(&draft);
    if (value->kind == RP_NODE_SCALAR)
        RP_TRY(rp__scene_read_number(r, value, "gravity", "m/s2", &draft.magnitude));
    else
        RP_TRY(rp__scene_read_block(r, &rp__scene_gravity, value, &draft));
    int up = r->dim - 1, axis = draft.toward / 2;
    if (axis >= up)
        return rp__scene_fail(&r->tree, value, "in 2D gravity leans towards +x or -x");
    g[0] = g[1] = g[2] = 0;
    g[up] = -draft.magnitude * cos(draft.tilt);
    g[axis] = (draft.toward & 1 ? -1 : 1) * draft.magnitude * sin(draft.tilt);
    return RP_OK;
}

/* ---- walls ---- */

static void surface_defaults(void *target) { rp__param_defaults(rp__scene_wall_table(), target); }

static rp_result read_wall_faces(rp__reader *r, const rp__node *value, void *target);

#define WALL_SCHEMA "{\"$ref\":\"#/$defs/wall\"}"
#define FACE(name, help) { name, "wall", WALL_SCHEMA, help, "", read_wall_faces }
static const rp__scene_key wall_keys[] = {
    FACE("all", "every face"),
    FACE("sides", "every face but bottom and top"),
    FACE("x", "both faces across x"),
    FACE("y", "both faces across y"),
    FACE("z", "both faces across z (3D)"),
    FACE("left", "the face at the smallest x"),
    FACE("right", "the face at the largest x"),
    FACE("front", "the face at the smallest y (3D)"),
    FACE("back", "the face at the largest y (3D)"),
    FACE("bottom", "the face at the smallest z (in 2D: y)"),
    FACE("top", "the face at the largest z (in 2D: y)"),
    FACE("-x", "the same as left"),
    FACE("+x", "the same as right"),
    FACE("-y", "the face at the smallest y"),
    FACE("+y", "the face at the largest y"),
    FACE("-z", "the face at the smallest z (3D)"),
    FACE("+z", "the face at the largest z (3D)"),
    { 0 },
};

const rp__scene_block rp__scene_walls = {
    "walls", "walls",
    "One value for all faces, or a map, a face at a time: later keys of this list win over earlier ones.",
    "walls: {all: slip, bottom: stick, left: {friction: 0.4}}", NULL, wall_keys, NULL,
    "{\"enum\":[\"stick\",\"slip\",\"frictional\",\"open\",\"periodic\"]},{\"type\":\"number\",\"minimum\":0}",
};
const rp__scene_block rp__scene_wall = {
    "wall", "a wall",
    "stick, slip, frictional, open or periodic (both faces of the axis); or the friction coefficient alone; or a map.",
    "walls: {x: periodic, bottom: 0.5, top: open}", rp__scene_wall_table, NULL, surface_defaults,
    "{\"enum\":[\"stick\",\"slip\",\"frictional\",\"open\",\"periodic\"]},{\"type\":\"number\",\"minimum\":0}",
};
const rp__scene_block rp__scene_surface = {
    "surface", "a surface", "stick, slip or frictional; or the friction coefficient alone; or a map.",
    "surface: {friction: 0.6, adhesion: 20 Pa}", rp__scene_surface_table, NULL, surface_defaults,
    "{\"enum\":[\"stick\",\"slip\",\"frictional\"]},{\"type\":\"number\",\"minimum\":0}",
};

rp_result rp__scene_read_surface(rp__reader *r, const rp__scene_block *block, const rp__node *value, rp_surface *out)
{
    rp_surface surface;
    memset(&surface, 0, sizeof surface);
    surface_defaults(&surface);
    if (value->kind != RP_NODE_SCALAR)
        RP_TRY(rp__scene_read_block(r, block, value, &surface));
    else {
        double unused;
        rp_param entry = *rp__param_find(block->table(), rp__units_number(value->text, &unused) ? "friction" : "kind");
        entry.name = value->key ? value->key->text : block->name;
        RP_TRY(rp__scene_read_param(r, &entry, value, &surface));
        surface.friction = surface.kind == RP_FRICTIONAL ? surface.friction : 0;
    }
    *out = surface;
    return RP_OK;
}

/* Bits 1 << face. */
unsigned rp__scene_faces_of(const char *name, int dim)
{
    static const char *const plain[2][6] = {
        { "left", "right", "bottom", "top", "", "" },
        { "left", "right", "front", "back", "bottom", "top" },
    };
    static const char *const axes[6] = { "-x", "+x", "-y", "+y", "-z", "+z" };
    unsigned all = dim == 2 ? 0xf : 0x3f, vertical = dim == 2 ? 0xc : 0x30;
    if (strcmp(name, "all") == 0)
        return all;
    if (strcmp(name, "sides") == 0)
        return all & ~vertical;
    for (int f = 0; f < 2 * dim; ++f) {
        if (strcmp(name, plain[dim - 2][f]) == 0 || strcmp(name, axes[f]) == 0)
            return 1U << f;
        if (strcmp(name, axes[f] + 1) == 0)
            return 3U << (f & ~1);
    }
    return 0;
}

static rp_result read_wall_faces(rp__reader *r, const rp__node *value, void *target)
{
    rp_surface surface, *walls = target;
    RP_TRY(rp__scene_read_surface(r, &rp__scene_wall, value, &surface));
    unsigned faces = rp__scene_faces_of(value->key->text, r->dim);
    if (!faces)
        return rp__scene_fail(&r->tree, value->key, "there is no wall '%s' in 2D: its walls are left, right, bottom and top",
                              value->key->text);
    for (int f = 0; f < 6; ++f)
        if (faces & 1U << f)
            walls[f] = surface;
    return RP_OK;
}

rp_result rp__scene_read_walls(rp__reader *r, const rp__node *value)
{
    rp_surface *walls = r->scene->sim.wall;
    if (value->kind == RP_NODE_SCALAR) {
        rp_surface surface;
        RP_TRY(rp__scene_read_surface(r, &rp__scene_wall, value, &surface));
        for (int f = 0; f < 2 * r->dim; ++f)
            walls[f] = surface;
        return RP_OK;
    }
    RP_TRY(rp__scene_read_block(r, &rp__scene_walls, value, walls));
    for (int a = 0; a < r->dim; ++a)
        if ((walls[2 * a].kind == RP_PERIODIC) != (walls[2 * a + 1].kind == RP_PERIODIC))
            return rp__scene_fail(&r->tree, value, "one wall across %c is periodic and the other is not; write '%c: periodic'",
                                  "xyz"[a], "xyz"[a]);
    return RP_OK;
}
