/* The method's functions for one dimension: creation, the step, its limits. */
#include "diphasic/system.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* ---- creation ---- */

void DP(destroy)(void *state)
{
    dp_system *y = state;
    if (!y)
        return;
    void *all[] = { y->node,
                    y->theta,
                    y->volume,
                    y->grains,
                    y->diameter,
                    y->momentum,
                    y->mass,
                    y->phi,
                    y->inner,
                    y->fluid,
                    y->carried,
                    y->scratch[0],
                    y->scratch[1],
                    y->scratch[2],
                    y->scratch[3],
                    y->hold,
                    y->held,
                    y->viscous,
                    y->inside,
                    y->free_node,
                    y->free_cell,
                    y->part,
                    y->pressure,
                    y->rhs,
                    y->change,
                    y->lambda,
                    y->bend,
                    y->previous_bend,
                    y->residual,
                    y->eta,
                    y->stress_of,
                    y->source,
                    y->room,
                    y->room_queue,
                    y->stress,
                    y->column_first,
                    y->column_items,
                    y->cell_first,
                    y->cell_particles,
                    y->contacts,
                    y->rubbed,
                    y->contact_at,
                    y->held_node,
                    y->previous,
                    y->previous_pressure,
                    y->previous_u,
                    y->previous_w,
                    y->near_cell,
                    y->near_node,
                    y->near_cells.run,
                    y->near_nodes.run,
                    y->pushed,
                    y->previous_rhs,
                    y->coupling,
                    y->view_data };
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        rp__base_free(all[i]);
    rp__multigrid_destroy(y->poisson);
    DP(free_surface)(y->surface);
    RP_D(rp__grid_free)(&y->grid);
    rp__base_free(y);
}

static bool make(void *pointer, int64_t count, size_t size)
{
    void **to = pointer;
    *to = rp__base_alloc_array((size_t)count, size);
    if (*to)
        memset(*to, 0, (size_t)count * size);
    return *to != NULL;
}

static bool allocate(dp_system *y)
{
    int64_t n = y->node_count, c = y->cell_count, columns = c / y->cells[y->up];
    const size_t one = sizeof(double), many = RP_DIM * sizeof(double);
    bool done = make(&y->node, n, sizeof *y->node) && make(&y->theta, n, many) && make(&y->volume, n, one) && make(&y->grains, n, one) &&
                make(&y->diameter, n, one) && make(&y->momentum, n, many) && make(&y->mass, n, one) && make(&y->phi, n, one) &&
                make(&y->inner, n, one) && make(&y->fluid, n, many) && make(&y->carried, n, many) && make(&y->hold, n, sizeof *y->hold) &&
                make(&y->held, n, many) && make(&y->viscous, n, many) && make(&y->inside, n, sizeof *y->inside) && make(&y->pressure, c, one) &&
                make(&y->rhs, c, one) &&
                make(&y->change, c, one) && make(&y->lambda, c, DP_S * one) && make(&y->bend, c, DP_BENT * one) && make(&y->eta, c, one) &&
                make(&y->stress_of, c, sizeof *y->stress_of) && make(&y->source, c, one) && make(&y->room, c, sizeof *y->room) &&
                make(&y->room_queue, c, sizeof *y->room_queue) && make(&y->column_first, columns + 1, sizeof *y->column_first) &&
                make(&y->column_items, columns + 1, sizeof *y->column_items) && make(&y->cell_first, c, sizeof *y->cell_first) &&
                make(&y->cell_particles, c, sizeof *y->cell_particles) && make(&y->previous_pressure, c, one) &&
                make(&y->previous_u, n, DP_PARTS * one) && make(&y->previous_w, n, DP_PARTS * one) && make(&y->coupling, n, one) &&
                make(&y->near_cell, c, 1) && make(&y->near_node, n, 1) && make(&y->pushed, c, one) && make(&y->previous_rhs, c, one) &&
                make(&y->contact_at, n, sizeof *y->contact_at) && make(&y->rubbed, n, DP_RUBBED * one) &&
                make(&y->free_node, n, one) && make(&y->free_cell, c, one) && make(&y->part, c, DP_CORNERS * one);
    for (int i = 0; i < 4; i++)
        done = done && make(&y->scratch[i], n, many);
    return done;
}

