#include "nonsmooth/problem.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

void NS(problem_axes)(const double *normal, double axes[RP_DIM][3])
{
    memcpy(axes[0], normal, 3 * sizeof(double));
#if RP_DIM == 3
    rp__vec3 n = rp__vec3_load(normal), e = { 0, 0, 0 };
    if (fabs(n.x) <= fabs(n.y) && fabs(n.x) <= fabs(n.z))
        e.x = 1;
    else if (fabs(n.y) <= fabs(n.z))
        e.y = 1;
    else
        e.z = 1;
    rp__vec3 t = rp__vec3_cross(n, e);
    t = rp__vec3_scale(1 / rp__vec3_norm(t), t);
    rp__vec3_store(axes[1], t);
    rp__vec3_store(axes[2], rp__vec3_cross(n, t));
#else
    axes[1][0] = -normal[1], axes[1][1] = normal[0], axes[1][2] = 0;
#endif
}

static void stress_column(const ns_problem *p, int64_t i, ns_column *c)
{
    const ns_system *y = p->y;
    int64_t block = i / RP_BLOCK_NODES;
    int base = ns_tile_of_local((int)(i % RP_BLOCK_NODES));
    double tensor[NS_S][RP_DIM * RP_DIM];
    for (int k = 0; k < NS_S; k++) {
        double e[NS_S] = { 0 };
        e[k] = 1;
        ns_tensor_of(y, i, e, tensor[k]);
    }
    for (int n = 0; n < y->stencil; n++) {
        int64_t j = ns_tile_node(y, block, base + y->offset[n]);
        if (j < 0 || y->stick[j] || !(y->scale[j] > 0))
            continue;
        const double *g = y->g + (i * y->stencil + n) * RP_DIM;
        for (int a = 0; a < RP_DIM; a++) {
            c->at[c->count] = RP_DIM * j + a;
            for (int k = 0; k < NS_S; k++) {
                double sum = 0;
                for (int b = 0; b < RP_DIM; b++)
                    sum += tensor[k][a * RP_DIM + b] * g[b];
                c->h[c->count][k] = sum;
            }
            c->count++;
        }
    }
}

static void surface_column(const ns_problem *p, int64_t index, ns_column *out)
{
    const ns_system *y = p->y;
    const ns_contact *c = &y->contacts[index];
    int64_t block = c->node / RP_BLOCK_NODES;
    int base = ns_tile_of_local((int)(c->node % RP_BLOCK_NODES));
    double axes[RP_DIM][3], largest = 0;
    NS(problem_axes)(c->normal, axes);
    for (int n = 0; n < c->count; n++) {
        int64_t j = ns_tile_node(y, block, base + (n & 1) + NS_TILE_SIDE * ((n >> 1 & 1) + NS_TILE_SIDE * (n >> 2)));
        if (j < 0 || c->share[n] == 0)
            continue;
        largest = fmax(largest, fabs(c->share[n]));
        for (int a = 0; a < RP_DIM; a++) {
            out->at[out->count] = RP_DIM * j + a;
            for (int k = 0; k < NS_S; k++)
                out->h[out->count][k] = k < RP_DIM ? p->unit * c->share[n] * axes[k][a] : 0;
            out->count++;
        }
    }
    if (c->free_body >= 0) {
        const double *root = p->root + 36 * c->free_body;
        rp__vec3 arm = rp__vec3_sub(rp__vec3_load(c->place), p->world->bodies[c->free_body].pose.position);
        double lever[RP_DIM][6];
        for (int k = 0; k < RP_DIM; k++) {
            memcpy(lever[k], axes[k], 3 * sizeof(double));
            rp__vec3_store(lever[k] + 3, rp__vec3_cross(arm, rp__vec3_load(axes[k])));
        }
        for (int r = 0; r < 6; r++) { /* u = ... - lever V = ... + lever L v */
            out->at[out->count] = p->nodes + 6 * c->free_body + r;
            for (int k = 0; k < NS_S; k++) {
                double sum = 0;
                for (int s = 0; s < 6 && k < RP_DIM; s++)
                    sum += lever[k][s] * root[6 * s + r];
                out->h[out->count][k] = p->unit * sum;
            }
            out->count++;
        }
    }
    for (int k = RP_DIM; k < NS_S; k++) {
        out->at[out->count] = p->nodes + 6 * (int64_t)p->world->body_count + (NS_S - RP_DIM) * index + k - RP_DIM;
        for (int l = 0; l < NS_S; l++)
            out->h[out->count][l] = l == k ? p->unit * largest : 0;
        out->count++;
    }
}

