/* A tree of boxes over triangles, split by the surface-area heuristic on 16 bins; nearest points, and winding numbers with
 * the dipoles of distant nodes. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { LEAF = 2, BINS = 16, DEPTH = 96 };

typedef struct item {
    rp__vec3 lower, upper, centre;
    int32_t triangle;
} item;

typedef struct extent {
    rp__vec3 lower, upper;
} extent;

static rp__vec3 least(rp__vec3 a, rp__vec3 b)
{
    return rp__vec3_make(a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z);
}

static rp__vec3 most(rp__vec3 a, rp__vec3 b)
{
    return rp__vec3_make(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z);
}

static extent nothing(void)
{
    return (extent){ { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
}

static void widen(extent *e, rp__vec3 lower, rp__vec3 upper)
{
    e->lower = least(e->lower, lower);
    e->upper = most(e->upper, upper);
}

static double half_area(const extent *e)
{
    rp__vec3 s = rp__vec3_sub(e->upper, e->lower);
    return s.x < 0 ? 0 : s.x * s.y + s.y * s.z + s.z * s.x;
}

static double along(rp__vec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* ---- building ---- */

typedef struct builder {
    item *items;
    rp__bvh *bvh;
} builder;

static int bin_of(const item *k, int axis, double low, double scale)
{
    int b = (int)((along(k->centre, axis) - low) * scale);
    return b < 0 ? 0 : b >= BINS ? BINS - 1 : b;
}

/* The cheapest plane between two bins along the longest side of the centres; the number of items before it, reordered; or
 * the middle when the centres coincide. */
static int64_t split(item *items, int64_t count)
{
    extent centres = nothing();
    for (int64_t i = 0; i < count; i++)
        widen(&centres, items[i].centre, items[i].centre);
    rp__vec3 size = rp__vec3_sub(centres.upper, centres.lower);
    int axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    double low = along(centres.lower, axis), wide = along(size, axis);
    if (!(wide > 0))
        return count / 2;
    double scale = BINS / wide;
    extent boxes[BINS];
    int64_t counts[BINS] = { 0 };
    for (int b = 0; b < BINS; b++)
        boxes[b] = nothing();
    for (int64_t i = 0; i < count; i++) {
        int b = bin_of(&items[i], axis, low, scale);
        widen(&boxes[b], items[i].lower, items[i].upper);
        counts[b]++;
    }
    double right_cost[BINS], best = INFINITY;
    extent box = nothing();
    int64_t sum = 0;
    for (int b = BINS - 1; b > 0; b--) {
        widen(&box, boxes[b].lower, boxes[b].upper);
        sum += counts[b];
        right_cost[b] = half_area(&box) * (double)sum;
    }
    box = nothing(), sum = 0;
    int plane = BINS / 2;
    for (int b = 1; b < BINS; b++) {
        widen(&box, boxes[b - 1].lower, boxes[b - 1].upper);
        sum += counts[b - 1];
        double cost = half_area(&box) * (double)sum + right_cost[b];
        if (sum > 0 && sum < count && cost < best)
            best = cost, plane = b;
    }
    int64_t i = 0, j = count;
    while (i < j) {
        if (bin_of(&items[i], axis, low, scale) < plane)
            i++;
        else {
            item swap = items[i];
            items[i] = items[--j], items[j] = swap;
        }
    }
    return i > 0 && i < count ? i : count / 2;
}

static int32_t build_node(builder *b, int64_t first, int64_t count, int depth)
{
    int32_t at = (int32_t)b->bvh->node_count++;
    rp__bvh_node *node = &b->bvh->nodes[at];
    extent box = nothing();
    for (int64_t i = first; i < first + count; i++)
        widen(&box, b->items[i].lower, b->items[i].upper);
    *node = (rp__bvh_node){ box.lower, box.upper, -1, (int32_t)first, (int32_t)count };
    if (count <= LEAF)
        return at;
    /* near the greatest depth halves are equal, so that it is never passed */
    int64_t left = depth > DEPTH / 2 ? count / 2 : split(b->items + first, count);
    node->count = 0;
    build_node(b, first, left, depth + 1);
    int32_t right = build_node(b, first + left, count - left, depth + 1);
    b->bvh->nodes[at].right = right;
    return at;
}

