/* The plots of a run, or of several overlaid: what stats.csv, bodies.csv and the frames tell. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/io.h"
#include "render/film.h"
#include "render/plot_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RUNS = 8, MAX_LINES = 48, BINS = 60, MAX_LOOKS = 200 };

typedef struct run {
    const char *folder;
    char name[64];
    rp__table stats, bodies;
    rp_film *film; /* NULL without frames */
} run;

typedef struct plots {
    run runs[MAX_RUNS];
    int count;
    const char *folder;
    int made;
} plots;

static rp_result write_plot(plots *p, const char *name, rp_plot_def *def)
{
    char file[80];
    rp_result (*const writers[])(const rp_plot_def *, const char *) = { rp_plot_svg, rp_plot_png };
    static const char *const endings[] = { "svg", "png" };
    if (def->line_count == 0)
        return RP_OK;
    for (int k = 0; k < 2; k++) {
        snprintf(file, sizeof file, "%s.%s", name, endings[k]);
        char *path = rp__file_join(p->folder, file);
        if (!path)
            return RP_OUT_OF_MEMORY;
        rp_result result = writers[k](def, path);
        rp__base_free(path);
        RP_TRY(result);
    }
    p->made++;
    return RP_OK;
}

/* ---- stats.csv against time ---- */

typedef struct stat_plot {
    const char *name, *title, *y_label;
    bool log_y;
    const char *columns[4]; /* with several runs the first alone */
    const char *labels[4];
} stat_plot;

static const stat_plot stat_plots[] = {
    { "energy", "Energy", "energy [J]", false, { "kinetic_energy", "potential_energy" }, { "kinetic", "potential" } },
    { "kinetic_energy", "Kinetic energy", "energy [J]", true, { "kinetic_energy" }, { "kinetic" } },
    { "volume_error", "Volume in excess of the packed volume", "part of the volume", true, { "volume_error" }, { "volume error" } },
    { "iterations", "Iterations of the solver", "iterations a step", false, { "iterations" }, { "iterations" } },
    { "residual", "Residual of the solver", "residual", true, { "residual_max", "residual_mean" }, { "largest", "mean" } },
    { "dt", "Time step", "dt [s]", true, { "dt" }, { "dt" } },
    { "particles", "Particles and nodes", "count", false, { "particles", "nodes" }, { "particles", "nodes" } },
};

static bool has_values(const double *y, int64_t n, bool positive)
{
    for (int64_t i = 0; i < n; i++)
        if (isfinite(y[i]) && (!positive || y[i] > 0))
            return true;
    return false;
}

static rp_result plot_stats(plots *p, const stat_plot *kind)
{
    rp_plot_line lines[MAX_LINES];
    rp_plot_def def = rp_default_plot_def();
    def.title = kind->title, def.x_label = "time [s]", def.y_label = kind->y_label, def.log_y = kind->log_y;
    def.lines = lines;
    for (int r = 0; r < p->count; r++)
        for (int c = 0; c < (p->count > 1 ? 1 : 4) && kind->columns[c]; c++) {
            const rp__table *t = &p->runs[r].stats;
            const double *x = rp__table_column(t, "time"), *y = rp__table_column(t, kind->columns[c]);
            if (!x || !y || !has_values(y, t->rows, kind->log_y))
                continue;
            const char *name = p->count > 1 ? p->runs[r].name : kind->columns[1] ? kind->labels[c] : NULL;
            lines[def.line_count++] = (rp_plot_line){ .name = name, .x = x, .y = y, .count = t->rows };
        }
    return write_plot(p, kind->name, &def);
}

/* Wall-clock time of each phase; of the whole step with several runs. */
static rp_result plot_phases(plots *p)
{
    rp_plot_line lines[MAX_LINES];
    rp_plot_def def = rp_default_plot_def();
    def.title = "Time spent in a step", def.x_label = "time [s]", def.y_label = "wall clock [ms]";
    def.lines = lines;
    for (int r = 0; r < p->count; r++) {
        const rp__table *t = &p->runs[r].stats;
        const double *x = rp__table_column(t, "time");
        for (int c = 0; c < t->columns && x && def.line_count < MAX_LINES; c++) {
            bool step = strcmp(t->names[c], "ms_step") == 0;
            if (strncmp(t->names[c], "ms_", 3) != 0 || (p->count > 1 && !step))
                continue;
            double sum = 0;
            for (int64_t i = 0; i < t->rows; i++)
                sum += isfinite(t->values[c][i]) ? t->values[c][i] : 0;
            if (sum > 0)
                lines[def.line_count++] = (rp_plot_line){ .name = p->count > 1 ? p->runs[r].name : t->names[c] + 3, .x = x,
                                                          .y = t->values[c], .count = t->rows };
        }
    }
    return write_plot(p, "phases", &def);
}

