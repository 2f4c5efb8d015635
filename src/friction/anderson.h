/* Anderson's acceleration of a fixed point r = G(r) [walker2011]: the next start is the combination of the last few images whose
 * residuals cancel best. */
#ifndef RP_FRICTION_ANDERSON_H
#define RP_FRICTION_ANDERSON_H

#include "friction/problem.h"

enum { RP__ANDERSON_DEPTH = 5 };

typedef struct rp__anderson {
    int64_t n;
    int count, next;                       /* columns held, place of the next one */
    double *image[RP__ANDERSON_DEPTH];     /* differences of G(r) */
    double *residual[RP__ANDERSON_DEPTH];  /* differences of G(r) - r, each entry times the weight */
    double *last_image, *last_residual, *weight, *memory;
    double gram[RP__ANDERSON_DEPTH][RP__ANDERSON_DEPTH];
    double last_size;                      /* |G(r) - r|² of the last step */
    bool started;
} rp__anderson;

/* For the contacts listed, or all when `items` is NULL. */
bool rp__anderson_make(rp__anderson *t, const rp_friction *p, const int32_t *items, int64_t count);
void rp__anderson_free(rp__anderson *t);

/* `from` is r, `to` is G(r); `to` becomes the next start. Returns false when it stays G(r) (the memory was dropped). */
bool rp__anderson_step(rp__anderson *t, const double *from, double *to);
void rp__anderson_forget(rp__anderson *t);

#endif
