/* Motion that lasts: a shear cell, a drum, a stirred box. Volume is kept, nothing is packed more tightly than possible, particles and their
 * ellipsoids stay bounded. Everything is computed from particles and bodies, nothing is what the method says of itself. 2D. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- packing: tents of half width two cells about the nodes, over the grains and over the room that there is ---- */

typedef struct tents {
    int nx, ny;
    double lower[2], h;
    bool periodic;
    double *bulk, *room; /* a node */
} tents;

static void add_to_tents(const tents *t, double *sum, const double x[2], double weight)
{
    double q[2] = { (x[0] - t->lower[0]) / t->h, (x[1] - t->lower[1]) / t->h };
    int base[2] = { (int)floor(q[0]) - 1, (int)floor(q[1]) - 1 }, cells = t->nx - 1;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            int at[2] = { base[0] + i, base[1] + j };
            double w = fmax(0, 1 - 0.5 * fabs(q[0] - at[0])) * fmax(0, 1 - 0.5 * fabs(q[1] - at[1]));
            if (t->periodic)
                at[0] = (at[0] % cells + cells) % cells;
            if (at[0] >= 0 && at[0] < t->nx && at[1] >= 0 && at[1] < t->ny)
                sum[at[1] * t->nx + at[0]] += w * weight;
        }
    }
}

/* Part of a little square of edge `edge` that lies outside of all bodies. */
static double free_part(const run *r, const double x[2], double edge)
{
    double part = 1;
    for (int b = 0; b < rp_sim_body_count(r->sim); b++) {
        rp_body_state s;
        if (rp_sim_body(r->sim, b, &s) != RP_OK || !s.present)
            continue;
        /* into the frame of the body: turned back about z */
        double angle = 2 * atan2(s.orientation[3], s.orientation[0]), dx = x[0] - s.position[0], dy = x[1] - s.position[1];
        double own[3] = { cos(angle) * dx + sin(angle) * dy, -sin(angle) * dx + cos(angle) * dy, 0 };
        part = fmin(part, fmin(fmax(0.5 + rp_shape_distance(rp_sim_body_shape(r->sim, b), own, NULL) / edge, 0), 1));
    }
    return part;
}

typedef struct packing {
    double over;  /* part of the volume that is packed more tightly than possible */
    double tight; /* tightest place, in units of the largest volume fraction */
} packing;

static packing packing_of(const run *r)
{
    enum { PARTS = 3 };
    const rp_sim_def *def = rp_sim_definition(r->sim);
    double h = def->cell_size, full = 4 * h * h, over = 0, all = 0;
    tents t = { .nx = (int)lround((def->upper[0] - def->lower[0]) / h) + 1, .ny = (int)lround((def->upper[1] - def->lower[1]) / h) + 1, .h = h,
                .lower = { def->lower[0], def->lower[1] }, .periodic = def->wall[0].kind == RP_PERIODIC };
    packing p = { NAN, NAN };
    t.bulk = calloc((size_t)(t.nx * t.ny), sizeof *t.bulk);
    t.room = calloc((size_t)(t.nx * t.ny), sizeof *t.room);
    if (t.bulk && t.room) {
        const double *x = run_plane(r, "position", 0), *y = run_plane(r, "position", 1), *volume = run_plane(r, "volume", 0);
        for (int64_t i = 0; i < run_count(r); i++)
            add_to_tents(&t, t.bulk, (double[2]){ x[i], y[i] }, volume[i] / def->materials[0].volume_fraction);
        for (int j = 0; j < (t.ny - 1) * PARTS; j++) {
            for (int i = 0; i < (t.nx - 1) * PARTS; i++) {
                double at[2] = { def->lower[0] + (i + 0.5) * h / PARTS, def->lower[1] + (j + 0.5) * h / PARTS };
                add_to_tents(&t, t.room, at, free_part(r, at, h / PARTS) * h * h / (PARTS * PARTS));
            }
        }
        p.tight = 0;
        for (int i = 0; i < t.nx * t.ny; i++) {
            all += t.bulk[i];
            over += t.room[i] > 0.1 * full ? fmax(0, t.bulk[i] - t.room[i]) : 0;
            p.tight = t.room[i] > 0.4 * full ? fmax(p.tight, t.bulk[i] / t.room[i]) : p.tight;
        }
        p.over = over / all;
    }
    free(t.bulk);
    free(t.room);
    return p;
}