/* Leaves from their triangles, inner nodes from their children, which come after them. */
static void build_dipoles(rp__bvh *bvh)
{
    for (int64_t n = bvh->node_count - 1; n >= 0; n--) {
        const rp__bvh_node *node = &bvh->nodes[n];
        rp__vec3 area = { 0, 0, 0 }, centre = { 0, 0, 0 };
        double weight = 0;
        if (node->count > 0) {
            for (int64_t t = node->first; t < node->first + node->count; t++) {
                const rp__vec3 *k = bvh->corners + 3 * t;
                rp__vec3 a = rp__vec3_scale(0.5, rp__vec3_cross(rp__vec3_sub(k[1], k[0]), rp__vec3_sub(k[2], k[0])));
                double w = rp__vec3_norm(a);
                area = rp__vec3_add(area, a);
                centre = rp__vec3_axpy(w / 3, rp__vec3_add(k[0], rp__vec3_add(k[1], k[2])), centre);
                weight += w;
            }
        } else {
            const rp__bvh_dipole *l = &bvh->dipoles[n + 1], *r = &bvh->dipoles[node->right];
            area = rp__vec3_add(l->area, r->area);
            weight = l->reach + r->reach; /* the sum of areas is kept in reach until all are done */
            centre = rp__vec3_axpy(l->reach, l->centre, rp__vec3_scale(r->reach, r->centre));
        }
        rp__vec3 middle = rp__vec3_scale(0.5, rp__vec3_add(node->lower, node->upper));
        bvh->dipoles[n] = (rp__bvh_dipole){ weight > 0 ? rp__vec3_scale(1 / weight, centre) : middle, area, weight };
    }
    for (int64_t n = 0; n < bvh->node_count; n++) { /* the farthest corner of the box is at least as far as any triangle */
        const rp__bvh_node *node = &bvh->nodes[n];
        rp__vec3 c = bvh->dipoles[n].centre, lo = rp__vec3_sub(c, node->lower), hi = rp__vec3_sub(node->upper, c);
        bvh->dipoles[n].reach = rp__vec3_norm(most(lo, hi));
    }
}

rp_result rp__shape_bvh_build(const rp_mesh *mesh, rp__bvh *bvh)
{
    int64_t n = mesh->triangle_count;
    *bvh = (rp__bvh){ .triangle_count = n };
    builder b = { RP_NEW_ARRAY(item, n), bvh };
    bvh->nodes = RP_NEW_ARRAY(rp__bvh_node, 2 * n);
    bvh->order = RP_NEW_ARRAY(int32_t, n);
    bvh->corners = RP_NEW_ARRAY(rp__vec3, 3 * n);
    if (!b.items || !bvh->nodes || !bvh->order || !bvh->corners) {
        rp__base_free(b.items);
        rp__shape_bvh_free(bvh);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t t = 0; t < n; t++) {
        rp__vec3 k[3];
        for (int i = 0; i < 3; i++)
            k[i] = rp__vec3_load(mesh->vertices + 3 * (int64_t)mesh->triangles[3 * t + i]);
        item *it = &b.items[t];
        it->lower = least(k[0], least(k[1], k[2]));
        it->upper = most(k[0], most(k[1], k[2]));
        it->centre = rp__vec3_scale(0.5, rp__vec3_add(it->lower, it->upper));
        it->triangle = (int32_t)t;
    }
    build_node(&b, 0, n, 0);
    for (int64_t t = 0; t < n; t++) {
        bvh->order[t] = b.items[t].triangle;
        for (int i = 0; i < 3; i++)
            bvh->corners[3 * t + i] = rp__vec3_load(mesh->vertices + 3 * (int64_t)mesh->triangles[3 * (int64_t)bvh->order[t] + i]);
    }
    rp__base_free(b.items);
    bvh->dipoles = RP_NEW_ARRAY(rp__bvh_dipole, bvh->node_count);
    if (!bvh->dipoles) {
        rp__shape_bvh_free(bvh);
        return RP_OUT_OF_MEMORY;
    }
    build_dipoles(bvh);
    return RP_OK;
}

