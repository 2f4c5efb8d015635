/* Each measurement runs in a process of its own: its memory is its own, and no cache or thread is left over from another. */
#include "bench.h"
#include "bench_view.h"
#include "progress.h"

#include <repose/machine.h>
#include <repose/repose.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the laws cost is compared at equal work: 50 sweeps in every step. */
#define LAW_SETS "nonsmooth.tolerance=1e-14", "nonsmooth.max_iterations=50", "material.friction_dynamic=-1", "material.viscosity=0"
#define LAW_MU_I "material.friction_dynamic=0.48", "material.inertial_number=0.625"

const benchmark benchmarks[] = {
    { "collapse", "Collapse, 40 × 10 × 14 cells", BENCH_SCENE, "collapse.yaml", { NULL }, "collapse", 1, 1, 20, 3, 0.63, 0.03 },
    { "collapse-x2", "The same, half the cell", BENCH_SCENE, "collapse.yaml", { "cell_size=0.0125" }, "collapse", 2, 1, 6, 2, 0, 0 },
    { "collapse-x4", "The same, a quarter of the cell", BENCH_SCENE, "collapse.yaml", { "cell_size=0.00625" }, "collapse", 4, 1, 2, 1, 0, 0 },
    { "zb05", "Column in a corner, 100 × 100 × 50 cells", BENCH_SCENE, "zb05.yaml", { NULL }, NULL, 1, 1, 5, 2, 9.3, 0.5 },
    { "silo", "Silo, 36 × 36 × 72 cells", BENCH_SCENE, "silo.yaml", { NULL }, NULL, 1, 1, 3, 1, 62.6, 4 },
    { "impact", "Ball on a bed, 75 × 75 × 50 cells", BENCH_SCENE, "impact.yaml", { NULL }, NULL, 1, 1, 4, 2, 11.4, 0.7 },
    { "bodies", "Boulder, ball, blade and mesh in sand", BENCH_SCENE, "bodies.yaml", { NULL }, NULL, 1, 16, 3, 1, 0, 0 },
    { "no-bodies", "The same sand without them", BENCH_SCENE, "bodies.yaml", { "bodies=[]" }, NULL, 1, 16, 3, 1, 0, 0 },
    { "sand", "Elastoplastic, flowing, double", BENCH_SCENE, "sand.yaml", { NULL }, NULL, 1, 30, 20, 3, 0, 0 },
    { "sand-single", "Elastoplastic, flowing, single", BENCH_SCENE, "sand.yaml", { "elastoplastic.storage=single" }, NULL, 1, 30, 20, 3, 0, 0 },
    { "law-constant", "Collapse of 50 sweeps a step, constant friction", BENCH_SCENE, "collapse.yaml", { LAW_SETS }, "laws", 1, 2, 15, 3, 0, 0 },
    { "law-mu-i", "The same, mu(I)", BENCH_SCENE, "collapse.yaml", { LAW_SETS, LAW_MU_I }, "laws", 1, 2, 15, 3, 0, 0 },
    { "law-cohesion",
      "The same, mu(I) and cohesion that decays",
      BENCH_SCENE,
      "collapse.yaml",
      { LAW_SETS, LAW_MU_I, "material.cohesion=1 kPa", "material.cohesion_decay=10" },
      "laws",
      1,
      2,
      15,
      3,
      0,
      0 },
    { "law-anisotropic",
      "The same, constant friction, flat grains",
      BENCH_SCENE,
      "collapse.yaml",
      { LAW_SETS, "material.anisotropy=0.5" },
      "laws",
      1,
      2,
      15,
      3,
      0,
      0 },
    { "paper-collapse", "Collapse of Table 1", BENCH_SCENE, "paper-collapse.yaml", { NULL }, "paper", 1, 1, 4, 1, 0, 0 },
    { "paper-zb05", "ZB05 of Table 1", BENCH_SCENE, "paper-zb05.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "paper-wheel", "Wheel of Table 1", BENCH_SCENE, "paper-wheel.yaml", { NULL }, "paper", 1, 1, 4, 1, 0, 0 },
    { "paper-silo", "Silo of Table 1", BENCH_SCENE, "silo.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "paper-writing", "Writing of Table 1", BENCH_SCENE, "paper-writing.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "paper-cohesion", "Cohesion of Table 1", BENCH_SCENE, "paper-cohesion.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "paper-digging", "Digging of Table 1", BENCH_SCENE, "paper-digging.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "paper-crater", "Crater of Table 1", BENCH_SCENE, "paper-crater.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "paper-treasure", "Treasure of Table 1", BENCH_SCENE, "paper-treasure.yaml", { NULL }, "paper", 1, 1, 2, 1, 0, 0 },
    { "elastoplastic",
      "Elastoplastic, 1e5 particles in flow (rate: million particle-steps a second)",
      BENCH_PROGRAM,
      "elastoplastic",
      { "--particles", "1e5" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "elastoplastic-1e6",
      "Elastoplastic, 1e6 particles in flow",
      BENCH_PROGRAM,
      "elastoplastic",
      { "--particles", "1e6", "--steps", "10", "--flow", "0.05", "--kernel", "quadratic" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "contacts", "One-contact solvers", BENCH_CONTACTS, NULL, { NULL }, NULL, 1, 0, 0, 1, 0, 0 },
    { "transfer", "Transfers between particles and grid", BENCH_PROGRAM, "transfer", { NULL }, NULL, 1, 0, 0, 1, 0, 0 },
    { "small_matrices", "Eigen- and singular values", BENCH_PROGRAM, "small_matrices", { NULL }, NULL, 1, 0, 0, 1, 0, 0 },
    { "mesh", "Distances of a mesh", BENCH_MESH, NULL, { NULL }, NULL, 1, 0, 0, 1, 0, 0 },
    { "samples",
      "Grain samples, 20 a particle, over 30 frames of a collapse (part: of the simulation)",
      BENCH_PROGRAM,
      "samples",
      { "--scene", "@../zb05.yaml", "--frames", "30" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "pbd",
      "Interactive grains, hourglass: 10 thousand and half a million that follow them, ms a frame (paper, 8 cores: 47.4 + 48.5)",
      BENCH_PROGRAM,
      "pbd",
      { "--scene", "@../hourglass-pbd.yaml", "--frames", "20", "--skip", "20" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "view",
      "Playing the hourglass to a socket: steps, half a million fine grains, packing, sending; ms a frame",
      BENCH_VIEW,
      "../hourglass-pbd.yaml",
      { NULL },
      NULL,
      1,
      30,
      60,
      1,
      0,
      0 },
    { "driving",
      "Driven over undriven steps of the demo scene, saving and restoring its state (ms a megabyte)",
      BENCH_PROGRAM,
      "driving",
      { "--scene", "@../collapse.yaml" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "pbd-sandcastle",
      "The same, sandcastle (paper: 9.75 + 7.31)",
      BENCH_PROGRAM,
      "pbd",
      { "--scene", "@../sandcastle.yaml", "--frames", "40", "--skip", "20" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "pbd-excavator",
      "The same, excavator-pbd (paper: 21.4 + 11.2)",
      BENCH_PROGRAM,
      "pbd",
      { "--scene", "@../excavator-pbd.yaml", "--frames", "40", "--skip", "60" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "pbd-squirrel",
      "The same, squirrel (paper: 33.0 + 15.8)",
      BENCH_PROGRAM,
      "pbd",
      { "--scene", "@../squirrel.yaml", "--frames", "40", "--skip", "10" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "pbd-x10",
      "The hourglass of ten times the grains",
      BENCH_PROGRAM,
      "pbd",
      { "--scene", "@../hourglass-pbd.yaml", "--frames", "4", "--skip", "4", "--set", "pbd.radius=0.013", "--set", "output.upsample=0.0037" },
      NULL,
      1,
      0,
      0,
      1,
      0,
      0 },
    { "spheres-1e5", "Contact: 97 thousand balls in a box, at 1e-4", BENCH_SCENE, "spheres.yaml", { NULL }, NULL, 1, 30, 2, 1, 0, 1.5 },
    { "fibres-200", "Contact: 200 fibres in a heap", BENCH_SCENE, "fibres.yaml", { NULL }, NULL, 1, 160, 20, 1, 0, 0.04 },
    { "hair-500",
      "Contact: 500 hairs of 20 segments on a head (8 steps are a frame)",
      BENCH_SCENE,
      "../hair-swing.yaml",
      { "fibres.0.groom.count=500" },
      NULL,
      1,
      40,
      8,
      1,
      0,
      0 },
    { "hair-1000", "The same, 1000 hairs", BENCH_SCENE, "../hair-swing.yaml", { "fibres.0.groom.count=1000" }, NULL, 1, 40, 8, 1, 0, 0 },
    { "hair-2000", "The same, 2000 hairs", BENCH_SCENE, "../hair-swing.yaml", { NULL }, NULL, 1, 40, 8, 1, 0, 0.75 },
    { "render", "Pictures and grain samples", BENCH_PROGRAM, "render", { NULL }, NULL, 1, 0, 0, 1, 0, 0 },
    { 0 },
};

bool bench_is_paper(const benchmark *b)
{
    return b->family && strcmp(b->family, "paper") == 0;
}

enum { PHASES_MOST = RP_MAX_EXTRAS, REPEATS_MOST = 64 };

static void number(FILE *to, const char *name, double value)
{
    if (isfinite(value))
        fprintf(to, ", \"%s\": %.6g", name, value);
    else
        fprintf(to, ", \"%s\": null", name);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* ---- a scene ---- */

typedef struct measured {
    double total, first, cpu;   /* seconds of the measured steps, of the first step; processor seconds of the measured steps */
    double first_cpu;           /* processor seconds up to the end of the first step of full length: a first step may be taken in short ones */
    double frames;              /* that the measured steps last */
    double iterations, visits, solve;
    double phase[PHASES_MOST];
    const char *phase_name[PHASES_MOST];
    int phases, unconverged;
    double residual_mean, residual_max; /* the largest of the steps */
    double frame_rate;
    rp_step_stats last;
} measured;

static void add_step(measured *m, const rp_step_stats *s, double cpu)
{
    m->total += 1e-3 * s->ms_step;
    m->cpu += cpu;
    m->frames += s->dt * m->frame_rate;
    m->iterations += (double)s->iterations;
    m->visits += (double)s->iterations * (double)s->nodes;
    m->unconverged += !s->converged;
    m->residual_mean = fmax(m->residual_mean, s->residual_mean);
    m->residual_max = fmax(m->residual_max, s->residual_max);
    m->phases = s->phase_count < PHASES_MOST ? s->phase_count : PHASES_MOST;
    for (int i = 0; i < m->phases; i++) {
        m->phase_name[i] = s->phase_name[i];
        m->phase[i] += 1e-3 * s->phase_ms[i];
        if (strcmp(s->phase_name[i], "solve") == 0)
            m->solve += 1e-3 * s->phase_ms[i];
    }
    m->last = *s;
}

static bool run_once(const benchmark *b, const bench_settings *s, int threads, int steps, measured *m)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", s->scenes, b->what);
    int sets = 0;
    while (sets < BENCH_SETS && b->set[sets])
        sets++;
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    rp_scene_options options = { .set = b->set, .set_count = sets };
    bool good = rp_scene_load(path, &options, &scene) == RP_OK && rp_sim_create(rp_scene_sim_def(scene), &sim) == RP_OK;
    *m = (measured){ 0 };
    if (good)
        rp_sim_set_threads(sim, threads);
    m->frame_rate = good ? rp_sim_definition(sim)->frame_rate : 0;
    bool starting = true;
    for (int k = 0; good && k < b->warm + steps;) {
        rp_step_stats stats;
        double cpu = processor_seconds();
        good = rp_sim_step(sim, &stats) == RP_OK;
        cpu = processor_seconds() - cpu;
        m->first += starting ? 1e-3 * stats.ms_step : 0;
        m->first_cpu += starting ? cpu : 0;
        starting = starting && good && strcmp(stats.limit, "start") == 0;
        if (good && k >= b->warm)
            add_step(m, &stats, cpu);
        k += !starting; /* short steps at the start are parts of the first */
    }
    if (!good)
        fprintf(stderr, "repose bench: %s: %s\n", b->name, rp_last_error());
    rp_sim_destroy(sim);
    rp_scene_destroy(scene);
    return good;
}

static void write_scene(FILE *to, const benchmark *b, int threads, int steps, const double *totals, int repeats, const measured *m)
{
    double sorted[REPEATS_MOST], n = steps;
    memcpy(sorted, totals, (size_t)repeats * sizeof *sorted);
    qsort(sorted, (size_t)repeats, sizeof *sorted, ascending);
    double median = 0.5 * (sorted[(repeats - 1) / 2] + sorted[repeats / 2]);
    fprintf(to, "{\"name\": \"%s\", \"kind\": \"scene\", \"threads\": %d, \"repeats\": %d, \"steps\": %d", b->name, threads, repeats, steps);
    if (b->family)
        fprintf(to, ", \"family\": \"%s\", \"refine\": %d", b->family, b->refine);
    fprintf(to, ", \"particles\": %lld, \"nodes\": %lld", (long long)m->last.particles, (long long)m->last.nodes);
    number(to, "seconds", sorted[0] / n);
    number(to, "median", median / n);
    number(to, "spread", sorted[0] > 0 ? (sorted[repeats - 1] - sorted[0]) / sorted[0] : 0);
    number(to, "cpu_seconds", m->cpu / n);
    number(to, "cpu_a_frame", m->cpu / m->frames);
    number(to, "first_step", m->first);
    number(to, "first_cpu", m->first_cpu);
    number(to, "iterations", m->iterations / n);
    fprintf(to, ", \"unconverged\": %d", m->unconverged);
    number(to, "residual_mean", m->residual_mean);
    number(to, "residual_max", m->residual_max);
    number(to, "volume_error", m->last.volume_error);
    if (m->visits > 0 && m->solve > 0) {
        number(to, "node_visits_per_s", m->visits / m->solve);
        number(to, "ns_per_node_visit", 1e9 * m->solve / m->visits);
    }
    number(to, "particle_steps_per_s", n * (double)m->last.particles / m->total);
    number(to, "memory", (double)rp_memory_peak());
    number(to, "memory_per_particle", (double)rp_memory_peak() / (double)m->last.particles);
    if (m->last.nodes > 0)
        number(to, "memory_per_node", (double)rp_memory_peak() / (double)m->last.nodes);
    fprintf(to, ", \"phases\": {");
    for (int i = 0; i < m->phases; i++)
        fprintf(to, "%s\"%s\": %.6g", i ? ", " : "", m->phase_name[i], m->phase[i] / n);
    fprintf(to, "}}");
}

/* The same steps again and again: they are the same to the byte, so only the machine makes them differ. */
static bool measure_scene(const benchmark *b, const bench_settings *s, int threads, FILE *to)
{
    int steps = s->steps > 0 ? s->steps : b->steps, repeats = s->repeats > 0 ? s->repeats : b->repeats;
    double totals[REPEATS_MOST];
    measured best = { .total = INFINITY }, m;
    repeats = repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
    for (int k = 0; k < repeats; k++) {
        if (!run_once(b, s, threads, steps, &m))
            return false;
        totals[k] = m.total;
        if (m.total < best.total)
            best = m;
    }
    write_scene(to, b, threads, steps, totals, repeats, &best);
    return true;
}

/* ---- one contact ---- */

static bool measure_contacts(const bench_settings *s, FILE *to)
{
    static const int dimensions[] = { 2, 3, 6 };
    int64_t problems = s->steps > 0 ? 100 * (int64_t)s->steps : 50000;
    bool any = false;
    for (int k = 0; k < 3; k++)
        for (int solver = 0; solver < RP_FRICTION_CONTACT_COUNT; solver++) {
            rp_friction_contact_statistics t;
            rp_result result = rp_friction_measure_contacts(dimensions[k], (rp_friction_local_solver)solver, problems, 1, &t);
            if (result == RP_UNSUPPORTED)
                continue;
            if (result != RP_OK) {
                fprintf(stderr, "repose bench: contacts: %s\n", rp_last_error());
                return false;
            }
            fprintf(to, "%s{\"name\": \"contacts\", \"kind\": \"kernel\", \"what\": \"dimension %d, %s\", \"problems\": %lld, "
                        "\"failures\": %lld",
                    any ? ",\n  " : "", dimensions[k], rp_friction_local_solver_name((rp_friction_local_solver)solver),
                    (long long)t.problems, (long long)t.failures);
            number(to, "ns_cold", t.cold_ns);
            number(to, "ns_warm", t.warm_ns);
            number(to, "ns_factorise", t.factorise_ns);
            fprintf(to, "}");
            any = true;
        }
    return true;
}

/* ---- a mesh ---- */

enum { RINGS = 224, SPOKES = 224, VERTICES = (RINGS - 1) * SPOKES + 2, TRIANGLES = 2 * SPOKES * (RINGS - 1) };

/* A sphere with bumps; the last two vertices are its poles. */
static void make_mesh(double *v, int32_t *t)
{
    double pi = acos(-1.0);
    for (int i = 0; i < VERTICES; i++) {
        bool pole = i >= VERTICES - 2;
        double a = pole ? pi * (i - (VERTICES - 2)) : pi * (i / SPOKES + 1) / RINGS, b = pole ? 0 : 2 * pi * (i % SPOKES) / SPOKES;
        double r = 0.5 * (1 + 0.1 * sin(5 * a) * sin(a) * cos(7 * b));
        v[3 * i] = r * sin(a) * cos(b), v[3 * i + 1] = r * sin(a) * sin(b), v[3 * i + 2] = r * cos(a);
    }
    for (int k = 0; k < SPOKES; k++) {
        int32_t next = (k + 1) % SPOKES, last = (RINGS - 2) * SPOKES;
        int32_t caps[6] = { VERTICES - 2, k, next, VERTICES - 1, last + next, last + k };
        memcpy(t, caps, sizeof caps), t += 6;
        for (int32_t at = 0; at < last; at += SPOKES) {
            int32_t both[6] = { at + k, at + SPOKES + k, at + next, at + next, at + SPOKES + k, at + SPOKES + next };
            memcpy(t, both, sizeof both), t += 6;
        }
    }
}

static void remove_folder(const char *folder)
{
    DIR *list = opendir(folder);
    for (struct dirent *e; list && (e = readdir(list));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path); /* . and .. stay */
    }
    if (list)
        closedir(list);
    rmdir(folder);
}

/* The distances of a mesh of 100 000 triangles made, and found again, in a cache of its own. */
static bool measure_mesh(FILE *to)
{
    const char *place = getenv("TMPDIR");
    char folder[600];
    snprintf(folder, sizeof folder, "%s/repose-bench-XXXXXX", place && place[0] ? place : "/tmp");
    double *v = malloc(3 * VERTICES * sizeof *v), seconds[2] = { 0 };
    int32_t *t = malloc(3 * TRIANGLES * sizeof *t);
    bool good = v && t && mkdtemp(folder);
    if (good)
        make_mesh(v, t);
    for (int k = 0; k < 2 && good; k++) {
        rp_shape *shape = NULL;
        double begin = progress_seconds();
        good = rp_shape_cache_folder(folder) == RP_OK && rp_shape_mesh_data(v, VERTICES, t, TRIANGLES, &shape) == RP_OK;
        seconds[k] = progress_seconds() - begin;
        rp_shape_release(shape);
    }
    if (good)
        fprintf(to, "{\"name\": \"mesh\", \"kind\": \"kernel\", \"what\": \"%d triangles\", \"seconds\": %.4g, \"seconds_from_cache\": %.4g}", TRIANGLES,
                seconds[0], seconds[1]);
    else
        fprintf(stderr, "repose bench: mesh: %s\n", rp_last_error());
    remove_folder(folder);
    free(v);
    free(t);
    return good;
}

/* ---- programs of bench/ ---- */

static char *whole(FILE *from)
{
    char *text = NULL;
    size_t size = 0, room = 0, n = 1;
    while (n > 0) {
        if (room < size + 4096) {
            char *more = realloc(text, room = 2 * room + 8192);
            if (!more) {
                free(text);
                return NULL;
            }
            text = more;
        }
        n = fread(text + size, 1, room - size - 1, from);
        size += n;
        text[size] = '\0';
    }
    return text;
}

/* The rows a program prints: an array, an object with an array in it, or an object a line. */
static bool write_rows(FILE *to, const char *name, const json *value, bool *any)
{
    if (value->kind == JSON_OBJECT) {
        const json *inner = NULL;
        for (const json *m = value->first; m; m = m->next)
            if (m->kind == JSON_ARRAY && m->first && m->first->kind == JSON_OBJECT)
                inner = m;
        if (inner)
            return write_rows(to, name, inner, any);
    }
    const json *row = value->kind == JSON_ARRAY ? value->first : value;
    for (; row; row = value->kind == JSON_ARRAY ? row->next : NULL) {
        if (row->kind != JSON_OBJECT)
            return false;
        char what[256] = "";
        for (const json *m = row->first; m; m = m->next) { /* texts, sizes and threads say which row it is */
            size_t n = strlen(what);
            const char *slash = m->kind == JSON_TEXT ? strrchr(m->text, '/') : NULL; /* of a file the name is enough */
            if (m->kind == JSON_TEXT && strcmp(m->name, "bench") != 0)
                snprintf(what + n, sizeof what - n, "%s%s", n ? ", " : "", slash ? slash + 1 : m->text);
            else if (m->kind == JSON_NUMBER && (strcmp(m->name, "order") == 0 || strcmp(m->name, "count") == 0 || strcmp(m->name, "particles") == 0))
                snprintf(what + n, sizeof what - n, "%s%s %g", n ? ", " : "", m->name, m->number);
        }
        fprintf(to, "%s{\"name\": \"%s\", \"kind\": \"kernel\", \"what\": \"%s\"", *any ? ",\n  " : "", name, what);
        for (const json *m = row->first; m; m = m->next)
            if (m->kind == JSON_NUMBER)
                number(to, m->name, m->number);
        fprintf(to, "}");
        *any = true;
    }
    return true;
}

static bool measure_program(const benchmark *b, const bench_settings *s, FILE *to)
{
    char self[1024] = "", command[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = n > 0 ? strrchr(self, '/') : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    snprintf(command, sizeof command, "%s/bench/bench_%s", self, b->what);
    if (access(command, X_OK) != 0) {
        fprintf(stderr, "repose bench: %s left out: there is no %s (it is there in a build folder)\n", b->name, command);
        return true;
    }
    size_t used = (size_t)snprintf(command, sizeof command, "'%s/bench/bench_%s' --json", self, b->what);
    for (int k = 0; k < BENCH_SETS && b->set[k] && used < sizeof command; k++)
        used += (size_t)snprintf(command + used, sizeof command - used, b->set[k][0] == '@' ? " '%s/%s'" : " %s%s", b->set[k][0] == '@' ? s->scenes : "",
                                 b->set[k] + (b->set[k][0] == '@'));
    if (used >= sizeof command)
        return false;
    FILE *from = popen(command, "r");
    char *text = from ? whole(from) : NULL;
    bool good = from && pclose(from) == 0 && text, any = false;
    size_t at = 0;
    json *value = good ? json_parse(text, &at) : NULL;
    if (value) {
        good = write_rows(to, b->name, value, &any);
    } else if (good) { /* an object a line */
        for (char *line = strtok(text, "\n"); good && line; line = strtok(NULL, "\n")) {
            value = json_parse(line, &at);
            good = value && write_rows(to, b->name, value, &any);
            json_free(value);
            value = NULL;
        }
    }
    json_free(value);
    free(text);
    if (!good)
        fprintf(stderr, "repose bench: bench_%s did not give results\n", b->what);
    return good;
}

/* ---- processes ---- */

typedef bool (*measure_fn)(const benchmark *b, const bench_settings *s, int threads, FILE *to);

static bool measure_one(const benchmark *b, const bench_settings *s, int threads, FILE *to)
{
    switch (b->kind) {
    case BENCH_SCENE: return measure_scene(b, s, threads, to);
    case BENCH_CONTACTS: return measure_contacts(s, to);
    case BENCH_MESH: return measure_mesh(to);
    case BENCH_PROGRAM: return measure_program(b, s, to);
    case BENCH_VIEW: return bench_view(b, s, threads, to);
    }
    return false;
}

static bool measure_limits(const benchmark *b, const bench_settings *s, int threads, FILE *to)
{
    rp_machine_limits limits;
    (void)b, (void)s;
    if (rp_machine_measure(threads, &limits) != RP_OK) {
        fprintf(stderr, "repose bench: %s\n", rp_last_error());
        return false;
    }
    fprintf(to, "{\"threads\": %d, \"copy_GB_per_s\": %.4g, \"triad_GB_per_s\": %.4g, \"gflop_per_s\": %.4g}", threads,
            1e-9 * limits.copy, 1e-9 * limits.triad, 1e-9 * limits.flops);
    return true;
}

/* What the function writes, as a text to free; NULL when it failed. The caller has started no threads. */
static char *in_process(measure_fn function, const benchmark *b, const bench_settings *s, int threads)
{
    int ends[2];
    if (pipe(ends) != 0)
        return NULL;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]), close(ends[1]);
        return NULL;
    }
    if (child == 0) {
        close(ends[0]);
        FILE *to = fdopen(ends[1], "w");
        bool good = to && function(b, s, threads, to);
        good = to && fclose(to) == 0 && good;
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    char *text = from ? whole(from) : NULL;
    if (from)
        fclose(from);
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return text;
    if (WIFSIGNALED(status))
        fprintf(stderr, "repose bench: %s ended by signal %d\n", b ? b->name : "machine", WTERMSIG(status));
    free(text);
    return NULL;
}

bool bench_measure(const benchmark *b, const bench_settings *s, FILE *to, bool *any)
{
    bool good = true;
    int most = (b->kind == BENCH_SCENE || b->kind == BENCH_VIEW) && s->threads == 0 && rp_machine_cores() > 1 ? 2 : 1;
    for (int k = b->refine >= 4 ? most : 1; k <= most; k++) { /* the largest takes minutes: once */
        int threads = s->threads > 0 ? s->threads : k;
        double begin = progress_seconds();
        char *text = in_process(measure_one, b, s, threads);
        if (s->verbose)
            fprintf(stderr, "%-16s %d thread%s  %6.1f s%s\n", b->name, threads, threads == 1 ? " " : "s", progress_seconds() - begin,
                    text ? "" : "  FAILED");
        if (text && *text) {
            fprintf(to, "%s\n  %s", *any ? "," : "", text);
            *any = true;
        }
        good = good && text;
        free(text);
    }
    return good;
}

bool bench_machine(const bench_settings *s, FILE *to)
{
    char name[256], clean[256], load[64] = "0";
    size_t n = 0;
    rp_machine_name(name, sizeof name);
    for (const char *c = name; *c && n + 1 < sizeof clean; c++)
        if (*c >= ' ' && *c != '"' && *c != '\\')
            clean[n++] = *c;
    clean[n] = '\0';
    FILE *file = fopen("/proc/loadavg", "r");
    if (file) {
        if (fscanf(file, "%63s", load) != 1)
            strcpy(load, "0");
        fclose(file);
    }
    fprintf(to, "  \"machine\": {\"processor\": \"%s\", \"cores\": %d, \"memory_GB\": %.3g, \"load\": %g, \"limits\": [", clean,
            rp_machine_cores(), 1e-9 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), strtod(load, NULL));
    bool good = true;
    for (int threads = 1; threads <= 2 && threads <= rp_machine_cores(); threads++) {
        char *text = in_process(measure_limits, NULL, s, threads);
        good = good && text;
        fprintf(to, "%s%s", threads > 1 ? ", " : "", text ? text : "{}");
        free(text);
    }
    fprintf(to, "]}");
    return good;
}
