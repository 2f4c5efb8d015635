/* The JSON of glTF files to tables. */
#include "shape/gltf.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <string.h>

/* ---- objects and arrays of JSON ---- */

typedef rp_result on_key(rp__gltf *g, rp__json *json, const char *key, void *item);
typedef rp_result on_item(rp__gltf *g, rp__json *json, void *item);

static rp_result each_key(rp__gltf *g, rp__json *json, on_key *on, void *item)
{
    char key[256];
    bool first = true, more;
    RP_TRY(rp__json_object(json));
    for (;;) {
        RP_TRY(rp__json_key(json, &first, key, sizeof key, &more));
        if (!more)
            return RP_OK;
        RP_TRY(on(g, json, key, item));
    }
}

static rp_result each_item(rp__gltf *g, rp__json *json, on_item *on, void *item)
{
    bool first = true, more;
    RP_TRY(rp__json_array(json));
    for (;;) {
        RP_TRY(rp__json_item(json, &first, &more));
        if (!more)
            return RP_OK;
        RP_TRY(on(g, json, item));
    }
}

static rp_result read_index(rp__json *json, int64_t *value)
{
    RP_TRY(rp__json_whole(json, value));
    return *value >= 0 ? RP_OK : rp__base_fail(RP_BAD_FILE, "a number that counts or points is %lld", (long long)*value);
}

/* A text of any length; free with rp__base_free. */
static rp_result read_text(rp__json *json, char **text)
{
    rp__json_peek(json);
    size_t room = 1;
    for (const char *p = json->at + 1; p < json->end && *p != '"'; p += *p == '\\' && p + 1 < json->end ? 2 : 1)
        room += 2;
    *text = rp__base_alloc(room);
    return *text ? rp__json_text(json, *text, room) : RP_OUT_OF_MEMORY;
}

/* ---- tables ---- */

static rp_result buffer_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    (void)item;
    rp__gltf_buffer *buffer = &g->buffers[g->buffer_count - 1];
    return strcmp(key, "uri") == 0 && !buffer->uri ? read_text(json, &buffer->uri) : rp__json_skip(json);
}

static rp_result read_buffer(rp__gltf *g, rp__json *json, void *item)
{
    if (!rp__base_grow(&g->buffers, &g->buffer_room, g->buffer_count + 1, sizeof *g->buffers))
        return RP_OUT_OF_MEMORY;
    g->buffers[g->buffer_count++] = (rp__gltf_buffer){ 0 };
    return each_key(g, json, buffer_key, item);
}

static rp_result view_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    (void)item;
    rp__gltf_view *view = &g->views[g->view_count - 1];
    return strcmp(key, "buffer") == 0       ? read_index(json, &view->buffer)
           : strcmp(key, "byteOffset") == 0 ? read_index(json, &view->offset)
           : strcmp(key, "byteLength") == 0 ? read_index(json, &view->length)
           : strcmp(key, "byteStride") == 0 ? read_index(json, &view->stride)
                                            : rp__json_skip(json);
}

static rp_result read_view(rp__gltf *g, rp__json *json, void *item)
{
    if (!rp__base_grow(&g->views, &g->view_room, g->view_count + 1, sizeof *g->views))
        return RP_OUT_OF_MEMORY;
    g->views[g->view_count++] = (rp__gltf_view){ .buffer = -1 };
    return each_key(g, json, view_key, item);
}

static rp_result accessor_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    (void)item;
    rp__gltf_accessor *accessor = &g->accessors[g->accessor_count - 1];
    if (strcmp(key, "type") == 0) {
        char type[16];
        RP_TRY(rp__json_text(json, type, sizeof type));
        accessor->width = strcmp(type, "SCALAR") == 0 ? 1 : strcmp(type, "VEC3") == 0 ? 3 : 0;
        return RP_OK;
    }
    if (strcmp(key, "sparse") == 0)
        accessor->sparse = true;
    return strcmp(key, "bufferView") == 0      ? read_index(json, &accessor->view)
           : strcmp(key, "byteOffset") == 0    ? read_index(json, &accessor->offset)
           : strcmp(key, "componentType") == 0 ? read_index(json, &accessor->component)
           : strcmp(key, "count") == 0         ? read_index(json, &accessor->count)
           : strcmp(key, "normalized") == 0    ? rp__json_bool(json, &accessor->normalized)
                                               : rp__json_skip(json);
}

static rp_result read_accessor(rp__gltf *g, rp__json *json, void *item)
{
    if (!rp__base_grow(&g->accessors, &g->accessor_room, g->accessor_count + 1, sizeof *g->accessors))
        return RP_OUT_OF_MEMORY;
    g->accessors[g->accessor_count++] = (rp__gltf_accessor){ .view = -1 };
    return each_key(g, json, accessor_key, item);
}

static rp_result attribute_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    (void)item;
    return strcmp(key, "POSITION") == 0 ? read_index(json, &g->primitives[g->primitive_count - 1].position) : rp__json_skip(json);
}

static rp_result primitive_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    rp__gltf_primitive *primitive = &g->primitives[g->primitive_count - 1];
    return strcmp(key, "attributes") == 0 ? each_key(g, json, attribute_key, item)
           : strcmp(key, "indices") == 0  ? read_index(json, &primitive->indices)
           : strcmp(key, "mode") == 0     ? read_index(json, &primitive->mode)
                                          : rp__json_skip(json);
}

