/* Films: the frames of a run, the bodies of its scene, a camera and a light, to pictures. */
#include "render/film.h"

#include "base/file.h"
#include "math/quat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

rp_film_def rp_default_film_def(void)
{
    return (rp_film_def){ .quality = RP_GOOD, .grains_per_particle = -1, .upsample = -1, .legend = true, .shutter = NAN, .aperture = NAN, .turntable = NAN };
}

rp_result rp__film_plane(const rp_field_view *view, int component, const double **plane, double **copy)
{
    *copy = NULL;
    int64_t base = (int64_t)component * view->stride;
    if (view->info.type == RP_F64) {
        *plane = (const double *)view->data + base;
        return RP_OK;
    }
    double *values = RP_NEW_ARRAY(double, view->count);
    if (!values)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < view->count; i++)
        switch (view->info.type) {
        case RP_F32: values[i] = (double)((const float *)view->data)[base + i]; break;
        case RP_I32: values[i] = (double)((const int32_t *)view->data)[base + i]; break;
        default: values[i] = (double)((const int64_t *)view->data)[base + i]; break;
        }
    *plane = *copy = values;
    return RP_OK;
}

rp_result rp__film_read(const rp_film *film, int64_t i, rp_frame *frame)
{
    char *path = rp__io_frame_path(film->folder, RP_IO_FRAME_PREFIX, film->list.numbers[i]);
    if (!path)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp_frame_read(path, frame);
    rp__base_free(path);
    return result;
}

/* ---- bodies ---- */

/* The box in which a body is turned into triangles: its bounds, or a piece as large as the domain where it has none. */
static bool body_box(const rp_film *film, const rp_body_def *body, double lower[3], double upper[3])
{
    const rp_sim_def *sim = film->sim;
    bool bounded = true;
    double diagonal = 0, centre[3];
    for (int d = 0; d < 3; d++)
        diagonal += (sim->upper[d] - sim->lower[d]) * (sim->upper[d] - sim->lower[d]);
    diagonal = sqrt(diagonal);
    rp__pose pose = { rp__vec3_load(body->position), rp__quat_from_vector(rp__vec3_load(body->rotation)) };
    double q[4], p[3];
    if (body->motion && rp_motion_pose(body->motion, 0, p, q) == RP_OK)
        pose = (rp__pose){ rp__vec3_load(p), { q[0], q[1], q[2], q[3] } };
    rp__vec3_store(centre, rp__pose_inverse_apply(&pose, rp__vec3_load(film->middle)));
    rp_shape_bounds(body->shape, lower, upper);
    for (int d = 0; d < 3; d++) {
        double low = centre[d] - 0.75 * diagonal, high = centre[d] + 0.75 * diagonal;
        bool open = !isfinite(lower[d]) || !isfinite(upper[d]) || upper[d] - lower[d] > 20 * diagonal;
        bounded = bounded && !open;
        if (!isfinite(lower[d]) || lower[d] < low - 10 * diagonal)
            lower[d] = fmin(low, isfinite(upper[d]) ? upper[d] - 0.1 * diagonal : low);
        if (!isfinite(upper[d]) || upper[d] > high + 10 * diagonal)
            upper[d] = fmax(high, lower[d] + 0.1 * diagonal);
    }
    double size = 0;
    for (int d = 0; d < 3; d++)
        size = fmax(size, upper[d] - lower[d]);
    for (int d = 0; d < 3; d++) /* the surface must not lie on the box */
        lower[d] -= 0.02 * size, upper[d] += 0.02 * size;
    return bounded;
}

/* What a deforming body is at first; its mesh is made anew for each frame. */
static rp_result sequence_box(const rp_body_def *def, film_body *body)
{
    rp_mesh mesh;
    RP_TRY(rp_mesh_sequence_mesh(def->sequence, 0, &mesh));
    for (int d = 0; d < 3; d++)
        body->lower[d] = INFINITY, body->upper[d] = -INFINITY;
    for (int64_t v = 0; v < 3 * mesh.vertex_count; v++) {
        body->lower[v % 3] = fmin(body->lower[v % 3], mesh.vertices[v]);
        body->upper[v % 3] = fmax(body->upper[v % 3], mesh.vertices[v]);
    }
    body->bounded = mesh.vertex_count > 0;
    rp_mesh_free(&mesh);
    return RP_OK;
}

