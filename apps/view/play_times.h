/* Milliseconds of the parts of a frame, by the wall clock and of the processors. */
#ifndef REPOSE_APPS_VIEW_PLAY_TIMES_H
#define REPOSE_APPS_VIEW_PLAY_TIMES_H

#include <stdint.h>

typedef struct play_part {
    double wall, work;         /* sums [ms]; work is that of all threads of the program */
    double last;               /* wall [ms] */
    int64_t count;
} play_part;

typedef struct play_times {
    play_part step, fine, pack;
} play_times;

typedef struct play_clock {
    double wall, work;
} play_clock;

play_clock play_clock_start(void);
void play_clock_stop(const play_clock *begin, play_part *part);

#endif
