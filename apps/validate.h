/* Validation: each case compares what the program computes with theory, experiment or grain-by-grain runs.
 * A case is a folder of validation/ (case.yaml, scenes, reference data) and a function of the same name in validate_cases[]. */
#ifndef REPOSE_APPS_VALIDATE_H
#define REPOSE_APPS_VALIDATE_H

#include <repose/render.h>
#include <repose/repose.h>
#include <stdbool.h>
#include <stdio.h>

/* How `ours` is held against `reference`. */
typedef enum check_kind {
    CHECK_RELATIVE, /* |ours - reference| <= tolerance |reference| */
    CHECK_ABSOLUTE, /* |ours - reference| <= tolerance */
    CHECK_BELOW,    /* ours <= reference */
    CHECK_ABOVE     /* ours >= reference */
} check_kind;

typedef struct check {
    char quantity[112];
    check_kind kind;
    double reference, ours, difference, tolerance;
    bool control; /* a negative control: passes when the comparison fails */
    bool passed;
} check;

enum { CHECKS_MOST = 64, PLOTS_MOST = 8, KEYS_MOST = 48, VARIANTS_MOST = 4 };

typedef struct validation {
    const char *name;
    char folder[1024]; /* of the case */
    char output[1024]; /* where its plots go */
    char text[16384];  /* case.yaml, cut into keys and values */
    struct {
        const char *key, *value;
    } keys[KEYS_MOST];
    int key_count;
    check checks[CHECKS_MOST];
    int check_count;
    struct {
        char file[64], caption[160];
    } plots[PLOTS_MOST];
    int plot_count;
    char trouble[1024]; /* why the case could not be carried out; "" when it was */
    bool no_plots;
    int threads;
    const char *variant; /* a "key=value" that every run is made with after its own settings; NULL: none */
    double seconds;      /* of the processor, all threads */
    int64_t steps, unconverged;
} validation;

/* ---- what a case says of itself (case.yaml: one `key: value` a line; deeper lines go on with the value) ---- */

bool validation_read(validation *v);
const char *validation_text(const validation *v, const char *key); /* "" when absent */
double validation_number(validation *v, const char *key);          /* trouble when absent */

/* ---- rows of the table ---- */

/* The tolerance is that of the key tolerance_NAME. */
void validation_check(validation *v, check_kind kind, const char *tolerance, double reference, double ours, const char *quantity, ...)
    __attribute__((format(printf, 6, 7)));
/* The same with the law of friction made wrong on purpose: must fail, or the case is too loose. */
void validation_control(validation *v, check_kind kind, const char *tolerance, double reference, double ours, const char *quantity,
                        ...) __attribute__((format(printf, 6, 7)));
