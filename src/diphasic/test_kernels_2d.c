#define RP_DIM 2
#include "diphasic/kernel_tests.h"
