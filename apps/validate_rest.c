/* What rests carries its weight: over every plane the vertical stress is the weight above it, whatever lies there. */
#include "validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81;

enum { ROWS_MOST = 256 };

typedef struct planes {
    int count;
    double height[ROWS_MOST];
    double carried[ROWS_MOST];  /* integral of -sigma_up × volume fraction over the row of nodes [N, N/m in 2D] */
    double pressure[ROWS_MOST]; /* the same of the pressure, which is another number: for controls */
    double weight[ROWS_MOST];   /* of the grains above */
} planes;

static const rp_field_view *view_named(const rp_field_view *views, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(views[i].info.name, name) == 0)
            return &views[i];
    return NULL;
}

/* Adds what the nodes carry to the planes they lie in. Nodes on a wall of the domain stand for half a cell. */
static bool add_nodes(run *r, planes *p)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    const rp_field_view *views;
    int count, up = def->dim - 1;
    int64_t nodes;
    if (rp_sim_grid_fields(r->sim, &views, &count, &nodes) != RP_OK)
        return false;
    const rp_field_view *at = view_named(views, count, "position"), *stress = view_named(views, count, "stress");
    const rp_field_view *pressure = view_named(views, count, "pressure"), *fraction = view_named(views, count, "volume_fraction");
    if (!at || !stress || !pressure || !fraction)
        return false;
    const double *x = at->data, *tensor = (const double *)stress->data + up * stress->stride;
    for (int64_t i = 0; i < nodes; i++) {
        int row = (int)lround((x[up * at->stride + i] - def->lower[up]) / def->cell_size);
        double area = 1;
        for (int a = 0; a < up; a++) {
            double place = x[a * at->stride + i], edge = 0.01 * def->cell_size;
            area *= def->cell_size * (place < def->lower[a] + edge || place > def->upper[a] - edge ? 0.5 : 1);
        }
        if (row < 0 || row >= p->count)
            continue;
        double part = area * ((const double *)fraction->data)[i];
        p->carried[row] -= part * tensor[i];
        p->pressure[row] += part * ((const double *)pressure->data)[i];
    }
    return true;
}

/* A particle that a plane cuts is above it in part: it is as wide as its share of the packed material. */
static bool planes_of(run *r, planes *p)
{
    const rp_sim_def *def = rp_sim_definition(r->sim);
    int dim = def->dim, up = dim - 1;
    *p = (planes){ .count = (int)lround((def->upper[up] - def->lower[up]) / def->cell_size) + 1 };
    if (p->count > ROWS_MOST || !add_nodes(r, p))
        return false;
    const double *y = run_plane(r, "position", up), *mass = run_plane(r, "mass", 0), *volume = run_plane(r, "volume", 0);
    for (int k = 0; k < p->count; k++) {
        p->height[k] = def->lower[up] + k * def->cell_size;
        for (int64_t i = 0; i < run_count(r); i++) {
            double size = pow(volume[i] / def->materials[0].volume_fraction, 1.0 / dim);
            p->weight[k] += gravity * mass[i] * fmin(fmax((y[i] - p->height[k]) / size + 0.5, 0), 1);
        }
    }
    return true;
}

/* Largest part by which `force` differs from the weight above, over planes with 90 to 25 % of the weight above: near a top that is pointed the
 * weight bends within a cell, over which a stress is a mean. */
static double worst_plane(const planes *p, const double *force)
{
    double worst = NAN;
    for (int k = 0; k < p->count; k++)
        if (p->weight[k] < 0.9 * p->weight[0] && p->weight[k] > 0.25 * p->weight[0])
            worst = fmax(isnan(worst) ? 0 : worst, fabs(force[k] / p->weight[k] - 1));
    return worst;
}

void case_plane_weight(validation *v)
{
    static const struct {
        const char *name, *scene, *set[2];
    } runs[] = {
        { "column", "column.yaml", { NULL } },
        { "column, on a lattice", "column.yaml", { "grains.sampling=regular" } },
        { "embankment on rough ground", "embankment.yaml", { NULL } },
        { "embankment on a body half a cell off the nodes", "embankment-body.yaml", { NULL } },
        { "after a collapse", "collapse.yaml", { NULL } },
        { "cone, 3D", "cone.yaml", { NULL } },
        { "cone, 3D, half the cell", "cone.yaml", { "cell_size=6.25mm" } },
    };
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        run r;
        planes p;
        if (!run_open(v, &r, runs[k].scene, runs[k].set))
            return;
        if (run_until(v, &r, rp_sim_definition(r.sim)->duration)) {
            bool told = planes_of(&r, &p);
            validation_check(v, CHECK_BELOW, NULL, validation_number(v, "worst"), told ? worst_plane(&p, p.carried) : NAN,
                             "%s: worst plane, integral of the vertical stress over the weight above, less 1", runs[k].name);
            if (k == 4)
                validation_control(v, CHECK_BELOW, NULL, validation_number(v, "worst"), told ? worst_plane(&p, p.pressure) : NAN,
                                   "control, pressure in place of the vertical stress: %s", runs[k].name);
        }
        run_close(&r);
    }
}

