/* Threads on a machine that others use too. */
#ifndef REPOSE_APPS_THREADS_H
#define REPOSE_APPS_THREADS_H

#include <stdbool.h>

/* Threads that wait give the core back after a short while instead of turning round for ever: on a busy machine two threads were ten
 * times slower than one. The OpenMP runtimes read this from the environment before main begins, so the program starts itself once more;
 * what the user has set stays. Returns when there is nothing to do or it cannot be done. */
void wait_passively(char **argv);

/* How many threads to use: as asked; or, for 0, the cores that are not busy with other work, at least one. Says so unless quiet when
 * these are fewer than there are. Never changes a result. */
int threads_to_use(int asked, bool quiet);

#endif
