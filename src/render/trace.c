/* The picture: paths from the eye over diffuse surfaces, the sun and the lamp sampled at each, the sky where a path leaves.
 *
 *     L(x) = rho/pi [ E_sun V cos + L_lamp V cos cos' A / r² ] + rho L(x')   along a direction ~ cos/pi,
 *
 * and after the last bounce rho L_ambient. Every random number is a function of pixel, sample and bounce. */
#include "base/timer.h"
#include "exec/exec.h"
#include "render/internal.h"

#include <stdatomic.h>
#include <string.h>

enum { TILE = 16, PACKET_X = 4, PACKET_Y = 2, PACKET = PACKET_X * PACKET_Y, MAX_LAYERS = 16 };

typedef struct job {
    const rp_render *render;
    rp__render_sampler sampler;
    light light;
    rp_image *image;
    int width, height, bounces, tiles_x;
    bool blur, orthographic;
    f3 eye, right, up, forward; /* unit */
    float half_x, half_y;       /* of the picture at distance 1, or in metres when orthographic */
    float aperture, focus, exposure, epsilon;
    float linear[256];          /* of an sRGB byte */
    f3 background;              /* display-linear */
    float fade_near, fade_far;  /* the ground goes over into the background */
    f3 target;
    rp_progress_fn progress;
    void *context;
    int64_t tiles;
    atomic_llong done;
    atomic_bool cancelled;
} job;

/* A place on a surface. */
typedef struct spot {
    f3 point, normal;           /* normal: towards where the ray came from */
    f3 flat;                    /* of the surface itself, the same side */
    f3 albedo;
    float gloss;
    float time;
    float fade;                 /* ground only: part of the background */
} spot;

static void start_context(struct RTCIntersectContext *c, bool coherent)
{
    rtcInitIntersectContext(c);
    c->flags = coherent ? RTC_INTERSECT_CONTEXT_FLAG_COHERENT : RTC_INTERSECT_CONTEXT_FLAG_INCOHERENT;
}

/* Distance to the ground, or `otherwise`. */
static float ground_distance(const rp_render *r, f3 o, f3 d, float otherwise)
{
    if (!r->has_ground)
        return otherwise;
    float down = f3_dot(d, r->ground_normal);
    float t = f3_dot(f3_sub(r->ground_point, o), r->ground_normal) / down;
    return down < 0 && t > 0 && t < otherwise ? t : otherwise;
}

static spot ground_spot(const job *j, f3 o, f3 d, float t, float time)
{
    spot s = { .point = f3_axpy(t, d, o), .normal = j->render->ground_normal, .albedo = j->render->ground_colour, .time = time };
    f3 away = f3_sub(s.point, j->target);
    float distance = sqrtf(f3_dot(away, away));
    float x = distance > j->fade_near ? logf(distance / j->fade_near) / logf(j->fade_far / j->fade_near) : 0;
    x = x > 1 ? 1 : x; /* by the logarithm: even in the picture, where the distance is foreshortened */
    s.fade = x * x * (3 - 2 * x);
    s.flat = s.normal;
    s.point = f3_axpy(j->epsilon, s.normal, s.point);
    return s;
}

static spot surface_spot(const job *j, const geometry *g, unsigned prim, f3 ng, float u, float v, f3 o, f3 d, float t,
                         float time)
{
    spot s = { .time = time, .gloss = g->gloss, .albedo = g->colour };
    if (g->colours)
        s.albedo = f3_make(j->linear[g->colours[3 * (size_t)prim]], j->linear[g->colours[3 * (size_t)prim + 1]],
                           j->linear[g->colours[3 * (size_t)prim + 2]]);
    f3 n = f3_unit(ng);
    if (f3_dot(n, d) > 0)
        n = f3_scale(-1, n);
    s.point = f3_axpy(t, d, o);
    s.flat = s.normal = n;
    if (g->kind == GEOMETRY_SPHERES && g->shutter == 0) { /* back onto the sphere: the distance is rounded */
        const float *p = g->points + 4 * (size_t)prim;
        f3 centre = f3_make(p[0], p[1], p[2]);
        s.point = f3_axpy(p[3], f3_unit(f3_sub(s.point, centre)), centre);
    }
    if (g->normals) {
        const float *c = g->normals + 9 * (size_t)prim;
        float w = 1 - u - v;
        f3 smooth = f3_unit(f3_make(w * c[0] + u * c[3] + v * c[6], w * c[1] + u * c[4] + v * c[7],
                                    w * c[2] + u * c[5] + v * c[8]));
        if (f3_dot(smooth, ng) < 0)
            smooth = f3_scale(-1, smooth);
        if (f3_dot(smooth, n) < 0)
            smooth = f3_scale(-1, smooth);
        s.normal = smooth;
    }
    s.point = f3_axpy(j->epsilon, s.flat, s.point);
    return s;
}

