/* What H and Y = A⁻¹ H do, as the friction library asks for it: it sees W = Hᵀ A⁻¹ H only by this. */
#include "contact/state.h"

#include "exec/exec.h"

#include <string.h>

typedef struct product {
    const rp__contact_system *y;
    const double *r;
    double *velocity, *u;
} product;

static void pull_ball(const rp__contact_system *y, int64_t i, const double *velocity, double *u)
{
    const rp__contact_ball *c = &y->ball[i];
    rp__vec3 dv = { 0, 0, 0 }, s = { 0, 0, 0 }, second = rp__vec3_cross(c->n, c->t);
    for (int e = 0; e < 2; e++) {
        if (y->object[i][e] == NOTHING)
            continue;
        const double *v = velocity + 6 * (int64_t)y->object[i][e];
        dv = e == 0 ? rp__vec3_load(v) : rp__vec3_sub(dv, rp__vec3_load(v));
        s = rp__vec3_axpy(c->radius[e], rp__vec3_load(v + 3), s);
    }
    u[0] = rp__vec3_dot(c->n, dv);
    u[1] = rp__vec3_dot(c->t, dv) - rp__vec3_dot(second, s);
    if (y->dim == 3)
        u[2] = rp__vec3_dot(second, dv) + rp__vec3_dot(c->t, s);
}

void rp__contact_pull(const rp__contact_system *y, int64_t i, const double *velocity, double *u)
{
    double sum[3] = { 0, 0, 0 };
    if (y->is_ball[i]) {
        pull_ball(y, i, velocity, u);
    } else {
        for (int e = 0; e < 2; e++) {
            const rp__contact_column *c = &y->column[i][e];
            if (c->rows == 0) /* a wall, or what cannot move */
                continue;
            const double *v = velocity + c->first;
            for (int r = 0; r < c->rows; r++)
                for (int k = 0; k < 3; k++)
                    sum[k] += c->h[r][k] * v[r];
        }
        for (int k = 0; k < y->dim; k++)
            u[k] = sum[k];
    }
    for (int k = y->dim; k < y->width; k++) {
        u[k] = 0;
        for (int e = 0; e < 2 && y->roll[i].radius > 0; e++)
            if (y->object[i][e] != NOTHING)
                u[k] += (e == 0 ? 1 : -1) * y->roll[i].radius * velocity[6 * (int64_t)y->object[i][e] + (y->dim == 2 ? 5 : 3 + k - y->dim)];
    }
}

/* With P = r_N n + r_t t + r_s (n×t): v += ± P / m, omega += r / I (t r_s - (n×t) r_t), of both ends alike. */
static void push_ball(const rp__contact_system *y, int64_t i, int e, const double *r, double *v)
{
    const rp__contact_ball *c = &y->ball[i];
    rp__vec3 second = rp__vec3_cross(c->n, c->t);
    double softness = c->softness[e], third = y->dim == 3 ? r[2] : 0;
    rp__vec3 p = rp__vec3_axpy(r[0], c->n, rp__vec3_axpy(r[1], c->t, rp__vec3_scale(third, second)));
    rp__vec3 turn = rp__vec3_axpy(third, c->t, rp__vec3_scale(-r[1], second));
    rp__vec3_store(v, rp__vec3_axpy(e == 0 ? softness : -softness, p, rp__vec3_load(v)));
    rp__vec3_store(v + 3, rp__vec3_axpy(y->turning * softness / c->radius[e], turn, rp__vec3_load(v + 3)));
}

void rp__contact_push(const rp__contact_system *y, int64_t i, int e, const double *r, double *velocity)
{
    if (y->is_ball[i]) {
        push_ball(y, i, e, r, velocity + 6 * (int64_t)y->object[i][e]);
    } else {
        const rp__contact_column *c = &y->column[i][e];
        const double *to = y->pool + c->y;
        double *v = velocity + c->y_first, x = r[0], z = r[1], w = y->dim == 3 ? r[2] : 0;
        for (int k = 0; k < c->y_rows; k++)
            v[k] += to[3 * k] * x + to[3 * k + 1] * z + to[3 * k + 2] * w;
    }
    if (y->width == y->dim || y->roll[i].radius == 0)
        return;
    double *spin = velocity + 6 * (int64_t)y->object[i][e] + 3;
    const double *turn = y->roll[i].turn[e];
    for (int a = y->dim == 2 ? 2 : 0; a < 3; a++) {
        double sum = 0;
        for (int k = y->dim; k < y->width; k++)
            sum += turn[3 * a + (y->dim == 2 ? 2 : k - y->dim)] * r[k];
        spin[a] += e == 0 ? sum : -sum;
    }
}

/* The velocities of some objects: each adds up its own contacts, in their order. */
static void push_objects(void *context, int64_t begin, int64_t end, int worker)
{
    product *p = context;
    const rp__contact_system *y = p->y;
    (void)worker;
    memset(p->velocity + y->object_first[begin], 0, (size_t)(y->object_first[end] - y->object_first[begin]) * sizeof(double));
    for (int64_t k = y->touch_first[begin]; k < y->touch_first[end]; k++) {
        int64_t i = y->touching[k] / 2;
        const double *r = p->r + i * y->width;
        if (r[0] != 0 || r[1] != 0 || (y->dim == 3 && r[2] != 0)) /* without an impulse there is no moment */
            rp__contact_push(y, i, y->touching[k] & 1, r, p->velocity);
    }
}

static void pull_range(void *context, int64_t begin, int64_t end, int worker)
{
    product *p = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        rp__contact_pull(p->y, i, p->velocity, p->u + i * p->y->width);
}

void rp__contact_apply(const rp__contact_system *y, const double *r, double *velocity)
{
    product p = { y, r, velocity, NULL };
    rp__exec_for(y->objects, 64, push_objects, &p);
}

static void start(void *context, const double *r)
{
    rp__contact_system *y = context;
    rp__contact_apply(y, r, y->velocity);
}

static void multiply(void *context, const double *r, double *u)
{
    rp__contact_system *y = context;
    product p = { y, r, y->product, u };
    rp__contact_apply(y, r, y->product);
    rp__exec_for(y->count, 256, pull_range, &p);
}

static void gather(void *context, int64_t i, double *u)
{
    rp__contact_system *y = context;
    rp__contact_pull(y, i, y->velocity, u);
}

static void scatter(void *context, int64_t i, const double *change)
{
    rp__contact_system *y = context;
    for (int e = 0; e < 2; e++)
        if (y->object[i][e] != NOTHING)
            rp__contact_push(y, i, e, change, y->velocity);
}

void rp__contact_set_operator(rp__contact_system *y, rp_friction_operator_def *def)
{
    def->dimension = y->width;
    def->contacts = y->count;
    def->diagonal = y->diagonal;
    def->b = y->b;
    def->mu = y->mu;
    def->rolling = y->width > y->dim ? y->rolling : NULL;
    def->context = y;
    def->multiply = multiply, def->start = start, def->gather = gather, def->scatter = scatter;
    def->colors = y->colors;
    def->color_first = y->color_first;
    def->color_items = y->color_items;
}
