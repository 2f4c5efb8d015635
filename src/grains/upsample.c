/* Many fine grains around few particles, which lead them: the second way to make grains to look at [sommer2022]. docs/grains.md.
 *
 * The state are places and velocities in single precision, from the lower corner of the domain. Blocks of 64 grains that are near
 * each other share a list of guides; grains are sorted for that now and then. */
#include "exec/exec.h"
#include "grains/follow.h"
#include "math/random.h"
#include "shape/sampling.h"

#include <string.h>

enum { SORT_EVERY = 4, MORTON_BITS = 10 };
#define GROWN 1.2    /* blocks larger by this, on the average, than after the last sort: time for the next */
#define AT_REST 1e-4 /* [m/s] guides below it count as at rest */

struct rp_upsample {
    rp_upsample_def def;
    rp__guides guides;
    int64_t count, capacity;
    float *x[3], *v[3];
    float *gap;                   /* no body is nearer to the grain */
    uint8_t *tone;
    float *spare;
    uint32_t *key, *key_spare;
    int32_t *order, *order_spare;
    rp__follow_block *blocks;
    int64_t block_capacity, steps;
    int64_t sorted_steps;         /* since the last sort */
    double sorted_size;           /* sum of the edges of the blocks then */
    bool unsorted;
    int64_t guides_before;
    rp_upsample_stats stats;
};

rp_upsample_def rp_default_upsample_def(void)
{
    rp_upsample_def def = { .room = rp_default_samples_def(), .gravity = { 0, 0, -9.81 } };
    return def;
}

/* ---- memory ---- */

static rp_result reserve(rp_upsample *u, int64_t count)
{
    int64_t need = count + 2 * RP_FOLLOW_BLOCK;
    if (need > u->capacity) {
        int64_t capacity = need + need / 4;
        void **planes[] = { (void **)&u->x[0], (void **)&u->x[1], (void **)&u->x[2], (void **)&u->v[0], (void **)&u->v[1], (void **)&u->v[2],
                            (void **)&u->gap, (void **)&u->spare, (void **)&u->key, (void **)&u->key_spare, (void **)&u->order, (void **)&u->order_spare };
        for (size_t k = 0; k < sizeof planes / sizeof *planes; k++) {
            float *grown = rp__base_realloc_array(*planes[k], (size_t)capacity, sizeof *grown);
            if (!grown)
                return RP_OUT_OF_MEMORY;
            *planes[k] = grown;
        }
        uint8_t *tone = rp__base_realloc_array(u->tone, (size_t)capacity, 1);
        if (!tone)
            return RP_OUT_OF_MEMORY;
        u->tone = tone;
        u->capacity = capacity;
    }
    return rp__base_grow(&u->blocks, &u->block_capacity, need / RP_FOLLOW_BLOCK + 1, sizeof *u->blocks) ? RP_OK : RP_OUT_OF_MEMORY;
}

/* Lanes beyond the last grain hold numbers too. */
static void pad(rp_upsample *u)
{
    for (int64_t i = u->count; i < u->count + RP_FOLLOW_BLOCK; i++)
        for (int d = 0; d < 3; d++)
            u->x[d][i] = u->v[d][i] = 0;
}

static void wake(rp_upsample *u)
{
    for (int64_t b = 0; b * RP_FOLLOW_BLOCK < u->count; b++)
        u->blocks[b] = (rp__follow_block){ .clear = -1, .stale = true };
}

void rp_upsample_destroy(rp_upsample *u)
{
    if (!u)
        return;
    for (int d = 0; d < 3; d++) {
        rp__base_free(u->x[d]);
        rp__base_free(u->v[d]);
    }
    void *all[] = { u->gap, u->tone, u->spare, u->key, u->key_spare, u->order, u->order_spare, u->blocks };
    rp__grains_free_guides(&u->guides);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        rp__base_free(all[k]);
    rp__base_free(u);
}

/* ---- order ---- */

static uint32_t spread(uint32_t a)
{
    a &= 1023;
    a = (a | a << 16) & 0x30000ff;
    a = (a | a << 8) & 0x300f00f;
    a = (a | a << 4) & 0x30c30c3;
    return (a | a << 2) & 0x9249249;
}

typedef struct sorting {
    rp_upsample *u;
    float low[3], per;
    float *from, *to;
} sorting;