static bool occluded(const job *j, f3 o, f3 d, float far, float time)
{
    struct RTCIntersectContext context;
    start_context(&context, false);
    struct RTCRay ray = { .org_x = o.x, .org_y = o.y, .org_z = o.z, .dir_x = d.x, .dir_y = d.y, .dir_z = d.z,
                          .time = time, .tfar = far, .mask = ~0u };
    rtcOccluded1(j->render->scene, &context, &ray);
    return ray.tfar < 0;
}

/* The nearest surface along a ray: false where the sky begins. */
static bool trace(const job *j, f3 o, f3 d, float time, spot *out)
{
    const rp_render *r = j->render;
    struct RTCIntersectContext context;
    start_context(&context, false);
    float far = ground_distance(r, o, d, INFINITY);
    struct RTCRayHit h = { .ray = { .org_x = o.x, .org_y = o.y, .org_z = o.z, .dir_x = d.x, .dir_y = d.y, .dir_z = d.z,
                                    .time = time, .tfar = far, .mask = ~0u },
                           .hit = { .geomID = RTC_INVALID_GEOMETRY_ID } };
    rtcIntersect1(r->scene, &context, &h);
    if (h.hit.geomID != RTC_INVALID_GEOMETRY_ID) {
        *out = surface_spot(j, &r->geometries[r->scene_index[h.hit.geomID]], h.hit.primID,
                            f3_make(h.hit.Ng_x, h.hit.Ng_y, h.hit.Ng_z), h.hit.u, h.hit.v, o, d, h.ray.tfar, time);
        return true;
    }
    if (far < INFINITY) {
        *out = ground_spot(j, o, d, far, time);
        return true;
    }
    return false;
}

/* Radiance that the sun would give if nothing stood between; the direction in *d. */
static f3 sun_light(const job *j, const spot *s, const float u[2], f3 *d)
{
    *d = rp__render_sun_direction(&j->light, u);
    float c = f3_dot(*d, s->normal);
    if (!(c > 0) || !(f3_dot(*d, s->flat) > 0) || !(j->light.sun_irradiance.x > 0))
        return f3_make(0, 0, 0);
    return f3_scale(c / RP_RENDER_PI, f3_mul(s->albedo, j->light.sun_irradiance));
}

static f3 lamp_light(const job *j, const spot *s, const float u[2])
{
    const light *l = &j->light;
    float radius = l->lamp_radius * sqrtf(u[0]), a = 2 * RP_RENDER_PI * u[1];
    f3 at = f3_axpy(radius * cosf(a), l->lamp_a, f3_axpy(radius * sinf(a), l->lamp_b, l->lamp_centre));
    f3 d = f3_sub(at, s->point);
    float r2 = f3_dot(d, d), r = sqrtf(r2);
    d = f3_scale(1 / r, d);
    float cos_here = f3_dot(d, s->normal), cos_there = -f3_dot(d, l->lamp_normal);
    if (!(cos_here > 0) || !(cos_there > 0) || occluded(j, s->point, d, r * 0.9999f, s->time))
        return f3_make(0, 0, 0);
    float area = RP_RENDER_PI * l->lamp_radius * l->lamp_radius;
    float weight = cos_here * cos_there * area / (RP_RENDER_PI * fmaxf(r2, 1e-12f));
    return f3_scale(weight, f3_mul(s->albedo, l->lamp_radiance));
}

