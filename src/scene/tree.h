/* A YAML or JSON text as a plain tree: aliases copied, merge keys applied, replacements made, every node with its place. */
#ifndef RP_SCENE_TREE_H
#define RP_SCENE_TREE_H

#include "base/memory.h"

#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>

/* What a scene file may be: enough for any scene, too little to hurt. */
enum {
    RP_TREE_BYTES = 16 << 20, /* of the text */
    RP_TREE_NODES = 1 << 19,  /* after aliases are copied */
    RP_TREE_DEPTH = 48
};

typedef enum rp__node_kind { RP_NODE_SCALAR, RP_NODE_LIST, RP_NODE_MAP } rp__node_kind;

typedef struct rp__node {
    rp__node_kind kind;
    bool quoted;                    /* a scalar in quotes or a block: never null */
    const char *text;               /* of a scalar */
    struct rp__node *key;           /* of the pair whose value this is */
    struct rp__node *first, *last;  /* children */
    struct rp__node *next;
    int count;
    bool merged;                    /* came by '<<' */
    int origin;                     /* -1: the file; n: the n-th replacement */
    int line, column;               /* from 1 */
} rp__node;

/* Small pieces from an arena, 16-byte aligned. */
typedef struct rp__pool {
    rp__arena arena;
    char *free;
    size_t left;
} rp__pool;

void rp__scene_pool_init(rp__pool *pool);
void *rp__scene_pool_alloc(rp__pool *pool, size_t size); /* zeroed; NULL when there is no room */
char *rp__scene_pool_copy(rp__pool *pool, const char *text, size_t length);
void rp__scene_pool_free(rp__pool *pool);

typedef struct rp__tree {
    const char *name;               /* of the file, for messages */
    const char *text;               /* the source, for messages */
    size_t size;
    bool broken;                    /* the text is not UTF-8 */
    const char *const *set;         /* the replacements, for messages */
    rp__pool *pool;
    rp__node *root;
    int nodes;
} rp__tree;

/* Reads `text` (`size` bytes and a final 0). RP_BAD_SCENE with place, line and caret on failure. */
rp_result rp__scene_tree_parse(rp__tree *tree, rp__pool *pool, const char *name, const char *text, size_t size);

/* Replaces or adds what "path=value" says; the value is YAML. `index` is its number in tree->set. */
rp_result rp__scene_tree_set(rp__tree *tree, int index);

/* The value of `key`, or NULL. */
rp__node *rp__scene_get(const rp__node *map, const char *key);

/* Which of two values that exclude each other counts: one by '<<' (0), one of the file (1), a later replacement (2 ...). */
int rp__scene_rank(const rp__node *node);

/* An empty value or null. */
bool rp__scene_is_null(const rp__node *node);

/* "a number", "a list", "a map", "a text", "nothing". */
const char *rp__scene_kind(const rp__node *node);

/* Leaves "file:line:column: sentence", the line and a caret; returns RP_BAD_SCENE. */
rp_result rp__scene_fail(const rp__tree *tree, const rp__node *node, const char *format, ...) RP_PRINTF(3, 4);

/* The same around the sentence that is there already; passes RP_OUT_OF_MEMORY through. */
rp_result rp__scene_wrap(const rp__tree *tree, const rp__node *node, rp_result result);

#endif
