/* validate: the program's numbers beside theory, experiments and grain-by-grain runs. */
#include "commands.h"
#include "folder.h"
#include "validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const validation_case validate_cases[] = {
    { "contact-law", AGAINST_THEORY, case_contact_law },
    { "hydrostatic", AGAINST_THEORY, case_hydrostatic },
    { "layers", AGAINST_THEORY, case_layers },
    { "plane-weight", AGAINST_THEORY, case_plane_weight },
    { "wall-thrust", AGAINST_THEORY, case_wall_thrust },
    { "janssen", AGAINST_THEORY, case_janssen },
    { "free-fall", AGAINST_THEORY, case_free_fall },
    { "drop", AGAINST_THEORY, case_drop },
    { "momentum", AGAINST_THEORY, case_momentum },
    { "rotation", AGAINST_THEORY, case_rotation },
    { "incline-rest", AGAINST_THEORY, case_incline_rest },
    { "incline-flow", AGAINST_THEORY, case_incline_flow },
    { "stopping", AGAINST_THEORY, case_stopping },
    { "rising-floor", AGAINST_THEORY, case_rising_floor },
    { "tray", AGAINST_THEORY, case_tray },
    { "block-on-plane", AGAINST_THEORY, case_block_on_plane },
    { "bagnold", AGAINST_THEORY, case_bagnold },
    { "bagnold-3d", AGAINST_THEORY, case_bagnold_3d },
    { "vertical-chute", AGAINST_THEORY, case_vertical_chute },
    { "shear-cell", AGAINST_THEORY, case_shear_cell },
    { "fibres", AGAINST_THEORY, case_fibres },
    { "cohesive-cut", AGAINST_THEORY, case_cohesive_cut },
    { "heap", AGAINST_THEORY, case_heap },
    { "pbd-rest", AGAINST_THEORY, case_pbd_rest },
    { "pbd-janssen", AGAINST_THEORY, case_pbd_janssen },
    { "diphasic-settling", AGAINST_THEORY, case_diphasic_settling },
    { "diphasic-rest", AGAINST_THEORY, case_diphasic_rest },
    { "diphasic-flows", AGAINST_THEORY, case_diphasic_flows },
    { "diphasic-fluid", AGAINST_THEORY, case_diphasic_fluid },
    { "collapse-discs", AGAINST_GRAINS, case_collapse_discs },
    { "collapse-discs-tall", AGAINST_GRAINS, case_collapse_discs_tall },
    { "collapse-grains", AGAINST_GRAINS, case_collapse_grains },
    { "contact-collapse", AGAINST_GRAINS, case_contact_collapse },
    { "contact-silo", AGAINST_GRAINS, case_contact_silo },
    { "silo-grains", AGAINST_GRAINS, case_silo_grains },
    { "silo", AGAINST_GRAINS, case_silo },
    { "beverloo", AGAINST_GRAINS, case_beverloo },
    { "collapse-scaling", AGAINST_EXPERIMENTS, case_collapse_scaling },
    { "collapse-axisymmetric", AGAINST_EXPERIMENTS, case_collapse_axisymmetric },
    { "collapse-gravel", AGAINST_EXPERIMENTS, case_collapse_gravel },
    { "beverloo-3d", AGAINST_EXPERIMENTS, case_beverloo_3d },
    { "crater", AGAINST_EXPERIMENTS, case_crater },
    { "drag", AGAINST_EXPERIMENTS, case_drag },
    { "diphasic-packing", AGAINST_EXPERIMENTS, case_diphasic_packing },
    { "diphasic-columns", AGAINST_EXPERIMENTS, case_diphasic_columns },
    { "diphasic-avalanche", AGAINST_EXPERIMENTS, case_diphasic_avalanche },
    { "diphasic-drag", AGAINST_ITSELF, case_diphasic_drag },
    { "lasting", AGAINST_ITSELF, case_lasting },
    { "galilean", AGAINST_ITSELF, case_galilean },
    { "collapse-turned", AGAINST_ITSELF, case_collapse_turned },
    { "heap-rest", AGAINST_ITSELF, case_heap_rest },
    { "poured-heap", AGAINST_ITSELF, case_poured_heap },
    { "heap-refinement", AGAINST_ITSELF, case_heap_refinement },
    { "collapse-methods", AGAINST_ITSELF, case_collapse_methods },
    { "collapse-refinement", AGAINST_ITSELF, case_collapse_refinement },
    { "linearised", AGAINST_ITSELF, case_linearised },
    { "crater-rim", AGAINST_ITSELF, case_crater_rim },
    { "metamorphic", AGAINST_ITSELF, case_metamorphic },
    { "pbd-heap", AGAINST_ITSELF, case_pbd_heap },
    { "pbd-fine", AGAINST_ITSELF, case_pbd_fine },
    { NULL, CASE_GROUPS, NULL },
};

