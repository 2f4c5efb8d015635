#include "base/error.h"
#include "base/memory.h"

#include <repose/state.h>
#include <string.h>

static size_t type_size(rp_type type)
{
    return type == RP_F64 || type == RP_I64 ? 8 : 4;
}

rp_result rp_state_add(rp_state *state, const char *name, rp_type type, int64_t count, const void *data)
{
    if (strlen(name) >= sizeof ((rp_blob *)0)->name || count < 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "state array '%s' has too long a name or a negative size", name);
    if (rp_state_find(state, name))
        return rp__base_fail(RP_BAD_ARGUMENT, "state array '%s' stands twice", name);
    int64_t capacity = state->capacity;
    if (!rp__base_grow(&state->blobs, &capacity, state->count + 1, sizeof(rp_blob)))
        return RP_OUT_OF_MEMORY;
    state->capacity = (int)capacity;
    void *copy = rp__base_alloc_array((size_t)count, type_size(type));
    if (!copy)
        return RP_OUT_OF_MEMORY;
    if (count)
        memcpy(copy, data, (size_t)count * type_size(type));
    rp_blob *blob = &state->blobs[state->count++];
    memset(blob, 0, sizeof *blob);
    strcpy(blob->name, name);
    blob->type = type;
    blob->count = count;
    blob->data = copy;
    return RP_OK;
}

const rp_blob *rp_state_find(const rp_state *state, const char *name)
{
    for (int i = 0; i < state->count; i++)
        if (strcmp(state->blobs[i].name, name) == 0)
            return &state->blobs[i];
    return NULL;
}

void rp_state_free(rp_state *state)
{
    for (int i = 0; i < state->count; i++)
        rp__base_free(state->blobs[i].data);
    rp__base_free(state->blobs);
    memset(state, 0, sizeof *state);
}
