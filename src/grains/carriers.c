/* The particles of a frame as carriers of samples: ellipsoids, ids and the cells to find them in. */
#include "exec/exec.h"
#include "grains/grains.h"
#include "math/eigen.h"
#include "math/lanes.h"

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
    def.deforming = sim->bodies;
    def.body_count = sim->body_count;
    return def;
}

/* ---- cells ---- */

/* The box around the particles; false when a position is not finite. */
static bool bounds(const double *x, const int32_t *subset, int64_t count, double *lower, double *upper)
{
    double low = INFINITY, high = -INFINITY, sum = 0; /* the sum is not finite as soon as one of them is not */
    for (int64_t k = 0; k < count; k++) {
        double at = x[subset ? subset[k] : k];
        low = at < low ? at : low;
        high = at > high ? at : high;
        sum += 0 * at;
    }
    *lower = count ? low : 0;
    *upper = count ? high : 0;
    return isfinite(*upper - *lower + sum);
}

rp_result rp__grains_cells(const double *const x[3], const int32_t *subset, int64_t count, double width, rp__cells *out)
{
    enum { MOST = 1 << 26 };
    rp__cells c = { .width = width };
    double upper[3];
    for (int d = 0; d < 3; d++)
        if (!bounds(x[d], subset, count, &c.origin[d], &upper[d]))
            return rp__base_fail(RP_BAD_FILE, "a position in a frame is not finite");
    for (;; c.width *= 2) { /* a few grains far away must not ask for endless memory */
        double cells = 1;
        for (int d = 0; d < 3; d++)
            cells *= floor((upper[d] - c.origin[d]) / c.width) + 1;
        if (cells <= MOST)
            break;
    }
    c.per_width = 1 / c.width;
    for (int d = 0; d < 3; d++)
        c.size[d] = (int64_t)floor((upper[d] - c.origin[d]) * c.per_width) + 1;
    int64_t cells = c.size[0] * c.size[1] * c.size[2];
    int32_t *place = RP_NEW_ARRAY(int32_t, count + 1);
    c.first = rp__base_alloc_zero(sizeof *c.first * (size_t)(cells + 2));
    c.items = RP_NEW_ARRAY(int32_t, count + 1);
    if (!place || !c.first || !c.items) {
        rp__base_free(place);
        rp__grains_cells_free(&c);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t i = subset ? subset[k] : k;
        place[k] = (int32_t)(rp__grains_cell(&c, 0, x[0][i]) +
                             c.size[0] * (rp__grains_cell(&c, 1, x[1][i]) + c.size[1] * rp__grains_cell(&c, 2, x[2][i])));
        c.first[place[k] + 2]++;
    }
    for (int64_t k = 0; k < cells; k++)
        c.first[k + 2] += c.first[k + 1];
    for (int64_t k = 0; k < count; k++)
        c.items[c.first[place[k] + 1]++] = (int32_t)(subset ? subset[k] : k);
    rp__base_free(place);
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

static const int row_of[6] = { 0, 1, 2, 0, 0, 1 }, column_of[6] = { 0, 1, 2, 1, 2, 2 };

/* The square of the radius of a ball of the particle's packed volume, grown. */
static double ball_of(const rp_samples_def *def, double volume)
{
    double bulk = fmax(volume, 1e-300) / def->volume_fraction;
    double half = 0.5 * RP_GRAINS_REACH * (def->dim == 2 ? sqrt(bulk) : (double)cbrtf((float)bulk));
    return half * half;
}

/* F of particle i, grown, in units of its ball: from the frame, else the ball. In 2D it is one across the plane. */
static void shape_of(const rp__carriers *c, int64_t i, double ball, double f[6])
{
    for (int k = 0; k < 6; k++)
        f[k] = k < 3;
    if (c->ellipsoid) {
        double g[6], sum = 0;
        for (int k = 0; k < 6; k++) {
            g[k] = ((const double *)c->ellipsoid->data)[k * c->ellipsoid->stride + i] * (RP_GRAINS_REACH * RP_GRAINS_REACH / ball);
            sum += 0 * g[k];
        }
        if (sum == 0 && g[0] + g[1] + (c->def->dim == 3 ? g[2] : 0) > 0)
            memcpy(f, g, sizeof g);
    }
    if (c->def->dim == 2)
        f[2] = 1, f[4] = f[5] = 0;
}

/* The eigenvalues are held within 0.75² and 1.6² of the ball, and below a cell: needles and flakes would show as strings, and no sample
 * is a cell away from its owner. In units of the ball. */
static void limits_of(const rp_samples_def *def, double ball, double *least, double *most)
{
    *most = fmin(2.56, def->cell_size > 0 ? 0.81 * def->cell_size * def->cell_size / ball : INFINITY);
    *least = fmin(0.5625, *most);
}

/* The thickness of a section, in units of the ball: nothing moves out of the plane. */
static const double across = 1e-4;

void rp__grains_ellipsoid_ref(const rp__carriers *c, int64_t i, double inverse[6], double root[6])
{
    double f[6], values[3], ball = ball_of(c->def, c->volume[i]), least, most;
    rp__mat3 v;
    shape_of(c, i, ball, f);
    limits_of(c->def, ball, &least, &most);
    rp__math_eigen_sym3(f, values, &v);
    for (int e = 0; e < 3; e++)
        values[e] = ball * fmin(most, fmax(values[e], least));
    for (int k = 0; k < 6; k++) {
        inverse[k] = root[k] = 0;
        for (int e = 0; e < 3; e++) {
            double part = v.m[row_of[k]][e] * v.m[column_of[k]][e];
            inverse[k] += part / values[e];
            root[k] += part * sqrt(values[e]);
        }
    }
    if (c->def->dim == 2)
        inverse[2] = 1 / (across * ball), root[2] = sqrt(across * ball);
}

/* RP_LANES ellipsoids, F and its limits in units of the balls. */
typedef struct lanes {
    RP_LANES_ALIGNED float f[6][RP_LANES], inverse[6][RP_LANES], least[RP_LANES], most[RP_LANES];
    RP_LANES_ALIGNED float longest[RP_LANES]; /* bound of the largest eigenvalue */
} lanes;

/* The inverses where every eigenvalue is within the limits already: F - least and most - F are positive. False when one is not. */
static bool invert_within(lanes *l)
{
    RP_LANES_ALIGNED float fine[RP_LANES];
    const float(*f)[RP_LANES] = (const float(*)[RP_LANES])l->f;
    RP_FOR_LANES (i) {
        float xx = f[0][i], yy = f[1][i], zz = f[2][i], xy = f[3][i], xz = f[4][i], yz = f[5][i];
        float a = yy * zz - yz * yz, b = xz * yz - xy * zz, c = xy * yz - xz * yy;
        float per = 1 / (xx * a + xy * b + xz * c);
        l->inverse[0][i] = a * per, l->inverse[3][i] = b * per, l->inverse[4][i] = c * per;
        l->inverse[1][i] = (xx * zz - xz * xz) * per;
        l->inverse[2][i] = (xx * yy - xy * xy) * per;
        l->inverse[5][i] = (xy * xz - xx * yz) * per;
        float p = xx - l->least[i], q = yy - l->least[i], r = zz - l->least[i];
        float low = p * q - xy * xy, low3 = r * low + xy * xz * yz * 2 - p * yz * yz - q * xz * xz;
        float s = l->most[i] - xx, t = l->most[i] - yy, u = l->most[i] - zz;
        float high = s * t - xy * xy, high3 = u * high - xy * xz * yz * 2 - s * yz * yz - t * xz * xz;
        float x = xx + fabsf(xy) + fabsf(xz), y = yy + fabsf(xy) + fabsf(yz), z = zz + fabsf(xz) + fabsf(yz); /* Gershgorin */
        float longest = x > y ? x : y;
        longest = longest > z ? longest : z;
        l->longest[i] = longest < l->most[i] ? longest : l->most[i];
        float smallest = p < low ? p : low;
        smallest = smallest < low3 ? smallest : low3;
        smallest = smallest < s ? smallest : s;
        smallest = smallest < high ? smallest : high;
        fine[i] = smallest < high3 ? smallest : high3;
    }
    bool all = true;
    for (int i = 0; i < RP_LANES; i++)
        all = all && fine[i] > 0;
    return all;
}

static void invert_clamped(lanes *l)
{
    RP_LANES_ALIGNED float values[3][RP_LANES], v[3][3][RP_LANES];
    rp__lanes_eigen_sym3_float(l->f, values, v);
    for (int e = 0; e < 3; e++)
        RP_FOR_LANES (i) {
            float value = values[e][i] > l->least[i] ? values[e][i] : l->least[i];
            values[e][i] = value < l->most[i] ? value : l->most[i];
        }
    RP_FOR_LANES (i)
        l->longest[i] = values[2][i];
    for (int k = 0; k < 6; k++) {
        const float(*a)[RP_LANES] = (const float(*)[RP_LANES])v[row_of[k]], (*b)[RP_LANES] = (const float(*)[RP_LANES])v[column_of[k]];
        RP_FOR_LANES (i)
            l->inverse[k][i] = a[0][i] * b[0][i] / values[0][i] + a[1][i] * b[1][i] / values[1][i] + a[2][i] * b[2][i] / values[2][i];
    }
}

/* Chunks are whole lanes. */
static void set_ellipsoids(void *context, int64_t begin, int64_t end, double *partial)
{
    const rp__carriers *c = context;
    double volume = -1, ball = 1, least = 1, most = 1;
    for (int64_t from = begin; from < end; from += RP_LANES) {
        lanes l;
        double balls[RP_LANES];
        int n = end - from < RP_LANES ? (int)(end - from) : RP_LANES;
        for (int i = 0; i < RP_LANES; i++) {
            int64_t p = from + (i < n ? i : 0);
            double f[6];
            if (c->volume[p] != volume) {
                volume = c->volume[p];
                ball = ball_of(c->def, volume);
                limits_of(c->def, ball, &least, &most);
            }
            shape_of(c, p, ball, f);
            for (int k = 0; k < 6; k++)
                l.f[k][i] = (float)f[k];
            l.least[i] = (float)least, l.most[i] = (float)most;
            balls[i] = ball;
        }
        if (!invert_within(&l))
            invert_clamped(&l);
        for (int i = 0; i < n; i++) {
            float *inverse = c->inverse + 6 * (from + i), per = (float)(1 / balls[i]);
            for (int k = 0; k < 6; k++)
                inverse[k] = l.inverse[k][i] * per;
            if (c->def->dim == 2)
                inverse[2] = (float)(1 / across) * per;
            double reach = balls[i] * (double)l.longest[i];
            partial[0] = reach > partial[0] ? reach : partial[0];
        }
    }
}

static void fill_list(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__carriers *c = context;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        int32_t i = c->cells.items[k];
        rp__carrier *to = &c->list[k];
        to->index = i;
        for (int d = 0; d < 3; d++)
            to->x[d] = (float)(c->x[d][i] - c->cells.origin[d]);
        memcpy(to->inverse, c->inverse + 6 * (int64_t)i, sizeof to->inverse);
    }
}

