/* From a frame to the bytes of the socket. */
#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---- */

double wire_number(const rp_field_view *v, int component, int64_t i)
{
    int64_t at = component * v->stride + i;
    switch (v->info.type) {
    case RP_F64: return ((const double *)v->data)[at];
    case RP_F32: return (double)((const float *)v->data)[at];
    case RP_I32: return (double)((const int32_t *)v->data)[at];
    default: return (double)((const int64_t *)v->data)[at];
    }
}

int64_t wire_id(const rp_field_view *v, int64_t i)
{
    return v && v->info.type == RP_I64 ? ((const int64_t *)v->data)[i] : v ? (int64_t)wire_number(v, 0, i) : i;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* From the first `n` values, which it sorts. */
static void widen_range(double *values, int64_t n, double range[2])
{
    if (n <= 0)
        return;
    qsort(values, (size_t)n, sizeof *values, by_value);
    range[0] = fmin(range[0], values[(int64_t)(0.01 * (double)(n - 1))]);
    range[1] = fmax(range[1], values[(int64_t)(0.99 * (double)(n - 1))]);
}

enum { LOOKED_AT = 20000 };

rp_result wire_widen_fibres(const rp_fibres_view *fibres, const char *field, double range[2])
{
    double *values = malloc((LOOKED_AT + 1) * sizeof *values), value;
    if (!values)
        return RP_OUT_OF_MEMORY;
    int64_t n = 0, step = 1 + fibres->nodes / LOOKED_AT;
    rp_result result = fibres->nodes == 0 || wire_fibre_value(fibres, field, 0, &value) ? RP_OK : RP_BAD_ARGUMENT;
    for (int64_t i = 0; result == RP_OK && i < fibres->nodes; i += step)
        if (wire_fibre_value(fibres, field, i, &value) && isfinite(value))
            values[n++] = value;
    widen_range(values, n, range);
    free(values);
    return result;
}

rp_result wire_widen(const rp_frame *frame, const char *field, double range[2])
{
    if (frame->count == 0)
        return RP_OK;
    double *values = malloc((size_t)frame->count * sizeof *values);
    if (!values)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp_frame_values(frame, field, values, NULL);
    int64_t n = 0, step = 1 + frame->count / LOOKED_AT;
    for (int64_t i = 0; result == RP_OK && i < frame->count; i += step)
        if (isfinite(values[i]))
            values[n++] = values[i];
    widen_range(values, n, range);
    free(values);
    return result;
}

/* ---- room ---- */

void wire_buffer_free(wire_buffer *b)
{
    free(b->bytes);
    free(b->chosen);
    free(b->values);
    free(b->radii);
    free(b->colours);
    free(b->more);
    free(b->known);
    memset(b, 0, sizeof *b);
}

/* An array of at least `count` elements, and one more. */
static bool array_room(void **array, int64_t *room, int64_t count, size_t element)
{
    if (*room >= count && *array)
        return true;
    void *more = realloc(*array, (size_t)(count + 1) * element);
    if (!more)
        return false;
    *array = more, *room = count;
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

uint8_t *wire_more_room(wire_buffer *b, size_t count)
{
    if (b->more_room < b->more_size + count) {
        size_t room = b->more_size + count + count / 8;
        uint8_t *more = realloc(b->more, room);
        if (!more)
            return NULL;
        b->more = more, b->more_room = room;
    }
    b->more_size += count;
    return b->more + b->more_size - count;
}

/* ---- packing ---- */

typedef struct planes {
    const rp_field_view *position, *volume, *material, *id, *radius;
} planes;

/* Planes of doubles, as positions and volumes are everywhere but in frames of other programs; NULL: of another type. */
static const double *doubles(const rp_field_view *v, int component)
{
    return v && v->info.type == RP_F64 ? (const double *)v->data + component * v->stride : NULL;
}

static void widen_one(double v, double *low, double *high)
{
    *low = v > -1e30 && v < *low ? v : *low;
    *high = v < 1e30 && v > *high ? v : *high;
}

static void widen(const rp_field_view *x, int d, double *low, double *high)
{
    const double *plane = doubles(x, d);
    if (plane) {
        wire_widen_double(plane, x->count, low, high);
        return;
    }
    for (int64_t i = 0; i < x->count; i++)
        widen_one(wire_number(x, d, i), low, high);
}

/* The box of the positions sent: the domain, wider where grains or fibres have left it. At rest it does not change, nor do the bytes. */
static void find_box(const wire_content *c, const rp_field_view *x, wire_header *h)
{
    const rp_frame *frame = c->frame;
    for (int d = 0; d < 3; d++) {
        double low = d < frame->dim ? frame->lower[d] : 0, high = d < frame->dim ? frame->upper[d] : 0;
        if (c->fine) {
            double a = INFINITY, b = -INFINITY;
            wire_widen_single(c->fine->x[d], c->fine->count, &a, &b);
            low = fmin(low, a + c->fine->base[d]), high = fmax(high, b + c->fine->base[d]);
        } else if (x)
            widen(x, d, &low, &high);
        for (int64_t k = 0; c->fibres && k < c->fibres->nodes; k++)
            widen_one(c->fibres->position[3 * k + d], &low, &high);
        h->lower[d] = (float)low;
        if ((double)h->lower[d] > low) /* rounded up: one grain would lie outside */
            h->lower[d] = nextafterf(h->lower[d], -INFINITY);
        h->size[d] = (float)(high - (double)h->lower[d]);
        if ((double)h->lower[d] + (double)h->size[d] < high)
            h->size[d] = nextafterf(h->size[d], INFINITY);
    }
}

static void pack_bodies(const rp_frame *frame, uint8_t *to)
{
    for (int b = 0; b < frame->body_count; b++) {
        const rp_body_state *s = &frame->bodies[b];
        to = wire_put(to, (uint32_t)b | (s->present ? 0 : 0x80000000u), 4);
        for (int k = 0; k < 7; k++)
            to = wire_put_float(to, (float)(k < 3 ? s->position[k] : s->orientation[k - 3]));
    }
}

/* Those of an index, or of a type of their own: gathered block by block. */
static void pack_chosen(const wire_content *c, const rp_field_view *x, const double *const plane[3], const int32_t *index, int64_t count,
                        const double shift[3], const double factor[3], uint8_t *to)
{
    enum { BLOCK = 256 };
    double block[3][BLOCK];
    const double *const planes_of_block[3] = { block[0], block[1], block[2] };
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        int64_t n = count - begin < BLOCK ? count - begin : BLOCK;
        for (int d = 0; d < 3; d++)
            for (int64_t k = 0; k < n; k++) {
                int64_t i = index ? index[begin + k] : begin + k;
                block[d][k] = c->fine ? (double)c->fine->x[d][i] : plane[d] ? plane[d][i] : wire_number(x, d, i);
            }
        wire_quantise_double(planes_of_block, shift, factor, n, to + 6 * begin);
    }
}

static void pack_positions(const wire_content *c, const rp_field_view *x, const wire_buffer *b, const wire_header *h, uint8_t *to)
{
    double shift[3], factor[3];
    const double *plane[3];
    for (int d = 0; d < 3; d++) {
        factor[d] = h->size[d] > 0 ? 65535 / (double)h->size[d] : 0;
        shift[d] = (c->fine ? c->fine->base[d] : 0) - (double)h->lower[d];
        plane[d] = c->fine ? NULL : doubles(x, d);
    }
    if (!b->index && c->fine)
        wire_quantise_single(c->fine->x, shift, factor, h->count, to);
    else if (!b->index && plane[0])
        wire_quantise_double(plane, shift, factor, h->count, to);
    else
        pack_chosen(c, x, plane, b->index, h->count, shift, factor, to);
}

/* The colour of a particle by its id: found once, as it costs two random numbers. */
static uint8_t colour_of(const wire_palette *palette, wire_buffer *b, int64_t id, int m)
{
    if (id < 0 || id >= b->known_room || m < 0 || m > 253)
        return wire_palette_byte(palette, m, id);
    if (b->known[id] >> 8 != m + 1)
        b->known[id] = (uint16_t)((m + 1) << 8 | wire_palette_byte(palette, m, id));
    return (uint8_t)b->known[id];
}

static void pack_palette(const wire_content *c, const planes *p, const wire_palette *palette, wire_buffer *b, int64_t count, uint8_t *to)
{
    if (c->fine) {
        uint8_t byte[256];
        for (int t = 0; t < 256; t++)
            byte[t] = wire_palette_byte(palette, c->fine->material, t);
        for (int64_t k = 0; k < count; k++) {
            int64_t i = b->index ? b->index[k] : k;
            to[k] = byte[c->fine->tone ? c->fine->tone[i] : i & 255];
        }
        return;
    }
    int64_t before = b->known_room;
    if (before < c->frame->count && array_room((void **)&b->known, &b->known_room, 2 * c->frame->count, sizeof *b->known))
        memset(b->known + before, 0, (size_t)(b->known_room - before) * sizeof *b->known);
    const int32_t *material = p->material && p->material->info.type == RP_I32 ? p->material->data : NULL;
    const int64_t *id = p->id && p->id->info.type == RP_I64 ? p->id->data : NULL;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = b->index ? b->index[k] : k;
        int m = material ? material[i] : p->material ? (int)wire_number(p->material, 0, i) : 0;
        to[k] = colour_of(palette, b, id ? id[i] : wire_id(p->id, i), m);
    }
}

