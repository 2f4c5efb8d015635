#include "friction_profile.h"

#include <repose/render.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double best_of(const profile *p, int problem)
{
    double best = INFINITY;
    for (int s = 0; s < p->solver_count; s++)
        best = fmin(best, p->seconds[problem * p->solver_count + s]);
    return best;
}

/* The part of the problems that solver s solves within `ratio` times the best of all. */
static double part_within(const profile *p, int s, double ratio)
{
    int count = 0;
    for (int k = 0; k < p->problems; k++) {
        double t = p->seconds[k * p->solver_count + s];
        count += isfinite(t) && t <= ratio * best_of(p, k);
    }
    return p->problems > 0 ? (double)count / p->problems : 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void profile_print(const profile *p, double tolerance)
{
    double *sorted = calloc((size_t)p->problems + 1, sizeof *sorted);
    printf("tolerance %g, %d problems\n%-12s  solved  fastest  within 2x  median seconds  slowest solved\n", tolerance, p->problems,
           "solver");
    for (int s = 0; s < p->solver_count && sorted; s++) {
        int solved = 0;
        for (int k = 0; k < p->problems; k++) {
            sorted[k] = p->seconds[k * p->solver_count + s];
            solved += isfinite(sorted[k]) ? 1 : 0;
        }
        qsort(sorted, (size_t)p->problems, sizeof *sorted, ascending);
        double median = 0.5 * (sorted[(p->problems - 1) / 2] + sorted[p->problems / 2]);
        printf("%-12s  %6d  %6.0f%%  %8.0f%%  ", rp_friction_solver_name(p->solvers[s]), solved, 100 * part_within(p, s, 1),
               100 * part_within(p, s, 2));
        if (isfinite(median))
            printf("%14.6f  ", median);
        else
            printf("%14s  ", "-");
        if (solved > 0)
            printf("%14.6f\n", sorted[solved - 1]);
        else
            printf("%14s\n", "-");
    }
    free(sorted);
}

enum { RATIOS = 121 };
static double ratio_at(int k) /* 1 .. 1000, evenly in the logarithm */
{
    return pow(10, 3.0 * k / (RATIOS - 1));
}

static void write_times(FILE *f, const profile *p)
{
    fprintf(f, "problem");
    for (int s = 0; s < p->solver_count; s++)
        fprintf(f, ",%s", rp_friction_solver_name(p->solvers[s]));
    fprintf(f, "\n");
    for (int k = 0; k < p->problems; k++) {
        fputc('"', f);
        for (const char *c = p->names[k]; *c; c++) {
            if (*c == '"')
                fputc('"', f);
            fputc(*c, f);
        }
        fputc('"', f);
        for (int s = 0; s < p->solver_count; s++) {
            double t = p->seconds[k * p->solver_count + s];
            if (isfinite(t))
                fprintf(f, ",%.6g", t);
            else
                fprintf(f, ","); /* not solved */
        }
        fprintf(f, "\n");
    }
}

static void write_curves(FILE *f, const profile *p)
{
    fprintf(f, "ratio");
    for (int s = 0; s < p->solver_count; s++)
        fprintf(f, ",%s", rp_friction_solver_name(p->solvers[s]));
    fprintf(f, "\n");
    for (int k = 0; k < RATIOS; k++) {
        fprintf(f, "%.6g", ratio_at(k));
        for (int s = 0; s < p->solver_count; s++)
            fprintf(f, ",%.4f", part_within(p, s, ratio_at(k)));
        fprintf(f, "\n");
    }
}

/* The table of profile_print as Markdown, and what it says in two sentences. */
static void write_page(FILE *f, const profile *p, double tolerance)
{
    int best = 0, most = 0, solved[RP_FRICTION_SOLVER_COUNT] = { 0 };
    double *sorted = calloc((size_t)p->problems + 1, sizeof *sorted);
    fprintf(f, "| solver | solved of %d | fastest | within 2× | median s | slowest solved s |\n|---|---|---|---|---|---|\n", p->problems);
    for (int s = 0; s < p->solver_count && sorted; s++) {
        for (int k = 0; k < p->problems; k++) {
            sorted[k] = p->seconds[k * p->solver_count + s];
            solved[s] += isfinite(sorted[k]) ? 1 : 0;
        }
        qsort(sorted, (size_t)p->problems, sizeof *sorted, ascending);
        double median = 0.5 * (sorted[(p->problems - 1) / 2] + sorted[p->problems / 2]);
        fprintf(f, "| `%s` | %d | %.0f %% | %.0f %% |", rp_friction_solver_name(p->solvers[s]), solved[s], 100 * part_within(p, s, 1),
                100 * part_within(p, s, 2));
        fprintf(f, isfinite(median) ? " %.3g |" : " – |", median);
        fprintf(f, solved[s] ? " %.3g |\n" : " – |\n", solved[s] ? sorted[solved[s] - 1] : 0);
        if (part_within(p, s, 2) > part_within(p, best, 2))
            best = s;
        if (solved[s] > solved[most] || (solved[s] == solved[most] && part_within(p, s, 2) > part_within(p, most, 2)))
            most = s;
    }
    fprintf(f, "\n`%s` is within twice the best time on most problems (%.0f %%) and solves %d of %d at %g. ", rp_friction_solver_name(p->solvers[best]),
            100 * part_within(p, best, 2), solved[best], p->problems, tolerance);
    if (most == best)
        fprintf(f, "No other solves more.\n");
    else
        fprintf(f, "Most are solved by `%s`: %d of %d, within twice the best time on %.0f %%.\n", rp_friction_solver_name(p->solvers[most]),
                solved[most], p->problems, 100 * part_within(p, most, 2));
    free(sorted);
}

/* Part of the problems solved within a multiple of the best time, in steps. */
static rp_result draw(const profile *p, const char *folder, double tolerance)
{
    enum { POINTS = 2 * RATIOS };
    static double x[POINTS], y[RP_FRICTION_SOLVER_COUNT][POINTS];
    rp_plot_line lines[RP_FRICTION_SOLVER_COUNT] = { { 0 } };
    char title[128], path[4096];
    snprintf(title, sizeof title, "Solved within a multiple of the best time (%d problems, %g)", p->problems, tolerance);
    for (int k = 0; k < RATIOS; k++)
        x[2 * k] = ratio_at(k), x[2 * k + 1] = ratio_at(k + 1 < RATIOS ? k + 1 : k);
    for (int s = 0; s < p->solver_count; s++) {
        for (int k = 0; k < RATIOS; k++)
            y[s][2 * k] = y[s][2 * k + 1] = part_within(p, s, ratio_at(k));
        lines[s] = (rp_plot_line){ .name = rp_friction_solver_name(p->solvers[s]), .x = x, .y = y[s], .count = POINTS };
    }
    rp_plot_def plot = rp_default_plot_def();
    plot.title = title, plot.x_label = "multiple of the best time", plot.y_label = "part of the problems";
    plot.log_x = true;
    plot.y_range[0] = 0, plot.y_range[1] = 1.02;
    plot.lines = lines, plot.line_count = p->solver_count;
    snprintf(path, sizeof path, "%s/profile.svg", folder);
    rp_result result = rp_plot_svg(&plot, path);
    snprintf(path, sizeof path, "%s/profile.png", folder);
    return result == RP_OK ? rp_plot_png(&plot, path) : result;
}

static bool write_one(const profile *p, const char *folder, const char *name, double tolerance)
{
    char path[4096], part[4104];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    if (f) {
        if (strcmp(name, "times.csv") == 0)
            write_times(f, p);
        else if (strcmp(name, "profile.csv") == 0)
            write_curves(f, p);
        else
            write_page(f, p, tolerance);
    }
    bool good = f && !ferror(f);
    if (f && fclose(f) != 0)
        good = false;
    if (good && rename(part, path) == 0)
        return true;
    fprintf(stderr, "repose friction: cannot write %s: %s\n", path, strerror(errno));
    remove(part);
    return false;
}

static bool drawn(const profile *p, const char *folder, double tolerance)
{
    if (draw(p, folder, tolerance) == RP_OK)
        return true;
    fprintf(stderr, "repose friction: %s\n", rp_last_error());
    return false;
}

bool profile_write(const profile *p, const char *folder, double tolerance)
{
    return write_one(p, folder, "times.csv", tolerance) && write_one(p, folder, "profile.csv", tolerance) &&
           write_one(p, folder, "profile.md", tolerance) && drawn(p, folder, tolerance);
}
