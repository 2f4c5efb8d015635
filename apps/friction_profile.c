#include "friction_profile.h"

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

/* The plot: logarithm of the ratio across, part of the problems up. */
static void draw(FILE *f, const profile *p, double tolerance)
{
    static const char *const colours[] = { "#1b6ca8", "#d1495b", "#2e933c", "#8f5db7", "#e08e1b", "#3aa6a0", "#7a5c3e", "#c2559d", "#555555" };
    const double left = 60, top = 40, width = 560, height = 340;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"780\" height=\"450\" font-family=\"sans-serif\" font-size=\"13\">\n"
               "<rect width=\"780\" height=\"450\" fill=\"white\"/>\n"
               "<text x=\"%g\" y=\"24\" font-size=\"15\">Problems solved within a multiple of the best time (tolerance %g, %d problems)</text>\n",
            left, tolerance, p->problems);
    for (int k = 0; k <= 4; k++) {
        double y = top + height * (1 - k / 4.0);
        fprintf(f, "<path d=\"M%g %gH%g\" stroke=\"#dddddd\"/><text x=\"%g\" y=\"%g\" text-anchor=\"end\">%d%%</text>\n", left, y,
                left + width, left - 8, y + 4, 25 * k);
    }
    for (int k = 0; k <= 3; k++) {
        double x = left + width * k / 3.0;
        fprintf(f, "<path d=\"M%g %gV%g\" stroke=\"#dddddd\"/><text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%g×</text>\n", x, top,
                top + height, x, top + height + 20, pow(10, k));
    }
    for (int s = 0; s < p->solver_count; s++) {
        const char *colour = colours[s % (int)(sizeof colours / sizeof *colours)];
        fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colour);
        for (int k = 0; k < RATIOS; k++) {
            double x = left + width * k / (RATIOS - 1.0), y = top + height * (1 - part_within(p, s, ratio_at(k)));
            if (k == 0)
                fprintf(f, "M%.1f %.1f", x, y);
            else
                fprintf(f, "H%.1fV%.1f", x, y); /* steps */
        }
        fprintf(f, "\"/>\n<path d=\"M%g %gh22\" stroke=\"%s\" stroke-width=\"3\"/><text x=\"%g\" y=\"%g\">%s</text>\n", left + width + 18,
                top + 14 + 22.0 * s, colour, left + width + 46, top + 18 + 22.0 * s, rp_friction_solver_name(p->solvers[s]));
    }
    fprintf(f, "</svg>\n");
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
            draw(f, p, tolerance);
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

bool profile_write(const profile *p, const char *folder, double tolerance)
{
    return write_one(p, folder, "times.csv", tolerance) && write_one(p, folder, "profile.csv", tolerance) &&
           write_one(p, folder, "profile.svg", tolerance);
}
