/* The material as a continuum: its surface, sums over a part of it, values at points. */
#include "base/error.h"
#include "exec/exec.h"
#include "sim/finder.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* ---- particles by cells ---- */

double rp__finder_radius(const rp_sim *sim, int64_t i)
{
    const rp__particles *p = &sim->particles;
    double bulk = p->volume[i] / sim->materials[p->material[i]].volume_fraction;
    return sim->def.dim == 2 ? sqrt(bulk / PI) : cbrt(3 * bulk / (4 * PI));
}

static int64_t clamp_cell(const rp__finder *f, int axis, double x)
{
    double c = floor((x - f->lower[axis]) / f->size);
    return c < 0 ? 0 : c >= (double)f->cells[axis] ? f->cells[axis] - 1 : (int64_t)c;
}

void rp__finder_range(const rp_sim *sim, const double lower[3], const double upper[3], int64_t range[6])
{
    const rp__finder *f = &sim->finder;
    for (int a = 0; a < 3; a++) {
        bool none = a < sim->def.dim && (upper[a] < lower[a]);
        range[2 * a] = a < sim->def.dim ? clamp_cell(f, a, lower[a]) : 0;
        range[2 * a + 1] = none ? -1 : a < sim->def.dim ? clamp_cell(f, a, upper[a]) : 0;
    }
}

static int64_t cell_of(const rp_sim *sim, int64_t i)
{
    const rp__finder *f = &sim->finder;
    const rp__particles *p = &sim->particles;
    int64_t c[3] = { 0, 0, 0 };
    for (int a = 0; a < sim->def.dim; a++)
        c[a] = clamp_cell(f, a, p->x[a][i]);
    return (c[2] * f->cells[1] + c[1]) * f->cells[0] + c[0];
}

/* Cells of the size of the grid's, or larger where there would be many more of them than particles. */
static int64_t choose_cells(rp_sim *sim)
{
    rp__finder *f = &sim->finder;
    double most = 4.0 * (double)sim->particles.count + 4096;
    f->size = sim->def.cell_size;
    for (;; f->size *= 2) {
        double total = 1;
        for (int a = 0; a < 3; a++) {
            f->lower[a] = sim->def.lower[a];
            f->cells[a] = a < sim->def.dim ? (int64_t)fmax(1, ceil((sim->def.upper[a] - sim->def.lower[a]) / f->size)) : 1;
            total *= (double)f->cells[a];
        }
        if (total <= most)
            return (int64_t)total;
    }
}

rp_result rp__finder_make(rp_sim *sim)
{
    rp__finder *f = &sim->finder;
    const rp__particles *p = &sim->particles;
    if (f->made)
        return RP_OK;
    int64_t cells = choose_cells(sim);
    if (!rp__base_grow(&f->first, &f->cell_capacity, cells + 2, sizeof *f->first) ||
        !rp__base_grow(&f->items, &f->item_capacity, p->count + 1, sizeof *f->items))
        return RP_OUT_OF_MEMORY;
    memset(f->first, 0, (size_t)(cells + 2) * sizeof *f->first);
    f->largest = 0;
    for (int64_t i = 0; i < p->count; i++) {
        f->first[cell_of(sim, i) + 2]++;
        f->largest = fmax(f->largest, rp__finder_radius(sim, i));
    }
    for (int64_t c = 0; c < cells; c++)
        f->first[c + 2] += f->first[c + 1];
    for (int64_t i = 0; i < p->count; i++) /* in order within a cell; first[c + 1] ends where the next begins */
        f->items[f->first[cell_of(sim, i) + 1]++] = i;
    f->made = true;
    return RP_OK;
}

/* ---- a point among particles ---- */

/* The tent max(0, 1 - |s|/h) along each axis, over the part of it that lies in the domain: next to a wall the other half counts. */
typedef struct point_sum {
    double fill;   /* bulk volume over the space of the tent */
    double weight; /* mass */
    double values[9];
} point_sum;

/* The integral of the tent of width h at x over [lower, upper], in units of h: 1 far from both. */
static double inside_part(double x, double lower, double upper, double h)
{
    double a = fmin(1, fmax(0, (x - lower) / h)), b = fmin(1, fmax(0, (upper - x) / h));
    return a - 0.5 * a * a + b - 0.5 * b * b;
}

typedef struct field_planes {
    int components;
    rp_type type;
    const void *plane[9];
} field_planes;