rp_result rp__film_make_bodies(rp_film *film)
{
    film->body_count = film->sim->body_count;
    film->bodies = rp__base_alloc_zero(sizeof *film->bodies * (size_t)(film->body_count + 1));
    if (!film->bodies)
        return RP_OUT_OF_MEMORY;
    for (int b = 0; b < film->body_count; b++) {
        film_body *body = &film->bodies[b];
        const rp_body_def *def = &film->sim->bodies[b];
        if (def->sequence)
            RP_TRY(sequence_box(def, body));
        if (!def->shape)
            continue;
        body->bounded = body_box(film, def, body->lower, body->upper);
        int resolution = film->def.quality == RP_DRAFT ? 64 : 128;
        rp_result result = rp_shape_triangulate(def->shape, body->lower, body->upper, resolution, &body->mesh);
        if (result == RP_OK)
            result = rp_mesh_sharpen(def->shape, &body->mesh);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "body '%s': ", def->name ? def->name : "?");
    }
    return RP_OK;
}

/* A bounded body that has many of the first grains in its box, while few are in its solid, is a container; one that deforms is a figure. */
void rp__film_find_containers(rp_film *film, const rp_frame *frame)
{
    const rp_field_view *x = rp_frame_field(frame, "position");
    for (int b = 0; b < film->body_count && b < frame->body_count && x && x->info.type == RP_F64; b++) {
        film_body *body = &film->bodies[b];
        if (!body->bounded || frame->count == 0 || (b < film->sim->body_count && film->sim->bodies[b].sequence))
            continue;
        const rp_body_state *s = &frame->bodies[b];
        rp__pose pose = { rp__vec3_load(s->position), { s->orientation[0], s->orientation[1], s->orientation[2], s->orientation[3] } };
        int64_t inside = 0, looked = 0, step = 1 + frame->count / 4096;
        for (int64_t i = 0; i < frame->count; i += step, looked++) {
            const double *p = x->data;
            rp__vec3 at = rp__pose_inverse_apply(&pose, rp__vec3_make(p[i], p[x->stride + i], p[2 * x->stride + i]));
            inside += at.x > body->lower[0] && at.x < body->upper[0] && at.y > body->lower[1] && at.y < body->upper[1] &&
                      at.z > body->lower[2] && at.z < body->upper[2];
        }
        body->container = 5 * inside > 2 * looked;
    }
}

static uint8_t colour_byte(double v)
{
    return (uint8_t)(255 * (v < 0 ? 0 : v > 1 ? 1 : v) + 0.5);
}

static rp_result add_bodies(const rp_film *film, const rp_frame *frame, rp_render *render)
{
    for (int b = 0; b < film->body_count && b < frame->body_count; b++) {
        const film_body *body = &film->bodies[b];
        const rp_body_state *s = &frame->bodies[b];
        const rp_mesh_sequence *sequence = film->sim->bodies[b].sequence;
        if (!s->present || (body->mesh.triangle_count == 0 && !sequence))
            continue;
        rp_mesh_set set = rp_default_mesh_set();
        rp_mesh now = { 0 };
        if (sequence)
            RP_TRY(rp_mesh_sequence_mesh(sequence, frame->time, &now));
        set.mesh = sequence ? &now : &body->mesh;
        memcpy(set.position, s->position, sizeof set.position);
        memcpy(set.orientation, s->orientation, sizeof set.orientation);
        memcpy(set.velocity, s->velocity, sizeof set.velocity);
        memcpy(set.angular_velocity, s->angular_velocity, sizeof set.angular_velocity);
        for (int c = 0; c < 3; c++)
            set.colour[c] = colour_byte(film->sim->bodies[b].colour[c]);
        if (body->container) {
            set.opacity = 0.13;
            set.gloss = 0;
        }
        rp_result result = rp_render_add_mesh(render, &set);
        rp_mesh_free(&now);
        RP_TRY(result);
    }
    return RP_OK;
}

/* ---- ground ---- */

rp_result rp__film_ground(const rp_film *film, film_ground *ground)
{
    const rp_sim_def *sim = film->sim;
    *ground = (film_ground){ .colour = { 204, 197, 186 } };
    const char *text = film->out->ground ? film->out->ground : "auto";
    if (strcmp(text, "none") == 0)
        return RP_OK;
    memcpy(ground->point, film->middle, sizeof ground->point);
    if (text[0] == '#') {
        rp_palette one;
        RP_TRY(rp_palette_parse(text, &one));
        memcpy(ground->colour, one.colour[0], 3);
    }
    if (sim->dim == 2) { /* paper behind the section */
        ground->point[2] = -0.6 * sim->cell_size;
        ground->normal[2] = 1;
        const uint8_t paper[3] = { 214, 212, 208 };
        if (text[0] != '#')
            memcpy(ground->colour, paper, 3);
        ground->present = true;
        return RP_OK;
    }
    int face = 2 * film->up_axis + (film->up_sign > 0 ? 0 : 1);
    rp_surface_kind kind = sim->wall[face].kind;
    if (text[0] != '#' && (kind == RP_OPEN || kind == RP_PERIODIC))
        return RP_OK;
    ground->point[film->up_axis] = film->up_sign > 0 ? sim->lower[film->up_axis] : sim->upper[film->up_axis];
    ground->normal[film->up_axis] = film->up_sign;
    ground->present = true;
    return RP_OK;
}