static f3 cosine_direction(f3 n, const float u[2])
{
    f3 a, b;
    f3_frame(n, &a, &b);
    float r = sqrtf(u[0]), phi = 2 * RP_RENDER_PI * u[1];
    return f3_axpy(r * cosf(phi), a, f3_axpy(r * sinf(phi), b, f3_scale(sqrtf(1 - u[0]), n)));
}

/* Light that reaches the eye along direction d (towards the surface) from spot s; `direct` is the sun's part, already
 * known for the first spot. */
static f3 path(const job *j, spot s, f3 direct, int sample, int x, int y)
{
    f3 sum = { 0, 0, 0 }, weight = { 1, 1, 1 };
    float u[2];
    for (int b = 0;; b++) {
        int pair = RP_PAIR_FIRST_BOUNCE + 3 * b;
        if (b > 0) {
            f3 to_sun;
            rp__render_sample(&j->sampler, pair, sample, x, y, u);
            direct = sun_light(j, &s, u, &to_sun);
            if (direct.x > 0 && occluded(j, s.point, to_sun, INFINITY, s.time))
                direct = f3_make(0, 0, 0);
        }
        sum = f3_add(sum, f3_mul(weight, direct));
        if (j->light.lamp) {
            rp__render_sample(&j->sampler, pair + 2, sample, x, y, u);
            sum = f3_add(sum, f3_mul(weight, lamp_light(j, &s, u)));
        }
        rp__render_sample(&j->sampler, pair + 1, sample, x, y, u);
        f3 d = cosine_direction(s.normal, u);
        if (f3_dot(d, s.flat) <= 0)
            d = f3_unit(f3_axpy(-2 * f3_dot(d, s.flat), s.flat, d));
        weight = f3_mul(weight, s.albedo);
        spot next;
        if (!trace(j, s.point, d, s.time, &next)) {
            sum = f3_add(sum, f3_mul(weight, rp__render_sky(&j->light, d)));
            break;
        }
        if (b + 1 >= j->bounces) {
            sum = f3_add(sum, f3_mul(f3_mul(weight, next.albedo), j->light.ambient));
            break;
        }
        s = next;
    }
    return sum;
}

/* A reflection with Schlick's Fresnel factor over the diffuse light; one more ray. */
static f3 add_gloss(const job *j, const spot *s, f3 d, f3 diffuse, int sample, int x, int y)
{
    float u[2], c = fmaxf(0, -f3_dot(d, s->normal));
    float base = 0.04f + 0.35f * s->gloss, m = 1 - c;
    float fresnel = s->gloss * (base + (1 - base) * m * m * m * m * m);
    rp__render_sample(&j->sampler, RP_PAIR_FIRST_BOUNCE + 3 * RP_RENDER_MAX_BOUNCES, sample, x, y, u);
    f3 mirror = f3_axpy(2 * c, s->normal, d), a, b;
    f3_frame(f3_unit(mirror), &a, &b);
    float rough = 0.35f * (1 - s->gloss) * (1 - s->gloss) + 0.02f, r = rough * sqrtf(u[0] / (1.0001f - u[0]));
    r = fminf(r, 1);
    float phi = 2 * RP_RENDER_PI * u[1];
    mirror = f3_unit(f3_axpy(r * cosf(phi), a, f3_axpy(r * sinf(phi), b, mirror)));
    if (f3_dot(mirror, s->flat) <= 0)
        return diffuse;
    spot seen;
    f3 light_in;
    if (trace(j, s->point, mirror, s->time, &seen)) {
        f3 to_sun;
        rp__render_sample(&j->sampler, RP_PAIR_FIRST_BOUNCE + 3 * RP_RENDER_MAX_BOUNCES + 1, sample, x, y, u);
        light_in = sun_light(j, &seen, u, &to_sun);
        if (light_in.x > 0 && occluded(j, seen.point, to_sun, INFINITY, seen.time))
            light_in = f3_make(0, 0, 0);
        light_in = f3_add(light_in, f3_mul(seen.albedo, f3_scale(1.5f, j->light.ambient)));
    } else {
        light_in = rp__render_sky(&j->light, mirror);
        float near_sun = f3_dot(mirror, j->light.sun);
        float width = 1 - cosf(0.05f + rough);
        if (near_sun > 1 - width) /* the sun itself, spread over the roughness */
            light_in = f3_axpy(0.25f, j->light.sun_irradiance, light_in);
    }
    return f3_axpy(1 - fresnel, diffuse, f3_scale(fresnel, light_in));
}

