/* bench: how fast the program is, beside the limits of the machine, and what got slower. */
#include "bench.h"
#include "folder.h"
#include "commands.h"

#include <repose/repose.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench_line {
    const char *output, *scenes, *compare, *from, *history, *page;
    int threads, repeats, steps;
    bool list, json, quiet, paper;
} bench_line;

#define AT(member) offsetof(bench_line, member)

static const option options[] = {
    { "--paper", 0, OPT_FLAG, AT(paper), NULL,
      "the scenes of Table 1 of Daviet and Bertails-Descoubes 2016 at its grids and particles, which are left out otherwise" },
    { "--list", 'l', OPT_FLAG, AT(list), NULL, "names and titles of the benchmarks" },
    { "--output", 'o', OPT_TEXT, AT(output), "FILE", "the results as JSON (default: out/bench.json)" },
    { "--from", 0, OPT_TEXT, AT(from), "FILE", "measure nothing: take the results of this file" },
    { "--compare", 'c', OPT_TEXT, AT(compare), "FILE",
      "say what changed since these results, beyond the noise; the exit code is 1 if anything got worse" },
    { "--history", 0, OPT_TEXT, AT(history), "DIR", "append the results to DIR/processor.csv" },
    { "--page", 'p', OPT_TEXT, AT(page), "DIR", "make DIR/performance.md and its plots" },
    { "--repeats", 'r', OPT_INT, AT(repeats), "N", "runs of the same steps (default: by benchmark, 1 to 3)" },
    { "--steps", 0, OPT_INT, AT(steps), "N", "steps measured in a run (default: by benchmark)" },
    { "--threads", 't', OPT_INT, AT(threads), "N", "only with N threads (default: 1 and 2)" },
    { "--scenes", 0, OPT_TEXT, AT(scenes), "DIR", "folder of the scenes (default: scenes/bench of the source)" },
    { "--json", 0, OPT_FLAG, AT(json), NULL, "the results as JSON on standard output in place of the table" },
    { "--quiet", 'q', OPT_FLAG, AT(quiet), NULL, "no line for each benchmark as it is done" },
    { 0 },
};

static bool chosen(const text_list *names, bool paper, const benchmark *b)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i], b->name) == 0)
            return true;
    return names->count == 0 && paper == bench_is_paper(b);
}

static bool all_known(const text_list *names)
{
    for (int i = 0; i < names->count; i++) {
        const benchmark *b = benchmarks;
        while (b->name && strcmp(b->name, names->items[i]) != 0)
            b++;
        if (!b->name) {
            fprintf(stderr, "repose bench: there is no benchmark '%s'; see: repose bench --list\n", names->items[i]);
            return false;
        }
    }
    return true;
}

/* Measures into the file; false when a benchmark failed (the others are there). */
static bool measure(const bench_line *line, const text_list *names)
{
    char folder[1024], part[1100], date[32];
    snprintf(folder, sizeof folder, "%s", line->output);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    snprintf(part, sizeof part, "%s.part", line->output);
    FILE *file = !slash || make_folder(folder) ? fopen(part, "w") : NULL;
    if (!file) {
        fprintf(stderr, "repose bench: %s cannot be written: %s\n", line->output, strerror(errno));
        return false;
    }
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    bench_settings s = { .scenes = line->scenes, .repeats = line->repeats, .steps = line->steps, .threads = line->threads,
                         .verbose = !line->quiet };
    fprintf(file, "{\"program\": \"repose %s\", \"date\": \"%s\",\n", rp_version(), date);
    bool good = bench_machine(&s, file), any = false;
    fprintf(file, ",\n  \"results\": [");
    for (const benchmark *b = benchmarks; b->name; b++)
        if (chosen(names, line->paper, b))
            good = bench_measure(b, &s, file, &any) && good;
    fprintf(file, "]}\n");
    if (fclose(file) != 0 || rename(part, line->output) != 0) {
        fprintf(stderr, "repose bench: %s cannot be written\n", line->output);
        return false;
    }
    return good;
}

static int copy_out(const char *path)
{
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;)
        putchar(c);
    if (file)
        fclose(file);
    return file ? EXIT_DONE : EXIT_FAILED;
}

static int bench_main(int argc, char **argv)
{
    bench_line line = { .output = "out/bench.json", .scenes = REPOSE_SCENE_DIR "/bench" };
    text_list names;
    int code = options_parse(&command_bench, &line, argc, argv, &names, 0, LIST_MOST);
    if (code >= 0)
        return code;
    if (line.list) {
        for (const benchmark *b = benchmarks; b->name; b++)
            printf("%-16s %s\n", b->name, b->title);
        return EXIT_DONE;
    }
    if (!all_known(&names))
        return EXIT_USAGE;
    if (line.threads < 0 || line.threads > 64 || line.repeats < 0 || line.repeats > 64 || line.steps < 0) {
        fprintf(stderr, "repose bench: threads and repeats are 1 to 64, steps at least 1\n");
        return EXIT_USAGE;
    }
    bool good = line.from || measure(&line, &names);
    json *results = json_read_file(line.from ? line.from : line.output);
    if (!results)
        return EXIT_FAILED;
    if (line.json)
        good = copy_out(line.from ? line.from : line.output) == EXIT_DONE && good;
    else
        bench_print(results);
    if (line.history)
        good = bench_history(results, line.history) && good;
    if (line.page)
        good = bench_page(results, line.page, line.history) && good;
    if (line.compare) {
        json *before = json_read_file(line.compare);
        good = before && bench_compare(before, results) == 0 && good;
        json_free(before);
    }
    json_free(results);
    return good ? EXIT_DONE : EXIT_FAILED;
}

const command command_bench = {
    "bench", "[NAME]... [--paper] [-o FILE] [--compare FILE] [--history DIR] [--page DIR]",
    "Measures the speed of the program beside the limits of the machine",
    "Without names: every benchmark. Each runs in a process of its own, the same steps several times; the figure is the least of "
    "the repeats and the spread is how much the slowest was slower. Memory bandwidth and arithmetic of the machine are measured in "
    "the same run. Let nothing else run meanwhile; the load found at the start is recorded.",
    options, bench_main,
};