static void key_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const sorting *s = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        uint32_t key = 0;
        for (int d = 0; d < 3; d++) {
            float at = (s->u->x[d][i] - s->low[d]) * s->per;
            key |= spread(at < 0 ? 0 : at > 1023 ? 1023 : (uint32_t)at) << d;
        }
        s->u->key[i] = key;
        s->u->order[i] = (int32_t)i;
    }
}

static void move_chunk(void *context, int64_t begin, int64_t end, int worker)
{
    const sorting *s = context;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        s->to[i] = s->from[s->u->order[i]];
}

/* By the places of their cells along a Morton curve: three passes of ten bits. */
static void sort_grains(rp_upsample *u)
{
    sorting s = { .u = u };
    float high[3], widest = 0;
    for (int d = 0; d < 3; d++) {
        s.low[d] = high[d] = u->count ? u->x[d][0] : 0;
        for (int64_t i = 1; i < u->count; i++)
            s.low[d] = u->x[d][i] < s.low[d] ? u->x[d][i] : s.low[d], high[d] = u->x[d][i] > high[d] ? u->x[d][i] : high[d];
        widest = high[d] - s.low[d] > widest ? high[d] - s.low[d] : widest;
    }
    float cell = (float)(2 * u->def.radius);
    s.per = widest > 1023 * cell ? 1023 / widest : 1 / cell;
    rp__exec_for(u->count, 1 << 14, key_chunk, &s);
    for (int shift = 0; shift < 3 * MORTON_BITS; shift += MORTON_BITS) {
        int64_t at[1025] = { 0 };
        for (int64_t i = 0; i < u->count; i++)
            at[(u->key[i] >> shift & 1023) + 1]++;
        for (int k = 0; k < 1024; k++)
            at[k + 1] += at[k];
        for (int64_t i = 0; i < u->count; i++) {
            int64_t to = at[u->key[i] >> shift & 1023]++;
            u->key_spare[to] = u->key[i];
            u->order_spare[to] = u->order[i];
        }
        uint32_t *key = u->key;
        int32_t *order = u->order;
        u->key = u->key_spare, u->key_spare = key;
        u->order = u->order_spare, u->order_spare = order;
    }
    for (int k = 0; k < 6; k++) {
        float **plane = k < 3 ? &u->x[k] : &u->v[k - 3];
        s.from = *plane, s.to = u->spare;
        rp__exec_for(u->count, 1 << 14, move_chunk, &s);
        *plane = s.to, u->spare = s.from;
    }
    uint8_t *tone = (uint8_t *)u->spare;
    for (int64_t i = 0; i < u->count; i++)
        tone[i] = u->tone[u->order[i]];
    memcpy(u->tone, tone, (size_t)u->count);
    pad(u);
    wake(u);
    u->sorted_steps = 0;
    u->unsorted = false;
}

/* ---- grains that come and go ---- */

static uint8_t draw_tone(const rp_upsample *u, uint64_t stream, uint64_t k)
{
    return (uint8_t)(rp__random_bits(u->def.room.seed ^ 0x746f6e65, stream, k) >> 32);
}

static rp_result add_grain(rp_upsample *u, const double x[3], const double v[3], uint64_t stream, uint64_t k)
{
    RP_TRY(reserve(u, u->count + 1));
    for (int d = 0; d < 3; d++) {
        u->x[d][u->count] = (float)(x[d] - u->def.room.lower[d]);
        u->v[d][u->count] = (float)v[d];
    }
    u->tone[u->count++] = draw_tone(u, stream, k);
    return RP_OK;
}

static rp_result add_around(rp_upsample *u, const rp__obstacles *o, const double home[3], const double v[3], int64_t id)
{
    double many = pow(u->def.guide_radius / u->def.radius, u->def.room.dim), part = rp__random_unit(u->def.room.seed ^ 0x6e6577, (uint64_t)id, 0);
    int64_t count = (int64_t)(many + part);
    for (int64_t k = 0; k < count; k++) {
        rp__vec3 b = rp__random_in_ball(u->def.room.seed ^ 0x62616c6c, (uint64_t)id, (uint64_t)k);
        double reach = 1.2 * u->def.guide_radius;
        double x[3] = { home[0] + reach * b.x, home[1] + reach * b.y, u->def.room.dim == 3 ? home[2] + reach * b.z : 0 };
        rp__grains_keep_out(o, u->def.radius, home, x);
        RP_TRY(add_grain(u, x, v, (uint64_t)id, (uint64_t)k));
    }
    return RP_OK;
}

