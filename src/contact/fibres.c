/* Fibres of the method: made from definitions, saved to the bit, shown as polylines. */
#include "contact/state.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static rp__rod_section section_of(const rp_fibres_def *def)
{
    double w = def->width > 0 ? def->width : 2 * def->radius, h = def->height > 0 ? def->height : 2 * def->radius;
    return def->section == RP_SECTION_RECTANGLE
               ? rp__rod_section_rectangle(def->youngs_modulus, def->poisson_ratio, def->density, w, h)
               : rp__rod_section_ellipse(def->youngs_modulus, def->poisson_ratio, def->density, 0.5 * w, 0.5 * h);
}

static double length_of(const double *x, int count)
{
    double sum = 0;
    for (int i = 1; i < count; i++)
        sum += rp__vec3_norm(rp__vec3_sub(rp__vec3_load(x + 3 * i), rp__vec3_load(x + 3 * i - 3)));
    return sum;
}

/* Shortest segment against the radius; told once a group. */
static void tell_thick(const rp_fibres_def *def, const double *x, int count, double radius, bool *told)
{
    for (int i = 1; i < count && !*told; i++) {
        double l = rp__vec3_norm(rp__vec3_sub(rp__vec3_load(x + 3 * i), rp__vec3_load(x + 3 * i - 3)));
        if (l < radius) {
            RP_WARN("fibres '%s' are thicker than their segments are long (radius %g m, segment %g m): they touch themselves at bends", def->name,
                    radius, l);
            *told = true;
        }
    }
}

static rp_result make_one(const rp_fibres_def *def, const double *x, int count, const rp_sim_def *sim, rp__contact_fibre *out)
{
    rp__rod_def rod = rp__rod_default_def();
    rod.nodes = x;
    rod.node_count = count;
    rod.section = section_of(def);
    rod.end[0] = (rp__rod_end)def->root;
    rod.end[1] = (rp__rod_end)def->tip;
    rod.rest = (rp__rod_rest)def->rest;
    rod.curvature[0] = def->curvature;
    rod.curvature[1] = def->curvature_2;
    rod.twist = def->twist;
    memcpy(rod.director, def->director, sizeof rod.director);
    memcpy(rod.gravity, sim->gravity, sizeof rod.gravity);
    /* Stiffness of stretch: the strain `stretch` under ten times the weight, or under the load at which it would buckle (pi² EI / L²: a
     * bristle carries that), is enough; more would only make contacts slow to solve. */
    double g = rp__vec3_norm(rp__vec3_load(sim->gravity)), length = length_of(x, count), weight = rod.section.mass * length * g;
    double buckles = 9.8696 * fmax(rod.section.bend[0], rod.section.bend[1]) / (length * length);
    if (def->stretch > 0 && weight > 0)
        rod.section.stretch = fmin(rod.section.stretch, fmax(10 * weight, buckles) / def->stretch);
    RP_TRY(rp__rod_create(&rod, &out->rod));
    out->def = def;
    out->friction = def->friction;
    out->damping = def->damping;
    for (int i = 0; i <= out->rod->edges; i++)
        memcpy(out->rod->velocity + 4 * i, def->velocity, sizeof def->velocity);
    out->factor = RP_NEW_ARRAY(double, rp__rod_unknowns(out->rod) * RP_ROD_ROW);
    return out->factor ? RP_OK : RP_OUT_OF_MEMORY;
}

rp_result rp__contact_make_fibres(rp__contact_state *s, const rp__world *world)
{
    const rp_sim_def *sim = world->def;
    int64_t total = 0, at = 0;
    for (int d = 0; d < sim->fibres_count; d++)
        total += sim->fibres[d].count;
    s->fibres = rp__base_alloc_zero((size_t)total * sizeof *s->fibres);
    if (!s->fibres)
        return RP_OUT_OF_MEMORY;
    s->fibre_count = total;
    for (int d = 0; d < sim->fibres_count; d++) {
        const rp_fibres_def *def = &sim->fibres[d];
        const double *x = def->nodes;
        bool told = false;
        for (int64_t k = 0; k < def->count; k++, at++) {
            rp_result result = make_one(def, x, def->counts[k], sim, &s->fibres[at]);
            if (result != RP_OK)
                return rp__base_fail_prefix(result, "fibres '%s', fibre %lld: ", def->name, (long long)k + 1);
            rp__contact_fibre *f = &s->fibres[at];
            tell_thick(def, x, def->counts[k], f->rod->section.radius, &told);
            f->item = (int32_t)s->segments;
            s->segments += def->counts[k] - 1;
            x += 3 * def->counts[k];
        }
    }
    s->segment_fibre = RP_NEW_ARRAY(int64_t, s->segments);
    if (!s->segment_fibre)
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < total; k++)
        for (int j = 0; j < rp__rod_nodes(s->fibres[k].rod) - 1; j++)
            s->segment_fibre[s->fibres[k].item + j] = k;
    return RP_OK;
}

