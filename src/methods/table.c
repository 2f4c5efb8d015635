/* The table of methods: to add one is to add a line (and to count it in methods.h). Compiled once, or once more for every kind of
 * processor that a portable build has kernels for. */
#include "ballistic/ballistic.h"
#include "contact/contact.h"
#include "diphasic/diphasic.h"
#include "elastoplastic/elastoplastic.h"
#include "methods/methods.h"
#include "nonsmooth/nonsmooth.h"
#include "pbd/pbd.h"

#ifdef RP_KERNEL_LEVEL
#define TABLE RP__METHODS_TABLE(RP_KERNEL_LEVEL)
#else
#define TABLE rp__methods_table
#endif

extern const rp__method *const TABLE[RP__METHODS_COUNT];

const rp__method *const TABLE[RP__METHODS_COUNT] = {
    &rp__nonsmooth_method,
    &rp__elastoplastic_method,
    &rp__pbd_method,
    &rp__ballistic_method,
    &rp__contact_method,
    &rp__diphasic_method,
};
