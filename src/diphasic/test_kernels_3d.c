#define RP_DIM 3
#include "diphasic/kernel_tests.h"
