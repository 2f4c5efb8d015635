/* The text of local.h for one dimension RP_LOCAL_D; include local.h, not this.
 *
 * Slide: u_N = 0 and u_T = -alpha r_T. With W_NN eliminated, S = W_TT - W_TN W_NT / W_NN = Q diag(s) Qᵀ,
 * a = Qᵀ W_TN / W_NN and c = Qᵀ b_T - a b_N, the tangential force in the basis Q is y(alpha) = -c / (s + alpha),
 * and the cone asks p(alpha) = |y| + mu a·y = mu beta, beta = -b_N / W_NN.
 * When stick fails p(0) > mu beta, and p(inf) = 0 < mu beta: a root always exists.
 * The normal force is then |y| / mu. Rounding of p is then a relative change of W and b by a few epsilon,
 * whatever the condition of W, since |W_TN|² <= |W_TT| W_NN: no separate refinement is needed. */

#define RP_LOCAL_T (RP_LOCAL_D - 1)
#define RP_LOCAL(name) RP__CONE_JOIN(name, RP_LOCAL_D)

typedef struct RP_LOCAL(rp__friction_factor) {
    double s[RP_LOCAL_T];             /* eigenvalues of the Schur complement, ascending, kept above rounding */
    double inverse_s[RP_LOCAL_T];     /* 1 / s */
    double a[RP_LOCAL_T];             /* Qᵀ W_TN / W_NN */
    double q[RP_LOCAL_T][RP_LOCAL_T]; /* q[i][k]: component i of the k-th eigenvector */
    double inverse_normal;            /* 1 / W_NN */
    double norm_a;                    /* |a| */
    double alpha;                     /* the last root, 0 when there is none: the warm start */
} RP_LOCAL(rp__friction_factor);

/* False, with the factor unusable, when W has a value that is not finite or W_NN <= 0. Reads the lower triangle. */
bool RP_LOCAL(rp__friction_factorise)(RP_LOCAL(rp__friction_factor) * factor, const double *w);

/* Symmetric T×T, row-major: values ascending, vectors[i*T + k] = component i of the k-th eigenvector. */
void RP_LOCAL(rp__friction_eigen)(const double *s, double *values, double *vectors);

static inline void RP_LOCAL(rp__friction_multiply)(const double *w, const double *r, const double *b, double *u)
{
    for (int i = 0; i < RP_LOCAL_D; i++) {
        double sum = b[i];
        for (int j = 0; j < RP_LOCAL_D; j++)
            sum += w[i * RP_LOCAL_D + j] * r[j];
        u[i] = sum;
    }
}

static inline void RP_LOCAL(rp__friction_project)(double mu, double *x)
{
    double tangent = 0;
    for (int i = 1; i < RP_LOCAL_D; i++)
        tangent += x[i] * x[i];
    tangent = sqrt(tangent);
    if (x[0] >= 0 && tangent <= mu * x[0]) /* without friction the second alone would hold for pulls straight along the normal */
        return;
    /* Below the polar cone the nearest point is the apex; else a point of the surface, at normal height n. */
    double n = (x[0] + mu * tangent) / (1 + mu * mu);
    if (n <= 0) {
        for (int i = 0; i < RP_LOCAL_D; i++)
            x[i] = 0;
        return;
    }
    double scale = tangent > 0 ? mu * n / tangent : 0;
    x[0] = n;
    for (int i = 1; i < RP_LOCAL_D; i++)
        x[i] *= scale;
}

/* The natural map with De Saxcé's correction [acary2011]: zero if and only if (u, r) is in Coulomb's law. */
static inline double RP_LOCAL(rp__friction_natural)(const double *r, const double *u, double mu, double rho)
{
    double slip = 0, x[RP_LOCAL_D], sum = 0;
    for (int i = 1; i < RP_LOCAL_D; i++)
        slip += u[i] * u[i];
    slip = sqrt(slip);
    x[0] = r[0] - rho * (u[0] + mu * slip);
    for (int i = 1; i < RP_LOCAL_D; i++)
        x[i] = r[i] - rho * u[i];
    RP_LOCAL(rp__friction_project)(mu, x);
    for (int i = 0; i < RP_LOCAL_D; i++)
        sum += (r[i] - x[i]) * (r[i] - x[i]);
    return sqrt(sum);
}

/* Alart and Curnier's function [alart1991]: r_N - max(0, r_N - rho u_N) and r_T - P_disc(r_T - rho u_T), the disc of radius
 * mu max(0, r_N - rho u_N). */
static inline double RP_LOCAL(rp__friction_alart_curnier)(const double *r, const double *u, double mu, double rho)
{
    double normal = r[0] - rho * u[0], x[RP_LOCAL_D], tangent = 0;
    normal = normal > 0 ? normal : normal <= 0 ? 0 : normal; /* a NaN stays one */
    for (int i = 1; i < RP_LOCAL_D; i++) {
        x[i] = r[i] - rho * u[i];
        tangent += x[i] * x[i];
    }
    tangent = sqrt(tangent);
    double radius = mu * normal, scale = tangent > radius ? radius / tangent : 1;
    double sum = (r[0] - normal) * (r[0] - normal);
    for (int i = 1; i < RP_LOCAL_D; i++)
        sum += (r[i] - scale * x[i]) * (r[i] - scale * x[i]);
    return sqrt(sum);
}