static rp_result read_primitive(rp__gltf *g, rp__json *json, void *item)
{
    if (!rp__base_grow(&g->primitives, &g->primitive_room, g->primitive_count + 1, sizeof *g->primitives))
        return RP_OUT_OF_MEMORY;
    g->primitives[g->primitive_count++] = (rp__gltf_primitive){ .mesh = g->mesh_count, .position = -1, .indices = -1, .mode = 4 };
    return each_key(g, json, primitive_key, item);
}

static rp_result mesh_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    return strcmp(key, "primitives") == 0 ? each_item(g, json, read_primitive, item) : rp__json_skip(json);
}

static rp_result read_mesh(rp__gltf *g, rp__json *json, void *item)
{
    rp_result result = each_key(g, json, mesh_key, item);
    g->mesh_count++;
    return result;
}

static rp_result read_child(rp__gltf *g, rp__json *json, void *count)
{
    if (!rp__base_grow(&g->children, &g->child_room, g->child_count + 1, sizeof *g->children))
        return RP_OUT_OF_MEMORY;
    ++*(int64_t *)count;
    return read_index(json, &g->children[g->child_count++]);
}

static rp_result node_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    (void)item;
    rp__gltf_node *node = &g->nodes[g->node_count - 1];
    if (strcmp(key, "children") == 0) {
        node->first_child = g->child_count;
        node->children = 0;
        return each_item(g, json, read_child, &node->children);
    }
    if (strcmp(key, "matrix") == 0)
        node->has_matrix = true;
    return strcmp(key, "mesh") == 0          ? read_index(json, &node->mesh)
           : strcmp(key, "matrix") == 0      ? rp__json_numbers(json, node->matrix, 16)
           : strcmp(key, "translation") == 0 ? rp__json_numbers(json, node->translation, 3)
           : strcmp(key, "rotation") == 0    ? rp__json_numbers(json, node->rotation, 4)
           : strcmp(key, "scale") == 0       ? rp__json_numbers(json, node->scale, 3)
                                             : rp__json_skip(json);
}

static rp_result read_node(rp__gltf *g, rp__json *json, void *item)
{
    if (!rp__base_grow(&g->nodes, &g->node_room, g->node_count + 1, sizeof *g->nodes))
        return RP_OUT_OF_MEMORY;
    g->nodes[g->node_count++] = (rp__gltf_node){ .mesh = -1, .rotation = { 0, 0, 0, 1 }, .scale = { 1, 1, 1 } };
    return each_key(g, json, node_key, item);
}

static rp_result scene_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    (void)item;
    rp__gltf_scene *scene = &g->scenes[g->scene_count - 1];
    if (strcmp(key, "nodes") != 0)
        return rp__json_skip(json);
    *scene = (rp__gltf_scene){ .first = g->child_count };
    return each_item(g, json, read_child, &scene->count);
}

static rp_result read_scene(rp__gltf *g, rp__json *json, void *item)
{
    if (!rp__base_grow(&g->scenes, &g->scene_room, g->scene_count + 1, sizeof *g->scenes))
        return RP_OUT_OF_MEMORY;
    g->scenes[g->scene_count++] = (rp__gltf_scene){ 0 };
    return each_key(g, json, scene_key, item);
}

/* What changes where vertices are, and is not known here. */
static rp_result read_needed(rp__gltf *g, rp__json *json, void *item)
{
    (void)item;
    char *name = NULL;
    rp_result result = read_text(json, &name);
    if (result == RP_OK && (strstr(name, "compression") || strcmp(name, "EXT_mesh_gpu_instancing") == 0))
        result = rp__base_fail(RP_UNSUPPORTED, "%s: it needs %s, which is not read; export it without", g->path, name);
    rp__base_free(name);
    return result;
}

static rp_result top_key(rp__gltf *g, rp__json *json, const char *key, void *item)
{
    static const struct { const char *key; on_item *read; } tables[] = {
        { "buffers", read_buffer }, { "bufferViews", read_view }, { "accessors", read_accessor },       { "meshes", read_mesh },
        { "nodes", read_node },     { "scenes", read_scene },     { "extensionsRequired", read_needed },
    };
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        if (strcmp(key, tables[k].key) == 0)
            return each_item(g, json, tables[k].read, item);
    return strcmp(key, "scene") == 0 ? read_index(json, &g->scene) : rp__json_skip(json);
}

rp_result rp__shape_gltf_tables(const char *text, size_t size, rp__gltf *g)
{
    rp__json json = rp__json_open(text, size);
    rp_result result = each_key(g, &json, top_key, NULL);
    if (result == RP_OK)
        result = rp__json_finish(&json);
    return result == RP_BAD_FILE ? rp__base_fail_prefix(result, "%s: not a sound glTF file: ", g->path) : result;
}

void rp__shape_gltf_free(rp__gltf *g)
{
    for (int64_t b = 0; b < g->buffer_count; b++) {
        rp__base_free(g->buffers[b].uri);
        rp__base_free(g->buffers[b].own);
    }
    rp__base_free(g->buffers);
    rp__base_free(g->views);
    rp__base_free(g->accessors);
    rp__base_free(g->primitives);
    rp__base_free(g->nodes);
    rp__base_free(g->scenes);
    rp__base_free(g->children);
    *g = (rp__gltf){ 0 };
}
