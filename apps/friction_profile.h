/* Performance profiles of friction solvers: for each solver, the part of the problems solved within a multiple of the best time. */
#ifndef REPOSE_APPS_FRICTION_PROFILE_H
#define REPOSE_APPS_FRICTION_PROFILE_H

#include <repose/friction.h>

typedef struct profile {
    int problems, solver_count;
    rp_friction_solver solvers[RP_FRICTION_SOLVER_COUNT];
    const char *const *names; /* of the problems */
    double *seconds;          /* seconds[problem * solver_count + solver], infinite when not solved */
} profile;

/* A table on standard output: solved, median seconds, how often the fastest. */
void profile_print(const profile *p, double tolerance);

/* DIR/times.csv, profile.csv, profile.md (the table and what it says), profile.svg and profile.png; false with a message when one cannot be written. */
bool profile_write(const profile *p, const char *folder, double tolerance);

#endif
