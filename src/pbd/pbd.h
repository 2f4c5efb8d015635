/* The method `pbd`: position-based grains that rest. docs/pbd.md has the equations. */
#ifndef RP_PBD_PBD_H
#define RP_PBD_PBD_H

#include "sim/method.h"

extern const rp__method rp__pbd_method;

#endif