/* Longest semi-axis of a particle, in cells; NAN when particles have none. */
static double longest_axis(const run *r)
{
    const double *xx = run_plane(r, "ellipsoid", 0), *yy = run_plane(r, "ellipsoid", 1), *xy = run_plane(r, "ellipsoid", 3);
    double most = xx && yy && xy ? 0 : NAN;
    for (int64_t i = 0; i < run_count(r) && xx && yy && xy; i++)
        most = fmax(most, 0.5 * (xx[i] + yy[i]) + hypot(0.5 * (xx[i] - yy[i]), xy[i]));
    return sqrt(most) / rp_sim_definition(r->sim)->cell_size;
}

/* ---- the runs ---- */

typedef struct lasting {
    packing first, worst;
    double particles, axis; /* of those at the start; cells */
    double rise;            /* of the first body, at the end */
} lasting;

static bool lasts(validation *v, const char *scene, const char *const *set, lasting *out)
{
    enum { LOOKS = 12 };
    run r;
    if (!run_open(v, &r, scene, set))
        return false;
    double duration = rp_sim_definition(r.sim)->duration, start = (double)run_count(&r);
    rp_body_state body = { 0 }, then = { 0 };
    rp_sim_body(r.sim, 0, &body);
    *out = (lasting){ .first = packing_of(&r), .particles = 1 };
    out->worst = (packing){ 0, 0 };
    bool good = true;
    for (int k = 1; k <= LOOKS && good; k++) {
        good = run_until(v, &r, duration * k / LOOKS);
        packing p = packing_of(&r);
        out->worst = (packing){ fmax(out->worst.over, p.over), fmax(out->worst.tight, p.tight) };
        out->particles = fmax(out->particles, (double)run_count(&r) / start);
        out->axis = fmax(out->axis, longest_axis(&r));
    }
    rp_sim_body(r.sim, 0, &then);
    out->rise = then.position[1] - body.position[1];
    run_close(&r);
    return good;
}

void case_lasting(validation *v)
{
    static const struct {
        const char *name, *scene;
        bool plate;
    } runs[] = { { "shear cell", "shear.yaml", true }, { "drum, 3 turns", "drum.yaml", false }, { "stirred box, 10 s", "stirred.yaml", false } };
    double most = validation_number(v, "over_packed"), tight = validation_number(v, "tightest");
    lasting l;
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        const char *name = runs[k].name, *set[] = { NULL };
        if (!lasts(v, runs[k].scene, set, &l))
            return;
        /* what the random sampling of the first state has is not held against the run */
        validation_check(v, CHECK_BELOW, NULL, most, l.worst.over - fmin(l.first.over, most), "%s: over-packed part of the volume", name);
        validation_check(v, CHECK_BELOW, NULL, tight, l.worst.tight, "%s: tightest place / \xcf\x86_max", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "particles"), l.particles, "%s: most particles / those at the start", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "axis_cells"), l.axis, "%s: longest semi-axis of a particle [cells]", name);
        if (runs[k].plate)
            validation_check(v, CHECK_ABSOLUTE, "height", 0, l.rise / validation_number(v, "height"), "%s: rise of the plate / height", name);
    }
    const char *without[] = { "nonsmooth.dilatancy=0", NULL };
    if (lasts(v, "drum.yaml", without, &l))
        validation_control(v, CHECK_BELOW, NULL, most, l.worst.over - fmin(l.first.over, most),
                           "control, drum without dilatancy: over-packed part of the volume");
}
