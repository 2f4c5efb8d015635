/* Where nodes lie and what walls and bodies are near them: for contacts and ties. */
#ifndef RP_NONSMOOTH_DUAL_SURFACE_H
#define RP_NONSMOOTH_DUAL_SURFACE_H

#include "nonsmooth/dual.h"

#include <math.h>

/* Distance to a surface (face 0 … 5, or 6 + body), its normal. */
static inline double du_distance(const dual *y, const rp__world *world, int surface, rp__vec3 x, rp__vec3 *n)
{
    if (surface >= 6) {
        const rp__body *body = &world->bodies[surface - 6];
        return rp__body_distance(body, &body->pose, x, n);
    }
    const rp__lattice *l = &y->lattice;
    int axis = surface / 2;
    double normal[3] = { 0 }, at[3] = { x.x, x.y, x.z };
    normal[axis] = surface & 1 ? -1 : 1;
    *n = rp__vec3_load(normal);
    return surface & 1 ? l->origin[axis] + l->h * (double)l->cells[axis] - at[axis] : at[axis] - l->origin[axis];
}

static inline rp__vec3 du_place(const dual *y, int64_t node)
{
    int64_t at[3];
    const rp__lattice *l = &y->lattice;
    rp__grid_coordinates(&y->grid, node, at);
    return rp__vec3_make(l->origin[0] + l->h * (double)at[0], l->origin[1] + l->h * (double)at[1],
                         RP_DIM == 3 ? l->origin[2] + l->h * (double)at[2] : 0);
}

static inline double du_mass(const dual *y, int64_t block, int tile)
{
    int64_t j = du_tile_node(y, block, tile);
    return j < 0 ? 0 : y->nodes.mass[j];
}

/* The dual cell around a node has a stress of its own. */
static inline bool du_has_stress(const dual *y, int64_t block, int tile)
{
    static const int before[3] = { -1, -1, RP_DIM == 3 ? -1 : 0 };
    int64_t j = du_tile_node(y, block, tile);
    return j >= 0 && du_in_use(y, du_beside(y, j, before));
}

static inline double du_largest_part(rp__vec3 n)
{
    double x = fabs(n.x), y = fabs(n.y), z = RP_DIM == 3 ? fabs(n.z) : 0;
    return x > y ? (x > z ? x : z) : y > z ? y : z;
}

/* Distances and normals at the nodes of the tile of a block. */
typedef struct du_depth {
    double d[DU_TILE];
    rp__vec3 n[DU_TILE];
} du_depth;

static inline void du_look(const dual *y, const rp__world *world, int64_t block, int surface, du_depth *out)
{
    for (int t = 0; t < DU_TILE; t++) {
        double x[3] = { 0 };
        int at[3] = { t % DU_SIDE, t / DU_SIDE % DU_SIDE, t / (DU_SIDE * DU_SIDE) };
        for (int a = 0; a < RP_DIM; a++)
            x[a] = y->lattice.origin[a] + y->lattice.h * (4.0 * y->grid.coord[block][a] + at[a]);
        out->d[t] = du_distance(y, world, surface, rp__vec3_load(x), &out->n[t]);
        if (RP_DIM == 2)
            out->n[t].z = 0;
    }
}

#endif
