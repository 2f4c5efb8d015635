/* From nodes to particles: velocity and gradient by the transfer; then each particle moves, and its ellipsoid, looseness and material
 * follow the strain of its dual cell. */
#include "nonsmooth/dual.h"
#include "nonsmooth/shared.h"

#include "exec/exec.h"
#include "math/eigen.h"
#include "transfer/transfer.h"

#include <math.h>
#include <string.h>

typedef struct job {
    dual *y;
    const rp__world *world;
    double dt;
    double *gradient[9], *ellipsoid[6], *size, *friction, *cohesion, *looseness;
    const double *smooth;   /* stress, NS_S + 1: for mu(I); NULL */
    double low[3], high[3];
    rp__body_space room;    /* what bodies and walls leave */
} job;

/* F <- A F A^T with A = 1 + dt c: dF/dt = c F + F c^T; its semi-axes stay within bounds, so that nothing grows for ever. */
static void stretch(const job *w, int64_t i)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    double a[3][3] = { { 0 } }, f[3][3] = { { 0 } }, af[3][3] = { { 0 } }, trace = 0;
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++) {
            a[r][s] = (r == s) + w->dt * w->gradient[3 * r + s][i];
            f[r][s] = w->ellipsoid[at[r][s]][i];
        }
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++)
            for (int k = 0; k < RP_DIM; k++)
                af[r][s] += a[r][k] * f[k][s];
    double to[6] = { 0 };
    for (int r = 0; r < RP_DIM; r++)
        for (int s = r; s < RP_DIM; s++) {
            for (int k = 0; k < RP_DIM; k++)
                to[at[r][s]] += af[r][k] * a[s][k];
            trace += r == s ? to[r] : 0;
        }
    double unit = w->size[i] * w->size[i], most = NS_DRAWN * NS_DRAWN * unit, least = unit / (NS_DRAWN * NS_DRAWN);
    double det = RP_DIM == 3 ? to[0] * (to[1] * to[2] - to[5] * to[5]) - to[3] * (to[3] * to[2] - to[5] * to[4]) +
                                   to[4] * (to[3] * to[5] - to[1] * to[4])
                             : to[0] * to[1] - to[3] * to[3];
    /* Trace and determinant rule most particles out: the least eigenvalue is at least det / trace^(d-1). */
    if (!(trace < most && det > least * pow(trace, RP_DIM - 1))) {
        double value[3], plane[6] = { to[0], to[1], RP_DIM == 3 ? to[2] : unit, to[3], to[4], to[5] };
        rp__mat3 v;
        rp__math_eigen_sym3(plane, value, &v);
        memset(to, 0, sizeof to);
        for (int k = 0; k < 3; k++) {
            double e = !(value[k] > least) ? least : value[k] > most ? most : value[k];
            for (int r = 0; r < RP_DIM; r++)
                for (int s = r; s < RP_DIM; s++)
                    to[at[r][s]] += e * v.m[r][k] * v.m[s][k];
        }
    }
    for (int c = 0; c < 6; c++)
        w->ellipsoid[c][i] = to[c];
}

/* The friction of a step is that of the rates before it. Taken as it comes that is an explicit scheme for what is as stiff as a viscosity,
 * d|lambda_T| / d rate = lambda_N dmu / d rate: a shear wave four dual cells long, which the operator W = S of a dual cell moves by up to 2 S lambda_T,
 * has the factor 1 - a a step, a = 2 S lambda_N dmu / d(strain), and grows from a = 2 on until every second layer sticks. Friction that follows by
 * a part f of its change each step has factors of the product 1 - f and the sum 2 - f - f a, which are below one for f < 4 / (2 + a): half of that.
 * What is steady does not depend on f, and f -> 1 as dt -> 0. */
static double followed(const dual *y, int64_t stress, double slope)
{
    const du_stress *s = &y->stress[stress];
    const double *schur = y->law == NS_LAW_ISOTROPIC ? y->frame[stress].s : y->wide[stress].s;
    double most = 0;
    for (int k = 0; k < NS_T; k++)
        most = schur[k] > most ? schur[k] : most;
    double a = s->lambda[0] > 0 ? 2 * most * NS_CONE * s->lambda[0] * slope * 2 / s->volume : 0;
    return 2 / (2 + a);
}

/* mu(I) = mu_s + (mu_d - mu_s) I / (I_0 + I), I = shear rate · d sqrt(rho / p)   [jop2006], rho of the grains and p of the
 * packed material, phi_max times the pressure of the solid phase; dc/dt = -xi |D| c, |D| half the shear rate. */
static void change_material(const job *w, int64_t i, int64_t stress)
{
    const rp__particles *p = w->world->particles;
    const rp_material_def *m = &w->world->materials[p->material[i]];
    double rate = w->y->stress[stress].strain[1], mu = rp_material_friction(m, RP_DIM);
    double pressure = w->smooth[stress * (NS_S + 1)] * NS_TRACE / RP_DIM;
    if (m->friction_dynamic >= 0 && rate > 0) {
        double root = pressure > 0 ? sqrt(p->mass[i] / (p->volume[i] * m->volume_fraction * pressure)) : INFINITY;
        double number = rate * m->grain_diameter * root;
        double span = m->friction_dynamic - mu, sum = m->inertial_number + number;
        mu += span * (isinf(number) ? 1 : number / sum);
        mu = w->friction[i] + (mu - w->friction[i]) * followed(w->y, stress, isinf(number) ? 0 : span * m->inertial_number / (sum * sum) * number / rate);
    }
    w->friction[i] = mu;
    w->cohesion[i] *= exp(-0.5 * m->cohesion_decay * rate * w->dt);
}

