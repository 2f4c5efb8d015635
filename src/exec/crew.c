/* The crew. A loop is posted as a task with a ticket; helpers look for a new ticket, awake for some ten microseconds, then between turns of
 * others, then asleep. Who comes counts itself in before it looks at the task, and the caller takes the task away before it looks who is in: so
 * either the helper finds none, or the caller waits until it has left. All four are sequentially consistent. */
#include "exec/crew.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { AWAKE = 1000, OFFERED = 50 }; /* turns of waiting: awake, then with the core offered to others */

typedef struct task {
    void (*work)(void *context, int worker);
    void *context;
} task;

static struct {
    atomic_bool taken;
    int threads;                  /* that were made */
    atomic_int wanted;            /* of them, by the one who has the crew */
    atomic_uint ticket;
    _Atomic(const task *) posted;
    atomic_int inside, asleep;
    pthread_mutex_t lock;
    pthread_cond_t come;
    bool watched;                 /* forget_crew is known to fork() */
} crew = { .lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER };

void rp__exec_crew_wait(int *turns)
{
    if (++*turns > AWAKE) {
        sched_yield();
        return;
    }
#if defined(__SSE__)
    _mm_pause();
#endif
}

static void sleep_until(unsigned seen)
{
    pthread_mutex_lock(&crew.lock);
    atomic_fetch_add(&crew.asleep, 1);
    while (atomic_load(&crew.ticket) == seen)
        pthread_cond_wait(&crew.come, &crew.lock);
    atomic_fetch_sub(&crew.asleep, 1);
    pthread_mutex_unlock(&crew.lock);
}

static void *help(void *context)
{
    int number = (int)(intptr_t)context, turns = 0;
    unsigned seen = 0;
    for (;;) {
        unsigned ticket = atomic_load(&crew.ticket);
        bool mine = number <= atomic_load(&crew.wanted);
        if (ticket == seen || !mine) {
            if (turns < AWAKE + OFFERED && mine)
                rp__exec_crew_wait(&turns);
            else
                sleep_until(ticket);
            continue;
        }
        seen = ticket, turns = 0;
        atomic_fetch_add(&crew.inside, 1);
        const task *t = atomic_load(&crew.posted);
        if (t)
            t->work(t->context, number);
        atomic_fetch_sub(&crew.inside, 1);
    }
    return NULL;
}

/* A new process has the calling thread alone. */
static void forget_crew(void)
{
    static const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t come = PTHREAD_COND_INITIALIZER;
    crew.threads = 0;
    atomic_store(&crew.inside, 0);
    atomic_store(&crew.asleep, 0);
    crew.lock = lock, crew.come = come;
}

/* Signals are for the threads of the program. */
static void make_threads(int count)
{
    sigset_t all, before;
    pthread_attr_t detached;
    if (!crew.watched && pthread_atfork(NULL, NULL, forget_crew) != 0)
        return;
    crew.watched = true;
    if (pthread_attr_init(&detached) != 0)
        return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (pthread_t thread; crew.threads < count; crew.threads++)
        if (pthread_create(&thread, &detached, help, (void *)(intptr_t)(crew.threads + 1)) != 0)
            break; /* fewer will do */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

bool rp__exec_crew_take(int helpers)
{
    if (atomic_exchange(&crew.taken, true))
        return false;
    if (crew.threads < helpers)
        make_threads(helpers);
    atomic_store(&crew.wanted, helpers);
    return true;
}

void rp__exec_crew_give_back(void)
{
    atomic_store(&crew.taken, false);
}

void rp__exec_crew_do(void (*work)(void *context, int worker), void *context)
{
    const task t = { work, context };
    atomic_store(&crew.posted, &t);
    atomic_fetch_add(&crew.ticket, 1);
    if (atomic_load(&crew.asleep) > 0) {
        pthread_mutex_lock(&crew.lock);
        pthread_cond_broadcast(&crew.come);
        pthread_mutex_unlock(&crew.lock);
    }
    work(context, 0);
    atomic_store(&crew.posted, NULL);
    for (int turns = 0; atomic_load(&crew.inside) > 0;)
        rp__exec_crew_wait(&turns);
}
