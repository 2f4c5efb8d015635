/* The system of the implicit step, its derivative and its solution, compiled for 2D and 3D   [klar2016, §5.6].
 *
 * Forces are those of the strain at the end of the step, projected on the yield surface by the kernel of the update itself;
 * the gradients of the weights are those of its beginning, as in the explicit step. */
#include "elastoplastic/implicit.h"

#include "base/error.h"
#include "base/memory.h"
#include "elastoplastic/collide.h"
#include "exec/exec.h"
#include "transfer/transfer.h"

#include <kinsol/kinsol.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sunlinsol/sunlinsol_spgmr.h>

enum { PARTICLES = 1024, NODES = 4096, NODE_PLANES = 7 + 9 };

/* ---- memory ---- */

void RP_D(rp__elastoplastic_implicit_free)(rp__elastoplastic_implicit *w)
{
    rp__base_free(w->node);
    rp__base_free(w->particle);
    rp__base_free(w->tangent);
    rp__base_free(w->active);
    rp__base_free(w->kinds);
    memset(w, 0, sizeof *w);
}

rp_result RP_D(rp__elastoplastic_prepare)(const rp__elastoplastic_system *s)
{
    rp__elastoplastic_implicit *w = s->work;
    rp__particles *p = s->world->particles;
    int64_t nodes = (int64_t)s->grid->blocks * RP_BLOCK_NODES;
    if (!rp__base_grow(&w->node, &w->node_capacity, NODE_PLANES * nodes, sizeof(double)) ||
        !rp__base_grow(&w->particle, &w->particle_capacity, 13 * p->capacity, sizeof(double)) ||
        !rp__base_grow(&w->tangent, &w->tangent_capacity, p->count, sizeof *w->tangent) ||
        !rp__base_grow(&w->active, &w->active_capacity, nodes, sizeof(int64_t)) ||
        !rp__base_grow(&w->kinds, &w->kinds_capacity, 2 * RP_DIM * nodes, 1))
        return RP_OUT_OF_MEMORY;
    for (int a = 0; a < 3; a++) {
        w->trial[a] = w->node + a * nodes;
        w->star[a] = w->node + (3 + a) * nodes;
        w->moving[a] = w->particle + (9 + a) * p->capacity;
    }
    w->mass = w->node + 6 * nodes;
    w->slope = w->node + 7 * nodes;
    w->zero = w->particle + 12 * p->capacity;
    if (nodes) /* before the first grains come there are none */
        memset(w->node, 0, (size_t)(6 * nodes) * sizeof(double));
    if (p->capacity)
        memset(w->particle, 0, (size_t)(13 * p->capacity) * sizeof(double)); /* the third row and column stay zero in 2D */
    w->view = w->still = *p;
    w->view.data[s->step->first_field + RP_EP_GRADIENT] = w->particle;
    w->still.data[s->step->first_field + RP_EP_GRADIENT] = w->particle;
    for (int a = 0; a < 3; a++) {
        w->view.v[a] = w->moving[a];
        w->still.v[a] = w->zero;
    }
    w->active_count = 0;
    for (int64_t i = 0; i < nodes; i++)
        if (s->mass[i] > 0)
            w->active[w->active_count++] = i;
    return RP_OK;
}

/* ---- the system ---- */

static rp__transfer_options affine(const rp__elastoplastic_system *s)
{
    return (rp__transfer_options){ .order = s->order, .kind = RP_TRANSFER_APIC, .gradient = s->step->first_field + RP_EP_GRADIENT };
}

/* Velocities and their gradients at the particles of work->view. */
static void gradients(const rp__elastoplastic_system *s, const double *u)
{
    rp__elastoplastic_implicit *w = s->work;
    const double *const planes[3] = { w->trial[0], w->trial[1], w->trial[2] };
    rp__transfer_options options = affine(s);
    for (int64_t k = 0; k < w->active_count; k++)
        for (int a = 0; a < RP_DIM; a++)
            w->trial[a][w->active[k]] = u[RP_DIM * k + a];
    RP_D(rp__transfer_to_particles)(s->grid, &w->view, &options, planes, NULL, NULL);
}

/* dt times the forces of the stresses in c_p, to work->star. */
static void forces(const rp__elastoplastic_system *s)
{
    rp__elastoplastic_implicit *w = s->work;
    rp__transfer_options options = affine(s);
    RP_D(rp__transfer_to_grid)(s->grid, &w->still, &options, w->mass, w->star);
}

static void response_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__elastoplastic_system *s = context;
    (void)worker;
    rp__elastoplastic_response_kernel(s->step, &s->work->view, begin, end);
}

static void star_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__elastoplastic_system *s = context;
    (void)worker;
    for (int a = 0; a < RP_DIM; a++) {
        double gain = s->step->dt * s->world->def->gravity[a];
        for (int64_t i = begin; i < end; i++)
            s->work->star[a][i] = s->mass[i] > 0 ? s->keep * (s->start[a][i] + gain + s->work->star[a][i] / s->mass[i]) : 0;
    }
}

