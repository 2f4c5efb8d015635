/* measure: the friction of a scene's own grains, and what a continuum makes of it. */
#include "commands.h"
#include "find_scene.h"
#include "folder.h"
#include "measure.h"
#include "run_loop.h"
#include "threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct measure_line {
    const char *output, *rates;
    text_list set;
    int threads, wide, high;
    double strain, cell;
    bool continuum, json, quiet;
} measure_line;

#define AT(member) offsetof(measure_line, member)

static const option options[] = {
    { "--rates", 0, OPT_TEXT, AT(rates), "I,I,...", "inertial numbers, best from slow to fast (default: 0.02,0.05,0.1,0.2)" },
    { "--strain", 0, OPT_REAL, AT(strain), "S", "shear measured at each rate, beyond what is left to settle (default: 2)" },
    { "--wide", 0, OPT_INT, AT(wide), "N", "grains along the flow, a multiple of 4 (default: 20 in 2D, 12 in 3D; 8 across)" },
    { "--high", 0, OPT_INT, AT(high), "N", "grains between the plates (default: 14 in 2D, 10 in 3D)" },
    { "--continuum", 'c', OPT_FLAG, AT(continuum), NULL, "then runs the scene with grains and with the continuum `nonsmooth`, and compares them" },
    { "--cell", 0, OPT_REAL, AT(cell), "D", "cells of the continuum, in grain diameters (default: 2.5)" },
    { "--set", 's', OPT_LIST, AT(set), "KEY=VALUE", "changes the scene" },
    { "--output", 'o', OPT_TEXT, AT(output), "DIR", "writes shear.csv, and continuum.csv and continuum.yaml" },
    { "--threads", 't', OPT_INT, AT(threads), "N", "threads; 0 for all cores" },
    { "--json", 0, OPT_FLAG, AT(json), NULL, "one JSON object in place of the table" },
    { "--quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no lines on the way" },
    { 0 },
};

static bool read_rates(const char *text, shear_cell *cell)
{
    cell->rates = 0;
    for (const char *p = text; *p && cell->rates < RATES_MOST;) {
        char *end;
        double value = strtod(p, &end);
        if (end == p || !(value > 0 && value < 10) || (*end && *end != ','))
            return false;
        cell->rate[cell->rates++] = value;
        p = *end ? end + 1 : end;
    }
    return cell->rates > 0;
}

static void print_shear(FILE *out, const shear_point *points, int count)
{
    fprintf(out, "inertial_number,error,mu,error,volume_fraction,steps,not_converged\n");
    for (int i = 0; i < count; i++)
        fprintf(out, "%.6g,%.2g,%.6g,%.2g,%.5g,%lld,%lld\n", points[i].inertial, points[i].inertial_error, points[i].mu, points[i].mu_error,
                points[i].fraction, (long long)points[i].steps, (long long)points[i].unconverged);
}

static void print_json(const shear_point *points, int count, const shear_fit *fit, double d, double density)
{
    printf("{\"grain_diameter\":%.9g,\"density\":%.9g,\"points\":[", d, density);
    for (int i = 0; i < count; i++)
        printf("%s{\"inertial_number\":%.9g,\"inertial_number_error\":%.3g,\"mu\":%.9g,\"mu_error\":%.3g,\"volume_fraction\":%.6g}", i ? "," : "",
               points[i].inertial, points[i].inertial_error, points[i].mu, points[i].mu_error, points[i].fraction);
    printf("]");
    if (fit)
        printf(",\"mu_s\":%.6g,\"mu_s_error\":%.3g,\"mu_2\":%.6g,\"mu_2_error\":%.3g,\"I_0\":%.6g,\"I_0_error\":%.3g", fit->mu_s, fit->mu_s_error, fit->mu_2,
               fit->mu_2_error, fit->i_0, fit->i_0_error);
    printf("}\n");
}

/* ---- grains and continuum, side by side ---- */

typedef struct shape_of {
    double x, up, front; /* centre of mass, and the x that 99 % of the mass is within */
} shape_of;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Particles of a continuum have masses of about one size: the front counts them. */
static bool look(const rp_sim *sim, int up, shape_of *s)
{
    rp_field_view x, mass;
    int64_t n = rp_sim_particle_count(sim);
    double *sorted = malloc(((size_t)n + 1) * sizeof *sorted), sum = 0;
    *s = (shape_of){ 0 };
    bool good = n && sorted && rp_sim_field_named(sim, "position", &x) == RP_OK && rp_sim_field_named(sim, "mass", &mass) == RP_OK;
    for (int64_t i = 0; i < n && good; i++) {
        double m = ((const double *)mass.data)[i];
        sorted[i] = ((const double *)x.data)[i];
        s->x += m * sorted[i];
        s->up += m * ((const double *)x.data)[up * x.stride + i];
        sum += m;
    }
    if (good) {
        qsort(sorted, (size_t)n, sizeof *sorted, by_size);
        s->front = sorted[(int64_t)(0.99 * (double)(n - 1))];
        s->x /= sum;
        s->up /= sum;
    }
    free(sorted);
    return good;
}

