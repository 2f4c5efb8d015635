#define RP_DIM 3
#include "elastoplastic/room_tests.h"
