/* The world as a method from outside sees it. */
#include "base/error.h"
#include "exec/exec.h"
#include "sim/sim_internal.h"

#include <math.h>
#include <string.h>

enum { COOKIE = 0x5265706f }; /* "Repo" */

static const rp_param no_parameters[] = { { 0 } };

rp_method rp_default_method(void)
{
    rp_method method;
    memset(&method, 0, sizeof method);
    method.cookie = COOKIE;
    method.dims = 1 << 2 | 1 << 3;
    method.info.params = no_parameters;
    return method;
}

static rp_result refuse(const rp_method *method, const char *why)
{
    return rp__base_fail(RP_BAD_ARGUMENT, "method '%s' cannot be registered: %s", method->info.name && *method->info.name ? method->info.name : "?",
                         why);
}

rp_result rp__sim_check_method(const rp_method *method)
{
    if (!method)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_method_register was given no method (NULL)");
    if (method->cookie != COOKIE)
        return refuse(method, "its table was not made by rp_default_method");
    if (!method->info.name || !*method->info.name || !method->info.summary)
        return refuse(method, "it has no name or no summary");
    if (!(method->dims & (1 << 2 | 1 << 3)))
        return refuse(method, "it runs neither in 2D nor in 3D");
    if (!method->variant && (!method->create || !method->destroy || !method->step))
        return refuse(method, "it needs the functions create, destroy and step");
    if (!method->info.params)
        return refuse(method, "it has no table of parameters; rp_default_method gives it an empty one");
    for (const rp_param *p = method->info.params; p->name; p++)
        if (p->offset >= method->params_size)
            return refuse(method, "a parameter of its table lies outside its struct (params_size)");
    int count = 0;
    for (const rp_field_info *f = method->info.fields; f && f->name; f++)
        count++;
    return count <= RP_METHOD_MAX_FIELDS ? RP_OK : refuse(method, "it adds too many fields");
}

int rp__sim_method_fields(const rp__method *method, const rp_sim_def *def, const void *params, rp_field_info *out)
{
    if (method->fields)
        return method->fields(def, params, out);
    int count = 0;
    for (const rp_field_info *f = method->info.fields; f && f->name && count < RP_METHOD_MAX_FIELDS; f++)
        out[count++] = *f;
    return count;
}

/* ---- what there is ---- */

const rp_sim_def *rp_world_definition(const rp_world *world)
{
    return world->def;
}

const void *rp_world_params(const rp_world *world)
{
    return world->params;
}

const rp_material_def *rp_world_materials(const rp_world *world)
{
    return world->materials;
}

double rp_world_time(const rp_world *world)
{
    return world->time;
}

int64_t rp_world_count(const rp_world *world)
{
    return world->particles->count;
}

void *rp_world_plane(rp_world *world, const char *field, int component)
{
    int index = field ? rp__particles_find(world->particles, field) : -1;
    if (index < 0 || component < 0 || component >= world->particles->info[index].components)
        return NULL;
    return rp__particles_plane(world->particles, index, component);
}

double *rp_world_reals(rp_world *world, const char *field, int component)
{
    int index = field ? rp__particles_find(world->particles, field) : -1;
    return index >= 0 && world->particles->info[index].type == RP_F64 ? rp_world_plane(world, field, component) : NULL;
}

/* ---- bodies and walls ---- */

static rp__body *body_at(const rp_world *world, int body)
{
    return body >= 0 && body < world->body_count ? &world->bodies[body] : NULL;
}

int rp_world_body_count(const rp_world *world)
{
    return world->body_count;
}

rp_result rp_world_body(const rp_world *world, int body, rp_body_state *out)
{
    const rp__body *b = body_at(world, body);
    if (!b || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "body %d of %d", body, world->body_count);
    rp__sim_body_state(b, out);
    return RP_OK;
}

double rp_world_body_distance(const rp_world *world, int body, bool at_end, const double point[3], double gradient[3])
{
    const rp__body *b = body_at(world, body);
    rp__vec3 g = { 0, 0, 0 };
    double distance = b && b->present ? rp__body_distance(b, at_end ? &b->pose_next : &b->pose, rp__vec3_load(point), gradient ? &g : NULL)
                                      : INFINITY;
    if (gradient)
        rp__vec3_store(gradient, g);
    return distance;
}

void rp_world_body_velocity(const rp_world *world, int body, const double point[3], double velocity[3])
{
    const rp__body *b = body_at(world, body);
    rp__vec3_store(velocity, b ? rp__body_velocity_at(b, rp__vec3_load(point)) : rp__vec3_make(0, 0, 0));
}

void rp_world_body_guard(const rp_world *world, int body, const double from[3], double to[3], double velocity[3])
{
    const rp__body *b = body_at(world, body);
    if (!b || !b->present)
        return;
    rp__vec3 x = rp__vec3_load(to), v = rp__vec3_load(velocity);
    rp__body_guard(b, rp__vec3_load(from), 1e-6 * world->def->cell_size, &x, &v);
    rp__vec3_store(to, x);
    rp__vec3_store(velocity, v);
}

void rp_world_push_body(rp_world *world, int body, const double point[3], const double impulse[3], double dt)
{
    rp__body *b = body_at(world, body);
    if (!b || !b->present)
        return;
    rp__vec3 p = rp__vec3_load(impulse), turn = rp__vec3_cross(rp__body_arm(b, rp__vec3_load(point)), p);
    rp__body_apply(b, p, turn);
    b->force = rp__vec3_axpy(1 / dt, p, b->force);
    b->torque = rp__vec3_axpy(1 / dt, turn, b->torque);
}

void rp_world_push_wall(rp_world *world, int face, const double impulse[3], double dt)
{
    for (int a = 0; a < 3 && face >= 0 && face < 6; a++)
        world->wall_force[face][a] += impulse[a] / dt;
}

/* ---- threads ---- */

typedef struct loop {
    void (*function)(void *context, int64_t begin, int64_t end);
    void *context;
} loop;

static void run_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const loop *l = context;
    (void)worker;
    l->function(l->context, begin, end);
}

void rp_world_for(rp_world *world, int64_t count, int64_t chunk, void (*function)(void *, int64_t, int64_t), void *context)
{
    loop l = { function, context };
    (void)world;
    rp__exec_for(count, chunk > 0 ? chunk : 1024, run_chunk, &l);
}

void rp_world_sum(rp_world *world, int64_t count, int64_t chunk, int width, void (*function)(void *, int64_t, int64_t, double *),
                  void *context, double *result)
{
    (void)world;
    rp__exec_sum(count, chunk > 0 ? chunk : 1024, width < 0 ? 0 : width > RP_EXEC_MAX_WIDTH ? RP_EXEC_MAX_WIDTH : width, function, context, result);
}
