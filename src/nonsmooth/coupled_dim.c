/* Friction and viscosity at once: u = K^-1 (u* + H lambda) with K = 1 + dt M^-1 A, in place of K^-1 u* + H lambda.
 *
 * With ubar = K^-1 u* and q = H lambda (contacts and cohesion with it) that is u = (ubar - q + K^-1 q) + q: friction with the free velocity
 * in brackets. So rounds of one linear solve and one friction solve by the sweeps,
 *
 *     q <- H lambda of the friction problem with the free velocity ubar - p + K^-1 p,     p = q + beta (q - last q),
 *
 * are forward-backward steps of length one on the convex problem that Cadoux's scheme has inside; K >= 1 in the metric of the mass, so the
 * step is never too long, and the sliding speeds of the law go along as they do in that scheme. beta is Nesterov's, dropped when q turns
 * back. At the fixed point the two solves agree: nothing is split. */
#include "nonsmooth/system.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 200 };

typedef struct vectors {
    double *bar, *free_velocity, *q, *last, *body;
    int64_t n;
} vectors;

/* y->u <- ubar - p + K^-1 p. */
static rp_result forward(ns_system *y, vectors *v, double beta, int64_t *linear)
{
    for (int64_t i = 0; i < v->n; i++)
        y->u[i] = v->free_velocity[i] = v->q[i] + beta * (v->q[i] - v->last[i]);
    RP_TRY(NS(viscosity)(y, linear));
    for (int64_t i = 0; i < v->n; i++)
        y->u[i] = v->free_velocity[i] = v->bar[i] - v->free_velocity[i] + y->u[i];
    return RP_OK;
}

static rp_result rounds_of(ns_system *y, const rp__world *world, double dt, vectors *v, ns_report *report, int64_t *rounds)
{
    double t = 1, beta = 0;
    int64_t sweeps = 0, linear = 0;
    size_t bodies = 6 * (size_t)world->body_count * sizeof(double);
    /* What friction cannot tell from rest, times the size of a cell's mass, is close enough. */
    double enough = y->params->tolerance * y->fall * dt / y->lattice.h;
    memcpy(v->bar, y->u, (size_t)v->n * sizeof(double));
    for (*rounds = 1; *rounds <= MOST_ROUNDS; (*rounds)++) {
        RP_TRY(forward(y, v, beta, &linear));
        if (bodies)
            memcpy(y->body_velocity, v->body, bodies);
        RP_TRY(NS(solve)(y, world, dt, report));
        sweeps += report->iterations;
        double square = 0, turned = 0;
        int64_t count = 0;
        for (int64_t i = 0; i < v->n; i++) {
            double now = y->u[i] - v->free_velocity[i], step = now - v->q[i];
            square += step * step;
            turned += step * (v->q[i] - v->last[i]);
            count += now != 0;
            v->last[i] = v->q[i];
            v->q[i] = now;
        }
        if (sqrt(square) <= enough * sqrt((double)(count > 0 ? count : 1)))
            break;
        if (turned < 0)
            t = 1;
        double next = 0.5 * (1 + sqrt(1 + 4 * t * t));
        beta = (t - 1) / next;
        t = next;
    }
    report->iterations = sweeps;
    if (*rounds > MOST_ROUNDS) {
        *rounds = MOST_ROUNDS;
        report->converged = false;
    }
    return RP_OK;
}

rp_result NS(solve_coupled)(ns_system *y, const rp__world *world, double dt, ns_report *report, int64_t *rounds)
{
    int64_t n = (int64_t)y->grid.blocks * RP_BLOCK_NODES * NS_PAD, bodies = 6 * (int64_t)world->body_count;
    vectors v = { RP_NEW_ARRAY(double, n), RP_NEW_ARRAY(double, n), rp__base_alloc_zero((size_t)n * sizeof(double) + 1),
                  rp__base_alloc_zero((size_t)n * sizeof(double) + 1), RP_NEW_ARRAY(double, bodies + 1), n };
    rp_result result = v.bar && v.free_velocity && v.q && v.last && v.body ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK && bodies)
        memcpy(v.body, y->body_velocity, (size_t)bodies * sizeof(double));
    if (result == RP_OK)
        result = rounds_of(y, world, dt, &v, report, rounds);
    void *all[] = { v.bar, v.free_velocity, v.q, v.last, v.body };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        rp__base_free(all[k]);
    return result;
}
