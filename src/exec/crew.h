/* Threads that help with short loops: they stay awake between one loop and the next, and nobody waits for one that did not begin. */
#ifndef RP_EXEC_CREW_H
#define RP_EXEC_CREW_H

#include <stdbool.h>

/* `helpers` threads for the calling one, until it gives them back; false: another thread has them. */
bool rp__exec_crew_take(int helpers);
void rp__exec_crew_give_back(void);

/* Calls work(context, 0) here and work(context, k), 1 <= k <= helpers, on each helper that comes before that one ends; done when all that began have
 * ended. The call here must do what nobody else does. */
void rp__exec_crew_do(void (*work)(void *context, int worker), void *context);

/* One turn of waiting for another thread, the turns counted in *turns: awake at first, then the core is offered to others. */
void rp__exec_crew_wait(int *turns);

#endif
