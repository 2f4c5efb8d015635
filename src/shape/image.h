/* Grey pictures for height fields: PNG (any kind, made grey) and PGM, 8 or 16 bits. */
#ifndef RP_SHAPE_IMAGE_H
#define RP_SHAPE_IMAGE_H

#include <repose/result.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp__shape_image {
    int64_t width, height;
    uint16_t *grey; /* row after row from the top; 0 black, 65535 white; free with rp__base_free */
} rp__shape_image;

rp_result rp__shape_image_read(const char *path, rp__shape_image *image);

/* The same from memory; `name` stands in messages. */
rp_result rp__shape_image_decode(const char *name, const char *data, size_t size, rp__shape_image *image);

#endif
