/* The camera of a film: named views, points, the scene's camera with its keys and turntable, or framed automatically. */
#include "render/film.h"

#include "math/quat.h"

#include <math.h>
#include <string.h>

/* The box to show: the first grains, bodies and emitters, with room for the grains to run out on each side. It depends on
 * the scene and the first frame alone, so that pictures made at any time of a run fit together. */
static void grow(double lower[3], double upper[3], const double a[3], const double b[3])
{
    for (int d = 0; d < 3; d++) {
        if (isfinite(a[d]))
            lower[d] = fmin(lower[d], a[d]);
        if (isfinite(b[d]))
            upper[d] = fmax(upper[d], b[d]);
    }
}

static void grow_by_bodies(const rp_film *film, const rp_frame *first, double lower[3], double upper[3])
{
    for (int b = 0; b < film->body_count && b < first->body_count; b++) {
        const film_body *body = &film->bodies[b];
        const rp_body_state *s = &first->bodies[b];
        if (!body->bounded || !s->present)
            continue;
        const double *q = s->orientation;
        rp__pose pose = { rp__vec3_load(s->position), { q[0], q[1], q[2], q[3] } };
        for (int k = 0; k < 8; k++) {
            double corner[3];
            for (int d = 0; d < 3; d++)
                corner[d] = k >> d & 1 ? body->upper[d] : body->lower[d];
            rp__vec3_store(corner, rp__pose_apply(&pose, rp__vec3_load(corner)));
            grow(lower, upper, corner, corner);
        }
    }
}

static void shown_box(const rp_film *film, const rp_frame *first, double lower[3], double upper[3])
{
    const rp_sim_def *sim = film->sim;
    const rp_field_view *x = rp_frame_field(first, "position");
    for (int d = 0; d < 3; d++)
        lower[d] = INFINITY, upper[d] = -INFINITY;
    if (x && x->info.type == RP_F64)
        for (int d = 0; d < 3; d++) {
            const double *p = (const double *)x->data + d * x->stride;
            for (int64_t i = 0; i < x->count; i++)
                if (isfinite(p[i]))
                    lower[d] = fmin(lower[d], p[i]), upper[d] = fmax(upper[d], p[i]);
        }
    bool grains = lower[0] <= upper[0];
    int up = film->up_axis;
    double floor = film->up_sign > 0 ? sim->lower[up] : sim->upper[up];
    double run_out = grains ? fabs((film->up_sign > 0 ? upper[up] : lower[up]) - floor) : 0;
    for (int e = 0; e < sim->emitter_count; e++) {
        double a[3], b[3];
        if (!sim->emitters[e].shape)
            continue;
        rp_shape_bounds(sim->emitters[e].shape, a, b);
        grow(lower, upper, a, b);
        run_out = fmax(run_out, 0.4 * fabs((film->up_sign > 0 ? b[up] : a[up]) - floor));
    }
    if (!(lower[0] <= upper[0])) { /* nothing is there yet */
        memcpy(lower, sim->lower, 3 * sizeof *lower);
        memcpy(upper, sim->upper, 3 * sizeof *upper);
        return;
    }
    for (int d = 0; d < 3; d++)
        if (d != up && !(sim->dim == 2 && d == 2))
            lower[d] -= run_out, upper[d] += run_out;
    grow_by_bodies(film, first, lower, upper);
    if (isfinite(floor))
        lower[up] = fmin(lower[up], floor), upper[up] = fmax(upper[up], floor);
    for (int d = 0; d < 3; d++) {
        lower[d] = fmax(lower[d], sim->lower[d]);
        upper[d] = fmin(upper[d], sim->upper[d]);
        if (sim->dim == 2) { /* a section is shown over its whole width */
            if (d != up)
                lower[d] = d == 2 ? 0 : sim->lower[d], upper[d] = d == 2 ? 0 : sim->upper[d];
        }
    }
}

/* Three numbers "x,y,z" at *text; moves it behind them. */
static bool read_point(const char **text, double out[3])
{
    for (int d = 0; d < 3; d++) {
        const char *end = rp__units_number(*text, &out[d]);
        if (!end || (d < 2 && *end != ','))
            return false;
        *text = end + (d < 2);
    }
    return true;
}