/* ---- bodies.csv ---- */

/* |force| on each body: its rows are taken out of the table. */
static rp_result plot_forces(plots *p)
{
    rp_plot_line lines[MAX_LINES];
    double *data[MAX_LINES];
    char names[MAX_LINES][140];
    int count = 0;
    rp_result result = RP_OK;
    for (int r = 0; r < p->count && result == RP_OK; r++) {
        const rp__table *t = &p->runs[r].bodies;
        const double *time = rp__table_column(t, "time"), *f[3] = { rp__table_column(t, "fx"), rp__table_column(t, "fy"),
                                                                    rp__table_column(t, "fz") };
        if (!time || !f[0] || !f[1] || !f[2] || !t->words)
            continue;
        for (int64_t first = 0; first < t->rows && first < 64 && count < MAX_LINES && result == RP_OK; first++) {
            const char *body = t->words + 64 * first;
            bool seen = false;
            for (int64_t k = 0; k < first; k++)
                seen = seen || strcmp(t->words + 64 * k, body) == 0;
            if (seen)
                continue;
            double *xy = RP_NEW_ARRAY(double, 2 * t->rows);
            if (!xy) {
                result = RP_OUT_OF_MEMORY;
                break;
            }
            int64_t n = 0;
            for (int64_t i = 0; i < t->rows; i++)
                if (strcmp(t->words + 64 * i, body) == 0) {
                    xy[n] = time[i];
                    xy[t->rows + n++] = sqrt(f[0][i] * f[0][i] + f[1][i] * f[1][i] + f[2][i] * f[2][i]);
                }
            snprintf(names[count], sizeof *names, "%s%s%s", p->count > 1 ? p->runs[r].name : "", p->count > 1 ? ": " : "", body);
            lines[count] = (rp_plot_line){ .name = names[count], .x = xy, .y = xy + t->rows, .count = n };
            data[count++] = xy;
        }
    }
    rp_plot_def def = rp_default_plot_def();
    def.title = "Force of the grains on the bodies", def.x_label = "time [s]", def.y_label = "force [N]";
    def.lines = lines, def.line_count = count;
    if (result == RP_OK)
        result = write_plot(p, "forces", &def);
    for (int k = 0; k < count; k++)
        rp__base_free(data[k]);
    return result;
}

/* ---- frames: run-out, height, profiles ---- */

typedef struct extent {
    double time, height, half_width;
} extent;

/* Height above the floor and half the width of the grains, without the outermost half percent: single grains that fly far are
 * not the front. */
static rp_result measure(const rp_film *film, const rp_frame *frame, extent *out)
{
    enum { SLOTS = 4096 };
    const rp_field_view *x = rp_frame_field(frame, "position");
    int up = film->up_axis, across = up == 0 ? 1 : 0;
    *out = (extent){ frame->time, NAN, NAN };
    if (!x || x->info.type != RP_F64 || frame->count == 0)
        return RP_OK;
    int64_t *slots = rp__base_alloc_zero(2 * SLOTS * sizeof *slots);
    if (!slots)
        return RP_OUT_OF_MEMORY;
    int axes[2] = { up, across };
    double edge[2][2];
    for (int a = 0; a < 2; a++) {
        const double *v = (const double *)x->data + axes[a] * x->stride;
        double low = film->sim->lower[axes[a]], high = film->sim->upper[axes[a]];
        int64_t *h = slots + a * SLOTS, part = frame->count / 200, sum = 0;
        for (int64_t i = 0; i < frame->count; i++) {
            double s = (v[i] - low) / (high - low) * SLOTS;
            h[s >= SLOTS ? SLOTS - 1 : s > 0 ? (int)s : 0]++;
        }
        int first = 0, last = SLOTS - 1;
        for (; first < SLOTS - 1 && (sum += h[first]) <= part; first++)
            ;
        for (sum = 0; last > 0 && (sum += h[last]) <= part; last--)
            ;
        edge[a][0] = low + (high - low) * first / SLOTS, edge[a][1] = low + (high - low) * (last + 1) / SLOTS;
    }
    out->height = film->up_sign > 0 ? edge[0][1] - film->sim->lower[up] : film->sim->upper[up] - edge[0][0];
    out->half_width = 0.5 * (edge[1][1] - edge[1][0]);
    rp__base_free(slots);
    return RP_OK;
}