/* Fine balls in the shapes that the particles were put into. */
static rp_result fill_hull(rp_upsample *u, const rp_shape *hull, const rp__obstacles *o, int number)
{
    const rp_samples_def *room = &u->def.room;
    rp__spheres_def d = { .dim = room->dim, .radius = u->def.radius, .seed = room->seed + 77 + (uint64_t)number, .limit = (int64_t)1 << 31 };
    for (int a = 0; a < room->dim; a++) {
        d.lower[a] = room->lower[a] + (room->open[2 * a] ? 0 : u->def.radius);
        d.upper[a] = room->upper[a] - (room->open[2 * a + 1] ? 0 : u->def.radius);
    }
    double *points = NULL, rest[3] = { 0, 0, 0 };
    int64_t count = 0;
    RP_TRY(rp__sampling_spheres(hull, &d, &points, &count));
    rp_result result = reserve(u, u->count + count);
    for (int64_t k = 0; k < count && result == RP_OK; k++)
        if (!(rp__grains_body_distance(o, points + 3 * k, u->def.radius) < u->def.radius))
            result = add_grain(u, points + 3 * k, rest, (uint64_t)number, (uint64_t)k);
    rp__base_free(points);
    return result;
}

static bool gone(const rp_upsample *u, int64_t i)
{
    const rp_samples_def *room = &u->def.room;
    double x[3];
    for (int d = 0; d < 3; d++)
        x[d] = room->lower[d] + (double)u->x[d][i];
    for (int d = 0; d < room->dim; d++)
        if ((room->open[2 * d] && x[d] < room->lower[d]) || (room->open[2 * d + 1] && x[d] > room->upper[d]))
            return true;
    for (int s = 0; s < u->def.sink_count; s++)
        if (rp_shape_distance(u->def.sinks[s].shape, x, NULL) <= 0)
            return true;
    return false;
}

/* Grains of the blocks that some may have left. */
static void drop_gone(rp_upsample *u)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < u->count; i++) {
        if (u->blocks[i / RP_FOLLOW_BLOCK].leaves && gone(u, i))
            continue;
        for (int d = 0; d < 3 && kept < i; d++)
            u->x[d][kept] = u->x[d][i], u->v[d][kept] = u->v[d][i];
        u->tone[kept++] = u->tone[i];
    }
    if (kept < u->count) {
        u->count = kept;
        pad(u);
        wake(u);
    }
}

/* ---- the step ---- */

typedef struct stepping {
    rp_upsample *u;
    const rp__obstacles *obstacles;
    rp__follow_rules rules;
    float walls[2][3];            /* of centres, from the lower corner */
    float bodies_moved;           /* the farthest that a point of a body went in this step */
} stepping;

static void meet_walls(const stepping *s, int64_t begin, int64_t end)
{
    for (int d = 0; d < 3; d++) {
        float *x = s->u->x[d], *v = s->u->v[d], low = s->walls[0][d], high = s->walls[1][d];
#pragma omp simd
        for (int64_t i = begin; i < end; i++) {
            bool under = x[i] < low, over = x[i] > high;
            v[i] = (under && v[i] < 0) || (over && v[i] > 0) ? 0 : v[i];
            x[i] = under ? low : over ? high : x[i];
        }
    }
}

