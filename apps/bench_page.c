/* The page of benchmarks, made from a file of results. */
#include "bench.h"
#include "folder.h"

#include <repose/render.h>
#include <repose/result.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one visit of a stress moves and computes in 3D with stresses at the nodes: 27 vectors of the operator, frame, stress read and
 * written, its part of the tile of velocities; gather, two rotations each way, scatter, the law. */
#define VISIT_BYTES 1300.0
#define VISIT_FLOPS 1300.0
/* One explicit step of an elastoplastic particle, quadratic kernel: both transfers, strain and stress. */
#define PARTICLE_BYTES 480.0
#define PARTICLE_FLOPS 2400.0

enum { MOST = 64 };

static const json *first_row(const json *results)
{
    const json *list = json_member(results, "results");
    return list && list->kind == JSON_ARRAY ? list->first : NULL;
}

static const json *scene_row(const json *results, const char *name, int threads)
{
    for (const json *r = first_row(results); r; r = r->next)
        if (strcmp(json_text_of(r, "kind"), "scene") == 0 && strcmp(json_text_of(r, "name"), name) == 0 &&
            json_number(r, "threads", 0) == threads)
            return r;
    return NULL;
}

/* With two threads, or with what there is. */
static const json *best_row(const json *results, const char *name)
{
    const json *two = scene_row(results, name, 2);
    return two ? two : scene_row(results, name, 1);
}

static bool is_law(const benchmark *b)
{
    return b->family && strcmp(b->family, "laws") == 0;
}

/* Rows that are compared with each other only, in a table of their own. */
static bool is_apart(const benchmark *b)
{
    return is_law(b) || bench_is_paper(b);
}

static void cell(FILE *to, const char *format, double value)
{
    fprintf(to, " ");
    if (isfinite(value))
        fprintf(to, format, value);
    fprintf(to, " |");
}

static bool save_plot(const rp_plot_def *plot, const char *folder, const char *name, const char *caption, FILE *to)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/performance/%s.png", folder, name);
    if (rp_plot_png(plot, path) != RP_OK) {
        fprintf(stderr, "repose bench: %s\n", rp_last_error());
        return false;
    }
    fprintf(to, "![%s](performance/%s.png)\n\n", caption, name);
    return true;
}

/* Rows that were taken over from another run say when they were measured. */
static void write_older(FILE *to, const json *results)
{
    const json *list = json_member(results, "results");
    const char *last = "";
    bool any = false;
    for (const json *r = list && list->kind == JSON_ARRAY ? list->first : NULL; r; r = r->next) {
        if (!*json_text_of(r, "date") || strcmp(json_text_of(r, "name"), last) == 0)
            continue;
        last = json_text_of(r, "name");
        fprintf(to, "%s`%s`", any ? ", " : "Measured in an earlier run, on such a machine: ", last);
        any = true;
    }
    if (any)
        fprintf(to, ".\n\n");
}

static void write_machine(FILE *to, const json *results)
{
    const json *machine = json_member(results, "machine"), *limits = json_member(machine, "limits");
    double load = json_number(machine, "load", 0), cores = json_number(machine, "cores", 1);
    fprintf(to, "%s, %g cores, %.3g GB; %s of %s. ", json_text_of(machine, "processor"), cores, json_number(machine, "memory_GB", 0),
            json_text_of(results, "program"), json_text_of(results, "date"));
    if (load > 0.3 * cores)
        fprintf(to, "**The machine was busy with other work: the load was %.2g at the start; times are upper bounds, and two threads had to "
                    "share.**", load);
    else
        fprintf(to, "The machine was quiet (load %.2g at the start).", load);
    fprintf(to, "\n\n| threads | copy GB/s | triad GB/s | Gflop/s (double) |\n|---|---|---|---|\n");
    for (const json *l = limits ? limits->first : NULL; l; l = l->next)
        fprintf(to, "| %g | %.1f | %.1f | %.0f |\n", json_number(l, "threads", 0), json_number(l, "copy_GB_per_s", 0),
                json_number(l, "triad_GB_per_s", 0), json_number(l, "gflop_per_s", 0));
    fprintf(to, "\n");
    write_older(to, results);
}

