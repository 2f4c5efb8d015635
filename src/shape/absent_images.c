/* In the place of image.c where libpng is left out: height fields come as arrays. */
#include "base/error.h"
#include "shape/image.h"

rp_result rp__shape_image_decode(const char *name, const char *data, size_t size, rp__shape_image *image)
{
    (void)data;
    (void)size;
    (void)image;
    return rp__base_fail(RP_UNSUPPORTED, "%s: this library was built without the component 'images' (libpng); give the heights as an array", name);
}

rp_result rp__shape_image_read(const char *path, rp__shape_image *image)
{
    return rp__shape_image_decode(path, NULL, 0, image);
}
