/* Grains: spheres and capsules (discs in 2D), their inertia, and how they are born. */
#include "contact/state.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/units.h"
#include "math/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

rp__contact_grains rp__contact_grains_of(const rp__world *world, int first_field)
{
    const rp__particles *p = world->particles;
    const rp__contact_params *par = world->params;
    rp__contact_grains g = { .count = p->count, .mass = p->mass, .id = p->id, .material = p->material, .dim = world->def->dim };
    for (int a = 0; a < 3; a++) {
        g.x[a] = p->x[a];
        g.v[a] = p->v[a];
        g.spin[a] = rp__particles_f64(p, first_field + FIELD_SPIN, a);
        g.axis[a] = rp__particles_f64(p, first_field + FIELD_AXIS, a);
    }
    g.radius = rp__particles_f64(p, first_field + FIELD_RADIUS, 0);
    g.fixed = rp__particles_f64(p, first_field + FIELD_FIXED, 0);
    g.slenderness = par->elements == RP_CONTACT_CAPSULES ? par->aspect - 1 : 0;
    return g;
}

static rp__vec3 at(double *const planes[3], int64_t i)
{
    return rp__vec3_make(planes[0][i], planes[1][i], planes[2][i]);
}

rp__collide_capsule rp__contact_capsule(const rp__contact_grains *g, int64_t i)
{
    rp__vec3 x = at(g->x, i);
    if (g->slenderness == 0)
        return (rp__collide_capsule){ x, x, g->radius[i] };
    rp__vec3 half = rp__vec3_scale(g->slenderness * g->radius[i], at(g->axis, i));
    return (rp__collide_capsule){ rp__vec3_sub(x, half), rp__vec3_add(x, half), g->radius[i] };
}

double rp__contact_grain_volume(double r, double slenderness, int dim)
{
    return dim == 2 ? PI * r * r + 4 * slenderness * r * r : 4.0 / 3 * PI * r * r * r + 2 * PI * slenderness * r * r * r;
}

/* A cylinder of length 2 h with two half balls, h = slenderness × r; in 2D a rectangle with two half discs, about z alone. */
void rp__contact_inertia(const rp__contact_grains *g, int64_t i, double *along, double *across)
{
    double r = g->radius[i], m = g->mass[i], k = g->slenderness;
    if (g->dim == 2) {
        double part = PI / (PI + 4 * k), ball = m * part, middle = m * (1 - part), h = k * r;
        double centre = 4 * r / (3 * PI); /* of a half disc, from its straight side */
        double about = ball * (0.5 * r * r - centre * centre) + ball * (h + centre) * (h + centre) + middle * (4 * h * h + 4 * r * r) / 12;
        *along = *across = k > 0 ? about : 0.5 * m * r * r;
        return;
    }
    if (k == 0) {
        *along = *across = 0.4 * m * r * r;
        return;
    }
    double ball = m * (4.0 / 3) / (4.0 / 3 + 2 * k), middle = m - ball, h = k * r, centre = 3 * r / 8;
    *along = 0.4 * ball * r * r + 0.5 * middle * r * r;
    *across = ball * (0.4 * r * r - centre * centre) + ball * (h + centre) * (h + centre) + middle * (3 * r * r + 4 * h * h) / 12;
}

rp__vec3 rp__contact_turn(const rp__contact_grains *g, int64_t i, rp__vec3 a)
{
    double along, across;
    rp__contact_inertia(g, i, &along, &across);
    if (g->slenderness == 0 || g->dim == 2)
        return rp__vec3_scale(1 / across, a);
    rp__vec3 n = at(g->axis, i);
    return rp__vec3_axpy((1 / along - 1 / across) * rp__vec3_dot(n, a), n, rp__vec3_scale(1 / across, a));
}

