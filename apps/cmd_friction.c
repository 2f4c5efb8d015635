/* friction: solves, compares solvers on, and describes Coulomb friction problems in FCLIB files. */
#include "commands.h"
#include "friction_profile.h"

#include <repose/friction.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct friction_line {
    const char *solver, *solvers, *local, *inner, *output;
    double tolerance, tolerance_max, time_limit;
    int threads, max_iterations, problems;
    bool json, contacts;
} friction_line;

#define AT(member) offsetof(friction_line, member)
static const option friction_options[] = {
    { "--solver", 's', OPT_TEXT, AT(solver), "NAME", "solve: auto, gs, gs-coloured, gs-focused, pg, apgd, spg, cadoux, admm (default: auto)" },
    { "--solvers", 0, OPT_TEXT, AT(solvers), "A,B,...", "bench: the solvers to compare (default: all)" },
    { "--local", 0, OPT_TEXT, AT(local), "NAME", "one-contact solver: scalar, newton, enumeration, hybrid (default: scalar)" },
    { "--inner", 0, OPT_TEXT, AT(inner), "NAME", "solver inside cadoux: gs, pg, apgd, spg (default: apgd)" },
    { "--tolerance", 'e', OPT_REAL, AT(tolerance), "E", "on the mean residual (default: 1e-6)" },
    { "--tolerance-max", 0, OPT_REAL, AT(tolerance_max), "E", "on the largest residual (default: ten times --tolerance)" },
    { "--time-limit", 't', OPT_REAL, AT(time_limit), "SECONDS", "for one problem (default: 60)" },
    { "--max-iterations", 0, OPT_INT, AT(max_iterations), "N", "for one problem (default: no limit but time)" },
    { "--threads", 0, OPT_INT, AT(threads), "N", "threads (default: all cores); never changes the result" },
    { "--output", 'o', OPT_TEXT, AT(output), "DIR", "solve: copies of the files with solution/r and solution/u; bench: times, table and plots" },
    { "--json", 0, OPT_FLAG, AT(json), NULL, "one JSON object a file, in place of the table" },
    { "--contacts", 0, OPT_FLAG, AT(contacts), NULL, "bench: compare the one-contact solvers on random problems; needs no FILE" },
    { "--problems", 0, OPT_INT, AT(problems), "N", "bench --contacts: how many random problems a dimension (default: 100000)" },
    { 0 },
};
#undef AT

static volatile int interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "repose friction: there is no %s \"%s\"; see repose friction info\n", what, value);
    return EXIT_USAGE;
}

static int to_options(const friction_line *line, rp_friction_options *o)
{
    *o = rp_default_friction_options();
    o->tolerance = line->tolerance;
    o->tolerance_max = line->tolerance_max;
    o->time_limit = line->time_limit;
    o->max_iterations = line->max_iterations;
    o->threads = line->threads;
    o->cancel = &interrupted;
    if (line->solver && !rp_friction_solver_by_name(line->solver, &o->solver))
        return wrong("solver", line->solver);
    if (line->inner && !rp_friction_solver_by_name(line->inner, &o->inner))
        return wrong("solver", line->inner);
    if (line->local && !rp_friction_local_solver_by_name(line->local, &o->local))
        return wrong("one-contact solver", line->local);
    return -1;
}

static const char *status_of(rp_result result)
{
    return result == RP_OK              ? "solved"
           : result == RP_NOT_CONVERGED ? "not converged"
           : result == RP_CANCELLED     ? "cancelled"
                                        : "failed";
}

/* ---- JSON ----------------------------------------------------------------------------------------------------------------- */

static void json_text(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void json_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.9g", name, value);
    else
        printf(", \"%s\": null", name);
}