/* ---- a frame ---- */

static const rp_field_view *doubles(const rp_frame *frame, const char *name, int components)
{
    const rp_field_view *v = rp_frame_field(frame, name);
    return v && v->info.type == RP_F64 && v->info.components == components ? v : NULL;
}

static rp_result set_all(const rp_samples_def *def, rp__grains_need need, rp__carriers *c)
{
    bool shapes = need == RP_GRAINS_ELLIPSOIDS || !(def->cell_size > 0); /* their reach is below a cell */
    double width = def->cell_size, square = 0;
    if (shapes) {
        c->inverse = RP_NEW_ARRAY(float, 6 * c->count + 6);
        if (!c->inverse)
            return RP_OUT_OF_MEMORY;
        rp__exec_max(c->count, 1024, 1, set_ellipsoids, c, &square);
        c->reach = square > 0 ? sqrt(square) : 0;
    }
    if (!(width > 0))
        width = fmax(2 * c->reach, 1e-12);
    RP_TRY(rp__grains_cells(c->x, NULL, c->count, need == RP_GRAINS_PLACES ? width : 0.5 * width, &c->cells));
    if (need == RP_GRAINS_ELLIPSOIDS) {
        c->list = RP_NEW_ARRAY(rp__carrier, c->count + 1);
        if (!c->list)
            return RP_OUT_OF_MEMORY;
        rp__exec_for(c->count, 4096, fill_list, c);
    }
    return RP_OK;
}

rp_result rp__grains_carriers(const rp_samples_def *def, const rp_frame *frame, rp__grains_need need, rp__carriers *out)
{
    rp__carriers c = { .def = def, .count = frame->count };
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
    c.id = id->data;
    c.ellipsoid = doubles(frame, "ellipsoid", 6);
    rp_result result = set_all(def, need, &c);
    if (result != RP_OK)
        rp__grains_carriers_free(&c);
    else
        *out = c;
    return result;
}

void rp__grains_carriers_free(rp__carriers *c)
{
    rp__base_free(c->inverse);
    rp__base_free(c->list);
    rp__grains_cells_free(&c->cells);
    memset(c, 0, sizeof *c);
}
