/* From a frame to the bytes of the socket. */
#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- palettes ---- */

void wire_palette_free(wire_palette *p)
{
    free(p->materials);
    free(p->first);
    memset(p, 0, sizeof *p);
}

/* Shades of one colour, from itself to a tenth darker. */
static void add_colour(wire_palette *p, const uint8_t rgb[3])
{
    for (int k = 0; k < p->shades; k++, p->count++)
        for (int c = 0; c < 3; c++)
            p->colours[p->count][c] = (uint8_t)(rgb[c] * (p->shades > 1 ? 1 - 0.1 * k / (p->shades - 1) : 1) + 0.5);
}

rp_result wire_palette_make(const rp_sim_def *sim, wire_palette *out)
{
    enum { SHADES = 8 };
    int n = sim->material_count + 1, all = 0;
    wire_palette p = { .material_count = sim->material_count };
    p.materials = calloc((size_t)n, sizeof *p.materials);
    p.first = calloc((size_t)n, sizeof *p.first);
    rp_result result = p.materials && p.first ? RP_OK : RP_OUT_OF_MEMORY;
    for (int m = 0; m < n && result == RP_OK; m++) {
        result = rp_palette_parse(m < sim->material_count ? sim->materials[m].colour : "sand", &p.materials[m]);
        if (result == RP_OK && all + p.materials[m].count > 256) /* more than a byte can tell: the last ones look like the first */
            p.materials[m] = p.materials[0], p.first[m] = -1;
        else if (result == RP_OK)
            all += p.materials[m].count;
    }
    p.shades = all > 0 && all * SHADES <= 256 ? SHADES : 1;
    for (int m = 0; m < n && result == RP_OK; m++) {
        bool again = p.first[m] < 0;
        p.first[m] = again ? p.first[0] : p.count;
        for (int c = 0; c < p.materials[m].count && !again; c++)
            add_colour(&p, p.materials[m].colour[c]);
    }
    if (result == RP_OK)
        *out = p;
    else
        wire_palette_free(&p);
    return result;
}

/* ---- fields ---- */

static double number_at(const rp_field_view *v, int component, int64_t i)
{
    int64_t at = component * v->stride + i;
    switch (v->info.type) {
    case RP_F64: return ((const double *)v->data)[at];
    case RP_F32: return (double)((const float *)v->data)[at];
    case RP_I32: return (double)((const int32_t *)v->data)[at];
    default: return (double)((const int64_t *)v->data)[at];
    }
}

