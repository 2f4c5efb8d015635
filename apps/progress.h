/* Progress of a long job: a bar with the time left on a terminal, a line now and then elsewhere. */
#ifndef REPOSE_APPS_PROGRESS_H
#define REPOSE_APPS_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
    bool terminal, colour, quiet;
    double begin, last_shown, start_share;
    bool shown;
} progress;

void progress_begin(progress *p, double share, bool quiet); /* share done already, 0 … 1 */
void progress_show(progress *p, double share, const char *text); /* shows it if it is time to */
void progress_end(progress *p);                              /* finishes the line of the bar */

double progress_seconds(void); /* monotonic */

#endif
