/* The method's functions for one dimension: creation, the step, the state that is kept. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <math.h>
#include <string.h>

static void make_tables(ns_system *y)
{
    for (int t = 0; t < NS_TILE; t++) {
        int at[3] = { t % NS_TILE_SIDE, t / NS_TILE_SIDE % NS_TILE_SIDE, t / (NS_TILE_SIDE * NS_TILE_SIDE) };
        int neighbour = 0, local = 0, step = 1;
        for (int a = 0; a < RP_DIM; a++) {
            int n = at[a] == 0 ? 0 : at[a] <= RP_BLOCK ? 1 : 2;
            int l = at[a] == 0 ? RP_BLOCK - 1 : at[a] <= RP_BLOCK ? at[a] - 1 : 0;
            neighbour += n * step;
            local += l << 2 * a;
            step *= 3;
        }
        y->tile_neighbour[t] = neighbour;
        y->tile_local[t] = local;
    }
    y->stencil = y->stress_cell ? NS_CORNERS : NS_STENCIL;
    for (int n = 0; n < y->stencil; n++) {
        int side = y->stress_cell ? 2 : 3, low = y->stress_cell ? 0 : 1;
        int x = n % side - low, v = n / side % side - low, z = RP_DIM == 3 ? n / (side * side) - low : 0;
        y->offset[n] = x + NS_TILE_SIDE * (v + NS_TILE_SIDE * z);
    }
}

rp_result NS(create)(rp__world *world, int first_field, void **state)
{
    if (world->def->body_count > 64) /* masks of bodies near a block */
        return rp__base_fail(RP_UNSUPPORTED, "the scene has %d bodies; the method nonsmooth takes at most 64", world->def->body_count);
    ns_system *y = RP_NEW(ns_system);
    if (!y)
        return RP_OUT_OF_MEMORY;
    y->params = world->params;
    y->first_field = first_field;
    y->stress_cell = y->params->stress == RP__STRESS_CELL;
    y->lattice.h = world->def->cell_size;
    for (int a = 0; a < 3; a++) {
        y->lattice.origin[a] = world->def->lower[a];
        y->lattice.cells[a] = world->cells[a];
        y->lattice.periodic[a] = a < RP_DIM && world->def->wall[2 * a].kind == RP_PERIODIC;
    }
    y->oriented = rp__nonsmooth_oriented(world->def);
    make_tables(y);
    NS(make_stiffness)(y);
    rp_result result = RP_D(rp__grid_init)(&y->grid, &y->lattice);
    if (result != RP_OK) {
        rp__base_free(y);
        return result;
    }
    *state = y;
    return RP_OK;
}

void NS(destroy)(void *state)
{
    ns_system *y = state;
    if (!y)
        return;
    NS(release)(y);
    rp__base_free(y);
}

rp_result NS(born)(void *state, rp__world *world, int64_t first, int64_t count, double spacing)
{
    ns_system *y = state;
    rp__particles *p = world->particles;
    double *f[6], *size = rp__particles_f64(p, y->first_field + RP__NS_SIZE, 0);
    double *friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    double *cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    double *looseness = rp__particles_f64(p, y->first_field + RP__NS_LOOSENESS, 0);
    double low[3], high[3];
    NS(bounds)(y, world, low, high);
    for (int c = 0; c < 6; c++)
        f[c] = rp__particles_f64(p, y->first_field + RP__NS_ELLIPSOID, c);
    y->born_count += count;
    for (int64_t i = first; i < first + count; i++) {
        y->born_volume += p->volume[i];
        const rp_material_def *m = &world->materials[p->material[i]];
        for (int c = 0; c < 3; c++)
            f[c][i] = c < RP_DIM ? 0.25 * spacing * spacing : 0;
        size[i] = 0.5 * spacing;
        friction[i] = rp_material_friction(m, RP_DIM);
        cohesion[i] = m->cohesion;
        double loose = pow(spacing, RP_DIM) * m->volume_fraction / p->volume[i] - 1;
        looseness[i] = loose > 1e-6 ? loose : 0;
        for (int a = 0; a < RP_DIM; a++) {
            p->x[a][i] = p->x[a][i] < low[a] ? low[a] : p->x[a][i];
            p->x[a][i] = p->x[a][i] > high[a] ? high[a] : p->x[a][i];
        }
    }
    if (y->oriented)
        NS(orient_born)(y, world, first, count);
    return RP_OK;
}

static bool is_varied(const rp__world *world)
{
    for (int m = 0; m < world->def->material_count; m++)
        if (world->materials[m].friction_dynamic >= 0 || world->materials[m].cohesion > 0)
            return true;
    return world->def->material_count > 1;
}

ns_law_kind NS(law_of)(const ns_system *y, const rp__world *world)
{
    if (y->params->yield == RP__YIELD_LINEARISED)
        return NS_LAW_LINEARISED;
    for (int m = 0; m < world->def->material_count; m++)
        if (world->materials[m].anisotropy > 0)
            return NS_LAW_ANISOTROPIC;
    return NS_LAW_ISOTROPIC;
}

bool NS(is_viscous)(const rp__world *world)
{
    for (int m = 0; m < world->def->material_count; m++)
        if (world->materials[m].viscosity > 0)
            return true;
    return false;
}

static void extra(rp_step_stats *stats, const char *name, double value)
{
    if (stats->extra_count < RP_MAX_EXTRAS) {
        stats->extra_name[stats->extra_count] = name;
        stats->extra[stats->extra_count++] = value;
    }
}

