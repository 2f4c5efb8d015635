/* In the place of mesh_gltf.c where assimp is left out: OBJ, STL and PLY are read without it. */
#include "base/error.h"
#include "shape/mesh_faces.h"

rp_result rp__shape_read_gltf(rp__faces *faces)
{
    return rp__base_fail(RP_UNSUPPORTED, "%s: this library was built without the component 'meshes' (assimp), which reads glTF; .obj, .stl and .ply are read",
                         faces->path);
}
