/* Results of benchmarks: the table, the comparison with older ones, the history of a machine. */
#include "bench.h"
#include "folder.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const json *rows_of(const json *results)
{
    const json *list = json_member(results, "results");
    return list && list->kind == JSON_ARRAY ? list->first : NULL;
}

static bool is_kind(const json *row, const char *kind)
{
    return strcmp(json_text_of(row, "kind"), kind) == 0;
}

void bench_print(const json *results)
{
    const json *machine = json_member(results, "machine"), *limits = json_member(machine, "limits");
    printf("%s, %g cores, load %g\n", json_text_of(machine, "processor"), json_number(machine, "cores", 0),
           json_number(machine, "load", 0));
    for (const json *l = limits ? limits->first : NULL; l; l = l->next)
        printf("%g thread%s: copy %.1f GB/s, triad %.1f GB/s, %.1f Gflop/s\n", json_number(l, "threads", 0),
               json_number(l, "threads", 0) > 1 ? "s" : "", json_number(l, "copy_GB_per_s", 0), json_number(l, "triad_GB_per_s", 0),
               json_number(l, "gflop_per_s", 0));
    bool head = false;
    for (const json *r = rows_of(results); r; r = r->next) {
        if (!is_kind(r, "scene"))
            continue;
        if (!head)
            printf("%-14s threads   s a step  spread  iterations  unconverged  ns a visit  M p-steps/s  particles    nodes  memory MB\n",
                   "scene");
        head = true;
        printf("%-14s %7g %10.4f  %5.1f%%  %10.1f  %11g  %10.0f  %11.2f  %9g  %7g  %9.0f\n", json_text_of(r, "name"),
               json_number(r, "threads", 0), json_number(r, "seconds", NAN), 100 * json_number(r, "spread", 0),
               json_number(r, "iterations", 0), json_number(r, "unconverged", 0), json_number(r, "ns_per_node_visit", NAN),
               1e-6 * json_number(r, "particle_steps_per_s", NAN), json_number(r, "particles", 0), json_number(r, "nodes", 0),
               1e-6 * json_number(r, "memory", 0));
    }
    for (const json *r = rows_of(results); r; r = r->next) {
        if (!is_kind(r, "kernel"))
            continue;
        printf("%-14s %-40s", json_text_of(r, "name"), json_text_of(r, "what"));
        for (const json *m = r->first; m; m = m->next)
            if (m->kind == JSON_NUMBER)
                printf(" %s %.4g", m->name, m->number);
        printf("\n");
    }
}

/* ---- comparison ---- */

/* The row of the other file that measures the same. */
static const json *twin(const json *results, const json *row)
{
    for (const json *r = rows_of(results); r; r = r->next)
        if (strcmp(json_text_of(r, "name"), json_text_of(row, "name")) == 0 &&
            strcmp(json_text_of(r, "what"), json_text_of(row, "what")) == 0 &&
            json_number(r, "threads", 0) == json_number(row, "threads", 0))
            return r;
    return NULL;
}

double bench_limit_of(const json *results, const char *name, double threads)
{
    const json *limits = json_member(json_member(results, "machine"), "limits");
    for (const json *l = limits ? limits->first : NULL; l; l = l->next)
        if (json_number(l, "threads", 0) == threads)
            return json_number(l, name, NAN);
    return NAN;
}

/* By how much the machine itself was slower in the second run, a part: the noise of its neighbours. */
static double machine_drift(const json *before, const json *after, double threads)
{
    static const char *const names[] = { "triad_GB_per_s", "gflop_per_s" };
    double drift = 0;
    for (int k = 0; k < 2; k++) {
        double ratio = bench_limit_of(before, names[k], threads) / bench_limit_of(after, names[k], threads);
        if (isfinite(ratio))
            drift = fmax(drift, fabs(ratio - 1));
    }
    return drift;
}

typedef struct tally {
    int compared, slower, faster;
} tally;

/* One quantity; `allowed` is the part by which it may differ. */
static void compare_number(const char *name, const char *what, double threads, const char *quantity, double old, double now, double allowed,
                           bool more_is_better, tally *t)
{
    if (!(old > 0) || !(now > 0))
        return;
    double ratio = more_is_better ? old / now : now / old;
    t->compared++;
    const char *verdict = ratio > 1 + allowed ? "WORSE" : ratio < 1 / (1 + allowed) ? "better" : NULL;
    t->slower += ratio > 1 + allowed;
    t->faster += ratio < 1 / (1 + allowed);
    if (verdict)
        printf("%-7s %s%s%s, %g threads: %s %.4g -> %.4g (%+.1f %%, noise %.1f %%)\n", verdict, name, *what ? ", " : "", what,
               threads > 0 ? threads : 1, quantity, old, now, 100 * (now / old - 1), 100 * allowed);
}