static void write_scenes(FILE *to, const json *results)
{
    fprintf(to, "## Scenes\n\nSeconds a step: the least of the repeats of the same steps; the spread is by how much the slowest repeat was slower. "
                "The first step, which starts from no stress, is not counted.\n\n"
                "| scene | | particles | nodes | s a step, 1 thread | 2 threads | spread | speed-up | goal | iterations | not converged "
                "| residual mean | max | over-packed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const benchmark *b = benchmarks; b->name; b++) {
        const json *one = scene_row(results, b->name, 1), *two = scene_row(results, b->name, 2), *r = two ? two : one;
        if (!r || is_apart(b))
            continue;
        double t1 = json_number(one, "seconds", NAN), t2 = json_number(two, "seconds", NAN);
        fprintf(to, "| `%s` | %s |", b->name, b->title);
        cell(to, "%.0f", json_number(r, "particles", NAN));
        cell(to, "%.0f", json_number(r, "nodes", NAN));
        cell(to, "%.4g", t1);
        cell(to, "%.4g", t2);
        cell(to, "%.0f %%", 100 * json_number(r, "spread", NAN));
        cell(to, "%.2f", t1 / t2);
        cell(to, "%g", b->goal > 0 ? b->goal : NAN);
        cell(to, "%.1f", json_number(r, "iterations", NAN));
        fprintf(to, " %g of %g |", json_number(r, "unconverged", 0), json_number(r, "steps", 0));
        cell(to, "%.1e", json_number(r, "residual_mean", NAN));
        cell(to, "%.1e", json_number(r, "residual_max", NAN));
        cell(to, "%.2f %%", 100 * json_number(r, "volume_error", NAN));
        fprintf(to, "\n");
    }
    fprintf(to, "\n");
}

static void write_phases(FILE *to, const json *results)
{
    fprintf(to, "## What dominates\n\nParts of a step (2 threads):\n\n");
    for (const benchmark *b = benchmarks; b->name; b++) {
        const json *r = best_row(results, b->name), *phases = json_member(r, "phases");
        double total = json_number(r, "seconds", NAN), most = 0;
        const char *largest = NULL;
        if (!phases || is_apart(b))
            continue;
        fprintf(to, "- `%s`:", b->name);
        for (const json *p = phases->first; p; p = p->next)
            if (p->number > most)
                most = p->number, largest = p->name;
        fprintf(to, " **%s %.0f %%**", largest ? largest : "", 100 * most / total);
        for (const json *p = phases->first; p; p = p->next)
            if (p->name != largest && p->number > 0.005 * total)
                fprintf(to, ", %s %.0f %%", p->name, 100 * p->number / total);
        fprintf(to, "\n");
    }
    fprintf(to, "\n");
}

static void write_limits(FILE *to, const json *results)
{
    fprintf(to,
            "## How near the limit\n\nA visit of a stress moves about %.0f bytes and computes about %.0f operations (3D, stresses at the nodes); a step "
            "of an elastoplastic particle about %.0f bytes and %.0f operations. The limit is what memory (triad) or arithmetic allows, "
            "whichever is slower, measured in this run; small scenes stay in the caches and may do better than memory allows.\n\n"
            "| scene | threads | ns a visit | limit | of the limit | million particle-steps a s | limit | of the limit |\n"
            "|---|---|---|---|---|---|---|---|\n",
            VISIT_BYTES, VISIT_FLOPS, PARTICLE_BYTES, PARTICLE_FLOPS);
    for (const json *r = first_row(results); r; r = r->next) {
        if (strcmp(json_text_of(r, "kind"), "scene") != 0 || strcmp(json_text_of(r, "family"), "laws") == 0)
            continue;
        double threads = json_number(r, "threads", 1), bandwidth = 1e9 * bench_limit_of(results, "triad_GB_per_s", threads);
        double flops = 1e9 * bench_limit_of(results, "gflop_per_s", threads), visit = json_number(r, "ns_per_node_visit", NAN);
        double rate = json_number(r, "particle_steps_per_s", NAN);
        double least = 1e9 * fmax(VISIT_BYTES / bandwidth, VISIT_FLOPS / flops);
        double most = isfinite(visit) ? NAN : 1 / fmax(PARTICLE_BYTES / bandwidth, PARTICLE_FLOPS / flops);
        fprintf(to, "| `%s` | %g |", json_text_of(r, "name"), threads);
        cell(to, "%.0f", visit);
        cell(to, "%.0f", isfinite(visit) ? least : NAN);
        cell(to, "%.0f %%", 100 * least / visit);
        cell(to, "%.2f", 1e-6 * rate);
        cell(to, "%.0f", 1e-6 * most);
        cell(to, "%.1f %%", 100 * rate / most);
        fprintf(to, "\n");
    }
    fprintf(to, "\n## Memory\n\nLargest amount the library held (the particles and the grid of this scene alone).\n\n"
                "| scene | MB | bytes a particle | bytes a node |\n|---|---|---|---|\n");
    for (const benchmark *b = benchmarks; b->name; b++) {
        const json *r = best_row(results, b->name);
        if (!r || is_apart(b))
            continue;
        fprintf(to, "| `%s` |", b->name);
        cell(to, "%.0f", 1e-6 * json_number(r, "memory", NAN));
        cell(to, "%.0f", json_number(r, "memory_per_particle", NAN));
        cell(to, "%.0f", json_number(r, "memory_per_node", NAN));
        fprintf(to, "\n");
    }
    fprintf(to, "\n");
}