typedef struct validate_line {
    const char *output, *cases, *page;
    text_list variants;
    int threads;
    bool all, list, json;
} validate_line;

#define AT(member) offsetof(validate_line, member)

static const option options[] = {
    { "--all", 'a', OPT_FLAG, AT(all), NULL, "every case, the costly ones too" },
    { "--list", 'l', OPT_FLAG, AT(list), NULL, "names, costs and titles of the cases" },
    { "--output", 'o', OPT_TEXT, AT(output), "DIR", "folder of report.json and the plots (default: out/validation)" },
    { "--page", 'p', OPT_TEXT, AT(page), "DIR", "brings DIR/validation.md and DIR/validation/ up to date with these results" },
    { "--cases", 0, OPT_TEXT, AT(cases), "DIR", "folder of the cases (default: validation/ of the source)" },
    { "--variant", 0, OPT_LIST, AT(variants), "KEY=VALUE", "set in every run of the cases; given again, the variants are compared side by side" },
    { "--threads", 't', OPT_INT, AT(threads), "N", "threads (default: all cores); never changes a result" },
    { "--json", 0, OPT_FLAG, AT(json), NULL, "the report as JSON on standard output in place of the table" },
    { 0 },
};

static bool affordable(const validation *v)
{
    return strcmp(validation_text(v, "affordable"), "true") == 0;
}

static validation *prepare(const validation_case *c, const validate_line *line, const char *variant)
{
    validation *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->name = c->name;
    v->threads = line->threads;
    v->variant = variant;
    v->no_plots = variant != NULL;
    snprintf(v->folder, sizeof v->folder, "%s/%s", line->cases, c->name);
    snprintf(v->output, sizeof v->output, "%s", line->output);
    validation_read(v);
    return v;
}

static int list_cases(const validate_line *line)
{
    for (const validation_case *c = validate_cases; c->name; c++) {
        validation *v = prepare(c, line, NULL);
        if (!v)
            return EXIT_FAILED;
        printf("%-22s %5s s  %-10s %s\n", v->name, validation_text(v, "cost"), affordable(v) ? "affordable" : "costly",
               validation_text(v, "title"));
        free(v);
    }
    return EXIT_DONE;
}