static void json_report(const char *path, const rp_friction_info *info, const rp_friction_report *report)
{
    printf("{\"file\": ");
    json_text(path);
    printf(", \"status\": \"%s\", \"solver\": \"%s\", \"dimension\": %d, \"contacts\": %lld, \"iterations\": %lld",
           status_of(report->result), rp_friction_solver_name(report->solver), info->dimension, (long long)info->contacts,
           (long long)report->iterations);
    json_number("seconds", report->seconds);
    json_number("residual_mean", report->residual.mean);
    json_number("residual_max", report->residual.max);
    json_number("alart_curnier_mean", report->residual.alart_curnier_mean);
    json_number("alart_curnier_max", report->residual.alart_curnier_max);
    printf(", \"take_off\": %lld, \"stick\": %lld, \"slide\": %lld", (long long)report->take_off, (long long)report->stick,
           (long long)report->slide);
    if (info->asymmetry > 1e-10)
        json_number("asymmetry", info->asymmetry);
    printf("}\n");
}

static void json_failure(const char *path)
{
    printf("{\"file\": ");
    json_text(path);
    printf(", \"status\": \"failed\", \"error\": ");
    json_text(rp_last_error());
    printf("}\n");
}

/* ---- solve ---------------------------------------------------------------------------------------------------------------- */

typedef struct answer {
    rp_friction *problem;
    rp_friction_info info;
    rp_friction_report report;
    double *r, *u;
} answer;

static void answer_free(answer *a)
{
    rp_friction_destroy(a->problem);
    free(a->r);
    free(a->u);
    memset(a, 0, sizeof *a);
}

/* RP_OK also when the solver did not converge: the report says so. */
static rp_result solve_file(const char *path, const rp_friction_options *o, answer *a)
{
    memset(a, 0, sizeof *a);
    rp_result result = rp_friction_read(path, &a->problem);
    if (result != RP_OK)
        return result;
    a->info = rp_friction_get_info(a->problem);
    size_t count = (size_t)a->info.contacts * (size_t)a->info.dimension + 1;
    a->r = calloc(count, sizeof *a->r);
    a->u = calloc(count, sizeof *a->u);
    if (!a->r || !a->u)
        return RP_OUT_OF_MEMORY;
    result = rp_friction_solve(a->problem, o, a->r, a->u, &a->report);
    return result == RP_NOT_CONVERGED || result == RP_CANCELLED ? RP_OK : result;
}

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr, "repose friction: cannot make %s: %s\n", path, strerror(errno));
    return false;
}

/* DIR/name, or DIR/number_name when an earlier file has the same name. */
static void output_path(const text_list *files, int at, const char *folder, char *path, size_t size)
{
    const char *name = base_name(files->items[at]);
    bool twice = false;
    for (int k = 1; k < at; k++)
        twice = twice || strcmp(base_name(files->items[k]), name) == 0;
    if (twice)
        snprintf(path, size, "%s/%d_%s", folder, at, name);
    else
        snprintf(path, size, "%s/%s", folder, name);
}

static rp_result write_answer(const friction_line *line, const text_list *files, int at, const answer *a)
{
    char path[4096];
    output_path(files, at, line->output, path, sizeof path);
    return rp_friction_write_solution(a->problem, files->items[at], path, a->r, a->u);
}