rp__vec3 rp__contact_angular_momentum(const rp__contact_grains *g, int64_t i, rp__vec3 spin)
{
    double along, across;
    rp__contact_inertia(g, i, &along, &across);
    if (g->slenderness == 0 || g->dim == 2)
        return rp__vec3_scale(across, spin);
    rp__vec3 n = at(g->axis, i);
    return rp__vec3_axpy((along - across) * rp__vec3_dot(n, spin), n, rp__vec3_scale(across, spin));
}

/* ---- sizes ---- */

/* A sieve curve: "0.5 mm 0.1, 1 mm 0.6, 2 mm 1": the part (by volume) that passes each sieve. */
enum { SIEVES = 32 };
typedef struct curve {
    int count;
    double size[SIEVES], part[SIEVES];
} curve;

static rp_result read_sieve(const char *text, curve *c)
{
    c->count = 0;
    for (const char *p = text; p && *p;) {
        char item[128], number[64], part[64], unit[16] = "m";
        size_t length = strcspn(p, ",");
        if (c->count == SIEVES || length >= sizeof item)
            return rp__base_fail(RP_BAD_ARGUMENT, "the sieve curve '%s' has too many sieves; at most %d are possible", text, SIEVES);
        memcpy(item, p, length);
        item[length] = 0;
        char whole[96];
        if (sscanf(item, " %63s %15s %63s", number, unit, part) != 3)
            return rp__base_fail(RP_BAD_ARGUMENT, "the sieve curve '%s' should read like '0.5 mm 0.1, 1 mm 0.6, 2 mm 1'", text);
        snprintf(whole, sizeof whole, "%s %s", number, unit);
        char *end = NULL;
        double passing = strtod(part, &end);
        double size = 0;
        if (rp__units_parse(whole, "m", &size) != RP_OK || *end || !(passing >= 0 && passing <= 1) || !(size > 0) ||
            (c->count && (size <= c->size[c->count - 1] || passing < c->part[c->count - 1])))
            return rp__base_fail(RP_BAD_ARGUMENT, "the sieve curve '%s' must have growing sizes with growing parts from 0 to 1; '%s' does not fit", text, item);
        c->size[c->count] = size;
        c->part[c->count++] = passing;
        p += length + (p[length] == ',');
    }
    if (c->count < 2 || c->part[c->count - 1] != 1)
        return rp__base_fail(RP_BAD_ARGUMENT, "the sieve curve '%s' needs at least two sieves, and all must pass the last (1)", text ? text : "");
    return RP_OK;
}

rp_result rp__contact_check_sieve(const char *sieve)
{
    curve c;
    return read_sieve(sieve, &c);
}

/* A diameter by number: drawn by volume on the curve, each class as likely as its volume over that of a grain, logarithmic within it. */
static double from_sieve(const curve *c, int dim, double u, double v)
{
    double weight[SIEVES], sum = 0;
    for (int k = 1; k < c->count; k++) {
        double middle = sqrt(c->size[k] * c->size[k - 1]);
        weight[k] = (c->part[k] - c->part[k - 1]) / pow(middle, dim);
        sum += weight[k];
    }
    u *= sum;
    for (int k = 1; k < c->count; k++) {
        if (u < weight[k] || k == c->count - 1)
            return c->size[k - 1] * pow(c->size[k] / c->size[k - 1], v);
        u -= weight[k];
    }
    return c->size[c->count - 1];
}

/* A diameter relative to the mean one. */
static double draw(const rp__contact_params *par, uint64_t seed, uint64_t id)
{
    double z;
    switch (par->sizes) {
    case RP_CONTACT_UNIFORM:
        return 1 + par->spread * (2 * rp__random_unit(seed, 11, id) - 1);
    case RP_CONTACT_GAUSSIAN:
        z = rp__random_normal(seed, 12, id);
        return 1 + par->spread * (z > 2 ? 2 : z < -2 ? -2 : z);
    default:
        return 1;
    }
}

/* ---- room ---- */

