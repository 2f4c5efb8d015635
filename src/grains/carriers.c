/* The particles of a frame as carriers of samples: ellipsoids, ids and the cells to find them in. */
#include "grains/grains.h"

#include "math/eigen.h"

#include <math.h>
#include <string.h>

rp_samples_def rp_default_samples_def(void)
{
    rp_samples_def def = { .per_particle = 20, .dim = 3, .volume_fraction = 0.6 };
    for (int d = 0; d < 3; d++)
        def.lower[d] = -INFINITY, def.upper[d] = INFINITY;
    return def;
}

rp_samples_def rp_samples_def_of(const rp_sim_def *sim, const rp_shape **bodies)
{
    rp_samples_def def = rp_default_samples_def();
    def.dim = sim->dim;
    def.cell_size = sim->cell_size;
    def.seed = sim->seed;
    for (int d = 0; d < sim->dim; d++)
        def.lower[d] = sim->lower[d], def.upper[d] = sim->upper[d];
    for (int f = 0; f < 6; f++)
        def.open[f] = sim->wall[f].kind == RP_OPEN || sim->wall[f].kind == RP_PERIODIC;
    if (sim->material_count > 0 && sim->materials[0].volume_fraction > 0)
        def.volume_fraction = sim->materials[0].volume_fraction;
    for (int b = 0; b < sim->body_count; b++)
        bodies[b] = sim->bodies[b].shape;
    def.bodies = bodies;
    def.body_count = sim->body_count;
    return def;
}

/* ---- cells ---- */

rp_result rp__grains_cells(const double *const x[3], int64_t count, double width, rp__cells *out)
{
    enum { MOST = 1 << 26 };
    rp__cells c = { .width = width };
    double upper[3] = { 0, 0, 0 };
    for (int d = 0; d < 3; d++) {
        c.origin[d] = count ? INFINITY : 0;
        upper[d] = count ? -INFINITY : 0;
        double sum = 0; /* not finite as soon as one of them is not */
        for (int64_t i = 0; i < count; i++) {
            c.origin[d] = fmin(c.origin[d], x[d][i]), upper[d] = fmax(upper[d], x[d][i]);
            sum += 0 * x[d][i];
        }
        if (!isfinite(upper[d] - c.origin[d] + sum))
            return rp__base_fail(RP_BAD_FILE, "a position in a frame is not finite");
    }
    for (;; c.width *= 2) { /* a few grains far away must not ask for endless memory */
        double cells = 1;
        for (int d = 0; d < 3; d++)
            cells *= floor((upper[d] - c.origin[d]) / c.width) + 1;
        if (cells <= MOST)
            break;
    }
    for (int d = 0; d < 3; d++)
        c.size[d] = (int64_t)floor((upper[d] - c.origin[d]) / c.width) + 1;
    int64_t cells = c.size[0] * c.size[1] * c.size[2];
    c.first = rp__base_alloc_zero(sizeof *c.first * (size_t)(cells + 2));
    c.items = RP_NEW_ARRAY(int32_t, count + 1);
    if (!c.first || !c.items) {
        rp__grains_cells_free(&c);
        return RP_OUT_OF_MEMORY;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < count; i++) {
            int64_t at = rp__grains_cell(&c, 0, x[0][i]) +
                         c.size[0] * (rp__grains_cell(&c, 1, x[1][i]) + c.size[1] * rp__grains_cell(&c, 2, x[2][i]));
            if (pass == 0)
                c.first[at + 2]++;
            else
                c.items[c.first[at + 1]++] = (int32_t)i;
        }
        for (int64_t k = 0; k < cells && pass == 0; k++)
            c.first[k + 2] += c.first[k + 1];
    }
    *out = c;
    return RP_OK;
}

void rp__grains_cells_free(rp__cells *c)
{
    rp__base_free(c->first);
    rp__base_free(c->items);
    memset(c, 0, sizeof *c);
}

/* ---- ellipsoids ---- */

/* Inverse and root of F from its eigenvalues, held within 0.75² and 1.6² of those of the ball of the same material, and below a
 * cell: needles and flakes would show as strings, and no sample is a cell away from its owner. */
