#include "nonsmooth/problem.h"
#include "nonsmooth/shared.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* sqrt(dt / m_j) */
static double scale_of(const ns_problem *p, int64_t j)
{
    return j >= 0 && p->y->nodes.mass[j] > 1e-300 ? sqrt(p->dt / p->y->nodes.mass[j]) : 0;
}

static void stress_column(const ns_problem *p, int64_t i, ns_column *c)
{
    const dual *y = p->y;
    double tensor[NS_S][RP_DIM * RP_DIM], factor;
    const double *g = du_operator(y, i, &factor);
    for (int k = 0; k < NS_S; k++) {
        double e[NS_S] = { 0 };
        e[k] = 1;
        if (y->law == NS_LAW_ISOTROPIC)
            ns_chi_tensor(e, tensor[k]);
        else
            ns_wide_out(&y->wide[i], e, tensor[k]);
    }
    for (int n = 0; n < NS_STENCIL; n++) {
        int64_t j = du_tile_node(y, i / RP_BLOCK_NODES, du_tile_base((int)(i % RP_BLOCK_NODES)) + y->offset[n]);
        double s = scale_of(p, j) * factor;
        for (int a = 0; a < RP_DIM && s > 0; a++, c->count++) {
            c->at[c->count] = RP_DIM * j + a;
            for (int k = 0; k < NS_S; k++) {
                double sum = 0;
                for (int b = 0; b < RP_DIM; b++)
                    sum += tensor[k][a * RP_DIM + b] * g[n * RP_DIM + b];
                c->h[c->count][k] = s * sum;
            }
        }
    }
}

/* Axes of a row: the normal and what completes it; or the one axis along which it holds. Returns how many count. */
static int axes_of(const du_contact *c, const ns_problem_row *row, double axes[RP_DIM][3])
{
    if (row->axis == NS_COULOMB) {
        ns_contact_axes(c->normal, axes);
        return RP_DIM;
    }
    memset(axes, 0, RP_DIM * sizeof *axes);
    axes[0][row->axis] = row->sign;
    return 1;
}

static void body_columns(const ns_problem *p, const du_contact *c, double axes[RP_DIM][3], ns_column *out)
{
    const double *root = p->root + 36 * c->free_body;
    rp__vec3 arm = rp__body_arm(&p->world->bodies[c->free_body], rp__vec3_load(c->place));
    double lever[RP_DIM][6];
    for (int k = 0; k < RP_DIM; k++)
        ns_lever(axes[k], arm, lever[k]);
    for (int r = 0; r < 6; r++, out->count++) { /* u = ... - lever V = ... + lever L v */
        out->at[out->count] = p->nodes + 6 * c->free_body + r;
        for (int k = 0; k < NS_S; k++) {
            double sum = 0;
            for (int s = 0; s < 6 && k < RP_DIM; s++)
                sum += lever[k][s] * root[6 * s + r];
            out->h[out->count][k] = p->unit * sum;
        }
    }
}

static void surface_column(const ns_problem *p, const ns_problem_row *row, ns_column *out)
{
    const du_contact *c = &p->y->contacts.list[row->contact];
    double axes[RP_DIM][3], largest = 0;
    int count = axes_of(c, row, axes);
    for (int n = 0; n < c->count; n++) {
        int64_t j = du_tile_node(p->y, c->key / RP_BLOCK_NODES, c->at[n]);
        double share = c->share[n] * scale_of(p, j);
        largest = fabs(share) > largest ? fabs(share) : largest;
        for (int a = 0; a < RP_DIM && share != 0; a++, out->count++) {
            out->at[out->count] = RP_DIM * j + a;
            for (int k = 0; k < NS_S; k++)
                out->h[out->count][k] = k < count ? p->unit * share * axes[k][a] : 0;
        }
    }
    if (c->free_body >= 0)
        body_columns(p, c, axes, out);
    for (int k = count; k < NS_S; k++, out->count++) {
        out->at[out->count] = row->pad + k - count;
        for (int l = 0; l < NS_S; l++)
            out->h[out->count][l] = l == k ? p->unit * largest : 0;
    }
}

void NS(problem_column)(const ns_problem *p, int64_t contact, ns_column *c)
{
    c->count = 0;
    if (contact < p->stresses)
        stress_column(p, p->stress[contact], c);
    else
        surface_column(p, &p->row[contact - p->stresses], c);
}

