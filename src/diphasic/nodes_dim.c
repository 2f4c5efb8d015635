/* What drag, inertia, walls and bodies make of a node.
 *
 * With volumes V_g of grains and V_f = (1 - φ) V of fluid at a node, masses m_g and m_f, b = dt β V (and the added mass), the two phases obey
 *
 *   [ m_g + b   -b    ] [u  ]   [ m_g u°  + dt m_g (1 - ρ_f/ρ_g) g + dt V_g drive ]   [ φ P + F   ]
 *   [  -b     m_f + b ] [u_f] = [ m_f u_f° + dt V_f drive                       ] + [ (1-φ) P   ]
 *
 * and A⁻¹ gives, a component at a time, M = A⁻¹_gg, a = φ A⁻¹_gg + (1-φ) A⁻¹_gf and Θ = φ² A⁻¹_gg + 2 φ (1-φ) A⁻¹_gf + (1-φ)² A⁻¹_ff: drag,
 * however strong, is nowhere else. A component of one phase that is held leaves the other a division; where the flux is held (in
 * bodies) grains move by themselves against the body, and the pressure pushes the body. */
#include "diphasic/system.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"

#include <string.h>

/* β/φ, so that few grains are regular   [ergun1952; richardson1954; gidaspow1994]. A fixed bed obeys Darcy with permeability η (1-φ)²/β. */
double DP(drag)(const rp_fluid_def *fluid, double phi, double slip, double d)
{
    double eta = fluid->viscosity, rho = fluid->density, void_ = 1 - phi, square = d * d;
    double packed = (fluid->drag == RP_DRAG_CARMAN_KOZENY ? 180 : 150) * eta * phi / (square * void_);
    if (fluid->drag == RP_DRAG_CARMAN_KOZENY)
        return packed;
    if (fluid->drag == RP_DRAG_RICHARDSON_ZAKI)
        return 18 * eta * pow(void_, 2 - fluid->drag_exponent) / square;
    packed += 1.75 * rho * slip / d;
    if (fluid->drag == RP_DRAG_ERGUN || phi >= 0.25)
        return packed;
    /* Wen and Yu, ¾ C_D ρ |slip| (1-φ)^-1.65 / d with C_D = 24/Re (1 + .15 Re^.687): 18 η/d² (1 + .15 Re^.687) (1-φ)^-2.65 */
    double reynolds = eta > 0 ? void_ * rho * slip * d / eta : 0;
    double alone = 18 * eta / square * pow(void_, -2.65) * (1 + 0.15 * pow(reynolds, 0.687));
    if (eta <= 0)
        alone = 0.33 * rho * slip / d * pow(void_, -1.65);
    double t = phi < 0.15 ? 0 : (phi - 0.15) / 0.1;
    t = t * t * (3 - 2 * t); /* a jump would make fronts chatter */
    return (1 - t) * alone + t * packed;
}

double DP(thickening)(const rp_fluid_def *fluid, double phi)
{
    const double most = 0.585;
    double x = phi / most;
    switch (fluid->thickening) {
    case RP_THICKEN_EINSTEIN:
        return 1 + 2.5 * phi;
    case RP_THICKEN_BOYER: /* the part of the fluid and of collisions, [boyer2011]; contacts have their own law */
        x = x < 0.95 ? x : 0.95;
        return 1 + 2.5 * phi / (1 - x);
    case RP_THICKEN_KRIEGER: /* (1 - φ/φ_m)^(-5/2 φ_m), [krieger1959] */
        x = x < 0.95 ? x : 0.95;
        return pow(1 - x, -2.5 * most);
    default:
        return 1;
    }
}

/* ---- walls and bodies ---- */

static bool closed(const rp__world *world, int face)
{
    rp_surface_kind kind = world->def->wall[face].kind;
    return kind != RP_OPEN && kind != RP_PERIODIC;
}

