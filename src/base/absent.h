/* Functions of a component that was left out: there, and refusing by name. The file that includes this defines COMPONENT, the words that say
 * which one is missing. */
#ifndef RP_BASE_ABSENT_H
#define RP_BASE_ABSENT_H

#include "base/error.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(name, ...)                                                                                              \
    rp_result name(__VA_ARGS__)                                                                                         \
    {                                                                                                                   \
        return rp__base_fail(RP_UNSUPPORTED, #name ": this library was built without the component " COMPONENT);        \
    }
#define GIVE(type, value, name, ...) \
    type name(__VA_ARGS__)           \
    {                                \
        return value;                \
    }
#define NOTHING(name, ...) \
    void name(__VA_ARGS__) \
    {                      \
    }

#endif
