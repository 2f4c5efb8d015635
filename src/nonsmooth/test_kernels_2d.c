#define RP_DIM 2
#include "nonsmooth/kernel_tests.h"