static double plane_value(const field_planes *f, int c, int64_t i)
{
    switch (f->type) {
    case RP_F64: return ((const double *)f->plane[c])[i];
    case RP_F32: return (double)((const float *)f->plane[c])[i];
    case RP_I64: return (double)((const int64_t *)f->plane[c])[i];
    default: return (double)((const int32_t *)f->plane[c])[i];
    }
}

static void sum_at(const rp_sim *sim, const double x[3], const field_planes *field, point_sum *out)
{
    const rp__finder *f = &sim->finder;
    const rp__particles *p = &sim->particles;
    double h = sim->def.cell_size, space = 1, lower[3], upper[3];
    int dim = sim->def.dim;
    int64_t range[6];
    memset(out, 0, sizeof *out);
    for (int a = 0; a < 3; a++)
        lower[a] = x[a] - h, upper[a] = x[a] + h;
    for (int a = 0; a < dim; a++)
        space *= h * inside_part(x[a], sim->def.lower[a], sim->def.upper[a], h);
    if (!(space > 0))
        return;
    rp__finder_range(sim, lower, upper, range);
    for (int64_t k = range[4]; k <= range[5]; k++)
        for (int64_t j = range[2]; j <= range[3]; j++)
            for (int64_t i = range[0]; i <= range[1]; i++) {
                int64_t cell = (k * f->cells[1] + j) * f->cells[0] + i;
                for (int64_t q = f->first[cell]; q < f->first[cell + 1]; q++) {
                    int64_t at = f->items[q];
                    double w = 1;
                    for (int a = 0; a < dim; a++)
                        w *= fmax(0, 1 - fabs(p->x[a][at] - x[a]) / h);
                    if (!(w > 0))
                        continue;
                    out->fill += w * p->volume[at] / sim->materials[p->material[at]].volume_fraction;
                    out->weight += w * p->mass[at];
                    for (int c = 0; field && c < field->components; c++)
                        out->values[c] += w * p->mass[at] * plane_value(field, c, at);
                }
            }
    out->fill /= space;
    for (int c = 0; field && c < field->components && out->weight > 0; c++)
        out->values[c] /= out->weight;
}

/* ---- the surface ---- */

rp_result rp_sim_surface(rp_sim *sim, double x, double y, double *height, bool *there)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_surface", height && there));
    int up = sim->def.dim - 1;
    const double *low = sim->def.lower, *high = sim->def.upper;
    double at[3] = { x, up == 2 ? y : 0, 0 }, h = sim->def.cell_size;
    if (!(x >= low[0] && x <= high[0]) || (up == 2 && !(y >= low[1] && y <= high[1])))
        return rp__base_fail(RP_BAD_ARGUMENT, "the surface was asked for at (%g, %g), outside the domain", x, y);
    RP_TRY(rp__finder_make(sim));
    *there = false;
    *height = low[up];
    point_sum sum;
    double above = high[up];
    for (double z = high[up]; z >= low[up] - 0.25 * h; z -= 0.25 * h) {
        at[up] = fmax(z, low[up]);
        sum_at(sim, at, NULL, &sum);
        if (sum.fill < 0.5) {
            above = at[up];
            continue;
        }
        double below = at[up]; /* the half lies between the two */
        for (int k = 0; k < 40 && above > below; k++) {
            at[up] = 0.5 * (above + below);
            sum_at(sim, at, NULL, &sum);
            *(sum.fill < 0.5 ? &above : &below) = at[up];
        }
        *there = true;
        *height = below;
        return RP_OK;
    }
    return RP_OK;
}

/* ---- sums ---- */

typedef struct summing {
    const rp__particles *particles;
    const rp_shape *shape;
} summing;

static void sum_chunk(void *context, int64_t begin, int64_t end, double *sum)
{
    const summing *w = context;
    const rp__particles *p = w->particles;
    for (int64_t i = begin; i < end; i++) {
        double at[3] = { p->x[0][i], p->x[1][i], p->x[2][i] }, m = p->mass[i];
        if (w->shape && rp_shape_distance(w->shape, at, NULL) > 0)
            continue;
        rp__vec3 x = rp__vec3_load(at), v = { p->v[0][i], p->v[1][i], p->v[2][i] }, turn = rp__vec3_cross(x, v);
        double add[13] = { 1, m, p->volume[i], m * v.x, m * v.y, m * v.z, m * turn.x, m * turn.y, m * turn.z, 0.5 * m * rp__vec3_dot(v, v),
                           m * x.x, m * x.y, m * x.z };
        for (int k = 0; k < 13; k++)
            sum[k] += add[k];
    }
}