static rp_result run_to(rp_sim *sim, double time)
{
    rp_step_stats stats;
    rp_result result = RP_OK;
    while (result == RP_OK && rp_sim_time(sim) < time * (1 - 1e-9))
        result = rp_sim_step_to(sim, time, &stats);
    return result;
}

static rp_result compare(rp_sim *grains, rp_sim *continuum, double duration, int up, FILE *table)
{
    enum { TIMES = 8 };
    fprintf(table, "time,grains_x,continuum_x,grains_height,continuum_height,grains_front,continuum_front\n");
    for (int k = 1; k <= TIMES; k++) {
        shape_of a, b;
        rp_result result = run_to(grains, duration * k / TIMES);
        if (result == RP_OK)
            result = run_to(continuum, duration * k / TIMES);
        if (result != RP_OK)
            return result;
        if (!look(grains, up, &a) || !look(continuum, up, &b))
            return RP_BAD_ARGUMENT;
        fprintf(table, "%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", duration * k / TIMES, a.x, b.x, a.up, b.up, a.front, b.front);
        fflush(table);
    }
    return RP_OK;
}

/* The scene with the friction that was measured, as a continuum. */
static rp_result make_continuum(const rp_scene *scene, const measure_line *line, const shear_fit *fit, double fraction, double d, char **yaml, rp_scene **out)
{
    const rp_sim_def *def = rp_scene_sim_def(scene);
    enum { SETS = 64 };
    static char text[SETS][96];
    const char *sets[SETS];
    int n = 0;
    snprintf(text[n++], sizeof *text, "method=nonsmooth");
    snprintf(text[n++], sizeof *text, "cell_size=%.9g", line->cell * d);
    snprintf(text[n++], sizeof *text, "dt_max=0");
    for (int m = 0; m < def->material_count && n + 6 < SETS; m++) {
        snprintf(text[n++], sizeof *text, "materials.%d.friction=%.9g", m, fit->mu_s);
        snprintf(text[n++], sizeof *text, "materials.%d.friction_dynamic=%.9g", m, fmax(fit->mu_s, fit->mu_2));
        snprintf(text[n++], sizeof *text, "materials.%d.inertial_number=%.9g", m, fit->i_0);
        snprintf(text[n++], sizeof *text, "materials.%d.grain_diameter=%.9g", m, d);
        snprintf(text[n++], sizeof *text, "materials.%d.volume_fraction=%.9g", m, fraction);
    }
    for (int g = 0; g < def->grains_count && n + 2 < SETS; g++) {
        snprintf(text[n++], sizeof *text, "grains.%d.per_cell=%d", g, def->dim == 2 ? 4 : 8);
        snprintf(text[n++], sizeof *text, "grains.%d.sampling=jittered", g);
    }
    for (int i = 0; i < n; i++)
        sets[i] = text[i];
    rp_result result = rp_scene_format(scene, yaml);
    rp_scene_options change = { sets, n };
    if (result == RP_OK)
        result = rp_scene_parse(*yaml, "continuum", ".", &change, out);
    rp_text_free(*yaml);
    *yaml = NULL;
    return result == RP_OK ? rp_scene_format(*out, yaml) : result;
}

static rp_result continue_with(const rp_scene *scene, const measure_line *line, const shear_fit *fit, double fraction, double d)
{
    rp_scene *smooth = NULL;
    rp_sim *grains = NULL, *continuum = NULL;
    char *yaml = NULL, path[4096];
    const rp_sim_def *def = rp_scene_sim_def(scene);
    rp_result result = make_continuum(scene, line, fit, fraction, d, &yaml, &smooth);
    if (result == RP_OK && line->output) {
        snprintf(path, sizeof path, "%s/continuum.yaml", line->output);
        FILE *file = fopen(path, "w");
        if (file) {
            fputs(yaml, file);
            fclose(file);
        }
    }
    rp_text_free(yaml);
    if (result == RP_OK)
        result = rp_sim_create(def, &grains);
    if (result == RP_OK)
        result = rp_sim_create(rp_scene_sim_def(smooth), &continuum);
    FILE *table = stdout;
    if (result == RP_OK && line->output) {
        snprintf(path, sizeof path, "%s/continuum.csv", line->output);
        table = fopen(path, "w");
        result = table ? RP_OK : RP_IO_ERROR;
    }
    if (result == RP_OK) {
        rp_sim_set_threads(grains, line->threads);
        rp_sim_set_threads(continuum, line->threads);
        result = compare(grains, continuum, def->duration, def->dim - 1, table);
    }
    if (table && table != stdout)
        fclose(table);
    rp_sim_destroy(grains);
    rp_sim_destroy(continuum);
    rp_scene_destroy(smooth);
    return result;
}

