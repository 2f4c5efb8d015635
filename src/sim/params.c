/* Methods by name, and their parameters set by name and text. */
#include "base/param.h"

#include "base/error.h"
#include "base/memory.h"
#include "sim/method.h"

#include <string.h>

struct rp_params {
    const rp__method *method;
    void *data;
};

rp_result rp_params_create(const char *name, rp_params **out)
{
    if (!name || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_params_create needs the name of a method and a place for its parameters (there is a NULL)");
    const rp__method *method = rp__method_by_name(name);
    if (!method)
        return rp__base_fail(RP_NOT_FOUND, "there is no method '%s'", name);
    rp_params *params = RP_NEW(rp_params);
    void *data = rp__base_alloc_zero(method->params_size);
    if (!params || !data) {
        rp__base_free(params);
        rp__base_free(data);
        return RP_OUT_OF_MEMORY;
    }
    rp__param_defaults(method->info.params, data);
    params->method = method;
    params->data = data;
    *out = params;
    return RP_OK;
}

static const char *removed(const rp_method_info *info, const char *name)
{
    for (const char *const *e = info->removed; e && *e; e += 2)
        if (strcmp(e[0], name) == 0)
            return e[1];
    return NULL;
}

rp_result rp_params_set(rp_params *params, const char *name, const char *value)
{
    if (!params || !name || !value)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_params_set needs parameters, a name and a value (there is a NULL)");
    const char *gone = removed(&params->method->info, name);
    if (gone)
        return rp__base_fail(RP_NOT_FOUND, "'%s' is no parameter of %s any more: %s", name, params->method->info.name, gone);
    return rp__param_set_text(params->method->info.params, params->data, name, value);
}

const void *rp_params_data(const rp_params *params)
{
    return params ? params->data : NULL;
}

void rp_params_destroy(rp_params *params)
{
    if (!params)
        return;
    rp__param_free(params->method->info.params, params->data);
    rp__base_free(params->data);
    rp__base_free(params);
}
