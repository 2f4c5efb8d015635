/* Meshes from files. */
#include "shape/mesh.h"

#include "base/error.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/memory.h"
#include "shape/mesh_faces.h"

#include <string.h>
#include <strings.h>

#define MOST_BYTES ((size_t)8 << 30)

typedef enum format { OBJ, STL, PLY, GLTF, GLB, FORMATS } format;

static format format_of(const char *path)
{
    static const char *const endings[FORMATS] = { ".obj", ".stl", ".ply", ".gltf", ".glb" };
    const char *dot = strrchr(path, '.');
    for (int f = 0; f < FORMATS && dot; f++)
        if (strcasecmp(dot, endings[f]) == 0)
            return (format)f;
    return FORMATS;
}

rp_result rp__shape_mesh_parse(const char *path, const char *text, size_t size, double scale, rp_mesh *mesh)
{
    rp__faces faces = { .path = path };
    void *locale = rp__base_locale_enter();
    format f = format_of(path);
    rp_result result = f == OBJ   ? rp__shape_read_obj(text, &faces)
                       : f == STL ? rp__shape_read_stl(text, size, &faces)
                       : f == PLY ? rp__shape_read_ply(text, size, &faces)
                                  : rp__shape_read_gltf(text, size, &faces);
    rp__base_locale_leave(locale);
    if (result == RP_OK)
        result = rp__shape_faces_triangles(&faces, scale, mesh);
    rp__shape_faces_free(&faces);
    if (result == RP_OK) {
        result = rp__shape_mesh_validate(path, mesh);
        if (result != RP_OK)
            rp_mesh_free(mesh);
    }
    return result;
}

rp_result rp__shape_mesh_read(const char *path, double scale, rp_mesh *mesh)
{
    if (!path)
        return rp__base_fail(RP_BAD_ARGUMENT, "mesh: there is no path (NULL)");
    RP_TRY(rp__shape_check_positive("mesh", "scale", scale));
    if (!rp__file_exists(path))
        return rp__base_fail(RP_NOT_FOUND, "%s: there is no such mesh file", path);
    RP_TRY(rp__file_check_regular(path));
    if (format_of(path) == FORMATS)
        return rp__base_fail(RP_UNSUPPORTED, "%s: not a known mesh format; use .obj, .stl, .ply, .gltf or .glb", path);
    char *text;
    size_t size;
    RP_TRY(rp__file_read(path, MOST_BYTES, &text, &size));
    rp_result result = rp__shape_mesh_parse(path, text, size, scale, mesh);
    rp__base_free(text);
    return result;
}
