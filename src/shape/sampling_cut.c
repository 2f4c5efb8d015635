/* How much of a box is room, and where its middle is. The box is halved until the distance in it is nearly linear; there the room is cut out of the
 * triangles or tetrahedra of the box by the plane through the distances at their corners. */
#include "shape/sampling_blocks.h"

enum { DEEPEST_LEVEL = 5 };
#define TOLERANCE 1e-4 /* of the unit, for the part of a box whose distance is not linear */

typedef struct cutting {
    const rp__sampling_filling *f;
    double unit;
    rp__sampling_part part;
} cutting;

/* What may end the room within a box: the shape, and what is in the way. */
enum { SHAPE = 1, BLOCKED = 2 };

/* Distance at x to those of the two that are asked for; *left: those that are not farther than `reach`. */
static double distance_to(const cutting *c, int asked, rp__vec3 x, double reach, int *left)
{
    const rp__sampling_def *def = c->f->def;
    double d = -INFINITY;
    *left = 0;
    if (asked & SHAPE) {
        d = rp__shape_distance_at(c->f->shape, x, NULL);
        *left |= d > -reach ? SHAPE : 0;
    }
    if (asked & BLOCKED) {
        double other = -def->blocked(def->blocking, (const double[3]){ x.x, x.y, x.z });
        *left |= other > -reach ? BLOCKED : 0;
        d = fmax(d, other);
    }
    return d;
}

static void add(rp__sampling_part *p, double volume, rp__vec3 middle)
{
    p->volume += volume;
    p->moment = rp__vec3_axpy(volume, middle, p->moment);
}

static rp__vec3 middle_of(const rp__vec3 *x, int count)
{
    rp__vec3 sum = { 0, 0, 0 };
    for (int i = 0; i < count; i++)
        sum = rp__vec3_add(sum, x[i]);
    return rp__vec3_scale(1.0 / count, sum);
}

/* The simplex x[0 … dim], which has the given part of a simplex of volume `whole`. */
static void add_simplex(rp__sampling_part *p, int dim, double whole, double part, const rp__vec3 *x)
{
    add(p, whole * part, middle_of(x, dim + 1));
}

/* From a, where the value is va, towards b to where it is 0: the way as a part of that between them. */
static double part_of_way(double va, double vb)
{
    return va == vb ? 0 : va / (va - vb);
}

/* The corner x[at] of a simplex that the zero of v cuts off. */
static void add_corner(rp__sampling_part *p, int dim, double volume, const rp__vec3 *x, const double *v, int at)
{
    rp__vec3 cut[4];
    double part = 1;
    for (int i = 0; i <= dim; i++) {
        double way = i == at ? 0 : part_of_way(v[at], v[i]);
        part *= i == at ? 1 : way;
        cut[i] = rp__vec3_axpy(way, rp__vec3_sub(x[i], x[at]), x[at]);
    }
    add_simplex(p, dim, volume, part, cut);
}

/* Of a tetrahedron with two corners a, b in and two out: the wedge between them, as three tetrahedra. */
static void add_wedge(rp__sampling_part *p, double volume, const rp__vec3 *x, const double *v, const int *in, const int *out)
{
    int a = in[0], b = in[1], c = out[0], d = out[1];
    double ac = part_of_way(v[a], v[c]), ad = part_of_way(v[a], v[d]), bc = part_of_way(v[b], v[c]), bd = part_of_way(v[b], v[d]);
    rp__vec3 xac = rp__vec3_axpy(ac, rp__vec3_sub(x[c], x[a]), x[a]), xad = rp__vec3_axpy(ad, rp__vec3_sub(x[d], x[a]), x[a]);
    rp__vec3 xbc = rp__vec3_axpy(bc, rp__vec3_sub(x[c], x[b]), x[b]), xbd = rp__vec3_axpy(bd, rp__vec3_sub(x[d], x[b]), x[b]);
    /* Parts are determinants of barycentric coordinates (b, c, d from a). */
    add_simplex(p, 3, volume, ac * ad * (1 - bd), (const rp__vec3[]){ x[a], xac, xad, xbd });
    add_simplex(p, 3, volume, ac * bd * (1 - bc), (const rp__vec3[]){ x[a], xac, xbc, xbd });
    add_simplex(p, 3, volume, bc * bd, (const rp__vec3[]){ x[a], x[b], xbc, xbd });
}