static rp_result view_from_text(rp_film *film, const char *text, const double lower[3], const double upper[3], rp_view *out)
{
    static const char *const names[] = { "auto", "iso", "front", "side", "top", "close", NULL };
    /* right, towards the viewer, up */
    static const double directions[][3] = { { 0.45, 0.9, 0.4 }, { 0.7, 0.7, 0.55 }, { 0, 1, 0.02 },
                                            { 1, 0.02, 0.02 },   { 0, 0.001, 1 },     { 0.45, 0.9, 0.3 } };
    bool parallel = strncmp(text, "ortho-", 6) == 0;
    const char *name = parallel ? text + 6 : text;
    double up[3] = { 0, 0, 0 }, direction[3] = { 0, 0, 0 };
    int u = film->up_axis, across = u == 0 ? 1 : 0, depth = 3 - u - across;
    up[u] = film->up_sign;
    double wide = film->sim->upper[across] - film->sim->lower[across], deep = film->sim->upper[depth] - film->sim->lower[depth];
    if (film->sim->dim == 3 && deep > 1.5 * wide) {
        int t = across; /* the longer side runs across the picture */
        across = depth, depth = t;
    }
    double toward = across == (depth + 1) % 3 ? 1 : -1; /* keeps the picture from being mirrored */
    if (u == 2)
        toward = depth == 1 ? -1 : 1;
    double fov = film->out->field_of_view > 0 ? film->out->field_of_view : 0.6;
    for (int k = 0; names[k]; k++)
        if (strcmp(name, names[k]) == 0) {
            direction[across] = directions[k][0];
            direction[depth] = toward * directions[k][1];
            direction[u] += film->up_sign * directions[k][2];
            if (film->sim->dim == 2) {
                direction[0] = direction[1] = 0, direction[2] = 1;
                parallel = true;
            }
            *out = rp_view_frame(lower, upper, direction, up, fov, parallel || film->out->orthographic, film->def.width,
                                 film->def.height, k == 5 ? 1.8 : k < 2 && film->sim->dim == 3 ? 1.12 : 0.94);
            return RP_OK;
        }
    rp_view v = { .field_of_view = fov, .orthographic = parallel || film->out->orthographic };
    memcpy(v.up, up, sizeof up);
    for (int d = 0; d < 3; d++)
        v.target[d] = 0.5 * (lower[d] + upper[d]);
    const char *at = name;
    if (read_point(&at, v.eye) && (*at == '\0' || (*at == ':' && (at++, read_point(&at, v.target)) && *at == '\0'))) {
        *out = v;
        return RP_OK;
    }
    return rp__base_fail(RP_BAD_ARGUMENT,
                         "'%s' is not a view; right is auto, iso, front, side, top or close (with 'ortho-' before it for no "
                         "perspective), 'x,y,z' for the camera [m], or 'x,y,z:x,y,z' with its target",
                         text);
}

rp_result rp__film_choose_view(rp_film *film, const rp_frame *first)
{
    double lower[3], upper[3];
    shown_box(film, first, lower, upper);
    const rp_output_def *out = film->out;
    if (!film->view_text && out->camera_given) {
        rp_view v = { .field_of_view = out->field_of_view, .orthographic = out->orthographic };
        memcpy(v.eye, out->eye, sizeof v.eye);
        memcpy(v.target, out->target, sizeof v.target);
        memcpy(v.up, out->up, sizeof v.up);
        film->view = v;
    } else
        RP_TRY(view_from_text(film, film->view_text ? film->view_text : "auto", lower, upper, &film->view));
    film->view.aperture = film->def.aperture;
    film->view.focus = out->focus;
    return RP_OK;
}

/* Catmull–Rom through the keys, at rest at the ends. */
static void key_view(const rp_camera_key *k, int count, double time, rp_view *v)
{
    int i = 0;
    while (i < count - 2 && time >= k[i + 1].time)
        i++;
    if (count == 1 || time <= k[0].time || time >= k[count - 1].time) {
        const rp_camera_key *at = count > 1 && time >= k[count - 1].time ? &k[count - 1] : &k[0];
        memcpy(v->eye, at->eye, sizeof v->eye);
        memcpy(v->target, at->target, sizeof v->target);
        return;
    }
    double h = k[i + 1].time - k[i].time, t = (time - k[i].time) / h, t2 = t * t, t3 = t2 * t;
    for (int d = 0; d < 6; d++) {
#define VALUE(j) (d < 3 ? k[j].eye[d] : k[j].target[d - 3])
        double a = VALUE(i), b = VALUE(i + 1);
        double ma = i > 0 ? (b - VALUE(i - 1)) / (k[i + 1].time - k[i - 1].time) : 0;
        double mb = i + 2 < count ? (VALUE(i + 2) - a) / (k[i + 2].time - k[i].time) : 0;
#undef VALUE
        double value = (2 * t3 - 3 * t2 + 1) * a + (t3 - 2 * t2 + t) * h * ma + (3 * t2 - 2 * t3) * b + (t3 - t2) * h * mb;
        if (d < 3)
            v->eye[d] = value;
        else
            v->target[d - 3] = value;
    }
}

rp_view rp__film_view_at(const rp_film *film, double time)
{
    rp_view v = film->view;
    if (!film->view_text && film->out->camera_key_count > 0)
        key_view(film->out->camera_keys, film->out->camera_key_count, time, &v);
    if (film->def.turntable != 0)
        v = rp_view_turn(&v, 2 * 3.14159265358979323846 * film->def.turntable * time);
    return v;
}
