/* Which kernels run: in a portable build (cmake/RpKernels.cmake) the methods are there for several kinds of processor, and the best that
 * this one has is taken when the library is first asked for a method. */
#include "base/error.h"
#include "methods/methods.h"

#include <repose/machine.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef RP_KERNELS_X86_64
#include <cpuid.h>

/* What the levels of the x86-64 psABI consist of beyond what the compiler's own check of vectors (which asks the system too) tells:
 * bits of leaf 1, ecx, and of leaf 0x80000001, ecx. */
enum { FMA = 1 << 12, MOVBE = 1 << 22, F16C = 1 << 29, LAHF = 1 << 0, LZCNT = 1 << 5 };

static bool has_v3(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return false;
    unsigned first = FMA | MOVBE | F16C, extended = LAHF | LZCNT;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first)
        return false;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & extended) == extended;
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

extern const rp__method *const RP__METHODS_TABLE(x86_64_v3)[RP__METHODS_COUNT], *const RP__METHODS_TABLE(x86_64_v4)[RP__METHODS_COUNT];
#endif

extern const rp__method *const rp__methods_table[RP__METHODS_COUNT];

static bool always(void)
{
    return true;
}

/* From the plainest to the widest. */
static const struct {
    const char *name;
    bool (*runs)(void);
    const rp__method *const *methods;
} levels[] = {
    { RP_BASE_ARCH, always, rp__methods_table },
#ifdef RP_KERNELS_X86_64
    { "x86-64-v3", has_v3, RP__METHODS_TABLE(x86_64_v3) },
    { "x86-64-v4", has_v4, RP__METHODS_TABLE(x86_64_v4) },
#endif
};
enum { LEVELS = sizeof levels / sizeof *levels };

static atomic_int chosen; /* 1 + index; 0: not yet */

int rp_machine_kernels_count(void)
{
    int count = 1;
    while (count < LEVELS && levels[count].runs())
        count++;
    return count;
}

const char *rp_machine_kernels_at(int index)
{
    return index >= 0 && index < rp_machine_kernels_count() ? levels[index].name : NULL;
}

static int by_name(const char *name)
{
    for (int i = 0; i < rp_machine_kernels_count(); i++)
        if (strcmp(levels[i].name, name) == 0)
            return i;
    return -1;
}

static rp_result unknown(const char *where, const char *name)
{
    char list[128] = "";
    for (int i = 0; i < rp_machine_kernels_count(); i++) {
        strcat(list, i > 0 ? ", " : "");
        strncat(list, levels[i].name, 40);
    }
    return rp__base_fail(RP_NOT_FOUND, "%s: there are no kernels '%s' that this processor runs; there are: %s", where, name, list);
}

rp_result rp__method_check_kernels(void)
{
    const char *asked = getenv("REPOSE_KERNELS");
    return atomic_load(&chosen) == 0 && asked && *asked && by_name(asked) < 0 ? unknown("REPOSE_KERNELS", asked) : RP_OK;
}

/* Asked for the first time, by whichever thread: all of them find the same. */
static int level_now(void)
{
    int now = atomic_load(&chosen);
    if (now == 0) {
        const char *asked = getenv("REPOSE_KERNELS");
        int index = asked && *asked ? by_name(asked) : -1;
        now = 1 + (index >= 0 ? index : rp_machine_kernels_count() - 1);
        if (index >= 0 || !asked || !*asked) /* a wrong name stays to be refused (rp__method_check_kernels) */
            atomic_store(&chosen, now);
    }
    return now - 1;
}

const rp__method *const *rp__methods_chosen(void)
{
    return levels[level_now()].methods;
}

const char *rp_machine_kernels(void)
{
    return levels[level_now()].name;
}

rp_result rp_machine_set_kernels(const char *name)
{
    int index = name ? by_name(name) : rp_machine_kernels_count() - 1;
    if (index < 0)
        return unknown("rp_machine_set_kernels", name);
    atomic_store(&chosen, 1 + index);
    return RP_OK;
}
