#define RP_DIM 2
#include "transfer/transfer_tests.h"
