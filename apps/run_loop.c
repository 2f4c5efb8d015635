#include "run_loop.h"

#include "film_child.h"
#include "folder.h"
#include "options.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile int stop_asked; /* the library looks at it in the midst of a step */

static void on_signal(int number)
{
    if (stop_asked) { /* the second time: at once */
        signal(number, SIG_DFL);
        raise(number);
    }
    stop_asked = number;
}

static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void receive_log(void *context, rp_log_level level, const char *message)
{
    (void)context;
    static const char *const names[] = { "debug", "note", "warning", "error" };
    fprintf(stderr, "%s: %s\n", names[level], message);
}

int report_failure(const char *doing, rp_result result)
{
    const char *sentence = rp_last_error();
    fprintf(stderr, "repose: %s%s%s\n", doing, *doing ? ": " : "", *sentence ? sentence : rp_result_text(result));
    switch (result) {
    case RP_OK:
        return EXIT_DONE;
    case RP_BAD_SCENE:
    case RP_BAD_ARGUMENT:
    case RP_TOO_LARGE:
    case RP_UNSUPPORTED: /* the method says what it cannot do */
        return EXIT_SCENE;
    case RP_DIVERGED:
        return EXIT_DIVERGED;
    case RP_CANCELLED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_FAILED;
    }
}

int check_run_numbers(const char *name, int threads, double until)
{
    if (threads >= 0 && threads <= 4096 && until >= 0) /* infinite: not given */
        return -1;
    if (until < 0)
        fprintf(stderr, "repose %s: --until is a time in seconds, not %g\n", name, until);
    else
        fprintf(stderr, "repose %s: --threads is a number from 0 (all cores) to 4096, not %d\n", name, threads);
    return EXIT_USAGE;
}

static void print_json_number(const char *name, double value)
{
    if (isfinite(value))
        printf(",\"%s\":%.10g", name, value);
    else
        printf(",\"%s\":null", name);
}

static void print_json(const rp_sim *sim, const rp_step_stats *s)
{
    printf("{\"event\":\"step\",\"step\":%lld,\"frame\":%lld,\"particles\":%lld,\"iterations\":%lld,\"converged\":%s,"
           "\"limit\":\"%s\"",
           (long long)s->step, (long long)rp_sim_frame(sim), (long long)s->particles, (long long)s->iterations,
           s->converged ? "true" : "false", s->limit ? s->limit : "");
    print_json_number("time", s->time);
    print_json_number("dt", s->dt);
    print_json_number("residual_mean", s->residual_mean);
    print_json_number("residual_max", s->residual_max);
    print_json_number("volume_error", s->volume_error);
    print_json_number("kinetic_energy", s->kinetic_energy);
    print_json_number("potential_energy", s->potential_energy);
    print_json_number("ms_step", s->ms_step);
    printf("}\n");
    fflush(stdout); /* a failure stays in ferror(stdout) */
}

typedef struct tally {
    int64_t steps, unconverged, outside;
    double begin;
} tally;

static void show(progress *p, const rp_sim *sim, const rp_step_stats *s, double end)
{
    char text[160];
    snprintf(text, sizeof text, "t %.4g of %.4g s, frame %lld, %lld particles, %.3g s a step", s->time, end,
             (long long)rp_sim_frame(sim), (long long)s->particles, 1e-3 * s->ms_step);
    progress_show(p, end > 0 ? fmin(1, s->time / end) : 1, text);
}

typedef enum ending { AT_END, AT_UNTIL, INTERRUPTED } ending;

static int finish(rp_sim *sim, const tally *t, const char *folder, const run_options *options, ending end)
{
    bool interrupted = end == INTERRUPTED;
    char word[4096];
    if (t->unconverged) /* quiet or not: the numbers may be wrong */
        fprintf(stderr, "warning: %lld of %lld steps reached the iteration limit before the tolerance (stats.csv, column "
                        "'converged')\n",
                (long long)t->unconverged, (long long)t->steps);
    if (t->outside && !options->quiet)
        fprintf(stderr, "note: %lld particles left through open faces\n", (long long)t->outside);
    double seconds = progress_seconds() - t->begin;
    if (options->json)
        printf("{\"event\":\"%s\",\"time\":%.10g,\"steps\":%lld,\"particles\":%lld,\"seconds\":%.3f,\"memory\":%zu}\n",
               interrupted ? "interrupted" : "done", rp_sim_time(sim), (long long)t->steps,
               (long long)rp_sim_particle_count(sim), seconds, rp_memory_peak());
    if (interrupted) {
        fprintf(stderr, "interrupted at t = %g s; a checkpoint was written. Go on with: repose resume %s\n", rp_sim_time(sim),
                shell_word(folder, word, sizeof word));
        return EXIT_INTERRUPTED;
    }
    if (!options->quiet && end == AT_UNTIL) {
        fprintf(stderr, "stopped at t = %.10g s, as asked", rp_sim_time(sim));
        if (!rp_sim_at_frame(sim))
            fprintf(stderr, ", between two frames: the state is in %s/last.vtkhdf", folder);
        fprintf(stderr, ". Go on with: repose resume %s\n", shell_word(folder, word, sizeof word));
    }
    if (!options->quiet)
        fprintf(stderr, "done: %lld steps, %lld particles, %.1f s, %.0f MB at most; results in %s\n", (long long)t->steps,
                (long long)rp_sim_particle_count(sim), seconds, 1e-6 * (double)rp_memory_peak(), folder);
    return EXIT_DONE;
}

