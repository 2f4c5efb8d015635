/* Memory of the dual elements: follows the active blocks. */
#include "nonsmooth/dual.h"

#include "base/error.h"
#include "base/memory.h"

enum { ARRAYS = 26 };

typedef struct slot {
    void **array;
    size_t size;        /* of an element */
    int64_t per_block;  /* elements a block */
    int64_t extra;      /* and so many more */
} slot;

static void list(dual *y, slot *s)
{
    const int64_t n = RP_BLOCK_NODES;
    const slot all[ARRAYS] = {
        { (void **)&y->nodes.mass, sizeof(double), n, 0 },
        { (void **)&y->nodes.bulk, sizeof(double), n, 0 },
        { (void **)&y->nodes.room, sizeof(double), n, 0 },
        { (void **)&y->nodes.momentum[0], sizeof(double), n, 0 },
        { (void **)&y->nodes.momentum[1], sizeof(double), n, 0 },
        { (void **)&y->nodes.momentum[2], sizeof(double), n, 0 },
        { (void **)&y->nodes.after[0], sizeof(double), n, 0 },
        { (void **)&y->nodes.after[1], sizeof(double), n, 0 },
        { (void **)&y->nodes.after[2], sizeof(double), n, 0 },
        { (void **)&y->nodes.u, sizeof(double), NS_PAD * n, 0 },
        { (void **)&y->nodes.previous, sizeof(double), NS_PAD * n, 0 },
        { (void **)&y->sum, sizeof(du_sum), n, 0 },
        { (void **)&y->cut, sizeof(int32_t), n, 0 },
        { (void **)&y->near, sizeof(uint64_t), 1, 0 },
        { (void **)&y->outer, sizeof(int8_t), n, 0 },
        { (void **)&y->g, sizeof(double), n * NS_STENCIL * RP_DIM, 0 },
        { (void **)&y->frame, sizeof(ns_frame), n, 0 },
        { (void **)&y->stress, sizeof(du_stress), n, 0 },
        { (void **)&y->active, sizeof(uint64_t), 1, 0 },
        { (void **)&y->partial, sizeof(double), DU_SUMS, 0 },
        { (void **)&y->pressed, sizeof(double), 1, 0 },
        { (void **)&y->smooth[0], sizeof(double), n * (NS_S + 1), 0 },
        { (void **)&y->smooth[1], sizeof(double), n * (NS_S + 1), 0 },
        { (void **)&y->kept, sizeof(double), n * (2 * NS_S + 1), 0 },
        { (void **)&y->contacts.first, sizeof(int64_t), 1, 1 },
        { (void **)&y->best.u, sizeof(double), NS_PAD * n, 0 },
    };
    for (int i = 0; i < ARRAYS; i++)
        s[i] = all[i];
}

static void free_blocks(dual *y)
{
    slot s[ARRAYS];
    list(y, s);
    for (int i = 0; i < ARRAYS; i++) {
        rp__base_free(*s[i].array);
        *s[i].array = NULL;
    }
    y->block_capacity = 0;
}

/* Room for the blocks of the grid and the particles; what was there is lost. */
rp_result DU(reserve)(dual *y, int64_t particles)
{
    int64_t blocks = y->grid.blocks;
    if (!rp__base_grow(&y->bulk, &y->bulk_capacity, particles + 1, sizeof *y->bulk))
        return RP_OUT_OF_MEMORY;
    if (blocks <= y->block_capacity)
        return RP_OK;
    slot s[ARRAYS];
    free_blocks(y);
    blocks += blocks / 8 + 8;
    list(y, s);
    bool whole = true;
    for (int i = 0; i < ARRAYS; i++) {
        *s[i].array = rp__base_alloc_array((size_t)(blocks * s[i].per_block + s[i].extra), s[i].size);
        whole = whole && *s[i].array;
    }
    if (!whole) {
        free_blocks(y);
        return RP_OUT_OF_MEMORY;
    }
    y->block_capacity = blocks;
    return RP_OK;
}

void DU(release)(dual *y)
{
    free_blocks(y);
    RP_D(rp__grid_free)(&y->grid);
    void *others[] = { y->rooms, y->bulk, y->contacts.list, y->contacts.free, y->contacts.body_velocity, y->contacts.body_previous,
                       y->contacts.body_inverse, y->warm.place, y->warm.stress, y->warm.viscous, y->warm.contact_place, y->warm.contact_side,
                       y->warm.contact, y->warm.nearest,
                       y->best.impulse, y->best.body, y->best.lambda, y->lanes.group, y->lanes.member, y->lanes.slot,
                       y->lanes.g, y->lanes.viscous, y->lanes.wide,
                       y->wide, y->full, y->plain, y->orientation, y->view_data };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        rp__base_free(others[i]);
    rp__body_free_meetings(&y->contacts.meetings);
}
