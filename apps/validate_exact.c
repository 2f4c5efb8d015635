/* Cases with exact answers: the law of one contact, columns, silo walls, flight, impact, rotation. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81;

enum { ROWS_MOST = 512 };

/* ---- the law of one contact ---- */

/* With W = w I the solution is known: r = 0, -b/w, or sliding with r_T opposed to b_T. */
static double exact_contact(int d, double w, const double *b, double mu, double *r)
{
    double tangent = 0;
    for (int a = 1; a < d; a++)
        tangent += b[a] * b[a];
    tangent = sqrt(tangent);
    for (int a = 0; a < d; a++)
        r[a] = 0;
    if (b[0] >= 0)
        return 0;
    r[0] = -b[0] / w;
    double scale = tangent <= -mu * b[0] ? 1 : -mu * b[0] / tangent;
    for (int a = 1; a < d; a++)
        r[a] = -scale * b[a] / w;
    return r[0] * sqrt(1 + mu * mu);
}

static double random_unit(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

void case_contact_law(validation *v)
{
    static const int dimensions[] = { 2, 3, 6 };
    uint64_t seed = 7;
    for (int k = 0; k < 3; k++) {
        int d = dimensions[k];
        double worst = 0;
        for (int trial = 0; trial < 10000; trial++) {
            double w[36] = { 0 }, b[6], r[6] = { 0 }, exact[6];
            double size = pow(10, 6 * random_unit(&seed) - 3), mu = 2 * random_unit(&seed);
            for (int a = 0; a < d; a++) {
                w[a * d + a] = size;
                b[a] = 2 * random_unit(&seed) - 1;
            }
            rp_friction_contact_state state;
            rp_result result = rp_friction_solve_contact(d, RP_FRICTION_CONTACT_SCALAR, w, b, mu, r, &state);
            double largest = fmax(exact_contact(d, size, b, mu, exact), 1 / size), off = 0;
            for (int a = 0; a < d; a++)
                off = fmax(off, fabs(r[a] - exact[a]) / largest);
            worst = fmax(worst, result == RP_OK ? off : INFINITY);
        }
        validation_check(v, CHECK_ABSOLUTE, "exact", 0, worst, "dimension %d: worst error of r, 10000 contacts with W = w I", d);
        rp_friction_contact_statistics statistics;
        rp_result result = rp_friction_measure_contacts(d, RP_FRICTION_CONTACT_SCALAR, 10000, 11, &statistics);
        validation_check(v, CHECK_BELOW, NULL, 0, result == RP_OK ? (double)statistics.failures : INFINITY,
                         "dimension %d: failures in 10000 contacts, condition up to 1e10", d);
    }
}

/* ---- a column at rest ---- */

/* Node fields on the whole lattice of the domain, zero where there is no node. */
typedef struct lattice {
    double *up;      /* -sigma along gravity's axis, in the grains */
    int nodes[3];
} lattice;

static bool lattice_of(run *r, lattice *l)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    const rp_field_view *views, *at = NULL, *tensor = NULL;
    int count, dim = def->dim;
    int64_t nodes, total = 1;
    if (rp_sim_grid_fields(r->sim, &views, &count, &nodes) != RP_OK)
        return false;
    for (int i = 0; i < count; i++) {
        if (strcmp(views[i].info.name, "position") == 0)
            at = &views[i];
        if (strcmp(views[i].info.name, "stress") == 0)
            tensor = &views[i];
    }
    for (int a = 0; a < 3; a++) {
        l->nodes[a] = a < dim ? (int)lround((def->upper[a] - def->lower[a]) / def->cell_size) + 1 : 1;
        total *= l->nodes[a];
    }
    l->up = at && tensor ? calloc((size_t)total, sizeof *l->up) : NULL;
    if (!l->up)
        return false;
    const double *x = at->data, *s = (const double *)tensor->data + (dim - 1) * tensor->stride; /* xx yy zz … */
    for (int64_t i = 0; i < nodes; i++) {
        int64_t place = 0;
        for (int a = dim - 1; a >= 0; a--)
            place = place * l->nodes[a] + lround((x[a * at->stride + i] - def->lower[a]) / def->cell_size);
        if (place >= 0 && place < total)
            l->up[place] = -s[i];
    }
    return true;
}

