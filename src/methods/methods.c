/* What methods there are: those of the house (table.c), and behind them those that programs register. */
#include "base/error.h"
#include "methods/methods.h"

#include <stdatomic.h>
#include <string.h>

enum { COUNT = RP__METHODS_COUNT, MOST = 64 };

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
    return index < COUNT ? rp__methods_chosen()[index] : registered[index - COUNT];
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
