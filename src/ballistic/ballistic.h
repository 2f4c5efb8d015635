#ifndef RP_BALLISTIC_BALLISTIC_H
#define RP_BALLISTIC_BALLISTIC_H

#include "sim/method.h"

extern const rp__method rp__ballistic_method;

#endif