/* ---- two layers ---- */

/* Slope of the stress over depth between two heights, and the worst plane against the weight per width of exact layers. */
static double gradient(const planes *p, double width, double low, double high)
{
    double x[ROWS_MOST], y[ROWS_MOST], slope = NAN, offset;
    int n = 0;
    for (int k = 0; k < p->count; k++)
        if (p->height[k] > low && p->height[k] < high)
            x[n] = -p->height[k], y[n++] = p->carried[k] / width;
    if (n > 2)
        fit_line(x, y, n, &slope, &offset, NULL);
    return slope;
}

void case_layers(validation *v)
{
    enum { RUNS = 3 };
    static const struct {
        const char *name, *sampling;
        double lower, upper;
        bool control;
    } runs[RUNS] = {
        { "light on heavy", "regular", 2400, 1000, false },
        { "heavy on light, default sampling", "jittered", 1000, 2400, false },
        { "control, both of the mean density", "regular", 1700, 1700, true },
    };
    static planes p[RUNS];
    static double depths[RUNS][ROWS_MOST], stress[RUNS][ROWS_MOST];
    rp_plot_line lines[RUNS];
    double half = validation_number(v, "layer"), h = validation_number(v, "cell"), width = validation_number(v, "width");
    for (int k = 0; k < RUNS; k++) {
        run r;
        settings set = { 0 };
        setting(&set, "materials.below.bulk_density=%.17g", runs[k].lower);
        setting(&set, "materials.above.bulk_density=%.17g", runs[k].upper);
        setting(&set, "grains.0.sampling=%s", runs[k].sampling);
        setting(&set, "grains.1.sampling=%s", runs[k].sampling);
        if (!run_open(v, &r, "scene.yaml", set.list))
            return;
        bool told = run_until(v, &r, rp_sim_definition(r.sim)->duration) && planes_of(&r, &p[k]);
        run_close(&r);
        if (!told) {
            validation_trouble(v, "there is no stress at nodes");
            return;
        }
        /* the control is held against the layers of the first run */
        double below = runs[runs[k].control ? 0 : k].lower * gravity, above = runs[runs[k].control ? 0 : k].upper * gravity, worst = 0;
        int n = 0;
        for (int i = 1; i < p[k].count && p[k].height[i] < 2 * half - 0.5 * h; i++, n++) {
            double y = p[k].height[i], exact = y > half ? (2 * half - y) * above : half * above + (half - y) * below;
            worst = fmax(worst, fabs(p[k].carried[i] / width - exact) / (half * (above + below)));
            depths[k][n] = 2 * half - y, stress[k][n] = p[k].carried[i] / width;
        }
        lines[k] = (rp_plot_line){ .name = runs[k].name, .x = depths[k], .y = stress[k], .count = n, .points = true };
        void (*row)(validation *, check_kind, const char *, double, double, const char *, ...) = runs[k].control ? validation_control : validation_check;
        row(v, CHECK_RELATIVE, "gradient", below, gradient(&p[k], width, 1.5 * h, half - 1.5 * h), "%s: stress over depth, lower layer [Pa/m]", runs[k].name);
        row(v, CHECK_RELATIVE, "gradient", above, gradient(&p[k], width, half + 1.5 * h, 2 * half - 1.5 * h),
            "%s: stress over depth, upper layer [Pa/m]", runs[k].name);
        row(v, CHECK_BELOW, NULL, validation_number(v, "worst"), worst, "%s: worst plane, in units of the stress at the floor", runs[k].name);
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Two layers at rest", plot.x_label = "depth [m]", plot.y_label = "vertical stress [Pa]";
    plot.lines = lines, plot.line_count = RUNS;
    validation_plot(v, "stress", "Vertical stress in two layers against depth", &plot);
}
