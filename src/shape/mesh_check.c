/* What is wrong with a mesh, what of it can be mended, and its mass. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rp_result rp__shape_mesh_validate(const char *what, const rp_mesh *mesh)
{
    if (mesh->triangle_count < 1 || mesh->vertex_count < 3)
        return rp__base_fail(RP_BAD_FILE, "%s: the mesh is empty: it has no triangles", what);
    for (int64_t i = 0; i < 3 * mesh->vertex_count; i++)
        if (!(fabs(mesh->vertices[i]) <= RP_SHAPE_LIMIT))
            return rp__base_fail(RP_BAD_FILE, "%s: component %c of vertex %lld is %g; it must be a finite number", what, "xyz"[i % 3],
                                 (long long)(i / 3 + 1), mesh->vertices[i]);
    for (int64_t i = 0; i < 3 * mesh->triangle_count; i++)
        if (mesh->triangles[i] < 0 || mesh->triangles[i] >= mesh->vertex_count)
            return rp__base_fail(RP_BAD_FILE, "%s: triangle %lld uses vertex %d of %lld", what, (long long)(i / 3 + 1),
                                 mesh->triangles[i], (long long)mesh->vertex_count);
    return RP_OK;
}

/* ---- edges ---- */

typedef struct half_edge {
    int32_t other;   /* the vertex with the greater number */
    int32_t at;      /* 3 triangle + edge */
} half_edge;

