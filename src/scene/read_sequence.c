/* Deforming bodies: a list of mesh files, or a pattern of their names, and when they are shown. */
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "scene/scene_internal.h"

#include <stdio.h>
#include <string.h>

#define Q(member) offsetof(rp__sequence_spec, member)
static const rp_param sequence_params[] = {
    { "first", RP_INT, Q(first), 0, 0, 1e9, "", "first number of a pattern", NULL },
    { "last", RP_INT, Q(last), 0, 0, 1e9, "", "last number of a pattern", NULL },
    { "frame_rate", RP_REAL, Q(frame_rate), 24, 1e-9, 1e9, "1/s", "meshes a second", NULL },
    { "start", RP_REAL, Q(start), 0, -1e12, 1e12, "s", "time of the first mesh; it stands still before", NULL },
    { "unit", RP_REAL, Q(unit), 1, 1e-12, 1e12, "m", "length of one unit of the files ('1 mm')", NULL },
    { 0 },
};
const rp_param *rp__scene_sequence_table(void) { return sequence_params; }
static void sequence_defaults(void *target)
{
    memset(target, 0, sizeof(rp__sequence_spec));
    rp__param_defaults(sequence_params, target);
}

/* Exactly one %d, with an optional width and leading zero, and nothing else that printf would take. */
static bool is_pattern(const char *text)
{
    const char *p = strchr(text, '%');
    if (!p)
        return false;
    const char *q = p + 1 + strspn(p + 1, "0123456789");
    return *q == 'd' && q - p <= 4 && !strchr(q, '%');
}

static rp_result read_files(rp__reader *r, const rp__node *value, void *target)
{
    rp__sequence_spec *spec = target;
    if (value->kind == RP_NODE_SCALAR) {
        RP_TRY(rp__scene_read_text(r, value, "files", &spec->pattern));
        if (!is_pattern(spec->pattern))
            return rp__scene_fail(
                &r->tree, value,
                "'%.60s' is no pattern: it needs one %%d where the numbers stand, as in foot_%%02d.obj; or give a list of files", spec->pattern);
        return rp__scene_resolve_path(r, value, &spec->pattern);
    }
    RP_TRY(rp__scene_need(r, value, RP_NODE_LIST, "files"));
    spec->files = rp__scene_pool_alloc(&r->scene->pool, ((size_t)value->count + 1) * sizeof *spec->files);
    if (!spec->files)
        return RP_OUT_OF_MEMORY;
    for (const rp__node *c = value->first; c; c = c->next) {
        RP_TRY(rp__scene_read_text(r, c, "files", &spec->files[spec->count]));
        RP_TRY(rp__scene_resolve_path(r, c, &spec->files[spec->count]));
        spec->count++;
    }
    return RP_OK;
}

static const rp__scene_key sequence_keys[] = {
    { "files", "text or list of texts", "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"string\"}}]}",
      "mesh files with the same triangles, in their order; or a pattern with one %d (%03d) for the numbers from first to last", NULL, read_files },
    { 0 },
};

const rp__scene_block rp__scene_sequence = {
    "sequence", "a sequence of meshes",
    "A body that deforms: closed meshes with the same triangles, one after the other. Vertices move in straight lines between them "
    "and push the grains with their velocities. It is scripted, and may be moved by `motion` as well.",
    "sequence: {files: foot_%02d.obj, first: 0, last: 47, frame_rate: 24, unit: 1 cm}", rp__scene_sequence_table, sequence_keys,
    sequence_defaults, NULL,
};

/* The names that a pattern stands for. */
static rp_result expand(rp__reader *r, const rp__node *value, rp__sequence_spec *spec)
{
    if (spec->last < spec->first || spec->last - spec->first >= 100000)
        return rp__scene_fail(&r->tree, value, "a pattern needs 'first' and 'last' with first <= last, and at most 100000 meshes (%lld to %lld)",
                              (long long)spec->first, (long long)spec->last);
    spec->count = (int)(spec->last - spec->first + 1);
    spec->files = rp__scene_pool_alloc(&r->scene->pool, (size_t)spec->count * sizeof *spec->files);
    if (!spec->files)
        return RP_OUT_OF_MEMORY;
    const char *mark = strchr(spec->pattern, '%');
    const char *rest = strchr(mark, 'd') + 1;
    bool zero = mark[1] == '0';
    int width = 0;
    for (const char *c = mark + 1; *c != 'd'; c++)
        width = 10 * width + (*c - '0');
    size_t room = strlen(spec->pattern) + (size_t)width + 24;
    for (int i = 0; i < spec->count; i++) {
        char *name = rp__scene_pool_alloc(&r->scene->pool, room);
        if (!name)
            return RP_OUT_OF_MEMORY;
        int number = (int)spec->first + i;
        if (zero)
            snprintf(name, room, "%.*s%0*d%s", (int)(mark - spec->pattern), spec->pattern, width, number, rest);
        else
            snprintf(name, room, "%.*s%*d%s", (int)(mark - spec->pattern), spec->pattern, width, number, rest);
        spec->files[i] = name;
    }
    return RP_OK;
}

rp_result rp__scene_read_sequence(rp__reader *r, const rp__node *value, rp__sequence_spec *spec, rp_mesh_sequence **out)
{
    sequence_defaults(spec);
    RP_TRY(rp__scene_read_block(r, &rp__scene_sequence, value, spec));
    if (spec->pattern)
        RP_TRY(expand(r, value, spec));
    if (spec->count == 0)
        return rp__scene_fail(&r->tree, value, "a sequence needs at least one mesh");
    spec->times = rp__scene_pool_alloc(&r->scene->pool, (size_t)spec->count * sizeof *spec->times);
    if (!spec->times)
        return RP_OUT_OF_MEMORY;
    for (int i = 0; i < spec->count; i++) {
        spec->times[i] = spec->start + i / spec->frame_rate;
        RP_TRY(rp__scene_note_file(r->scene, spec->files[i]));
    }
    return rp__scene_wrap(&r->tree, value, rp_mesh_sequence_create(spec->files, spec->times, spec->count, spec->unit, out));
}
