#define _DEFAULT_SOURCE /* getloadavg */
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void wait_passively(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME"))
        return;
    /* Not at all when every core has work; else some tens of microseconds (gcc's runtime) or a millisecond (clang's). */
    double load[1];
    bool busy = getloadavg(load, 1) == 1 && load[0] > (double)sysconf(_SC_NPROCESSORS_ONLN) - 0.5;
    if (setenv("GOMP_SPINCOUNT", busy ? "0" : "1000", 1) == 0 && setenv("KMP_BLOCKTIME", busy ? "0" : "1", 1) == 0)
        execv("/proc/self/exe", argv);
}

int threads_to_use(int asked, bool quiet)
{
    double load[1];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (asked > 0 || cores < 2 || getloadavg(load, 1) != 1)
        return asked;
    int idle = (int)fmax(1, (double)cores - floor(load[0] + 0.5));
    if (idle >= cores)
        return 0;
    if (!quiet)
        fprintf(stderr, "note: the machine is busy (a load of %.1f on %ld cores), so %d thread%s used; --threads %ld asks for all\n", load[0],
                cores, idle, idle == 1 ? " is" : "s are", cores);
    return idle;
}
