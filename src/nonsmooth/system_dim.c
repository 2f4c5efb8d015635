/* Memory of the system: follows the active blocks. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static void free_node_arrays(ns_system *y)
{
    void **arrays[] = { (void **)&y->mass,          (void **)&y->u,           (void **)&y->before,      (void **)&y->scale,
                        (void **)&y->older,         (void **)&y->unstressed,  (void **)&y->other,       (void **)&y->viscous,
                        (void **)&y->wide,          (void **)&y->full,        (void **)&y->orientation, (void **)&y->loose,
                        (void **)&y->cell,          (void **)&y->volume,      (void **)&y->bulk,        (void **)&y->friction,
                        (void **)&y->cohesion,      (void **)&y->room,        (void **)&y->g,           (void **)&y->frame,
                        (void **)&y->stress,        (void **)&y->stick,       (void **)&y->active,      (void **)&y->awake,
                        (void **)&y->quiet,         (void **)&y->masked,      (void **)&y->aliased,     (void **)&y->partial,
                        (void **)&y->contact_first, (void **)&y->node_contact };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        rp__base_free(*arrays[i]);
        *arrays[i] = NULL;
    }
    y->node_capacity = y->block_capacity = 0;
}

/* Room for the blocks of the grid; what was there is lost. */
rp_result NS(reserve)(ns_system *y)
{
    int64_t blocks = y->grid.blocks;
    if (blocks <= y->block_capacity)
        return RP_OK;
    free_node_arrays(y);
    blocks += blocks / 8 + 8;
    int64_t nodes = blocks * RP_BLOCK_NODES;
    y->mass = RP_NEW_ARRAY(double, nodes);
    y->u = RP_NEW_ARRAY(double, nodes * NS_PAD);
    y->before = RP_NEW_ARRAY(double, nodes * NS_PAD);
    y->older = RP_NEW_ARRAY(double, nodes * NS_PAD);
    y->unstressed = RP_NEW_ARRAY(double, nodes * NS_PAD);
    y->scale = RP_NEW_ARRAY(double, nodes);
    y->volume = RP_NEW_ARRAY(double, nodes);
    y->bulk = RP_NEW_ARRAY(double, nodes);
    y->friction = RP_NEW_ARRAY(double, nodes);
    y->cohesion = RP_NEW_ARRAY(double, nodes);
    y->loose = RP_NEW_ARRAY(double, nodes);
    y->room = RP_NEW_ARRAY(double, nodes);
    y->viscous = RP_NEW_ARRAY(double, nodes);
    y->cell = RP_NEW_ARRAY(double, nodes * NS_CELL);
    y->g = RP_NEW_ARRAY(double, nodes * y->stencil * RP_DIM);
    y->frame = RP_NEW_ARRAY(ns_frame, nodes);
    y->stress = RP_NEW_ARRAY(ns_stress, nodes);
    y->stick = RP_NEW_ARRAY(unsigned char, nodes);
    y->active = RP_NEW_ARRAY(uint64_t, blocks);
    y->awake = RP_NEW_ARRAY(uint64_t, blocks);
    y->quiet = RP_NEW_ARRAY(unsigned char, blocks);
    y->masked = RP_NEW_ARRAY(unsigned char, blocks);
    y->aliased = RP_NEW_ARRAY(unsigned char, blocks);
    y->partial = RP_NEW_ARRAY(double, blocks * NS_SUMS);
    y->contact_first = RP_NEW_ARRAY(int64_t, blocks + 1);
    y->node_contact = RP_NEW_ARRAY(int32_t, nodes);
    if (!y->mass || !y->u || !y->before || !y->older || !y->unstressed || !y->scale || !y->volume || !y->bulk || !y->friction || !y->cohesion ||
        !y->loose || !y->room || !y->viscous || !y->cell || !y->g || !y->frame || !y->stress || !y->stick || !y->active || !y->awake ||
        !y->quiet || !y->masked || !y->aliased || !y->partial || !y->contact_first || !y->node_contact) {
        free_node_arrays(y);
        return RP_OUT_OF_MEMORY;
    }
    y->node_capacity = nodes;
    y->block_capacity = blocks;
    return RP_OK;
}

/* What the law of this step needs beyond that. */
rp_result NS(reserve_law)(ns_system *y)
{
    int64_t nodes = y->node_capacity;
    if (y->law != NS_LAW_ISOTROPIC && !y->wide && !(y->wide = RP_NEW_ARRAY(ns_wide, nodes)))
        return RP_OUT_OF_MEMORY;
    if (y->law == NS_LAW_LINEARISED && !y->full && !(y->full = RP_NEW_ARRAY(double, nodes * NS_S * NS_S)))
        return RP_OUT_OF_MEMORY;
    if (y->oriented && !y->orientation && !(y->orientation = RP_NEW_ARRAY(double, nodes * NS_S)))
        return RP_OUT_OF_MEMORY;
    return RP_OK;
}

void NS(release)(ns_system *y)
{
    free_node_arrays(y);
    RP_D(rp__grid_free)(&y->grid);
    NS(release_iterate)(&y->start);
    NS(release_iterate)(&y->best);
    rp__base_free(y->contacts);
    rp__base_free(y->touches);
    rp__base_free(y->free_contact);
    rp__base_free(y->cut);
    rp__base_free(y->cut_near);
    rp__base_free(y->cut_first);
    rp__base_free(y->cut_moment);
    rp__base_free(y->touch_range);
    rp__base_free(y->touch_near);
    rp__base_free(y->warm_node);
    rp__base_free(y->warm_stress);
    rp__base_free(y->warm_contact_node);
    rp__base_free(y->warm_contact);
    rp__base_free(y->body_velocity);
    rp__base_free(y->body_before);
    rp__base_free(y->body_inverse);
    rp__base_free(y->remove);
    rp__base_free(y->view_data);
}