/* Looseness s: volume that may be lost before grains touch, a part of their own. Under pressure they touch; else it follows the volume. */
static void loosen(const job *w, int64_t i, const du_stress *s)
{
    double *loose = &w->looseness[i];
    *loose = s->lambda[0] + s->apex > s->pressed ? 0 : (1 + *loose) * (1 + w->dt * s->strain[0]) - 1;
    *loose = !(*loose > 0) ? 0 : *loose > NS_LOOSE ? NS_LOOSE : *loose;
}

/* A particle that is alone at its nodes keeps the gradient it had when it left the others for ever; it says nothing about its neighbours,
 * for there are none. */
static bool is_alone(const job *w, int64_t i, int64_t stress)
{
    const dual *y = w->y;
    if (y->sum[stress].count != 1)
        return false;
    int64_t j = du_tile_node(y, stress / RP_BLOCK_NODES, du_tile_base((int)(stress % RP_BLOCK_NODES)) + y->offset[DU_CENTRE]);
    for (int n = 0; n < NS_STENCIL; n++) {
        int way[3] = { n % 3 - 1, n / 3 % 3 - 1, RP_DIM == 3 ? n / 9 - 1 : 0 };
        int64_t other = du_beside(y, stress, way);
        if (n != DU_CENTRE && other >= 0 && y->sum[other].count > 0)
            return false;
    }
    (void)i;
    return j >= 0;
}

static void move(void *context, int64_t begin, int64_t end)
{
    const job *w = context;
    dual *y = w->y;
    rp__particles *p = w->world->particles;
    int64_t block = -1;
    for (int64_t i = begin; i < end; i++) {
        double x[3] = { 0 };
        int64_t base[3] = { 0 };
        for (int a = 0; a < RP_DIM; a++)
            base[a] = (int64_t)rp__lattice_base(2, rp__lattice_coordinate(&y->lattice, a, p->x[a][i]));
        if (block < 0 || y->trilinear) /* dual cells: all of them have their base node in one block */
            block = RP_D(rp__grid_find)(&y->grid, (int32_t)(base[0] >> 2), (int32_t)(base[1] >> 2), RP_DIM == 3 ? (int32_t)(base[2] >> 2) : 0);
        int64_t s = block * RP_BLOCK_NODES + (base[0] & 3) + 4 * (base[1] & 3) + (RP_DIM == 3 ? 16 * (base[2] & 3) : 0);
        if (!y->trilinear && is_alone(w, i, s))
            for (int c = 0; c < 9; c++)
                w->gradient[c][i] = 0;
        stretch(w, i);
        if (du_in_use(y, s)) {
            if (!y->trilinear)
                loosen(w, i, &y->stress[s]);
            if (w->smooth)
                change_material(w, i, s);
            else /* it may have been set since */
                w->friction[i] = rp_material_friction(&w->world->materials[p->material[i]], RP_DIM);
        }
        for (int a = 0; a < RP_DIM; a++)
            x[a] = p->x[a][i] + w->dt * p->v[a][i];
        if (y->near[block])
            ns_push_out(w->world, &w->room, w->y->lattice.h, i, x, y->near[block]);
        for (int a = 0; a < RP_DIM; a++) {
            x[a] = x[a] < w->low[a] ? w->low[a] : x[a];
            p->x[a][i] = x[a] > w->high[a] ? w->high[a] : x[a];
        }
    }
}

static void move_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    move(context, begin, end);
}

void DU(to_particles)(dual *y, const rp__world *world, double dt)
{
    rp__particles *p = world->particles;
    job w = { .y = y, .world = world, .dt = dt };
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(p, y->first_field + RP__NS_GRADIENT, c);
    for (int c = 0; c < 6; c++)
        w.ellipsoid[c] = rp__particles_f64(p, y->first_field + RP__NS_ELLIPSOID, c);
    w.size = rp__particles_f64(p, y->first_field + RP__NS_SIZE, 0);
    w.friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    w.cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    w.looseness = rp__particles_f64(p, y->first_field + RP__NS_LOOSENESS, 0);
    NS(bounds)(y->upkeep, world, w.low, w.high);
    w.room = rp__body_space_of(world->def, world->bodies, world->body_count);
    w.smooth = y->varied ? DU(smooth)(y) : NULL;
    if (y->trilinear) {
        DU(velocities_trilinear)(y, world);
        rp__exec_for(p->count, 1024, move_chunk, &w);
        return;
    }
    rp__transfer_options options = { .order = 2, .kind = RP_TRANSFER_APIC, .gradient = y->first_field + RP__NS_GRADIENT, .each = move,
                                     .context = &w };
    const double *const velocity[3] = { y->nodes.after[0], y->nodes.after[1], y->nodes.after[2] };
    RP_D(rp__transfer_to_particles)(&y->grid, p, &options, velocity, NULL, NULL);
}