/* v*(u) in work->star. */
static void make_star(const rp__elastoplastic_system *s, const double *u)
{
    void *context = (void *)(uintptr_t)s; /* only read */
    gradients(s, u);
    rp__exec_for(s->world->particles->count, PARTICLES, response_chunk, context);
    forces(s);
    rp__exec_for((int64_t)s->grid->blocks * RP_BLOCK_NODES, NODES, star_chunk, context);
}

void RP_D(rp__elastoplastic_residual)(const rp__elastoplastic_system *s, const double *u, double *out)
{
    rp__elastoplastic_implicit *w = s->work;
    make_star(s, u);
    RP_D(rp__elastoplastic_constrain)(s->grid, s->world, s->step->dt, s->mass, w->star, NULL, NULL);
    for (int64_t k = 0; k < w->active_count; k++)
        for (int a = 0; a < RP_DIM; a++)
            out[RP_DIM * k + a] = u[RP_DIM * k + a] - w->star[a][w->active[k]];
}

/* ---- its derivative ---- */

static double number(const rp__elastoplastic_system *s, int field, int component, bool single, int64_t i)
{
    const void *plane = rp__particles_plane(&s->work->view, s->step->first_field + field, component);
    return single ? (double)((const float *)plane)[i] : ((const double *)plane)[i];
}

static void increment_of(const rp__elastoplastic_system *s, int64_t i, rp__mat3 *out)
{
    for (int k = 0; k < 9; k++)
        out->m[k / 3][k % 3] = s->step->dt * rp__particles_f64(&s->work->view, s->step->first_field + RP_EP_GRADIENT, k)[i];
}

static void linearise_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const rp__elastoplastic_system *s = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double strain[6];
        rp__mat3 increment;
        for (int k = 0; k < 6; k++)
            strain[k] = number(s, RP_EP_STRAIN, k, s->step->single, i);
        increment_of(s, i, &increment);
        rp__elastoplastic_linearise(&s->step->laws[s->work->view.material[i]], RP_DIM, s->step->correct_volume, &increment, strain,
                                    number(s, RP_EP_HARDENING, 0, true, i), number(s, RP_EP_VOLUME_GAIN, 0, true, i), &s->work->tangent[i]);
    }
}

static void apply_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    const rp__elastoplastic_system *s = context;
    const rp__particles *p = &s->work->view;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const rp__elastoplastic_law *law = &s->step->laws[p->material[i]];
        double dtau[6], factor = s->step->dt * s->step->inverse_d * law->inverse_fraction * p->volume[i] / p->mass[i];
        rp__mat3 change;
        increment_of(s, i, &change);
        rp__elastoplastic_tangent_apply(law, RP_DIM, &s->work->tangent[i], &change, dtau);
        for (int a = 0; a < RP_DIM; a++)
            for (int b = 0; b < RP_DIM; b++)
                rp__particles_f64(p, s->step->first_field + RP_EP_GRADIENT, 3 * a + b)[i] = -factor * dtau[at[a][b]];
    }
}

void RP_D(rp__elastoplastic_fix)(const rp__elastoplastic_system *s, const double *u)
{
    void *context = (void *)(uintptr_t)s; /* only read */
    gradients(s, u);
    rp__exec_for(s->world->particles->count, PARTICLES, linearise_chunk, context);
    make_star(s, u);
    RP_D(rp__elastoplastic_constrain)(s->grid, s->world, s->step->dt, s->mass, s->work->star, s->work->slope, s->work->kinds);
}

void RP_D(rp__elastoplastic_derivative)(const rp__elastoplastic_system *s, const double *direction, double *out)
{
    rp__elastoplastic_implicit *w = s->work;
    gradients(s, direction);
    rp__exec_for(s->world->particles->count, PARTICLES, apply_chunk, (void *)(uintptr_t)s);
    forces(s);
    for (int64_t k = 0; k < w->active_count; k++)
        for (int a = 0; a < RP_DIM; a++)
            w->star[a][w->active[k]] *= s->keep / s->mass[w->active[k]];
    RP_D(rp__elastoplastic_constrain_change)(s->grid, s->world, s->mass, w->slope, w->kinds, w->star);
    for (int64_t k = 0; k < w->active_count; k++)
        for (int a = 0; a < RP_DIM; a++)
            out[RP_DIM * k + a] = direction[RP_DIM * k + a] - w->star[a][w->active[k]];
}

/* ---- KINSOL ---- */

enum { GIVE_UP = -1 }; /* of the functions below: KINSOL ends */

static bool cancelled(const rp__elastoplastic_system *s)
{
    return s->world->cancel && *s->world->cancel;
}

static int system_function(N_Vector u, N_Vector out, void *context)
{
    const rp__elastoplastic_system *s = context;
    if (cancelled(s))
        return GIVE_UP;
    double *r = N_VGetArrayPointer(out), sum = 0;
    RP_D(rp__elastoplastic_residual)(s, N_VGetArrayPointer(u), r);
    for (int64_t k = 0; k < RP_DIM * s->work->active_count; k++)
        sum += r[k];
    return isfinite(sum) ? 0 : 1; /* 1: try a shorter step */
}

