/* The only room with threads. What runs where never changes a bit of the result:
 * chunks depend on the data alone, sums are combined in the order of the chunks. */
#ifndef RP_EXEC_EXEC_H
#define RP_EXEC_EXEC_H

#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

/* Threads used by the calls below from this thread (and, inside one of them, what its caller set); 0 = all cores. */
void rp__exec_set_threads(int count);
int rp__exec_threads(void);

/* Called for the range [begin, end) of a chunk. `worker` is in [0, rp__exec_threads()): use it to find scratch
 * memory, never to decide a result. A call from inside a worker runs there alone, under that worker's number. */
typedef void (*rp__exec_fn)(void *context, int64_t begin, int64_t end, int worker);

/* Runs `function` over [0, n) in chunks of `grain` items (chunk k is [k grain, (k+1) grain)). */
void rp__exec_for(int64_t n, int64_t grain, rp__exec_fn function, void *context);

/* Adds `width` numbers of each chunk into partial[] (zeroed before), combined in the order of the chunks. */
typedef void (*rp__exec_sum_fn)(void *context, int64_t begin, int64_t end, double *partial);
enum { RP_EXEC_MAX_WIDTH = 32 };
void rp__exec_sum(int64_t n, int64_t grain, int width, rp__exec_sum_fn function, void *context, double *result);

/* The same with the maximum in place of the sum (partial[] starts at -infinity). */
void rp__exec_max(int64_t n, int64_t grain, int width, rp__exec_sum_fn function, void *context, double *result);

/* Coloured work: items[first[c] .. first[c+1]) may run at once, colours run one after the other.
 * Calls function(context, item, worker). */
typedef void (*rp__exec_item_fn)(void *context, int64_t item, int worker);
void rp__exec_colors(int colors, const int64_t *first, const int32_t *items, int64_t grain, rp__exec_item_fn function,
                     void *context);

/* A team for tight loops (an iterative solver): runs function once on every thread, with barriers inside, which all of the
 * team must meet. Threads take a static share of each loop by worker and size (rp__exec_team_share); nothing computed may
 * depend on which. */
typedef struct rp__exec_team rp__exec_team;
typedef void (*rp__exec_team_fn)(void *context, rp__exec_team *team, int worker);
void rp__exec_team_run(rp__exec_team_fn function, void *context);
void rp__exec_team_barrier(rp__exec_team *team);
int rp__exec_team_size(const rp__exec_team *team);

/* The part [*begin, *end) of [first, last) that a worker takes, in whole grains so that two workers share no cache line. */
void rp__exec_team_share(const rp__exec_team *team, int worker, int64_t first, int64_t last, int64_t grain, int64_t *begin,
                         int64_t *end);

/* Between the two, threads that help with loops and colours of the calling thread stay awake from one to the next, and none that is late is waited
 * for: for steps of many short loops. Teams are as ever. `gathered` is what rp__exec_gather gave: false when the helpers are another's. */
bool rp__exec_gather(void);
void rp__exec_dismiss(bool gathered);

/* While a function is set, the calling thread calls it now and then from inside the loops above: after a chunk or at a barrier, when at
 * least `seconds` have passed since the last time. NULL: never. It must not start a loop. */
typedef void (*rp__exec_tick_fn)(void *context);
void rp__exec_set_tick(rp__exec_tick_fn function, void *context, double seconds);
void rp__exec_tick(void); /* the same from work outside of loops */

/* Sets flush-to-zero on the calling thread (denormals cost a lot near rest) and returns the control word to restore. The calls
 * above do both on every thread they use, so a caller's own arithmetic keeps its denormals. */
unsigned rp__exec_flush_to_zero(void);
void rp__exec_restore(unsigned control);

/* The same for work that goes through loops or past them, as the number of threads has it: it must round alike in both. Gives what the release
 * needs; ticks are called with the caller's own control. */
bool rp__exec_hold_flush(void);
void rp__exec_release_flush(bool held);

#endif