/* Faces of the domain that a node lies on, as bits; periodic ones do not count. */
static unsigned faces_at(const dp_system *y, const int64_t at[3])
{
    unsigned faces = 0;
    for (int a = 0; a < RP_DIM; a++) {
        if (y->lattice.periodic[a])
            continue;
        faces |= at[a] == 0 ? 1U << 2 * a : 0;
        faces |= at[a] == y->cells[a] ? 2U << 2 * a : 0;
    }
    return faces;
}

static void hold_walls(dp_system *y, const rp__world *world, int64_t node, unsigned faces)
{
    const rp_fluid_def *fluid = world->def->fluid;
    unsigned hold = 0;
    double held[RP_DIM] = { 0 };
    for (int f = 0; f < 2 * RP_DIM; f++) {
        if (!(faces >> f & 1))
            continue;
        if (closed(world, f)) {
            hold |= dp_grain_hold(f / 2);
            for (int a = 0; a < RP_DIM && world->def->wall[f].kind == RP_STICK; a++)
                hold |= dp_grain_hold(a);
        }
        if (y->wall_kind[f] == RP_FLUID_PRESSURE)
            continue;
        hold |= dp_fluid_hold(f / 2);
        for (int a = 0; a < RP_DIM && y->wall_kind[f] != RP_FLUID_SLIP; a++)
            hold |= dp_fluid_hold(a);
    }
    /* Where a moving wall meets a resting one both hold; the resting one wins, so that nothing is pressed into a corner. */
    for (int f = 0; f < 2 * RP_DIM; f++)
        if (faces >> f & 1 && y->wall_kind[f] == RP_FLUID_VELOCITY)
            for (int a = 0; a < RP_DIM; a++)
                held[a] = fluid->wall[f].velocity[a];
    for (int f = 0; f < 2 * RP_DIM; f++)
        for (int a = 0; a < RP_DIM; a++)
            if (faces >> f & 1 && (y->wall_kind[f] == RP_FLUID_NO_SLIP || (y->wall_kind[f] == RP_FLUID_SLIP && a == f / 2)))
                held[a] = 0;
    y->hold[node] = (uint16_t)hold;
    for (int a = 0; a < RP_DIM; a++)
        y->held[RP_DIM * node + a] = held[a];
}

static rp_result add_contact(dp_system *y, int64_t node, int32_t body, const double *normal, const double *target, double mu,
                             const double place[3])
{
    int64_t capacity = y->contact_capacity;
    if (!rp__base_grow(&y->contacts, &capacity, y->contact_count + 1, sizeof *y->contacts))
        return RP_OUT_OF_MEMORY;
    y->contact_capacity = capacity;
    dp_contact *c = &y->contacts[y->contact_count++];
    memset(c, 0, sizeof *c);
    c->node = node, c->body = body, c->mu = mu;
    for (int a = 0; a < RP_DIM; a++)
        c->normal[a] = normal[a], c->target[a] = target[a];
    memcpy(c->place, place, sizeof c->place);
    return RP_OK;
}

static double surface_friction(const rp_surface *surface)
{
    return surface->kind == RP_STICK ? INFINITY : surface->kind == RP_FRICTIONAL ? surface->friction : 0;
}

/* Half the width of the room that a particle stands for when it is packed, in the mean. */
static double half_width(const rp__world *world)
{
    const rp__particles *p = world->particles;
    double room = 0;
    for (int64_t i = 0; i < p->count; i++)
        room += p->volume[i] / world->materials[p->material[i]].volume_fraction;
    return p->count ? 0.5 * pow(room / (double)p->count, 1.0 / RP_DIM) : 0;
}

/* Inside a body a node has the body's velocity, and grains meet it there. They also meet it where it is nearer than half the width of a particle: nothing
 * that could carry them lies between. */
