/* How many particles a definition asks for, and what they need, before any is made. */
#include "base/error.h"
#include "shape/shape_internal.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <unistd.h>

/* Share of the box lower…upper that lies inside the shape, by a coarse lattice. */
static double inside_share(const rp_shape *shape, int dim, const double lower[3], const double upper[3])
{
    enum { N = 24 };
    int64_t inside = 0, depth = dim == 3 ? N : 1;
    for (int64_t k = 0; k < depth; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                double x[3] = { lower[0] + (upper[0] - lower[0]) * (i + 0.5) / N,
                                lower[1] + (upper[1] - lower[1]) * (j + 0.5) / N,
                                dim == 3 ? lower[2] + (upper[2] - lower[2]) * ((double)k + 0.5) / N : 0 };
                inside += rp_shape_distance(shape, x, NULL) <= 0;
            }
    return (double)inside / (double)(N * N * depth);
}

static size_t bytes_a_particle(const rp_sim_def *def)
{
    const rp__method *method = rp__method_by_name(def->method);
    rp_field_info fields[RP_METHOD_MAX_FIELDS];
    int count = 0;
    size_t bytes = 0;
    if (def->method_params)
        count = rp__sim_method_fields(method, def, def->method_params, fields);
    for (const rp_field_info *f = method->info.fields; !def->method_params && f && f->name && count < RP_METHOD_MAX_FIELDS; f++)
        fields[count++] = *f;
#define F(type, ctype, name, components, unit, saved) bytes += sizeof(ctype) * (components);
    RP_PARTICLE_FIELDS(F)
#undef F
    for (int f = 0; f < count; f++)
        bytes += rp__particles_type_size(fields[f].type) * (size_t)fields[f].components;
    return 2 * bytes; /* sorting needs a second copy of the largest part, the grid and the output the rest */
}

/* Volume of a ball of the method, 0 when it has none. */
static rp_result estimate_ball(const rp__method *method, const rp_sim_def *def, double *volume)
{
    rp_params *defaults = NULL;
    *volume = 0;
    if (!method->grain_radius)
        return RP_OK;
    if (!def->method_params)
        RP_TRY(rp_params_create(def->method, &defaults));
    *volume = rp__sim_ball_volume(def->dim, method->grain_radius(def, defaults ? rp_params_data(defaults) : def->method_params));
    rp_params_destroy(defaults);
    return RP_OK;
}

#define BALLS_FILL 0.38 /* of space, when no more fits in at random */

rp_result rp_sim_estimate(const rp_sim_def *def, int64_t *particles, int64_t *bytes)
{
    if (!def || !particles || !bytes)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_estimate needs a definition and places for its numbers (there is a NULL)");
    RP_TRY(rp__sim_check(def));
    const rp__method *method = rp__method_by_name(def->method);
    double count = 0, ball = 0;
    RP_TRY(estimate_ball(method, def, &ball));
    for (int g = 0; g < def->grains_count; g++) {
        const rp_grains_def *d = &def->grains[g];
        double lower[3], upper[3], volume = 1;
        rp_shape_bounds(d->shape, lower, upper);
        for (int a = 0; a < def->dim; a++) {
            lower[a] = fmax(lower[a], def->lower[a]);
            upper[a] = fmin(upper[a], def->upper[a]);
            volume *= fmax(0, upper[a] - lower[a]);
        }
        if (volume > 0)
            count += (ball > 0 ? BALLS_FILL * volume / ball : volume / pow(rp__sim_spacing(def, d->per_cell), def->dim)) *
                     inside_share(d->shape, def->dim, lower, upper);
    }
    double total = count * (double)bytes_a_particle(def);
    *particles = count < 9e18 ? (int64_t)count : INT64_MAX;
    *bytes = total < 9e18 ? (int64_t)total : INT64_MAX;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (count > (double)def->particle_limit)
        return rp__base_fail(RP_TOO_LARGE,
                             "the scene asks for about %.3g particles (%.3g GB); the limit is %lld: use larger cells or "
                             "fewer particles a cell",
                             count, total / 1e9, (long long)def->particle_limit);
    if (memory > 0 && total > 0.95 * memory)
        return rp__base_fail(RP_TOO_LARGE,
                             "the scene asks for about %.3g particles, which need %.3g GB; this machine has %.3g GB", count,
                             total / 1e9, memory / 1e9);
    return RP_OK;
}

rp_result rp_sim_estimate_emitted(const rp_sim_def *def, int64_t *particles)
{
    if (!def || !particles)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_sim_estimate_emitted needs a definition and a place for its number (there is a NULL)");
    RP_TRY(rp__sim_check(def));
    double count = 0;
    for (int e = 0; e < def->emitter_count; e++) {
        const rp_emitter_def *d = &def->emitters[e];
        double lower[3], upper[3], box = 1, across = 0, square = 0, g = 0;
        rp_shape_bounds(d->shape, lower, upper);
        for (int a = 0; a < def->dim; a++) {
            lower[a] = fmax(lower[a], def->lower[a]);
            upper[a] = fmin(upper[a], def->upper[a]);
            box *= fmax(0, upper[a] - lower[a]);
            across += fabs(d->velocity[a]) * fmax(0, upper[a] - lower[a]);
            square += d->velocity[a] * d->velocity[a];
            g += def->gravity[a] * def->gravity[a];
        }
        double time = fmax(0, fmin(d->stop, def->duration) - fmax(d->start, 0)), rate = d->rate;
        double volume = box > 0 ? box * inside_share(d->shape, def->dim, lower, upper) : 0;
        if (!(rate > 0)) { /* kept full: what flows out of the shape, by its own speed or by falling through it */
            double length = square > 0 ? across / sqrt(square) : pow(fmax(volume, 0), 1.0 / def->dim);
            double speed = fmax(sqrt(square), sqrt(0.5 * sqrt(g) * length));
            rate = length > 0 ? volume * speed / length : 0;
            count += time > 0 ? volume / pow(rp__sim_spacing(def, d->per_cell), def->dim) : 0; /* the first filling */
        }
        count += rate * time / (pow(rp__sim_spacing(def, d->per_cell), def->dim) * d->fill);
    }
    *particles = count < 9e18 ? (int64_t)count : INT64_MAX;
    return RP_OK;
}
