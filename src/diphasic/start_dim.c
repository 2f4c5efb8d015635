/* What a step begins with: gaps, loads, the stresses and pressures of the last step. */
#include "diphasic/cell_law.h"

#include "base/error.h"
#include "exec/exec.h"

/* Particles carry their bulk V (1 + s) as points, and come to a cell row by row: where a suspension settles on a bed the cell that fills would close before
 * its last row has come, every one, and the bed be too loose by a row a cell. So a cell that nothing touches in yet, beside which grains lie that
 * are looser and have more room than volume, has the looseness of their next row beyond its own, S/n^(1/d) of n particles, as far as
 * there is room. That holds inside: neither the cell nor one beside it may lack more bulk than a row, (V + S)/n^(1/d), has; at edges
 * of the material, and in jets, what is missing is not about to come. */
static double coming_looseness(const dp_system *y, const dp_stress *s, double full)
{
    int64_t at[3];
    double most = 0, lacking = full - s->volume - s->loose;
    if (!(s->loose > 0) || s->touching > 0 || !(lacking > 0))
        return 0;
    dp_place(y->cells, s->cell, at);
    for (int f = 0; f < 2 * RP_DIM; f++) {
        int64_t cell = dp_beyond(y, at, f / 2, f & 1);
        if (cell < 0)
            continue;
        const dp_stress *other = y->stress_of[cell] < 0 ? NULL : &y->stress[y->stress_of[cell]];
        double rows = pow((double)y->cell_particles[cell], 1.0 / RP_DIM), bulk = other ? other->volume + other->loose : 0;
        if (!other || full - bulk > bulk / rows)
            return 0;
        if (lacking <= bulk / rows && other->loose >= other->volume && other->loose * s->volume > s->loose * other->volume)
            most = fmax(most, other->loose / rows);
    }
    return fmin(most, lacking);
}

/* The gap: bulk volume that the grains of a cell may lose before they touch, by what each particle knows of itself. With S = sum V s the
 * bulk may shrink by the part S / (V + S), but not beyond what the cell or its corners leave: where loose grains keep coming to a cell that
 * is full, their looseness is not its own. Cells that are too full all the same (closure.h) open as they are sheared; the one nearer to
 * full of the cell and its corners counts, since a few particles in a cell lie unevenly by chance. */
static double gap_rate(const dp_system *y, dp_stress *s, double dt)
{
    double cell = pow(y->lattice.h, RP_DIM), largest = s->volume / s->weight, own = s->weight / fmax(y->free_cell[s->cell], DP_SLIVER * cell);
    double full = 0, most = 0, least = INFINITY;
    for (int n = 0; n < DP_CORNERS; n++) {
        int64_t j = s->node[n];
        double part = y->grains[j] / (fmax(y->free_node[j], DP_SLIVER * y->volume[j]) * largest);
        full += part / DP_CORNERS, most = fmax(most, part), least = fmin(least, part);
    }
    double filled = fmax(full, own);
    s->coming = filled < 1 && y->params->dilatancy == RP__DILATANCY_NONE ? coming_looseness(y, s, s->volume / filled) : 0;
    double loose = s->loose + s->coming, gap = loose / (s->volume + loose);
    if (y->params->dilatancy == RP__DILATANCY_NONE && gap > 0)
        gap = fmax(0, fmin(gap, 1 - filled));
    s->opening = gap > 0 ? 0 : fmax(0, fmin(DP_OPENING * (fmin(full, own) - 1 - DP_CHANCE), s->mu / DP_CONTACT));
    s->densest = (2 * most - least + DP_CHANCE) * largest;
    return s->extent * gap / dt / DP_TRACE;
}

static void load_stresses(void *context, int64_t begin, int64_t end, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    double cell = pow(y->lattice.h, RP_DIM);
    double beyond = y->params->dilatancy == RP__DILATANCY_NONE ? 0 : DP_CONTACT * y->params->largest_dilatancy; /* µ + tan ψ */
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        dp_stress *s = &y->stress[k];
        const double *last = y->lambda + DP_S * s->cell;
        s->k = gap_rate(y, s, w->dt);
        s->weight = s->weight < cell ? s->weight / cell : 1;
        DP(make_rate)(y, w->world->def->fluid->viscosity, s);
        for (int i = 0; i < DP_S; i++)
            s->lambda[i] = y->params->warm_start ? last[i] : 0;
        DP_CONE_NAME(rp__friction_project)(s->mu + beyond + DP_CONTACT * s->faster, s->lambda);
        s->bend_arm = !y->params->bending ? 0 : s->extent / (sqrt(12) * y->lattice.h);
        for (int i = 0; i < DP_BENT; i++)
            s->bend[i] = y->params->warm_start ? y->bend[DP_BENT * s->cell + i] : 0;
    }
}

static void scatter_column(void *context, int64_t column, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    (void)worker;
    for (int64_t k = y->column_first[column]; k < y->column_first[column + 1]; k++)
        dp_scatter(y, &y->stress[k], w->dt, 0, y->stress[k].lambda, RP_DIM), dp_scatter_bent(y, &y->stress[k], w->dt, y->stress[k].bend);
}

/* The load of each column of touching grains: its own weight under the fluid. In the first step of a run it is the guess, evenly in all directions. Stresses of
 * grains at rest are not unique, and from none at all the sweeps come to uneven ones, with which a slope near its angle begins to slide. */
static void load_column(void *context, int64_t column, int worker)
{
    const dp_solve *w = context;
    dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    int64_t begin = y->column_first[column], end = y->column_first[column + 1];
    double g = def->gravity[y->up], above = 0, face = pow(y->lattice.h, RP_DIM - 1);
    (void)worker;
    for (int64_t n = 0; n < end - begin; n++) {
        dp_stress *s = &y->stress[g < 0 ? end - 1 - n : begin + n];
        double weight = (s->mass - dp_wet_part(y, s->cell) * def->fluid->density * s->volume) * fabs(g), phi = s->extent / (face * y->lattice.h);
        double load = above + 0.5 * weight;
        above = s->loose > 0 || weight < 0 ? 0 : above + weight;
        s->load = s->loose > 0 || weight < 0 ? 0 : load / (face * phi * DP_CONTACT);
        s->lambda[0] = y->cold && y->params->warm_start ? s->load : s->lambda[0];
    }
}

void DP(start)(dp_system *y, const rp__world *world, double dt)
{
    dp_solve w = { .y = y, .world = world, .dt = dt };
    if (!y->params->warm_start)
        memset(y->pressure, 0, (size_t)y->cell_count * sizeof(double));
    rp__exec_for(y->stress_count, 256, load_stresses, &w);
    DP(for_columns)(y, load_column, &w);
    y->cold = false;
    DP(for_columns)(y, scatter_column, &w);
    DP(push_nodes)(y, y->pressure, true, dt);
}
