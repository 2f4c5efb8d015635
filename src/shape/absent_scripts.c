/* In the place of sandbox.c where Lua is left out. */
#include "base/error.h"
#include "shape/sandbox.h"

rp_result rp__shape_sandbox_create(const char *what, const char *source, const char *const *variables, int variable_count,
                                   rp__shape_sandbox **out)
{
    (void)source;
    (void)variables;
    (void)variable_count;
    (void)out;
    return rp__base_fail(RP_UNSUPPORTED, "%s: this library was built without the component 'scripts' (Lua)", what);
}

void rp__shape_sandbox_free(rp__shape_sandbox *sandbox)
{
    (void)sandbox; /* there is none */
}

rp_result rp__shape_sandbox_call(const rp__shape_sandbox *sandbox, const double *values, double *results, int capacity, int *result_count)
{
    (void)sandbox;
    (void)values;
    (void)results;
    (void)capacity;
    (void)result_count;
    return rp__base_fail(RP_UNSUPPORTED, "this library was built without the component 'scripts' (Lua)");
}
