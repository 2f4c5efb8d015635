/* Frames as they go over the socket (docs/viewer.md): quantised positions, little endian, with a checksum. */
#ifndef REPOSE_APPS_VIEW_PROTOCOL_H
#define REPOSE_APPS_VIEW_PROTOCOL_H

#include <repose/repose.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_HEADER = 64,
    WIRE_LOOK = 32,            /* sizes and the range of colours, after the header */
    WIRE_BODY = 32,
    WIRE_LEVELS = 5,
    WIRE_MOST_GRAINS = 1000000 /* sent; more are thinned */
};

typedef enum wire_flag {
    WIRE_PALETTE = 1,          /* a byte a grain: a colour of the list in the scene message */
    WIRE_VALUE = 2,            /* a byte a grain: where its value lies in the range of the look */
    WIRE_RADIUS = 4,           /* a byte a grain: its radius in parts of the largest */
    WIRE_TWO = 8               /* two dimensions */
} wire_flag;

typedef struct wire_header {
    uint32_t flags;
    uint64_t frame;
    double time;
    float lower[3], size[3];   /* of the box in which positions are quantised */
    uint32_t count, bodies;
    uint32_t stride;           /* one in `stride` grains is sent */
    uint32_t crc;              /* CRC-32 (IEEE 802.3) of all bytes, these four taken as zero */
    /* the look */
    float radius;              /* the largest [m] */
    float low, high;           /* of the values */
    uint32_t total;            /* grains before thinning */
    uint64_t step;
    uint32_t serial;           /* counts what was published: tells two states of one frame apart */
} wire_header;

uint32_t wire_crc(const void *data, size_t size);
size_t wire_size(const wire_header *h);

void wire_write_header(const wire_header *h, uint8_t *bytes);
/* Sets the checksum of a whole frame. */
void wire_seal(uint8_t *bytes, size_t size);
/* False when the bytes are no whole frame, or the checksum is wrong. */
bool wire_read_header(const uint8_t *bytes, size_t size, wire_header *h);

/* (x - lower) / size in 0 … 65535, rounded, held in the box; not-finite is 0. The error is at most size / 65535 / 2. */
uint16_t wire_quantise(double x, double lower, double size);
double wire_restore(uint16_t q, double lower, double size);

/* Whether the grain of this id is among one in `stride` (a power of two): by a hash, so that neighbours in memory or in space do not
 * vanish together, and the same grain stays from frame to frame. */
bool wire_keeps(int64_t id, uint32_t stride);
/* How often a stride can be doubled, at most `most` times, and still keep this grain, which `stride` keeps. */
int wire_level(int64_t id, uint32_t stride, int most);
uint32_t wire_stride(int64_t count, int64_t most);

/* ---- packing a frame ---- */

typedef struct wire_wish {
    char field[64];            /* "material" or a name of rp_frame_values */
    double low, high;          /* its range; equal: `find_range` below */
    uint32_t stride;           /* at least; 0 is 1 */
    bool ordered;              /* those that thinner frames keep come first: wire_thin can cut it */
} wire_wish;

/* A growing buffer; start with zeros, free `bytes`. */
typedef struct wire_buffer {
    uint8_t *bytes;
    size_t size, room;
    uint32_t level[WIRE_LEVELS]; /* of an ordered frame: grains that a stride of 2^k times the frame's own keeps */
    int32_t *index;            /* particle of each grain sent */
    int64_t index_room;
    double *values;            /* scratch */
    int64_t values_room;
} wire_buffer;

/* Colours of the materials of a scene, at most 256, in the order of the bytes. Each comes in several shades, down to a tenth darker, of
 * which a grain keeps its own by its id, as in our pictures. */
typedef struct wire_palette {
    int material_count;
    rp_palette *materials;     /* one more than there are: for particles without */
    int *first;                /* place of its first colour in the list */
    int shades;                /* of each colour */
    uint8_t colours[256][3];   /* shades side by side */
    int count;
} wire_palette;

rp_result wire_palette_make(const rp_sim_def *sim, wire_palette *out);
void wire_palette_free(wire_palette *p);

/* Fills the buffer. RP_BAD_ARGUMENT when the frame has no such field. */
rp_result wire_pack(const rp_frame *frame, const rp_sim_def *sim, const wire_palette *palette, const wire_wish *wish, uint32_t serial,
                    wire_buffer *out);
/* Cuts an ordered frame down to one in `times` of its grains (a power of two, at most 2^(WIRE_LEVELS - 1)). */
void wire_thin(wire_buffer *b, uint32_t times);
/* Widens `range` to the 1st and 99th percentile of the values of a frame; leaves it when there are none. */
rp_result wire_widen(const rp_frame *frame, const char *field, double range[2]);
void wire_buffer_free(wire_buffer *b);

#endif