/* Linear between nodes. */
static double lattice_at(const lattice *l, int dim, const double *place)
{
    int64_t cell[3] = { 0 };
    double part[3] = { 0 }, sum = 0;
    for (int a = 0; a < dim; a++) {
        cell[a] = (int64_t)fmin(fmax(floor(place[a]), 0), l->nodes[a] - 2);
        part[a] = place[a] - (double)cell[a];
    }
    for (int corner = 0; corner < 1 << dim; corner++) {
        double weight = 1;
        int64_t at = 0;
        for (int a = dim - 1; a >= 0; a--) {
            int far = corner >> a & 1;
            weight *= far ? part[a] : 1 - part[a];
            at = at * l->nodes[a] + cell[a] + far;
        }
        sum += weight * l->up[at];
    }
    return sum;
}

/* The stress of the mixture over each row of cells: the mean over its particles of the stress in the grains, times the part of the row that
 * grains fill. A row filled to nine tenths and more counts as full, as its cells do in the method: how many particles the sampling put there says
 * nothing of its density. A row in balance carries just what is above it. `width` is that of the column. Returns the number of rows. */
static int rows_of(run *r, double width, double *height, double *stress)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    int dim = def->dim, up = dim - 1;
    lattice l;
    if (!lattice_of(r, &l))
        return 0;
    int rows = l.nodes[up] - 1 < ROWS_MOST ? l.nodes[up] - 1 : ROWS_MOST;
    double h = def->cell_size, section = h * width, packed = def->materials[0].volume_fraction;
    for (int a = 1; a < up; a++)
        section *= def->upper[a] - def->lower[a];
    double filled[ROWS_MOST] = { 0 };
    memset(stress, 0, (size_t)rows * sizeof *stress);
    const double *x[3], *volume = run_plane(r, "volume", 0);
    for (int a = 0; a < dim; a++)
        x[a] = run_plane(r, "position", a);
    for (int64_t i = 0; i < run_count(r); i++) {
        double place[3] = { 0 };
        for (int a = 0; a < dim; a++)
            place[a] = (x[a][i] - def->lower[a]) / h;
        int row = (int)floor(place[up]);
        if (row < 0 || row >= rows)
            continue;
        stress[row] += volume[i] * lattice_at(&l, dim, place);
        filled[row] += volume[i];
    }
    for (int k = 0; k < rows; k++) {
        double part = filled[k] / section;
        stress[k] *= filled[k] > 0 ? (part > 0.9 * packed ? packed : part) / filled[k] : 0;
        height[k] = def->lower[up] + (k + 0.5) * h;
    }
    free(l.up);
    return rows;
}

typedef struct column {
    const char *name, *scene;
    const char *set[6];
    bool grid; /* has a stress at nodes */
} column;

static void one_column(validation *v, const column *c, rp_plot_line *line, double *depths, double *stresses)
{
    run r;
    if (!run_open(v, &r, c->scene, c->set))
        return;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    double density = validation_number(v, "bulk_density"), top = validation_number(v, "height"), h = def->cell_size, force[3];
    int up = def->dim - 1;
    double mass = run_mass(&r);
    if (run_until(v, &r, 0.5 * def->duration)) {
        double before = run_mean(&r, "position", up), heavy = 0;
        int samples = 0;
        while (!rp_sim_done(r.sim) && run_step(v, &r)) {
            rp_sim_wall_force(r.sim, 2 * up, force);
            heavy -= force[up];
            samples++;
        }
        validation_check(v, CHECK_RELATIVE, "force", mass * gravity, heavy / samples, "%s: force on the floor [N or N/m]", c->name);
        validation_check(v, CHECK_RELATIVE, "height", 0.5 * top, run_mean(&r, "position", up), "%s: height of the centre of mass [m]",
                         c->name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "creep_cells"),
                         fabs(run_mean(&r, "position", up) - before) / h, "%s: sinking in the second half of the run, in cells",
                         c->name);
        double height[ROWS_MOST], stress[ROWS_MOST], slope, offset, r2;
        int layers = c->grid ? rows_of(&r, def->upper[0] - def->lower[0], height, stress) : 0, used = 0;
        for (int l = 0; l < layers && height[l] < top - 0.6 * h; l++) {
            depths[used] = top - height[l];
            stresses[used++] = stress[l];
        }
        if (used > 2) {
            fit_line(depths, stresses, used, &slope, &offset, &r2);
            double worst = 0;
            for (int l = 0; l < used; l++)
                worst = fmax(worst, fabs(stresses[l] - density * gravity * depths[l]));
            validation_check(v, CHECK_RELATIVE, "gradient", density * gravity, slope, "%s: vertical stress over depth [Pa/m]", c->name);
            validation_check(v, CHECK_BELOW, NULL, validation_number(v, "worst"), worst / (density * gravity * top),
                             "%s: worst layer, in units of the stress at the floor", c->name);
            *line = (rp_plot_line){ .name = c->name, .x = depths, .y = stresses, .count = used, .points = true };
        }
    }
    run_close(&r);
}