/* ∫N of every node: cells around it that lie in the domain. */
static void node_volumes(dp_system *y)
{
    double part = pow(0.5 * y->lattice.h, RP_DIM);
    for (int64_t c = 0; c < y->cell_count; c++) {
        int64_t at[3], corner[DP_CORNERS];
        dp_place(y->cells, c, at);
        dp_corners(y, at, corner);
        for (int n = 0; n < DP_CORNERS; n++)
            y->volume[corner[n]] += part;
    }
}

static rp_result start_fluid(dp_system *y, const rp_sim_def *def)
{
    for (int64_t j = 0; j < y->node_count; j++) {
        int64_t at[3];
        double x[3] = { 0 }, v[3] = { 0 };
        dp_place(y->nodes, j, at);
        for (int a = 0; a < RP_DIM; a++)
            x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
        if (def->fluid->velocity_field)
            RP_TRY(rp_expression_evaluate(def->fluid->velocity_field, x, v));
        for (int a = 0; a < RP_DIM; a++) {
            y->fluid[RP_DIM * j + a] = v[a] + def->fluid->velocity[a];
            if (!isfinite(y->fluid[RP_DIM * j + a]))
                return rp__base_fail(RP_BAD_ARGUMENT, "the fluid starts with a velocity that is not finite at (%g, %g, %g)", x[0], x[1], x[2]);
        }
    }
    return RP_OK;
}

/* The numbers that tell which flow it will be   [courrechdupont2003]. */
static void tell_regime(const rp_sim_def *def)
{
    double g = sqrt(def->gravity[0] * def->gravity[0] + def->gravity[1] * def->gravity[1] + def->gravity[2] * def->gravity[2]);
    for (int m = 0; m < def->material_count; m++) {
        const rp_material_def *grains = &def->materials[m];
        double excess = fabs(grains->density - def->fluid->density), d = grains->grain_diameter, r = sqrt(grains->density / def->fluid->density);
        double stokes = def->fluid->viscosity > 0 ? sqrt(grains->density * excess * g * d * d * d) / (18 * sqrt(2) * def->fluid->viscosity) : INFINITY;
        RP_INFO("grains '%s' in the fluid: Stokes number %.3g, density ratio %.3g, Reynolds number %.3g (%s)", grains->name ? grains->name : "",
                stokes, r, stokes / r, stokes < 1 && stokes / r < 2.5 ? "viscous" : r > 4 && stokes > 1 ? "free fall" : "inertial");
    }
}

static rp_result fill_system(dp_system *y, rp__world *world, int first_field)
{
    const rp_sim_def *def = world->def;
    double largest = 0;
    y->params = world->params;
    y->first_field = first_field;
    y->cold = true;
    y->lattice.h = def->cell_size;
    for (int f = 0; f < 6; f++) {
        y->wall_kind[f] = def->fluid->wall[f].kind;
        if (y->wall_kind[f] == RP_FLUID_AUTO)
            y->wall_kind[f] = def->wall[f].kind == RP_OPEN ? RP_FLUID_PRESSURE : RP_FLUID_SLIP;
    }
    y->face = pow(0.5 * def->cell_size, RP_DIM - 1);
    for (int n = 0; n < DP_CORNERS; n++)
        for (int a = 0; a < RP_DIM; a++)
            y->leaves[n][a] = dp_divergence(y, n, a);
    y->cell_count = y->node_count = 1;
    for (int a = 0; a < 3; a++) {
        y->lattice.origin[a] = def->lower[a];
        y->lattice.cells[a] = world->cells[a];
        y->lattice.periodic[a] = a < RP_DIM && def->wall[2 * a].kind == RP_PERIODIC;
        y->cells[a] = a < RP_DIM ? world->cells[a] : 1;
        y->nodes[a] = a < RP_DIM ? y->cells[a] + !y->lattice.periodic[a] : 1;
        if ((double)y->cell_count * (double)y->cells[a] > 1e9)
            return rp__base_fail(RP_TOO_LARGE, "the fluid fills the domain, which has more than 1e9 cells");
        y->cell_count *= y->cells[a];
        y->node_count *= y->nodes[a];
    }
    y->up = RP_DIM - 1;
    for (int a = 0; a < RP_DIM; a++)
        if (fabs(def->gravity[a]) > largest)
            largest = fabs(def->gravity[a]), y->up = a;
    if (!allocate(y))
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp__multigrid_create(y->cells, y->lattice.periodic, &y->poisson));
    RP_TRY(RP_D(rp__grid_init)(&y->grid, &y->lattice));
    node_volumes(y);
    RP_TRY(start_fluid(y, def));
    RP_TRY(DP(create_surface)(y, world));
    tell_regime(def);
    return RP_OK;
}

