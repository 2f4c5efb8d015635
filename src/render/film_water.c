/* The fluid of a run that has a surface, as a body of water: the grid file beside a frame holds the distance to the surface at nodes, and the zero of
 * it, closed along the faces of the domain, is a mesh. A section is as thick as its grains. */
#include "render/film.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Distances on a lattice of n nodes, with a shell of air around them as thin as nothing. */
typedef struct block {
    int64_t n[3];
    double *value;                /* less than zero in the fluid */
    double *at[3];                /* of the planes of nodes */
    int32_t *vertex;              /* of the 7 edges from each node to nodes with larger indices; -1: none yet */
    rp_mesh mesh;
    int64_t vertex_capacity, triangle_capacity;
} block;

static void free_block(block *b)
{
    rp__base_free(b->value);
    rp__base_free(b->vertex);
    for (int a = 0; a < 3; a++)
        rp__base_free(b->at[a]);
    rp__base_free(b->mesh.vertices);
    rp__base_free(b->mesh.triangles);
}

static int64_t index_of(const block *b, const int64_t at[3])
{
    return (at[2] * b->n[1] + at[1]) * b->n[0] + at[0];
}

/* The lattice of a grid file: nodes of the domain, x fastest; along periodic axes the first ones again at the end; in a section two layers. */
static rp_result make_block(const rp_film *film, const rp_field_view *distance, block *b)
{
    const rp_sim_def *sim = film->sim;
    double h = sim->cell_size, thin = 1e-3 * h;
    int64_t nodes[3] = { 1, 1, 1 }, count = 1, all = 1;
    for (int a = 0; a < 3; a++) {
        bool flat = a >= sim->dim;
        int64_t cells = flat ? 1 : (int64_t)((sim->upper[a] - sim->lower[a]) / h + 0.5);
        nodes[a] = flat ? 1 : cells + (sim->wall[2 * a].kind != RP_PERIODIC);
        b->n[a] = cells + 3;
        count *= nodes[a], all *= b->n[a];
        b->at[a] = RP_NEW_ARRAY(double, b->n[a]);
        if (!b->at[a])
            return RP_OUT_OF_MEMORY;
        for (int64_t i = 0; i <= cells; i++)
            b->at[a][1 + i] = flat ? h * ((double)i - 0.5) : sim->lower[a] + h * (double)i;
        b->at[a][0] = b->at[a][1] - thin, b->at[a][cells + 2] = b->at[a][cells + 1] + thin;
    }
    if (count != distance->count)
        return rp__base_fail(RP_BAD_FILE, "the grid file has %lld nodes; its domain has %lld", (long long)distance->count, (long long)count);
    b->value = RP_NEW_ARRAY(double, all);
    b->vertex = RP_NEW_ARRAY(int32_t, 7 * all);
    if (!b->value || !b->vertex)
        return RP_OUT_OF_MEMORY;
    memset(b->vertex, -1, (size_t)(7 * all) * sizeof *b->vertex);
    int64_t at[3];
    for (at[2] = 0; at[2] < b->n[2]; at[2]++)
        for (at[1] = 0; at[1] < b->n[1]; at[1]++)
            for (at[0] = 0; at[0] < b->n[0]; at[0]++) {
                bool shell = false;
                int64_t from[3];
                for (int a = 0; a < 3; a++) {
                    shell = shell || at[a] == 0 || at[a] == b->n[a] - 1;
                    from[a] = (at[a] - 1 + nodes[a]) % nodes[a];
                }
                int64_t i = (from[2] * nodes[1] + from[1]) * nodes[0] + from[0];
                b->value[index_of(b, at)] = shell ? h : ((const double *)distance->data)[i];
            }
    return RP_OK;
}

/* Where the surface crosses the edge from a node along `bits`. */
static rp_result crossing(block *b, const int64_t low[3], int bits, int32_t *out)
{
    int64_t high[3], i = index_of(b, low);
    int32_t *known = &b->vertex[7 * i + bits - 1];
    if (*known >= 0) {
        *out = *known;
        return RP_OK;
    }
    for (int a = 0; a < 3; a++)
        high[a] = low[a] + (bits >> a & 1);
    if (!rp__base_grow(&b->mesh.vertices, &b->vertex_capacity, 3 * (b->mesh.vertex_count + 1), sizeof *b->mesh.vertices))
        return RP_OUT_OF_MEMORY;
    double p = b->value[i], q = b->value[index_of(b, high)], t = p / (p - q);
    for (int a = 0; a < 3; a++)
        b->mesh.vertices[3 * b->mesh.vertex_count + a] = b->at[a][low[a]] + t * (b->at[a][high[a]] - b->at[a][low[a]]);
    *out = *known = (int32_t)b->mesh.vertex_count++;
    return RP_OK;
}

/* A triangle, counter-clockwise seen from where the air is. */
static rp_result add_triangle(block *b, const int32_t v[3], const double outwards[3])
{
    if (!rp__base_grow(&b->mesh.triangles, &b->triangle_capacity, 3 * (b->mesh.triangle_count + 1), sizeof *b->mesh.triangles))
        return RP_OUT_OF_MEMORY;
    const double *x = b->mesh.vertices;
    rp__vec3 p = rp__vec3_load(x + 3 * v[0]);
    rp__vec3 n = rp__vec3_cross(rp__vec3_sub(rp__vec3_load(x + 3 * v[1]), p), rp__vec3_sub(rp__vec3_load(x + 3 * v[2]), p));
    bool turned = rp__vec3_dot(n, rp__vec3_load(outwards)) < 0;
    int32_t *to = b->mesh.triangles + 3 * b->mesh.triangle_count++;
    to[0] = v[0], to[1] = v[turned ? 2 : 1], to[2] = v[turned ? 1 : 2];
    return RP_OK;
}