static rp_result add_ground(const rp_film *film, rp_render *render)
{
    film_ground ground;
    RP_TRY(rp__film_ground(film, &ground));
    return ground.present ? rp_render_set_ground(render, ground.point, ground.normal, ground.colour) : RP_OK;
}

/* In a section the floor is a strip below the domain. */
static rp_result add_floor_strip(const rp_film *film, rp_render *render)
{
    const rp_sim_def *sim = film->sim;
    int up = film->up_axis, across = 1 - up, face = 2 * up + (film->up_sign > 0 ? 0 : 1);
    if (sim->dim != 2 || sim->wall[face].kind == RP_OPEN || sim->wall[face].kind == RP_PERIODIC)
        return RP_OK;
    double thick = 0.02 * (sim->upper[across] - sim->lower[across]), depth = 0.5 * sim->cell_size;
    double floor = film->up_sign > 0 ? sim->lower[up] : sim->upper[up];
    double low[3], high[3];
    low[across] = sim->lower[across], high[across] = sim->upper[across];
    low[up] = fmin(floor, floor - film->up_sign * thick), high[up] = fmax(floor, floor - film->up_sign * thick);
    low[2] = -depth, high[2] = depth;
    static const uint8_t grey[3] = { 120, 116, 110 };
    return rp__film_add_board(render, low, high, grey, 1);
}

/* ---- opening ---- */

void rp__film_find_up(rp_film *film)
{
    const rp_sim_def *sim = film->sim;
    film->up_axis = sim->dim == 2 ? 1 : 2;
    film->up_sign = 1;
    double largest = 0;
    for (int d = 0; d < sim->dim; d++)
        if (fabs(sim->gravity[d]) > 1.001 * largest) {
            largest = fabs(sim->gravity[d]);
            film->up_axis = d;
            film->up_sign = sim->gravity[d] > 0 ? -1 : 1;
        }
    for (int d = 0; d < 3; d++)
        film->middle[d] = sim->dim == 2 && d == 2 ? 0 : 0.5 * (sim->lower[d] + sim->upper[d]);
}

static rp_result load_scene(rp_film *film)
{
    rp_result result = rp_run_scene(film->folder, &film->scene);
    if (result != RP_OK)
        return result;
    film->sim = rp_scene_sim_def(film->scene);
    film->out = rp_scene_output(film->scene);
    film->palettes = rp__base_alloc_zero(sizeof *film->palettes * (size_t)(film->sim->material_count + 1));
    if (!film->palettes)
        return RP_OUT_OF_MEMORY;
    for (int m = 0; m <= film->sim->material_count; m++) {
        const char *colour = m < film->sim->material_count ? film->sim->materials[m].colour : "sand";
        result = rp_palette_parse(colour, &film->palettes[m]);
        if (result != RP_OK)
            return rp__base_fail_prefix(result, "material '%s': ", film->sim->materials[m].name);
    }
    return RP_OK;
}

static char *copy_or_null(const char *text)
{
    return text ? rp__base_copy_text(text) : NULL;
}

/* The other side of a picture of which one was given: in the shape of the scene's, `other` over `one`. */
static int shape_side(int given, int64_t other, int64_t one)
{
    double side = floor((double)given * (double)other / (double)one + 0.5);
    return (int)fmin(fmax(side, 1), RP_IMAGE_MAX_SIZE);
}