static double exponent(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int i = 0; i < n; i++)
        mx += log(x[i]) / n, my += log(y[i]) / n;
    for (int i = 0; i < n; i++)
        xx += (log(x[i]) - mx) * (log(x[i]) - mx), xy += (log(x[i]) - mx) * (log(y[i]) - my);
    return xy / xx;
}

static bool write_growth(FILE *to, const json *results, const char *folder)
{
    double nodes[MOST], seconds[MOST], iterations[MOST], solve[MOST], rest[MOST];
    int n = 0;
    for (const benchmark *b = benchmarks; b->name && n < MOST; b++) {
        const json *r = b->family && !is_apart(b) ? best_row(results, b->name) : NULL;
        if (!r || !(json_number(r, "iterations", 0) > 0))
            continue;
        nodes[n] = json_number(r, "nodes", NAN), seconds[n] = json_number(r, "seconds", NAN);
        iterations[n] = json_number(r, "iterations", NAN);
        solve[n] = json_number(json_member(r, "phases"), "solve", NAN);
        rest[n] = seconds[n] - solve[n];
        n++;
    }
    if (n < 2)
        return true;
    fprintf(to, "## How the cost grows\n\nThe same collapse at finer grids, the first steps of each:\n\n| nodes | s a step | solve | rest | iterations |\n"
                "|---|---|---|---|---|\n");
    for (int i = 0; i < n; i++)
        fprintf(to, "| %.0f | %.4g | %.4g | %.4g | %.1f |\n", nodes[i], seconds[i], solve[i], rest[i], iterations[i]);
    fprintf(to, "\nIterations grow like nodes^%.2f, seconds a step like nodes^%.2f, all but the solve like nodes^%.2f (fits over the table).\n\n",
            exponent(nodes, iterations, n), exponent(nodes, seconds, n), exponent(nodes, rest, n));
    rp_plot_line lines[] = { { .name = "a step", .x = nodes, .y = seconds, .count = n },
                             { .name = "solve", .x = nodes, .y = solve, .count = n },
                             { .name = "all the rest", .x = nodes, .y = rest, .count = n } };
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Collapse at finer grids", plot.x_label = "nodes", plot.y_label = "seconds a step";
    plot.log_x = plot.log_y = true;
    plot.lines = lines, plot.line_count = 3;
    bool good = save_plot(&plot, folder, "growth", "Seconds a step against nodes", to);
    rp_plot_line line = { .name = "iterations", .x = nodes, .y = iterations, .count = n };
    plot = rp_default_plot_def();
    plot.title = "Collapse at finer grids", plot.x_label = "nodes", plot.y_label = "iterations a step";
    plot.log_x = plot.log_y = true;
    plot.lines = &line, plot.line_count = 1;
    return save_plot(&plot, folder, "iterations", "Iterations a step against nodes", to) && good;
}