void case_hydrostatic(validation *v)
{
    static const column columns[] = {
        { "2D", "scene.yaml", { "grains.sampling=regular", "grains.per_cell=4" }, true },
        { "2D, default sampling", "scene.yaml", { NULL }, true },
        { "3D", "scene-3d.yaml", { NULL }, true },
        { "2D elastoplastic", "scene.yaml", { "method=elastoplastic", "grains.sampling=regular", "grains.per_cell=4" }, false },
    };
    static double depths[4][ROWS_MOST], stresses[4][ROWS_MOST];
    rp_plot_line lines[5] = { { .name = "\xcf\x81 g depth" } };
    int used = 1;
    for (int k = 0; k < 4; k++) {
        rp_plot_line line = { 0 };
        one_column(v, &columns[k], &line, depths[k], stresses[k]);
        if (line.count)
            lines[used++] = line;
    }
    double top = validation_number(v, "height"), x[2] = { 0, top }, y[2] = { 0, validation_number(v, "bulk_density") * gravity * top };
    lines[0].x = x, lines[0].y = y, lines[0].count = 2;
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Column at rest", plot.x_label = "depth [m]", plot.y_label = "vertical stress [Pa]";
    plot.lines = lines, plot.line_count = used;
    validation_plot(v, "stress", "Vertical stress in a column at rest against depth", &plot);
}

/* ---- a silo whose floor sinks: walls carry the weight [janssen1895] ---- */

static double janssen_misfit(double lambda, double scale, const double *z, const double *s, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double e = s[i] - scale * lambda * (1 - exp(-z[i] / lambda));
        sum += e * e;
    }
    return sum;
}

/* The length that fits best, by golden section in its logarithm. */
static double janssen_length(double low, double high, double scale, const double *z, const double *s, int n)
{
    const double golden = 0.5 * (sqrt(5.0) - 1);
    double a = log(low), b = log(high);
    for (int k = 0; k < 80; k++) {
        double c = b - golden * (b - a), d = a + golden * (b - a);
        if (janssen_misfit(exp(c), scale, z, s, n) < janssen_misfit(exp(d), scale, z, s, n))
            b = d;
        else
            a = c;
    }
    return exp(0.5 * (a + b));
}

void case_janssen(validation *v)
{
    run r;
    double wall = validation_number(v, "wall_friction"), mu = validation_number(v, "friction");
    double density = validation_number(v, "bulk_density"), top = validation_number(v, "height");
    if (!run_open(v, &r, "scene.yaml", NULL))
        return;
    const rp_sim_def *def = rp_sim_definition(r.sim);
    double width = validation_number(v, "width"), h = def->cell_size, mass = run_mass(&r);
    static double height[ROWS_MOST], stress[ROWS_MOST], mean[ROWS_MOST], z[ROWS_MOST], s[ROWS_MOST], curve[ROWS_MOST], weight[ROWS_MOST];
    int layers = 0, samples = 0, n = 0;
    double carried = 0, surface = 0;
    if (run_until(v, &r, validation_number(v, "settle"))) {
        while (!rp_sim_done(r.sim) && run_step(v, &r)) {
            rp_body_state piston;
            layers = rows_of(&r, width, height, stress);
            for (int l = 0; l < layers; l++)
                mean[l] += stress[l];
            samples++;
            if (rp_sim_body(r.sim, 0, &piston) == RP_OK)
                carried -= piston.force[1], surface += 2 * run_mean(&r, "position", 1) - piston.position[1];
        }
    }
    run_close(&r);
    for (int l = 0; l < layers && samples; l++) {
        double depth = surface / samples - height[l];
        if (depth < 2 * h || height[l] < 2 * h) /* the surface; the floor, where the flow turns */
            continue;
        z[n] = depth;
        s[n++] = mean[l] / samples;
    }
    if (n < 5) {
        validation_trouble(v, "only %d layers to fit", n);
        return;
    }
    double scale = density * gravity, low = width / (2 * wall * 20), high = width / (2 * wall * 0.01);
    double lambda = janssen_length(low, high, scale, z, s, n), average = 0, spread = 0;
    for (int i = 0; i < n; i++)
        average += s[i] / n;
    for (int i = 0; i < n; i++)
        spread += (s[i] - average) * (s[i] - average);
    validation_check(v, CHECK_ABOVE, NULL, validation_number(v, "least_r_squared"),
                     1 - janssen_misfit(lambda, scale, z, s, n) / spread, "R² of the fit of Janssen's law");
    double k = width / (2 * wall * lambda);
    validation_check(v, CHECK_ABOVE, NULL, (1 - mu) / (1 + mu), k, "K of the fit above the active state");
    validation_check(v, CHECK_BELOW, NULL, (1 + mu) / (1 - mu), k, "K of the fit below the passive state");
    double janssen_floor = scale * lambda * (1 - exp(-(top - 0.0) / lambda)) * width / (mass * gravity);
    validation_check(v, CHECK_ABSOLUTE, "floor", janssen_floor, carried / samples / (mass * gravity),
                     "part of the weight on the floor, against the fit");
    for (int i = 0; i < n; i++)
        curve[i] = scale * lambda * (1 - exp(-z[i] / lambda)), weight[i] = scale * z[i];
    rp_plot_line lines[3] = { { .name = "measured", .x = z, .y = s, .count = n, .points = true },
                              { .name = "Janssen, fitted length", .x = z, .y = curve, .count = n },
                              { .name = "weight", .x = z, .y = weight, .count = n } };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Silo", plot.x_label = "depth [m]", plot.y_label = "vertical stress [Pa]";
    plot.lines = lines, plot.line_count = 3;
    validation_plot(v, "stress", "Vertical stress in a slot silo whose floor sinks slowly", &plot);
}

