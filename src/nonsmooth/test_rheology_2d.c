#define RP_DIM 2
#include "nonsmooth/rheology_tests.h"