/* ---- rays from the eye ---- */

static void eye_ray(const job *j, int x, int y, int sample, f3 *o, f3 *d, float *time)
{
    float u[2], lens[2], when[2];
    rp__render_sample(&j->sampler, RP_PAIR_PIXEL, sample, x, y, u);
    for (int k = 0; k < 2; k++) /* a tent of one pixel to each side */
        u[k] = u[k] < 0.5f ? sqrtf(2 * u[k]) - 1 : 1 - sqrtf(2 - 2 * u[k]);
    float px = (2 * ((float)x + 0.5f + u[0]) / (float)j->width - 1) * j->half_x;
    float py = (1 - 2 * ((float)y + 0.5f + u[1]) / (float)j->height) * j->half_y;
    if (j->orthographic) {
        *o = f3_axpy(px, j->right, f3_axpy(py, j->up, j->eye));
        *d = j->forward;
    } else {
        *o = j->eye;
        *d = f3_axpy(px, j->right, f3_axpy(py, j->up, j->forward));
    }
    if (j->aperture > 0) {
        rp__render_sample(&j->sampler, RP_PAIR_LENS, sample, x, y, lens);
        float r = j->aperture * sqrtf(lens[0]), a = 2 * RP_RENDER_PI * lens[1];
        f3 sharp = f3_axpy(j->focus, *d, *o);
        *o = f3_axpy(r * cosf(a), j->right, f3_axpy(r * sinf(a), j->up, *o));
        *d = f3_sub(sharp, *o);
    }
    *d = f3_unit(*d);
    *time = 0.5f;
    if (j->blur) {
        rp__render_sample(&j->sampler, RP_PAIR_TIME, sample, x, y, when);
        *time = when[0];
    }
}

typedef struct packet {
    f3 o[PACKET], d[PACKET];
    float time[PACKET], far[PACKET];
    spot spots[PACKET];
    bool hit[PACKET], inside[PACKET]; /* something is seen; the pixel is in the picture */
    f3 direct[PACKET];
    int x[PACKET], y[PACKET];
} packet;

static void trace_packet(const job *j, packet *p)
{
    const rp_render *r = j->render;
    struct RTCIntersectContext context;
    start_context(&context, true);
    struct RTCRayHit8 h;
    _Alignas(32) int valid[PACKET];
    for (int k = 0; k < PACKET; k++) {
        valid[k] = p->inside[k] ? -1 : 0;
        p->far[k] = ground_distance(r, p->o[k], p->d[k], INFINITY);
        h.ray.org_x[k] = p->o[k].x, h.ray.org_y[k] = p->o[k].y, h.ray.org_z[k] = p->o[k].z;
        h.ray.dir_x[k] = p->d[k].x, h.ray.dir_y[k] = p->d[k].y, h.ray.dir_z[k] = p->d[k].z;
        h.ray.tnear[k] = 0, h.ray.tfar[k] = p->far[k], h.ray.time[k] = p->time[k];
        h.ray.mask[k] = ~0u, h.ray.id[k] = (unsigned)k, h.ray.flags[k] = 0;
        h.hit.geomID[k] = RTC_INVALID_GEOMETRY_ID, h.hit.instID[0][k] = RTC_INVALID_GEOMETRY_ID;
    }
    rtcIntersect8(valid, r->scene, &context, &h);
    for (int k = 0; k < PACKET; k++) {
        p->hit[k] = false;
        if (!p->inside[k])
            continue;
        if (h.hit.geomID[k] != RTC_INVALID_GEOMETRY_ID) {
            p->far[k] = h.ray.tfar[k];
            p->spots[k] = surface_spot(j, &r->geometries[r->scene_index[h.hit.geomID[k]]], h.hit.primID[k],
                                       f3_make(h.hit.Ng_x[k], h.hit.Ng_y[k], h.hit.Ng_z[k]), h.hit.u[k], h.hit.v[k],
                                       p->o[k], p->d[k], p->far[k], p->time[k]);
            p->hit[k] = true;
        } else if (p->far[k] < INFINITY) {
            p->spots[k] = ground_spot(j, p->o[k], p->d[k], p->far[k], p->time[k]);
            p->hit[k] = true;
        }
    }
}

