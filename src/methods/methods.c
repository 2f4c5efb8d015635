/* The table of methods: to add one is to add a line. */
#include "ballistic/ballistic.h"
#include "elastoplastic/elastoplastic.h"
#include "nonsmooth/nonsmooth.h"
#include "sim/method.h"

#include <string.h>

static const rp__method *const methods[] = {
    &rp__nonsmooth_method,
    &rp__elastoplastic_method,
    &rp__ballistic_method,
};

enum { COUNT = sizeof methods / sizeof *methods };

int rp_method_count(void)
{
    return COUNT;
}

const rp_method_info *rp_method_at(int index)
{
    return index >= 0 && index < COUNT ? &methods[index]->info : NULL;
}

const rp__method *rp__method_by_name(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(methods[i]->info.name, name) == 0)
            return methods[i];
    return NULL;
}

const rp_method_info *rp_method_find(const char *name)
{
    const rp__method *method = rp__method_by_name(name);
    return method ? &method->info : NULL;
}
