/* What both kinds of elements (stress: node and cell; dual) do in the same way: contacts with free bodies, forces on walls and bodies,
 * particles that met a body. */
#ifndef RP_NONSMOOTH_SHARED_H
#define RP_NONSMOOTH_SHARED_H

#include "body/space.h"
#include "friction/local.h"
#include "sim/method.h"

#include <math.h>
#include <string.h>

#if RP_DIM == 3
typedef rp__friction_factor_c3 ns_contact_factor;
#define NS_FACTORISE rp__friction_factorise_c3
#define NS_SOLVE_CONTACT rp__friction_solve_c3
#else
typedef rp__friction_factor_c2 ns_contact_factor;
#define NS_FACTORISE rp__friction_factorise_c2
#define NS_SOLVE_CONTACT rp__friction_solve_c2
#endif

/* The normal, and what completes it to a basis. */
static inline void ns_contact_axes(const double *normal, double axes[RP_DIM][3])
{
    memcpy(axes[0], normal, 3 * sizeof(double));
#if RP_DIM == 3
    rp__vec3 n = rp__vec3_load(normal);
    rp__vec3 other = fabs(n.x) < 0.6 ? rp__vec3_make(1, 0, 0) : rp__vec3_make(0, 1, 0);
    rp__vec3 t = rp__vec3_unit(rp__vec3_cross(n, other), other);
    rp__vec3_store(axes[1], t);
    rp__vec3_store(axes[2], rp__vec3_cross(n, t));
#else
    axes[1][0] = -normal[1], axes[1][1] = normal[0], axes[1][2] = 0;
#endif
}

/* The 6-vector of an impulse at a place, `arm` from the body's centre: (d, r × d). */
static inline void ns_lever(const double *d, rp__vec3 arm, double out[6])
{
    memcpy(out, d, 3 * sizeof(double));
    rp__vec3_store(out + 3, rp__vec3_cross(arm, rp__vec3_load(d)));
}

/* Forces on walls and bodies are the opposite of those on the grains: contact `index` on a surface (faces 0 … 5, then bodies) with the
 * impulse on the grains at its place. */
static inline void ns_report_contact(rp__world *world, int surface, int64_t index, const double *place, const double *normal, double adhesion,
                                     const double *impulse, double dt)
{
    double force[3];
    for (int a = 0; a < 3; a++)
        force[a] = -(impulse[a] - adhesion * normal[a]) / dt;
    if (surface < 6) {
        for (int a = 0; a < 3; a++)
            world->wall_force[surface][a] += force[a];
    } else {
        rp__body *body = &world->bodies[surface - 6];
        rp__vec3 f = rp__vec3_load(force), x = rp__vec3_load(place);
        rp__vec3 arm = body->def.kind == RP_BODY_FREE ? rp__body_arm(body, x) : rp__body_mean_arm(body, x, dt);
        body->force = rp__vec3_add(body->force, f);
        body->torque = rp__vec3_add(body->torque, rp__vec3_cross(arm, f));
    }
    rp__sim_tell_contact(world, surface, index, place, normal, force, dt);
}

/* Free bodies get the velocities that the solve found, 6 numbers a body. */
static inline void ns_move_bodies(rp__world *world, const double *velocity, double dt)
{
    for (int k = 0; k < world->body_count; k++)
        if (world->bodies[k].present && world->bodies[k].def.kind == RP_BODY_FREE) {
            world->bodies[k].velocity = rp__vec3_load(velocity + 6 * k);
            world->bodies[k].omega = rp__vec3_load(velocity + 6 * k + 3);
            rp__body_predict(&world->bodies[k], dt);
        }
}

/* Out of the bodies, on the side where the particle was. One that crossed a body, thin or fast, keeps no speed into it. Where that leads out of one body into
 * another, or through a wall, to a place near by that is outside of all. */
static inline void ns_push_out(const rp__world *world, const rp__body_space *room, double h, int64_t i, double *x, uint64_t near)
{
    rp__particles *p = world->particles;
    bool met = false;
    for (uint64_t bits = near; bits; bits &= bits - 1) {
        const rp__body *body = &world->bodies[__builtin_ctzll(bits)];
        rp__vec3 to = { x[0], x[1], RP_DIM == 3 ? x[2] : 0 }, v = { p->v[0][i], p->v[1][i], RP_DIM == 3 ? p->v[2][i] : 0 };
        rp__vec3 from = { p->x[0][i], p->x[1][i], RP_DIM == 3 ? p->x[2][i] : 0 };
        rp__body_guard(body, from, 1e-6 * h, &to, &v);
        met |= to.x != x[0] || to.y != x[1] || (RP_DIM == 3 && to.z != x[2]);
        x[0] = to.x, x[1] = to.y;
        p->v[0][i] = v.x, p->v[1][i] = v.y;
        if (RP_DIM == 3)
            x[2] = to.z, p->v[2][i] = v.z;
    }
    rp__vec3 at = { x[0], x[1], RP_DIM == 3 ? x[2] : 0 };
    if (met && rp__body_space_clearance(room, at) < 0 && rp__body_space_find(room, &at)) {
        x[0] = at.x, x[1] = at.y;
        if (RP_DIM == 3)
            x[2] = at.z;
    }
}

#endif