void rp__contact_free_fibres(rp__contact_state *s)
{
    for (int64_t k = 0; k < s->fibre_count && s->fibres; k++) {
        rp__rod_destroy(s->fibres[k].rod);
        rp__base_free(s->fibres[k].factor);
    }
    rp__base_free(s->fibres);
    rp__base_free(s->segment_fibre);
    rp__base_free(s->polyline);
}

/* ---- saving ---- */

static int64_t state_size(const rp__contact_state *s)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < s->fibre_count; k++)
        sum += (int64_t)s->fibres[k].rod->state_size;
    return sum;
}

rp_result rp__contact_save_fibres(const rp__contact_state *s, rp_state *out)
{
    int64_t size = state_size(s), at = 0;
    double *all = RP_NEW_ARRAY(double, size);
    if (!all)
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < s->fibre_count; k++) {
        memcpy(all + at, s->fibres[k].rod->x, s->fibres[k].rod->state_size * sizeof *all);
        at += (int64_t)s->fibres[k].rod->state_size;
    }
    rp_result result = rp_state_add(out, "contact/fibres", RP_F64, size, all);
    rp__base_free(all);
    return result;
}

rp_result rp__contact_restore_fibres(rp__contact_state *s, const rp_state *in)
{
    const rp_blob *blob = rp_state_find(in, "contact/fibres");
    int64_t at = 0;
    if (!blob || blob->type != RP_F64 || blob->count != state_size(s))
        return rp__base_fail(RP_BAD_FILE, "the checkpoint has other fibres than the scene");
    for (int64_t k = 0; k < s->fibre_count; k++) {
        rp__rod *rod = s->fibres[k].rod;
        memcpy(rod->x, (const double *)blob->data + at, rod->state_size * sizeof(double));
        at += (int64_t)rod->state_size;
        for (int j = 0; j < rod->edges; j++) {
            rp__vec3 d = rp__vec3_load(rod->director + 3 * j);
            if (!(rp__rod_strain_of_edge(rod, j) > -0.999) || !(fabs(rp__vec3_norm(d) - 1) < 1e-6))
                return rp__base_fail(RP_BAD_FILE, "fibre %lld of the checkpoint has a segment without length or a director that is none", (long long)k);
        }
        rp__rod_update(rod);
    }
    return RP_OK;
}

/* ---- looking ---- */

rp_result rp__contact_view_fibres(void *state, const rp__world *world, rp_fibres_view *view)
{
    rp__contact_state *s = state;
    memset(view, 0, sizeof *view);
    int64_t nodes = s->segments + s->fibre_count, at = 0, need = 8 * nodes + 2 * (s->fibre_count + 1);
    if (s->fibre_count == 0)
        return RP_OK;
    if (!rp__base_grow(&s->polyline, &s->polyline_capacity, need, sizeof *s->polyline))
        return RP_OUT_OF_MEMORY;
    double *position = s->polyline, *velocity = position + 3 * nodes, *radius = velocity + 3 * nodes, *tension = radius + nodes;
    int64_t *first = (int64_t *)(void *)(tension + nodes);
    int32_t *kind = (int32_t *)(void *)(first + s->fibre_count + 1);
    for (int64_t k = 0; k < s->fibre_count; k++) {
        const rp__rod *rod = s->fibres[k].rod;
        int begin = rp__rod_first(rod), count = rp__rod_nodes(rod);
        first[k] = at;
        kind[k] = (int32_t)(s->fibres[k].def - world->def->fibres);
        for (int i = begin; i < begin + count; i++, at++) {
            double sum = 0;
            int edges = 0;
            for (int j = i - 1; j <= i; j++)
                if (j >= begin && j < begin + count - 1)
                    sum += rod->section.stretch * rp__rod_strain_of_edge(rod, j), edges++;
            memcpy(position + 3 * at, rod->x + 3 * i, 3 * sizeof(double));
            memcpy(velocity + 3 * at, rod->velocity + 4 * i, 3 * sizeof(double));
            radius[at] = rod->section.radius;
            tension[at] = sum / edges;
        }
    }
    first[s->fibre_count] = at;
    *view = (rp_fibres_view){ s->fibre_count, nodes, first, kind, position, velocity, radius, tension };
    return RP_OK;
}
