#define RP_DIM 2
#include "nonsmooth/dual_sweep_tests.h"