static rp_result find_values(const wire_content *c, const char *field, wire_buffer *b)
{
    if (!c->fine)
        return rp_frame_values(c->frame, field, b->values, NULL);
    int only = strcmp(field, "velocity.x") == 0 ? 0 : strcmp(field, "velocity.y") == 0 ? 1 : strcmp(field, "velocity.z") == 0 ? 2 : -1;
    if ((only < 0 && strcmp(field, "velocity") != 0) || !c->fine->v[0])
        return RP_BAD_ARGUMENT;
    for (int64_t i = 0; i < c->fine->count; i++) {
        float x = c->fine->v[0][i], y = c->fine->v[1][i], z = c->fine->v[2][i];
        b->values[i] = only >= 0 ? (double)c->fine->v[only][i] : (double)sqrtf(x * x + y * y + z * z);
    }
    return RP_OK;
}

static void pack_values(const wire_buffer *b, int64_t count, double low, double high, uint8_t *to)
{
    double factor = 255 / (high - low);
    for (int64_t k = 0; k < count; k++) {
        double part = (b->values[b->index ? b->index[k] : k] - low) * factor + 0.5;
        part = part > 0 ? part : 0; /* not a number is the lowest */
        to[k] = (uint8_t)(int32_t)(part < 255 ? part : 255);
    }
}