/* The sun at the first spots, eight shadow rays at once. */
static void light_packet(const job *j, packet *p, int sample)
{
    struct RTCIntersectContext context;
    start_context(&context, true);
    struct RTCRay8 ray;
    _Alignas(32) int valid[PACKET];
    for (int k = 0; k < PACKET; k++) {
        f3 d = { 0, 0, 1 };
        float u[2];
        p->direct[k] = f3_make(0, 0, 0);
        if (p->hit[k] && p->spots[k].fade < 1) {
            rp__render_sample(&j->sampler, RP_PAIR_FIRST_BOUNCE, sample, p->x[k], p->y[k], u);
            p->direct[k] = sun_light(j, &p->spots[k], u, &d);
        }
        valid[k] = p->direct[k].x > 0 ? -1 : 0;
        f3 o = p->hit[k] ? p->spots[k].point : f3_make(0, 0, 0);
        ray.org_x[k] = o.x, ray.org_y[k] = o.y, ray.org_z[k] = o.z;
        ray.dir_x[k] = d.x, ray.dir_y[k] = d.y, ray.dir_z[k] = d.z;
        ray.tnear[k] = 0, ray.tfar[k] = INFINITY, ray.time[k] = p->time[k];
        ray.mask[k] = ~0u, ray.id[k] = (unsigned)k, ray.flags[k] = 0;
    }
    rtcOccluded8(valid, j->render->scene, &context, &ray);
    for (int k = 0; k < PACKET; k++)
        if (valid[k] && ray.tfar[k] < 0)
            p->direct[k] = f3_make(0, 0, 0);
}

/* What lies one behind the other before what is seen, each with the part of the light that it takes. */
typedef struct layers {
    f3 colour[MAX_LAYERS];
    float cover[MAX_LAYERS];
    int count;
} layers;

static void add_layer(layers *l, f3 colour, float cover)
{
    if (l->count < MAX_LAYERS)
        l->colour[l->count] = colour, l->cover[l->count++] = cover;
}

static f3 lit_colour(const job *j, const geometry *g, f3 albedo, f3 normal)
{
    float lit = g->clarity > 0 ? 0.75f : 0.5f + 0.5f * f3_dot(normal, j->light.up);
    return f3_mul(albedo, f3_mix(j->light.ambient, f3_add(j->light.zenith, j->light.horizon), lit));
}

/* The part of the light that a way through a clear fluid takes. */
static float taken(float clarity, float way)
{
    return 1 - expf(-way / clarity);
}

/* Things seen through, from the front: c is what lies behind. They cast no shadow. A clear fluid (water) mirrors the sky where one looks into it, by Schlick's
 * rule with 2 % at right angles, and takes light by the length of the way through it. Rays go straight on. */