/* ---- flight and impact ---- */

static double worst_velocity(const run *r, int dim, const double expected[3])
{
    double worst = 0;
    for (int a = 0; a < dim; a++) {
        const double *u = run_plane(r, "velocity", a);
        for (int64_t i = 0; i < run_count(r); i++)
            worst = fmax(worst, fabs(u[i] - expected[a]));
    }
    return worst;
}

void case_free_fall(validation *v)
{
    static const char *const methods[] = { "method=nonsmooth", "method=elastoplastic" };
    for (int k = 0; k < 2; k++) {
        run r;
        const char *set[] = { methods[k], NULL };
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        const rp_sim_def *def = rp_sim_definition(r.sim);
        double from = run_mean(&r, "position", 1), along = run_mean(&r, "position", 0), u0 = run_mean(&r, "velocity", 0), sum = 0;
        bool good = true;
        while (good && !rp_sim_done(r.sim)) {
            double t = rp_sim_time(r.sim);
            good = run_step(v, &r);
            sum += gravity * rp_sim_time(r.sim) * (rp_sim_time(r.sim) - t); /* the parabola as semi-implicit steps draw it */
        }
        double t = rp_sim_time(r.sim), expected[3] = { u0, -gravity * t, 0 };
        const char *name = methods[k] + 7;
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "speed"), worst_velocity(&r, 2, expected) / (gravity * t),
                         "%s: worst velocity of a particle against -g t", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "place"),
                         fabs(run_mean(&r, "position", 1) - from + sum) / def->cell_size, "%s: fall against the sum of g t dt, in cells",
                         name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "place"),
                         fabs(run_mean(&r, "position", 0) - along - u0 * t) / def->cell_size, "%s: level flight against u0 t, in cells",
                         name);
        validation_check(v, CHECK_BELOW, NULL, 1.01 * 0.5 * gravity * t * r.stats.dt,
                         fabs(run_mean(&r, "position", 1) - from + 0.5 * gravity * t * t),
                         "%s: fall against ½ g t², first order in the step [m]", name);
        run_close(&r);
    }
}

static double energy_of(const run *r)
{
    return r->stats.kinetic_energy + r->stats.potential_energy;
}

void case_drop(validation *v)
{
    static const char *const methods[] = { "method=nonsmooth", "method=elastoplastic" };
    static double times[2][4096], energies[2][4096];
    rp_plot_line lines[2];
    for (int k = 0; k < 2; k++) {
        run r;
        const char *set[] = { methods[k], NULL };
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        double fall = validation_number(v, "fall"), scale = run_mass(&r) * gravity * fall, impact = sqrt(2 * fall / gravity);
        double least = INFINITY, rise = 0, fastest = 0, last = NAN;
        int n = 0;
        while (!rp_sim_done(r.sim) && run_step(v, &r)) {
            double t = rp_sim_time(r.sim);
            if (k == 0) /* without elasticity the sum may never rise; with it, it may not pass its first value */
                rise = fmax(rise, energy_of(&r) - least), least = fmin(least, energy_of(&r));
            else
                rise = fmax(rise, energy_of(&r) - least), least = n ? least : energy_of(&r);
            fastest = fmax(fastest, r.stats.kinetic_energy);
            if (t <= impact + validation_number(v, "after"))
                last = r.stats.kinetic_energy;
            if (n < 4096)
                times[k][n] = t, energies[k][n++] = energy_of(&r) / scale;
        }
        const char *name = methods[k] + 7;
        validation_check(v, CHECK_RELATIVE, "impact", 1, fastest / scale, "%s: kinetic energy before the impact over m g fall", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "left"), last / scale, "%s: kinetic energy left 0.1 s after it", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "rise"), rise / scale, "%s: largest rise of the energy", name);
        lines[k] = (rp_plot_line){ .name = name, .x = times[k], .y = energies[k], .count = n };
        run_close(&r);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Drop", plot.x_label = "t [s]", plot.y_label = "kinetic + potential energy / (m g fall)";
    plot.lines = lines, plot.line_count = 2;
    validation_plot(v, "energy", "Energy of a block that falls and lands", &plot);
}

