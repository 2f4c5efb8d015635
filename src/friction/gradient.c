/* Projected gradient methods. With contact i in the unit |W_ii| (rho_i = 1/|W_ii|), a step is
 *   r <- P_K(r - a rho (u + s e_N)),  s_i = mu_i |u_iT| by De Saxcé's correction at each step, or fixed (inside Cadoux).
 * Scaling a contact by one number maps its cone to itself, so this is a plain projected gradient in better variables. */
#include "friction/solve.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

typedef struct descent {
    rp__friction_run *run;
    const double *fixed;            /* the correction inside Cadoux, or NULL */
    double *s, *g, *next, *next_u, *next_g, *change, *memory;
    double goal;                    /* of the inner problem, in the unit of the mean */
    int64_t limit, done;
} descent;

static bool make(descent *t, rp__friction_run *run, const double *fixed, double goal, int64_t limit)
{
    size_t n = (size_t)run->n, contacts = (size_t)run->p->contacts;
    *t = (descent){ .run = run, .fixed = fixed, .goal = goal, .limit = limit };
    t->memory = rp__base_alloc_zero((5 * n + contacts) * sizeof(double));
    if (!t->memory)
        return false;
    t->g = t->memory;
    t->next = t->g + n;
    t->next_u = t->next + n;
    t->next_g = t->next_u + n;
    t->change = t->next_g + n;
    t->s = t->change + n;
    return true;
}

/* g = u + s e_N */
static void gradient(descent *t, const double *u, double *g)
{
    const rp_friction *p = t->run->p;
    const double *s = t->fixed;
    if (!s) {
        RP__CONE_CALL(p, rp__friction_correction_rows, 0, p->contacts, u, t->s);
        s = t->s;
    }
    memcpy(g, u, (size_t)t->run->n * sizeof(double));
    for (int64_t i = 0; i < p->contacts; i++)
        g[i * p->dimension] += s[i];
}

static void velocities(descent *t, const double *r, double *u)
{
    rp__friction_multiply(t->run->p, r, t->run->v, u);
    for (int64_t i = 0; i < t->run->n; i++)
        u[i] += t->run->p->b[i];
}

/* to = P_K(from - a rho g) */
static void step(descent *t, const double *from, double a, const double *g, double *to)
{
    const rp_friction *p = t->run->p;
    int d = p->dimension;
    for (int64_t i = 0; i < p->contacts; i++) {
        double scaled = a / p->norm[i];
        for (int c = 0; c < d; c++)
            to[i * d + c] = from[i * d + c] - scaled * g[i * d + c];
    }
    RP__CONE_CALL(p, rp__friction_project_rows, 0, p->contacts, to);
}

/* Counts the iteration and looks at the residual of run->r, run->u. True when it is time to return. */
static bool over(descent *t)
{
    rp__friction_run *run = t->run;
    bool go = rp__friction_tick(run);
    t->done++;
    if (!t->fixed)
        return rp__friction_check_u(run) || !go;
    rp__friction_measure m = rp__friction_measure_all(run->p, run->r, run->u, t->fixed);
    double mean = sqrt(m.square / (double)run->p->contacts) / run->p->scale;
    return !go || mean <= t->goal || t->done >= t->limit;
}

static void take(double **a, double **b)
{
    double *swap = *a;
    *a = *b;
    *b = swap;
}

/* Spectral steps without line search [tasora2013]: the step is a Barzilai-Borwein quotient of the last change, the long one, or the
 * short one when the two disagree. A run that blows up goes back to its best with a small step. */
static void spectral(descent *t)
{
    rp__friction_run *run = t->run;
    const rp_friction *p = run->p;
    double a = 0.25;
    gradient(t, run->u, t->g);
    for (;;) {
        step(t, run->r, a, t->g, t->next);
        velocities(t, t->next, t->next_u);
        gradient(t, t->next_u, t->next_g);
        for (int64_t i = 0; i < run->n; i++) {
            t->change[i] = t->next[i] - run->r[i];
            t->g[i] = t->next_g[i] - t->g[i];
        }
        double dd = rp__friction_dot(p, t->change, t->change, 1), dy = rp__friction_dot(p, t->change, t->g, 0);
        double yy = rp__friction_dot(p, t->g, t->g, -1);
        take(&run->r, &t->next);
        take(&run->u, &t->next_u);
        take(&t->g, &t->next_g);
        if (over(t))
            return;
        if (dy > 0) {
            double longer = dd / dy, shorter = dy / yy;
            a = shorter < 0.2 * longer ? shorter : longer;
        } else {
            a = dd > 0 && yy > 0 ? sqrt(dd / yy) : 1;
        }
        a = fmin(fmax(a, 1e-4), 1e4);
        if (!t->fixed && run->merit > 1e6 * run->best_merit) {
            memcpy(run->r, run->best, (size_t)run->n * sizeof(double));
            velocities(t, run->r, run->u);
            gradient(t, run->u, t->g);
            a = 0.1;
        }
    }
}

