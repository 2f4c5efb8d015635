/* The law on lanes of particles, in double and in single precision: included where it runs inside other loops. */
#ifndef RP_ELASTOPLASTIC_LAW_BOTH_H
#define RP_ELASTOPLASTIC_LAW_BOTH_H

#include "elastoplastic/elastoplastic.h"
#include "math/lanes.h"

/* SMALL: with these terms exp and log are exact to rounding. exp: SMALL^n / (n + 1)!; log: SMALL^n / (n + 1). */
#define REAL double
#define NAME(name) double_##name
#define EIGEN rp__lanes_eigen_sym3
#define TINY 1e-290
#define SQRT sqrt
#define ABS fabs
#define SMALL 0.1
#define EXP_TERMS 10
#define LOG_TERMS 15
#include "elastoplastic/law_lanes.h"

#define REAL float
#define NAME(name) single_##name
#define EIGEN rp__lanes_eigen_sym3_float
#define TINY 1e-36f
#define SQRT sqrtf
#define ABS fabsf
#define SMALL 0.1f
#define EXP_TERMS 6
#define LOG_TERMS 7
#include "elastoplastic/law_lanes.h"

#endif