static rp_result hold_body(dp_system *y, const rp__world *world, int64_t node, const int64_t at[3], double reach)
{
    double x[3] = { 0 };
    for (int a = 0; a < RP_DIM; a++)
        x[a] = y->lattice.origin[a] + y->lattice.h * (double)at[a];
    y->inside[node] = -1;
    for (int b = 0; b < world->body_count; b++) {
        const rp__body *body = &world->bodies[b];
        rp__vec3 n;
        if (!body->present)
            continue;
        /* free bodies where they are: how far they will go the fluid is still to decide */
        const rp__pose *pose = body->def.kind == RP_BODY_FREE ? &body->pose : &body->pose_next;
        double distance = rp__body_distance(body, pose, rp__vec3_load(x), &n);
        if (!(distance < reach))
            continue;
        double normal[3] = { n.x, n.y, n.z }, target[3];
        rp__vec3_store(target, rp__body_velocity_at(body, rp__vec3_load(x)));
        if (y->grains[node] > 0)
            RP_TRY(add_contact(y, node, b, normal, target, surface_friction(&body->def.surface), x));
        if (!(distance < 0))
            continue;
        y->inside[node] = b;
        y->hold[node] |= DP_HOLD_FLUX;
        for (int a = 0; a < RP_DIM; a++)
            if (!(y->hold[node] & dp_fluid_hold(a)))
                y->held[RP_DIM * node + a] = target[a];
        return RP_OK;
    }
    return RP_OK;
}

rp_result DP(set_holds)(dp_system *y, const rp__world *world, double dt)
{
    (void)dt;
    double reach = world->body_count ? half_width(world) : 0;
    y->contact_count = 0;
    for (int64_t j = 0; j < y->node_count; j++) {
        int64_t at[3];
        dp_place(y->nodes, j, at);
        unsigned faces = faces_at(y, at);
        hold_walls(y, world, j, faces);
        if (world->body_count)
            RP_TRY(hold_body(y, world, j, at, reach));
        for (int f = 0; f < 2 * RP_DIM && y->grains[j] > 0; f++) {
            const rp_surface *wall = &world->def->wall[f];
            if (!(faces >> f & 1) || wall->kind != RP_FRICTIONAL || !(wall->friction > 0))
                continue;
            double normal[3] = { 0 }, none[3] = { 0 };
            normal[f / 2] = f & 1 ? -1 : 1;
            RP_TRY(add_contact(y, j, -1 - f, normal, none, wall->friction, none));
        }
    }
    return RP_OK;
}

/* ---- the algebra ---- */

typedef struct job {
    dp_system *y;
    const rp__world *world;
    double dt;
} job;

typedef struct phases {
    double mass_g, mass_f, b;   /* b = dt β V and the added mass */
    double phi;
} phases;

static phases phases_of(const job *w, int64_t j, double *added)
{
    dp_system *y = w->y;
    const rp_fluid_def *fluid = w->world->def->fluid;
    phases n = { .mass_g = y->mass[j] };
    double phi = y->grains[j] / y->volume[j], slip = 0;
    n.phi = y->phi[j] = phi < DP_FULLEST ? phi : DP_FULLEST;
    double wet = dp_wet_volume(y, j), part = wet / y->volume[j];
    n.mass_f = fluid->density * (1 - n.phi) * wet;
    if (y->grains[j] > 0) {
        for (int a = 0; a < RP_DIM; a++) {
            double v = y->carried[RP_DIM * j + a] - y->momentum[RP_DIM * j + a] / n.mass_g;
            slip += v * v;
        }
        *added = part * fluid->added_mass * fluid->density * y->grains[j];
        n.b = part * w->dt * y->grains[j] * DP(drag)(fluid, n.phi, sqrt(slip), y->diameter[j] / y->grains[j]);
    }
    y->coupling[j] = n.b;
    return n;
}

