/* Contacts of free bodies with grains and with each other run one after the other, for they share the bodies' velocities. */
#include "nonsmooth/dual.h"
#include "nonsmooth/shared.h"

#include <math.h>
#include <string.h>

static rp__vec3 arm_of(const rp__world *world, const du_contact *c)
{
    return rp__body_arm(&world->bodies[c->free_body], rp__vec3_load(c->place));
}

static void multiply(const double *inverse, const double *l, double *out)
{
    for (int r = 0; r < 6; r++) {
        out[r] = 0;
        for (int s = 0; s < 6; s++)
            out[r] += inverse[6 * r + s] * l[s];
    }
}

static double *node_velocity(const dual *y, const du_contact *c, int n)
{
    int64_t j = du_tile_node(y, c->key / RP_BLOCK_NODES, c->at[n]);
    return y->nodes.u + NS_PAD * j;
}

static double visit(dual *y, const rp__world *world, double dt, double beta, bool apply, du_contact *c)
{
    double axes[RP_DIM][3], levers[RP_DIM][6], pushed[RP_DIM][6], u[3] = { 0 }, change[3] = { 0 };
    double *body = y->contacts.body_velocity + 6 * c->free_body;
    double w[RP_DIM * RP_DIM], b[RP_DIM], from[RP_DIM], to[RP_DIM], square = 0;
    for (int n = 0; n < c->count; n++)
        for (int a = 0; a < RP_DIM && c->share[n] > 0; a++)
            u[a] += c->share[n] * node_velocity(y, c, n)[a];
    ns_contact_axes(c->normal, axes);
    for (int i = 0; i < RP_DIM; i++) {
        ns_lever(axes[i], arm_of(world, c), levers[i]);
        multiply(y->contacts.body_inverse + 36 * c->free_body, levers[i], pushed[i]);
    }
    for (int i = 0; i < RP_DIM; i++) {
        b[i] = i == 0 ? c->gap : 0;
        from[i] = 0;
        for (int a = 0; a < RP_DIM; a++) {
            from[i] += (c->impulse[a] + beta * (c->impulse[a] - c->previous[a])) * axes[i][a];
            b[i] += u[a] * axes[i][a];
        }
        for (int r = 0; r < 6; r++)
            b[i] -= body[r] * levers[i][r];
        for (int j = 0; j < RP_DIM; j++) {
            w[i * RP_DIM + j] = i == j ? 1 / c->mass : 0;
            for (int r = 0; r < 6; r++)
                w[i * RP_DIM + j] += levers[i][r] * pushed[j][r];
        }
    }
    for (int i = 0; i < RP_DIM; i++)
        for (int j = 0; j < RP_DIM; j++)
            b[i] -= w[i * RP_DIM + j] * from[j];
    ns_contact_factor factor;
    if (!NS_FACTORISE(&factor, w))
        return 0;
    NS_SOLVE_CONTACT(&factor, b, isinf(c->mu) ? 1e3 : c->mu, to);
    for (int i = 0; i < RP_DIM; i++)
        square += (to[i] - from[i]) * (to[i] - from[i]);
    if (!apply)
        return square;
    memcpy(c->previous, c->impulse, sizeof c->impulse);
    memset(c->impulse, 0, sizeof c->impulse);
    for (int i = 0; i < RP_DIM; i++) {
        double d = to[i] - from[i];
        for (int a = 0; a < RP_DIM; a++) {
            c->impulse[a] += to[i] * axes[i][a];
            change[a] += d * axes[i][a];
        }
        for (int r = 0; r < 6; r++)
            body[r] -= d * pushed[i][r];
    }
    for (int n = 0; n < c->count; n++)
        if (c->share[n] > 0) {
            double *v = node_velocity(y, c, n);
            for (int a = 0; a < RP_DIM; a++)
                v[a] += c->share[n] * v[3] / dt * change[a];
        }
    return square;
}

double DU(free_contacts)(dual *y, const rp__world *world, double dt, double beta, bool apply, double *squares)
{
    double most = 0, unit = y->lattice.h / (dt * du_power(y->lattice.h));
    for (int64_t k = 0; k < y->contacts.free_count; k++) {
        double square = visit(y, world, dt, beta, apply, &y->contacts.list[y->contacts.free[k]]) * unit * unit;
        *squares += square;
        most = square > most ? square : most;
    }
    double among = 0, largest = rp__body_visit_meetings(&y->contacts.meetings, y->contacts.body_velocity, beta, apply, &among) * unit * unit;
    *squares += among * unit * unit;
    return sqrt(largest > most ? largest : most);
}

/* What the impulses of the start make of the bodies' velocities, and what that does to the contacts between them. */
void DU(start_free)(dual *y, const rp__world *world)
{
    for (int64_t k = 0; k < y->contacts.free_count; k++) {
        const du_contact *c = &y->contacts.list[y->contacts.free[k]];
        double push[3], l[6], v[6];
        for (int a = 0; a < 3; a++)
            push[a] = c->impulse[a] - c->adhesion * c->normal[a];
        ns_lever(push, arm_of(world, c), l);
        multiply(y->contacts.body_inverse + 36 * c->free_body, l, v);
        for (int r = 0; r < 6; r++)
            y->contacts.body_velocity[6 * c->free_body + r] -= v[r];
    }
    rp__body_settle_meetings(&y->contacts.meetings, y->contacts.body_velocity);
}