/* Says what became of the run when a step or its files failed. */
static int step_failed(rp_sim *sim, rp_output *output, const char *folder, rp_result result)
{
    int code = report_failure("", result);
    if (result == RP_DIVERGED && rp_output_dump(output, sim) == RP_OK)
        fprintf(stderr, "repose: the state was written to %s/dump.vtkhdf\n", folder);
    return code;
}

static int output_failed(const char *folder, rp_result result)
{
    int code = report_failure("output", result);
    fprintf(stderr, "repose: what was written before is intact; make room, then: repose resume %s\n", folder);
    return code;
}

static void count_step(tally *t, const rp_step_stats *s)
{
    t->steps++;
    t->unconverged += !s->converged;
    t->outside += s->outside;
}

static double tiny(const rp_sim *sim)
{
    return 1e-9 / rp_sim_definition(sim)->frame_rate;
}

/* The next whole step would end after `end`. Asked of the simulation only when `end` lies before the next frame. */
static rp_result passes(rp_sim *sim, double end, bool *yes)
{
    double next = (double)(rp_sim_frame(sim) + 1) / rp_sim_definition(sim)->frame_rate;
    *yes = false;
    if (end > next - tiny(sim))
        return RP_OK;
    rp_result result = rp_sim_next_time(sim, &next);
    *yes = result == RP_OK && next > end + tiny(sim);
    return result;
}

/* The end of a run between two frames: a checkpoint, from which `resume` goes on as if the run had not been stopped, then a step
 * as short as needed, whose rows and state `resume` cuts away. */
static int stop_between(rp_sim *sim, rp_output *output, const char *folder, const run_options *options, double end, tally *t)
{
    rp_step_stats stats;
    rp_result result = rp_output_checkpoint(output, sim);
    if (result != RP_OK)
        return output_failed(folder, result);
    if ((result = rp_sim_step_to(sim, end, &stats)) == RP_CANCELLED)
        return finish(sim, t, folder, options, INTERRUPTED);
    if (result != RP_OK)
        return step_failed(sim, output, folder, result);
    count_step(t, &stats);
    if ((result = rp_output_last(output, sim, &stats)) != RP_OK)
        return output_failed(folder, result);
    if (options->json)
        print_json(sim, &stats);
    return finish(sim, t, folder, options, AT_UNTIL);
}

static int run_steps(rp_sim *sim, rp_output *output, const char *folder, const run_options *options, film_child *film)
{
    catch_signals();
    const rp_sim_def *def = rp_sim_definition(sim);
    bool early = options->until < def->duration;
    double end = early ? options->until : def->duration;
    rp_sim_set_threads(sim, options->threads);
    rp_sim_set_cancel(sim, &stop_asked);
    bool beyond = early && rp_sim_time(sim) > end + tiny(sim);
    if (beyond && !options->quiet)
        fprintf(stderr, "the run is at t = %.10g s already: nothing is left to do until %.10g s\n", rp_sim_time(sim), end);
    progress bar;
    progress_begin(&bar, end > 0 ? rp_sim_time(sim) / end : 1, options->quiet || options->json);
    tally t = { .begin = progress_seconds() };
    int code = -1;
    while (code < 0 && !rp_sim_done(sim) && !(early && rp_sim_time(sim) >= end - tiny(sim))) {
        rp_step_stats stats;
        bool last = false;
        rp_result result;
        if (stop_asked) {
            progress_end(&bar);
            result = rp_output_checkpoint(output, sim);
            return result == RP_OK ? finish(sim, &t, folder, options, INTERRUPTED) : output_failed(folder, result);
        }
        if (early && (result = passes(sim, end, &last)) != RP_OK) {
            code = step_failed(sim, output, folder, result);
        } else if (last) {
            progress_end(&bar);
            code = stop_between(sim, output, folder, options, end, &t);
        } else if ((result = rp_sim_step(sim, &stats)) == RP_CANCELLED) {
            continue; /* the simulation is where it was; what was asked for comes next */
        } else if (result != RP_OK) {
            progress_end(&bar);
            code = step_failed(sim, output, folder, result);
        } else if ((result = rp_output_step(output, sim, &stats)) != RP_OK) {
            progress_end(&bar);
            code = output_failed(folder, result);
        } else {
            count_step(&t, &stats);
            if (rp_sim_at_frame(sim))
                film_child_frame(film, folder);
            if (options->json)
                print_json(sim, &stats);
            show(&bar, sim, &stats, end);
        }
    }
    progress_end(&bar);
    if (code >= 0)
        return code;
    rp_result result = rp_output_checkpoint(output, sim);
    if (result == RP_OK && early && !beyond && !rp_sim_at_frame(sim)) /* a whole step ended there */
        result = rp_output_last(output, sim, NULL);
    return result == RP_OK ? finish(sim, &t, folder, options, early && !beyond ? AT_UNTIL : AT_END) : output_failed(folder, result);
}

int run_loop(rp_sim *sim, rp_output *output, const char *folder, const run_options *options)
{
    film_child film = { .wanted = options->render };
    int code = run_steps(sim, output, folder, options, &film);
    if (options->json && (ferror(stdout) || fflush(stdout) != 0)) {
        fprintf(stderr, "repose: the lines of JSON could not be written; the run itself is in %s\n", folder);
        code = code == EXIT_DONE ? EXIT_FAILED : code;
    }
    if (code == EXIT_DONE)
        return film_child_finish(&film, folder, options->quiet || options->json);
    film_child_stop(&film);
    return code;
}