static int64_t id_at(const rp_field_view *v, int64_t i)
{
    return v && v->info.type == RP_I64 ? ((const int64_t *)v->data)[i] : v ? (int64_t)number_at(v, 0, i) : i;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

rp_result wire_widen(const rp_frame *frame, const char *field, double range[2])
{
    enum { MOST = 20000 };
    if (frame->count == 0)
        return RP_OK;
    double *values = malloc((size_t)frame->count * sizeof *values);
    if (!values)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp_frame_values(frame, field, values, NULL);
    int64_t n = 0, step = 1 + frame->count / MOST;
    for (int64_t i = 0; result == RP_OK && i < frame->count; i += step)
        if (isfinite(values[i]))
            values[n++] = values[i];
    if (n > 0) {
        qsort(values, (size_t)n, sizeof *values, by_value);
        range[0] = fmin(range[0], values[(int64_t)(0.01 * (double)(n - 1))]);
        range[1] = fmax(range[1], values[(int64_t)(0.99 * (double)(n - 1))]);
    }
    free(values);
    return result;
}

/* ---- room ---- */

void wire_buffer_free(wire_buffer *b)
{
    free(b->bytes);
    free(b->index);
    free(b->values);
    memset(b, 0, sizeof *b);
}

static bool index_room(wire_buffer *b, int64_t count)
{
    if (b->index_room >= count && b->index)
        return true;
    int32_t *more = realloc(b->index, (size_t)(count + 1) * sizeof *more);
    if (!more)
        return false;
    b->index = more, b->index_room = count;
    return true;
}

static bool byte_room(wire_buffer *b, size_t size)
{
    if (b->room < size) {
        uint8_t *more = realloc(b->bytes, size + size / 8);
        if (!more)
            return false;
        b->bytes = more, b->room = size + size / 8;
    }
    b->size = size;
    return true;
}

static bool value_room(wire_buffer *b, int64_t count)
{
    if (b->values_room >= count && b->values)
        return true;
    double *more = realloc(b->values, (size_t)(count + 1) * sizeof *more);
    if (!more)
        return false;
    b->values = more, b->values_room = count;
    return true;
}

/* ---- packing ---- */

typedef struct planes {
    const rp_field_view *position, *volume, *material, *id;
} planes;

/* Least and largest finite value of a component; positions are doubles everywhere, the rest is for frames of other programs. */
static void widen(const rp_field_view *x, int d, double *low, double *high)
{
    const double *plane = x->info.type == RP_F64 ? (const double *)x->data + d * x->stride : NULL;
    double a = *low, b = *high;
    for (int64_t i = 0; i < x->count; i++) {
        double v = plane ? plane[i] : number_at(x, d, i);
        a = v < a && v > -1e30 ? v : a;
        b = v > b && v < 1e30 ? v : b;
    }
    *low = a, *high = b;
}

/* The box of the positions sent: the domain, wider where grains have left it. At rest it does not change, nor do the bytes. */
static void find_box(const rp_frame *frame, const rp_field_view *x, wire_header *h, double lower[3], double size[3])
{
    for (int d = 0; d < 3; d++) {
        double low = d < frame->dim ? frame->lower[d] : 0, high = d < frame->dim ? frame->upper[d] : 0;
        if (x)
            widen(x, d, &low, &high);
        h->lower[d] = (float)low;
        if ((double)h->lower[d] > low) /* rounded up: one grain would lie outside */
            h->lower[d] = nextafterf(h->lower[d], -INFINITY);
        lower[d] = (double)h->lower[d];
        h->size[d] = (float)(high - lower[d]);
        if (lower[d] + (double)h->size[d] < high)
            h->size[d] = nextafterf(h->size[d], INFINITY);
        size[d] = (double)h->size[d];
    }
}

static void pack_bodies(const rp_frame *frame, uint8_t *to)
{
    for (int b = 0; b < frame->body_count; b++) {
        const rp_body_state *s = &frame->bodies[b];
        float numbers[7] = { (float)s->position[0], (float)s->position[1], (float)s->position[2], (float)s->orientation[0],
                             (float)s->orientation[1], (float)s->orientation[2], (float)s->orientation[3] };
        uint32_t word = (uint32_t)b | (s->present ? 0 : 0x80000000u);
        for (int k = 0; k < 8; k++) {
            if (k > 0)
                memcpy(&word, &numbers[k - 1], sizeof word);
            for (int c = 0; c < 4; c++)
                *to++ = (uint8_t)(word >> 8 * c);
        }
    }
}

static void pack_positions(const rp_field_view *x, const wire_buffer *b, int64_t count, const double lower[3], const double size[3],
                           uint8_t *to)
{
    const double *p = x->info.type == RP_F64 ? x->data : NULL;
    double factor[3];
    for (int d = 0; d < 3; d++)
        factor[d] = size[d] > 0 ? 65535 / size[d] : 0;
    for (int64_t k = 0; k < count; k++, to += 6)
        for (int d = 0; d < 3; d++) { /* wire_quantise, without its division */
            int64_t i = b->index[k];
            double v = ((p ? p[d * x->stride + i] : number_at(x, d, i)) - lower[d]) * factor[d] + 0.5;
            v = v > 0 ? v : 0;
            v = v < 65535 ? v : 65535;
            uint32_t q = (uint32_t)(int32_t)v;
            to[2 * d] = (uint8_t)q;
            to[2 * d + 1] = (uint8_t)(q >> 8);
        }
}

static void pack_palette(const planes *p, const wire_palette *palette, const wire_buffer *b, int64_t count, uint8_t *to)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t i = b->index[k];
        int m = p->material ? (int)number_at(p->material, 0, i) : 0;
        m = m >= 0 && m < palette->material_count ? m : palette->material_count;
        const rp_palette *colours = &palette->materials[m];
        double lightness;
        int c = rp_palette_choose(colours, id_at(p->id, i), &lightness);
        int shade = (int)(10 * (1 - lightness) * (palette->shades - 1) + 0.5);
        shade = shade < palette->shades ? shade : palette->shades - 1;
        *to++ = (uint8_t)(palette->first[m] + c * palette->shades + shade);
    }
}

static void pack_values(const wire_buffer *b, int64_t count, double low, double high, uint8_t *to)
{
    for (int64_t k = 0; k < count; k++) {
        double part = (b->values[b->index[k]] - low) / (high - low);
        *to++ = (uint8_t)(part >= 1 ? 255 : part > 0 ? 255 * part + 0.5 : 0); /* not a number is the lowest */
    }
}

/* Radii into b->values; the largest. */
static double find_radii(const rp_frame *frame, const rp_sim_def *sim, const planes *p, wire_buffer *b)
{
    double largest = 0, before = -1, radius = 0;
    for (int64_t i = 0; i < frame->count; i++) {
        double volume = p->volume ? number_at(p->volume, 0, i) : -1;
        if (volume != before || i == 0) /* neighbours are mostly alike, and roots cost */
            radius = p->volume ? rp_stage_radius(sim, volume, p->material ? (int)number_at(p->material, 0, i) : 0) : 0.25 * sim->cell_size;
        before = volume;
        b->values[i] = radius;
        largest = radius > largest ? radius : largest;
    }
    return largest;
}

static void pack_radii(const wire_buffer *b, int64_t count, double largest, uint8_t *to)
{
    for (int64_t k = 0; k < count; k++) {
        double part = largest > 0 ? 255 * b->values[b->index[k]] / largest + 0.5 : 255;
        *to++ = (uint8_t)(part >= 255 ? 255 : part >= 1 ? part : 1);
    }
}