/* The part of the surface in a tetrahedron whose corners are bits of a cell, each a part of the next. */
static rp_result add_tetrahedron(block *b, const int64_t cell[3], const int corner[4])
{
    int inside[4], outside[4], in = 0, out = 0;
    double x[4][3], outwards[3] = { 0 };
    for (int k = 0; k < 4; k++) {
        int64_t at[3];
        for (int a = 0; a < 3; a++)
            at[a] = cell[a] + (corner[k] >> a & 1), x[k][a] = b->at[a][at[a]];
        if (b->value[index_of(b, at)] < 0)
            inside[in++] = k;
        else
            outside[out++] = k;
    }
    if (in == 0 || out == 0)
        return RP_OK;
    for (int a = 0; a < 3; a++) {
        for (int k = 0; k < out; k++)
            outwards[a] += x[outside[k]][a] / out;
        for (int k = 0; k < in; k++)
            outwards[a] -= x[inside[k]][a] / in;
    }
    int32_t v[4];
    int count = 0;
    for (int i = 0; i < in; i++)
        for (int o = 0; o < out; o++) { /* around a quadrangle: 00 01 11 10 */
            int p = inside[i], q = outside[in == 2 && i == 1 ? out - 1 - o : o], low = corner[p < q ? p : q], high = corner[p < q ? q : p];
            int64_t at[3] = { cell[0] + (low & 1), cell[1] + (low >> 1 & 1), cell[2] + (low >> 2) };
            RP_TRY(crossing(b, at, high ^ low, &v[count++]));
        }
    RP_TRY(add_triangle(b, v, outwards));
    const int32_t rest[3] = { v[0], v[2], v[3] };
    return count == 4 ? add_triangle(b, rest, outwards) : RP_OK;
}

static rp_result make_mesh(block *b)
{
    static const int order[6][2] = { { 1, 3 }, { 1, 5 }, { 2, 3 }, { 2, 6 }, { 4, 5 }, { 4, 6 } };
    int64_t cell[3];
    for (cell[2] = 0; cell[2] + 1 < b->n[2]; cell[2]++)
        for (cell[1] = 0; cell[1] + 1 < b->n[1]; cell[1]++)
            for (cell[0] = 0; cell[0] + 1 < b->n[0]; cell[0]++)
                for (int k = 0; k < 6; k++) {
                    const int corner[4] = { 0, order[k][0], order[k][1], 7 };
                    RP_TRY(add_tetrahedron(b, cell, corner));
                }
    return RP_OK;
}

/* What holds the water, so that one sees where it ends. */
static rp_result add_panes(const rp_film *film, rp_render *render)
{
    const rp_sim_def *sim = film->sim;
    double thick = 0.02 * (sim->upper[0] - sim->lower[0]);
    for (int f = 0; f < 6 && sim->dim == 3; f++) {
        double a[3], b[3];
        if (f / 2 == film->up_axis || sim->wall[f].kind == RP_OPEN || sim->wall[f].kind == RP_PERIODIC)
            continue;
        memcpy(a, sim->lower, sizeof a), memcpy(b, sim->upper, sizeof b);
        a[f / 2] = f & 1 ? sim->upper[f / 2] + 0.1 * thick : sim->lower[f / 2] - thick;
        b[f / 2] = a[f / 2] + 0.9 * thick;
        static const uint8_t pane[3] = { 225, 238, 240 };
        RP_TRY(rp__film_add_board(render, a, b, pane, 0.04));
    }
    return RP_OK;
}

rp_result rp__film_add_water(const rp_film *film, int64_t i, rp_render *render)
{
    if (!rp_fluid_has_surface(film->sim->fluid))
        return RP_OK;
    char *path = rp__io_frame_path(film->folder, RP_IO_GRID_PREFIX, film->list.numbers[i]);
    if (!path)
        return RP_OUT_OF_MEMORY;
    rp_frame grid;
    block b = { 0 };
    bool there = access(path, R_OK) == 0; /* a run may have left it out */
    rp_result result = there ? rp_frame_read(path, &grid) : RP_OK;
    rp__base_free(path);
    if (!there || result != RP_OK)
        return result;
    const rp_field_view *distance = rp_frame_field(&grid, "fluid_distance");
    if (distance && distance->info.type == RP_F64)
        result = make_block(film, distance, &b);
    if (b.value && result == RP_OK)
        result = make_mesh(&b);
    if (result == RP_OK && b.mesh.triangle_count > 0) {
        rp_mesh_set set = rp_default_mesh_set();
        double wide = fmax(film->sim->upper[0] - film->sim->lower[0], film->sim->upper[1] - film->sim->lower[1]);
        static const uint8_t blue[3] = { 16, 132, 196 };
        set.mesh = &b.mesh;
        set.opacity = 0;
        set.clarity = film->sim->dim == 2 ? 0.8 * film->sim->cell_size : 1.2 * wide; /* a section is lit as if it were deep */
        memcpy(set.colour, blue, 3);
        result = rp_render_add_mesh(render, &set);
    }
    free_block(&b);
    rp_frame_free(&grid);
    return result == RP_OK ? add_panes(film, render) : result;
}
