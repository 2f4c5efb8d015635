#define RP_DIM 3
#include "nonsmooth/rheology_tests.h"
