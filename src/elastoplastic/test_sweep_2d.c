#define RP_DIM 2
#include "elastoplastic/sweep_tests.h"