static void meet_bodies(const stepping *s, rp__follow_block *b, int64_t begin, int64_t end, float farthest)
{
    rp_upsample *u = s->u;
    double radius = u->def.radius, middle[3], half = 0;
    for (int d = 0; d < 3; d++) {
        double a = 0.5 * ((double)b->high[d] - (double)b->low[d]);
        half += a * a;
        middle[d] = u->def.room.lower[d] + 0.5 * ((double)b->high[d] + (double)b->low[d]);
    }
    b->clear -= farthest + s->bodies_moved;
    if (b->clear > (float)radius) {
        b->stale = true;
        return;
    }
    double reach = sqrt(half) + (double)farthest;
    b->clear = (float)(rp__grains_body_distance(s->obstacles, middle, 4 * reach + 8 * radius) - reach);
    if (b->clear > 4 * (float)radius + 3 * (float)reach)
        b->clear = 4 * (float)radius + 3 * (float)reach; /* the search goes no farther */
    if (b->clear > (float)radius) {
        b->stale = true;
        return;
    }
    bool stale = b->stale;
    rp__grains_near near;
    rp__grains_look_around(s->obstacles, middle, reach + 2 * radius, 2 * radius, &near);
    b->stale = false;
    for (int64_t i = begin; i < end; i++) {
        double x[3], v[3], gap;
        for (int d = 0; d < 3; d++)
            x[d] = u->def.room.lower[d] + (double)u->x[d][i], v[d] = (double)u->v[d][i];
        u->gap[i] -= (float)(sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) * (double)s->rules.dt) * 1.0001f + s->bodies_moved;
        if (!stale && u->gap[i] > (float)radius)
            continue;
        bool met = rp__grains_push(s->obstacles, &near, radius, x, v, &gap);
        u->gap[i] = (float)gap;
        if (!met)
            continue;
        for (int d = 0; d < 3; d++)
            u->x[d][i] = (float)(x[d] - u->def.room.lower[d]), u->v[d][i] = (float)v[d];
    }
}

/* How far the fastest grain of a block goes. */
static float longest_way(const rp_upsample *u, float dt, int64_t begin, int64_t end)
{
    const float *a = u->v[0], *b = u->v[1], *c = u->v[2];
    float most = 0;
#pragma omp simd reduction(max : most)
    for (int64_t i = begin; i < end; i++) {
        float square = a[i] * a[i] + b[i] * b[i] + c[i] * c[i];
        most = square > most ? square : most;
    }
    return sqrtf(most) * dt * 1.0001f;
}

/* Whether a grain of the block may be beyond an open face or in a sink. */
static bool may_leave(const rp_upsample *u, const rp__follow_block *b)
{
    const rp_samples_def *room = &u->def.room;
    double half = 0, middle[3];
    for (int d = 0; d < 3; d++) {
        double size = room->upper[d] - room->lower[d], a = 0.5 * ((double)b->high[d] - (double)b->low[d]);
        if (d < room->dim && ((room->open[2 * d] && b->low[d] < 0) || (room->open[2 * d + 1] && (double)b->high[d] > size)))
            return true;
        half += a * a;
        middle[d] = room->lower[d] + 0.5 * ((double)b->low[d] + (double)b->high[d]);
    }
    for (int s = 0; s < u->def.sink_count; s++)
        if (rp_shape_distance(u->def.sinks[s].shape, middle, NULL) <= sqrt(half))
            return true;
    return false;
}

/* Where all guides rest and no grain went farther than they may, the block is left alone from now on. */
static void settle(const stepping *s, rp__follow_block *b, const float was[3][RP_FOLLOW_BLOCK], int64_t begin, int64_t end)
{
    rp_upsample *u = s->u;
    float slow = (float)AT_REST * s->rules.dt;
    for (int d = 0; d < 3; d++)
        for (int64_t i = begin; i < end; i++)
            b->still = b->still && fabsf(u->x[d][i] - was[d][i - begin]) <= slow;
    for (int64_t i = begin; i < end && b->still; i++)
        for (int d = 0; d < 3; d++)
            u->v[d][i] = 0;
}

static void step_block(const stepping *s, int64_t number)
{
    rp_upsample *u = s->u;
    rp__follow_block *b = &u->blocks[number];
    int64_t first = number * RP_FOLLOW_BLOCK, last = first + RP_FOLLOW_BLOCK < u->count ? first + RP_FOLLOW_BLOCK : u->count;
    float was[3][RP_FOLLOW_BLOCK];
    if (b->still && s->bodies_moved > 0 && b->clear - s->bodies_moved <= (float)u->def.radius)
        b->still = false; /* a body may run into grains at rest */
    for (int d = 0; d < 3; d++)
        memcpy(was[d], u->x[d] + first, sizeof was[d]);
    if (!rp__grains_follow(&u->guides, &s->rules, b, first, last, u->x, u->v)) {
        b->clear -= s->bodies_moved;
        b->stale = b->stale || s->bodies_moved > 0;
        return;
    }
    float way = longest_way(u, s->rules.dt, first, last);
    bool near = false;
    for (int d = 0; d < 3; d++)
        near = near || b->low[d] - way < s->walls[0][d] || b->high[d] + way > s->walls[1][d];
    if (near)
        meet_walls(s, first, last);
    if (s->obstacles && s->obstacles->count)
        meet_bodies(s, b, first, last, way);
    if (b->still)
        settle(s, b, (const float (*)[RP_FOLLOW_BLOCK])was, first, last);
    rp__grains_measure((const float *const *)u->x, first, last, b);
    b->leaves = may_leave(u, b);
}