static bool named(const text_list *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static bool all_known(const text_list *names)
{
    for (int i = 0; i < names->count; i++) {
        const validation_case *c = validate_cases;
        while (c->name && strcmp(c->name, names->items[i]) != 0)
            c++;
        if (!c->name) {
            fprintf(stderr, "repose validate: there is no case '%s'; see: repose validate --list\n", names->items[i]);
            return false;
        }
    }
    return true;
}

static void carry_out(const validation_case *c, validation *v)
{
    clock_t begin = clock();
    if (!v->trouble[0])
        c->run(v);
    if (v->check_count == 0)
        validation_trouble(v, "the case compared nothing");
    v->seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* Writes what can be written; says what cannot. */
static bool write_results(const validation *const *done, int count, const validate_line *line)
{
    char path[1200];
    bool good = true;
    snprintf(path, sizeof path, "%s/report.json", line->output);
    if (!report_json(done, count, path)) {
        fprintf(stderr, "repose: %s cannot be written\n", path);
        good = false;
    }
    for (int i = 0; line->page && i < count; i++)
        good = report_section(done[i], line->page) && good;
    if (line->page && (!report_page(line->cases, line->page) || !good)) {
        fprintf(stderr, "repose: the pages in %s cannot be written\n", line->page);
        good = false;
    }
    if (line->json && good) {
        FILE *report = fopen(path, "r");
        for (int c; report && (c = fgetc(report)) != EOF;)
            putchar(c);
        if (report)
            fclose(report);
    }
    return good;
}

enum { RESULTS_MOST = VARIANTS_MOST * (int)(sizeof validate_cases / sizeof *validate_cases) };

typedef struct results {
    validation *done[RESULTS_MOST];
    int count, failed;
} results;

static bool wanted(const validation_case *c, const text_list *names, const validate_line *line)
{
    if (names->count)
        return named(names, c->name);
    validation *v = prepare(c, line, NULL);
    bool affords = v && (line->all || affordable(v) || v->trouble[0]);
    free(v);
    return affords;
}

/* One case under each variant. False: no memory. */
static bool carry_out_variants(const validation_case *c, const validate_line *line, results *r)
{
    int first = r->count, variants = line->variants.count ? line->variants.count : 1;
    for (int k = 0; k < variants; k++) {
        validation *v = prepare(c, line, line->variants.count ? line->variants.items[k] : NULL);
        if (!v)
            return false;
        carry_out(c, v);
        r->failed += validation_failed(v);
        r->done[r->count++] = v;
        if (!line->json && variants == 1)
            report_table(stdout, v);
    }
    if (!line->json && variants > 1)
        report_variants(stdout, (const validation *const *)&r->done[first], variants);
    fflush(stdout);
    return true;
}

static bool line_makes_sense(const validate_line *line, const text_list *names)
{
    if (line->variants.count > VARIANTS_MOST || (line->variants.count && line->page)) {
        fprintf(stderr, "repose validate: %s\n", line->page ? "the page shows the program as it is; leave out --page or --variant" : "at most 4 variants");
        return false;
    }
    return all_known(names);
}

static int validate_main(int argc, char **argv)
{
    validate_line line = { .output = "out/validation" };
    text_list names;
    int code = options_parse(&command_validate, &line, argc, argv, &names, 0, LIST_MOST);
    if (code >= 0)
        return code;
    const char *folder = getenv("REPOSE_VALIDATION");
    if (!line.cases)
        line.cases = folder ? folder : REPOSE_SCENE_DIR "/../validation";
    if (line.list)
        return list_cases(&line);
    if (!line_makes_sense(&line, &names))
        return EXIT_USAGE;
    if (!make_folder(line.output) || (line.page && !make_folder(line.page))) {
        fprintf(stderr, "repose: the folder %s cannot be made: %s\n", line.output, strerror(errno));
        return EXIT_FAILED;
    }
    static results r;
    r = (results){ 0 };
    for (const validation_case *c = validate_cases; c->name; c++) {
        if (wanted(c, &names, &line) && !carry_out_variants(c, &line, &r)) {
            fprintf(stderr, "repose validate: no memory for %s\n", c->name);
            r.failed++;
            break;
        }
    }
    bool good = write_results((const validation *const *)r.done, r.count, &line);
    if (!line.json)
        printf("%d cases, %d failed; %s/report.json\n", r.count, r.failed, line.output);
    for (int i = 0; i < r.count; i++)
        free(r.done[i]);
    return good && r.failed == 0 ? EXIT_DONE : EXIT_FAILED;
}

const command command_validate = {
    "validate", "[CASE]... [--all] [--variant KEY=VALUE]... [-o DIR] [--page DIR]", "Compares the program with theory, experiments and grain-by-grain runs",
    "Without names: the affordable set; with --all: everything. Prints a row for each quantity (reference, ours, difference, what is "
    "allowed, verdict), and writes report.json and plots. The exit code is 1 when a case fails.",
    options, validate_main,
};
