#define RP_DIM 3
#include "grid/grid_tests.h"
