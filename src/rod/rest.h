/* Rest shapes: what the strains of a rod are measured from. */
#ifndef RP_ROD_REST_H
#define RP_ROD_REST_H

#include "rod/rod.h"

/* Fills span, rest_curvature and rest_twist, and for sag-free shapes length, of a rod that stands at its nodes with its directors. */
rp_result rp__rod_set_rest(rp__rod *rod, const rp__rod_def *def);

#endif