static int solve_main(const friction_line *line, const text_list *files)
{
    rp_friction_options o;
    int code = to_options(line, &o);
    if (code >= 0)
        return code;
    if (line->output && !make_folder(line->output))
        return EXIT_FAILED;
    int width = 4, bad = 0;
    for (int k = 1; k < files->count; k++)
        width = (int)strlen(base_name(files->items[k])) > width ? (int)strlen(base_name(files->items[k])) : width;
    if (!line->json)
        printf("%-*s  dim contacts  status         solver       iterations    seconds  residual      max    second\n", width, "file");
    for (int k = 1; k < files->count && !interrupted; k++) {
        answer a;
        rp_result result = solve_file(files->items[k], &o, &a);
        if (result == RP_OK && line->output)
            result = write_answer(line, files, k, &a);
        if (result != RP_OK) {
            fprintf(stderr, "repose friction: %s\n", rp_last_error());
            if (line->json)
                json_failure(files->items[k]);
            bad++;
        } else {
            bad += a.report.result != RP_OK;
            if (line->json)
                json_report(files->items[k], &a.info, &a.report);
            else
                printf("%-*s  %3d %8lld  %-13s  %-11s %11lld %10.5f  %8.2e %8.2e  %8.2e\n", width, base_name(files->items[k]),
                       a.info.dimension, (long long)a.info.contacts, status_of(a.report.result),
                       rp_friction_solver_name(a.report.solver), (long long)a.report.iterations, a.report.seconds,
                       a.report.residual.mean, a.report.residual.max, a.report.residual.alart_curnier_mean);
        }
        fflush(stdout);
        answer_free(&a);
    }
    if (interrupted)
        return EXIT_INTERRUPTED;
    if (bad > 0)
        fprintf(stderr, "repose friction: %d of %d problems not solved\n", bad, files->count - 1);
    return bad > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* ---- bench ---------------------------------------------------------------------------------------------------------------- */

static int bench_contacts(const friction_line *line)
{
    static const int dimensions[] = { 2, 3, 6 };
    printf("dim  solver       problems  failures  worst error  factorise ns   cold ns   warm ns\n");
    for (int k = 0; k < 3; k++)
        for (int s = 0; s < RP_FRICTION_CONTACT_COUNT; s++) {
            rp_friction_contact_statistics t;
            rp_result result = rp_friction_measure_contacts(dimensions[k], (rp_friction_local_solver)s, line->problems, 1, &t);
            if (result == RP_UNSUPPORTED)
                continue;
            if (result != RP_OK) {
                fprintf(stderr, "repose friction: %s\n", rp_last_error());
                return EXIT_FAILED;
            }
            printf("%3d  %-11s  %8lld  %7.3f%%  %11.2e  %12.0f  %8.0f  %8.0f\n", dimensions[k],
                   rp_friction_local_solver_name((rp_friction_local_solver)s), (long long)t.problems,
                   100.0 * (double)t.failures / (double)t.problems, t.worst_backward_error, t.factorise_ns, t.cold_ns, t.warm_ns);
            fflush(stdout);
        }
    return EXIT_DONE;
}

/* The solvers named in `text`, or all; -1 when one is unknown. */
static int list_solvers(const char *text, rp_friction_solver *list)
{
    int count = 0;
    if (!text) {
        for (int s = 0; s < RP_FRICTION_SOLVER_COUNT; s++)
            list[count++] = (rp_friction_solver)s;
        return count;
    }
    while (*text) {
        char name[64];
        size_t length = strcspn(text, ",");
        if (count == RP_FRICTION_SOLVER_COUNT || length >= sizeof name)
            return -1;
        memcpy(name, text, length);
        name[length] = '\0';
        if (!rp_friction_solver_by_name(name, &list[count])) {
            wrong("solver", name);
            return -1;
        }
        count++;
        text += length + (text[length] == ',');
    }
    return count > 0 ? count : -1;
}

static int bench_files(const friction_line *line, const text_list *files)
{
    rp_friction_options o;
    profile p = { .problems = files->count - 1 };
    int code = to_options(line, &o), count = list_solvers(line->solvers, p.solvers);
    if (code >= 0 || count < 0)
        return EXIT_USAGE;
    if (line->output && !make_folder(line->output))
        return EXIT_FAILED;
    p.solver_count = count;
    p.seconds = calloc((size_t)p.problems * (size_t)count, sizeof *p.seconds);
    p.names = &files->items[1];
    if (!p.seconds)
        return EXIT_FAILED;
    for (int k = 0; k < p.problems && !interrupted; k++)
        for (int s = 0; s < count && !interrupted; s++) {
            answer a;
            o.solver = p.solvers[s];
            rp_result result = solve_file(p.names[k], &o, &a);
            if (result != RP_OK)
                fprintf(stderr, "repose friction: %s: %s\n", rp_friction_solver_name(o.solver), rp_last_error());
            p.seconds[k * count + s] = result == RP_OK && a.report.result == RP_OK ? a.report.seconds : INFINITY;
            answer_free(&a);
        }
    code = interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
    if (!interrupted) {
        profile_print(&p, line->tolerance);
        if (line->output && !profile_write(&p, line->output, line->tolerance))
            code = EXIT_FAILED;
    }
    free(p.seconds);
    return code;
}

/* ---- info ----------------------------------------------------------------------------------------------------------------- */

static int info_main(const friction_line *line, const text_list *files)
{
    int bad = 0;
    if (files->count == 1) {
        printf("solvers\n");
        for (int s = 0; s < RP_FRICTION_SOLVER_COUNT; s++)
            printf("  %-12s %s\n", rp_friction_solver_name((rp_friction_solver)s), rp_friction_solver_text((rp_friction_solver)s));
        printf("one-contact solvers\n");
        for (int s = 0; s < RP_FRICTION_CONTACT_COUNT; s++)
            printf("  %-12s %s\n", rp_friction_local_solver_name((rp_friction_local_solver)s),
                   rp_friction_local_solver_text((rp_friction_local_solver)s));
        return EXIT_DONE;
    }
    static const char *const forms[] = { "local", "global", "operator" };
    for (int k = 1; k < files->count; k++) {
        rp_friction *problem = NULL;
        if (rp_friction_read(files->items[k], &problem) != RP_OK) {
            fprintf(stderr, "repose friction: %s\n", rp_last_error());
            if (line->json)
                json_failure(files->items[k]);
            bad++;
            continue;
        }
        rp_friction_info i = rp_friction_get_info(problem);
        if (line->json) {
            printf("{\"file\": ");
            json_text(files->items[k]);
            printf(", \"form\": \"%s\", \"dimension\": %d, \"contacts\": %lld, \"dofs\": %lld, \"blocks\": %lld", forms[i.form],
                   i.dimension, (long long)i.contacts, (long long)i.dofs, (long long)i.blocks);
            json_number("mu_min", i.mu_min);
            json_number("mu_max", i.mu_max);
            json_number("asymmetry", i.asymmetry);
            json_number("scale", i.scale);
            printf(", \"title\": ");
            json_text(i.title);
            printf("}\n");
        } else {
            printf("%s\n  form        %s, dimension %d\n  contacts    %lld\n", files->items[k], forms[i.form], i.dimension,
                   (long long)i.contacts);
            if (i.dofs > 0)
                printf("  freedom     %lld\n", (long long)i.dofs);
            if (i.blocks > 0)
                printf("  blocks of W %lld\n", (long long)i.blocks);
            printf("  mu          %g .. %g\n  asymmetry   %.2g\n  |b| (rms)   %g\n", i.mu_min, i.mu_max, i.asymmetry, i.scale);
            if (*i.title)
                printf("  title       %s\n", i.title);
        }
        rp_friction_destroy(problem);
    }
    return bad > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int friction_main(int argc, char **argv)
{
    friction_line line = { .tolerance = 1e-6, .time_limit = 60, .problems = 100000 };
    text_list words = { .count = 0 };
    int code = options_parse(&command_friction, &line, argc, argv, &words, 1, LIST_MOST);
    if (code >= 0)
        return code;
    const char *verb = words.items[0];
    signal(SIGINT, on_interrupt);
    if (strcmp(verb, "info") == 0)
        return info_main(&line, &words);
    bool solve = strcmp(verb, "solve") == 0, bench = strcmp(verb, "bench") == 0;
    if (!solve && !bench) {
        fprintf(stderr, "repose friction: \"%s\" is not one of solve, bench, info\n", verb);
        return EXIT_USAGE;
    }
    if (bench && line.contacts)
        return bench_contacts(&line);
    if (words.count < 2) {
        fprintf(stderr, "repose friction: %s needs at least one FILE\n", verb);
        return EXIT_USAGE;
    }
    return solve ? solve_main(&line, &words) : bench_files(&line, &words);
}

const command command_friction = {
    .name = "friction",
    .usage = "solve|bench|info [FILE]... [--solver S] [--tolerance E] [--time-limit T] [--output DIR] [--json]",
    .summary = "Solves and compares Coulomb friction problems in FCLIB files",
    .details = "solve prints a row a file: status, iterations, seconds, the mean and largest residual (natural map with De Saxcé's "
               "correction, relative to the free velocities) and the mean residual of a second function (Alart and Curnier).\n"
               "bench solves every file with every solver and prints how often and how fast; with --output it writes times.csv, "
               "profile.csv, profile.md, profile.svg and profile.png (performance profiles).\n"
               "info describes files, or lists the solvers when there is none.",
    .options = friction_options,
    .main = friction_main,
};
