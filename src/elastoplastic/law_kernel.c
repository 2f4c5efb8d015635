/* The law on lanes of particles, in double and in single precision. The plain twins are in law.c. */
#include "elastoplastic/elastoplastic.h"
#include "math/lanes.h"

#define REAL double
#define NAME(name) double_##name
#define EIGEN rp__lanes_eigen_sym3
#define TINY 1e-290
#define SQRT sqrt
#define ABS fabs
#include "elastoplastic/law_lanes.h"

#define REAL float
#define NAME(name) single_##name
#define EIGEN rp__lanes_eigen_sym3_float
#define TINY 1e-36f
#define SQRT sqrtf
#define ABS fabsf
#include "elastoplastic/law_lanes.h"

typedef void (*lanes_fn)(const rp__elastoplastic_step *step, rp__particles *p, int64_t first, int count);

static void run(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end, lanes_fn function)
{
    for (int64_t i = begin; i < end; i += RP_LANES)
        function(step, p, i, end - i < RP_LANES ? (int)(end - i) : RP_LANES);
}

void rp__elastoplastic_stress_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end)
{
    run(step, p, begin, end, step->single ? single_stress_lanes : double_stress_lanes);
}

void rp__elastoplastic_strain_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end)
{
    run(step, p, begin, end, step->single ? single_strain_lanes : double_strain_lanes);
}

void rp__elastoplastic_response_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end)
{
    run(step, p, begin, end, step->single ? single_response_lanes : double_response_lanes);
}
