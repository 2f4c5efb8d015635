#include "controls.h"

#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- poses: x → q x q* + p ---- */

typedef struct pose {
    double p[3], q[4];
} pose;

static void quaternion_product(const double a[4], const double b[4], double out[4])
{
    double r[4] = { a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0] };
    memcpy(out, r, sizeof r);
}

/* v + 2 u × (u × v + w v), with q = (w, u) */
static void rotate(const double q[4], const double v[3], double out[3])
{
    const double *u = q + 1;
    double c[3] = { u[1] * v[2] - u[2] * v[1] + q[0] * v[0], u[2] * v[0] - u[0] * v[2] + q[0] * v[1], u[0] * v[1] - u[1] * v[0] + q[0] * v[2] };
    double r[3] = { v[0] + 2 * (u[1] * c[2] - u[2] * c[1]), v[1] + 2 * (u[2] * c[0] - u[0] * c[2]), v[2] + 2 * (u[0] * c[1] - u[1] * c[0]) };
    memcpy(out, r, sizeof r);
}

static pose after(const pose *a, const pose *b) /* first b, then a */
{
    pose r;
    rotate(a->q, b->p, r.p);
    for (int d = 0; d < 3; d++)
        r.p[d] += a->p[d];
    quaternion_product(a->q, b->q, r.q);
    return r;
}

/* exp(q s): a turn about the axis through the point, or a shift along it. */
static pose joint(const rp_control_def *def, double place)
{
    pose r = { { 0, 0, 0 }, { 1, 0, 0, 0 } };
    if (def->kind == RP_CONTROL_SLIDE) {
        for (int d = 0; d < 3; d++)
            r.p[d] = place * def->axis[d];
        return r;
    }
    double moved[3];
    r.q[0] = cos(0.5 * place);
    for (int d = 0; d < 3; d++)
        r.q[1 + d] = sin(0.5 * place) * def->axis[d];
    rotate(r.q, def->point, moved);
    for (int d = 0; d < 3; d++)
        r.p[d] = def->point[d] - moved[d];
    return r;
}

static pose chain(const controls *c, int index)
{
    pose own = joint(c->item[index].def, c->item[index].place);
    if (c->item[index].parent < 0)
        return own;
    pose above = chain(c, c->item[index].parent);
    return after(&above, &own);
}

void controls_pose(const controls *c, int index, double position[3], double orientation[4])
{
    pose first, moved = chain(c, index);
    memcpy(first.p, c->first[index].position, sizeof first.p);
    memcpy(first.q, c->first[index].orientation, sizeof first.q);
    first = after(&moved, &first);
    double length = sqrt(first.q[0] * first.q[0] + first.q[1] * first.q[1] + first.q[2] * first.q[2] + first.q[3] * first.q[3]);
    memcpy(position, first.p, sizeof first.p);
    for (int k = 0; k < 4; k++)
        orientation[k] = first.q[k] / length;
}

/* ---- opening ---- */

static int find_body(const rp_sim *sim, const char *name)
{
    for (int b = 0; b < rp_sim_body_count(sim); b++)
        if (strcmp(rp_sim_body_name(sim, b), name) == 0)
            return b;
    return -1;
}

rp_result controls_init(controls *c, const rp_scene *scene, rp_sim *sim)
{
    memset(c, 0, sizeof *c);
    c->sim = sim;
    int count = rp_scene_control_count(scene);
    for (int k = 0; k < count && k < CONTROLS_MOST; k++) {
        control *item = &c->item[k];
        item->def = rp_scene_control(scene, k);
        item->body = find_body(sim, item->def->body);
        item->parent = -1;
        for (int p = 0; p < k && item->def->parent[0]; p++)
            if (strcmp(c->item[p].def->name, item->def->parent) == 0)
                item->parent = p;
        rp_result result = rp_sim_body(sim, item->body, &c->first[k]);
        if (result != RP_OK)
            return result;
        c->count++;
    }
    return RP_OK;
}

void controls_free(controls *c)
{
    free(c->past);
    memset(c, 0, sizeof *c);
}

