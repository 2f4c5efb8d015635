#include "base/timer.h"

#include <string.h>
#include <time.h>

double rp__base_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void rp__phases_clear(rp__phases *phases)
{
    memset(phases->seconds, 0, sizeof phases->seconds);
}

void rp__phases_add(rp__phases *phases, const char *name, double seconds)
{
    int i = 0;
    while (i < phases->count && strcmp(phases->name[i], name) != 0)
        i++;
    if (i == phases->count) {
        if (i == RP_MAX_PHASES)
            return;
        phases->name[phases->count++] = name;
        phases->seconds[i] = 0;
    }
    phases->seconds[i] += seconds;
}
