/* Bodies made of beads, as in [sommer2022]: balls of the grains' radius.
 *
 * `boundary: particles`: scripted bodies get beads along the surface a radius below their own, near enough to each other that
 * grains lie within 0.4 radii of the true one. They go with the body and do not give way.
 *
 * `body: shape_matching`: free bodies without a joint are filled with beads that move like grains; after each sweep the rigid motion nearest to
 * theirs takes their place,
 *
 *     c = sum (x~_i - c_0) / N,   C = sum (x~_i - c) o_iᵀ,   x~_i = R o_i + c,     o_i = x_i - c_0 at the beginning of the step,
 *
 * with R the rotation of the polar decomposition of C, by Newton's steps from the one of the sweep before (the idea of [mueller2016]): it
 * stays a rotation for flat bodies and for beads in a row. Beads of a body have one mass: linear momentum is kept. The inertia is that of the beads. */
#include "pbd/state.h"

#include "base/error.h"
#include "base/memory.h"
#include "shape/sampling.h"

#include <math.h>

enum { TURNS = 30 };
#define CLOSE 0.6 /* beads of a surface are 1.2 to 2.4 radii from their neighbours: grains sink in between by 0.4 radii at most */

bool rp__pbd_is_matched(const rp__pbd *s, const rp__body *body)
{
    return s->par->body == RP_PBD_SHAPE_MATCHING && body->def.kind == RP_BODY_FREE && body->def.joint == RP_JOINT_NONE;
}

static bool has_surface(const rp__pbd *s, const rp__body *body)
{
    return s->par->boundary == RP_PBD_PARTICLES && body->def.kind == RP_BODY_SCRIPTED && !body->def.sequence;
}

void rp__pbd_free_beads(rp__pbd_beads *beads)
{
    void *all[] = { beads->local, beads->x, beads->u, beads->mass, beads->body, beads->slot, beads->first };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        rp__base_free(all[k]);
}

static rp_result reserve(rp__pbd_beads *b, int64_t count)
{
    if (count <= b->capacity)
        return RP_OK;
#define GROW(array)                                                                         \
    do {                                                                                    \
        void *grown = rp__base_realloc_array(b->array, (size_t)count, sizeof *b->array);    \
        if (!grown)                                                                         \
            return RP_OUT_OF_MEMORY;                                                        \
        b->array = grown;                                                                   \
    } while (0)
    GROW(local);
    GROW(x);
    GROW(u);
    GROW(mass);
    GROW(body);
    GROW(slot);
#undef GROW
    b->capacity = count;
    return RP_OK;
}

/* Centres in the frame of the shape. A shape without ends is sampled where the domain is, or may come to be by its motion. */
static rp_result sample(const rp__pbd *s, const rp_sim_def *def, const rp__body *body, bool filled, double **points, int64_t *count)
{
    rp__spheres_def d = { .dim = s->dim, .radius = filled ? s->r : CLOSE * s->r, .seed = def->seed + 0x62656164, .limit = (int64_t)1 << 28 };
    double low[3], high[3], reach = 0;
    rp_shape_bounds(body->def.shape, low, high);
    for (int a = 0; a < s->dim; a++)
        reach += (def->upper[a] - def->lower[a]) * (def->upper[a] - def->lower[a]);
    rp__vec3 middle = rp__vec3_scale(0.5, rp__vec3_add(rp__vec3_load(def->lower), rp__vec3_load(def->upper)));
    double at[3];
    rp__vec3_store(at, rp__pose_inverse_apply(&body->pose, middle));
    for (int a = 0; a < 3; a++) {
        double half = 0.5 * sqrt(reach) + 2 * s->r;
        d.lower[a] = fmax(low[a], at[a] - half);
        d.upper[a] = fmin(high[a], at[a] + half);
    }
    d.surface = !filled;
    d.inset = s->r;
    RP_TRY(rp__sampling_spheres(body->def.shape, &d, points, count));
    if (*count == 0 && !filled) { /* thinner than two radii: beads in its very surface */
        rp__base_free(*points);
        *points = NULL;
        d.inset = 0;
        RP_TRY(rp__sampling_spheres(body->def.shape, &d, points, count));
    }
    return RP_OK;
}

static rp_result add_body(rp__pbd *s, const rp_sim_def *def, const rp__body *body, int number, bool filled)
{
    rp__pbd_beads *b = &s->beads;
    double *points = NULL;
    int64_t count = 0;
    RP_TRY(sample(s, def, body, filled, &points, &count));
    rp_result result = count ? reserve(b, b->count + count)
                             : rp__base_fail(RP_BAD_ARGUMENT, "pbd: no bead of radius %g m fits into the body '%s'; use smaller grains or 'body: level_set'",
                                             s->r, body->def.name ? body->def.name : "");
    rp__vec3 mean = { 0, 0, 0 };
    for (int64_t k = 0; k < count; k++)
        mean = rp__vec3_axpy(1 / (double)count, rp__vec3_load(points + 3 * k), mean);
    for (int64_t k = 0; k < count && result == RP_OK; k++, b->count++) {
        rp__vec3 from = filled ? mean : body->centre_local;
        rp__vec3_store(b->local[b->count], rp__vec3_sub(rp__vec3_load(points + 3 * k), from));
        b->mass[b->count] = filled ? body->mass / (double)count : 0;
        b->body[b->count] = number;
        b->slot[b->count] = -1;
    }
    rp__base_free(points);
    return result;
}

