/* `stress: dual`: creation and the step. */
#include "nonsmooth/problem.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

static void make_tables(dual *y)
{
    for (int t = 0; t < DU_TILE; t++) {
        int at[3] = { t % DU_SIDE, t / DU_SIDE % DU_SIDE, t / (DU_SIDE * DU_SIDE) };
        int neighbour = RP_NEIGHBOURS / 2, local = 0, step = 1, same = 0, stride = 1;
        for (int a = 0; a < RP_DIM; a++) {
            bool next = at[a] >= RP_BLOCK, alone = y->lattice.periodic[a] && y->lattice.cells[a] == RP_BLOCK;
            neighbour += next * step;
            local += (at[a] & 3) << 2 * a;
            same += stride * (alone ? at[a] & 3 : at[a]);
            step *= 3, stride *= DU_SIDE;
        }
        y->tile_neighbour[t] = neighbour;
        y->tile_local[t] = local;
        y->tile_same[t] = same;
    }
    static const double n[3] = { 1.0 / 6, 2.0 / 3, 1.0 / 6 }, d[3] = { -0.5, 0, 0.5 };
    for (int j = 0; j < NS_STENCIL; j++) {
        int k[3] = { j % 3, j / 3 % 3, j / 9 };
        y->offset[j] = k[0] + DU_SIDE * (k[1] + DU_SIDE * k[2]);
        for (int a = 0; a < RP_DIM; a++) {
            double product = 1;
            for (int b = 0; b < RP_DIM; b++)
                product *= a == b ? d[k[b]] : n[k[b]];
            y->constant[j * RP_DIM + a] = product;
        }
    }
}

rp_result DU(create)(rp__world *world, int first_field, void **state)
{
    dual *y = RP_NEW(dual);
    if (!y)
        return RP_OUT_OF_MEMORY;
    y->params = world->params;
    y->first_field = first_field;
    y->trilinear = y->params->stress == RP__STRESS_NODE;
    y->lattice.h = world->def->cell_size;
    for (int a = 0; a < 3; a++) {
        y->lattice.origin[a] = world->def->lower[a];
        y->lattice.cells[a] = world->cells[a];
        y->lattice.periodic[a] = a < RP_DIM && world->def->wall[2 * a].kind == RP_PERIODIC;
    }
    make_tables(y);
    rp_result result = RP_D(rp__grid_init)(&y->grid, &y->lattice);
    if (result == RP_OK)
        result = NS(grains_create)(world, first_field, &y->upkeep);
    if (result != RP_OK) {
        RP_D(rp__grid_free)(&y->grid);
        rp__base_free(y);
        return result;
    }
    *state = y;
    return RP_OK;
}

void DU(destroy)(void *state)
{
    dual *y = state;
    if (!y)
        return;
    NS(grains_destroy)(y->upkeep);
    DU(release)(y);
    rp__base_free(y);
}

rp_result DU(born)(void *state, rp__world *world, int64_t first, int64_t count, double spacing)
{
    return NS(born)(((dual *)state)->upkeep, world, first, count, spacing);
}

static bool is_varied(const rp__world *world)
{
    for (int m = 0; m < world->def->material_count; m++)
        if (world->materials[m].friction_dynamic >= 0 || world->materials[m].cohesion > 0)
            return true;
    return world->def->material_key_count > 0 || world->materials_set;
}

static void extra(rp_step_stats *stats, const char *name, double value)
{
    if (stats->extra_count < RP_MAX_EXTRAS) {
        stats->extra_name[stats->extra_count] = name;
        stats->extra[stats->extra_count++] = value;
    }
}

rp_result DU(step)(void *state, rp__world *world, double dt, rp_step_stats *stats)
{
    dual *y = state;
    rp__particles *p = world->particles;
    du_report report = { 0 };
    double t = rp__base_seconds();
    stats->converged = true;
    y->params = y->upkeep->params = world->params;
    y->varied = is_varied(world);
    y->ahead = y->trilinear || y->params->compaction == RP__COMPACT_DIVERGENCE ? 0 : dt;
    if (p->count == 0) {
        y->warm.count = y->warm.contact_count = 0;
        y->grid.blocks = 0;
        return RP_OK;
    }
    RP_TRY(RP_D(rp__grid_build)(&y->grid, p, y->trilinear ? 3 : 2));
    RP_TRY(DU(reserve)(y, p->count));
    y->law = NS(law_of)(y->upkeep, world);
    y->viscous = NS(is_viscous)(world);
    RP_TRY(DU(reserve_law)(y));
    RP_LAP(&world->phases, "sort", t);
    DU(assemble)(y, world);
    if (y->upkeep->oriented && y->law != NS_LAW_ISOTROPIC && !y->trilinear)
        DU(gather_orientation)(y, world);
    RP_LAP(&world->phases, "assemble", t);
    RP_TRY(DU(rooms)(y, world));
    RP_LAP(&world->phases, "rooms", t);
    DU(prepare)(y, world, dt);
    DU(place_warm)(y);
    DU(find_scale)(y);
    RP_LAP(&world->phases, "prepare", t);
    RP_TRY(DU(find_contacts)(y, world, dt));
    RP_TRY(DU(reserve_warm_contacts)(y));
    DU(place_warm_contacts)(y, dt);
    RP_LAP(&world->phases, "contacts", t);
    stats->volume_error = DU(volume_error)(y);
    RP_TRY(DU(solve)(y, world, dt, &report));
    RP_LAP(&world->phases, "solve", t);
    double dissipated, made;
    DU(work)(y, world, dt, &dissipated, &made);
    double library = 0;
    bool dumps = world->step % y->params->dump_every == 0 && world->step / y->params->dump_every < y->params->dump_problems;
    if (dumps)
        RP_TRY(NS(dump_problem)(y, world, dt, &library));
    DU(report_contacts)(y, world, dt);
    RP_TRY(DU(keep_warm)(y, dt));
    RP_LAP(&world->phases, "keep", t);
    DU(to_particles)(y, world, dt);
    if (y->upkeep->oriented)
        NS(turn)(y->upkeep, world, dt);
    RP_LAP(&world->phases, "advect", t);
    int64_t split = 0, merged = 0;
    if (y->params->split || y->params->merge)
        RP_TRY(NS(split_and_merge)(y->upkeep, world, &split, &merged));
    RP_LAP(&world->phases, "split", t);
    stats->nodes = report.stresses;
    stats->iterations = report.iterations;
    stats->residual_mean = report.residual_mean;
    stats->residual_max = report.residual_max;
    stats->converged = report.converged;
    extra(stats, "take_off", (double)report.take_off);
    extra(stats, "stick", (double)report.stick);
    extra(stats, "slide", (double)report.slide);
    extra(stats, "contacts", (double)y->contacts.count);
    extra(stats, "stress_scale", y->stress_scale);
    extra(stats, "dissipated_power", dissipated);
    extra(stats, "energy_made", made);
    extra(stats, "split", (double)split);
    extra(stats, "merged", (double)merged);
    if (y->params->dump_problems > 0)
        extra(stats, "library_residual", library);
    return RP_OK;
}
