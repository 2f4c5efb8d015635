#define RP_DIM 2
#include "grid/grid_tests.h"