rp_result rp__pbd_set_beads(rp__pbd *s, const rp__world *world)
{
    rp__pbd_beads *b = &s->beads;
    if (b->first && b->bodies == world->body_count)
        return RP_OK;
    int old = b->first ? b->bodies : 0; /* bodies may be added while it runs */
    int64_t *first = rp__base_realloc_array(b->first, (size_t)world->body_count + 1, sizeof *first);
    if (!first)
        return RP_OUT_OF_MEMORY;
    b->first = first;
    first[0] = 0;
    for (int k = old; k < world->body_count; k++) {
        const rp__body *body = &world->bodies[k];
        bool filled = rp__pbd_is_matched(s, body);
        b->bodies = k;
        if (filled || has_surface(s, body))
            RP_TRY(add_body(s, world->def, body, k, filled));
        first[k + 1] = b->count;
    }
    b->bodies = world->body_count;
    return RP_OK;
}

void rp__pbd_place_beads(rp__pbd *s, const rp__world *world)
{
    rp__pbd_beads *b = &s->beads;
    s->any_matched = false;
    for (int k = 0; k < b->bodies; k++) {
        const rp__body *body = &world->bodies[k];
        bool matched = rp__pbd_is_matched(s, body) && b->first[k + 1] > b->first[k];
        s->any_matched = s->any_matched || (matched && body->present);
        s->bodies[k].match = rp__quat_from_vector(rp__vec3_scale(s->h, body->omega));
        for (int64_t i = b->first[k]; i < b->first[k + 1]; i++) {
            rp__vec3 x = rp__pose_apply(&body->pose, rp__vec3_load(b->local[i])), to = rp__pose_apply(&body->pose_next, rp__vec3_load(b->local[i]));
            if (matched) {
                rp__vec3 arm = rp__vec3_sub(x, body->pose.position);
                to = rp__quat_rotate(s->bodies[k].match, arm);
                to = rp__vec3_add(rp__vec3_axpy(s->h, body->velocity, body->pose.position), to);
            }
            rp__vec3_store(b->x[i], x);
            rp__vec3_store(b->u[i], rp__vec3_sub(to, x));
        }
    }
}

static rp__vec3 solve3(const double a[6], rp__vec3 b) /* symmetric, xx yy zz xy xz yz; positive */
{
    double c0 = a[1] * a[2] - a[5] * a[5], c1 = a[4] * a[5] - a[3] * a[2], c2 = a[3] * a[5] - a[4] * a[1];
    double det = a[0] * c0 + a[3] * c1 + a[4] * c2, per = det > 0 ? 1 / det : 0;
    double d0 = a[0] * a[2] - a[4] * a[4], d1 = a[3] * a[4] - a[0] * a[5], e0 = a[0] * a[1] - a[3] * a[3];
    return rp__vec3_make(per * (c0 * b.x + c1 * b.y + c2 * b.z), per * (c1 * b.x + d0 * b.y + d1 * b.z), per * (c2 * b.x + d1 * b.y + e0 * b.z));
}

/* The rotation R nearest to C, from one near it: Newton's steps on tr(Rᵀ C), turns w with (tr S - S) w = axial part of C Rᵀ, S the
 * symmetric part. What beads in a row leave open, the turn about the row, stays as it is. */
static rp__quat rotation_of(double c[3][3], rp__quat from)
{
    for (int turn = 0; turn < TURNS; turn++) {
        rp__mat3 r = rp__quat_matrix(from);
        double m[3][3] = { { 0 } };
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                for (int k = 0; k < 3; k++)
                    m[a][b] += c[a][k] * r.m[b][k];
        rp__vec3 axial = { m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1] };
        double trace = m[0][0] + m[1][1] + m[2][2], open = 1e-6 * fabs(trace);
        if (!(trace > 0) || !(rp__vec3_norm(axial) > 1e-15 * trace))
            break;
        double a[6] = { trace - m[0][0] + open,         trace - m[1][1] + open,         trace - m[2][2] + open,
                        -0.5 * (m[0][1] + m[1][0]), -0.5 * (m[0][2] + m[2][0]), -0.5 * (m[1][2] + m[2][1]) };
        rp__vec3 w = solve3(a, axial);
        double size = rp__vec3_norm(w);
        if (!(size < 1)) /* far from it: no farther than a radian at a time */
            w = rp__vec3_scale(1 / size, w);
        from = rp__quat_unit(rp__quat_multiply(rp__quat_from_vector(w), from));
    }
    return from;
}

