/* Wall-clock timers by phase. A method names its phases; the statistics print one column a phase. */
#ifndef RP_BASE_TIMER_H
#define RP_BASE_TIMER_H

#include <stdint.h>

double rp__base_seconds(void); /* monotonic */

enum { RP_MAX_PHASES = 24 };

typedef struct rp__phases {
    const char *name[RP_MAX_PHASES]; /* static strings */
    double seconds[RP_MAX_PHASES];   /* in this step */
    int count;
} rp__phases;

void rp__phases_clear(rp__phases *phases);                                    /* zeroes the times, keeps the names */
void rp__phases_add(rp__phases *phases, const char *name, double seconds);    /* finds or adds the phase */

/* double t = rp__base_seconds(); ...; RP_LAP(phases, "solve", t);  adds the time since t and sets t to now */
#define RP_LAP(phases, name, t)                        \
    do {                                               \
        double rp_now_ = rp__base_seconds();           \
        rp__phases_add((phases), (name), rp_now_ - (t)); \
        (t) = rp_now_;                                 \
    } while (0)

#endif