void rp__shape_bvh_free(rp__bvh *bvh)
{
    rp__base_free(bvh->nodes);
    rp__base_free(bvh->dipoles);
    rp__base_free(bvh->order);
    rp__base_free(bvh->corners);
    memset(bvh, 0, sizeof *bvh);
}

/* ---- nearest point ---- */

/* The nearest point a + t e of an edge whose ends are corners i and j of the triangle; e = c_j - c_i, er = e·(p - c_i). */
static void offer_edge(rp__nearest *n, rp__vec3 p, rp__vec3 a, rp__vec3 e, double er, int i, int j, rp__feature edge)
{
    double ll = rp__vec3_dot(e, e), t = er <= 0 ? 0 : er >= ll ? 1 : er / ll;
    rp__vec3 q = rp__vec3_axpy(t, e, a), r = rp__vec3_sub(p, q);
    double squared = rp__vec3_dot(r, r);
    if (squared >= n->squared)
        return;
    n->squared = squared;
    n->point = q;
    n->feature = t == 0 ? (rp__feature)(RP_CORNER_A + i) : t == 1 ? (rp__feature)(RP_CORNER_A + j) : edge;
    n->weight[0] = n->weight[1] = n->weight[2] = 0;
    n->weight[i] = 1 - t, n->weight[j] += t;
    n->triangle = 0;
}

/* With p - a = wb u + wc v + normal part: the foot is in the face when all three weights are positive; else the nearest point
 * is on an edge that p lies beyond, since only those are seen from p. */
void rp__shape_triangle_nearest(rp__vec3 a, rp__vec3 b, rp__vec3 c, rp__vec3 p, rp__nearest *n)
{
    rp__vec3 u = rp__vec3_sub(b, a), v = rp__vec3_sub(c, a), r = rp__vec3_sub(p, a);
    double uu = rp__vec3_dot(u, u), uv = rp__vec3_dot(u, v), vv = rp__vec3_dot(v, v);
    double ru = rp__vec3_dot(r, u), rv = rp__vec3_dot(r, v), det = uu * vv - uv * uv;
    double wb = vv * ru - uv * rv, wc = uu * rv - uv * ru;
    bool flat = !(det > 1e-24 * uu * vv); /* no area: all edges count */
    n->triangle = -1;
    if (!flat && wb > 0 && wc > 0 && wb + wc < det) {
        double inverse = 1 / det;
        wb *= inverse, wc *= inverse;
        rp__vec3 q = rp__vec3_axpy(wb, u, rp__vec3_axpy(wc, v, a)), s = rp__vec3_sub(p, q);
        double squared = rp__vec3_dot(s, s);
        if (squared >= n->squared)
            return;
        n->squared = squared;
        n->point = q;
        n->feature = RP_FACE;
        n->weight[0] = 1 - wb - wc, n->weight[1] = wb, n->weight[2] = wc;
        n->triangle = 0;
        return;
    }
    if (flat || wc <= 0)
        offer_edge(n, p, a, u, ru, 0, 1, RP_EDGE_AB);
    if (flat || wb <= 0)
        offer_edge(n, p, a, v, rv, 0, 2, RP_EDGE_CA);
    if (flat || wb + wc >= det) {
        rp__vec3 e = rp__vec3_sub(c, b);
        offer_edge(n, p, b, e, rp__vec3_dot(e, rp__vec3_sub(p, b)), 1, 2, RP_EDGE_BC);
    }
}

static inline double beyond(double x, double low, double high)
{
    double a = low - x, b = x - high;
    a = a > b ? a : b;
    return a > 0 ? a : 0;
}