/* ---- momentum: two discs meet in the air ---- */

void case_momentum(validation *v)
{
    static const char *const methods[] = { "method=nonsmooth", "method=elastoplastic" };
    for (int k = 0; k < 2; k++) {
        run r;
        const char *set[] = { methods[k], NULL };
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        double mass = run_mass(&r), before[2], worst = 0, first = NAN, rise = 0, last = NAN;
        for (int a = 0; a < 2; a++)
            before[a] = run_mean(&r, "velocity", a);
        while (!rp_sim_done(r.sim) && run_step(v, &r)) {
            for (int a = 0; a < 2; a++)
                worst = fmax(worst, fabs(run_mean(&r, "velocity", a) - before[a]));
            if (!isfinite(first))
                first = last = r.stats.kinetic_energy;
            rise = fmax(rise, r.stats.kinetic_energy - last);
            last = r.stats.kinetic_energy;
        }
        const char *name = methods[k] + 7;
        double speed = validation_number(v, "speed");
        validation_check(v, CHECK_RELATIVE, "mass", mass, run_mass(&r), "%s: mass [kg/m]", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "momentum"), worst / speed,
                         "%s: change of the mean velocity, in speeds of a disc", name);
        validation_check(v, CHECK_BELOW, NULL, validation_number(v, "rise"), rise / first, "%s: largest rise of kinetic energy in a step",
                         name);
        validation_check(v, CHECK_BELOW, NULL, 0.98, last / first, "%s: kinetic energy left (some must go)", name);
        run_close(&r);
    }
}

/* ---- a spinning disc in free space ---- */

static double angular_momentum(const run *r, double share)
{
    const double *m = run_plane(r, "mass", 0), *x = run_plane(r, "position", 0), *y = run_plane(r, "position", 1);
    const double *u = run_plane(r, "velocity", 0), *w = run_plane(r, "velocity", 1);
    const double *spin = run_plane(r, "spin", 0); /* (c_yx - c_xy) / 2 */
    double cx = run_mean(r, "position", 0), cy = run_mean(r, "position", 1), sum = 0;
    for (int64_t i = 0; i < run_count(r); i++)
        sum += m[i] * ((x[i] - cx) * w[i] - (y[i] - cy) * u[i]) + (spin ? 2 * m[i] * share * spin[i] : 0);
    return sum;
}

void case_rotation(validation *v)
{
    static const char *const methods[] = { "method=elastoplastic", "method=nonsmooth" };
    for (int k = 0; k < 2; k++) {
        run r;
        const char *set[] = { methods[k], NULL };
        if (!run_open(v, &r, "scene.yaml", set))
            return;
        double h = rp_sim_definition(r.sim)->cell_size, share = k == 0 ? 0.25 * h * h : 0;
        double first = NAN, kinetic = NAN;
        if (run_step(v, &r))
            first = angular_momentum(&r, share), kinetic = r.stats.kinetic_energy;
        double highest = kinetic;
        while (!rp_sim_done(r.sim) && run_step(v, &r))
            highest = fmax(highest, r.stats.kinetic_energy);
        const char *name = methods[k] + 7;
        if (k == 0)
            validation_check(v, CHECK_RELATIVE, "angular", 1, angular_momentum(&r, share) / first,
                             "%s: angular momentum after %lld steps, with the share of the particles' own turning", name,
                             (long long)rp_sim_steps(r.sim));
        else
            validation_check(v, CHECK_RELATIVE, "orbital", 1, angular_momentum(&r, share) / first,
                             "%s: angular momentum of the particles' motion after %lld steps", name, (long long)rp_sim_steps(r.sim));
        validation_check(v, CHECK_BELOW, NULL, 1 + validation_number(v, "own_share"), highest / kinetic, "%s: largest kinetic energy over the first", name);
        run_close(&r);
    }
}