static f3 see_through(const job *j, f3 o, f3 d, float far, float time, f3 behind)
{
    const rp_render *r = j->render;
    layers l = { .count = 0 };
    const geometry *within = NULL; /* the fluid that the ray is in */
    f3 tint = { 0, 0, 0 };
    float near = 0, entered = 0;
    for (int hits = 0; hits < MAX_LAYERS; hits++) {
        struct RTCIntersectContext context;
        start_context(&context, false);
        struct RTCRayHit h = { .ray = { .org_x = o.x, .org_y = o.y, .org_z = o.z, .tnear = near, .dir_x = d.x, .dir_y = d.y,
                                        .dir_z = d.z, .time = time, .tfar = far, .mask = ~0u },
                               .hit = { .geomID = RTC_INVALID_GEOMETRY_ID } };
        rtcIntersect1(r->glass, &context, &h);
        if (h.hit.geomID == RTC_INVALID_GEOMETRY_ID)
            break;
        const geometry *g = &r->geometries[r->glass_index[h.hit.geomID]];
        spot s = surface_spot(j, g, h.hit.primID, f3_make(h.hit.Ng_x, h.hit.Ng_y, h.hit.Ng_z), h.hit.u, h.hit.v, o, d,
                              h.ray.tfar, time);
        float m = 1 - fmaxf(0, -f3_dot(d, s.normal)), grazing = m * m * m * m * m;
        near = h.ray.tfar + 4 * j->epsilon;
        if (!(g->clarity > 0)) {
            add_layer(&l, lit_colour(j, g, s.albedo, s.normal), fminf(1, g->opacity + (1 - g->opacity) * 0.6f * grazing));
        } else if (h.hit.Ng_x * d.x + h.hit.Ng_y * d.y + h.hit.Ng_z * d.z < 0) {
            f3 mirrored = f3_axpy(-2 * f3_dot(d, s.normal), s.normal, d);
            float sun = fmaxf(0, f3_dot(mirrored, j->light.sun));
            f3 sky = f3_axpy(0.4f * powf(sun, 600), j->light.sun_irradiance, rp__render_sky(&j->light, mirrored));
            add_layer(&l, rp__render_tone(f3_scale(j->exposure, sky)), 0.02f + 0.98f * grazing);
            within = g, entered = h.ray.tfar, tint = lit_colour(j, g, s.albedo, s.normal);
        } else if (within == g) {
            add_layer(&l, tint, taken(g->clarity, h.ray.tfar - entered));
            within = NULL;
        }
    }
    if (within && far < INFINITY)
        add_layer(&l, tint, taken(within->clarity, far - entered));
    for (int k = l.count - 1; k >= 0; k--)
        behind = f3_mix(behind, l.colour[k], l.cover[k]);
    return behind;
}

/* Display-linear colours of one sample of the packet's pixels, added to sum[]. Tone is mapped here, sample by sample, so
 * that the edges of bright things are as smooth as those of dark ones. */
static void shade_packet(const job *j, packet *p, int sample, f3 sum[PACKET])
{
    for (int k = 0; k < PACKET; k++) {
        p->inside[k] = p->x[k] < j->width && p->y[k] < j->height;
        eye_ray(j, p->x[k], p->y[k], sample, &p->o[k], &p->d[k], &p->time[k]);
    }
    trace_packet(j, p);
    light_packet(j, p, sample);
    for (int k = 0; k < PACKET; k++) {
        if (!p->inside[k])
            continue;
        f3 c = j->background;
        bool glass = j->render->has_glass;
        if (p->hit[k] && p->spots[k].fade < 1) {
            f3 l = path(j, p->spots[k], p->direct[k], sample, p->x[k], p->y[k]);
            if (p->spots[k].gloss > 0)
                l = add_gloss(j, &p->spots[k], p->d[k], l, sample, p->x[k], p->y[k]);
            c = f3_mix(rp__render_tone(f3_scale(j->exposure, l)), j->background, p->spots[k].fade);
        }
        if (glass)
            c = see_through(j, p->o[k], p->d[k], p->far[k], p->time[k], c);
        sum[k] = f3_add(sum[k], c);
    }
}

static void render_tile(job *j, int64_t tile)
{
    int x0 = (int)(tile % j->tiles_x) * TILE, y0 = (int)(tile / j->tiles_x) * TILE;
    for (int by = y0; by < y0 + TILE && by < j->height; by += PACKET_Y)
        for (int bx = x0; bx < x0 + TILE && bx < j->width; bx += PACKET_X) {
            packet p;
            f3 sum[PACKET] = { { 0, 0, 0 } };
            for (int k = 0; k < PACKET; k++)
                p.x[k] = bx + k % PACKET_X, p.y[k] = by + k / PACKET_X;
            for (int s = 0; s < j->sampler.samples; s++)
                shade_packet(j, &p, s, sum);
            for (int k = 0; k < PACKET; k++) {
                if (p.x[k] >= j->width || p.y[k] >= j->height)
                    continue;
                f3 c = f3_scale(1 / (float)j->sampler.samples, sum[k]);
                uint8_t *out = j->image->pixels + 3 * ((size_t)p.y[k] * (size_t)j->width + (size_t)p.x[k]);
                float v[3] = { c.x, c.y, c.z };
                for (int d = 0; d < 3; d++)
                    out[d] = (uint8_t)(255 * rp__render_from_linear(fminf(1, fmaxf(0, v[d]))) + 0.5f);
            }
        }
}

