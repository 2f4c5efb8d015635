/* What a glTF file says, as tables: numbers are indices of other tables, -1 where there is none, and not yet compared with their sizes. */
#ifndef RP_SHAPE_GLTF_H
#define RP_SHAPE_GLTF_H

#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp__gltf_buffer {
    char *uri; /* NULL: the second part of a .glb file */
    const unsigned char *bytes;
    size_t size;
    char *own; /* where the bytes are, when they came from elsewhere */
} rp__gltf_buffer;

typedef struct rp__gltf_view {
    int64_t buffer, offset, length, stride; /* stride 0: one element after the other */
} rp__gltf_view;

enum { RP_GLTF_I8 = 5120, RP_GLTF_U8, RP_GLTF_I16, RP_GLTF_U16, RP_GLTF_U32 = 5125, RP_GLTF_F32 };

typedef struct rp__gltf_accessor {
    int64_t view, offset, component, count;
    int width; /* of an element, in components: 1 or 3; 0: another */
    bool normalized, sparse;
} rp__gltf_accessor;

typedef struct rp__gltf_primitive {
    int64_t mesh, position, indices, mode;
} rp__gltf_primitive;

typedef struct rp__gltf_node {
    int64_t mesh, first_child, children; /* in the list of children */
    double matrix[16], translation[3], rotation[4], scale[3];
    bool has_matrix, is_child, visited;
} rp__gltf_node;

typedef struct rp__gltf_scene {
    int64_t first, count; /* in the list of children */
} rp__gltf_scene;

typedef struct rp__gltf {
    const char *path;
    rp__gltf_buffer *buffers;
    rp__gltf_view *views;
    rp__gltf_accessor *accessors;
    rp__gltf_primitive *primitives; /* by mesh */
    rp__gltf_node *nodes;
    rp__gltf_scene *scenes;
    int64_t *children;
    int64_t buffer_count, view_count, accessor_count, primitive_count, node_count, scene_count, child_count, mesh_count;
    int64_t buffer_room, view_room, accessor_room, primitive_room, node_room, scene_room, child_room;
    int64_t scene; /* that is to be shown */
    int64_t bytes; /* of the file and of those it names, as far as they were read */
} rp__gltf;

rp_result rp__shape_gltf_tables(const char *json, size_t size, rp__gltf *gltf); /* free in any case */
void rp__shape_gltf_free(rp__gltf *gltf);

#endif