/* The residual used everywhere: the natural map. Where mu is very large its term mu |u_T| turns the rounding of u into a residual at
 * stick; Alart and Curnier's function does so at slide only: there the smaller of the two counts. Both vanish at solutions alone, but the
 * natural map is small, like 1 / mu, also where nothing pushes and the surfaces close while they slide: the law of the normal part counts by
 * itself, mu is not in it. */
static inline double RP_LOCAL(rp__friction_residual)(const double *r, const double *u, double mu, double rho)
{
    double natural = RP_LOCAL(rp__friction_natural)(r, u, mu, rho);
    if (mu <= 10)
        return natural;
    double second = RP_LOCAL(rp__friction_alart_curnier)(r, u, mu, rho), both = second < natural ? second : natural;
    double normal = rp__friction_normal_law(r[0], u[0], rho);
    return normal > both ? normal : both;
}

/* The root of p(alpha) = target by Newton's method on 1/p (almost a straight line), kept in a bracket. Leaves y at the root
 * and returns |y|. */
static inline double RP_LOCAL(rp__friction_root)(RP_LOCAL(rp__friction_factor) * f, const double *restrict c, double mu,
                                                 double target, double alpha, double *restrict y)
{
    const double tolerance = 4 * DBL_EPSILON;
    double cc = 0, scs = 0, norm = 0;
    for (int k = 0; k < RP_LOCAL_T; k++) {
        cc += c[k] * c[k];
        scs += c[k] * c[k] * f->s[k];
    }
    double low = 0, high = sqrt(cc) * (1 + mu * f->norm_a) / target; /* p <= |c| (1 + mu |a|) / alpha */
    if (!(alpha > 0 && alpha < high)) {
        alpha = sqrt(cc) / target - scs / cc;
        if (!(alpha > 1e-3 * f->s[0]))
            alpha = 1e-3 * f->s[0];
        if (!(alpha < high))
            alpha = 0.5 * high;
    }
    for (int step = 0; step < RP__FRICTION_MAX_ROOT_STEPS; step++) {
        double yy = 0, ay = 0, yyi = 0, ayi = 0;
        for (int k = 0; k < RP_LOCAL_T; k++) {
            double inverse = 1 / (f->s[k] + alpha), v = -c[k] * inverse;
            y[k] = v;
            yy += v * v;
            ay += f->a[k] * v;
            yyi += v * v * inverse;
            ayi += f->a[k] * v * inverse;
        }
        norm = sqrt(yy);
        double p = norm + mu * ay, excess = p - target;
        if (fabs(excess) <= tolerance * (norm + mu * f->norm_a * norm + target))
            break;
        if (excess > 0)
            low = alpha;
        else
            high = alpha;
        if (!(high - low > tolerance * high))
            break;
        double slope = yyi / norm + mu * ayi; /* -p' */
        double next = alpha + p * excess / (slope * target);
        bool inside = slope > 0 && p > 0 && next > low && next < high;
        if (!inside || (step > 12 && step % 3 == 0)) /* geometric bisection: the root may have any magnitude */
            next = low > 0 ? sqrt(low) * sqrt(high) : high > f->s[0] ? sqrt(high) * sqrt(1e-3 * f->s[0]) : 1e-3 * high;
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        alpha = next;
    }
    f->alpha = alpha;
    return norm;
}

/* Solves the law for one contact; r is written. b with NaN gives r with NaN. */
static inline rp__friction_state RP_LOCAL(rp__friction_solve)(RP_LOCAL(rp__friction_factor) * f, const double *restrict b,
                                                              double mu, double *restrict r)
{
    if (b[0] >= 0) {
        for (int i = 0; i < RP_LOCAL_D; i++)
            r[i] = 0;
        return RP__TAKE_OFF;
    }
    double c[RP_LOCAL_T], y[RP_LOCAL_T];
    for (int k = 0; k < RP_LOCAL_T; k++)
        c[k] = -f->a[k] * b[0];
    for (int i = 0; i < RP_LOCAL_T; i++)
        for (int k = 0; k < RP_LOCAL_T; k++)
            c[k] += f->q[i][k] * b[i + 1];
    double beta = -b[0] * f->inverse_normal, yy = 0, ay = 0;
    for (int k = 0; k < RP_LOCAL_T; k++) {
        y[k] = -c[k] * f->inverse_s[k];
        yy += y[k] * y[k];
        ay += f->a[k] * y[k];
    }
    rp__friction_state state = RP__STICK;
    r[0] = beta - ay;
    if (!(sqrt(yy) <= mu * r[0])) {
        double target = mu * beta;
        state = RP__SLIDE;
        if (mu > 1e-100) {
            r[0] = RP_LOCAL(rp__friction_root)(f, c, mu, target, f->alpha, y) / mu;
        } else { /* no friction: the cone is a line */
            r[0] = beta;
            for (int k = 0; k < RP_LOCAL_T; k++)
                y[k] = 0;
        }
    }
    for (int i = 0; i < RP_LOCAL_T; i++) {
        double sum = 0;
        for (int k = 0; k < RP_LOCAL_T; k++)
            sum += f->q[i][k] * y[k];
        r[i + 1] = sum;
    }
    return state;
}

#undef RP_LOCAL
#undef RP_LOCAL_T