static void step_blocks(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (int64_t b = begin; b < end; b++)
        step_block(context, b);
}

/* Statistics of a step; the mean size of the blocks that move tells when it is time to sort. */
static bool sum_up(rp_upsample *u, int64_t blocks)
{
    double size = 0;
    bool leaves = false;
    u->stats = (rp_upsample_stats){ .blocks = blocks };
    for (int64_t k = 0; k < blocks; k++) {
        const rp__follow_block *b = &u->blocks[k];
        u->stats.still += b->still;
        u->stats.falling += b->falling;
        leaves = leaves || b->leaves;
        for (int d = 0; d < 3; d++)
            size += (double)(b->high[d] - b->low[d]);
    }
    if (u->sorted_steps == 0)
        u->sorted_size = size;
    u->sorted_steps++;
    u->unsorted = size > GROWN * u->sorted_size;
    return leaves;
}

static rp_result advance(rp_upsample *u, const rp_guides *guides, const rp__obstacles *o, double bodies_moved, double dt)
{
    stepping s = { .u = u, .obstacles = o, .bodies_moved = (float)bodies_moved };
    const rp_samples_def *room = &u->def.room;
    s.rules = (rp__follow_rules){ .dt = (float)dt, .full = u->def.as_printed ? INFINITY : 1 };
    for (int d = 0; d < 3; d++) {
        s.rules.gravity[d] = (float)u->def.gravity[d];
        s.walls[0][d] = d >= room->dim ? -INFINITY : room->open[2 * d] ? -INFINITY : (float)u->def.radius;
        s.walls[1][d] = d >= room->dim || room->open[2 * d + 1] ? INFINITY : (float)(room->upper[d] - room->lower[d] - u->def.radius);
    }
    RP_TRY(reserve(u, u->count));
    pad(u);
    RP_TRY(rp__grains_bin_guides(&u->guides, guides, u->def.guide_radius, u->def.room.lower, AT_REST));
    if (u->steps == 0 || (u->unsorted && u->sorted_steps >= SORT_EVERY))
        sort_grains(u);
    if (guides->count < u->guides_before)
        wake(u);
    u->guides_before = guides->count;
    u->steps++;
    int64_t blocks = (u->count + RP_FOLLOW_BLOCK - 1) / RP_FOLLOW_BLOCK;
    rp__exec_for(blocks, 16, step_blocks, &s);
    if (sum_up(u, blocks))
        drop_gone(u);
    return RP_OK;
}

/* ---- the public face ---- */

static rp_result check(const rp_upsample_def *def)
{
    if (!(def->radius > 0) || !(def->guide_radius > 0) || !isfinite(def->radius) || !isfinite(def->guide_radius))
        return rp__base_fail(RP_BAD_ARGUMENT, "upsampling needs the radii of grains and of guides, above zero; they are %g and %g m", def->radius,
                             def->guide_radius);
    if (def->radius > def->guide_radius)
        return rp__base_fail(RP_BAD_ARGUMENT, "upsampling makes grains finer: their radius, %g m, must not be above that of their guides, %g m",
                             def->radius, def->guide_radius);
    for (int d = 0; d < def->room.dim; d++)
        if (!isfinite(def->room.lower[d]) || !isfinite(def->room.upper[d]))
            return rp__base_fail(RP_BAD_ARGUMENT, "upsampling needs a domain with ends along %c", "xyz"[d]);
    return RP_OK;
}

rp_result rp_upsample_create(const rp_upsample_def *def, rp_upsample **out)
{
    RP_TRY(check(def));
    rp_upsample *u = RP_NEW(rp_upsample);
    if (!u)
        return RP_OUT_OF_MEMORY;
    u->def = *def;
    for (int d = def->room.dim; d < 3; d++)
        u->def.room.lower[d] = u->def.room.upper[d] = 0;
    rp_result result = reserve(u, 0);
    if (result == RP_OK) {
        pad(u);
        *out = u;
    } else
        rp_upsample_destroy(u);
    return result;
}