/* Out of bodies, along the normal of each, both ends of a capsule; the depth that there was. */
static double leave_bodies(const rp__world *world, const rp__contact_grains *g, int64_t i)
{
    double deepest = 0;
    for (int b = 0; b < world->body_count; b++) {
        const rp__body *body = &world->bodies[b];
        for (int k = 0; k < (g->slenderness > 0 ? 2 : 1) && body->present; k++) {
            rp__collide_capsule c = rp__contact_capsule(g, i);
            rp__vec3 normal;
            double depth = c.radius - rp__body_distance(body, &body->pose, k == 0 ? c.p : c.q, &normal), n[3];
            if (!(depth > 0))
                continue;
            deepest = fmax(deepest, depth / c.radius);
            rp__vec3_store(n, rp__vec3_scale(depth + 1e-6 * c.radius, normal));
            for (int d = 0; d < g->dim; d++)
                g->x[d][i] += n[d];
        }
    }
    return deepest;
}

/* Pushes overlapping grains apart, pair by pair, and out of bodies and walls, as far as it takes in some rounds: positions only, before
 * the first step. */
static rp_result make_room(const rp__world *world, const rp__contact_grains *g, int64_t first, double *left)
{
    rp__collide_grid *grid = NULL;
    rp__collide_box *boxes = RP_NEW_ARRAY(rp__collide_box, g->count);
    const rp_sim_def *def = world->def;
    rp_result result = boxes ? rp__collide_grid_create(&grid) : RP_OUT_OF_MEMORY;
    rp__collide_room room = { { 0 }, { 0 } };
    for (int d = 0; d < g->dim; d++) {
        room.lower[d] = def->lower[d];
        room.period[d] = def->wall[2 * d].kind == RP_PERIODIC ? def->upper[d] - def->lower[d] : 0;
    }
    for (int round = 0; round < 60 && result == RP_OK; round++) {
        const rp__collide_pair *pairs;
        int64_t count;
        for (int64_t i = 0; i < g->count; i++) {
            double reach = g->radius[i] * (1 + g->slenderness);
            for (int a = 0; a < 3; a++) {
                boxes[i].lower[a] = g->x[a][i] - reach;
                boxes[i].upper[a] = g->x[a][i] + reach;
            }
        }
        result = rp__collide_grid_pairs(grid, boxes, g->count, &room, NULL, NULL, &pairs, &count);
        *left = 0;
        for (int64_t k = 0; k < count && result == RP_OK; k++) {
            rp__collide_capsule a = rp__contact_capsule(g, pairs[k].a), b = rp__contact_capsule(g, pairs[k].b);
            rp__collide_touch t[2];
            rp__vec3 move = { pairs[k].shift[0] * room.period[0], pairs[k].shift[1] * room.period[1], pairs[k].shift[2] * room.period[2] };
            b.p = rp__vec3_add(b.p, move);
            b.q = rp__vec3_add(b.q, move);
            /* old and fixed grains lie as they lie: the new one goes the whole way */
            bool lies[2] = { pairs[k].a < first || g->fixed[pairs[k].a] > 0, pairs[k].b < first || g->fixed[pairs[k].b] > 0 };
            if ((lies[0] && lies[1]) || rp__collide_capsules(&a, &b, 0, t) == 0)
                continue;
            double small = fmin(a.radius, b.radius), way = (lies[0] || lies[1] ? 1 : 0.5) * -t[0].gap + 1e-6 * small, n[3];
            *left = fmax(*left, -t[0].gap / small);
            rp__vec3_store(n, t[0].normal);
            for (int d = 0; d < g->dim; d++) {
                g->x[d][pairs[k].a] += lies[0] ? 0 : way * n[d];
                g->x[d][pairs[k].b] -= lies[1] ? 0 : way * n[d];
            }
        }
        for (int64_t i = first; i < g->count && result == RP_OK; i++)
            *left = fmax(*left, g->fixed[i] > 0 ? 0 : leave_bodies(world, g, i));
        for (int64_t i = first; i < g->count; i++)
            for (int d = 0; d < g->dim && !(g->fixed[i] > 0); d++) { /* fixed ones may be sunk into walls and bodies */
                double reach = g->radius[i];
                if (def->wall[2 * d].kind != RP_OPEN && def->wall[2 * d].kind != RP_PERIODIC)
                    g->x[d][i] = fmax(g->x[d][i], def->lower[d] + reach);
                if (def->wall[2 * d + 1].kind != RP_OPEN && def->wall[2 * d + 1].kind != RP_PERIODIC)
                    g->x[d][i] = fmin(g->x[d][i], def->upper[d] - reach);
                double period = def->wall[2 * d].kind == RP_PERIODIC ? def->upper[d] - def->lower[d] : 0;
                g->x[d][i] += g->x[d][i] < def->lower[d] ? period : g->x[d][i] >= def->upper[d] ? -period : 0;
            }
        if (*left < 1e-3)
            break;
    }
    rp__base_free(boxes);
    rp__collide_grid_destroy(grid);
    return result;
}

