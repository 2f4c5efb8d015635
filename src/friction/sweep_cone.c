/* One visit of Gauss-Seidel: gather what the others give, solve the contact, tell the others. */
#include "friction/sweep_cone.h"

#include "base/error.h"
#include "base/memory.h"
#include "friction/rolling.h"

#include <math.h>
#include <string.h>

#define D RP_CONE
typedef RP_CONE_NAME(rp__friction_factor) factor_type;

static rp_result make_rolling(const rp_friction *p, rp__friction_sweep *sweep)
{
    rp__friction_rolling_factor *factors = RP_NEW_ARRAY(rp__friction_rolling_factor, p->contacts);
    sweep->factors = factors;
    if (!factors)
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp__friction_sweep_room(p, sweep));
    for (int64_t i = 0; i < p->contacts; i++)
        if (!rp__friction_rolling_factorise(D, &factors[i], p->diagonal + i * D * D))
            return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W cannot be factorised", (long long)i);
    return RP_OK;
}

rp_result RP_CONE_NAME(rp__friction_sweep_make)(const rp_friction *p, rp__friction_sweep *sweep)
{
    if (D != 2 && p->rolling)
        return make_rolling(p, sweep);
    factor_type *factors = RP_NEW_ARRAY(factor_type, p->contacts);
    sweep->factors = factors;
    if (!factors)
        return RP_OUT_OF_MEMORY;
    RP_TRY(rp__friction_sweep_room(p, sweep));
    for (int64_t i = 0; i < p->contacts; i++)
        if (!RP_CONE_NAME(rp__friction_factorise)(&factors[i], p->diagonal + i * D * D))
            return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W cannot be factorised", (long long)i);
    return RP_OK;
}

/* min ½ rᵀ W r + (b + s e_N)ᵀ r over the cone: a few projected gradient steps from the last r are enough inside a sweep. */
static void solve_convex(const rp_friction *p, int64_t i, const double *b, double s, double *r)
{
    const double *w = p->diagonal + i * D * D, norm = p->norm[i], mu = p->mu[i];
    for (int step = 0; step < 12; step++) {
        double x[D], moved = 0, size = 0;
        RP_CONE_NAME(rp__friction_multiply)(w, r, b, x);
        x[0] += s;
        for (int a = 0; a < D; a++)
            x[a] = r[a] - x[a] / norm;
        if (D != 2 && p->rolling)
            rp__friction_rolling_project(D, mu, p->rolling[i], x);
        else
            RP_CONE_NAME(rp__friction_project)(mu, x);
        for (int a = 0; a < D; a++) {
            moved += (x[a] - r[a]) * (x[a] - r[a]);
            size += x[a] * x[a];
            r[a] = x[a];
        }
        if (moved <= 1e-24 * size)
            break;
    }
}

static inline void gather(const rp_friction *p, const rp__friction_run *run, int64_t i, double *restrict u)
{
    for (int a = 0; a < D; a++)
        u[a] = p->b[i * D + a];
    if (p->kind == RP__BLOCKS) {
        for (int64_t k = p->first[i]; k < p->first[i + 1]; k++) {
            const double *restrict w = p->block + k * D * D, *restrict x = run->r + (int64_t)p->column[k] * D;
            for (int a = 0; a < D; a++)
                for (int c = 0; c < D; c++)
                    u[a] += w[a * D + c] * x[c];
        }
    } else if (p->kind == RP__FACTORED) {
        for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++)
            for (int a = 0; a < D; a++)
                u[a] += p->h.value[k * D + a] * run->v[p->h.index[k]];
    } else {
        double wr[D];
        p->callbacks.gather(p->callbacks.context, i, wr);
        for (int a = 0; a < D; a++)
            u[a] += wr[a];
    }
}

static inline void scatter(const rp_friction *p, const rp__friction_run *run, int64_t i, const double *restrict change)
{
    if (p->kind == RP__FACTORED) {
        for (int64_t k = p->y.first[i]; k < p->y.first[i + 1]; k++) {
            double sum = 0;
            for (int a = 0; a < D; a++)
                sum += p->y.value[k * D + a] * change[a];
            run->v[p->y.index[k]] += sum;
        }
    } else if (p->kind == RP__CALLBACKS) {
        p->callbacks.scatter(p->callbacks.context, i, change);
    }
}

/* Less of the way from r to `next`, for a contact that turned back; in the cone again, since r may lie outside of it. */
static inline void damp(const rp_friction *p, const rp__friction_sweep *sweep, int64_t i, const double *restrict r, double *restrict next)
{
    double *way = sweep->way + i * D, turn = 0, part = sweep->part[i];
    for (int a = 0; a < D; a++) {
        double to = next[a] - r[a];
        turn += way[a] * to;
        way[a] = to;
    }
    part = turn < 0 ? fmax(RP_FRICTION_TURNED * part, RP_FRICTION_LEAST_PART) : fmin(RP_FRICTION_ONWARD * part, 1);
    sweep->part[i] = part;
    if (part == 1)
        return;
    for (int a = 0; a < D; a++)
        next[a] = r[a] + part * way[a];
    if (D != 2 && p->rolling)
        rp__friction_rolling_project(D, p->mu[i], p->rolling[i], next);
    else
        RP_CONE_NAME(rp__friction_project)(p->mu[i], next);
}

void RP_CONE_NAME(rp__friction_sweep_visit)(const rp_friction *p, rp__friction_sweep *sweep, const int32_t *items, int64_t begin,
                                            int64_t end)
{
    rp__friction_run *run = sweep->run;
    factor_type *factors = sweep->factors;
    for (int64_t at = begin; at < end; at++) {
        int64_t i = items ? items[at] : at;
        const double *w = p->diagonal + i * D * D;
        double u[D], b[D], next[D], change[D], moved = 0, *r = run->r + i * D;
        gather(p, run, i, u);
        for (int a = 0; a < D; a++) {
            double own = 0;
            for (int c = 0; c < D; c++)
                own += w[a * D + c] * r[c];
            b[a] = u[a] - own;
            next[a] = r[a];
        }
        if (sweep->s)
            solve_convex(p, i, b, sweep->s[i], next);
        else if (D != 2 && p->rolling)
            rp__friction_rolling_solve(D, (rp__friction_rolling_factor *)sweep->factors + i, w, b, p->mu[i], p->rolling[i], next);
        else if (sweep->local == RP_FRICTION_CONTACT_SCALAR)
            RP_CONE_NAME(rp__friction_solve)(&factors[i], b, p->mu[i], next);
        else
            RP_CONE_NAME(rp__friction_contact)(sweep->local, w, b, p->mu[i], next);
        for (int a = 0; a < D; a++)
            moved += (next[a] - r[a]) * (next[a] - r[a]);
        if (sweep->part)
            damp(p, sweep, i, r, next);
        for (int a = 0; a < D; a++) {
            change[a] = next[a] - r[a];
            r[a] = next[a];
        }
        sweep->change[i] = sqrt(moved) * p->norm[i];
        if (moved > 0)
            scatter(p, run, i, change);
    }
}

void RP_CONE_NAME(rp__friction_sweep_move)(const rp_friction *p, rp__friction_sweep *sweep, int64_t i, const double *next)
{
    double change[D], moved = 0, *r = sweep->run->r + i * D;
    for (int a = 0; a < D; a++) {
        change[a] = next[a] - r[a];
        moved += change[a] * change[a];
        r[a] = next[a];
    }
    if (moved > 0)
        scatter(p, sweep->run, i, change);
}