/* A = L L^T; columns of directions that cannot move stay zero. */
static void factor_root(const double *a, double dt, double *l)
{
    memset(l, 0, 36 * sizeof *l);
    for (int j = 0; j < 6; j++) {
        double d = dt * a[7 * j];
        for (int k = 0; k < j; k++)
            d -= l[6 * j + k] * l[6 * j + k];
        if (!(d > 1e-14 * dt * fabs(a[7 * j])))
            continue;
        l[7 * j] = sqrt(d);
        for (int i = j + 1; i < 6; i++) {
            double sum = dt * a[6 * i + j];
            for (int k = 0; k < j; k++)
                sum -= l[6 * i + k] * l[6 * j + k];
            l[6 * i + j] = sum / l[7 * j];
        }
    }
}

/* v += H (r of row), r in the coefficients of the row. */
static void push(const ns_problem *p, int64_t row, const double *r)
{
    ns_column c;
    NS(problem_column)(p, row, &c);
    for (int n = 0; n < c.count; n++)
        for (int k = 0; k < NS_S; k++)
            p->f[c.at[n]] += c.h[n][k] * r[k];
}

/* A stress: its row of mu, w and r; what cohesion, the rounded apex and viscosity do to the start. */
static void stress_row(ns_problem *p, int64_t row)
{
    const dual *y = p->y;
    int64_t i = p->stress[row];
    const du_stress *s = &y->stress[i];
    double n = s->lambda[0] > 0 ? s->lambda[0] : 0, *r = p->r + row * NS_S, start[NS_S] = { 0 };
    double shift = s->apex > 0 ? s->apex * s->apex / (sqrt(n * n + s->apex * s->apex) + n) : 0;
    memcpy(r, s->lambda, sizeof start);
    if (y->law == NS_LAW_ISOTROPIC)
        ns_frame_to_chi(&y->frame[i], s->lambda, r);
    r[0] += shift;
    p->mu[row] = s->mu;
    p->w[row * NS_S] = 2 * (s->k + s->bend);
    start[0] = -(s->cohesion + shift);
    if (y->viscous && y->law == NS_LAW_ISOTROPIC) {
        double chi[NS_S];
        ns_frame_to_chi(&y->frame[i], s->viscous, chi);
        for (int k = 0; k < NS_S; k++)
            start[k] += chi[k];
    } else if (y->viscous) {
        double chi[NS_S];
        ns_wide_from_chi(&y->wide[i], s->viscous, chi);
        for (int k = 0; k < NS_S; k++)
            start[k] += chi[k];
    }
    push(p, row, start);
}

static rp__vec3 free_velocity(const ns_problem *p, const du_contact *c)
{
    const double *v = p->body + 6 * c->free_body;
    rp__vec3 arm = rp__body_arm(&p->world->bodies[c->free_body], rp__vec3_load(c->place));
    return rp__vec3_add(rp__vec3_load(v), rp__vec3_cross(rp__vec3_load(v + 3), arm));
}

static void surface_row(ns_problem *p, int64_t k)
{
    const ns_problem_row *row = &p->row[k];
    const du_contact *s = &p->y->contacts.list[row->contact];
    double axes[RP_DIM][3], *w = p->w + (p->stresses + k) * NS_S, *r = p->r + (p->stresses + k) * NS_S, start[NS_S] = { 0 };
    int count = axes_of(s, row, axes);
    p->mu[p->stresses + k] = row->axis != NS_COULOMB ? 0 : isinf(s->mu) ? 1e3 : s->mu;
    rp__vec3 surface = rp__vec3_load(s->target);
    if (s->free_body >= 0)
        surface = free_velocity(p, s);
    for (int c = 0; c < count; c++) {
        rp__vec3 axis = rp__vec3_load(axes[c]);
        double along = rp__vec3_dot(rp__vec3_load(s->impulse), axis);
        w[c] = p->unit * ((c == 0 && row->axis == NS_COULOMB ? s->gap : 0) - rp__vec3_dot(surface, axis));
        r[c] = (row->axis == NS_COULOMB || along > 0 ? along : 0) / (p->dt * p->unit);
    }
    start[0] = -s->adhesion / (p->dt * p->unit);
    if (s->adhesion > 0)
        push(p, p->stresses + k, start);
}

