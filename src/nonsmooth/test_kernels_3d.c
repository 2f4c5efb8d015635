#define RP_DIM 3
#include "nonsmooth/kernel_tests.h"
