/* Local solvers other than the scalar root, for comparison and by choice. */
#ifndef RP_FRICTION_CONTACT_H
#define RP_FRICTION_CONTACT_H

#include <repose/friction.h>

/* The three cases in turn; sliding by the roots of a polynomial in alpha. False when no case holds. */
bool rp__friction_enumerate_c2(const double *w, const double *b, double mu, double *r);
bool rp__friction_enumerate_c3(const double *w, const double *b, double mu, double *r);

/* Natural residual over |r| + |b| / |W|. */
double rp__friction_backward_error_c2(const double *w, const double *b, double mu, const double *r);
double rp__friction_backward_error_c3(const double *w, const double *b, double mu, const double *r);
double rp__friction_backward_error_c6(const double *w, const double *b, double mu, const double *r);

#endif
