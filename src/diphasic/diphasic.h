#ifndef RP_DIPHASIC_DIPHASIC_H
#define RP_DIPHASIC_DIPHASIC_H

#include "sim/method.h"

extern const rp__method rp__diphasic_method;

#endif
