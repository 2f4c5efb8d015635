/* Contacts of free bodies through the friction library, in dimension 3 (2 in 2D).
 *
 * Points on the surface of one body are held against the distance of the other. With the velocities v of all bodies,
 *
 *   u_i = J_i v + w_i,   v = v* + M^-1 sum_j J_j^T r_j,   (u_i, r_i) in Coulomb's law with mu_i,
 *
 * w_i = d_i / dt along the normal where they are apart (so much may be closed in the step). Overlaps are taken away by a second
 * problem of the same form without friction, whose velocities move the bodies in this step and are then forgotten: they would
 * fly apart else. W_ij = sum of J_ik W_k J_jk^T over the bodies k that i and j share, W_k the 6 x 6 inverse mass with the joint applied. */
#include "body/contacts.h"

#include "base/error.h"
#include "base/memory.h"

#include <repose/friction.h>
#include <math.h>
#include <string.h>

#define SLOP 0.004     /* overlap left alone, a part of the radius: bodies at rest stay at rest */
#define PUSH 0.1       /* part of the rest of it that is taken away in a step */
#define PUSH_SPEED 0.5 /* m/s at most */

typedef rp__body_touch touch;

/* Row k of J for body `body` (+1 for a, -1 for b): the axis, and the arm times it. */
static void row(const touch *t, const rp__body *bodies, int body, int k, double j[6])
{
    double sign = body == t->a ? 1 : -1;
    rp__vec3 axis = rp__vec3_scale(sign, t->axis[k]);
    rp__vec3_store(j, axis);
    rp__vec3_store(j + 3, rp__vec3_cross(rp__vec3_sub(t->point, bodies[body].pose.position), axis));
}

/* block += J_i W J_j^T over one body. */
static void add_block(const touch *ti, const touch *tj, const rp__body *bodies, int body, const double *w, int dim, double *block)
{
    for (int m = 0; m < dim; m++) {
        double j[6], wj[6];
        row(tj, bodies, body, m, j);
        for (int r = 0; r < 6; r++) {
            wj[r] = 0;
            for (int s = 0; s < 6; s++)
                wj[r] += w[6 * r + s] * j[s];
        }
        for (int k = 0; k < dim; k++) {
            row(ti, bodies, body, k, j);
            for (int r = 0; r < 6; r++)
                block[k * dim + m] += j[r] * wj[r];
        }
    }
}

typedef struct problem {
    int64_t *first;
    int32_t *column;
    double *blocks, *b, *mu, *r, *inverse;
} problem;

static void release(problem *p)
{
    rp__base_free(p->first);
    rp__base_free(p->column);
    rp__base_free(p->blocks);
    rp__base_free(p->b);
    rp__base_free(p->mu);
    rp__base_free(p->r);
    rp__base_free(p->inverse);
}

static bool reserve(problem *p, int64_t n, int bodies, int dim)
{
    p->first = RP_NEW_ARRAY(int64_t, n + 1);
    p->column = RP_NEW_ARRAY(int32_t, n * n);
    p->blocks = RP_NEW_ARRAY(double, n * n * dim * dim);
    p->b = RP_NEW_ARRAY(double, n * dim);
    p->mu = RP_NEW_ARRAY(double, n);
    p->r = RP_NEW_ARRAY(double, n * dim);
    p->inverse = RP_NEW_ARRAY(double, 36 * bodies);
    return p->first && p->column && p->blocks && p->b && p->mu && p->r && p->inverse;
}

/* Velocity of the touch along its axes without any contact impulse, the distance added along the normal. */
static void free_velocity(const touch *t, const rp__body *bodies, int dim, double dt, double *b)
{
    rp__vec3 v = rp__body_velocity_at(&bodies[t->a], t->point);
    if (t->b != RP__BODY_WORLD)
        v = rp__vec3_sub(v, rp__body_is_moved(&bodies[t->b]) ? rp__body_velocity_at(&bodies[t->b], t->point) : t->surface);
    for (int k = 0; k < dim; k++)
        b[k] = rp__vec3_dot(v, t->axis[k]);
    b[0] += t->distance > 0 ? t->distance / dt : 0;
}

/* How deep they overlap beyond what is left alone; 0 or less. */
static double overlap(const touch *t, const rp__body *bodies)
{
    return fmin(t->distance + SLOP * bodies[t->a].radius, 0);
}

/* The second problem: overlaps open at a bounded speed, and nothing closes by more than its distance. */
static bool assemble_overlaps(problem *p, const touch *t, int64_t n, const rp__body *bodies, int dim, double dt)
{
    bool any = false;
    for (int64_t i = 0; i < n; i++) {
        double deep = overlap(&t[i], bodies);
        memset(p->b + i * dim, 0, (size_t)dim * sizeof *p->b);
        p->b[i * dim] = t[i].distance > 0 ? t[i].distance / dt : fmax(PUSH * deep / dt, -PUSH_SPEED);
        p->mu[i] = 0;
        any |= deep < 0;
    }
    memset(p->r, 0, (size_t)(n * dim) * sizeof *p->r);
    return any;
}

