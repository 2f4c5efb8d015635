#define RP_DIM 3
#include "elastoplastic/sweep_tests.h"
