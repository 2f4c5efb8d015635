/* The law on lanes of particles, in double and in single precision. The plain twins are in law.c. */
#include "elastoplastic/elastoplastic.h"
#include "math/lanes.h"

/* SMALL: with these terms exp and log are exact to rounding. exp: SMALL^n / (n + 1)!; log: SMALL^n / (n + 1). */
#define REAL double
#define NAME(name) double_##name
#define EIGEN rp__lanes_eigen_sym3
#define TINY 1e-290
#define SQRT sqrt
#define ABS fabs
#define SMALL 0.1
#define EXP_TERMS 10
#define LOG_TERMS 15
#include "elastoplastic/law_lanes.h"

#define REAL float
#define NAME(name) single_##name
#define EIGEN rp__lanes_eigen_sym3_float
#define TINY 1e-36f
#define SQRT sqrtf
#define ABS fabsf
#define SMALL 0.1f
#define EXP_TERMS 6
#define LOG_TERMS 7
#include "elastoplastic/law_lanes.h"

void rp__elastoplastic_stress_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end)
{
    (step->single ? single_stress_range : double_stress_range)(step, p, begin, end);
}

void rp__elastoplastic_strain_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end)
{
    (step->single ? single_strain_range : double_strain_range)(step, p, begin, end);
}

void rp__elastoplastic_response_kernel(const rp__elastoplastic_step *step, rp__particles *p, int64_t begin, int64_t end)
{
    (step->single ? single_response_range : double_response_range)(step, p, begin, end);
}