static rp_result open_parts(rp_film *film, const rp_film_def *def)
{
    film->def = *def;
    film->view_text = copy_or_null(def->view);
    film->colour = copy_or_null(def->colour);
    if ((def->view && !film->view_text) || (def->colour && !film->colour))
        return RP_OUT_OF_MEMORY;
    RP_TRY(load_scene(film));
    if (!film->colour) {
        film->colour = rp__base_copy_text(film->out->colour && film->out->colour[0] ? film->out->colour : "material");
        if (!film->colour)
            return RP_OUT_OF_MEMORY;
    }
    if (film->def.width <= 0 && film->def.height <= 0) {
        film->def.width = (int)film->out->width;
        film->def.height = (int)film->out->height;
    } else if (film->def.height <= 0) {
        film->def.height = shape_side(film->def.width, film->out->height, film->out->width);
    } else if (film->def.width <= 0) {
        film->def.width = shape_side(film->def.height, film->out->width, film->out->height);
    }
    if (film->def.grains_per_particle < 0)
        film->def.grains_per_particle = film->out->grains_per_particle;
    if (film->def.upsample < 0)
        film->def.upsample = film->out->upsample;
    if (isnan(film->def.shutter))
        film->def.shutter = film->out->shutter;
    if (isnan(film->def.aperture))
        film->def.aperture = film->out->aperture;
    if (isnan(film->def.turntable))
        film->def.turntable = film->out->turntable;
    rp__film_find_up(film);
    RP_TRY(rp_film_scan(film));
    if (film->list.count == 0)
        return rp__base_fail(RP_NOT_FOUND, "%s has no frames; a run writes them to %s/frames", film->folder, film->folder);
    return RP_OK;
}

rp_result rp_film_open(const char *folder, const rp_film_def *def, rp_film **out)
{
    rp_film_def defaults = rp_default_film_def();
    if (!rp__io_is_folder(folder))
        return rp__base_fail(RP_NOT_FOUND, "there is no folder %s", folder);
    rp_film *film = RP_NEW(rp_film);
    if (!film)
        return RP_OUT_OF_MEMORY;
    film->folder = rp__base_copy_text(folder);
    rp_result result = film->folder ? open_parts(film, def ? def : &defaults) : RP_OUT_OF_MEMORY;
    if (result != RP_OK) {
        rp_film_close(film);
        return result;
    }
    *out = film;
    return RP_OK;
}

void rp_film_close(rp_film *film)
{
    if (!film)
        return;
    for (int b = 0; film->bodies && b < film->body_count; b++)
        rp_mesh_free(&film->bodies[b].mesh);
    rp__base_free(film->bodies);
    rp__base_free(film->palettes);
    rp__io_list_free(&film->list);
    if (film->scene)
        rp_scene_destroy(film->scene);
    rp__base_free(film->folder);
    rp__base_free(film->view_text);
    rp__base_free(film->colour);
    rp__base_free(film);
}

rp_result rp_film_scan(rp_film *film)
{
    char *frames = rp__file_join(film->folder, RP_IO_FRAMES);
    rp__io_list list = { 0 };
    if (!frames)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp__io_list_make(&list, frames, RP_IO_FRAME_PREFIX, RP_IO_FRAME_SUFFIX);
    rp__base_free(frames);
    if (result != RP_OK)
        return result;
    rp__io_list_free(&film->list);
    film->list = list;
    return RP_OK;
}

int64_t rp_film_count(const rp_film *film)
{
    return film->list.count;
}

int64_t rp_film_frame_number(const rp_film *film, int64_t i)
{
    return i >= 0 && i < film->list.count ? film->list.numbers[i] : -1;
}

double rp_film_rate(const rp_film *film)
{
    int64_t n = film->list.count;
    double every = n > 1 ? (double)(film->list.numbers[n - 1] - film->list.numbers[0]) / (double)(n - 1) : 1;
    return fmin(120, fmax(1, film->sim->frame_rate / every));
}

/* ---- pictures ---- */

static rp_result prepare(rp_film *film)
{
    rp_frame first;
    if (film->ready)
        return RP_OK;
    if (!film->bodies)
        RP_TRY(rp__film_make_bodies(film));
    rp_result read = RP_BAD_FILE;
    for (int64_t i = 0; read == RP_BAD_FILE && i < film->list.count; i++) /* the first that is sound */
        read = rp__film_read(film, i, &first);
    RP_TRY(read);
    rp__film_find_containers(film, &first);
    rp_result result = rp__film_find_tray(film, &first);
    if (result == RP_OK)
        result = rp__film_choose_view(film, &first);
    if (result == RP_OK && strcmp(film->colour, "material") != 0)
        result = rp__film_check_colour(film, &first);
    rp_frame_free(&first);
    if (result == RP_OK && strcmp(film->colour, "material") != 0)
        result = rp__film_find_range(film);
    film->ready = result == RP_OK;
    return result;
}

rp_result rp_film_check(rp_film *film)
{
    return prepare(film);
}

/* The sun of a film whose scene has none: from the left of the first view and a third of the way up, so that slopes and furrows stand
 * out by their shadows. */