static double own_radii(const rp_field_view *radius, int64_t n, wire_buffer *b, bool *alike)
{
    float largest = 0, smallest = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        float r = b->radii[i] = (float)wire_number(radius, 0, i);
        largest = r > largest ? r : largest;
        smallest = r < smallest ? r : smallest;
    }
    *alike = largest - smallest < 1e-4f * largest;
    return (double)largest;
}

/* Radii into b->radii; the largest. *alike: there is but one. Materials differ by a factor: radius = k volume^(1/3). */
static double find_radii(const wire_content *c, const rp_sim_def *sim, const planes *p, wire_buffer *b, bool *alike)
{
    int64_t n = c->frame->count;
    *alike = true;
    if (c->fine || n == 0 || !(p->volume || p->radius))
        return c->fine ? c->fine->radius : n ? 0.25 * sim->cell_size : 0;
    if (p->radius) /* grains one by one know theirs */
        return own_radii(p->radius, n, b, alike);
    const double *volume = doubles(p->volume, 0);
    if (!volume) {
        for (int64_t i = 0; i < n; i++)
            b->values[i] = wire_number(p->volume, 0, i);
        volume = b->values;
    }
    double least = INFINITY, most = -INFINITY;
    wire_widen_double(volume, n, &least, &most);
    if (least == most && sim->material_count <= 1) {
        float same = (float)rp_stage_radius(sim, most, 0);
        return (double)same;
    }
    wire_roots(volume, n, sim->dim, b->radii);
    float largest = 0, smallest = INFINITY, factor[256];
    int materials = sim->material_count < 256 ? sim->material_count : 255;
    for (int m = 0; m <= materials; m++)
        factor[m] = (float)rp_stage_radius(sim, 1, m);
    const int32_t *material = p->material && p->material->info.type == RP_I32 && materials > 1 ? p->material->data : NULL;
    for (int64_t i = 0; i < n; i++) {
        int m = material ? material[i] : 0;
        b->radii[i] *= factor[m >= 0 && m < materials ? m : materials];
        largest = b->radii[i] > largest ? b->radii[i] : largest;
        smallest = b->radii[i] < smallest ? b->radii[i] : smallest;
    }
    *alike = largest - smallest < 1e-4f * largest;
    return (double)largest;
}