rp_result rp_sim_sums(rp_sim *sim, const rp_shape *shape, rp_sums *sums)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_sums", sums));
    summing w = { &sim->particles, shape };
    double s[13];
    rp__exec_set_threads(sim->def.threads);
    rp__exec_sum(sim->particles.count, 4096, 13, sum_chunk, &w, s);
    memset(sums, 0, sizeof *sums);
    sums->particles = (int64_t)s[0];
    sums->mass = s[1], sums->volume = s[2], sums->kinetic_energy = s[9];
    for (int a = 0; a < 3; a++) {
        sums->momentum[a] = s[3 + a];
        sums->angular_momentum[a] = s[6 + a];
        sums->centre[a] = s[1] > 0 ? s[10 + a] / s[1] : 0;
    }
    return RP_OK;
}

/* ---- values at points ---- */

static bool particle_field(const rp_sim *sim, const char *name, field_planes *out)
{
    int field = rp__particles_find(&sim->particles, name);
    if (field < 0 || sim->particles.info[field].components > 9)
        return false;
    out->components = sim->particles.info[field].components;
    out->type = sim->particles.info[field].type;
    for (int c = 0; c < out->components; c++)
        out->plane[c] = rp__particles_plane(&sim->particles, field, c);
    return true;
}

static const rp_field_view *node_field(rp_sim *sim, const char *name, const rp_field_view **position, int64_t *nodes)
{
    const rp_field_view *views = NULL, *found = NULL;
    int count = 0;
    if (rp_sim_grid_fields(sim, &views, &count, nodes) != RP_OK)
        return NULL;
    for (int v = 0; v < count; v++) {
        if (strcmp(views[v].info.name, "position") == 0)
            *position = &views[v];
        if (strcmp(views[v].info.name, name) == 0 && views[v].info.type == RP_F64 && views[v].info.components <= 9)
            found = &views[v];
    }
    return *position ? found : NULL;
}

int rp_sim_sample_components(rp_sim *sim, const char *field)
{
    field_planes planes;
    const rp_field_view *position = NULL, *view;
    int64_t nodes = 0;
    if (rp__sim_begin_action(sim, "rp_sim_sample_components", field) != RP_OK)
        return 0;
    if (particle_field(sim, field, &planes))
        return planes.components;
    view = node_field(sim, field, &position, &nodes);
    return view ? view->info.components : 0;
}

/* Between the nodes around a point, those that are there sharing the weight of the others. The list of nodes is read once for each point:
 * good for some points, not for millions. */
static void node_values(const rp_sim *sim, const rp_field_view *view, const rp_field_view *position, int64_t nodes, const double x[3],
                        double *values)
{
    const double *at = position->data, *data = view->data;
    double h = sim->def.cell_size, total = 0;
    for (int c = 0; c < view->info.components; c++)
        values[c] = 0;
    for (int64_t i = 0; i < nodes; i++) {
        double w = 1;
        for (int a = 0; a < sim->def.dim && w > 0; a++)
            w *= fmax(0, 1 - fabs(at[a * position->stride + i] - x[a]) / h);
        if (!(w > 0))
            continue;
        total += w;
        for (int c = 0; c < view->info.components; c++)
            values[c] += w * data[c * view->stride + i];
    }
    for (int c = 0; c < view->info.components && total > 0; c++)
        values[c] /= total;
}

rp_result rp_sim_sample(rp_sim *sim, const char *field, const double *points, int64_t count, double *values, double *fill)
{
    RP_TRY(rp__sim_begin_action(sim, "rp_sim_sample", field && points && values));
    for (int64_t i = 0; i < 3 * count; i++)
        if (!isfinite(points[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "point %lld to sample is not finite", (long long)(i / 3));
    field_planes planes = { 0 };
    const rp_field_view *position = NULL, *view = NULL;
    int64_t nodes = 0;
    bool particles = particle_field(sim, field, &planes);
    if (!particles && !(view = node_field(sim, field, &position, &nodes)))
        return rp__base_fail(RP_NOT_FOUND, "neither the particles nor the nodes of method '%s' have a field '%s'", sim->method->info.name, field);
    RP_TRY(rp__finder_make(sim));
    int width = particles ? planes.components : view->info.components;
    for (int64_t k = 0; k < count; k++) {
        point_sum sum;
        sum_at(sim, points + 3 * k, particles ? &planes : NULL, &sum);
        if (!particles && sum.fill > 0)
            node_values(sim, view, position, nodes, points + 3 * k, sum.values);
        memcpy(values + k * width, sum.values, (size_t)width * sizeof *values);
        if (fill)
            fill[k] = sum.fill;
    }
    return RP_OK;
}