/* The part of a simplex in which the linear function with the values v at its corners is below 0. */
static void clip_simplex(rp__sampling_part *p, int dim, double volume, const rp__vec3 *x, const double *v)
{
    int in[4], out[4], ins = 0, outs = 0;
    for (int i = 0; i <= dim; i++)
        *(v[i] <= 0 ? &in[ins++] : &out[outs++]) = i;
    if (ins == 0)
        return;
    if (dim == 3 && ins == 2) {
        add_wedge(p, volume, x, v, in, out);
    } else if (ins == 1) {
        add_corner(p, dim, volume, x, v, in[0]);
    } else {
        add_simplex(p, dim, volume, 1, x);
        if (outs == 1) {
            rp__sampling_part corner = { 0 };
            add_corner(&corner, dim, volume, x, v, out[0]);
            p->volume -= corner.volume;
            p->moment = rp__vec3_sub(p->moment, corner.moment);
        }
    }
}

/* A box with the values v at its corners (bit a of the index: the upper side of axis a), as d! simplices along its diagonal. */
static void clip_box(rp__sampling_part *p, int dim, double volume, const rp__vec3 *x, const double *v)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 0, 2, 1 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    int count = dim == 3 ? 6 : 2;
    for (int k = 0; k < count; k++) {
        rp__vec3 corner[4];
        double value[4];
        for (int i = 0, at = 0; i <= dim; i++) {
            corner[i] = x[at];
            value[i] = v[at];
            at |= i < dim ? 1 << orders[k][i] : 0;
        }
        clip_simplex(p, dim, volume / count, corner, value);
    }
}

static void visit(cutting *c, int asked, const double lower[3], const double edge[3], int level)
{
    int dim = c->f->def->dim, corners = 1 << dim, left, none;
    double volume = 1, square = 0, mean = 0, longest = 0, v[8];
    rp__vec3 x[8], centre = { lower[0] + 0.5 * edge[0], lower[1] + 0.5 * edge[1], dim == 3 ? lower[2] + 0.5 * edge[2] : 0 };
    for (int a = 0; a < dim; a++) {
        volume *= edge[a];
        square += 0.25 * edge[a] * edge[a];
        longest = fmax(longest, edge[a]);
    }
    double reach = sqrt(square) * (1 + 1e-9), d = distance_to(c, asked, centre, reach, &left);
    if (d < c->part.depth) {
        c->part.depth = d;
        c->part.deepest = centre;
    }
    if (fabs(d) >= reach) {
        if (d < 0)
            add(&c->part, volume, centre);
        return;
    }
    if (level > 0) { /* once in two along each axis at least, so that what is thin is not missed */
        for (int n = 0; n < corners; n++) {
            x[n] = rp__vec3_make(lower[0] + (n & 1 ? edge[0] : 0), lower[1] + (n & 2 ? edge[1] : 0), dim == 3 ? lower[2] + (n & 4 ? edge[2] : 0) : 0);
            v[n] = distance_to(c, left, x[n], 0, &none);
            mean += v[n] / corners;
        }
        if (level == DEEPEST_LEVEL || fabs(d - mean) * volume < TOLERANCE * c->unit * longest) {
            for (int n = 0; n < corners; n++)
                v[n] += 2.0 / 3 * (d - mean); /* what a parabola has in the mean beyond its chord is 2/3 of that in the middle */
            clip_box(&c->part, dim, volume, x, v);
            return;
        }
    }
    double half[3] = { 0.5 * edge[0], 0.5 * edge[1], 0.5 * edge[2] };
    for (int n = 0; n < corners; n++) {
        double at[3] = { lower[0] + (n & 1 ? half[0] : 0), lower[1] + (n & 2 ? half[1] : 0), lower[2] + (n & 4 ? half[2] : 0) };
        visit(c, left, at, half, level + 1);
    }
}

rp__sampling_part rp__sampling_part_of(const rp__sampling_filling *f, const double lower[3], const double upper[3], double unit)
{
    cutting c = { .f = f, .unit = unit, .part = { .depth = INFINITY } };
    double edge[3] = { 0, 0, 0 };
    for (int a = 0; a < f->def->dim; a++) {
        edge[a] = upper[a] - lower[a];
        if (!(edge[a] > 0))
            return c.part;
    }
    visit(&c, f->def->blocked ? SHAPE | BLOCKED : SHAPE, lower, edge, 0);
    return c.part;
}