static inline double to_box(const rp__bvh_node *n, rp__vec3 p)
{
    double x = beyond(p.x, n->lower.x, n->upper.x), y = beyond(p.y, n->lower.y, n->upper.y), z = beyond(p.z, n->lower.z, n->upper.z);
    return x * x + y * y + z * z;
}

void rp__shape_bvh_nearest(const rp__bvh *bvh, rp__vec3 p, rp__nearest *nearest)
{
    struct { int32_t node; double distance; } stack[DEPTH + 64];
    int top = 0;
    int32_t found = -1;
    stack[top].node = 0, stack[top++].distance = to_box(&bvh->nodes[0], p);
    while (top > 0) {
        int32_t at = stack[--top].node;
        if (!(stack[top].distance < nearest->squared))
            continue;
        const rp__bvh_node *n = &bvh->nodes[at];
        if (n->count > 0) {
            for (int32_t t = n->first; t < n->first + n->count; t++) {
                const rp__vec3 *k = bvh->corners + 3 * (int64_t)t;
                rp__shape_triangle_nearest(k[0], k[1], k[2], p, nearest);
                if (nearest->triangle >= 0)
                    found = bvh->order[t];
            }
            continue;
        }
        int32_t near = at + 1, far = n->right;
        double dn = to_box(&bvh->nodes[near], p), df = to_box(&bvh->nodes[far], p);
        if (df < dn) {
            int32_t swap = near;
            near = far, far = swap;
            double other = dn;
            dn = df, df = other;
        }
        if (df < nearest->squared)
            stack[top].node = far, stack[top++].distance = df;
        if (dn < nearest->squared)
            stack[top].node = near, stack[top++].distance = dn;
    }
    nearest->triangle = found;
}

/* ---- winding number ---- */

/* Solid angle of a triangle seen from the origin: tan(omega/2) = a·(b × c) / (abc + (a·b)c + (b·c)a + (c·a)b). */
static double solid_angle(rp__vec3 a, rp__vec3 b, rp__vec3 c)
{
    double la = rp__vec3_norm(a), lb = rp__vec3_norm(b), lc = rp__vec3_norm(c);
    double down = la * lb * lc + rp__vec3_dot(a, b) * lc + rp__vec3_dot(b, c) * la + rp__vec3_dot(c, a) * lb;
    return 2 * atan2(rp__vec3_dot(a, rp__vec3_cross(b, c)), down);
}

static double leaf_angle(const rp__bvh *bvh, int64_t first, int64_t count, rp__vec3 p)
{
    double sum = 0;
    for (int64_t t = first; t < first + count; t++) {
        const rp__vec3 *k = bvh->corners + 3 * t;
        sum += solid_angle(rp__vec3_sub(k[0], p), rp__vec3_sub(k[1], p), rp__vec3_sub(k[2], p));
    }
    return sum;
}

double rp__shape_bvh_winding(const rp__bvh *bvh, rp__vec3 p)
{
    const double apart = 3; /* in units of the node's reach: the error of a dipole falls with its square */
    int32_t stack[DEPTH + 64];
    int top = 0;
    double sum = 0;
    stack[top++] = 0;
    while (top > 0) {
        int32_t at = stack[--top];
        const rp__bvh_node *n = &bvh->nodes[at];
        const rp__bvh_dipole *d = &bvh->dipoles[at];
        rp__vec3 r = rp__vec3_sub(d->centre, p);
        double rr = rp__vec3_dot(r, r);
        if (rr > apart * apart * d->reach * d->reach) {
            sum += rp__vec3_dot(d->area, r) / (rr * sqrt(rr));
            continue;
        }
        if (n->count > 0) {
            sum += leaf_angle(bvh, n->first, n->count, p);
            continue;
        }
        stack[top++] = n->right;
        stack[top++] = at + 1;
    }
    return sum / (4 * PI);
}

double rp__shape_bvh_winding_ref(const rp__bvh *bvh, rp__vec3 p)
{
    return leaf_angle(bvh, 0, bvh->triangle_count, p) / (4 * PI);
}