/* The alternating parts: the sum over the axes along which they alternate. */
static void set_alternating(const dp_system *y, int64_t j, dp_node *to)
{
    static const int first[4] = { 0, 0, 1, 0 }, second[4] = { 1, 2, 2, 1 };
    int64_t at[3];
    dp_place(y->nodes, j, at);
    bool inner = !(y->hold[j] & DP_HOLD_FLUX);
    inner = inner && (!y->surface || y->surface->wet[j] == y->volume[j] || y->surface->wet[j] == 0);
    for (int a = 0; a < RP_DIM; a++)
        inner = inner && (y->lattice.periodic[a] || (at[a] > 0 && at[a] < y->cells[a]));
    for (int n = 0; n < DP_ALTERNATING; n++) {
        int k = RP_DIM + n, p = first[n], q = second[n];
        double part = inner ? y->epsilon : 0;
        to->u[k] = to->w[k] = 0;
        to->m[k] = part * (to->m[p] + to->m[q] + (n == 3 ? to->m[RP_DIM - 1] : 0));
        to->a[k] = part * (to->a[p] + to->a[q] + (n == 3 ? to->a[RP_DIM - 1] : 0));
        to->theta[k] = part * (to->theta[p] + to->theta[q] + (n == 3 ? to->theta[RP_DIM - 1] : 0));
    }
}

static void algebra(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    dp_system *y = w->y;
    const rp_sim_def *def = w->world->def;
    const rp_fluid_def *fluid = def->fluid;
    (void)worker;
    for (int64_t j = begin; j < end; j++) {
        double added = 0;
        phases n = phases_of(w, j, &added);
        double phi = n.phi, rest = 1 - phi, b = n.b + added;
        dp_node *to = &y->node[j];
        unsigned hold = y->hold[j];
        bool grains = n.mass_g > 0;
        double wet = dp_wet_volume(y, j), part = wet / y->volume[j];
        for (int a = 0; a < RP_DIM; a++) {
            double u0 = grains ? y->momentum[RP_DIM * j + a] / n.mass_g : 0, f0 = y->carried[RP_DIM * j + a];
            /* what moves the grains beyond the pressure that the fluid alone would have: their weight less that of the fluid displaced */
            double weight = (n.mass_g - (y->surface ? 0 : fluid->density * y->grains[j])) * def->gravity[a];
            double rg = n.mass_g * u0 + w->dt * (weight + part * y->grains[j] * fluid->drive[a]) + added * (u0 - f0);
            double rf = n.mass_f * f0 + w->dt * rest * wet * fluid->drive[a] - added * (u0 - f0);
            if (y->surface) /* the pressure is the whole one, from zero at the surface */
                rf += w->dt * n.mass_f * def->gravity[a];
            double gg = 0, gf = 0, ff = 0, vg = 0, vf = y->held[RP_DIM * j + a];
            bool hold_g = !grains || hold & dp_grain_hold(a), hold_f = hold & dp_fluid_hold(a) || !(wet > 0);
            double theta, mixed;
            if (hold & DP_HOLD_FLUX) {
                double flux = vf;
                to->m[a] = hold_g ? 0 : 1 / n.mass_g;
                to->a[a] = 0;
                y->theta[RP_DIM * j + a] = to->theta[a] = 0;
                to->u[a] = hold_g ? 0 : rg / n.mass_g;
                to->w[a] = flux;
                continue;
            }
            if (hold_g && hold_f) {
                ;
            } else if (hold_g) {
                double held = grains ? b : 0;
                ff = 1 / (n.mass_f + held);
                vf = ff * rf;
            } else if (hold_f) {
                gg = 1 / (n.mass_g + b);
                vg = gg * (rg + b * vf);
            } else {
                double det = n.mass_g * (n.mass_f + b) + b * n.mass_f;
                gg = (n.mass_f + b) / det, gf = b / det, ff = (n.mass_g + b) / det;
                vg = gg * rg + gf * rf;
                vf = gf * rg + ff * rf;
            }
            mixed = wet > 0 ? phi * gg + rest * gf : 0;
            theta = !(wet > 0) ? 0 : phi * mixed + rest * (phi * gf + rest * ff);
            to->m[a] = gg;
            to->a[a] = mixed;
            y->theta[RP_DIM * j + a] = theta;
            to->theta[a] = theta;
            to->u[a] = vg;
            to->w[a] = phi * vg + rest * vf;
        }
        set_alternating(y, j, to);
    }
}

void DP(node_algebra)(dp_system *y, const rp__world *world, double dt)
{
    job w = { y, world, dt };
    rp__exec_for(y->node_count, 1024, algebra, &w);
}
