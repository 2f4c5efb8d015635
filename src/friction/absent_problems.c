/* In the place of fclib_read.c and fclib_write.c where HDF5 is left out: problems come as arrays. */
#include "base/error.h"
#include "friction/fclib.h"

static rp_result absent(const char *path)
{
    return rp__base_fail(RP_UNSUPPORTED, "%s: this library was built without the component 'problems' (FCLIB files, HDF5)", path ? path : "a problem");
}

rp_result rp_friction_read(const char *path, rp_friction **problem)
{
    (void)problem;
    return absent(path);
}

rp_result rp_friction_write(const rp_friction *problem, const char *path, const double *r, const double *u)
{
    (void)problem;
    (void)r;
    (void)u;
    return absent(path);
}

rp_result rp_friction_write_solution(const rp_friction *problem, const char *source, const char *path, const double *r, const double *u)
{
    (void)problem;
    (void)source;
    (void)r;
    (void)u;
    return absent(path);
}