rp_result rp__contact_born(const rp__world *world, int first_field, int64_t first, int64_t count, double spacing)
{
    const rp__contact_params *par = world->params;
    rp__contact_grains g = rp__contact_grains_of(world, first_field);
    rp__particles *p = world->particles;
    int dim = world->def->dim;
    uint64_t seed = world->def->seed;
    curve sieve = { 0 };
    if (par->sizes == RP_CONTACT_SIEVE)
        RP_TRY(read_sieve(par->sieve, &sieve));
    /* The largest grain fits into the spacing; a fiftieth of it is left, so that a lattice is not perfect. */
    double most = par->sizes == RP_CONTACT_SAME ? 1 : par->sizes == RP_CONTACT_UNIFORM ? 1 + par->spread : 1 + 2 * par->spread;
    double fits = 0.98 * spacing / (1 + 0.5 * g.slenderness) / most;
    for (int64_t i = first; i < first + count; i++) {
        uint64_t id = (uint64_t)p->id[i];
        double unit = rp__contact_grain_volume(0.5, g.slenderness, dim), own = dim == 2 ? sqrt(p->volume[i] / unit) : cbrt(p->volume[i] / unit);
        double mean = par->diameter > 0 ? par->diameter : fmin(own, fits);
        double d = par->sizes == RP_CONTACT_SIEVE ? from_sieve(&sieve, dim, rp__random_unit(seed, 13, id), rp__random_unit(seed, 14, id))
                                                  : mean * draw(par, seed, id);
        g.radius[i] = 0.5 * d;
        g.fixed[i] = world->fixed;
        p->volume[i] = rp__contact_grain_volume(0.5 * d, g.slenderness, dim);
        p->mass[i] = p->volume[i] * world->materials[p->material[i]].density;
        rp__vec3 n = rp__random_on_sphere(seed, 15, id);
        if (dim == 2)
            n = rp__vec3_unit(rp__vec3_make(n.x, n.y, 0), rp__vec3_make(1, 0, 0));
        double axis[3];
        rp__vec3_store(axis, n);
        for (int a = 0; a < 3; a++) {
            double room = fmax(0, 0.5 * (0.999 * spacing - d * (1 + g.slenderness)));
            g.axis[a][i] = axis[a];
            if (a < dim) /* anywhere in the room that the spacing leaves */
                g.x[a][i] += room * (2 * rp__random_unit(seed, 16 + (uint64_t)a, id) - 1);
        }
    }
    double left = 0;
    g.count = first + count; /* those after them are not born yet */
    if (count)
        RP_TRY(make_room(world, &g, first, &left));
    if (left > 0.05)
        RP_WARN("grains begin up to %.0f %% of a radius inside each other or a body: they are larger than the room between them (spacing %g m); "
                "use fewer a cell, a smaller diameter, or regular sampling",
                100 * left, spacing);
    return RP_OK;
}
