/* Volume, centre and inertia: closed forms where a kind has one, else quadrature on a lattice. Cells near the
 * surface are split, and a part cut by it counts with what is below the tangent plane, 1/2 - d / w, w its width along the
 * gradient. */
#include "shape/shape_class.h"

#include "base/error.h"
#include "exec/exec.h"

#include <math.h>

typedef struct lattice {
    const rp_shape *shape;
    rp__vec3 lower;
    double h;
    int64_t n[3];
    int dim;
    rp__vec3 about;
} lattice;

static double share(const lattice *l, rp__vec3 p, double h, double *d)
{
    rp__vec3 g;
    *d = rp__shape_distance_at(l->shape, p, &g);
    if (l->dim == 2)
        g.z = 0;
    double width = h * (fabs(g.x) + fabs(g.y) + fabs(g.z));
    if (!(width > 0))
        return *d <= 0 ? 1 : 0;
    return fmin(fmax(0.5 - *d / width, 0), 1);
}

/* Adds a cell of edge h at p with weight w and its own second moment w h²/12 along each axis. */
static void add_cell(const lattice *l, rp__vec3 p, double h, double w, double *partial)
{
    rp__vec3 r = rp__vec3_sub(p, l->about);
    double own = h * h / 12;
    partial[0] += w;
    partial[1] += w * r.x, partial[2] += w * r.y, partial[3] += w * r.z;
    partial[4] += w * (r.x * r.x + own), partial[5] += w * (r.y * r.y + own), partial[6] += w * (r.z * r.z + own);
    partial[7] += w * r.x * r.y, partial[8] += w * r.x * r.z, partial[9] += w * r.y * r.z;
}

/* Cells near the surface are cut into SPLIT^d. */
enum { SPLIT = 4 };

static void add_split(const lattice *l, rp__vec3 p, double *partial)
{
    double h = l->h / SPLIT, whole = l->dim == 2 ? SPLIT * SPLIT : SPLIT * SPLIT * SPLIT, d;
    for (int k = 0; k < (l->dim == 2 ? 1 : SPLIT); k++)
        for (int j = 0; j < SPLIT; j++)
            for (int i = 0; i < SPLIT; i++) {
                rp__vec3 q = { p.x + h * (i + 0.5 - 0.5 * SPLIT), p.y + h * (j + 0.5 - 0.5 * SPLIT),
                               l->dim == 2 ? 0 : p.z + h * (k + 0.5 - 0.5 * SPLIT) };
                double w = share(l, q, h, &d);
                if (w > 0)
                    add_cell(l, q, h, w / whole, partial);
            }
}

static void moments(void *context, int64_t begin, int64_t end, double *partial)
{
    const lattice *l = context;
    for (int64_t row = begin; row < end; row++) {
        int64_t j = row % l->n[1], k = row / l->n[1];
        for (int64_t i = 0; i < l->n[0]; i++) {
            rp__vec3 p = { l->lower.x + l->h * ((double)i + 0.5), l->lower.y + l->h * ((double)j + 0.5),
                           l->dim == 2 ? 0 : l->lower.z + l->h * ((double)k + 0.5) };
            double d, w = share(l, p, l->h, &d);
            if (fabs(d) < 0.87 * l->h) /* half a diagonal */
                add_split(l, p, partial);
            else if (w > 0)
                add_cell(l, p, l->h, 1, partial);
        }
    }
}

static rp_result lay(const rp_shape *shape, int dim, int resolution, lattice *l)
{
    double lo[3], hi[3], widest = 0;
    rp_shape_bounds(shape, lo, hi);
    for (int i = 0; i < dim; i++) {
        if (!isfinite(lo[i]) && !isfinite(hi[i]) && lo[i] > hi[i])
            return rp__base_fail(RP_BAD_ARGUMENT, "mass of a shape (%s): its inside is empty", shape->type->name);
        if (!isfinite(lo[i]) || !isfinite(hi[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "mass of a shape (%s): it has no end along %c; only a bounded shape has a mass",
                                 shape->type->name, "xyz"[i]);
        if (!(hi[i] > lo[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "mass of a shape (%s): its inside is empty", shape->type->name);
        widest = fmax(widest, hi[i] - lo[i]);
    }
    l->shape = shape, l->dim = dim;
    l->h = widest / resolution;
    for (int i = 0; i < 3; i++)
        l->n[i] = i < dim ? (int64_t)ceil((hi[i] - lo[i]) / l->h - 1e-9) : 1;
    /* centred, so that a symmetric shape has its centre where it should be */
    double start[3] = { 0, 0, 0 };
    for (int i = 0; i < dim; i++)
        start[i] = 0.5 * (lo[i] + hi[i]) - 0.5 * l->h * (double)l->n[i];
    l->lower = rp__vec3_load(start);
    l->about = rp__vec3_make(0.5 * (lo[0] + hi[0]), 0.5 * (lo[1] + hi[1]), dim == 2 ? 0 : 0.5 * (lo[2] + hi[2]));
    return RP_OK;
}

rp_result rp__shape_mass_properties(const rp_shape *shape, int dim, int resolution, double *volume, rp__vec3 *centre,
                                    rp__mat3 *inertia)
{
    rp__shape_mass m;
    if (dim == 3 && shape->type->mass && shape->type->mass(shape, &m) && isfinite(m.volume) && m.volume > 0) {
        *volume = m.volume, *centre = m.centre, *inertia = m.inertia;
        return RP_OK;
    }
    if (dim != 2 && dim != 3)
        return rp__base_fail(RP_BAD_ARGUMENT, "mass of a shape: dimension %d; it must be 2 or 3", dim);
    if (resolution < 2 || resolution > 4096)
        return rp__base_fail(RP_BAD_ARGUMENT, "mass of a shape: resolution %d; it must be from 2 to 4096", resolution);
    lattice l;
    RP_TRY(lay(shape, dim, resolution, &l));
    double s[10];
    rp__exec_sum(l.n[1] * l.n[2], 4, 10, moments, &l, s);
    if (!(s[0] > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "mass of a shape (%s): no inside found with %d cells across", shape->type->name,
                             resolution);
    double v = dim == 2 ? l.h * l.h : l.h * l.h * l.h;
    rp__vec3 c = { s[1] / s[0], s[2] / s[0], s[3] / s[0] };
    /* second moments about the centre */
    double xx = s[4] - s[0] * c.x * c.x, yy = s[5] - s[0] * c.y * c.y, zz = dim == 2 ? 0 : s[6] - s[0] * c.z * c.z;
    double xy = s[7] - s[0] * c.x * c.y, xz = s[8] - s[0] * c.x * c.z, yz = s[9] - s[0] * c.y * c.z;
    *volume = v * s[0];
    *centre = rp__vec3_add(l.about, c);
    *inertia = (rp__mat3){ { { v * (yy + zz), -v * xy, -v * xz }, { -v * xy, v * (xx + zz), -v * yz }, { -v * xz, -v * yz, v * (xx + yy) } } };
    return RP_OK;
}