rp_result DP(create)(rp__world *world, int first_field, void **state)
{
    if (!world->def->fluid)
        return rp__base_fail(RP_BAD_ARGUMENT, "the method diphasic needs a fluid: add 'fluid: {density: 1000, viscosity: 1e-3}' to the scene, or "
                                              "choose nonsmooth for dry grains");
    if (world->def->body_count > DP_BODIES)
        return rp__base_fail(RP_UNSUPPORTED, "the scene has %d bodies; the method diphasic takes at most %d", world->def->body_count, DP_BODIES);
    for (int m = 0; m < world->def->material_count; m++) {
        const rp_material_def *material = &world->def->materials[m];
        if (material->cohesion > 0 || material->anisotropy > 0 || material->viscosity > 0 || material->model != RP_MODEL_SAND)
            RP_WARN("material '%s': cohesion, viscosity and anisotropy of grains and elastic solids are not known to the method diphasic",
                    material->name ? material->name : "");
    }
    dp_system *y = RP_NEW(dp_system);
    if (!y)
        return RP_OUT_OF_MEMORY;
    rp_result result = fill_system(y, world, first_field);
    if (result != RP_OK) {
        DP(destroy)(y);
        return result;
    }
    *state = y;
    return RP_OK;
}

rp_result DP(born)(void *state, rp__world *world, int64_t first, int64_t count, double spacing)
{
    dp_system *y = state;
    rp__particles *p = world->particles;
    double *loose = rp__particles_f64(p, y->first_field + RP__DP_LOOSENESS, 0), *packing = rp__particles_f64(p, y->first_field + RP__DP_PACKING, 0);
    double room = pow(spacing, RP_DIM) / (world->fullness > 0 ? world->fullness : 1);
    for (int64_t i = first; i < first + count; i++) {
        packing[i] = p->volume[i] / room;
        loose[i] = DP(born_looseness)(y, &world->materials[p->material[i]], packing[i]);
    }
    return RP_OK;
}

/* ---- the step ---- */

static void fastest_fluid(void *context, int64_t begin, int64_t end, double *most)
{
    const dp_system *y = context;
    for (int64_t j = begin; j < end; j++) {
        double square = 0;
        for (int a = 0; a < RP_DIM; a++)
            square += y->fluid[RP_DIM * j + a] * y->fluid[RP_DIM * j + a];
        most[0] = square > most[0] || square != square ? square : most[0];
    }
}

static void fastest_grains(void *context, int64_t begin, int64_t end, double *most)
{
    const rp__particles *p = ((rp__world *)context)->particles;
    for (int64_t i = begin; i < end; i++) {
        double square = p->v[0][i] * p->v[0][i] + p->v[1][i] * p->v[1][i] + p->v[2][i] * p->v[2][i];
        most[0] = square > most[0] ? square : most[0];
        for (int a = 0; a < RP_DIM; a++) {
            most[1 + a] = p->x[a][i] > most[1 + a] ? p->x[a][i] : most[1 + a];
            most[4 + a] = -p->x[a][i] > most[4 + a] ? -p->x[a][i] : most[4 + a];
        }
    }
}

/* The volume fraction is explicit: waves between layers of different weight must be followed. With N² = φ |Δρ| g / (ρ h) a step may be half
 * of 1/N; where viscosity holds them, ν / (h² N²). And nothing crosses more than a cell. */
