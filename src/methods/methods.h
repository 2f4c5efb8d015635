/* The methods of the house, compiled for one kind of processor or for several. */
#ifndef RP_METHODS_METHODS_H
#define RP_METHODS_METHODS_H

#include "sim/method.h"

enum { RP__METHODS_COUNT = 6 };

/* The table of this compilation: rp__methods_table, or rp__methods_table_LEVEL (cmake/RpKernels.cmake). */
#define RP__METHODS_JOIN(a, b) a##_##b
#define RP__METHODS_TABLE(level) RP__METHODS_JOIN(rp__methods_table, level)

/* kernels.c: the table that runs here and now. */
const rp__method *const *rp__methods_chosen(void);

#endif
