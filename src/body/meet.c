#include "body/meet.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { SETTLE = 200 };     /* visits at most before a solve; they are many times cheaper than one of all grains */
#define SETTLED 1e-8       /* of the impulses: what the last visit may still have changed */

static void make_side(rp__body_meeting *c, int side, const rp__body *bodies, const rp__body_touch *t, const double *inverse, int dim)
{
    const rp__body *body = &bodies[c->body[side]];
    rp__vec3 arm = rp__body_arm(body, t->point);
    for (int k = 0; k < dim; k++) {
        rp__vec3 axis = rp__vec3_scale(side ? -1 : 1, t->axis[k]);
        double *row = c->lever[side][k];
        rp__vec3_store(row, axis);
        rp__vec3_store(row + 3, rp__vec3_cross(arm, axis));
        for (int r = 0; r < 6; r++)
            for (int s = 0; s < 6; s++)
                c->pushed[side][k][r] += inverse[36 * c->body[side] + 6 * r + s] * row[s];
    }
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            for (int r = 0; r < 6; r++)
                c->block[i * dim + j] += c->lever[side][i][r] * c->pushed[side][j][r];
}

static bool make_meeting(rp__body_meeting *c, const rp__body *bodies, const rp__body_touch *t, const double *inverse, int dim, double dt)
{
    double trace = 0;
    memset(c, 0, sizeof *c);
    c->body[0] = t->a, c->body[1] = t->b, c->mu = t->mu;
    for (int k = 0; k < dim; k++)
        c->other[k] = -rp__vec3_dot(t->surface, t->axis[k]);
    make_side(c, 0, bodies, t, inverse, dim);
    if (t->b != RP__BODY_WORLD && rp__body_is_moved(&bodies[t->b]))
        make_side(c, 1, bodies, t, inverse, dim);
    c->other[0] += t->distance > 0 ? t->distance / dt : 0;
    for (int k = 0; k < dim; k++)
        trace += c->block[k * dim + k];
    for (int k = 0; k < dim; k++) /* a joint may leave directions without any motion: keep the block regular */
        c->block[k * dim + k] += 1e-8 * trace;
    return dim == 2 ? rp__friction_factorise_c2(&c->factor.plane, c->block) : rp__friction_factorise_c3(&c->factor.space, c->block);
}

rp_result rp__body_find_meetings(rp__body_meetings *m, const rp__body *bodies, int count, const rp__body_room *room, const double *inverse, double dt)
{
    m->count = m->touches.count = 0;
    m->dim = room->dim;
    RP_TRY(rp__body_find_touches(bodies, count, room, dt, &m->touches));
    if (!rp__base_grow(&m->all, &m->capacity, m->touches.count, sizeof *m->all))
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < m->touches.count; i++)
        m->count += make_meeting(&m->all[m->count], bodies, &m->touches.all[i], inverse, room->dim, dt);
    return RP_OK;
}

void rp__body_free_meetings(rp__body_meetings *m)
{
    rp__base_free(m->all);
    rp__base_free(m->touches.all);
    memset(m, 0, sizeof *m);
}

/* V += W J^T r of one contact. */
static void push(const rp__body_meeting *c, int dim, const double *r, double *velocity)
{
    for (int side = 0; side < 2 && c->body[side] != RP__BODY_WORLD; side++)
        for (int k = 0; k < dim; k++)
            for (int s = 0; s < 6; s++)
                velocity[6 * c->body[side] + s] += c->pushed[side][k][s] * r[k];
}

static double visit(rp__body_meeting *c, int dim, double *velocity, double beta, bool apply)
{
    double b[3], from[3], to[3], change[3], square = 0;
    for (int k = 0; k < dim; k++)
        from[k] = c->impulse[k] + beta * (c->impulse[k] - c->previous[k]);
    for (int k = 0; k < dim; k++) {
        b[k] = c->other[k];
        for (int side = 0; side < 2 && c->body[side] != RP__BODY_WORLD; side++)
            for (int s = 0; s < 6; s++)
                b[k] += c->lever[side][k][s] * velocity[6 * c->body[side] + s];
        for (int j = 0; j < dim; j++)
            b[k] -= c->block[k * dim + j] * from[j];
    }
    if (dim == 2)
        rp__friction_solve_c2(&c->factor.plane, b, c->mu, to);
    else
        rp__friction_solve_c3(&c->factor.space, b, c->mu, to);
    for (int k = 0; k < dim; k++) {
        change[k] = to[k] - from[k];
        square += change[k] * change[k];
    }
    if (!apply)
        return square;
    memcpy(c->previous, c->impulse, sizeof c->impulse);
    memcpy(c->impulse, to, (size_t)dim * sizeof *to);
    push(c, dim, change, velocity);
    return square;
}

double rp__body_visit_meetings(rp__body_meetings *m, double *velocity, double beta, bool apply, double *squares)
{
    double most = 0;
    for (int64_t i = 0; i < m->count; i++) {
        double square = visit(&m->all[i], m->dim, velocity, beta, apply);
        *squares += square;
        most = square > most ? square : most;
    }
    return most;
}

void rp__body_settle_meetings(rp__body_meetings *m, double *velocity)
{
    for (int k = 0; k < SETTLE && m->count; k++) {
        double squares = 0, size = 0;
        rp__body_visit_meetings(m, velocity, 0, true, &squares);
        for (int64_t i = 0; i < m->count; i++)
            for (int a = 0; a < m->dim; a++)
                size += m->all[i].impulse[a] * m->all[i].impulse[a];
        if (!(squares > SETTLED * SETTLED * size))
            break;
    }
    for (int64_t i = 0; i < m->count; i++)
        memcpy(m->all[i].previous, m->all[i].impulse, sizeof m->all[i].impulse);
}

void rp__body_push_meetings(const rp__body_meetings *m, double *velocity)
{
    for (int64_t i = 0; i < m->count; i++)
        push(&m->all[i], m->dim, m->all[i].impulse, velocity);
}

void rp__body_keep_meetings(rp__body_meetings *m, bool keep)
{
    for (int64_t i = 0; i < m->count; i++) {
        rp__body_meeting *c = &m->all[i];
        memcpy(keep ? c->kept : c->impulse, keep ? c->impulse : c->kept, sizeof c->impulse);
    }
}
