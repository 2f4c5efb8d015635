/* What comes after the grains of a frame: fibres, and arrows of a vector field. */
#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- fibres ---- */

bool wire_fibre_value(const rp_fibres_view *fibres, const char *field, int64_t node, double *value)
{
    if (strcmp(field, "tension") == 0 && fibres->tension) {
        *value = fibres->tension[node];
        return true;
    }
    if (strncmp(field, "velocity", 8) != 0 || !fibres->velocity)
        return false;
    const double *v = fibres->velocity + 3 * node;
    int axis = field[8] == '.' && field[9] >= 'x' && field[9] <= 'z' && !field[10] ? field[9] - 'x' : -1;
    if (axis < 0 && field[8])
        return false;
    *value = axis >= 0 ? v[axis] : sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    return true;
}

/* Bytes of the colours of all fibres: of their kind, each a shade of its own as in our pictures. */
static rp_result fibre_colours(const rp_fibres_view *f, const rp_sim_def *sim, uint8_t *to)
{
    for (int d = 0; d < sim->fibres_count; d++) {
        rp_palette palette;
        rp_result result = rp_palette_parse(sim->fibres[d].colour, &palette);
        if (result != RP_OK)
            return result;
        for (int64_t k = 0; k < f->count; k++)
            if (f->kind[k] == d)
                rp_palette_pick(&palette, k, to + 8 * k + 4);
    }
    return RP_OK;
}

/* u32 fibres, u32 nodes, f32 largest radius, u32 flags (1: the last byte of a node is a value, 2: ends are round); a fibre: u32 nodes, u8 × 4 colour; a node:
 * u16 × 3 position, u8 radius in 255ths of the largest, u8 value. */
rp_result wire_pack_fibres(const rp_fibres_view *f, const rp_sim_def *sim, const wire_wish *wish, const wire_header *h, wire_buffer *b)
{
    double largest = 0, any;
    for (int64_t k = 0; k < f->nodes; k++)
        largest = fmax(largest, f->radius[k]);
    bool values = f->nodes > 0 && wire_fibre_value(f, wish->field, 0, &any);
    double low = (double)h->low, factor = 255 / ((double)h->high - low);
    uint8_t *to = wire_more_room(b, 16 + 8 * (size_t)f->count + 8 * (size_t)f->nodes);
    if (!to)
        return RP_OUT_OF_MEMORY;
    to = wire_put(wire_put_float(wire_put(wire_put(to, (uint64_t)f->count, 4), (uint64_t)f->nodes, 4), (float)largest), values, 4);
    memset(to, 128, 8 * (size_t)f->count);
    for (int64_t k = 0; k < f->count; k++)
        wire_put(to + 8 * k, (uint64_t)(f->first[k + 1] - f->first[k]), 4);
    rp_result result = fibre_colours(f, sim, to);
    to += 8 * f->count;
    for (int64_t k = 0; k < f->nodes; k++) {
        for (int d = 0; d < 3; d++)
            to = wire_put(to, wire_quantise(f->position[3 * k + d], (double)h->lower[d], (double)h->size[d]), 2);
        double part = largest > 0 ? 255 * f->radius[k] / largest + 0.5 : 255, value = 0;
        *to++ = (uint8_t)(part >= 255 ? 255 : part >= 1 ? part : 1);
        if (values)
            wire_fibre_value(f, wish->field, k, &value);
        part = (value - low) * factor + 0.5;
        *to++ = (uint8_t)(part >= 255 ? 255 : part > 0 ? part : 0);
    }
    return result;
}

/* ---- capsules ---- */

/* Half the length of the axis, from the volume 4/3 pi r³ + 2 pi r² h (in 2D pi r² + 4 r h). */
static double half_length(double volume, double r, int dim)
{
    const double pi = 3.14159265358979323846;
    return dim == 2 ? (volume - pi * r * r) / (4 * r) : (volume - 4.0 / 3 * pi * r * r * r) / (2 * pi * r * r);
}

rp_result wire_pack_capsules(const rp_frame *frame, const wire_palette *palette, const wire_header *h, const uint8_t *colour, wire_buffer *b, bool *any)
{
    const rp_field_view *x = rp_frame_field(frame, "position"), *radius = rp_frame_field(frame, "radius"), *axis = rp_frame_field(frame, "axis"),
                        *volume = rp_frame_field(frame, "volume");
    bool values = (h->flags & WIRE_VALUE) != 0;
    *any = false;
    for (int64_t i = 0; x && radius && axis && volume && i < frame->count && !*any; i++) {
        double r = wire_number(radius, 0, i);
        *any = r > 0 && half_length(wire_number(volume, 0, i), r, frame->dim) > 1e-3 * r;
    }
    if (!*any)
        return RP_OK;
    uint8_t *to = wire_more_room(b, 16 + 24 * (size_t)h->count), *node = to + 16 + 8 * (size_t)h->count;
    if (!to)
        return RP_OUT_OF_MEMORY;
    to = wire_put(wire_put_float(wire_put(wire_put(to, h->count, 4), 2 * (uint64_t)h->count, 4), h->radius), values ? 3 : 2, 4);
    for (int64_t k = 0; k < h->count; k++) {
        int64_t i = b->index ? b->index[k] : k;
        double r = wire_number(radius, 0, i), length = fmax(0, half_length(wire_number(volume, 0, i), r, frame->dim)) + 1e-6 * r;
        to = wire_put(to, 2, 4);
        for (int c = 0; c < 3; c++)
            *to++ = values ? 128 : palette->colours[colour[k]][c];
        *to++ = 255;
        for (int e = -1; e <= 1; e += 2) {
            for (int d = 0; d < 3; d++)
                node = wire_put(node, wire_quantise(wire_number(x, d, i) + e * length * wire_number(axis, d, i), (double)h->lower[d], (double)h->size[d]), 2);
            double part = h->radius > 0 ? 255 * r / (double)h->radius + 0.5 : 255;
            *node++ = (uint8_t)(part >= 255 ? 255 : part >= 1 ? part : 1);
            *node++ = values ? colour[k] : 0;
        }
    }
    return RP_OK;
}