static void assemble(problem *p, const touch *t, int64_t n, const rp__body *bodies, int count, int dim, double dt)
{
    int64_t k = 0;
    for (int b = 0; b < count; b++)
        rp__body_inverse_mass(&bodies[b], p->inverse + 36 * b);
    for (int64_t i = 0; i < n; i++) {
        p->first[i] = k;
        for (int64_t j = 0; j < n; j++) {
            double *block = p->blocks + k * dim * dim;
            bool shared = false;
            memset(block, 0, (size_t)(dim * dim) * sizeof *block);
            const int of[2] = { t[i].a, t[i].b };
            for (int q = 0; q < 2; q++)
                if (of[q] != RP__BODY_WORLD && rp__body_is_moved(&bodies[of[q]]) && (of[q] == t[j].a || of[q] == t[j].b)) {
                    add_block(&t[i], &t[j], bodies, of[q], p->inverse + 36 * of[q], dim, block);
                    shared = true;
                }
            if (!shared)
                continue;
            if (i == j) { /* a joint may leave directions without any motion: keep the block regular */
                double trace = 0;
                for (int a = 0; a < dim; a++)
                    trace += block[a * dim + a];
                for (int a = 0; a < dim; a++)
                    block[a * dim + a] += 1e-8 * trace + 1e-300;
            }
            p->column[k++] = (int32_t)j;
        }
        free_velocity(&t[i], bodies, dim, dt, p->b + i * dim);
        p->mu[i] = t[i].mu;
    }
    p->first[n] = k;
}

static rp_result solve(const problem *p, int64_t n, int dim)
{
    rp_friction_local_def def = rp_default_friction_local_def();
    def.dimension = dim;
    def.contacts = n;
    def.first = p->first, def.column = p->column, def.blocks = p->blocks;
    def.b = p->b, def.mu = p->mu;
    def.asymmetry = 1e-6;
    rp_friction *friction = NULL;
    RP_TRY(rp_friction_create_local(&def, &friction));
    rp_friction_options options = rp_default_friction_options();
    options.solver = RP_FRICTION_GAUSS_SEIDEL;
    options.tolerance = 1e-9;
    options.max_iterations = 2000;
    options.threads = 1;
    rp_result result = rp_friction_solve(friction, &options, p->r, NULL, NULL);
    rp_friction_destroy(friction);
    return result == RP_NOT_CONVERGED ? RP_OK : result; /* the best found keeps them apart as well as can be */
}

/* An impulse on one body: into its velocity, or only into the way it goes in this step. */
static void push(rp__body *body, rp__vec3 point, rp__vec3 impulse, bool lasting)
{
    rp__vec3 v = body->velocity, omega = body->omega;
    rp__body_apply(body, impulse, rp__vec3_cross(rp__vec3_sub(point, body->pose.position), impulse));
    if (lasting)
        return;
    body->shift = rp__vec3_add(body->shift, rp__vec3_sub(body->velocity, v));
    body->turn = rp__vec3_add(body->turn, rp__vec3_sub(body->omega, omega));
    body->velocity = v, body->omega = omega;
}

static void act(rp__body *bodies, const touch *t, const double *r, int dim, bool lasting)
{
    rp__vec3 impulse = { 0, 0, 0 };
    for (int k = 0; k < dim; k++)
        impulse = rp__vec3_axpy(r[k], t->axis[k], impulse);
    push(&bodies[t->a], t->point, impulse, lasting);
    if (t->b != RP__BODY_WORLD)
        push(&bodies[t->b], t->point, rp__vec3_scale(-1, impulse), lasting);
}

rp_result rp__body_contacts_solve(rp__body *bodies, int count, const rp__body_room *room, double dt)
{
    rp__body_touches g = { 0 };
    problem p = { 0 };
    rp_result result = rp__body_find_touches(bodies, count, room, dt, &g);
    if (result == RP_OK && g.count > 0) {
        result = reserve(&p, g.count, count, room->dim) ? RP_OK : RP_OUT_OF_MEMORY;
        if (result == RP_OK) {
            assemble(&p, g.all, g.count, bodies, count, room->dim, dt);
            result = solve(&p, g.count, room->dim);
        }
        for (int64_t i = 0; result == RP_OK && i < g.count; i++)
            act(bodies, &g.all[i], p.r + i * room->dim, room->dim, true);
        if (result == RP_OK && assemble_overlaps(&p, g.all, g.count, bodies, room->dim, dt)) {
            result = solve(&p, g.count, room->dim);
            for (int64_t i = 0; result == RP_OK && i < g.count; i++)
                act(bodies, &g.all[i], p.r + i * room->dim, room->dim, false);
        }
    }
    release(&p);
    rp__base_free(g.all);
    return result;
}