void NS(problem_free)(ns_problem *p)
{
    void *all[] = { p->stress, p->row, p->root, p->body, p->f, p->w, p->mu, p->r };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rp__base_free(all[i]);
    memset(p, 0, sizeof *p);
}

static bool is_held(const du_contact *c)
{
    return isinf(c->mu) && c->free_body < 0;
}

static void list_rows(ns_problem *p)
{
    const dual *y = p->y;
    int64_t at = 0, row = 0, pad = p->nodes + 6 * (int64_t)p->world->body_count;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1)
            p->stress[at++] = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
    for (int64_t k = 0; k < y->contacts.count; k++) {
        bool held = is_held(&y->contacts.list[k]);
        for (int n = 0; n < (held ? 2 * RP_DIM : 1); n++) {
            p->row[row++] = (ns_problem_row){ .contact = k, .pad = pad, .axis = held ? n / 2 : NS_COULOMB, .sign = n & 1 ? -1 : 1 };
            pad += NS_S - (held ? 1 : RP_DIM);
        }
    }
}

static void fill(ns_problem *p)
{
    const dual *y = p->y;
    const double *g = p->world->def->gravity;
    for (int64_t j = 0; j < p->nodes / RP_DIM; j++)
        for (int a = 0; a < RP_DIM && scale_of(p, j) > 0; a++)
            p->f[RP_DIM * j + a] = (y->nodes.momentum[a][j] / y->nodes.mass[j] + p->dt * g[a]) / scale_of(p, j);
    for (int k = 0; k < p->world->body_count; k++) {
        factor_root(y->contacts.body_inverse + 36 * k, p->dt, p->root + 36 * k);
        rp__vec3_store(p->body + 6 * k, p->world->bodies[k].velocity);
        rp__vec3_store(p->body + 6 * k + 3, p->world->bodies[k].omega);
    }
    rp__body_push_meetings(&y->contacts.meetings, p->body);
    for (int64_t k = 0; k < p->stresses; k++)
        stress_row(p, k);
    for (int64_t k = 0; k < p->contacts - p->stresses; k++)
        surface_row(p, k);
}

rp_result NS(problem_make)(const dual *y, const rp__world *world, double dt, ns_problem *p)
{
    memset(p, 0, sizeof *p);
    if (y->law == NS_LAW_LINEARISED)
        return rp__base_fail(RP_UNSUPPORTED, "the friction library solves Coulomb's law; yield: linearised is another one");
    p->y = y, p->world = world, p->dt = dt;
    p->unit = pow(y->lattice.h, RP_DIM - 1);
    for (int64_t b = 0; b < y->grid.blocks; b++)
        p->stresses += __builtin_popcountll(y->active[b]);
    p->contacts = p->stresses;
    p->nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES * RP_DIM;
    p->size = p->nodes + 6 * (int64_t)world->body_count;
    for (int64_t k = 0; k < y->contacts.count; k++) {
        bool held = is_held(&y->contacts.list[k]);
        p->contacts += held ? 2 * RP_DIM : 1;
        p->size += held ? 2 * RP_DIM * (NS_S - 1) : NS_S - RP_DIM;
    }
    p->stress = RP_NEW_ARRAY(int64_t, p->stresses + 1);
    p->row = RP_NEW_ARRAY(ns_problem_row, p->contacts - p->stresses + 1);
    p->root = rp__base_alloc_zero((36 * (size_t)world->body_count + 1) * sizeof(double));
    p->body = rp__base_alloc_zero((6 * (size_t)world->body_count + 1) * sizeof(double));
    p->f = rp__base_alloc_zero(((size_t)p->size + 1) * sizeof(double));
    p->w = rp__base_alloc_zero(((size_t)p->contacts * NS_S + 1) * sizeof(double));
    p->r = rp__base_alloc_zero(((size_t)p->contacts * NS_S + 1) * sizeof(double));
    p->mu = rp__base_alloc_zero(((size_t)p->contacts + 1) * sizeof(double));
    if (!p->stress || !p->row || !p->root || !p->body || !p->f || !p->w || !p->r || !p->mu) {
        NS(problem_free)(p);
        return RP_OUT_OF_MEMORY;
    }
    list_rows(p);
    fill(p);
    return RP_OK;
}