double DP(largest_step)(void *state, const rp__world *world, const char **reason)
{
    const dp_system *y = state;
    const rp_sim_def *def = world->def;
    double h = y->lattice.h, g = 0, fluid = 0, largest = INFINITY;
    for (int a = 0; a < RP_DIM; a++)
        g += def->gravity[a] * def->gravity[a];
    rp__exec_max(y->node_count, 4096, 1, fastest_fluid, (void *)(uintptr_t)y, &fluid);
    if (fluid > 0)
        largest = def->cfl * h / sqrt(fluid), *reason = "fluid";
    double surface = y->surface && g > 0 ? 0.5 * sqrt(h / sqrt(g)) : INFINITY;
    if (surface < largest)
        largest = surface, *reason = "wave";
    for (int m = 0; m < def->material_count && world->particles->count; m++) {
        const rp_material_def *grains = &def->materials[m];
        double phi = grains->volume_fraction, mixture = phi * grains->density + (1 - phi) * def->fluid->density;
        double square = phi * fabs(grains->density - def->fluid->density) * sqrt(g) / (mixture * h);
        double held = def->fluid->viscosity * DP(thickening)(def->fluid, phi) / (mixture * h * h * square), wave = 0.5 / sqrt(square);
        wave = held > wave ? held : wave;
        if (square > 0 && wave < largest)
            largest = wave, *reason = "wave";
    }
    return largest;
}