static void render_tiles(void *context, int64_t begin, int64_t end, int worker)
{
    job *j = context;
    for (int64_t t = begin; t < end && !atomic_load(&j->cancelled); t++) {
        render_tile(j, t);
        long long done = atomic_fetch_add(&j->done, 1) + 1;
        if (j->progress && worker == 0 && !j->progress(j->context, (double)done / (double)j->tiles))
            atomic_store(&j->cancelled, true);
    }
}

/* ---- set-up ---- */

rp_picture rp_default_picture(void)
{
    return (rp_picture){ .width = 1280, .height = 720, .quality = RP_GOOD, .bounces = -1,
                         .view = { .eye = { 1, -2, 1 }, .up = { 0, 0, 1 }, .field_of_view = 0.6 },
                         .sun = { -0.6, -0.35, 0.75 }, .sun_strength = 1, .sun_radius = 0.022, .sky_strength = 1,
                         .background = { 226, 226, 226 }, .lamp_direction = { 0, 0, -1 }, .exposure = 1.0 };
}

static rp_result check_picture(const rp_picture *p)
{
    if (p->width < 1 || p->height < 1 || p->width > RP_IMAGE_MAX_SIZE || p->height > RP_IMAGE_MAX_SIZE)
        return rp__base_fail(RP_BAD_ARGUMENT, "a picture of %d × %d pixels cannot be made; each side must be 1 to %d", p->width,
                             p->height, (int)RP_IMAGE_MAX_SIZE);
    if (p->samples < 0 || p->samples > RP_RENDER_MAX_SAMPLES)
        return rp__base_fail(RP_BAD_ARGUMENT, "%d samples a pixel; right is 1 to %d, or 0 for those of the quality", p->samples,
                             (int)RP_RENDER_MAX_SAMPLES);
    if (p->bounces > RP_RENDER_MAX_BOUNCES || p->bounces == 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "%d bounces of light; right is 1 to %d, or -1 for those of the quality",
                             p->bounces, (int)RP_RENDER_MAX_BOUNCES);
    const rp_view *v = &p->view;
    double away = 0, up = 0, sun = 0;
    for (int d = 0; d < 3; d++) {
        away += (v->target[d] - v->eye[d]) * (v->target[d] - v->eye[d]);
        up += v->up[d] * v->up[d];
        sun += p->sun[d] * p->sun[d];
    }
    if (!(away > 0) || !isfinite(away))
        return rp__base_fail(RP_BAD_ARGUMENT, "the camera and its target must be two finite points apart from each other");
    if (!(up > 0) || !(sun > 0) || !isfinite(up + sun))
        return rp__base_fail(RP_BAD_ARGUMENT, "the direction up and the one to the sun must not be zero");
    if (!(v->field_of_view > 0 && v->field_of_view < 3.1) && !(v->orthographic && v->extent > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "a field of view of %g rad; right is above 0 and below 3.1", v->field_of_view);
    if (!(p->shutter >= 0) || !(v->aperture >= 0) || !(v->focus >= 0) || !(p->exposure > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "shutter, aperture and focus must not be negative, and the exposure above 0");
    return RP_OK;
}

static void set_camera(job *j, const rp_render *r, const rp_picture *p)
{
    const rp_view *v = &p->view;
    float e[3], t[3];
    double distance = 0;
    for (int d = 0; d < 3; d++) {
        e[d] = (float)(v->eye[d] - r->origin[d]);
        t[d] = (float)(v->target[d] - r->origin[d]);
        distance += (v->target[d] - v->eye[d]) * (v->target[d] - v->eye[d]);
    }
    distance = sqrt(distance);
    j->eye = f3_make(e[0], e[1], e[2]);
    j->target = f3_make(t[0], t[1], t[2]);
    j->forward = f3_unit(f3_sub(j->target, j->eye));
    f3 up = f3_unit(f3_make((float)v->up[0], (float)v->up[1], (float)v->up[2]));
    f3 right = f3_cross(j->forward, up);
    if (f3_dot(right, right) < 1e-10f) { /* straight down or up: any right will do */
        f3 other;
        f3_frame(j->forward, &other, &right);
        right = fabsf(j->forward.z) > 0.9f ? f3_make(1, 0, 0) : other;
    }
    j->right = f3_unit(right);
    j->up = f3_cross(j->right, j->forward);
    j->orthographic = v->orthographic;
    j->half_y = (float)tan(0.5 * v->field_of_view);
    if (v->orthographic)
        j->half_y = (float)(v->extent > 0 ? 0.5 * v->extent : distance * tan(0.5 * v->field_of_view));
    j->half_x = j->half_y * (float)p->width / (float)p->height;
    j->aperture = (float)v->aperture;
    j->focus = (float)(v->focus > 0 ? v->focus : distance);
    double size = 0;
    for (int d = 0; d < 3 && r->lower[0] <= r->upper[0]; d++)
        size = fmax(size, fmax(fabs(r->upper[d] - r->origin[d]), fabs(r->lower[d] - r->origin[d])));
    j->epsilon = (float)(2e-6 * fmax(size, 1e-6));
    j->fade_near = (float)(0.55 * distance);
    j->fade_far = (float)(9 * distance);
}

rp_result rp_render_picture(rp_render *render, const rp_picture *p, rp_progress_fn progress, void *context, rp_image *out)
{
    static const int samples[] = { 2, 16, 128 }, bounces[] = { 1, 2, 5 };
    RP_TRY(check_picture(p));
    if (p->quality < RP_DRAFT || p->quality > RP_BEST)
        return rp__base_fail(RP_BAD_ARGUMENT, "there is no quality %d; right is draft, good or best", (int)p->quality);
    if (!p->view.orthographic)
        RP_TRY(rp__render_check_eye(render, p->view.eye));
    RP_TRY(rp__render_commit(render, p->shutter));
    rp_image image;
    RP_TRY(rp_image_create(p->width, p->height, &image));
    job j = { .render = render, .image = &image, .width = p->width, .height = p->height, .progress = progress,
              .context = context, .exposure = (float)p->exposure, .blur = p->shutter > 0,
              .background = rp__render_linear(p->background) };
    for (int k = 0; k < 256; k++)
        j.linear[k] = rp__render_to_linear((float)k / 255);
    j.bounces = p->bounces > 0 ? p->bounces : bounces[p->quality];
    j.tiles_x = (p->width + TILE - 1) / TILE;
    j.tiles = (int64_t)j.tiles_x * ((p->height + TILE - 1) / TILE);
    rp_result result = rp__render_sampler_create(&j.sampler, p->samples > 0 ? p->samples : samples[p->quality], p->seed);
    if (result == RP_OK) {
        rp__render_light_init(&j.light, p, render);
        set_camera(&j, render, p);
        int before = rp__exec_threads();
        if (p->threads > 0)
            rp__exec_set_threads(p->threads);
        rp__exec_for(j.tiles, 1, render_tiles, &j);
        if (p->threads > 0)
            rp__exec_set_threads(before);
        if (atomic_load(&j.cancelled))
            result = rp__base_fail(RP_CANCELLED, "the picture was stopped before it was done");
    }
    rp__render_sampler_free(&j.sampler);
    if (result != RP_OK)
        rp_image_free(&image);
    else
        *out = image;
    return result;
}

rp_result rp_render_to_png(rp_render *render, const rp_picture *picture, const char *path)
{
    rp_image image;
    RP_TRY(rp_render_picture(render, picture, NULL, NULL, &image));
    rp_result result = rp_image_write_png(&image, path);
    rp_image_free(&image);
    return result;
}
