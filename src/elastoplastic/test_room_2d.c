#define RP_DIM 2
#include "elastoplastic/room_tests.h"