void validation_trouble(validation *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool validation_failed(const validation *v);

void validation_plot(validation *v, const char *name, const char *caption, rp_plot_def *plot);

/* ---- runs ---- */

typedef struct run {
    rp_scene *scene;
    rp_sim *sim;
    rp_step_stats stats; /* of the last step */
} run;

/* Replacements in a scene, made one by one: setting(&s, "cell_size=%g", h). */
enum { SETTINGS_MOST = 16 };
typedef struct settings {
    char text[SETTINGS_MOST][320];
    const char *list[SETTINGS_MOST + 1]; /* ends with NULL */
    int count;
} settings;
void setting(settings *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A scene of the case's folder with replacements (each "key=value"; the list ends with NULL). False: trouble was noted. */
bool run_open(validation *v, run *r, const char *scene, const char *const *set);
bool run_step(validation *v, run *r);
bool run_until(validation *v, run *r, double time);
void run_close(run *r);

const double *run_plane(const run *r, const char *field, int component); /* NULL if absent */
int64_t run_count(const run *r);
double run_mass(const run *r);
double run_mean(const run *r, const char *field, int component); /* by mass */

/* Bulk height of a 2D run over `bins` equal bins of x from x0 to x1: volume of grains / (fraction × width). */
void run_heights(const run *r, double fraction, double x0, double x1, double *heights, int bins);
/* Where a contiguous profile from the first bin on falls below `least`, linear between bins. */
double front_of(const double *heights, int bins, double width, double least);

/* Where particles are, in the order of their numbers; 2D. */
typedef struct particle_place {
    int64_t id;
    double x, y;
} particle_place;
typedef struct particle_places {
    particle_place *list; /* NULL when they have no numbers */
    size_t count;
} particle_places;
particle_places run_places(const run *r, double above); /* those with y > above */
void places_free(particle_places *p);

/* Ways of the particles that are in both, less `shift`. `wrap`: width of a domain that is periodic in x, or 0. */
typedef struct particle_ways {
    double farthest, mean; /* of the single ways; length of the mean way */
    double sunk;           /* mean way downwards */
    int many, gone;        /* at the beginning; of these not there at the end */
} particle_ways;
particle_ways ways_between(const particle_places *before, const particle_places *after, const double shift[2], double wrap);

/* ---- numbers ---- */

void fit_line(const double *x, const double *y, int n, double *slope, double *offset, double *r_squared);

/* A file of numbers, comma separated; lines that do not begin with a number are left out. */
typedef struct table {
    double *data;
    int rows, columns;
} table;
bool table_read(validation *v, const char *file, table *t);
void table_free(table *t);
double table_at(const table *t, int row, int column);

/* ---- the cases ---- */

/* What the numbers of a case are held against; the page is in this order. */
typedef enum case_group {
    AGAINST_THEORY,
    AGAINST_GRAINS,
    AGAINST_EXPERIMENTS,
    AGAINST_ITSELF,
    CASE_GROUPS
} case_group;

typedef struct validation_case {
    const char *name;
    case_group group;
    void (*run)(validation *v);
} validation_case;
extern const validation_case validate_cases[]; /* group by group; ends with a NULL name */

/* validate_exact.c */
void case_contact_law(validation *v);
void case_hydrostatic(validation *v);
void case_janssen(validation *v);
void case_free_fall(validation *v);
void case_drop(validation *v);
void case_momentum(validation *v);
void case_rotation(validation *v);
/* validate_rest.c */
void case_layers(validation *v);
void case_plane_weight(validation *v);
/* validate_wall.c */
void case_wall_thrust(validation *v);
/* validate_moving.c */
void case_rising_floor(validation *v);
void case_tray(validation *v);
/* validate_lasting.c */
void case_lasting(validation *v);
/* validate_slope.c */
void case_incline_rest(validation *v);
void case_incline_flow(validation *v);
void case_stopping(validation *v);
void case_block_on_plane(validation *v);
/* validate_bagnold.c */
void case_bagnold(validation *v);
void case_bagnold_3d(validation *v);
/* validate_shear.c */
void case_vertical_chute(validation *v);
void case_shear_cell(validation *v);
void case_fibres(validation *v);
void case_contact_collapse(validation *v);
void case_contact_silo(validation *v);
void case_cohesive_cut(validation *v);
/* validate_collapse.c */
void case_collapse_discs(validation *v);
void case_collapse_discs_tall(validation *v);
void case_collapse_grains(validation *v);
void case_collapse_scaling(validation *v);
void case_collapse_methods(validation *v);
void case_collapse_refinement(validation *v);
/* validate_collapse3d.c */
void case_collapse_axisymmetric(validation *v);
void case_collapse_gravel(validation *v);
void case_linearised(validation *v);
/* validate_silo.c */
void case_silo(validation *v);
void case_beverloo(validation *v);
void case_beverloo_3d(validation *v);
void case_silo_grains(validation *v);
/* validate_heap.c */
void case_heap(validation *v);
void case_heap_rest(validation *v);
void case_heap_refinement(validation *v);
void case_poured_heap(validation *v);
/* validate_impact.c */
void case_crater(validation *v);
void case_crater_rim(validation *v);
void case_drag(validation *v);
/* validate_metamorphic.c */
void case_metamorphic(validation *v);
void case_collapse_turned(validation *v);
void case_galilean(validation *v);

/* validate_pbd.c */
void case_pbd_heap(validation *v);
void case_pbd_rest(validation *v);
void case_pbd_janssen(validation *v);
void case_pbd_fine(validation *v);

/* validate_diphasic.c */
void case_diphasic_settling(validation *v);
void case_diphasic_rest(validation *v);
void case_diphasic_drag(validation *v);
void case_diphasic_flows(validation *v);
void case_diphasic_packing(validation *v);
void case_diphasic_fluid(validation *v);
void case_diphasic_columns(validation *v);
void case_diphasic_avalanche(validation *v);

/* ---- results (validate_report.c) ---- */

void report_table(FILE *stream, const validation *v);
/* The rows of one case under several variants side by side. */
void report_variants(FILE *stream, const validation *const *variants, int count);
bool report_json(const validation *const *cases, int count, const char *path);
/* The section of one case (DIR/validation/NAME.md) and the page of all sections found there (DIR/validation.md). */
bool report_section(const validation *v, const char *folder);
bool report_page(const char *cases, const char *folder);

#endif