static rp_result plot_extents(plots *p)
{
    rp_plot_line height[MAX_RUNS], width[MAX_RUNS];
    double *data[MAX_RUNS] = { 0 };
    rp_result result = RP_OK;
    rp_plot_def def = rp_default_plot_def();
    int count = 0;
    for (int r = 0; r < p->count && result == RP_OK; r++) {
        rp_film *film = p->runs[r].film;
        if (!film)
            continue;
        int64_t n = film->list.count < MAX_LOOKS ? film->list.count : MAX_LOOKS;
        double *d = data[count] = RP_NEW_ARRAY(double, 3 * n);
        if (!d)
            result = RP_OUT_OF_MEMORY;
        for (int64_t k = 0; k < n && result == RP_OK; k++) {
            rp_frame frame;
            extent e = { NAN, NAN, NAN };
            if (rp__film_read(film, n > 1 ? (film->list.count - 1) * k / (n - 1) : 0, &frame) == RP_OK) {
                result = measure(film, &frame, &e);
                rp_frame_free(&frame);
            } /* a damaged frame is a gap in the line */
            d[k] = e.time, d[n + k] = e.height, d[2 * n + k] = e.half_width;
        }
        const char *name = p->count > 1 ? p->runs[r].name : NULL;
        height[count] = (rp_plot_line){ .name = name, .x = d, .y = d + n, .count = n };
        width[count] = (rp_plot_line){ .name = name, .x = d, .y = d + 2 * n, .count = n };
        count += d != NULL;
    }
    def.line_count = count, def.x_label = "time [s]";
    if (result == RP_OK) {
        def.title = "Height of the grains above the floor", def.y_label = "height [m]", def.lines = height;
        result = write_plot(p, "height", &def);
    }
    if (result == RP_OK) {
        def.title = "Run-out: half the width of the grains", def.y_label = "half width [m]", def.lines = width;
        result = write_plot(p, "run_out", &def);
    }
    for (int k = 0; k < MAX_RUNS; k++)
        rp__base_free(data[k]);
    return result;
}

/* Surface (highest grain over each place) and mean speed at each height of one frame. */
static rp_result bin_profiles(const rp_film *film, const rp_frame *frame, double surface[BINS], double speed[BINS])
{
    const rp_field_view *x = rp_frame_field(frame, "position"), *v = rp_frame_field(frame, "velocity");
    double weight[BINS] = { 0 };
    int up = film->up_axis, across = up == 0 ? 1 : 0;
    for (int b = 0; b < BINS; b++)
        surface[b] = speed[b] = NAN;
    if (!x || x->info.type != RP_F64)
        return RP_OK;
    const double *h = (const double *)x->data + up * x->stride, *a = (const double *)x->data + across * x->stride;
    const double *u = v && v->info.type == RP_F64 ? v->data : NULL;
    double floor = film->up_sign > 0 ? film->sim->lower[up] : film->sim->upper[up];
    double wide = film->sim->upper[across] - film->sim->lower[across], tall = film->sim->upper[up] - film->sim->lower[up];
    for (int64_t i = 0; i < frame->count; i++) {
        double height = film->up_sign * (h[i] - floor), bx = (a[i] - film->sim->lower[across]) / wide * BINS, by = height / tall * BINS;
        if (bx >= 0 && bx < BINS)
            surface[(int)bx] = fmax(isnan(surface[(int)bx]) ? 0 : surface[(int)bx], height);
        if (u && by >= 0 && by < BINS) {
            double s = sqrt(u[i] * u[i] + u[v->stride + i] * u[v->stride + i] + u[2 * v->stride + i] * u[2 * v->stride + i]);
            speed[(int)by] = (isnan(speed[(int)by]) ? 0 : speed[(int)by]) + s;
            weight[(int)by]++;
        }
    }
    for (int b = 0; b < BINS; b++)
        speed[b] = weight[b] > 0 ? speed[b] / weight[b] : NAN;
    return RP_OK;
}