static int64_t choose(const rp_frame *frame, const planes *p, uint32_t stride, wire_buffer *b)
{
    int64_t count = 0;
    for (int64_t i = 0; i < frame->count && p->position; i++)
        if (stride == 1 || wire_keeps(id_at(p->id, i), stride))
            b->index[count++] = (int32_t)i;
    return count;
}

/* Those that thinner frames keep to the front, in their order. */
static void order(const planes *p, uint32_t stride, int64_t count, wire_buffer *b)
{
    int32_t *sorted = (int32_t *)b->values; /* scratch: there are as many doubles as particles */
    uint8_t *place = (uint8_t *)(sorted + count);
    int64_t first[WIRE_LEVELS + 1] = { 0 };
    for (int64_t k = 0; k < count; k++) {
        place[k] = (uint8_t)(WIRE_LEVELS - 1 - wire_level(id_at(p->id, b->index[k]), stride, WIRE_LEVELS - 1)); /* the thinnest first */
        first[place[k] + 1]++;
    }
    for (int l = 0; l < WIRE_LEVELS; l++) {
        first[l + 1] += first[l];
        b->level[WIRE_LEVELS - 1 - l] = (uint32_t)first[l + 1];
    }
    for (int64_t k = 0; k < count; k++)
        sorted[first[place[k]]++] = b->index[k];
    memcpy(b->index, sorted, (size_t)count * sizeof *sorted);
}

void wire_thin(wire_buffer *b, uint32_t times)
{
    wire_header h;
    int k = 0;
    while (k < WIRE_LEVELS - 1 && 2u << k <= times)
        k++;
    if (k == 0 || !wire_read_header(b->bytes, b->size, &h))
        return;
    uint32_t all = h.count, kept = b->level[k];
    if (kept >= all) /* it is not ordered, or so small that all stay */
        return;
    uint8_t *grains = b->bytes + WIRE_HEADER + WIRE_LOOK + (size_t)h.bodies * WIRE_BODY, *to = grains + (size_t)kept * 6;
    const uint8_t *from = grains + (size_t)all * 6;
    for (int plane = 0; plane < ((h.flags & (WIRE_PALETTE | WIRE_VALUE)) != 0) + ((h.flags & WIRE_RADIUS) != 0); plane++) {
        memmove(to, from, kept);
        to += kept, from += all;
    }
    h.count = kept;
    h.stride <<= k;
    b->size = (size_t)(to - b->bytes);
    wire_write_header(&h, b->bytes);
    wire_seal(b->bytes, b->size);
}

rp_result wire_pack(const rp_frame *frame, const rp_sim_def *sim, const wire_palette *palette, const wire_wish *wish, uint32_t serial,
                    wire_buffer *out)
{
    planes p = { rp_frame_field(frame, "position"), rp_frame_field(frame, "volume"), rp_frame_field(frame, "material"),
                 rp_frame_field(frame, "id") };
    if (frame->count > INT32_MAX)
        return RP_TOO_LARGE;
    uint32_t stride = wire_stride(frame->count, WIRE_MOST_GRAINS);
    while (stride < wish->stride)
        stride *= 2;
    bool field = wish->field[0] && strcmp(wish->field, "material") != 0;
    if (!index_room(out, frame->count) || !value_room(out, frame->count))
        return RP_OUT_OF_MEMORY;
    double lower[3], size[3], low = wish->low, high = wish->high > wish->low ? wish->high : wish->low + 1;
    wire_header h = { .flags = (field ? WIRE_VALUE : WIRE_PALETTE) | WIRE_RADIUS | (frame->dim == 2 ? WIRE_TWO : 0),
                      .frame = (uint64_t)frame->index, .time = frame->time, .bodies = (uint32_t)frame->body_count, .stride = stride,
                      .low = (float)low, .high = (float)high, .total = (uint32_t)frame->count, .step = (uint64_t)frame->step,
                      .serial = serial };
    find_box(frame, p.position, &h, lower, size);
    h.count = (uint32_t)choose(frame, &p, stride, out);
    for (int k = 0; k < WIRE_LEVELS; k++)
        out->level[k] = h.count;
    if (wish->ordered)
        order(&p, stride, h.count, out);
    double largest = find_radii(frame, sim, &p, out);
    h.radius = (float)largest;
    if (!byte_room(out, wire_size(&h)))
        return RP_OUT_OF_MEMORY;
    wire_write_header(&h, out->bytes);
    uint8_t *to = out->bytes + WIRE_HEADER + WIRE_LOOK;
    pack_bodies(frame, to);
    to += (size_t)h.bodies * WIRE_BODY;
    if (h.count > 0)
        pack_positions(p.position, out, h.count, lower, size, to);
    to += (size_t)h.count * 6;
    pack_radii(out, h.count, largest, to + h.count);
    if (field) {
        rp_result result = rp_frame_values(frame, wish->field, out->values, NULL);
        if (result != RP_OK)
            return result;
        pack_values(out, h.count, low, high, to);
    } else
        pack_palette(&p, palette, out, h.count, to);
    wire_seal(out->bytes, out->size);
    return RP_OK;
}
