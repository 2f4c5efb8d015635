/* The law on lanes of particles, in double and in single precision. The plain twins are in law.c. */
#include "elastoplastic/law_both.h"

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
