#define RP_DIM 3
#include "nonsmooth/dual_sweep_tests.h"
