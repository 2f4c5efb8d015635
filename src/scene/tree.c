/* The tree of a scene: pieces of memory, building it from libfyaml's events. */
#include "scene/tree.h"

#include "base/error.h"

#include <libfyaml.h>
#include <stdio.h>
#include <string.h>

enum {
    CHUNK = 1 << 14,
    KEYS = 1024,    /* in a map */
    ANCHORS = 1024
};

/* ---- memory ---- */

void rp__scene_pool_init(rp__pool *pool)
{
    *pool = (rp__pool){ 0 };
    rp__arena_init(&pool->arena, CHUNK);
}

void *rp__scene_pool_alloc(rp__pool *pool, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > CHUNK / 4) {
        void *large = rp__arena_alloc(&pool->arena, size);
        return large ? memset(large, 0, size) : NULL;
    }
    if (size > pool->left) {
        char *chunk = rp__arena_alloc(&pool->arena, CHUNK / 2);
        if (!chunk)
            return NULL;
        pool->free = chunk;
        pool->left = CHUNK / 2;
    }
    void *piece = pool->free;
    pool->free += size;
    pool->left -= size;
    return memset(piece, 0, size);
}

char *rp__scene_pool_copy(rp__pool *pool, const char *text, size_t length)
{
    char *copy = rp__scene_pool_alloc(pool, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void rp__scene_pool_free(rp__pool *pool)
{
    rp__arena_free(&pool->arena);
    *pool = (rp__pool){ 0 };
}

/* ---- looking ---- */

rp__node *rp__scene_get(const rp__node *map, const char *key)
{
    if (!map || map->kind != RP_NODE_MAP)
        return NULL;
    for (rp__node *n = map->first; n; n = n->next)
        if (strcmp(n->key->text, key) == 0)
            return n;
    return NULL;
}

int rp__scene_rank(const rp__node *node)
{
    return node->origin >= 0 ? 2 + node->origin : node->merged ? 0 : 1;
}

bool rp__scene_is_null(const rp__node *node)
{
    return node->kind == RP_NODE_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *rp__scene_kind(const rp__node *node)
{
    if (node->kind == RP_NODE_LIST)
        return "a list";
    if (node->kind == RP_NODE_MAP)
        return "a map";
    return rp__scene_is_null(node) ? "nothing" : "a text";
}

/* ---- building ---- */

typedef struct anchor {
    const char *name;
    rp__node *node;
} anchor;

typedef struct frame {
    rp__node *node;
    rp__node *key; /* of the pair being read, in a map */
} frame;

typedef struct builder {
    rp__tree *tree;
    const char *text; /* being read */
    size_t size;
    rp__node *root;
    frame stack[RP_TREE_DEPTH];
    int depth;
    anchor *anchors;
    int anchor_count;
    rp__node mark; /* place of the event, for messages */
} builder;

/* A node that stands at `place`; `user` is what asked for it. */
static rp_result new_node(rp__tree *tree, rp__node_kind kind, const rp__node *place, const rp__node *user, rp__node **out)
{
    if (tree->nodes >= RP_TREE_NODES)
        return rp__scene_fail(tree, user, "the scene has more than %d values once its aliases are written out",
                             RP_TREE_NODES);
    rp__node *node = rp__scene_pool_alloc(tree->pool, sizeof *node);
    if (!node)
        return RP_OUT_OF_MEMORY;
    ++tree->nodes;
    node->kind = kind;
    node->origin = place->origin;
    node->line = place->line;
    node->column = place->column;
    *out = node;
    return RP_OK;
}

static void append(rp__node *parent, rp__node *child)
{
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    ++parent->count;
}

static rp_result copy_node(rp__tree *tree, const rp__node *from, const rp__node *place, int depth, rp__node **out)
{
    if (depth >= RP_TREE_DEPTH)
        return rp__scene_fail(tree, place, "the scene is nested deeper than %d levels", RP_TREE_DEPTH);
    rp__node *node = NULL;
    RP_TRY(new_node(tree, from->kind, from, place, &node));
    node->quoted = from->quoted;
    node->text = from->text;
    for (const rp__node *c = from->first; c; c = c->next) {
        rp__node *child = NULL;
        RP_TRY(copy_node(tree, c, place, depth + 1, &child));
        child->key = c->key;
        append(node, child);
    }
    *out = node;
    return RP_OK;
}

/* Puts a finished or just opened node where it belongs. */
static rp_result place_node(builder *b, rp__node *node)
{
    if (b->depth == 0) {
        b->root = node;
        return RP_OK;
    }
    frame *top = &b->stack[b->depth - 1];
    if (top->node->kind == RP_NODE_LIST) {
        append(top->node, node);
        return RP_OK;
    }
    if (!top->key) {
        if (node->kind != RP_NODE_SCALAR)
            return rp__scene_fail(b->tree, node, "a key must be a plain word");
        const rp__node *old = rp__scene_get(top->node, node->text);
        if (old && strcmp(node->text, "<<") != 0)
            return rp__scene_fail(b->tree, node, "the key '%s' is here twice; the first is in line %d", node->text,
                                 old->key->line);
        if (top->node->count >= KEYS)
            return rp__scene_fail(b->tree, node, "a map may have at most %d keys", KEYS);
        top->key = node;
        return RP_OK;
    }
    node->key = top->key;
    top->key = NULL;
    append(top->node, node);
    return RP_OK;
}

/* "<<: *other" and "<<: [*a, *b]": adds the pairs that are not there yet. */
static rp_result merge(builder *b, rp__node *map, const rp__node *from)
{
    if (from->kind != RP_NODE_MAP)
        return rp__scene_fail(b->tree, from, "'<<' takes a map or a list of maps, not %s", rp__scene_kind(from));
    for (const rp__node *c = from->first; c; c = c->next) {
        if (rp__scene_get(map, c->key->text))
            continue;
        if (map->count >= KEYS)
            return rp__scene_fail(b->tree, from, "a map may have at most %d keys", KEYS);
        rp__node *copy = NULL;
        RP_TRY(copy_node(b->tree, c, from, b->depth, &copy));
        copy->key = c->key;
        copy->merged = true;
        append(map, copy);
    }
    return RP_OK;
}

static rp_result close_map(builder *b, rp__node *map)
{
    rp__node *children = map->first;
    bool any = false;
    for (const rp__node *c = children; c; c = c->next)
        any |= strcmp(c->key->text, "<<") == 0 && !c->key->quoted;
    if (!any)
        return RP_OK;
    map->first = map->last = NULL;
    map->count = 0;
    rp__node *merges[16];
    int count = 0;
    for (rp__node *c = children, *next; c; c = next) {
        next = c->next;
        if (strcmp(c->key->text, "<<") != 0 || c->key->quoted)
            append(map, c);
        else if (count < 16)
            merges[count++] = c;
        else
            return rp__scene_fail(b->tree, c->key, "a map may have at most 16 '<<'");
    }
    for (int i = 0; i < count; ++i) {
        if (merges[i]->kind != RP_NODE_LIST)
            RP_TRY(merge(b, map, merges[i]));
        else
            for (const rp__node *m = merges[i]->first; m; m = m->next)
                RP_TRY(merge(b, map, m));
    }
    return RP_OK;
}

static rp_result remember(builder *b, struct fy_token *token, rp__node *node)
{
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : NULL;
    if (!text)
        return RP_OK;
    if (!b->anchors) {
        b->anchors = RP_NEW_ARRAY(anchor, ANCHORS);
        if (!b->anchors)
            return RP_OUT_OF_MEMORY;
    }
    if (b->anchor_count >= ANCHORS)
        return rp__scene_fail(b->tree, &b->mark, "a scene may have at most %d anchors", ANCHORS);
    char *name = rp__scene_pool_copy(b->tree->pool, text, length);
    if (!name)
        return RP_OUT_OF_MEMORY;
    b->anchors[b->anchor_count++] = (anchor){ name, node };
    return RP_OK;
}

static rp_result on_alias(builder *b, struct fy_event *event)
{
    size_t length = 0;
    const char *text = fy_token_get_text(event->alias.anchor, &length);
    if (!text)
        return rp__scene_fail(b->tree, &b->mark, "an alias without a name");
    if (b->depth > 0 && b->stack[b->depth - 1].node->kind == RP_NODE_MAP && !b->stack[b->depth - 1].key)
        return rp__scene_fail(b->tree, &b->mark, "a key must be a plain word, not an alias");
    for (int i = b->anchor_count - 1; i >= 0; --i) {
        const anchor *a = &b->anchors[i];
        if (strlen(a->name) != length || memcmp(a->name, text, length) != 0)
            continue;
        for (int k = 0; k < b->depth; ++k)
            if (b->stack[k].node == a->node)
                return rp__scene_fail(b->tree, &b->mark, "the alias '*%s' stands inside what it repeats", a->name);
        rp__node *copy = NULL;
        RP_TRY(copy_node(b->tree, a->node, &b->mark, b->depth, &copy));
        return place_node(b, copy);
    }
    return rp__scene_fail(b->tree, &b->mark, "the alias '*%.*s' has no anchor '&%.*s' before it", (int)length, text,
                         (int)length, text);
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        ++p;
    return p;
}

/* The inside of single quotes: '' is a quote, a line break with the blanks around it is a space, more of them are one less
 * (libfyaml 0.7.12 loses memory on long runs of ''). False when the marks do not stand at quotes. */
static bool single_quoted(builder *b, struct fy_token *token, char **out)
{
    const struct fy_mark *start = fy_token_start_mark(token), *stop = fy_token_end_mark(token);
    if (!start || !stop || start->input_pos < 1 || stop->input_pos < start->input_pos || stop->input_pos >= b->size ||
        b->text[start->input_pos - 1] != '\'' || b->text[stop->input_pos] != '\'')
        return false;
    const char *p = b->text + start->input_pos, *end = b->text + stop->input_pos;
    char *to = rp__scene_pool_alloc(b->tree->pool, (size_t)(end - p) + 1);
    *out = to;
    while (to && p < end) {
        const char *after = skip_blanks(p, end);
        int breaks = 0;
        while (after < end && (*after == '\n' || *after == '\r')) {
            after += *after == '\r' && after + 1 < end && after[1] == '\n' ? 2 : 1;
            after = skip_blanks(after, end);
            ++breaks;
        }
        if (breaks == 0) {
            p += *p == '\'' && p + 1 < end; /* the second of two */
            *to++ = *p++;
            continue;
        }
        p = after;
        if (breaks == 1)
            *to++ = ' ';
        for (int i = 1; i < breaks; ++i)
            *to++ = '\n';
    }
    return true;
}

static rp_result on_scalar(builder *b, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    enum fy_scalar_style style = token ? fy_scalar_token_get_style(token) : FYSS_PLAIN;
    char *copy = NULL;
    if (style != FYSS_SINGLE_QUOTED || !single_quoted(b, token, &copy)) {
        size_t length = 0;
        const char *text = token ? fy_token_get_text(token, &length) : NULL;
        if (text && memchr(text, '\0', length))
            return rp__scene_fail(b->tree, &b->mark, "a text may not contain a zero byte");
        copy = rp__scene_pool_copy(b->tree->pool, text ? text : "", text ? length : 0);
    }
    if (!copy)
        return RP_OUT_OF_MEMORY;
    rp__node *node = NULL;
    RP_TRY(new_node(b->tree, RP_NODE_SCALAR, &b->mark, &b->mark, &node));
    node->text = copy;
    node->quoted = style != FYSS_PLAIN;
    RP_TRY(remember(b, event->scalar.anchor, node));
    return place_node(b, node);
}

static rp_result on_open(builder *b, rp__node_kind kind, struct fy_token *anchor_token)
{
    if (b->depth >= RP_TREE_DEPTH)
        return rp__scene_fail(b->tree, &b->mark, "the scene is nested deeper than %d levels", RP_TREE_DEPTH);
    rp__node *node = NULL;
    RP_TRY(new_node(b->tree, kind, &b->mark, &b->mark, &node));
    RP_TRY(remember(b, anchor_token, node));
    RP_TRY(place_node(b, node));
    b->stack[b->depth++] = (frame){ node, NULL };
    return RP_OK;
}

static rp_result on_close(builder *b)
{
    frame *top = &b->stack[b->depth - 1];
    RP_TRY(top->node->kind == RP_NODE_MAP ? close_map(b, top->node) : RP_OK);
    --b->depth;
    return RP_OK;
}

static rp_result on_event(builder *b, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark) {
        enum fy_scalar_style style = event->type == FYET_SCALAR && event->scalar.value
                                         ? fy_scalar_token_get_style(event->scalar.value) : FYSS_ANY;
        bool inside = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED || event->type == FYET_ALIAS;
        b->mark.line = mark->line + 1;
        b->mark.column = mark->column + (inside && mark->column > 0 ? 0 : 1); /* the quote or the star itself */
    }
    if (fy_event_get_tag_token(event))
        return rp__scene_fail(b->tree, &b->mark, "a tag ('!...'); scenes have none");
    switch (event->type) {
    case FYET_DOCUMENT_START:
        return b->root ? rp__scene_fail(b->tree, &b->mark, "a second document; a scene file holds one") : RP_OK;
    case FYET_ALIAS: return on_alias(b, event);
    case FYET_SCALAR: return on_scalar(b, event);
    case FYET_MAPPING_START: return on_open(b, RP_NODE_MAP, event->mapping_start.anchor);
    case FYET_SEQUENCE_START: return on_open(b, RP_NODE_LIST, event->sequence_start.anchor);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END: return on_close(b);
    default: return RP_OK;
    }
}

/* The parser's own complaint, with its place. */
static rp_result parse_error(builder *b, struct fy_diag *diag)
{
    void *iterator = NULL;
    rp__node place = b->mark;
    const char *message = "this is not YAML";
    char text[256];
    for (const struct fy_diag_error *e; (e = fy_diag_errors_iterate(diag, &iterator)) != NULL;) {
        if (e->line >= 0 && e->column >= 0 && e->msg) {
            place.line = e->line > 0 ? e->line : 1;
            place.column = e->column > 0 ? e->column : 1;
            snprintf(text, sizeof text, "this is not YAML: %.200s", e->msg);
            text[strcspn(text, "\n")] = '\0';
            message = text;
            break;
        }
    }
    return rp__scene_fail(b->tree, &place, "%s", message);
}

static rp_result run_events(builder *b, struct fy_parser *parser, struct fy_diag *diag)
{
    for (;;) {
        struct fy_event *event = fy_parser_parse(parser);
        if (!event)
            return fy_parser_get_stream_error(parser) || fy_diag_got_error(diag) ? parse_error(b, diag) : RP_OK;
        bool end = event->type == FYET_STREAM_END;
        rp_result result = on_event(b, event);
        fy_parser_event_free(parser, event);
        if (result != RP_OK || end)
            return result;
    }
}

static rp_result build(rp__tree *tree, const char *text, size_t size, int origin, rp__node **root)
{
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    diag_config.output_fn = NULL;
    diag_config.colorize = false;
    struct fy_diag *diag = fy_diag_create(&diag_config);
    if (!diag)
        return rp__base_fail(RP_OUT_OF_MEMORY, "out of memory for the YAML reader");
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg config = { .flags = FYPCF_QUIET | FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION, .diag = diag };
    struct fy_parser *parser = fy_parser_create(&config);
    rp_result result = RP_OK;
    builder b = { .tree = tree, .text = text, .size = size };
    b.mark = (rp__node){ .origin = origin, .line = 1, .column = 1 };
    if (!parser || fy_parser_set_string(parser, text, size) != 0)
        result = rp__base_fail(RP_OUT_OF_MEMORY, "out of memory for the YAML reader");
    if (result == RP_OK)
        result = run_events(&b, parser, diag);
    if (parser)
        fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    rp__base_free(b.anchors);
    if (result == RP_OK)
        *root = b.root;
    return result;
}

/* Finds bytes that are not UTF-8 text, before the parser sees them. */
static bool bad_byte(const char *text, size_t size, size_t *at)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < size;) {
        *at = i;
        unsigned char c = s[i];
        size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
        if (more == 9 || (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f || i + more >= size)
            return true;
        for (size_t k = 1; k <= more; ++k)
            if ((s[i + k] & 0xc0) != 0x80)
                return true;
        if ((c == 0xe0 && s[i + 1] < 0xa0) || (c == 0xed && s[i + 1] > 0x9f) || (c == 0xf0 && s[i + 1] < 0x90) ||
            (c == 0xf4 && s[i + 1] > 0x8f))
            return true;
        i += 1 + more;
    }
    return false;
}

rp_result rp__scene_tree_parse(rp__tree *tree, rp__pool *pool, const char *name, const char *text, size_t size)
{
    *tree = (rp__tree){ .name = name, .text = text, .size = size, .pool = pool };
    if (size > RP_TREE_BYTES)
        return rp__scene_fail(tree, NULL, "a scene of %zu bytes; at most %d are read", size, RP_TREE_BYTES);
    size_t at;
    if (bad_byte(text, size, &at)) {
        rp__node place = { .origin = -1, .line = 1, .column = 1 };
        for (size_t i = 0; i < at; ++i) {
            place.column = text[i] == '\n' ? 1 : place.column + (((unsigned char)text[i] & 0xc0) != 0x80);
            place.line += text[i] == '\n';
        }
        tree->broken = true;
        return rp__scene_fail(tree, &place, "the byte 0x%02x is not text; a scene is UTF-8", (unsigned char)text[at]);
    }
    RP_TRY(build(tree, text, size, -1, &tree->root));
    if (!tree->root || rp__scene_is_null(tree->root))
        return rp__scene_fail(tree, NULL, "the scene is empty; it needs at least 'domain' and 'cell_size'");
    return RP_OK;
}

/* ---- replacements ---- */

/* The item of a list that `step` names: an index, or the 'name' of a map in it. */
static rp__node *find_item(rp__node *list, const char *step, int *index)
{
    *index = -1;
    if (step[0] && strspn(step, "0123456789") == strlen(step) && strlen(step) < 7) {
        int wanted = 0;
        for (const char *c = step; *c; ++c)
            wanted = 10 * wanted + (*c - '0');
        *index = wanted;
        rp__node *n = list->first;
        while (n && wanted-- > 0)
            n = n->next;
        return n;
    }
    for (rp__node *n = list->first; n; n = n->next) {
        const rp__node *name = rp__scene_get(n, "name");
        if (name && name->kind == RP_NODE_SCALAR && strcmp(name->text, step) == 0)
            return n;
    }
    return NULL;
}

static rp_result new_child(rp__tree *tree, rp__node *parent, const char *step, const rp__node *place, rp__node **out)
{
    RP_TRY(new_node(tree, RP_NODE_SCALAR, place, place, out));
    (*out)->text = "";
    if (parent->kind == RP_NODE_MAP) {
        rp__node *key = NULL;
        RP_TRY(new_node(tree, RP_NODE_SCALAR, place, place, &key));
        key->text = rp__scene_pool_copy(tree->pool, step, strlen(step));
        if (!key->text)
            return RP_OUT_OF_MEMORY;
        (*out)->key = key;
    }
    append(parent, *out);
    return RP_OK;
}

/* One step down; makes what is not there. A preset's name grows into a map that holds it. */
static rp_result descend(rp__tree *tree, rp__node *at, const char *step, const char *path, const rp__node *place,
                         rp__node **out)
{
    if (at->kind == RP_NODE_SCALAR) {
        bool null = rp__scene_is_null(at);
        const rp__node old = *at;
        at->kind = RP_NODE_MAP;
        at->text = NULL;
        if (!null) {
            rp__node *preset = NULL;
            RP_TRY(new_child(tree, at, "preset", &old, &preset));
            preset->text = old.text;
        }
    }
    int index = -1;
    *out = at->kind == RP_NODE_MAP ? rp__scene_get(at, step) : find_item(at, step, &index);
    if (*out)
        return RP_OK;
    if (at->kind == RP_NODE_LIST && index != at->count)
        return rp__scene_fail(tree, place, "'%s' of '%s' is no item of that list: it has %d, give 0 to %d or a name", step,
                             path, at->count, at->count);
    return new_child(tree, at, step, place, out);
}

rp_result rp__scene_tree_set(rp__tree *tree, int index)
{
    const char *text = tree->set[index];
    rp__node place = { .origin = index, .line = 1, .column = 1 };
    const char *equals = text ? strchr(text, '=') : NULL;
    if (!equals || equals == text)
        return rp__scene_fail(tree, NULL, "--set %.200s: write it as key.path=value", text ? text : "");
    size_t at;
    if (strlen(text) > 1 << 16 || bad_byte(text, strlen(text), &at))
        return rp__scene_fail(tree, &place, "the replacement is too long or not text");
    char *path = rp__scene_pool_copy(tree->pool, text, (size_t)(equals - text));
    char *value = rp__scene_pool_copy(tree->pool, equals + 1, strlen(equals + 1));
    if (!path || !value)
        return RP_OUT_OF_MEMORY;

    rp__node *node = tree->root, *root = NULL;
    RP_TRY(build(tree, value, strlen(value), index, &root));
    int depth = 0;
    for (char *step = path, *dot; step; step = dot) {
        dot = strchr(step, '.');
        if (dot)
            *dot++ = '\0';
        if (!step[0] || ++depth >= RP_TREE_DEPTH)
            return rp__scene_fail(tree, &place, "an empty step in the path, or too many; write it as key.path=value");
        RP_TRY(descend(tree, node, step, path, &place, &node));
    }
    node->kind = root ? root->kind : RP_NODE_SCALAR;
    node->text = root ? root->text : "";
    node->quoted = root ? root->quoted : false;
    node->first = root ? root->first : NULL;
    node->last = root ? root->last : NULL;
    node->count = root ? root->count : 0;
    node->origin = index;
    if (node->key) /* which messages point at where there is no value */
        node->key->origin = index;
    return RP_OK;
}
