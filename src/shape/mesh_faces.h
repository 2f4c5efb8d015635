/* Faces as mesh files hold them, any number of corners each, and the triangles made of them. */
#ifndef RP_SHAPE_MESH_FACES_H
#define RP_SHAPE_MESH_FACES_H

#include <repose/shape.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp__faces {
    const char *path; /* for messages */
    double *vertices; /* 3 each */
    int64_t vertex_count, vertex_room;
    int64_t *corners; /* vertices of the faces, one face after the other */
    int64_t corner_count, corner_room;
    int64_t *ends; /* where each face ends in `corners` */
    int64_t face_count, face_room;
} rp__faces;

rp_result rp__shape_faces_vertex(rp__faces *faces, const double x[3]);
rp_result rp__shape_faces_corner(rp__faces *faces, int64_t vertex); /* of the face that is open */
rp_result rp__shape_faces_close(rp__faces *faces);                  /* ends it; points and lines are forgotten */
void rp__shape_faces_free(rp__faces *faces);

/* Ears are cut off faces with more than three corners; vertices that no face uses are left out. */
rp_result rp__shape_faces_triangles(const rp__faces *faces, double scale, rp_mesh *mesh);

/* Readers. `text` has `size` bytes and a 0 after them. */
rp_result rp__shape_read_obj(const char *text, rp__faces *faces);
rp_result rp__shape_read_stl(const char *text, size_t size, rp__faces *faces);
rp_result rp__shape_read_ply(const char *text, size_t size, rp__faces *faces);
rp_result rp__shape_read_gltf(const char *text, size_t size, rp__faces *faces); /* and the files beside it that it names */

/* The bytes of a file whose path ends in .obj, .stl, .ply, .gltf or .glb. */
rp_result rp__shape_mesh_parse(const char *path, const char *text, size_t size, double scale, rp_mesh *mesh);

/* A number at *at, which moves behind it; false when there is none before the line ends. In the C locale (base/locale.h). */
bool rp__shape_take_number(const char **at, double *value);

#endif
