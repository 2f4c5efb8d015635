#define RP_DIM 3
#include "transfer/transfer_tests.h"
