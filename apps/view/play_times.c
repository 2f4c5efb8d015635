#include "play_times.h"

#include <time.h>

static double milliseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

play_clock play_clock_start(void)
{
    return (play_clock){ milliseconds(CLOCK_MONOTONIC), milliseconds(CLOCK_PROCESS_CPUTIME_ID) };
}

void play_clock_stop(const play_clock *begin, play_part *part)
{
    part->last = milliseconds(CLOCK_MONOTONIC) - begin->wall;
    part->wall += part->last;
    part->work += milliseconds(CLOCK_PROCESS_CPUTIME_ID) - begin->work;
    part->count++;
}
