/* What the files of this room share: single-precision vectors, colours, the sampler, the scene as Embree sees it. */
#ifndef RP_RENDER_INTERNAL_H
#define RP_RENDER_INTERNAL_H

#include "base/error.h"
#include "base/memory.h"

#include <embree3/rtcore.h>
#include <math.h>
#include <repose/render.h>

#define RP_RENDER_PI 3.14159265358979323846f

/* ---- vectors of three floats: points, directions, linear colours ---- */

typedef struct f3 {
    float x, y, z;
} f3;

static inline f3 f3_make(float x, float y, float z)
{
    return (f3){ x, y, z };
}
static inline f3 f3_add(f3 a, f3 b)
{
    return (f3){ a.x + b.x, a.y + b.y, a.z + b.z };
}
static inline f3 f3_sub(f3 a, f3 b)
{
    return (f3){ a.x - b.x, a.y - b.y, a.z - b.z };
}
static inline f3 f3_mul(f3 a, f3 b)
{
    return (f3){ a.x * b.x, a.y * b.y, a.z * b.z };
}
static inline f3 f3_scale(float s, f3 a)
{
    return (f3){ s * a.x, s * a.y, s * a.z };
}
static inline f3 f3_axpy(float s, f3 b, f3 a) /* a + s b */
{
    return (f3){ a.x + s * b.x, a.y + s * b.y, a.z + s * b.z };
}
static inline float f3_dot(f3 a, f3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline f3 f3_cross(f3 a, f3 b)
{
    return (f3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}
static inline f3 f3_unit(f3 a)
{
    float n = f3_dot(a, a);
    return n > 0 ? f3_scale(1 / sqrtf(n), a) : (f3){ 0, 0, 1 };
}
static inline f3 f3_mix(f3 a, f3 b, float t)
{
    return (f3){ a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z) };
}
/* Two unit vectors that make a right-handed frame with the unit vector n. */
static inline void f3_frame(f3 n, f3 *a, f3 *b)
{
    f3 helper = fabsf(n.x) < 0.6f ? (f3){ 1, 0, 0 } : (f3){ 0, 1, 0 };
    *a = f3_unit(f3_cross(helper, n));
    *b = f3_cross(n, *a);
}

/* ---- colours (colour.c) ---- */

float rp__render_to_linear(float srgb);   /* 0 … 1 */
float rp__render_from_linear(float value);
f3 rp__render_linear(const uint8_t rgb[3]);
void rp__render_lab(const uint8_t rgb[3], double lab[3]);
f3 rp__render_tone(f3 radiance); /* to display-linear 0 … 1 */

/* ---- the sampler (sampler.c) ---- */

enum {
    RP_RENDER_MASK = 64,        /* side of the blue-noise tile */
    RP_RENDER_MAX_SAMPLES = 4096,
    RP_RENDER_MAX_BOUNCES = 16,
    /* Pairs of coordinates of a sample. */
    RP_PAIR_PIXEL = 0,
    RP_PAIR_LENS,
    RP_PAIR_TIME,
    RP_PAIR_FIRST_BOUNCE,       /* then three a bounce: sun, direction, lamp */
    RP_PAIRS = RP_PAIR_FIRST_BOUNCE + 3 * (RP_RENDER_MAX_BOUNCES + 1)
};

typedef struct rp__render_sampler {
    int samples;
    float *points;              /* [pair][sample][2] */
    uint16_t *mask;             /* blue noise: ranks of RP_RENDER_MASK² pixels */
    uint8_t shift[RP_PAIRS][4]; /* where a pair looks at the tile, for each of its two coordinates */
} rp__render_sampler;

rp_result rp__render_sampler_create(rp__render_sampler *sampler, int samples, uint64_t seed);
void rp__render_sampler_free(rp__render_sampler *sampler);
void rp__render_blue_noise(uint16_t *rank, int side, float *energy); /* ranks 0 … side²-1; energy: side² scratch */

/* Coordinates in [0, 1) of `pair` of sample `s` at a pixel. */
static inline void rp__render_sample(const rp__render_sampler *r, int pair, int s, int x, int y, float u[2])
{
    const float *p = r->points + 2 * ((size_t)pair * (size_t)r->samples + (size_t)s);
    const uint8_t *shift = r->shift[pair];
    for (int k = 0; k < 2; k++) {
        int mx = (x + shift[2 * k]) & (RP_RENDER_MASK - 1), my = (y + shift[2 * k + 1]) & (RP_RENDER_MASK - 1);
        float v = p[k] + ((float)r->mask[my * RP_RENDER_MASK + mx] + 0.5f) / (RP_RENDER_MASK * RP_RENDER_MASK);
        u[k] = v >= 1 ? v - 1 : v;
    }
}

/* ---- geometry (geometry.c, solids.c) ---- */

typedef enum geometry_kind { GEOMETRY_SPHERES, GEOMETRY_DISCS, GEOMETRY_ELLIPSOIDS, GEOMETRY_MESH, GEOMETRY_CURVES, GEOMETRY_STICKS } geometry_kind;

/* A disc or an ellipsoid: rows of the map from the world to the unit solid, about its centre. */
typedef struct solid {
    float centre[3], bound[3];  /* half sizes of the box around it */
    float map[9];
} solid;

typedef struct geometry {
    geometry_kind kind;
    int64_t count;              /* grains or triangles */
    float *points;              /* spheres and curves: x y z r; of curves vertex_count of them */
    float *velocity;            /* 3 a grain or vertex; NULL at rest */
    solid *solids;
    uint8_t *colours;           /* 3 a grain; NULL: `colour` */
    f3 colour;                  /* linear */
    /* mesh */
    float *vertices;            /* 4 a vertex: x y z and padding */
    float *normals;             /* 9 a triangle: at its corners; NULL: flat */
    int32_t *triangles;         /* of curves: the first point of each piece */
    int64_t vertex_count;
    float gloss, opacity, clarity;
    /* while committed */
    float *moved[2];            /* points or vertices when the shutter opens and closes */
    float shutter;
} geometry;

struct rp_render {
    double origin[3];
    RTCDevice device;
    RTCScene scene, glass;      /* opaque things; things seen through */
    bool committed, has_glass;
    double shutter;             /* of the committed scenes */
    geometry *geometries;
    int64_t count, capacity;
    int *scene_index, *glass_index; /* geometry of a geomID */
    bool has_ground;
    f3 ground_point, ground_normal, ground_colour;
    double lower[3], upper[3];
    float largest;              /* radius of a grain, for the camera check */
};

rp_result rp__render_commit(rp_render *render, double shutter);
rp_result rp__render_embree_error(RTCDevice device, const char *doing);
void rp__render_solid_callbacks(RTCGeometry g, geometry *solids);
void rp__render_make_disc(solid *s, const double centre[3], double radius, double thickness, const double axis[3]);
bool rp__render_make_ellipsoid(solid *s, const double centre[3], const double f[6], double scale);
/* RP_BAD_ARGUMENT with a sentence when the point lies in a grain. */
rp_result rp__render_check_eye(const rp_render *render, const double eye[3]);

/* ---- light (sky.c) ---- */

typedef struct light {
    f3 up, sun, sun_a, sun_b;   /* unit; frame about the sun */
    f3 sun_irradiance;
    float sun_cos;              /* cosine of its angular radius */
    f3 zenith, horizon, below, glow;
    f3 ambient;                 /* stands for the light after the last bounce */
    bool lamp;
    f3 lamp_centre, lamp_normal, lamp_a, lamp_b, lamp_radiance;
    float lamp_radius;
} light;

/* The sky stands over the ground, or over what is up in the picture where there is none. */
void rp__render_light_init(light *l, const rp_picture *picture, const rp_render *render);
f3 rp__render_sky(const light *l, f3 direction);
static inline f3 rp__render_sun_direction(const light *l, const float u[2])
{
    float c = 1 - u[0] * (1 - l->sun_cos), s = sqrtf(fmaxf(0, 1 - c * c)), a = 2 * RP_RENDER_PI * u[1];
    return f3_axpy(c, l->sun, f3_axpy(s * cosf(a), l->sun_a, f3_scale(s * sinf(a), l->sun_b)));
}

/* rp_image_add_legend, in the lower right corner or in the upper one. */
rp_result rp__render_legend(rp_image *image, const char *title, double low, double high, bool above);

#endif
