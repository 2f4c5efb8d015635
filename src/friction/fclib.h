/* Inside of the FCLIB reader and writer. */
#ifndef RP_FRICTION_FCLIB_H
#define RP_FRICTION_FCLIB_H

#include "friction/problem.h"

/* Reads a problem from the bytes of a file in memory; `name` stands before every refusal. */
rp_result rp__friction_read_image(const void *data, size_t size, const char *name, rp_friction **problem);

#endif
