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
    WIRE_MOST_GRAINS = 1000000, /* sent; more are thinned */
    WIRE_MOST_TONES = 200000   /* so many are not split any more */
};

typedef enum wire_flag {
    WIRE_PALETTE = 1,          /* a byte a grain: a colour of the list in the scene message */
    WIRE_VALUE = 2,            /* a byte a grain: where its value lies in the range of the look */
    WIRE_RADIUS = 4,           /* a byte a grain: its radius in parts of the largest */
    WIRE_TWO = 8,              /* two dimensions */
    WIRE_FIBRES = 16,          /* fibres come after the grains */
    WIRE_ARROWS = 32,          /* arrows come after them */
    WIRE_TONE = 128,           /* a byte a grain that it keeps for life: chooses how a particle is split into grains to look at */
    WIRE_FINE = 64             /* grains are fine ones that particles lead: their number in the frame is no particle's */
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
    uint32_t more;             /* bytes after the grains: fibres and arrows */
} wire_header;

uint32_t wire_crc(const void *data, size_t size);
size_t wire_size(const wire_header *h);

void wire_write_header(const wire_header *h, uint8_t *bytes);
/* Sets the checksum of a whole frame. */
void wire_seal(uint8_t *bytes, size_t size);
/* False when the bytes are no whole frame, or the checksum is wrong. */
bool wire_read_header(const uint8_t *bytes, size_t size, wire_header *h);

/* Planes of positions to u16 × 3 each, x = factor (plane + shift) + 1/2 in single precision or double: `wire_quantise` by lanes, without its
 * division. */
void wire_quantise_single(const float *const x[3], const double shift[3], const double factor[3], int64_t count, uint8_t *to);
void wire_quantise_double(const double *const x[3], const double shift[3], const double factor[3], int64_t count, uint8_t *to);
/* Widens to the least and largest of numbers; those that are not finite are left out. */
void wire_widen_single(const float *x, int64_t count, double *low, double *high);
void wire_widen_double(const double *x, int64_t count, double *low, double *high);
/* r = volume^(1/3) (in 2D its root) by Newton's method, right to single precision. */
void wire_roots(const double *volume, int64_t count, int dim, float *r);

/* (x - lower) / size in 0 … 65535, rounded, held in the box; not-finite is 0. The error is at most size / 65535 / 2. */
uint16_t wire_quantise(double x, double lower, double size);
double wire_restore(uint16_t q, double lower, double size);

/* Whether the grain of this id is among one in `stride` (a power of two): by a hash, so that neighbours in memory or in space do not
 * vanish together, and the same grain stays from frame to frame. */
bool wire_keeps(int64_t id, uint32_t stride);
uint8_t wire_tone(int64_t id);
/* How often a stride can be doubled, at most `most` times, and still keep this grain, which `stride` keeps. */
int wire_level(int64_t id, uint32_t stride, int most);
uint32_t wire_stride(int64_t count, int64_t most);

/* ---- packing a frame ---- */

typedef struct wire_wish {
    char field[64];            /* "material" or a name of rp_frame_values; fibres have velocity and tension */
    char arrows[64];           /* a vector field; "": none */
    double low, high;          /* range of the field; equal: `find_range` below */
    uint32_t stride;           /* at least; 0 is 1 */
    bool ordered;              /* those that thinner frames keep come first: wire_thin can cut it */
} wire_wish;

/* A growing buffer; start with zeros, free with wire_buffer_free. */
typedef struct wire_buffer {
    uint8_t *bytes;
    size_t size, room;
    uint32_t level[WIRE_LEVELS]; /* of an ordered frame: grains that a stride of 2^k times the frame's own keeps */
    int32_t *index;            /* particle of each grain sent; NULL: all, in their order */
    /* scratch */
    int32_t *chosen;
    double *values;
    float *radii;
    uint8_t *colours;
    uint8_t *more;             /* fibres and arrows */
    size_t more_size, more_room;
    int64_t chosen_room, values_room, radii_room, colours_room;
    uint16_t *known;           /* by id: material + 1 and the colour that was chosen, 0: not yet */
    int64_t known_room;
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
/* The byte of a grain of this material. */
uint8_t wire_palette_byte(const wire_palette *p, int material, int64_t id);

/* Fine grains that are shown in place of the particles: planes of places from `base`, velocities (or NULL), a byte each that is kept for life. */
typedef struct wire_fine {
    int64_t count;
    const float *x[3], *v[3];
    const uint8_t *tone;
    double base[3], radius;
    int material;
} wire_fine;

/* What a frame is made of. */
typedef struct wire_content {
    const rp_frame *frame;
    const wire_fine *fine;       /* NULL: the particles */
    const rp_fibres_view *fibres; /* NULL: none */
    const rp_frame *nodes;       /* fields of nodes, for arrows; NULL: those of the particles */
} wire_content;

/* Fills the buffer. RP_BAD_ARGUMENT when there is no such field. */
rp_result wire_pack(const wire_content *content, const rp_sim_def *sim, const wire_palette *palette, const wire_wish *wish, uint32_t serial,
                    wire_buffer *out);
/* Cuts an ordered frame down to one in `times` of its grains (a power of two, at most 2^(WIRE_LEVELS - 1)). */
void wire_thin(wire_buffer *b, uint32_t times);
/* Widens `range` to the 1st and 99th percentile of the values of a frame or of fibres; leaves it when there are none. */
rp_result wire_widen(const rp_frame *frame, const char *field, double range[2]);
rp_result wire_widen_fibres(const rp_fibres_view *fibres, const char *field, double range[2]);
void wire_buffer_free(wire_buffer *b);

/* ---- inside packing ---- */

/* Component c of element i of a field, whatever its type. */
double wire_number(const rp_field_view *v, int component, int64_t i);
int64_t wire_id(const rp_field_view *v, int64_t i); /* v NULL: i */
/* Makes room for `count` more bytes; NULL: no memory. */
uint8_t *wire_more_room(wire_buffer *b, size_t count);
uint8_t *wire_put(uint8_t *to, uint64_t value, int bytes); /* little endian; returns what follows */
uint8_t *wire_put_float(uint8_t *to, float value);
/* Fibres and arrows behind b->more; the flags they set. */
rp_result wire_pack_fibres(const rp_fibres_view *fibres, const rp_sim_def *sim, const wire_wish *wish, const wire_header *h, wire_buffer *b);
/* Grains that are capsules, as fibres of one piece with round ends; *any false: they are balls. `colour`: a byte each of the grains sent. */
rp_result wire_pack_capsules(const rp_frame *frame, const wire_palette *palette, const wire_header *h, const uint8_t *colour, wire_buffer *b, bool *any);
rp_result wire_pack_arrows(const wire_content *content, const char *field, const wire_header *h, wire_buffer *b, bool *any);
/* Value of a node of a fibre by the name of its field; false: fibres have no such field. */
bool wire_fibre_value(const rp_fibres_view *fibres, const char *field, int64_t node, double *value);

#endif