static bool draw_scenes(FILE *to, const json *results, const char *folder)
{
    double x[3][MOST], y[3][MOST];
    int n[3] = { 0 };
    for (const benchmark *b = benchmarks; b->name; b++) {
        const json *r[2] = { scene_row(results, b->name, 1), scene_row(results, b->name, 2) };
        for (int k = 0; k < 2; k++)
            if (r[k] && !is_apart(b) && json_number(r[k], "iterations", 0) > 0 && n[k] < MOST)
                x[k][n[k]] = json_number(r[k], "nodes", NAN), y[k][n[k]++] = json_number(r[k], "seconds", NAN);
        if (b->reference > 0 && (r[0] || r[1]) && n[2] < MOST)
            x[2][n[2]] = json_number(r[1] ? r[1] : r[0], "nodes", NAN), y[2][n[2]++] = b->reference;
    }
    rp_plot_line lines[] = { { .name = "1 thread", .x = x[0], .y = y[0], .count = n[0], .points = true },
                             { .name = "2 threads", .x = x[1], .y = y[1], .count = n[1], .points = true },
                             { .name = "reference", .x = x[2], .y = y[2], .count = n[2], .points = true } };
    if (n[0] + n[1] == 0)
        return true;
    rp_plot_def plot = rp_default_plot_def();
    plot.title = "Scenes of the nonsmooth method", plot.x_label = "nodes", plot.y_label = "seconds a step";
    plot.log_x = plot.log_y = true;
    plot.lines = lines, plot.line_count = 3;
    return save_plot(&plot, folder, "scenes", "Seconds a step of the scenes against their nodes", to);
}

/* Each law against constant friction, at equal sweeps. */
static void write_laws(FILE *to, const json *results)
{
    static const struct {
        const char *name, *goal;
    } goals[] = { { "law-constant", "" }, { "law-mu-i", "10 %" }, { "law-cohesion", "10 %" }, { "law-anisotropic", "40 %" } };
    bool head = false;
    for (const benchmark *b = benchmarks; b->name; b++)
        for (int threads = 1; is_law(b) && threads <= 2; threads++) {
            const json *r = scene_row(results, b->name, threads), *plain = scene_row(results, goals[0].name, threads);
            const char *goal = "";
            for (size_t k = 0; k < sizeof goals / sizeof *goals; k++)
                if (strcmp(goals[k].name, b->name) == 0)
                    goal = goals[k].goal;
            if (!r)
                continue;
            if (!head)
                fprintf(to, "## What the laws cost\n\nThe same collapse with %g sweeps in every step, whatever the residual: what a law adds to a step.\n\n"
                            "| | | threads | s a step | more | processor s a step | more | spread | at most |\n|---|---|---|---|---|---|---|---|---|\n",
                        json_number(r, "iterations", NAN));
            head = true;
            double wall = json_number(r, "seconds", NAN), work = json_number(r, "cpu_seconds", NAN);
            fprintf(to, "| `%s` | %s | %d |", b->name, b->title, threads);
            cell(to, "%.4g", wall);
            cell(to, "%+.1f %%", r == plain ? NAN : 100 * (wall / json_number(plain, "seconds", NAN) - 1));
            cell(to, "%.4g", work);
            cell(to, "%+.1f %%", r == plain ? NAN : 100 * (work / json_number(plain, "cpu_seconds", NAN) - 1));
            cell(to, "%.0f %%", 100 * json_number(r, "spread", NAN));
            fprintf(to, " %s |\n", goal);
        }
    if (head)
        fprintf(to, "\n");
}

static void write_bodies(FILE *to, const json *results)
{
    const json *with = best_row(results, "bodies"), *without = best_row(results, "no-bodies");
    if (!with || !without)
        return;
    double a = json_number(with, "seconds", NAN), b = json_number(without, "seconds", NAN), i = json_number(with, "iterations", NAN);
    double j = json_number(without, "iterations", NAN), solve_a = json_number(json_member(with, "phases"), "solve", NAN);
    double solve_b = json_number(json_member(without, "phases"), "solve", NAN);
    fprintf(to,
            "## What bodies cost\n\nA boulder, a free ball, a blade and a mesh in sand of %.0f nodes, against the same sand without them, once "
            "it has settled around them (16 steps): %.3g against %.3g s a "
            "step (%+.0f %%), with %.0f and %.0f sweeps. A sweep costs %.3g against %.3g ms (%+.0f %%), all but the solve %.3g against %.3g s "
            "(%+.0f %%). "
            "Goal: at most 25 %% more.\n\n",
            json_number(with, "nodes", NAN), a, b, 100 * (a / b - 1), i, j, 1e3 * solve_a / i, 1e3 * solve_b / j,
            100 * (solve_a / i / (solve_b / j) - 1), a - solve_a, b - solve_b, 100 * ((a - solve_a) / (b - solve_b) - 1));
}