/* Five moments of one run, or the last frames of several. */
static rp_result plot_profiles(plots *p)
{
    enum { MOMENTS = 5, MOST = MAX_RUNS };
    rp_plot_line top[MOST], fast[MOST];
    char names[MOST][96];
    double *data = RP_NEW_ARRAY(double, 4 * BINS * MOST);
    rp_result result = data ? RP_OK : RP_OUT_OF_MEMORY;
    int count = 0, wanted = p->count > 1 ? p->count : MOMENTS;
    for (int k = 0; k < wanted && result == RP_OK; k++) {
        const run *r = &p->runs[p->count > 1 ? k : 0];
        if (!r->film)
            continue;
        int64_t n = r->film->list.count, i = p->count > 1 ? n - 1 : (n - 1) * k / (MOMENTS - 1);
        if (p->count == 1 && k > 0 && i == (n - 1) * (k - 1) / (MOMENTS - 1))
            continue;
        rp_frame frame;
        if (rp__film_read(r->film, i, &frame) != RP_OK)
            continue;
        double *at = data + 4 * BINS * count;
        const rp_sim_def *sim = r->film->sim;
        int up = r->film->up_axis, across = up == 0 ? 1 : 0;
        result = bin_profiles(r->film, &frame, at, at + BINS);
        for (int b = 0; b < BINS; b++) {
            at[2 * BINS + b] = sim->lower[across] + (b + 0.5) / BINS * (sim->upper[across] - sim->lower[across]);
            at[3 * BINS + b] = (b + 0.5) / BINS * (sim->upper[up] - sim->lower[up]);
        }
        if (p->count > 1)
            snprintf(names[count], sizeof *names, "%s", r->name);
        else
            snprintf(names[count], sizeof *names, "%.3g s", frame.time);
        top[count] = (rp_plot_line){ .name = names[count], .x = at + 2 * BINS, .y = at, .count = BINS };
        fast[count] = (rp_plot_line){ .name = names[count], .x = at + BINS, .y = at + 3 * BINS, .count = BINS };
        count++;
        rp_frame_free(&frame);
    }
    rp_plot_def def = rp_default_plot_def();
    def.line_count = count;
    if (result == RP_OK) {
        def.title = "Surface of the grains", def.x_label = "position [m]", def.y_label = "height [m]", def.lines = top;
        result = write_plot(p, "profile_surface", &def);
    }
    if (result == RP_OK) {
        def.title = "Mean speed at each height", def.x_label = "speed [m/s]", def.y_label = "height [m]", def.lines = fast;
        result = write_plot(p, "profile_speed", &def);
    }
    rp__base_free(data);
    return result;
}

/* ---- all ---- */

static void last_name(const char *folder, char name[64])
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && folder[start - 1] != '/')
        start--;
    size_t n = length - start < 63 ? length - start : 63;
    memcpy(name, folder + start, n);
    name[n] = '\0';
}

static rp_result open_run(run *r, const char *folder)
{
    memset(r, 0, sizeof *r);
    r->folder = folder;
    last_name(folder, r->name);
    if (!rp__io_is_folder(folder))
        return rp__base_fail(RP_NOT_FOUND, rp__file_exists(folder) ? "%s is a file, not the folder of a run" : "there is no folder %s", folder);
    char *stats = rp__file_join(folder, "stats.csv"), *bodies = rp__file_join(folder, "bodies.csv");
    rp_result result = stats && bodies ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK && rp__file_exists(stats))
        result = rp__table_read(stats, NULL, &r->stats);
    if (result == RP_OK && rp__file_exists(bodies))
        result = rp__table_read(bodies, "body", &r->bodies);
    rp__base_free(stats);
    rp__base_free(bodies);
    if (result == RP_OK) {
        result = rp_film_open(folder, NULL, &r->film);
        if (result == RP_NOT_FOUND && r->stats.rows > 0)
            result = RP_OK; /* tables alone will do */
    }
    return result;
}

static rp_result make_all(plots *p)
{
    RP_TRY(rp__file_make_folder(p->folder));
    for (size_t k = 0; k < sizeof stat_plots / sizeof *stat_plots; k++)
        RP_TRY(plot_stats(p, &stat_plots[k]));
    RP_TRY(plot_phases(p));
    RP_TRY(plot_forces(p));
    RP_TRY(plot_extents(p));
    RP_TRY(plot_profiles(p));
    if (p->made == 0)
        return rp__base_fail(RP_NOT_FOUND, "%s has neither rows in stats.csv nor frames to plot", p->runs[0].folder);
    return RP_OK;
}

rp_result rp_plot_runs(const char *const *runs, int run_count, const char *folder, int *made)
{
    if (run_count < 1 || run_count > MAX_RUNS)
        return rp__base_fail(RP_BAD_ARGUMENT, "%d runs to plot; right is 1 to %d", run_count, (int)MAX_RUNS);
    plots *p = RP_NEW(plots);
    if (!p)
        return RP_OUT_OF_MEMORY;
    p->folder = folder;
    rp_result result = RP_OK;
    for (int r = 0; r < run_count && result == RP_OK; r++) {
        result = open_run(&p->runs[r], runs[r]);
        p->count++;
    }
    if (result == RP_OK)
        result = make_all(p);
    if (made)
        *made = p->made;
    for (int r = 0; r < p->count; r++) {
        rp__table_free(&p->runs[r].stats);
        rp__table_free(&p->runs[r].bodies);
        rp_film_close(p->runs[r].film);
    }
    rp__base_free(p);
    return result;
}