static int derivative_function(N_Vector direction, N_Vector out, N_Vector u, booleantype *new_u, void *context)
{
    const rp__elastoplastic_system *s = context;
    if (cancelled(s))
        return GIVE_UP;
    if (*new_u) {
        RP_D(rp__elastoplastic_fix)(s, N_VGetArrayPointer(u));
        *new_u = SUNFALSE;
    }
    RP_D(rp__elastoplastic_derivative)(s, N_VGetArrayPointer(direction), N_VGetArrayPointer(out));
    return 0;
}

static void keep_quiet(int code, const char *module, const char *function, char *text, void *context)
{
    (void)code, (void)module, (void)function, (void)text, (void)context;
}

typedef struct solver {
    SUNContext context;
    N_Vector u, scale;
    SUNLinearSolver linear;
    void *memory;
} solver;

static void drop(solver *k)
{
    if (k->memory)
        KINFree(&k->memory);
    if (k->linear)
        SUNLinSolFree(k->linear);
    if (k->u)
        N_VDestroy(k->u);
    if (k->scale)
        N_VDestroy(k->scale);
    if (k->context)
        SUNContext_Free(&k->context);
}

static bool make(const rp__elastoplastic_system *s, solver *k)
{
    const rp__elastoplastic_params *par = s->world->params;
    memset(k, 0, sizeof *k);
    if (SUNContext_Create(NULL, &k->context) != 0)
        return false;
    k->u = N_VNew_Serial((sunindextype)(RP_DIM * s->work->active_count), k->context);
    k->scale = k->u ? N_VClone(k->u) : NULL;
    k->linear = k->u ? SUNLinSol_SPGMR(k->u, SUN_PREC_NONE, (int)par->krylov, k->context) : NULL;
    k->memory = KINCreate(k->context);
    return k->scale && k->linear && k->memory && KINSetErrHandlerFn(k->memory, keep_quiet, NULL) == KIN_SUCCESS &&
           KINInit(k->memory, system_function, k->u) == KIN_SUCCESS &&
           KINSetLinearSolver(k->memory, k->linear, NULL) == KIN_SUCCESS &&
           KINSetJacTimesVecFn(k->memory, derivative_function) == KIN_SUCCESS &&
           KINSetUserData(k->memory, (void *)(uintptr_t)s) == KIN_SUCCESS &&
           KINSetNumMaxIters(k->memory, (long)par->newton) == KIN_SUCCESS &&
           KINSetFuncNormTol(k->memory, par->tolerance) == KIN_SUCCESS &&
           KINSetMaxNewtonStep(k->memory, 1e12) == KIN_SUCCESS;
}

/* Residuals are weighed with the root of the mass (with it the elastic system is symmetric) and measured in what gravity adds
 * to a velocity in a step; without gravity in a millionth of a cell a step. */
static void weigh(const rp__elastoplastic_system *s, N_Vector scale)
{
    const double *g = s->world->def->gravity;
    double speed = s->step->dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) + 1e-6 * s->grid->lattice.h / s->step->dt, most = 0;
    double *w = N_VGetArrayPointer(scale);
    for (int64_t k = 0; k < s->work->active_count; k++)
        most = fmax(most, s->mass[s->work->active[k]]);
    for (int64_t k = 0; k < s->work->active_count; k++)
        for (int a = 0; a < RP_DIM; a++)
            w[RP_DIM * k + a] = sqrt(s->mass[s->work->active[k]] / most) / speed;
}

static double largest(const rp__elastoplastic_system *s, const double *r, const double *scale)
{
    double most = 0;
    for (int64_t k = 0; k < RP_DIM * s->work->active_count; k++)
        most = fmax(most, fabs(r[k] * scale[k]));
    return most;
}

rp_result RP_D(rp__elastoplastic_solve)(const rp__elastoplastic_system *s, rp__elastoplastic_report *report)
{
    rp__elastoplastic_implicit *w = s->work;
    const rp__elastoplastic_params *par = s->world->params;
    memset(report, 0, sizeof *report);
    report->converged = true;
    if (w->active_count == 0)
        return RP_OK;
    solver k;
    N_Vector residual = NULL;
    if (!make(s, &k) || !(residual = N_VClone(k.u))) {
        drop(&k);
        return RP_OUT_OF_MEMORY;
    }
    weigh(s, k.scale);
    double *u = N_VGetArrayPointer(k.u), *r = N_VGetArrayPointer(residual);
    for (int64_t n = 0; n < w->active_count; n++)
        for (int a = 0; a < RP_DIM; a++)
            u[RP_DIM * n + a] = s->start[a][w->active[n]];
    long newton = 0, krylov = 0;
    KINSol(k.memory, k.u, KIN_LINESEARCH, k.scale, k.scale);
    KINGetNumNonlinSolvIters(k.memory, &newton);
    KINGetNumLinIters(k.memory, &krylov);
    RP_D(rp__elastoplastic_residual)(s, u, r);
    report->residual = largest(s, r, N_VGetArrayPointer(k.scale));
    make_star(s, u); /* leaves u in work->trial */
    report->newton = newton, report->krylov = krylov;
    report->converged = report->residual <= par->tolerance;
    N_VDestroy(residual);
    drop(&k);
    return RP_OK;
}