static void set_ellipsoid(const rp_samples_def *def, rp__carriers *c, int64_t i, const double f[6], double ball)
{
    double values[3], inverse[6], root[6];
    rp__mat3 v;
    rp__math_eigen_sym3(f, values, &v);
    double most = fmin(2.56 * ball, def->cell_size > 0 ? 0.81 * def->cell_size * def->cell_size : INFINITY);
    double least = fmin(0.5625 * ball, most);
    for (int e = 0; e < 3; e++) {
        bool across = def->dim == 2 && fabs(v.m[2][e]) > 0.5; /* the thickness of a section stays as it is */
        values[e] = across ? 1e-4 * ball : fmin(most, fmax(values[e], least));
        if (!across)
            c->reach = fmax(c->reach, sqrt(values[e]));
    }
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    for (int k = 0; k < 6; k++) {
        inverse[k] = root[k] = 0;
        for (int e = 0; e < 3; e++) {
            double part = v.m[row[k]][e] * v.m[column[k]][e];
            inverse[k] += part / values[e];
            root[k] += part * sqrt(values[e]);
        }
        c->inverse[6 * i + k] = (float)inverse[k];
        if (c->root)
            c->root[6 * i + k] = (float)root[k];
    }
}

static const rp_field_view *doubles(const rp_frame *frame, const char *name, int components)
{
    const rp_field_view *v = rp_frame_field(frame, name);
    return v && v->info.type == RP_F64 && v->info.components == components ? v : NULL;
}

/* F of particle i, grown: from the frame, else a ball of the particle's packed volume. Returns the square of the ball's radius. */
static double ellipsoid_of(const rp_samples_def *def, const rp__carriers *c, const rp_field_view *field, int64_t i, double f[6])
{
    double bulk = fmax(c->volume[i], 1e-300) / def->volume_fraction;
    double half = 0.5 * RP_GRAINS_REACH * (def->dim == 2 ? sqrt(bulk) : cbrt(bulk));
    for (int k = 0; k < 6; k++)
        f[k] = k < 3 ? half * half : 0;
    if (field) {
        double g[6], trace = 0;
        for (int k = 0; k < 6; k++)
            g[k] = ((const double *)field->data)[k * field->stride + i] * RP_GRAINS_REACH * RP_GRAINS_REACH;
        trace = g[0] + g[1] + (def->dim == 3 ? g[2] : 0);
        if (isfinite(trace + g[3] + g[4] + g[5]) && trace > 0)
            memcpy(f, g, sizeof g);
    }
    if (def->dim == 2) /* a disc in the plane: nothing moves out of it */
        f[2] = 1e-4 * half * half, f[4] = f[5] = 0;
    return half * half;
}

rp_result rp__grains_carriers(const rp_samples_def *def, const rp_frame *frame, rp__grains_need need, rp__carriers *out)
{
    rp__carriers c = { .count = frame->count };
    const rp_field_view *x = doubles(frame, "position", 3), *volume = doubles(frame, "volume", 1);
    const rp_field_view *id = rp_frame_field(frame, "id");
    if (!x || !volume || !id || id->info.type != RP_I64)
        return rp__base_fail(RP_BAD_FILE, "grain samples need frames with position, volume and id; frame %lld lacks one of them",
                             (long long)frame->index);
    if (frame->count > INT32_MAX)
        return rp__base_fail(RP_TOO_LARGE, "%lld particles are too many to carry samples", (long long)frame->count);
    for (int d = 0; d < 3; d++)
        c.x[d] = (const double *)x->data + d * x->stride;
    c.volume = volume->data;
    c.id = RP_NEW_ARRAY(int64_t, c.count + 1);
    c.inverse = RP_NEW_ARRAY(float, 6 * c.count + 6);
    c.root = need == RP_GRAINS_ROOTS ? RP_NEW_ARRAY(float, 6 * c.count + 6) : NULL;
    rp_result result = c.id && c.inverse && (c.root || need != RP_GRAINS_ROOTS) ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        memcpy(c.id, id->data, sizeof *c.id * (size_t)c.count);
        const rp_field_view *field = doubles(frame, "ellipsoid", 6);
        bool shapes = need != RP_GRAINS_PLACES || !(def->cell_size > 0); /* their reach is below a cell */
        for (int64_t i = 0; i < c.count && shapes; i++) {
            double f[6];
            double ball = ellipsoid_of(def, &c, field, i, f);
            set_ellipsoid(def, &c, i, f, ball);
        }
        double width = def->cell_size > 0 ? def->cell_size : fmax(2 * c.reach, 1e-12);
        /* A cell to sum motions over; half of one to find the ellipsoid that holds a point. */
        result = rp__grains_cells(c.x, c.count, need == RP_GRAINS_PLACES ? width : 0.5 * width, &c.cells);
    }
    if (result != RP_OK)
        rp__grains_carriers_free(&c);
    else
        *out = c;
    return result;
}

void rp__grains_carriers_free(rp__carriers *c)
{
    rp__base_free(c->id);
    rp__base_free(c->inverse);
    rp__base_free(c->root);
    rp__grains_cells_free(&c->cells);
    memset(c, 0, sizeof *c);
}