static void write_kernels(FILE *to, const json *results)
{
    for (const benchmark *b = benchmarks; b->name; b++) {
        bool head = false;
        for (const json *r = first_row(results); r; r = r->next) {
            if (strcmp(json_text_of(r, "kind"), "kernel") != 0 || strcmp(json_text_of(r, "name"), b->name) != 0)
                continue;
            if (!head) {
                fprintf(to, "## %s\n\n| |", b->title);
                for (const json *m = r->first; m; m = m->next)
                    if (m->kind == JSON_NUMBER)
                        fprintf(to, " %s |", m->name);
                fprintf(to, "\n|---|");
                for (const json *m = r->first; m; m = m->next)
                    if (m->kind == JSON_NUMBER)
                        fprintf(to, "---|");
                fprintf(to, "\n");
                head = true;
            }
            fprintf(to, "| %s |", json_text_of(r, "what"));
            for (const json *m = r->first; m; m = m->next)
                if (m->kind == JSON_NUMBER)
                    fprintf(to, " %.4g |", m->number);
            fprintf(to, "\n");
        }
        if (head)
            fprintf(to, "\n");
    }
}

/* Seconds a step with two threads over the rows of the history, a line a scene. */
static bool write_history(FILE *to, const json *results, const char *folder, const char *history)
{
    enum { ROWS = 4096, SCENES = 16 };
    char name[256], path[1400], line[512];
    bench_file_name(json_text_of(json_member(results, "machine"), "processor"), name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", history, name);
    FILE *file = fopen(path, "r");
    double *x = calloc(ROWS, sizeof *x), *y = calloc(ROWS, sizeof *y);
    rp_plot_line lines[SCENES];
    char last[64] = "";
    int count = 0, runs = 0, used = 0;
    for (const benchmark *b = benchmarks; file && x && y && b->name && count < SCENES; b++) {
        int first = used;
        rewind(file);
        runs = 0, last[0] = '\0';
        while (fgets(line, sizeof line, file) && used < ROWS) {
            char date[64] = "", scene[64] = "";
            double threads, seconds;
            if (sscanf(line, "%63[^,],%*[^,],%63[^,],%lf,%lf", date, scene, &threads, &seconds) != 4)
                continue;
            if (strcmp(date, last) != 0)
                runs++, snprintf(last, sizeof last, "%s", date);
            if (threads == 2 && strcmp(scene, b->name) == 0)
                x[used] = runs, y[used++] = seconds;
        }
        if (used > first)
            lines[count++] = (rp_plot_line){ .name = b->name, .x = x + first, .y = y + first, .count = used - first };
    }
    if (file)
        fclose(file);
    bool good = true;
    if (count && runs > 1) {
        rp_plot_def plot = rp_default_plot_def();
        plot.title = "Seconds a step, 2 threads", plot.x_label = "run", plot.y_label = "seconds a step", plot.log_y = true;
        plot.lines = lines, plot.line_count = count;
        fprintf(to, "## History\n\nRuns on this machine so far (`bench/history/%s`):\n\n", name);
        good = save_plot(&plot, folder, "history", "Seconds a step over the runs", to);
    }
    free(x);
    free(y);
    return good;
}

bool bench_page(const json *results, const char *folder, const char *history)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/performance", folder);
    bool good = make_folder(path);
    snprintf(path, sizeof path, "%s/performance.md", folder);
    FILE *to = good ? fopen(path, "w") : NULL;
    if (!to) {
        fprintf(stderr, "repose bench: %s cannot be written\n", path);
        return false;
    }
    fprintf(to, "# Performance\n\nThis page is made by `repose bench --page docs` (`make bench`): how fast the program is, beside the limits of the "
                "machine measured in the same run, so that figures travel. `repose bench NAME` repeats one benchmark, `repose bench "
                "--compare old.json` says what got slower beyond the noise; the results behind this page are in "
                "`performance/bench.json`.\n\n## The machine\n\n");
    write_machine(to, results);
    write_scenes(to, results);
    good = draw_scenes(to, results, folder) && good;
    bench_write_paper(to, results);
    write_phases(to, results);
    write_limits(to, results);
    good = write_growth(to, results, folder) && good;
    write_laws(to, results);
    write_bodies(to, results);
    write_kernels(to, results);
    if (history)
        good = write_history(to, results, folder, history) && good;
    fprintf(to, "## Friction solvers\n\nWhich solver of the friction library is fastest on which problems: [performance profiles](friction.md#profiles).\n");
    return fclose(to) == 0 && good;
}
