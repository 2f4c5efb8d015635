/* The table of methods: to add one is to add a line. Programs register theirs behind. */
#include "base/error.h"
#include "ballistic/ballistic.h"
#include "contact/contact.h"
#include "diphasic/diphasic.h"
#include "elastoplastic/elastoplastic.h"
#include "nonsmooth/nonsmooth.h"
#include "pbd/pbd.h"
#include "sim/method.h"

#include <stdatomic.h>
#include <string.h>

static const rp__method *const methods[] = {
    &rp__nonsmooth_method,
    &rp__elastoplastic_method,
    &rp__pbd_method,
    &rp__ballistic_method,
    &rp__contact_method,
    &rp__diphasic_method,
};

enum { COUNT = sizeof methods / sizeof *methods, MOST = 64 };

/* Registered ones, never taken away. A place is filled before the count says so. */
static const rp__method *registered[MOST];
static atomic_int registered_count;
static atomic_flag registering = ATOMIC_FLAG_INIT;

int rp_method_count(void)
{
    return COUNT + atomic_load(&registered_count);
}

static const rp__method *method_at(int index)
{
    if (index < 0 || index >= rp_method_count())
        return NULL;
    return index < COUNT ? methods[index] : registered[index - COUNT];
}

const rp_method_info *rp_method_at(int index)
{
    const rp__method *method = method_at(index);
    return method ? &method->info : NULL;
}

const rp__method *rp__method_by_name(const char *name)
{
    for (int i = 0; name && i < rp_method_count(); i++)
        if (strcmp(method_at(i)->info.name, name) == 0)
            return method_at(i);
    return NULL;
}

const rp_method_info *rp_method_find(const char *name)
{
    const rp__method *method = rp__method_by_name(name);
    return method ? &method->info : NULL;
}

static rp_result add(const rp_method *method)
{
    int count = atomic_load(&registered_count);
    if (rp__method_by_name(method->info.name))
        return rp__base_fail(RP_BAD_ARGUMENT, "there is a method '%s' already", method->info.name);
    if (count == MOST)
        return rp__base_fail(RP_TOO_LARGE, "%d methods are registered; there is no room for '%s'", MOST, method->info.name);
    registered[count] = method;
    atomic_store(&registered_count, count + 1);
    return RP_OK;
}

rp_result rp_method_register(const rp_method *method)
{
    RP_TRY(rp__sim_check_method(method));
    while (atomic_flag_test_and_set(&registering))
        ; /* another thread is at it, for a moment */
    rp_result result = add(method);
    atomic_flag_clear(&registering);
    return result;
}