static void compare_rows(const json *before, const json *after, const json *old, const json *now, tally *t)
{
    const char *name = json_text_of(now, "name"), *what = json_text_of(now, "what");
    double threads = json_number(now, "threads", 0), drift = machine_drift(before, after, threads > 0 ? threads : 1);
    if (is_kind(now, "scene")) {
        /* the least of the repeats is the figure; twice what the repeats differ by, and what the machine itself did, is noise */
        double noise = fmax(0.05, 2 * fmax(json_number(old, "spread", 0), json_number(now, "spread", 0)) + drift);
        if (json_number(old, "steps", 0) != json_number(now, "steps", 0)) {
            printf("skipped %s, %g threads: %g steps against %g\n", name, threads, json_number(old, "steps", 0), json_number(now, "steps", 0));
            return;
        }
        compare_number(name, what, threads, "seconds a step", json_number(old, "seconds", NAN), json_number(now, "seconds", NAN), noise,
                       false, t);
        compare_number(name, what, threads, "iterations", json_number(old, "iterations", NAN), json_number(now, "iterations", NAN), 0.05,
                       false, t);
        compare_number(name, what, threads, "bytes of memory", json_number(old, "memory", NAN), json_number(now, "memory", NAN), 0.05,
                       false, t);
        return;
    }
    for (const json *m = now->first; m; m = m->next) {
        bool rate = strstr(m->name, "_per_s") != NULL, time = strncmp(m->name, "ns", 2) == 0 || strcmp(m->name, "seconds") == 0;
        if (m->kind == JSON_NUMBER && (rate || time)) /* measured once: a wide margin */
            compare_number(name, what, threads, m->name, json_number(old, m->name, NAN), m->number, 0.2 + drift, rate, t);
    }
}

int bench_compare(const json *before, const json *after)
{
    tally t = { 0 };
    const json *machine = json_member(before, "machine"), *here = json_member(after, "machine");
    if (strcmp(json_text_of(machine, "processor"), json_text_of(here, "processor")) != 0)
        printf("other machines: %s against %s; ratios say little\n", json_text_of(machine, "processor"), json_text_of(here, "processor"));
    for (const json *now = rows_of(after); now; now = now->next) {
        const json *old = twin(before, now);
        if (old)
            compare_rows(before, after, old, now, &t);
    }
    printf("%d figures compared: %d worse, %d better, %d the same within the noise\n", t.compared, t.slower, t.faster,
           t.compared - t.slower - t.faster);
    if (t.compared == 0)
        printf("nothing in common\n");
    return t.compared ? t.slower : -1;
}

/* ---- history ---- */

void bench_file_name(const char *processor, char *text, size_t size)
{
    size_t n = 0;
    for (const char *c = processor; *c && n + 5 < size; c++) {
        if (isalnum((unsigned char)*c))
            text[n++] = (char)tolower((unsigned char)*c);
        else if (n && text[n - 1] != '-')
            text[n++] = '-';
    }
    while (n && text[n - 1] == '-')
        n--;
    snprintf(text + n, size - n, ".csv");
}

bool bench_history(const json *results, const char *folder)
{
    char name[256], path[1400];
    const json *machine = json_member(results, "machine");
    bench_file_name(json_text_of(machine, "processor"), name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct stat there;
    bool fresh = stat(path, &there) != 0;
    FILE *file = make_folder(folder) ? fopen(path, "a") : NULL;
    if (!file) {
        fprintf(stderr, "repose bench: %s cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    if (fresh)
        fprintf(file, "date,program,scene,threads,seconds,spread,iterations,unconverged,nodes,particles,memory_MB,load,triad_GB_per_s,"
                      "gflop_per_s\n");
    for (const json *r = rows_of(results); r; r = r->next) {
        if (!is_kind(r, "scene"))
            continue;
        double threads = json_number(r, "threads", 1);
        fprintf(file, "%s,%s,%s,%g,%.6g,%.3g,%.4g,%g,%g,%g,%.4g,%g,%.4g,%.4g\n", json_text_of(results, "date"),
                json_text_of(results, "program"), json_text_of(r, "name"), threads, json_number(r, "seconds", NAN),
                json_number(r, "spread", 0), json_number(r, "iterations", 0), json_number(r, "unconverged", 0), json_number(r, "nodes", 0),
                json_number(r, "particles", 0), 1e-6 * json_number(r, "memory", 0), json_number(machine, "load", 0),
                bench_limit_of(results, "triad_GB_per_s", threads), bench_limit_of(results, "gflop_per_s", threads));
    }
    if (fclose(file) != 0) {
        fprintf(stderr, "repose bench: %s cannot be written\n", path);
        return false;
    }
    return true;
}
