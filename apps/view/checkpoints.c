#include "checkpoints.h"

#include <string.h>

static size_t size_of(const rp_state *s)
{
    static const size_t sizes[] = { [RP_F64] = 8, [RP_F32] = 4, [RP_I64] = 8, [RP_I32] = 4 };
    size_t bytes = 0;
    for (int k = 0; k < s->count; k++)
        bytes += (size_t)s->blobs[k].count * sizes[s->blobs[k].type];
    return bytes;
}

void checkpoints_init(checkpoints *c, size_t most_bytes)
{
    memset(c, 0, sizeof *c);
    c->every = 1;
    c->most = most_bytes;
}

static void forget(checkpoints *c, int k)
{
    c->bytes -= size_of(&c->state[k]);
    rp_state_free(&c->state[k]);
    c->count--;
    memmove(&c->state[k], &c->state[k + 1], (size_t)(c->count - k) * sizeof *c->state);
    memmove(&c->frame[k], &c->frame[k + 1], (size_t)(c->count - k) * sizeof *c->frame);
}

void checkpoints_free(checkpoints *c)
{
    while (c->count > 0)
        forget(c, c->count - 1);
}

/* Every other one, but never the first. */
static void halve(checkpoints *c)
{
    c->every *= 2;
    for (int k = c->count - 1; k > 0; k--)
        if (c->frame[k] % c->every != 0)
            forget(c, k);
}

rp_result checkpoints_keep(checkpoints *c, const rp_sim *sim)
{
    int64_t frame = rp_sim_frame(sim);
    if (c->count > 0 && (frame % c->every != 0 || frame <= c->frame[c->count - 1]))
        return RP_OK;
    while (c->count > 1 && (c->count == CHECKPOINTS_MOST || c->bytes > c->most)) {
        int before = c->count;
        halve(c);
        if (c->count == before)
            forget(c, c->count - 1);
    }
    rp_state state = { 0 };
    rp_result result = rp_sim_save(sim, &state);
    if (result != RP_OK) {
        rp_state_free(&state);
        return result;
    }
    c->state[c->count] = state;
    c->frame[c->count++] = frame;
    c->bytes += size_of(&state);
    return RP_OK;
}

rp_result checkpoints_go_back(checkpoints *c, rp_sim *sim, int64_t frame)
{
    int k = c->count - 1;
    while (k > 0 && c->frame[k] > frame)
        k--;
    if (k < 0)
        return RP_NOT_FOUND;
    rp_result result = rp_sim_restore(sim, &c->state[k]);
    while (result == RP_OK && c->count > k + 1)
        forget(c, c->count - 1);
    return result;
}
