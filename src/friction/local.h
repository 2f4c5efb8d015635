/* One Coulomb contact, solved: u = W r + b with (u, r) in the law of friction. Lean, inline, allocates nothing: made for
 * the inner loop of Gauss-Seidel here and in the methods. Dimension D is 2, 3 or 6; component 0 is the normal one,
 * the other T = D - 1 are tangential. All names end in _c2, _c3 or _c6:
 *
 *   rp__friction_factor_cD                        what is kept of W between visits, with the last root as warm start
 *   rp__friction_factorise_cD(&factor, w)         from W (D×D, row-major, symmetric); false when W is not usable
 *   rp__friction_solve_cD(&factor, b, mu, r)      the law solved exactly; returns the state; never fails
 *   rp__friction_project_cD(mu, x)                x <- nearest point of the cone |x_T| <= mu x_N
 *   rp__friction_natural_cD(r, u, mu, rho)        norm of r - P_K(r - rho (u + mu |u_T| e_N)); 0 at a solution
 *   rp__friction_alart_curnier_cD(r, u, mu, rho)  norm of Alart and Curnier's function, the second opinion
 *   rp__friction_residual_cD(r, u, mu, rho)       the natural map; for mu > 10 the smaller of both, with the normal law: what is reported
 *   rp__friction_multiply_cD(w, r, b, u)          u = W r + b
 *   rp__friction_eigen_cD(s, values, vectors)     the T×T symmetric eigen-decomposition used by factorise
 *
 * In a file compiled for RP_CONE, RP_CONE_NAME(rp__friction_solve) is the function of that dimension.
 *
 *   rp__friction_factor_c6 f;                     once a time step and contact
 *   if (!rp__friction_factorise_c6(&f, w)) ...    f.alpha = 0 here: the first visit starts cold
 *   state = rp__friction_solve_c6(&f, b, mu, r);  each visit, b = what the others give
 */
#ifndef RP_FRICTION_LOCAL_H
#define RP_FRICTION_LOCAL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

typedef enum rp__friction_state { RP__TAKE_OFF, RP__STICK, RP__SLIDE } rp__friction_state;

enum { RP__FRICTION_MAX_ROOT_STEPS = 200 };

#define RP__CONE_JOIN2(name, d) name##_c##d
#define RP__CONE_JOIN(name, d) RP__CONE_JOIN2(name, d)
#define RP_CONE_NAME(name) RP__CONE_JOIN(name, RP_CONE)

/* |r_N - max(0, r_N - rho u_N)|: 0 when 0 <= r_N, 0 <= u_N and one of them is 0. */
static inline double rp__friction_normal_law(double r, double u, double rho)
{
    double pushed = r - rho * u;
    return fabs(r - (pushed > 0 ? pushed : pushed <= 0 ? 0 : pushed)); /* a NaN stays one */
}

#define RP_LOCAL_D 2
#include "friction/local_template.h"
#undef RP_LOCAL_D
#define RP_LOCAL_D 3
#include "friction/local_template.h"
#undef RP_LOCAL_D
#define RP_LOCAL_D 6
#include "friction/local_template.h"
#undef RP_LOCAL_D

#endif