/* ---- arrows ---- */

enum { ARROWS_MOST = 1500 };

/* A lattice over the domain, of cells or several of them, with at most ARROWS_MOST places. */
typedef struct lattice {
    double lower[3], width;
    int64_t size[3];
} lattice;

static lattice make_lattice(const rp_frame *frame)
{
    lattice l = { .width = frame->cell_size > 0 ? frame->cell_size : 1 };
    for (;; l.width *= 1.25) {
        double places = 1;
        for (int d = 0; d < 3; d++) {
            l.lower[d] = frame->lower[d];
            double cells = d < frame->dim ? ceil((frame->upper[d] - frame->lower[d]) / l.width - 1e-9) : 1;
            l.size[d] = (int64_t)fmin(fmax(cells, 1), 1e6);
            places *= fmax(cells, 1);
        }
        if (places <= ARROWS_MOST || !isfinite(places))
            return l;
    }
}

static int64_t place_in(const lattice *l, const double x[3])
{
    int64_t at = 0;
    for (int d = 2; d >= 0; d--) {
        double c = floor((x[d] - l->lower[d]) / l->width);
        if (l->size[d] == 1)
            c = 0;
        if (!(c >= 0 && c < (double)l->size[d]))
            return -1;
        at = at * l->size[d] + (int64_t)c;
    }
    return at;
}

/* Sums of the vectors in each place of the lattice, and how many there are. */
static void gather(const lattice *l, const rp_field_view *x, const rp_field_view *v, double (*sum)[4])
{
    for (int64_t i = 0; i < x->count; i++) {
        double p[3], u[3];
        for (int d = 0; d < 3; d++)
            p[d] = wire_number(x, d, i), u[d] = wire_number(v, d, i);
        int64_t at = place_in(l, p);
        if (at < 0 || !isfinite(u[0] + u[1] + u[2]))
            continue;
        for (int d = 0; d < 3; d++)
            sum[at][d] += u[d];
        sum[at][3] += 1;
    }
}

/* u32 arrows, f32 the longest, f32 width of the lattice, u32 0; an arrow: u16 × 3 its middle, i16 × 3 in 32767ths of the longest. */
static rp_result put_arrows(const lattice *l, double (*sum)[4], const wire_header *h, wire_buffer *b)
{
    int64_t places = l->size[0] * l->size[1] * l->size[2], count = 0;
    double longest = 0;
    for (int64_t k = 0; k < places; k++) {
        if (sum[k][3] == 0)
            continue;
        count++;
        for (int d = 0; d < 3; d++)
            sum[k][d] /= sum[k][3];
        longest = fmax(longest, sqrt(sum[k][0] * sum[k][0] + sum[k][1] * sum[k][1] + sum[k][2] * sum[k][2]));
    }
    uint8_t *to = wire_more_room(b, 16 + 12 * (size_t)count);
    if (!to)
        return RP_OUT_OF_MEMORY;
    to = wire_put(wire_put_float(wire_put_float(wire_put(to, (uint64_t)count, 4), (float)longest), (float)l->width), 0, 4);
    for (int64_t k = 0; k < places; k++) {
        int64_t at = k;
        if (sum[k][3] == 0)
            continue;
        for (int d = 0; d < 3; at /= l->size[d], d++) {
            double c = l->lower[d] + ((double)(at % l->size[d]) + 0.5) * l->width;
            to = wire_put(to, wire_quantise(l->size[d] == 1 ? l->lower[d] : c, (double)h->lower[d], (double)h->size[d]), 2);
        }
        for (int d = 0; d < 3; d++)
            to = wire_put(to, (uint16_t)(int16_t)lround(longest > 0 ? 32767 * sum[k][d] / longest : 0), 2);
    }
    return RP_OK;
}

rp_result wire_pack_arrows(const wire_content *content, const char *field, const wire_header *h, wire_buffer *b, bool *any)
{
    const rp_frame *from = content->nodes && rp_frame_field(content->nodes, field) ? content->nodes : content->frame;
    const rp_field_view *x = rp_frame_field(from, "position"), *v = rp_frame_field(from, field);
    *any = x && v && v->info.components == 3;
    if (!*any)
        return RP_OK; /* a run that changed its method, or a frame before the first step: nothing to show */
    lattice l = make_lattice(content->frame);
    double (*sum)[4] = calloc((size_t)(l.size[0] * l.size[1] * l.size[2]), sizeof *sum);
    if (!sum)
        return RP_OUT_OF_MEMORY;
    gather(&l, x, v, sum);
    rp_result result = put_arrows(&l, sum, h, b);
    free(sum);
    return result;
}
