/* Benchmarks: what is measured (bench_measure.c), and what is made of the results (bench_report.c, bench_page.c). */
#ifndef REPOSE_APPS_BENCH_H
#define REPOSE_APPS_BENCH_H

#include "json.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum bench_kind {
    BENCH_SCENE,    /* steps of a scene */
    BENCH_CONTACTS, /* the one-contact solvers of the friction library */
    BENCH_MESH,     /* distances of a mesh, made and found again */
    BENCH_PROGRAM,  /* a program of bench/ that sees what rooms hide, with --json */
    BENCH_VIEW      /* the chain of `play` to a socket */
} bench_kind;

enum { BENCH_SETS = 14 };

typedef struct benchmark {
    const char *name, *title;
    bench_kind kind;
    const char *what;              /* the scene, or the program */
    const char *set[BENCH_SETS];   /* replacements in the scene, or arguments of the program (@: in the folder of scenes), up to a NULL */
    const char *family;            /* benchmarks of one family differ by resolution (or by the law, "laws"); NULL: none */
    int refine;                    /* cells for one of the family's first */
    int warm, steps, repeats;      /* steps before the measured ones (the first is told apart), measured ones, runs of all of them */
    double reference;              /* seconds a step of the code published with [daviet2016], 2 threads; 0: not measured */
    double goal;                   /* seconds a step, 2 threads; 0: none */
} benchmark;

extern const benchmark benchmarks[]; /* ends with a NULL name */
bool bench_is_paper(const benchmark *b); /* one of the scenes of Table 1 of [daviet2016]: large, measured only when asked for */

typedef struct bench_settings {
    const char *scenes;  /* folder */
    int repeats, steps;  /* 0: as in the table */
    int threads;         /* 0: 1 and 2 */
    bool verbose;
} bench_settings;

/* Measures in a process of its own and writes the JSON objects of the results, comma separated. False: said on standard error. */
bool bench_measure(const benchmark *b, const bench_settings *s, FILE *to, bool *any);
bool bench_machine(const bench_settings *s, FILE *to); /* "machine": {...} */

/* ---- results, as read back from the file ---- */

void bench_print(const json *results);
/* Prints what changed beyond the noise; returns how many got slower, take more iterations or more memory. */
int bench_compare(const json *before, const json *after);
/* A row a result, appended to FOLDER/processor.csv. */
bool bench_history(const json *results, const char *folder);
/* First steps, and Table 1 of [daviet2016], beside ours. */
void bench_write_paper(FILE *to, const json *results);
/* FOLDER/performance.md and FOLDER/performance/, with the history of this machine from `history` (NULL: none). */
bool bench_page(const json *results, const char *folder, const char *history);

void bench_file_name(const char *processor, char *text, size_t size); /* of the history of a machine */
double bench_limit_of(const json *results, const char *name, double threads); /* of the machine; NAN when unknown */

#endif
