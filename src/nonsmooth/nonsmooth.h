/* The method `nonsmooth`. */
#ifndef RP_NONSMOOTH_NONSMOOTH_H
#define RP_NONSMOOTH_NONSMOOTH_H

#include "base/memory.h"
#include "sim/method.h"

extern const rp__method rp__nonsmooth_method;

#endif