/* changeᵀ W change <= |change|² / a is what makes a step safe [mazhar2015]; u - b of both ends gives W change. */
static bool too_long(descent *t, const double *from, const double *from_u, double a)
{
    const rp_friction *p = t->run->p;
    for (int64_t i = 0; i < t->run->n; i++) {
        t->change[i] = t->next[i] - from[i];
        t->next_g[i] = t->next_u[i] - from_u[i];
    }
    double dd = rp__friction_dot(p, t->change, t->change, 1), dwd = rp__friction_dot(p, t->change, t->next_g, 0);
    return dwd > dd / a * (1 + 1e-12) && a > 1e-12;
}

static void projected(descent *t)
{
    rp__friction_run *run = t->run;
    double a = 1;
    for (;;) {
        gradient(t, run->u, t->g);
        for (;; a *= 0.5) {
            step(t, run->r, a, t->g, t->next);
            velocities(t, t->next, t->next_u);
            if (!too_long(t, run->r, run->u, a))
                break;
        }
        take(&run->r, &t->next);
        take(&run->u, &t->next_u);
        if (over(t))
            return;
        a *= 1.1;
    }
}

/* Nesterov's acceleration with backtracking and restarts [mazhar2015, algorithm 1]. */
static bool accelerated(descent *t)
{
    rp__friction_run *run = t->run;
    size_t bytes = (size_t)run->n * sizeof(double);
    double *y = rp__base_alloc(bytes), *yu = rp__base_alloc(bytes);
    double a = 1, theta = 1;
    if (!y || !yu) {
        rp__base_free(y);
        rp__base_free(yu);
        return false;
    }
    memcpy(y, run->r, bytes);
    memcpy(yu, run->u, bytes);
    for (;;) {
        gradient(t, yu, t->g);
        for (;; a *= 0.5) {
            step(t, y, a, t->g, t->next);
            velocities(t, t->next, t->next_u);
            if (!too_long(t, y, yu, a))
                break;
        }
        double next_theta = 0.5 * (sqrt(theta * theta * (theta * theta + 4)) - theta * theta);
        double beta = theta * (1 - theta) / (theta * theta + next_theta), uphill = 0;
        for (int64_t i = 0; i < run->n; i++)
            t->change[i] = t->next[i] - run->r[i];
        uphill = rp__friction_dot(run->p, t->g, t->change, 0);
        if (uphill > 0) {
            beta = 0;
            next_theta = 1;
        }
        for (int64_t i = 0; i < run->n; i++) { /* u is linear in r: no product is needed at y */
            y[i] = t->next[i] + beta * t->change[i];
            yu[i] = t->next_u[i] + beta * (t->next_u[i] - run->u[i]);
        }
        theta = next_theta;
        a *= 1.1;
        take(&run->r, &t->next);
        take(&run->u, &t->next_u);
        if (over(t))
            break;
    }
    rp__base_free(y);
    rp__base_free(yu);
    return true;
}

static rp_result descend(rp__friction_run *run, rp_friction_solver which, const double *fixed, double goal, int64_t limit)
{
    descent t;
    if (!make(&t, run, fixed, goal, limit))
        return RP_OUT_OF_MEMORY;
    /* The arrays of the run and of the descent change places on the way; give each back where it came from. */
    double *r = run->r, *u = run->u;
    size_t bytes = (size_t)run->n * sizeof(double);
    velocities(&t, run->r, run->u);
    bool enough = true;
    if (which == RP_FRICTION_SPG)
        spectral(&t);
    else if (which == RP_FRICTION_APGD)
        enough = accelerated(&t);
    else
        projected(&t);
    if (run->r != r) {
        memcpy(r, run->r, bytes);
        run->r = r;
    }
    if (run->u != u) {
        memcpy(u, run->u, bytes);
        run->u = u;
    }
    rp__base_free(t.memory);
    return enough ? RP_OK : RP_OUT_OF_MEMORY;
}

rp_result rp__friction_gradient(rp__friction_run *run, rp_friction_solver which)
{
    return descend(run, which, NULL, 0, 0);
}

rp_result rp__friction_gradient_inner(rp__friction_run *run, rp_friction_solver which, const double *s, double goal, int64_t limit)
{
    return descend(run, which, s, goal, limit);
}