static int by_other(const void *a, const void *b)
{
    const half_edge *x = a, *y = b;
    if (x->other != y->other)
        return x->other < y->other ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void ends(const rp_mesh *m, int32_t at, int32_t *from, int32_t *to)
{
    const int32_t *t = m->triangles + 3 * (int64_t)(at / 3);
    *from = t[at % 3];
    *to = t[(at % 3 + 1) % 3];
}

/* Edges sorted by their lesser vertex, then by the other: equal ones lie together. */
static rp_result find_adjacent(const rp_mesh *m, int32_t *adjacent, rp__mesh_report *report)
{
    int64_t n = 3 * m->triangle_count;
    int64_t *first = rp__base_alloc_zero((size_t)(m->vertex_count + 2) * sizeof *first);
    half_edge *edges = RP_NEW_ARRAY(half_edge, n);
    if (!first || !edges) {
        rp__base_free(first);
        rp__base_free(edges);
        return RP_OUT_OF_MEMORY;
    }
    int32_t a, b;
    for (int64_t i = 0; i < n; i++) {
        ends(m, (int32_t)i, &a, &b);
        first[(a < b ? a : b) + 2]++;
    }
    for (int64_t v = 0; v < m->vertex_count; v++)
        first[v + 2] += first[v + 1];
    for (int64_t i = 0; i < n; i++) {
        ends(m, (int32_t)i, &a, &b);
        edges[first[(a < b ? a : b) + 1]++] = (half_edge){ a < b ? b : a, (int32_t)i };
    }
    for (int64_t v = 0; v < m->vertex_count; v++) {
        int64_t begin = first[v], end = first[v + 1];
        qsort(edges + begin, (size_t)(end - begin), sizeof *edges, by_other);
        for (int64_t i = begin, j; i < end; i = j) {
            for (j = i + 1; j < end && edges[j].other == edges[i].other; j++)
                ;
            for (int64_t k = i; k < j; k++)
                adjacent[edges[k].at] = j - i == 2 ? edges[i + j - 1 - k].at / 3 : -1;
            report->open_edges += j - i == 1;
            report->crowded_edges += j - i > 2;
        }
    }
    rp__base_free(first);
    rp__base_free(edges);
    return RP_OK;
}

/* ---- orientation ---- */

static double area_of(const rp_mesh *m, int64_t t)
{
    const int32_t *k = m->triangles + 3 * t;
    rp__vec3 a = rp__vec3_load(m->vertices + 3 * (int64_t)k[0]), b = rp__vec3_load(m->vertices + 3 * (int64_t)k[1]);
    rp__vec3 c = rp__vec3_load(m->vertices + 3 * (int64_t)k[2]);
    return 0.5 * rp__vec3_norm(rp__vec3_cross(rp__vec3_sub(b, a), rp__vec3_sub(c, a)));
}

/* Whether two triangles that share the edge (a, b) run along it in opposite directions, as neighbours should. */
static bool agrees(const rp_mesh *m, int32_t a, int32_t b, int32_t neighbour)
{
    const int32_t *k = m->triangles + 3 * (int64_t)neighbour;
    for (int e = 0; e < 3; e++)
        if (k[e] == b && k[(e + 1) % 3] == a)
            return true;
    return false;
}

/* 1 as given, 2 turned over, 0 not visited yet. Marks the part of the mesh reached from `start`, whose triangles end in
 * queue[0 .. *count), and the area turned over. */
static double walk(const rp_mesh *m, const int32_t *adjacent, int32_t start, unsigned char *mark, int32_t *queue, int64_t *count,
                   double *total, int64_t *conflicts)
{
    double turned = 0;
    *total = 0;
    *count = 1;
    queue[0] = start, mark[start] = 1;
    for (int64_t i = 0; i < *count; i++) {
        int32_t t = queue[i];
        double area = area_of(m, t);
        *total += area;
        turned += mark[t] == 2 ? area : 0;
        for (int e = 0; e < 3; e++) {
            int32_t u = adjacent[3 * (int64_t)t + e];
            if (u < 0)
                continue;
            int32_t a = m->triangles[3 * (int64_t)t + e], b = m->triangles[3 * (int64_t)t + (e + 1) % 3];
            unsigned char wanted = agrees(m, a, b, u) ? mark[t] : (unsigned char)(3 - mark[t]);
            if (mark[u] == 0) {
                mark[u] = wanted;
                queue[(*count)++] = u;
            } else if (mark[u] != wanted)
                ++*conflicts;
        }
    }
    return turned;
}

/* Turning (a, b, c) over to (a, c, b) makes edges 0, 1, 2 the old 2, 1, 0. */
static void turn_over(rp_mesh *m, int32_t *adjacent, int64_t t)
{
    int32_t *k = m->triangles + 3 * t, *e = adjacent + 3 * t, swap = k[1];
    k[1] = k[2], k[2] = swap;
    swap = e[0];
    e[0] = e[2], e[2] = swap;
}

static double signed_volume(const rp_mesh *m)
{
    rp__vec3 o = rp__vec3_load(m->vertices);
    double six = 0;
    for (int64_t t = 0; t < m->triangle_count; t++) {
        const int32_t *k = m->triangles + 3 * t;
        rp__vec3 a = rp__vec3_sub(rp__vec3_load(m->vertices + 3 * (int64_t)k[0]), o);
        rp__vec3 b = rp__vec3_sub(rp__vec3_load(m->vertices + 3 * (int64_t)k[1]), o);
        rp__vec3 c = rp__vec3_sub(rp__vec3_load(m->vertices + 3 * (int64_t)k[2]), o);
        six += rp__vec3_dot(a, rp__vec3_cross(b, c));
    }
    return six / 6;
}

rp_result rp__shape_mesh_orient(rp_mesh *mesh, int32_t *adjacent, rp__mesh_report *report)
{
    *report = (rp__mesh_report){ 0 };
    RP_TRY(find_adjacent(mesh, adjacent, report));
    unsigned char *mark = rp__base_alloc_zero((size_t)mesh->triangle_count);
    int32_t *queue = RP_NEW_ARRAY(int32_t, mesh->triangle_count);
    if (!mark || !queue) {
        rp__base_free(mark);
        rp__base_free(queue);
        return RP_OUT_OF_MEMORY;
    }
    for (int64_t start = 0; start < mesh->triangle_count; start++) {
        if (mark[start])
            continue;
        int64_t count = 0;
        double total, turned = walk(mesh, adjacent, (int32_t)start, mark, queue, &count, &total, &report->conflicts);
        if (turned > 0.5 * total) /* most of it counts as right */
            for (int64_t i = 0; i < count; i++)
                mark[queue[i]] = (unsigned char)(3 - mark[queue[i]]);
    }
    report->conflicts /= 2; /* each edge is met from both sides */
    for (int64_t t = 0; t < mesh->triangle_count; t++)
        if (mark[t] == 2) {
            turn_over(mesh, adjacent, t);
            report->turned++;
        }
    rp__base_free(mark);
    rp__base_free(queue);
    report->volume = signed_volume(mesh);
    report->inside_out = report->volume < 0;
    if (report->inside_out)
        for (int64_t t = 0; t < mesh->triangle_count; t++)
            turn_over(mesh, adjacent, t);
    return RP_OK;
}

/* ---- mass ---- */

/* Each triangle with a point o spans a tetrahedron of volume V = a·(b × c) / 6; its moments about o are V (a + b + c) / 4 and
 * V / 20 ((a + b + c)(a + b + c)ᵀ + a aᵀ + b bᵀ + c cᵀ). */
void rp__shape_mesh_mass(const rp_mesh *mesh, rp__shape_mass *mass)
{
    rp__vec3 o = rp__vec3_load(mesh->vertices);
    double volume = 0, first[3] = { 0 }, second[3][3] = { { 0 } };
    for (int64_t t = 0; t < mesh->triangle_count; t++) {
        double p[3][3], s[3];
        for (int k = 0; k < 3; k++)
            rp__vec3_store(p[k], rp__vec3_sub(rp__vec3_load(mesh->vertices + 3 * (int64_t)mesh->triangles[3 * t + k]), o));
        double v = rp__vec3_dot(rp__vec3_load(p[0]), rp__vec3_cross(rp__vec3_load(p[1]), rp__vec3_load(p[2]))) / 6;
        for (int i = 0; i < 3; i++)
            s[i] = p[0][i] + p[1][i] + p[2][i];
        volume += v;
        for (int i = 0; i < 3; i++) {
            first[i] += v * s[i] / 4;
            for (int j = 0; j < 3; j++)
                second[i][j] += v / 20 * (s[i] * s[j] + p[0][i] * p[0][j] + p[1][i] * p[1][j] + p[2][i] * p[2][j]);
        }
    }
    mass->volume = volume;
    double c[3];
    for (int i = 0; i < 3; i++)
        c[i] = volume != 0 ? first[i] / volume : 0;
    double trace = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            second[i][j] -= volume * c[i] * c[j];
        trace += second[i][i];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            mass->inertia.m[i][j] = (i == j ? trace : 0) - second[i][j];
    mass->centre = rp__vec3_add(o, rp__vec3_load(c));
}
