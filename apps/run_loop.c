#include "run_loop.h"

#include "film_child.h"
#include "options.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t stop_asked;

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
    if (threads >= 0 && threads <= 4096 && until >= 0)
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

static int finish(rp_sim *sim, const tally *t, const char *folder, const run_options *options, bool interrupted)
{
    if (t->unconverged && !options->quiet)
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
                folder);
        return EXIT_INTERRUPTED;
    }
    if (!options->quiet)
        fprintf(stderr, "done: %lld steps, %lld particles, %.1f s, %.0f MB at most; results in %s\n", (long long)t->steps,
                (long long)rp_sim_particle_count(sim), seconds, 1e-6 * (double)rp_memory_peak(), folder);
    return EXIT_DONE;
}

static int run_steps(rp_sim *sim, rp_output *output, const char *folder, const run_options *options, film_child *film)
{
    catch_signals();
    const rp_sim_def *def = rp_sim_definition(sim);
    double end = options->until > 0 ? fmin(options->until, def->duration) : def->duration;
    rp_sim_set_threads(sim, options->threads);
    progress bar;
    progress_begin(&bar, end > 0 ? rp_sim_time(sim) / end : 1, options->quiet || options->json);
    tally t = { .begin = progress_seconds() };
    while (!rp_sim_done(sim) && !(rp_sim_at_frame(sim) && rp_sim_time(sim) >= end * (1 - 1e-12))) {
        if (stop_asked) {
            progress_end(&bar);
            rp_result result = rp_output_checkpoint(output, sim);
            return result == RP_OK ? finish(sim, &t, folder, options, true) : report_failure("checkpoint", result);
        }
        rp_step_stats stats;
        rp_result result = rp_sim_step(sim, &stats);
        if (result != RP_OK) {
            progress_end(&bar);
            int code = report_failure("", result);
            if (result == RP_DIVERGED && rp_output_dump(output, sim) == RP_OK)
                fprintf(stderr, "repose: the state was written to %s/dump.vtkhdf\n", folder);
            return code;
        }
        result = rp_output_step(output, sim, &stats);
        if (result != RP_OK) {
            progress_end(&bar);
            int code = report_failure("output", result);
            fprintf(stderr, "repose: what was written before is intact; make room, then: repose resume %s\n", folder);
            return code;
        }
        t.steps++;
        t.unconverged += !stats.converged;
        t.outside += stats.outside;
        if (rp_sim_at_frame(sim))
            film_child_frame(film, folder);
        if (options->json)
            print_json(sim, &stats);
        show(&bar, sim, &stats, end);
    }
    progress_end(&bar);
    rp_result result = rp_output_checkpoint(output, sim);
    return result == RP_OK ? finish(sim, &t, folder, options, false) : report_failure("checkpoint", result);
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