static void pack_radii(const wire_buffer *b, int64_t count, double largest, uint8_t *to)
{
    float factor = largest > 0 ? (float)(255 / largest) : 0;
    for (int64_t k = 0; k < count; k++) {
        float part = b->radii[b->index ? b->index[k] : k] * factor + 0.5f;
        part = part > 1 ? part : 1;
        to[k] = (uint8_t)(int32_t)(part < 255 ? part : 255);
    }
}

static int64_t id_of(const wire_content *c, const planes *p, int64_t i)
{
    return c->fine ? i : wire_id(p->id, i);
}

/* Those that are sent into b->index; their number. */
static int64_t choose(const wire_content *c, const planes *p, uint32_t stride, bool ordered, wire_buffer *b)
{
    int64_t all = c->fine ? c->fine->count : p->position ? c->frame->count : 0, count = 0;
    b->index = NULL;
    if (stride == 1 && !ordered)
        return all;
    b->index = b->chosen;
    for (int64_t i = 0; i < all; i++)
        if (stride == 1 || wire_keeps(id_of(c, p, i), stride))
            b->index[count++] = (int32_t)i;
    return count;
}

/* Those that thinner frames keep to the front, in their order. */
static void order(const wire_content *c, const planes *p, uint32_t stride, int64_t count, wire_buffer *b)
{
    int32_t *sorted = (int32_t *)b->values; /* scratch: there are as many doubles as particles */
    uint8_t *place = (uint8_t *)(sorted + count);
    int64_t first[WIRE_LEVELS + 1] = { 0 };
    for (int64_t k = 0; k < count; k++) {
        place[k] = (uint8_t)(WIRE_LEVELS - 1 - wire_level(id_of(c, p, b->index[k]), stride, WIRE_LEVELS - 1)); /* the thinnest first */
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
    uint8_t *to = b->bytes + WIRE_HEADER + WIRE_LOOK + (size_t)h.bodies * WIRE_BODY;
    const uint8_t *from = to, *more = b->bytes + b->size - h.more;
    const size_t width[4] = { 6, h.flags & (WIRE_PALETTE | WIRE_VALUE) ? 1 : 0, h.flags & WIRE_RADIUS ? 1 : 0, h.flags & WIRE_TONE ? 1 : 0 };
    for (int plane = 0; plane < 4; plane++) {
        memmove(to, from, kept * width[plane]);
        to += kept * width[plane], from += all * width[plane];
    }
    h.count = kept;
    h.stride <<= k;
    b->size = wire_size(&h);
    memset(to, 0, (size_t)(b->bytes + b->size - h.more - to));
    memmove(b->bytes + b->size - h.more, more, h.more);
    wire_write_header(&h, b->bytes);
    wire_seal(b->bytes, b->size);
}

static rp_result pack_more(const wire_content *c, const rp_sim_def *sim, const wire_palette *palette, const wire_wish *wish, const uint8_t *colour,
                           wire_header *h, wire_buffer *b)
{
    b->more_size = 0;
    rp_result result = RP_OK;
    bool arrows = false;
    if (c->fibres && c->fibres->count > 0) {
        result = wire_pack_fibres(c->fibres, sim, wish, h, b);
        h->flags |= WIRE_FIBRES;
    } else if (!c->fine && h->count > 0) {
        bool capsules;
        result = wire_pack_capsules(c->frame, palette, h, colour, b, &capsules);
        h->flags |= capsules ? WIRE_FIBRES : 0;
    }
    if (result == RP_OK && wish->arrows[0])
        result = wire_pack_arrows(c, wish->arrows, h, b, &arrows);
    if (arrows)
        h->flags |= WIRE_ARROWS;
    h->more = (uint32_t)b->more_size;
    return result;
}

/* Whether grains are coloured by a field. When they have none of this name, but fibres do, they keep the colours of their materials. */
static rp_result colour_by(const wire_content *c, const char *field, wire_buffer *b, bool *values)
{
    double any;
    *values = field[0] && strcmp(field, "material") != 0;
    rp_result result = *values ? find_values(c, field, b) : RP_OK;
    if (result == RP_BAD_ARGUMENT && c->fibres && c->fibres->nodes > 0 && wire_fibre_value(c->fibres, field, 0, &any)) {
        *values = false;
        return RP_OK;
    }
    return result;
}

rp_result wire_pack(const wire_content *content, const rp_sim_def *sim, const wire_palette *palette, const wire_wish *wish, uint32_t serial,
                    wire_buffer *out)
{
    const rp_frame *frame = content->frame;
    planes p = { rp_frame_field(frame, "position"), rp_frame_field(frame, "volume"), rp_frame_field(frame, "material"),
                 rp_frame_field(frame, "id"), rp_frame_field(frame, "radius") };
    int64_t all = content->fine ? content->fine->count : frame->count;
    if (all > INT32_MAX)
        return RP_TOO_LARGE;
    uint32_t stride = wire_stride(all, WIRE_MOST_GRAINS);
    while (stride < wish->stride)
        stride *= 2;
    if (!array_room((void **)&out->chosen, &out->chosen_room, all, sizeof *out->chosen) ||
        !array_room((void **)&out->values, &out->values_room, all, sizeof *out->values) ||
        !array_room((void **)&out->radii, &out->radii_room, all, sizeof *out->radii))
        return RP_OUT_OF_MEMORY;
    double low = wish->low, high = wish->high > wish->low ? wish->high : wish->low + 1;
    wire_header h = { .flags = (content->fine ? WIRE_FINE : 0) | (frame->dim == 2 ? WIRE_TWO : 0), .frame = (uint64_t)frame->index,
                      .time = frame->time, .bodies = (uint32_t)frame->body_count, .stride = stride, .low = (float)low, .high = (float)high,
                      .total = (uint32_t)all, .step = (uint64_t)frame->step, .serial = serial };
    find_box(content, p.position, &h);
    h.count = (uint32_t)choose(content, &p, stride, wish->ordered, out);
    for (int k = 0; k < WIRE_LEVELS; k++)
        out->level[k] = h.count;
    if (wish->ordered)
        order(content, &p, stride, h.count, out);
    bool alike, values;
    double largest = find_radii(content, sim, &p, out, &alike);
    h.radius = (float)largest;
    rp_result result = colour_by(content, wish->field, out, &values);
    if (result != RP_OK)
        return result;
    bool tones = !content->fine && h.count <= WIRE_MOST_TONES;
    h.flags |= (values ? WIRE_VALUE : WIRE_PALETTE) | (alike ? 0 : WIRE_RADIUS) | (tones ? WIRE_TONE : 0);
    if (!array_room((void **)&out->colours, &out->colours_room, h.count, 1))
        return RP_OUT_OF_MEMORY;
    if (values)
        pack_values(out, h.count, low, high, out->colours);
    else
        pack_palette(content, &p, palette, out, h.count, out->colours);
    result = pack_more(content, sim, palette, wish, out->colours, &h, out);
    if (result == RP_OK && !byte_room(out, wire_size(&h)))
        result = RP_OUT_OF_MEMORY;
    if (result != RP_OK)
        return result;
    wire_write_header(&h, out->bytes);
    uint8_t *to = out->bytes + WIRE_HEADER + WIRE_LOOK;
    pack_bodies(frame, to);
    to += (size_t)h.bodies * WIRE_BODY;
    if (h.count > 0)
        pack_positions(content, p.position, out, &h, to);
    to += (size_t)h.count * 6;
    memcpy(to, out->colours, h.count);
    to += h.count;
    if (!alike)
        pack_radii(out, h.count, largest, to);
    uint8_t *more = out->bytes + out->size - h.more;
    to += alike ? 0 : h.count;
    for (int64_t k = 0; k < h.count && tones; k++)
        *to++ = wire_tone(wire_id(p.id, out->index ? out->index[k] : k));
    memset(to, 0, (size_t)(more - to));
    if (h.more)
        memcpy(more, out->more, h.more);
    wire_seal(out->bytes, out->size);
    return RP_OK;
}