rp_result rp_upsample_fill(rp_upsample *u, const rp_shape *hull, const rp_frame *bodies)
{
    rp__obstacles o = { 0 };
    rp_frame none = { 0 };
    RP_TRY(rp__grains_obstacles(&u->def.room, bodies ? bodies : &none, &o));
    rp_result result = fill_hull(u, hull, &o, (int)(u->count & 0xffff));
    rp__grains_obstacles_free(&o);
    if (result != RP_OK)
        return result;
    pad(u);
    wake(u);
    u->steps = 0;
    return RP_OK;
}

rp_result rp_upsample_add(rp_upsample *u, const double position[3], const double velocity[3], int64_t guide, const rp_frame *bodies)
{
    rp__obstacles o = { 0 };
    rp_frame none = { 0 };
    RP_TRY(rp__grains_obstacles(&u->def.room, bodies ? bodies : &none, &o));
    rp_result result = add_around(u, &o, position, velocity, guide);
    rp__grains_obstacles_free(&o);
    pad(u);
    wake(u);
    u->steps = 0;
    return result;
}

rp_result rp_upsample_put(rp_upsample *u, const double position[3], const double velocity[3])
{
    RP_TRY(add_grain(u, position, velocity, 0x707574, (uint64_t)u->count));
    pad(u);
    wake(u);
    u->steps = 0;
    return RP_OK;
}

void rp_upsample_set_gravity(rp_upsample *u, const double gravity[3])
{
    memcpy(u->def.gravity, gravity, sizeof u->def.gravity);
    wake(u);
}

rp_result rp_upsample_step(rp_upsample *u, const rp_guides *guides, const rp_frame *bodies, double bodies_moved, double dt)
{
    rp__obstacles o = { 0 };
    rp_frame none = { 0 };
    if (!(dt > 0) || !isfinite(dt))
        return rp__base_fail(RP_BAD_ARGUMENT, "a step of grains takes %g s; it must be above zero", dt);
    for (int64_t i = 0; i < guides->count; i++)
        for (int d = 0; d < 3; d++)
            if (!isfinite(guides->x[d][i]) || !isfinite(guides->v[d][i]))
                return rp__base_fail(RP_BAD_ARGUMENT, "guide %lld has a place or velocity that is not finite", (long long)i);
    RP_TRY(rp__grains_obstacles(&u->def.room, bodies ? bodies : &none, &o));
    bool gathered = rp__exec_gather();
    rp_result result = advance(u, guides, &o, bodies_moved, dt);
    rp__exec_dismiss(gathered);
    rp__grains_obstacles_free(&o);
    return result;
}

int64_t rp_upsample_count(const rp_upsample *u)
{
    return u->count;
}

rp_upsample_stats rp_upsample_statistics(const rp_upsample *u)
{
    return u->stats;
}

void rp_upsample_view(const rp_upsample *u, const float *x[3], const float *v[3], const uint8_t **tone)
{
    for (int d = 0; d < 3; d++) {
        x[d] = u->x[d];
        if (v)
            v[d] = u->v[d];
    }
    if (tone)
        *tone = u->tone;
}

const double *rp__grains_upsample_base(const rp_upsample *u)
{
    return u->def.room.lower;
}

rp_result rp__grains_upsample_add(rp_upsample *u, const double x[3], const double v[3], int64_t id, const rp_frame *bodies)
{
    rp__obstacles o = { 0 };
    RP_TRY(rp__grains_obstacles(&u->def.room, bodies, &o));
    rp_result result = add_around(u, &o, x, v, id);
    rp__grains_obstacles_free(&o);
    u->steps = 0;
    return result;
}

rp_result rp__grains_upsample_load(rp_upsample *u, const rp_samples *s)
{
    RP_TRY(reserve(u, s->count));
    for (int64_t i = 0; i < s->count; i++) {
        for (int d = 0; d < 3; d++) {
            u->x[d][i] = (float)((double)s->place[3 * i + d] - u->def.room.lower[d]);
            u->v[d][i] = s->velocity[3 * i + d];
        }
        u->tone[i] = s->tone[i];
    }
    u->count = s->count;
    pad(u);
    wake(u);
    u->steps = 0;
    return RP_OK;
}