static int measure(const measure_line *line, rp_scene *scene, shear_cell *cell)
{
    shear_point points[RATES_MOST];
    shear_fit fit = { 0 };
    double d, density;
    rp_result result = shear_measure(scene, cell, points, &d, &density);
    if (result != RP_OK)
        return report_failure("the shear cell", result);
    bool fitted = shear_fit_law(points, cell->rates, &fit);
    if (line->json)
        print_json(points, cell->rates, fitted ? &fit : NULL, d, density);
    else
        print_shear(stdout, points, cell->rates);
    if (!line->json && fitted)
        printf("# mu = mu_s + (mu_2 - mu_s)/(1 + I_0/I): mu_s %.4f +- %.4f, mu_2 %.4f +- %.4f, I_0 %.3f +- %.3f; points off by %.1f errors\n", fit.mu_s,
               fit.mu_s_error, fit.mu_2, fit.mu_2_error, fit.i_0, fit.i_0_error, fit.misfit);
    fflush(stdout);
    if (line->output) {
        char path[4096];
        snprintf(path, sizeof path, "%s/shear.csv", line->output);
        FILE *file = fopen(path, "w");
        if (!file) {
            fprintf(stderr, "repose: cannot write %s\n", path);
            return EXIT_FAILED;
        }
        print_shear(file, points, cell->rates);
        fclose(file);
    }
    if (!line->continuum)
        return EXIT_DONE;
    if (!fitted) {
        fprintf(stderr, "repose: a law needs at least three rates that sheared; the continuum was not run\n");
        return EXIT_FAILED;
    }
    int slowest = 0;
    for (int k = 1; k < cell->rates; k++)
        slowest = points[k].inertial < points[slowest].inertial ? k : slowest;
    result = continue_with(scene, line, &fit, points[slowest].fraction, d);
    return result == RP_OK ? EXIT_DONE : report_failure("the comparison", result);
}

static int measure_main(int argc, char **argv)
{
    measure_line line = { .rates = "0.02,0.05,0.1,0.2", .strain = 2, .cell = 2.5 };
    text_list names;
    shear_cell cell = { 0 };
    int code = options_parse(&command_measure, &line, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    if ((code = check_run_numbers("measure", line.threads, INFINITY)) >= 0)
        return code;
    if (!read_rates(line.rates, &cell) || !(line.strain > 0) || !(line.cell >= 1) || line.wide < 0 || line.high < 0) {
        fprintf(stderr, "repose measure: --rates must be numbers between 0 and 10 with commas, --strain above 0, --cell at least 1\n");
        return EXIT_USAGE;
    }
    char path[4096];
    if (!find_scene(names.items[0], path, sizeof path)) {
        say_no_scene(names.items[0]);
        return EXIT_SCENE;
    }
    rp_set_log(receive_log, NULL, RP_LOG_WARNING);
    rp_scene_options change = { line.set.items, line.set.count };
    rp_scene *scene = NULL;
    if (rp_scene_load(path, &change, &scene) != RP_OK) {
        fprintf(stderr, "%s\n", rp_last_error());
        return EXIT_SCENE;
    }
    line.threads = threads_to_use(line.threads, line.quiet);
    const rp_sim_def *def = rp_scene_sim_def(scene);
    if (strcmp(def->method, "contact") != 0 || def->grains_count == 0) {
        fprintf(stderr, "repose measure: the scene needs grains and `method: contact`, this one has %s%s\n", def->method,
                def->grains_count ? "" : " and no grains");
        code = EXIT_SCENE;
    } else if (line.output && !make_folder(line.output)) {
        code = EXIT_FAILED;
    } else {
        cell.dim = def->dim;
        cell.wide = line.wide ? (line.wide + 3) / 4 * 4 : /* a periodic axis has a multiple of four cells */ def->dim == 2 ? 20 : 12;
        cell.high = line.high ? line.high : def->dim == 2 ? 14 : 10;
        cell.deep = 8;
        cell.strain = line.strain;
        cell.threads = line.threads;
        cell.quiet = line.quiet;
        code = measure(&line, scene, &cell);
    }
    rp_scene_destroy(scene);
    return code;
}

const command command_measure = {
    "measure",
    "SCENE [--rates I,I,...] [--continuum] [-o DIR] [--json]",
    "Measures the friction law mu(I) of a scene's own grains in a shear cell",
    "The scene needs `method: contact`. Its grains (shape, sizes, friction) are sheared between two plates with ridges under a constant "
    "pressure, at several rates; mu and the inertial number come with standard errors over five parts of the shear, the law is fitted.\n"
    "With --continuum the scene is then run grain by grain and as a continuum (nonsmooth) that has this law, and the centre of mass and "
    "the front (99 % of the mass) of both are told at eight times.",
    options,
    measure_main,
};
