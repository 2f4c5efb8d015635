/* States of the solve that are kept, so that one that goes astray, or ends without success, has something to come back to. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static int64_t velocity_numbers(const ns_system *y)
{
    return (int64_t)y->grid.blocks * RP_BLOCK_NODES * NS_PAD;
}

static int64_t stress_numbers(const ns_system *y)
{
    return (int64_t)y->grid.blocks * RP_BLOCK_NODES * NS_S;
}

static bool reserve(const ns_system *y, ns_iterate *one)
{
    return rp__base_grow(&one->lambda, &one->stress_room, stress_numbers(y) + 1, sizeof *one->lambda) &&
           rp__base_grow(&one->u, &one->velocity_room, velocity_numbers(y) + 1, sizeof *one->u) &&
           rp__base_grow(&one->impulse, &one->impulse_room, 3 * y->contact_count + 1, sizeof *one->impulse) &&
           rp__base_grow(&one->body, &one->body_room, 6 * (int64_t)y->body_capacity + 1, sizeof *one->body);
}

rp_result NS(reserve_iterates)(ns_system *y)
{
    return reserve(y, &y->start) && reserve(y, &y->best) ? RP_OK : RP_OUT_OF_MEMORY;
}

void NS(keep_iterate)(const ns_system *y, ns_iterate *to, double merit)
{
    for (int64_t i = 0; i < (int64_t)y->grid.blocks * RP_BLOCK_NODES; i++)
        memcpy(to->lambda + NS_S * i, y->stress[i].lambda, sizeof y->stress[i].lambda);
    memcpy(to->u, y->u, (size_t)velocity_numbers(y) * sizeof *y->u);
    for (int64_t k = 0; k < y->contact_count; k++)
        memcpy(to->impulse + 3 * k, y->contacts[k].impulse, sizeof y->contacts[k].impulse);
    if (y->body_velocity)
        memcpy(to->body, y->body_velocity, 6 * (size_t)y->body_capacity * sizeof *to->body);
    to->merit = merit;
}

void NS(take_iterate)(ns_system *y, const ns_iterate *from)
{
    for (int64_t i = 0; i < (int64_t)y->grid.blocks * RP_BLOCK_NODES; i++) {
        memcpy(y->stress[i].lambda, from->lambda + NS_S * i, sizeof y->stress[i].lambda);
        memcpy(y->stress[i].previous, y->stress[i].lambda, sizeof y->stress[i].lambda);
    }
    memcpy(y->u, from->u, (size_t)velocity_numbers(y) * sizeof *y->u);
    memcpy(y->before, from->u, (size_t)velocity_numbers(y) * sizeof *y->u);
    for (int64_t k = 0; k < y->contact_count; k++) {
        memcpy(y->contacts[k].impulse, from->impulse + 3 * k, sizeof y->contacts[k].impulse);
        memcpy(y->contacts[k].previous, y->contacts[k].impulse, sizeof y->contacts[k].impulse);
    }
    if (y->body_velocity) {
        memcpy(y->body_velocity, from->body, 6 * (size_t)y->body_capacity * sizeof *from->body);
        memcpy(y->body_before, from->body, 6 * (size_t)y->body_capacity * sizeof *from->body);
    }
}

void NS(release_iterate)(ns_iterate *iterate)
{
    rp__base_free(iterate->lambda);
    rp__base_free(iterate->u);
    rp__base_free(iterate->impulse);
    rp__base_free(iterate->body);
}