void NS(problem_column)(const ns_problem *p, int64_t contact, ns_column *c)
{
    c->count = 0;
    if (contact < p->stresses)
        stress_column(p, p->stress[contact], c);
    else
        surface_column(p, contact - p->stresses, c);
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

static void add_column(const ns_column *c, int k, double factor, double *v)
{
    for (int n = 0; n < c->count; n++)
        v[c->at[n]] += factor * c->h[n][k];
}

/* Velocities at the start: u* with what cohesion and adhesion pull. */
static void make_start(ns_problem *p)
{
    const ns_system *y = p->y;
    ns_column c;
    for (int64_t j = 0; j < p->nodes / RP_DIM; j++)
        for (int a = 0; a < RP_DIM; a++)
            p->f[RP_DIM * j + a] = y->scale[j] > 0 && !y->stick[j] ? ns_velocity(y, j)[a] / y->scale[j] : 0;
    for (int64_t i = 0; i < p->stresses; i++) {
        const ns_stress *s = &y->stress[p->stress[i]];
        p->mu[i] = s->mu;
        p->w[i * NS_S] = 2 * s->k;
        if (s->cohesion == 0)
            continue;
        NS(problem_column)(p, i, &c);
        add_column(&c, 0, -s->cohesion, p->f);
    }
    for (int64_t i = 0; i < y->contact_count; i++) {
        const ns_contact *s = &y->contacts[i];
        double axes[RP_DIM][3], *w = p->w + (p->stresses + i) * NS_S;
        NS(problem_axes)(s->normal, axes);
        p->mu[p->stresses + i] = isinf(s->mu) ? 1e3 : s->mu;
        rp__vec3 surface = rp__vec3_load(s->target);
        if (s->free_body >= 0) {
            rp__vec3 arm = rp__vec3_sub(rp__vec3_load(s->place), p->world->bodies[s->free_body].pose.position);
            const double *body = y->body_velocity + 6 * s->free_body;
            surface = rp__vec3_add(rp__vec3_load(body), rp__vec3_cross(rp__vec3_load(body + 3), arm));
        }
        for (int k = 0; k < RP_DIM; k++)
            w[k] = p->unit * ((k == 0 ? s->gap : 0) - rp__vec3_dot(surface, rp__vec3_load(axes[k])));
        if (s->adhesion > 0) {
            NS(problem_column)(p, p->stresses + i, &c);
            add_column(&c, 0, -s->adhesion / (p->dt * p->unit), p->f);
        }
    }
}

void NS(problem_free)(ns_problem *p)
{
    void *all[] = { p->stress, p->block_first, p->root, p->f, p->v, p->w, p->mu };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rp__base_free(all[i]);
    memset(p, 0, sizeof *p);
}

rp_result NS(problem_make)(ns_system *y, const rp__world *world, double dt, ns_problem *p)
{
    memset(p, 0, sizeof *p);
    if (y->law == NS_LAW_LINEARISED)
        return rp__base_fail(RP_UNSUPPORTED, "the friction library solves Coulomb's law; yield: linearised is another one");
    p->y = y, p->world = world, p->dt = dt;
    p->unit = pow(y->lattice.h, RP_DIM - 1);
    for (int64_t b = 0; b < y->grid.blocks; b++)
        p->stresses += __builtin_popcountll(y->active[b]);
    p->contacts = p->stresses + y->contact_count;
    p->nodes = (int64_t)y->grid.blocks * RP_BLOCK_NODES * RP_DIM;
    p->size = p->nodes + 6 * (int64_t)world->body_count + (NS_S - RP_DIM) * y->contact_count;
    p->stress = RP_NEW_ARRAY(int64_t, p->stresses + 1);
    p->block_first = RP_NEW_ARRAY(int64_t, y->grid.blocks + 1);
    p->root = rp__base_alloc_zero((36 * (size_t)world->body_count + 1) * sizeof(double));
    p->f = rp__base_alloc_zero(((size_t)p->size + 1) * sizeof(double));
    p->v = rp__base_alloc_zero(((size_t)p->size + 1) * sizeof(double));
    p->w = rp__base_alloc_zero(((size_t)p->contacts * NS_S + 1) * sizeof(double));
    p->mu = rp__base_alloc_zero(((size_t)p->contacts + 1) * sizeof(double));
    if (!p->stress || !p->block_first || !p->root || !p->f || !p->v || !p->w || !p->mu) {
        NS(problem_free)(p);
        return RP_OUT_OF_MEMORY;
    }
    int64_t at = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++) {
        p->block_first[b] = at;
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1)
            p->stress[at++] = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
    }
    p->block_first[y->grid.blocks] = at;
    for (int k = 0; k < world->body_count; k++)
        factor_root(y->body_inverse + 36 * k, dt, p->root + 36 * k);
    make_start(p);
    return RP_OK;
}
