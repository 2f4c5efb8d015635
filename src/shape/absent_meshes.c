/* In the place of mesh_load.c where assimp is left out: meshes come as arrays. */
#include "base/error.h"
#include "shape/mesh.h"

rp_result rp__shape_mesh_read(const char *path, double scale, rp_mesh *mesh)
{
    (void)scale;
    (void)mesh;
    return rp__base_fail(RP_UNSUPPORTED, "%s: this library was built without the component 'meshes' (assimp); give the mesh as arrays", path);
}