/* What a step has to tell beyond the report of its solver. */
typedef struct step_sums {
    int64_t library_iterations, viscosity_iterations, rounds, split, merged;
    double dissipated, made;
} step_sums;

/* The columns of a table are those of its first row: a step without particles tells the same names. */
static void tell(const ns_system *y, const ns_report *report, const step_sums *sums, rp_step_stats *stats)
{
    stats->nodes = report->stresses;
    stats->iterations = report->iterations;
    stats->residual_mean = report->residual_mean;
    stats->residual_max = report->residual_max;
    stats->converged = report->converged;
    extra(stats, "take_off", (double)report->take_off);
    extra(stats, "stick", (double)report->stick);
    extra(stats, "slide", (double)report->slide);
    extra(stats, "contacts", (double)y->contact_count);
    extra(stats, "stress_scale", y->stress_scale);
    if (y->params->solver != RP__SOLVER_SWEEPS)
        extra(stats, "library_iterations", (double)sums->library_iterations);
    extra(stats, "viscosity_iterations", (double)sums->viscosity_iterations);
    if (sums->rounds > 0)
        extra(stats, "viscosity_rounds", (double)sums->rounds);
    extra(stats, "dissipated_power", sums->dissipated);
    extra(stats, "energy_made", sums->made);
    extra(stats, "split", (double)sums->split);
    extra(stats, "merged", (double)sums->merged);
}

/* With nothing to start from, a solve may need more sweeps than a step has, and what is left of the weight moves what should rest. The stresses of rest do not
 * depend on the step, so the first are short, sqrt(h / g) / 256, / 64, ...: each starts from the stresses that the one before found. */
double NS(largest_step)(const void *state, const rp__world *world)
{
    const ns_system *y = state;
    const double *g = world->def->gravity;
    double weight = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    if (y->settled >= NS_FIRST_STEPS || !(weight > 0))
        return INFINITY;
    return sqrt(y->lattice.h / weight) * pow(4, (double)(y->settled - NS_FIRST_STEPS));
}

rp_result NS(step)(void *state, rp__world *world, double dt, rp_step_stats *stats)
{
    ns_system *y = state;
    ns_report report = { 0 };
    step_sums sums = { 0 };
    double t = rp__base_seconds();
    stats->converged = true;
    y->params = world->params;
    y->varied = is_varied(world);
    y->most_cohesion = 0;
    for (int m = 0; m < world->def->material_count; m++)
        y->most_cohesion = world->materials[m].cohesion > y->most_cohesion ? world->materials[m].cohesion : y->most_cohesion;
    if (world->particles->count == 0) {
        y->warm_count = y->warm_contact_count = y->settled = 0;
        y->grid.blocks = 0;
        y->contact_count = 0;
        report.converged = true;
        tell(y, &report, &sums, stats);
        return RP_OK;
    }
    RP_TRY(RP_D(rp__grid_build)(&y->grid, world->particles, 1));
    RP_TRY(NS(reserve)(y));
    y->law = NS(law_of)(y, world);
    RP_TRY(NS(reserve_law)(y));
    RP_LAP(&world->phases, "sort", t);
    RP_TRY(NS(cut_cells)(y, world));
    NS(assemble)(y, world);
    if (y->oriented && y->law != NS_LAW_ISOTROPIC)
        RP_TRY(NS(gather_orientation)(y, world));
    RP_LAP(&world->phases, "assemble", t);
    RP_TRY(NS(prepare)(y, world, dt));
    RP_LAP(&world->phases, "prepare", t);
    NS(stick_momentum)(y, world, dt);
    if (NS(is_viscous)(world)) {
        RP_TRY(NS(viscosity)(y, &sums.viscosity_iterations));
        RP_LAP(&world->phases, "viscosity", t);
    }
    NS(make_frames)(y, dt);
    RP_TRY(NS(find_contacts)(y, world, dt));
    RP_LAP(&world->phases, "frames", t);
    stats->volume_error = NS(volume_error)(y);
    if (world->step % y->params->dump_every == 0 && world->step / y->params->dump_every < y->params->dump_problems)
        RP_TRY(NS(dump_problem)(y, world, dt));
    if (y->params->solver != RP__SOLVER_SWEEPS)
        RP_TRY(NS(solve_library)(y, world, dt, &sums.library_iterations));
    NS(keep_unstressed)(y);
    if (NS(is_viscous)(world) && y->params->viscosity == RP__VISCOSITY_COUPLED)
        RP_TRY(NS(solve_coupled)(y, world, dt, &report, &sums.rounds));
    else
        RP_TRY(NS(solve)(y, world, dt, &report));
    RP_LAP(&world->phases, "solve", t);
    NS(stick_forces)(y, world);
    NS(work)(y, dt, &sums.dissipated, &sums.made);
    RP_TRY(NS(report_contacts)(y, world, dt));
    RP_TRY(NS(keep_warm)(y));
    RP_LAP(&world->phases, "keep", t);
    NS(to_particles)(y, world, dt);
    if (y->oriented)
        NS(turn)(y, world, dt);
    RP_LAP(&world->phases, "advect", t);
    if (y->params->split || y->params->merge)
        RP_TRY(NS(split_and_merge)(y, world, &sums.split, &sums.merged));
    RP_LAP(&world->phases, "split", t);
    tell(y, &report, &sums, stats);
    y->steps++;
    y->settled++;
    y->last_dt = dt;
    return RP_OK;
}