void controls_text(const controls *c, FILE *to)
{
    static const char *const mice[] = { "", "x", "y" };
    fputs(",\"controls\":[", to);
    for (int k = 0; k < c->count; k++) {
        const rp_control_def *def = c->item[k].def;
        fprintf(to, "%s{\"name\":", k ? "," : "");
        json_quote(to, def->name[0] ? def->name : def->body);
        fputs(",\"more\":", to);
        json_quote(to, def->more);
        fputs(",\"less\":", to);
        json_quote(to, def->less);
        fprintf(to, ",\"gamepad\":%lld,\"mouse\":\"%s\"%s}", (long long)def->gamepad, mice[def->mouse], def->rate == 0 ? ",\"fixed\":true" : "");
    }
    fputs("]", to);
}

/* ---- moving ---- */

void controls_set(controls *c, int64_t index, double value)
{
    if (index >= 0 && index < c->count)
        c->item[index].input = fmin(fmax(value, -1), 1);
}

/* The joints as they will be at a time. */
static void remember(controls *c, double time)
{
    if (c->past_count == c->past_room) {
        int room = 2 * c->past_room + 64;
        control_past *more = realloc(c->past, (size_t)room * sizeof *more);
        if (!more)
            return;
        c->past = more, c->past_room = room;
    }
    control_past *now = &c->past[c->past_count++];
    now->time = time;
    for (int k = 0; k < c->count; k++)
        now->place[k] = c->item[k].place;
}

/* The joints a step of length dt later; true when one has moved. */
static bool advance(controls *c, double dt)
{
    bool moved = false;
    for (int k = 0; k < c->count; k++) {
        control *item = &c->item[k];
        const rp_control_def *def = item->def;
        if (def->kind == RP_CONTROL_MOTOR)
            continue;
        double place = item->place + dt * def->rate * item->input;
        if (def->least < def->most)
            place = fmin(fmax(place, def->least), def->most);
        moved = moved || place != item->place;
        item->place = place;
    }
    return moved;
}

/* The last control of a body tells where it is. */
static bool is_last(const controls *c, int index)
{
    for (int k = index + 1; k < c->count; k++)
        if (c->item[k].body == c->item[index].body && c->item[k].def->kind != RP_CONTROL_MOTOR)
            return false;
    return c->item[index].def->kind != RP_CONTROL_MOTOR;
}

static rp_result set_motors(controls *c)
{
    rp_result result = RP_OK;
    for (int k = 0; k < c->count && result == RP_OK; k++) {
        control *item = &c->item[k];
        double value = item->def->rate * item->input;
        if (item->def->kind != RP_CONTROL_MOTOR || (value == item->motor && c->held))
            continue;
        item->motor = value;
        result = rp_sim_set_body_motor(c->sim, item->body, value);
    }
    return result;
}

rp_result controls_apply(controls *c)
{
    bool any = !c->held;
    if (c->count == 0)
        return RP_OK;
    for (int k = 0; k < c->count; k++)
        any = any || c->item[k].input != 0;
    double next = rp_sim_time(c->sim);
    rp_result result = set_motors(c);
    if (result == RP_OK && any)
        result = rp_sim_next_time(c->sim, &next);
    bool moved = result == RP_OK && any && advance(c, next - rp_sim_time(c->sim));
    for (int k = 0; k < c->count && result == RP_OK && (moved || !c->held); k++)
        if (is_last(c, k)) {
            double position[3], orientation[4];
            controls_pose(c, k, position, orientation);
            result = rp_sim_set_body_target(c->sim, c->item[k].body, position, orientation, RP_NEXT_STEP);
        }
    if (moved)
        remember(c, next);
    c->held = true;
    return result;
}

void controls_reset(controls *c)
{
    double time = rp_sim_time(c->sim);
    while (c->past_count > 0 && c->past[c->past_count - 1].time > time * (1 + 1e-12))
        c->past_count--;
    for (int k = 0; k < c->count; k++) {
        c->item[k].place = c->past_count > 0 ? c->past[c->past_count - 1].place[k] : 0;
        c->item[k].motor = NAN;
    }
    c->held = rp_sim_steps(c->sim) > 0;
}