/* The typical stress: the weight under water of what is there, and what its motion makes. */
static void set_units(dp_system *y, const rp__world *world, double dt)
{
    const rp_sim_def *def = world->def;
    double fluid = 0, grains[7] = { 0 }, g = 0, tall = y->lattice.h, excess = 0, heavy = def->fluid->density, drive = 0;
    rp__exec_max(y->node_count, 4096, 1, fastest_fluid, y, &fluid);
    if (world->particles->count)
        rp__exec_max(world->particles->count, 4096, 7, fastest_grains, (void *)(uintptr_t)world, grains);
    for (int a = 0; a < RP_DIM; a++) {
        g += def->gravity[a] * def->gravity[a];
        drive += def->fluid->drive[a] * def->fluid->drive[a];
    }
    if (world->particles->count && grains[1 + y->up] + grains[4 + y->up] > tall)
        tall = grains[1 + y->up] + grains[4 + y->up];
    for (int m = 0; m < def->material_count; m++) {
        double density = world->materials[m].density;
        excess = fabs(density - def->fluid->density) > excess ? fabs(density - def->fluid->density) : excess;
        heavy = density > heavy ? density : heavy;
    }
    double speed = sqrt(fluid > grains[0] ? fluid : grains[0]);
    for (int f = 0; f < 2 * RP_DIM; f++) {
        const double *v = def->fluid->wall[f].velocity;
        if (y->wall_kind[f] == RP_FLUID_VELOCITY)
            speed = fmax(speed, sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
    }
    for (int b = 0; b < world->body_count; b++)
        speed = fmax(speed, world->bodies[b].present ? rp__vec3_norm(world->bodies[b].velocity) : 0);
    y->stress_unit = (excess * sqrt(g) + sqrt(drive)) * tall + heavy * speed * speed + def->fluid->viscosity * speed / y->lattice.h;
    y->stress_unit = y->stress_unit > 0 ? y->stress_unit : 1;
    double gained = dt * (sqrt(g) + sqrt(drive) / def->fluid->density);
    y->smallest_outflow = y->params->tolerance * pow(y->lattice.h, RP_DIM - 1) * (0.1 * speed + 1e-6 * gained);
}

static void extra(rp_step_stats *stats, const char *name, double value)
{
    if (stats->extra_count < RP_MAX_EXTRAS) {
        stats->extra_name[stats->extra_count] = name;
        stats->extra[stats->extra_count++] = value;
    }
}

/* Volume of grains packed beyond what the material can be, a part of all. */
static double over_packed(const dp_system *y, double largest)
{
    double over = 0, all = 0;
    for (int64_t j = 0; j < y->node_count; j++) {
        if (!(y->grains[j] > 0))
            continue;
        double room = largest * y->free_node[j];
        over += y->grains[j] > room ? y->grains[j] - room : 0;
        all += y->grains[j];
    }
    return all > 0 ? over / all : 0;
}

/* Everything that comes before the first change of the particles. */
static rp_result find_flow(dp_system *y, rp__world *world, double dt, double *began, dp_report *report, int64_t *viscous)
{
    double t = *began;
    y->params = world->params;
    y->epsilon = y->params->stabilisation;
    set_units(y, world, dt);
    RP_TRY(DP(gather)(y, world));
    RP_LAP(&world->phases, "gather", t);
    RP_TRY(DP(set_holds)(y, world, dt));
    RP_TRY(DP(find_surface)(y, world));
    DP(find_frame)(y, world);
    DP(carry)(y, dt);
    RP_LAP(&world->phases, "carry", t);
    DP(find_space)(y, world);
    DP(node_algebra)(y, world, dt);
    DP(fill_cells)(y, world, dt);
    DP(make_laplacian)(y, world);
    RP_TRY(DP(list_held)(y, world));
    RP_TRY(DP(find_near)(y, world));
    DP(start)(y, world, dt);
    RP_LAP(&world->phases, "prepare", t);
    RP_TRY(rp__sim_given_up(world));
    RP_TRY(DP(viscosity)(y, world, dt, viscous));
    RP_LAP(&world->phases, "viscosity", t);
    RP_TRY(DP(solve)(y, world, dt, report));
    RP_LAP(&world->phases, "solve", t);
    *began = t;
    return rp__sim_given_up(world);
}

/* The same for a program that may give the step up: pressures, stresses and the fluid are then as they were. */
static rp_result find_flow_or_none(dp_system *y, rp__world *world, double dt, double *began, dp_report *report, int64_t *viscous)
{
    rp_state kept = { 0 };
    if (world->cancel)
        RP_TRY(DP(save)(y, &kept));
    rp_result result = find_flow(y, world, dt, began, report, viscous);
    if (result == RP_CANCELLED)
        DP(restore)(y, &kept);
    rp_state_free(&kept);
    return result;
}

rp_result DP(step)(void *state, rp__world *world, double dt, rp_step_stats *stats)
{
    dp_system *y = state;
    dp_report report = { 0 };
    double t = rp__base_seconds(), exchange[3], largest = 0;
    int64_t viscous = 0;
    RP_TRY(find_flow_or_none(y, world, dt, &t, &report, &viscous));
    DP(finish_fluid)(y, world, dt, exchange);
    double alternating = DP(filter_pressure)(y, world->def->gravity);
    DP(finish_grains)(y, world, dt);
    DP(move_surface)(y, dt);
    RP_LAP(&world->phases, "move", t);
    for (int m = 0; m < world->def->material_count; m++)
        largest = fmax(largest, world->materials[m].volume_fraction);
    y->steps++;
    stats->nodes = y->stress_count;
    stats->iterations = report.rounds;
    stats->residual_mean = report.residual_mean;
    stats->residual_max = report.residual_max;
    stats->converged = report.converged;
    stats->volume_error = over_packed(y, largest);
    extra(stats, "take_off", (double)report.take_off);
    extra(stats, "stick", (double)report.stick);
    extra(stats, "slide", (double)report.slide);
    extra(stats, "stress_unit", y->stress_unit);
    extra(stats, "divergence", report.divergence);
    extra(stats, "pressure_iterations", (double)report.pressure_iterations);
    extra(stats, "viscosity_iterations", (double)viscous);
    extra(stats, "alternating", alternating);
    extra(stats, "drag_x", exchange[0] / dt);
    extra(stats, "drag_y", exchange[1] / dt);
    extra(stats, "drag_z", exchange[2] / dt);
    double ground = 1, fluid = y->surface ? y->surface->volume : 0;
    for (int a = 0; a < RP_DIM; a++)
        ground *= a == y->up ? 1 : y->lattice.h * (double)y->cells[a];
    for (int64_t j = 0; j < y->node_count && !y->surface; j++)
        fluid += y->volume[j] - y->grains[j];
    extra(stats, "fluid_volume", fluid);
    extra(stats, "fluid_level", y->surface ? y->surface->region / ground : y->lattice.h * (double)y->cells[y->up]);
    extra(stats, "level_mended", y->surface ? y->surface->mended : 0);
    return RP_OK;
}
