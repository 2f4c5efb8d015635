/* In the place of implicit_dim.c where SUNDIALS is left out: a run with integrator: implicit ends with this sentence. */
#include "base/error.h"
#include "elastoplastic/implicit.h"

static rp_result absent(void)
{
    return rp__base_fail(RP_UNSUPPORTED, "integrator: implicit: this library was built without the component 'implicit' (SUNDIALS)");
}

rp_result RP_D(rp__elastoplastic_prepare)(const rp__elastoplastic_system *s)
{
    (void)s;
    return absent();
}

void RP_D(rp__elastoplastic_implicit_free)(rp__elastoplastic_implicit *w)
{
    (void)w; /* it never held anything */
}

rp_result RP_D(rp__elastoplastic_solve)(const rp__elastoplastic_system *s, rp__elastoplastic_report *report)
{
    (void)s;
    (void)report;
    return absent();
}
