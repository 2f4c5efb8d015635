/* Triangle meshes inside the room: loading, checks, the tree for nearest points and winding numbers, the narrow band. */
#ifndef RP_SHAPE_MESH_H
#define RP_SHAPE_MESH_H

#include "math/vec.h"
#include "shape/shape_class.h"

#include <repose/shape.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- mesh_load.c ---- */

/* Triangles of the file as they stand: vertices may be there many times. */
rp_result rp__shape_mesh_read(const char *path, double scale, rp_mesh *mesh);

/* For each vertex the first one at the same place, renumbered without gaps: map[old] = new. Returns the new number. */
rp_result rp__shape_mesh_weld_map(const rp_mesh *mesh, int32_t *map, int64_t *count);

/* Vertices moved together by the map; triangles that lose a corner are dropped. */
rp_result rp__shape_mesh_weld(const rp_mesh *mesh, const int32_t *map, int64_t count, rp_mesh *out);

/* ---- mesh_check.c ---- */

typedef struct rp__mesh_report {
    int64_t open_edges;         /* with one triangle */
    int64_t crowded_edges;      /* with more than two */
    int64_t turned;             /* triangles turned over to agree with their neighbours */
    int64_t conflicts;          /* edges whose triangles cannot be made to agree */
    double volume;              /* signed, of the mesh as it came */
    bool inside_out;            /* volume < 0: all triangles were turned over */
} rp__mesh_report;

/* Makes the orientation of neighbours agree and the volume positive. adjacent[3 t + e]: the triangle across edge e of t (from
 * corner e to e + 1), -1 where there is none or more than one. */
rp_result rp__shape_mesh_orient(rp_mesh *mesh, int32_t *adjacent, rp__mesh_report *report);

/* Finite vertices, indices in range, something there; `what` names it in messages. */
rp_result rp__shape_mesh_validate(const char *what, const rp_mesh *mesh);

/* Exact volume, centre and inertia by the divergence theorem. */
void rp__shape_mesh_mass(const rp_mesh *mesh, rp__shape_mass *mass);

/* ---- bvh.c ---- */

typedef struct rp__bvh_node {
    rp__vec3 lower, upper;
    int32_t right;        /* of an inner node; the left child follows the node */
    int32_t first, count; /* triangles of a leaf; count 0: inner node */
} rp__bvh_node;

/* The dipole of the triangles below a node, for the winding number. */
typedef struct rp__bvh_dipole {
    rp__vec3 centre, area; /* area-weighted centre, sum of area vectors */
    double reach;          /* of the triangles around the centre */
} rp__bvh_dipole;

typedef struct rp__bvh {
    rp__bvh_node *nodes;
    rp__bvh_dipole *dipoles;
    int64_t node_count;
    int32_t *order; /* order[k]: triangle k of the tree in the mesh */
    rp__vec3 *corners; /* 3 a triangle, in the order of the tree */
    int64_t triangle_count;
} rp__bvh;

rp_result rp__shape_bvh_build(const rp_mesh *mesh, rp__bvh *bvh);
void rp__shape_bvh_free(rp__bvh *bvh);

/* Where on its triangle the nearest point lies. */
typedef enum rp__feature { RP_FACE, RP_EDGE_AB, RP_EDGE_BC, RP_EDGE_CA, RP_CORNER_A, RP_CORNER_B, RP_CORNER_C } rp__feature;

typedef struct rp__nearest {
    double squared;     /* in: the bound of the search; out: squared distance */
    int32_t triangle;   /* of the mesh; -1 when nothing is nearer than the bound */
    rp__feature feature;
    rp__vec3 point;
    double weight[3];   /* barycentric */
} rp__nearest;

void rp__shape_bvh_nearest(const rp__bvh *bvh, rp__vec3 p, rp__nearest *nearest);

/* Generalised winding number: 1 inside, 0 outside of a closed mesh; distant parts by their dipoles. */
double rp__shape_bvh_winding(const rp__bvh *bvh, rp__vec3 p);
double rp__shape_bvh_winding_ref(const rp__bvh *bvh, rp__vec3 p); /* every triangle */

/* Nearest point of one triangle. */
void rp__shape_triangle_nearest(rp__vec3 a, rp__vec3 b, rp__vec3 c, rp__vec3 p, rp__nearest *nearest);

/* ---- mesh_band.c ---- */

enum { RP_BAND_BLOCK = 8, RP_BAND_NODES = 9 * 9 * 9 };

/* Signed distances on a lattice: coarse nodes everywhere in the box, fine ones in the blocks near the surface. */
typedef struct rp__band {
    rp__vec3 origin;
    double h;              /* of the fine lattice; coarse cells are RP_BAND_BLOCK h */
    int32_t cells[3];      /* coarse */
    float *coarse;         /* (cells + 1)³ */
    int32_t *blocks;       /* of each coarse cell its block of fine nodes, or -1 */
    float *fine;           /* RP_BAND_NODES a block */
    int64_t block_count;
    bool trusted;          /* signs by normals agreed with those by winding number at all nodes */
} rp__band;

void rp__shape_band_free(rp__band *band);

/* ---- mesh_cache.c ---- */

typedef struct rp__mesh_hash {
    uint64_t a, b;
} rp__mesh_hash;

rp__mesh_hash rp__shape_mesh_hash(const rp_mesh *mesh, double h);
bool rp__shape_cache_load(rp__mesh_hash hash, rp__band *band);       /* false: not there, or damaged */
void rp__shape_cache_store(rp__mesh_hash hash, const rp__band *band); /* failing to is not an error */

/* ---- mesh.c ---- */

typedef struct rp__mesh_shape {
    rp_shape base;
    rp_mesh mesh;
    int32_t *adjacent;
    rp__vec3 *normals;    /* of the vertices, weighted by angle; not unit */
    rp__bvh bvh;
    rp__band band;        /* h = 0: none */
    bool clean;           /* closed, two triangles an edge, agreeing */
    double *velocities;   /* 3 a vertex, or NULL */
    rp__shape_mass mass;
} rp__mesh_shape;

typedef enum rp__mesh_flags { RP_MESH_BAND = 1 /* with a narrow band */ } rp__mesh_flags;

/* Takes the mesh (welded) over, whatever the result. */
rp_result rp__shape_mesh_create(const char *what, rp_mesh *mesh, int flags, double *velocities, rp_shape **out);

extern const rp__shape_class rp__shape_mesh_class;

/* The sign of the nearest feature's normal towards p: -1 inside. */
double rp__shape_mesh_normal_sign(const rp__mesh_shape *s, rp__vec3 p, const rp__nearest *nearest);

/* Builds the band with cells of about the longest side over `resolution`. */
rp_result rp__shape_band_build(rp__mesh_shape *s, double h);
double rp__shape_mesh_band_size(const rp_mesh *mesh);

/* What the band knows at p: an upper bound of |d|, and the sign (0 when it does not). */
void rp__shape_band_lookup(const rp__band *band, rp__vec3 p, double *bound, double *sign);

#endif
