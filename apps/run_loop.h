/* The loop that `run` and `resume` share: step, write, show, stop cleanly. */
#ifndef REPOSE_APPS_RUN_LOOP_H
#define REPOSE_APPS_RUN_LOOP_H

#include <repose/repose.h>
#include <stdbool.h>

typedef struct run_options {
    double until;      /* stop at this time; infinite: at the scene's duration */
    int threads;
    bool json, quiet;
    bool render;       /* make pictures while the run goes, and the film at the end */
} run_options;

/* Runs to the end; returns the exit code. A signal ends it after the present step, with a checkpoint. */
int run_loop(rp_sim *sim, rp_output *output, const char *folder, const run_options *options);

/* -1 when threads and the time to stop at make sense; otherwise says so and returns the exit code. */
int check_run_numbers(const char *name, int threads, double until);

/* Says the last error on standard error; returns the exit code that fits the result. */
int report_failure(const char *doing, rp_result result);

/* Messages of the library on standard error. */
void receive_log(void *context, rp_log_level level, const char *message);

#endif
