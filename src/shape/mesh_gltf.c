/* glTF files, through assimp: the meshes of the nodes, where the nodes put them. */
#include "shape/mesh_faces.h"

#include "base/error.h"

#include <assimp/cimport.h>
#include <assimp/scene.h>

enum { MOST_NODES = 100000, MOST_DEPTH = 200 };

typedef struct matrix {
    double m[3][4];
} matrix;

static matrix compose(const matrix *a, const struct aiMatrix4x4 *b)
{
    double n[3][4] = { { b->a1, b->a2, b->a3, b->a4 }, { b->b1, b->b2, b->b3, b->b4 }, { b->c1, b->c2, b->c3, b->c4 } };
    matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            c.m[i][j] = a->m[i][0] * n[0][j] + a->m[i][1] * n[1][j] + a->m[i][2] * n[2][j] + (j == 3 ? a->m[i][3] : 0);
    return c;
}

static bool is_mirror(const matrix *a)
{
    return a->m[0][0] * (a->m[1][1] * a->m[2][2] - a->m[1][2] * a->m[2][1]) - a->m[0][1] * (a->m[1][0] * a->m[2][2] - a->m[1][2] * a->m[2][0]) +
               a->m[0][2] * (a->m[1][0] * a->m[2][1] - a->m[1][1] * a->m[2][0]) < 0;
}

static rp_result put_mesh(rp__faces *f, const struct aiMesh *from, const matrix *at)
{
    int64_t first = f->vertex_count;
    for (unsigned v = 0; v < from->mNumVertices; v++) {
        const struct aiVector3D *p = &from->mVertices[v];
        double x[3];
        for (int i = 0; i < 3; i++)
            x[i] = at->m[i][0] * (double)p->x + at->m[i][1] * (double)p->y + at->m[i][2] * (double)p->z + at->m[i][3];
        RP_TRY(rp__shape_faces_vertex(f, x));
    }
    bool mirrored = is_mirror(at);
    for (unsigned k = 0; k < from->mNumFaces; k++) {
        const struct aiFace *face = &from->mFaces[k];
        for (unsigned c = 0; c < face->mNumIndices; c++) {
            unsigned index = face->mIndices[mirrored ? face->mNumIndices - 1 - c : c];
            RP_TRY(rp__shape_faces_corner(f, index < from->mNumVertices ? first + index : -1));
        }
        RP_TRY(rp__shape_faces_close(f));
    }
    return RP_OK;
}

static rp_result put_node(rp__faces *f, const struct aiScene *scene, const struct aiNode *node, const matrix *parent, int depth, int *nodes)
{
    if (depth > MOST_DEPTH || ++*nodes > MOST_NODES)
        return rp__base_fail(RP_TOO_LARGE, "%s: at most %d nodes, %d below each other, are read", f->path, MOST_NODES, MOST_DEPTH);
    matrix at = compose(parent, &node->mTransformation);
    for (unsigned i = 0; i < node->mNumMeshes; i++)
        RP_TRY(put_mesh(f, scene->mMeshes[node->mMeshes[i]], &at));
    for (unsigned i = 0; i < node->mNumChildren; i++)
        RP_TRY(put_node(f, scene, node->mChildren[i], &at, depth + 1, nodes));
    return RP_OK;
}

rp_result rp__shape_read_gltf(rp__faces *f)
{
    const struct aiScene *scene = aiImportFile(f->path, 0);
    if (!scene) {
        const char *why = aiGetErrorString();
        return rp__base_fail(RP_BAD_FILE, "%s: the mesh cannot be read: %s", f->path, why && *why ? why : "no reason given");
    }
    static const matrix identity = { { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 } } };
    int nodes = 0;
    rp_result result = scene->mRootNode ? put_node(f, scene, scene->mRootNode, &identity, 0, &nodes) : RP_OK;
    aiReleaseImport(scene);
    return result;
}