static void side_light(const rp_film *film, double sun[3])
{
    rp__vec3 up = { 0 }, back = rp__vec3_sub(rp__vec3_load(film->view.eye), rp__vec3_load(film->view.target));
    double height[3] = { 0, 0, 0 };
    height[film->up_axis] = film->up_sign;
    up = rp__vec3_load(height);
    back = rp__vec3_sub(back, rp__vec3_scale(rp__vec3_dot(back, up), up));
    double length = sqrt(rp__vec3_dot(back, back));
    if (!(length > 1e-9))
        return; /* seen from above: the usual one */
    back = rp__vec3_scale(1 / length, back);
    rp__vec3 left = rp__vec3_cross(back, up);
    for (int d = 0; d < 3; d++) {
        double l[3], b[3];
        rp__vec3_store(l, left);
        rp__vec3_store(b, back);
        sun[d] = 0.85 * l[d] + 0.1 * b[d] + 0.6 * height[d];
    }
}

double rp__film_sun(const rp_film *film, double sun[3])
{
    double given = fabs(film->out->sun[0]) + fabs(film->out->sun[1]) + fabs(film->out->sun[2]);
    if (given > 0)
        memcpy(sun, film->out->sun, 3 * sizeof *sun);
    if (film->sim->dim == 2) { /* light from above on the left, in front of the paper */
        sun[0] = -0.12, sun[1] = 0.2, sun[2] = 1;
    } else if (given > 0 && (film->up_axis != 2 || film->up_sign < 0)) { /* the direction is given for z upwards */
        double z = sun[2];
        int up = film->up_axis;
        sun[2] = sun[up];
        sun[up] = film->up_sign * z;
    } else if (given == 0) {
        side_light(film, sun);
        return 1.2;
    }
    return 1;
}

static rp_picture picture_of(const rp_film *film, const rp_frame *frame)
{
    rp_picture p = rp_default_picture();
    p.width = film->def.width, p.height = film->def.height;
    p.quality = film->def.quality;
    p.samples = film->def.samples;
    p.threads = film->def.threads;
    p.view = rp__film_view_at(film, frame->time);
    p.exposure *= rp__film_sun(film, p.sun);
    if (film->sim->dim == 2)
        p.sun_radius = 0.06;
    p.sun_strength *= film->out->sun_strength;
    p.sky_strength *= film->out->sky_strength;
    p.lamp_strength = film->out->lamp_strength;
    p.lamp_radius = film->out->lamp_radius;
    for (int d = 0; d < 3; d++) {
        p.lamp_position[d] = film->out->lamp[d];
        p.lamp_direction[d] = p.view.target[d] - p.lamp_position[d];
    }
    if (film->sim->frame_rate > 0)
        p.shutter = film->def.shutter / film->sim->frame_rate;
    return p;
}

static rp_result draw_labels(const rp_film *film, const rp_frame *frame, rp_image *image)
{
    const uint8_t ink[3] = { 40, 40, 44 };
    if (film->def.legend && strcmp(film->colour, "material") != 0)
        RP_TRY(rp__film_add_legend(film, frame, image));
    if (!film->def.time_label)
        return RP_OK;
    char text[48];
    snprintf(text, sizeof text, "t = %.3f s", frame->time);
    double size = fmax(7, image->height / 48.0);
    return rp_image_add_text(image, text, 1.5 * size, image->height - 2.5 * size, size, ink);
}

rp_result rp_film_picture(rp_film *film, int64_t i, rp_progress_fn progress, void *context, rp_image *out)
{
    if (i < 0 || i >= film->list.count)
        return rp__base_fail(RP_BAD_ARGUMENT, "there is no frame at place %lld; the film has %lld", (long long)i,
                             (long long)film->list.count);
    RP_TRY(prepare(film));
    rp_frame frame;
    RP_TRY(rp__film_read(film, i, &frame));
    rp_render *render = NULL;
    rp_image image = { 0 };
    rp_result result = rp_render_create(film->middle, &render);
    if (result == RP_OK)
        result = rp__film_add_grains(film, &frame, i, render);
    if (result == RP_OK)
        result = rp__film_add_fibres(film, i, render);
    if (result == RP_OK)
        result = add_bodies(film, &frame, render);
    if (result == RP_OK)
        result = add_ground(film, render);
    if (result == RP_OK)
        result = add_floor_strip(film, render);
    if (result == RP_OK)
        result = rp__film_add_tray(film, render);
    if (result == RP_OK)
        result = rp__film_add_water(film, i, render);
    if (result == RP_OK) {
        rp_picture picture = picture_of(film, &frame);
        result = rp_render_picture(render, &picture, progress, context, &image);
    }
    if (result == RP_OK)
        result = draw_labels(film, &frame, &image);
    rp_render_destroy(render);
    rp_frame_free(&frame);
    if (result != RP_OK)
        rp_image_free(&image);
    else
        *out = image;
    return result;
}