static void match(rp__pbd *s, int number, const int32_t *at, int64_t count)
{
    rp__pbd_body *b = &s->bodies[number];
    rp__vec3 from = { 0, 0, 0 }, to = { 0, 0, 0 };
    double c[3][3] = { { 0 } }, part = 1 / (double)count;
    for (int64_t k = 0; k < count; k++) {
        rp__vec3 x = rp__vec3_load(s->x[at[k]]);
        from = rp__vec3_axpy(part, x, from);
        to = rp__vec3_axpy(part, rp__vec3_load(s->u[at[k]]), to);
    }
    for (int64_t k = 0; k < count; k++) {
        double o[3], p[3];
        rp__vec3 arm = rp__vec3_sub(rp__vec3_load(s->x[at[k]]), from);
        rp__vec3_store(o, arm);
        rp__vec3_store(p, rp__vec3_add(arm, rp__vec3_sub(rp__vec3_load(s->u[at[k]]), to)));
        for (int a = 0; a < 3; a++)
            for (int d = 0; d < 3; d++)
                c[a][d] += p[a] * o[d];
    }
    b->match = rotation_of(c, b->match);
    rp__vec3_store(b->d, to);
    rp__vec3_store(b->d + 3, rp__quat_to_vector(b->match));
    for (int64_t k = 0; k < count; k++) {
        rp__vec3 o = rp__vec3_sub(rp__vec3_load(s->x[at[k]]), from);
        rp__vec3_store(s->u[at[k]], rp__vec3_add(to, rp__vec3_sub(rp__quat_rotate(b->match, o), o)));
    }
}

void rp__pbd_match_shapes(rp__pbd *s)
{
    const rp__pbd_beads *b = &s->beads;
    for (int k = 0; k < b->bodies && s->any_matched; k++)
        if (s->bodies[k].matched)
            match(s, k, s->bead_at + b->first[k], b->first[k + 1] - b->first[k]);
}

/* Where each bead is in the order of this step. */
rp_result rp__pbd_find_beads(rp__pbd *s)
{
    if (!rp__base_grow(&s->bead_at, &s->bead_at_capacity, s->beads.count + 1, sizeof *s->bead_at))
        return RP_OUT_OF_MEMORY;
    for (int64_t k = 0; k < s->n && s->beads.count; k++)
        if (s->owner[k] >= 0) {
            s->bead_at[-1 - s->id[k]] = (int32_t)k;
            s->beads.slot[-1 - s->id[k]] = (int32_t)k; /* for the next step */
        }
    return RP_OK;
}

/* Forces on bodies of beads that go their way: mean mass × p / h² of every pair, p = (l n + t) / (w_i + w_j); and the velocities of matched
 * bodies, with the force that made them. */
void rp__pbd_bead_forces(rp__pbd *s, rp__world *world)
{
    for (int64_t g = 0; g < s->groups && s->beads.count; g++)
        for (int lane = 0; lane < RP_PBD_LANES; lane++) {
            const rp__pbd_wide *w = &s->wide[g];
            if (w->pair[lane] < 0)
                continue;
            for (int side = 0; side < 2; side++) {
                int32_t k = side ? w->j[lane] : w->i[lane];
                if (s->owner[k] < 0 || s->bodies[s->owner[k]].matched)
                    continue;
                double f[3], n[3], at[3], per = (side ? -1 : 1) * s->mean_mass * (double)w->inv[lane] / (s->h * s->h);
                rp__body *body = &world->bodies[s->owner[k]];
                for (int a = 0; a < 3; a++) {
                    n[a] = (side ? 1 : -1) * (double)w->n[a][lane];
                    f[a] = per * ((double)w->l[lane] * (double)w->n[a][lane] + (double)w->t[a][lane]);
                    at[a] = s->x[k][a] + s->r * n[a];
                }
                body->force = rp__vec3_add(body->force, rp__vec3_load(f));
                body->torque = rp__vec3_add(body->torque, rp__vec3_cross(rp__vec3_sub(rp__vec3_load(at), body->pose.position), rp__vec3_load(f)));
                rp__sim_tell_contact(world, 6 + s->owner[k], RP_PBD_LANES * g + lane, at, n, f, s->h);
            }
        }
    for (int k = 0; k < s->beads.bodies && s->any_matched; k++) {
        rp__body *body = &world->bodies[k];
        if (!s->bodies[k].matched)
            continue;
        rp__vec3 v = rp__vec3_scale(1 / s->h, rp__vec3_load(s->bodies[k].d)), turn = rp__vec3_scale(1 / s->h, rp__vec3_load(s->bodies[k].d + 3));
        rp__mat3 r = rp__quat_matrix(body->pose.orientation);
        rp__vec3 change = rp__mat3_apply_transposed(&r, rp__vec3_sub(turn, body->omega));
        body->force = rp__vec3_scale(body->mass / s->h, rp__vec3_sub(v, body->velocity));
        body->torque = rp__vec3_scale(1 / s->h, rp__mat3_apply(&r, rp__mat3_apply(&body->inertia_local, change)));
        body->velocity = v;
        body->omega = turn;
    }
}
