/* Factorisation of the block of one contact, for each dimension of the cone. */
#include "friction/local.h"

#define D RP_CONE
#define T (RP_CONE - 1)

#if T == 1

void RP_CONE_NAME(rp__friction_eigen)(const double *s, double *values, double *vectors)
{
    values[0] = s[0];
    vectors[0] = 1;
}

#elif T == 2

/* One Jacobi rotation is exact. */
void RP_CONE_NAME(rp__friction_eigen)(const double *s, double *values, double *vectors)
{
    double half = 0.5 * (s[3] - s[0]), off = s[2];
    double t = 0;
    if (off != 0) {
        double root = hypot(half, off);
        t = half >= 0 ? off / (half + root) : off / (half - root);
    }
    double cosine = 1 / sqrt(1 + t * t), sine = t * cosine;
    double first = s[0] - t * off, second = s[3] + t * off;
    bool swap = first > second;
    values[swap] = first;
    values[!swap] = second;
    vectors[swap] = cosine, vectors[2 + swap] = -sine;
    vectors[!swap] = sine, vectors[2 + !swap] = cosine;
}

#elif T == 5

/* A row of five: four lanes and the last. Left to themselves the compilers take it apart; this saves half of the time. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef struct row {
    four v;
    double last;
} row;

static inline row row_axpy(double s, row x, row y) /* s x + y */
{
    return (row){ s * x.v + y.v, s * x.last + y.last };
}
static inline row row_scale(double s, row x)
{
    return (row){ s * x.v, s * x.last };
}
static inline double row_at(const row *x, int i)
{
    return i < 4 ? x->v[i] : x->last;
}

/* One Householder reflection towards tridiagonal form [golub2013, 8.3.1]: a <- H a H and vt <- H vt, where H clears
 * a[k][k+2..]. Rows are used whole, zeros and all. */
static inline void reflect(row *restrict a, row *restrict vt, const int k)
{
    row v = a[k], p = { 0 }, dot = { 0 };
    double tail = 0, vp = 0;
    for (int i = k + 2; i < T; i++)
        tail += row_at(&v, i) * row_at(&v, i);
    if (tail == 0)
        return;
    double head = row_at(&v, k + 1), norm = sqrt(tail + head * head);
    double shifted = head > 0 ? head + norm : head - norm;
    double beta = 2 / (tail + shifted * shifted);
    for (int i = 0; i <= k; i++)
        v.v[i] = 0;
    v.v[k + 1] = shifted;
    for (int j = k + 1; j < T; j++) {
        p = row_axpy(row_at(&v, j), a[j], p);
        dot = row_axpy(row_at(&v, j), vt[j], dot);
    }
    for (int i = k + 1; i < T; i++)
        vp += row_at(&v, i) * row_at(&p, i);
    p = row_scale(beta, row_axpy(-0.5 * beta * vp, v, p));
    dot = row_scale(beta, dot);
    for (int i = 0; i < T; i++) {
        double vi = -row_at(&v, i), pi = -row_at(&p, i);
        a[i] = row_axpy(vi, p, row_axpy(pi, v, a[i]));
        vt[i] = row_axpy(vi, dot, vt[i]);
    }
}

/* One implicit QL sweep with Wilkinson's shift on rows l..m; vt holds the vectors in rows. */
static void ql_sweep(double *restrict diagonal, double *restrict off, row *restrict vt, int l, int m)
{
    double g = (diagonal[l + 1] - diagonal[l]) / (2 * off[l]), r = sqrt(g * g + 1);
    g = diagonal[m] - diagonal[l] + off[l] / (g + (g >= 0 ? r : -r));
    double s = 1, c = 1, p = 0;
    for (int i = m - 1; i >= l; i--) {
        double f = s * off[i], b = c * off[i], square = f * f + g * g;
        if (!(square > DBL_MIN)) { /* the matrix has split */
            off[i + 1] = 0;
            diagonal[i + 1] -= p;
            off[m] = 0;
            return;
        }
        r = sqrt(square);
        off[i + 1] = r;
        s = f / r;
        c = g / r;
        double shifted = diagonal[i + 1] - p, h = ((diagonal[i] - shifted) * f + 2 * g * b) / square;
        p = f * h; /* by h rather than s and c: the square root is off the critical path */
        diagonal[i + 1] = shifted + p;
        g = g * h - b;
        row upper = vt[i + 1], lower = vt[i];
        vt[i + 1] = row_axpy(s, lower, row_scale(c, upper));
        vt[i] = row_axpy(-s, upper, row_scale(c, lower));
    }
    diagonal[l] -= p;
    off[l] = g;
    off[m] = 0;
}

void RP_CONE_NAME(rp__friction_eigen)(const double *s, double *values, double *vectors)
{
    row a[T], vt[T];
    double off[T], scale = 0;
    for (int i = 0; i < T * T; i++)
        scale = fabs(s[i]) > scale ? fabs(s[i]) : scale;
    double unit = scale > 0 ? 1 / scale : 1; /* squares must neither overflow nor vanish */
    for (int i = 0; i < T; i++) {
        const double *line = s + i * T;
        a[i] = row_scale(unit, (row){ { line[0], line[1], line[2], line[3] }, line[4] });
        vt[i] = (row){ { i == 0, i == 1, i == 2, i == 3 }, i == 4 };
    }
    reflect(a, vt, 0); /* by hand, so that k is a constant */
    reflect(a, vt, 1);
    reflect(a, vt, 2);
    for (int i = 0; i < T; i++) {
        values[i] = row_at(&a[i], i);
        off[i] = i + 1 < T ? row_at(&a[i], i + 1) : 0;
    }
    for (int l = 0; l < T; l++)
        for (int sweep = 0; sweep < 40; sweep++) {
            int m = l;
            while (m < T - 1 && fabs(off[m]) > DBL_EPSILON * (fabs(values[m]) + fabs(values[m + 1])) && fabs(off[m]) > 1e-300)
                m++;
            if (m == l)
                break;
            ql_sweep(values, off, vt, l, m);
        }
    int order[T];
    for (int k = 0; k < T; k++) {
        int j = k;
        for (; j > 0 && values[order[j - 1]] > values[k]; j--)
            order[j] = order[j - 1];
        order[j] = k;
    }
    double sorted[T];
    for (int k = 0; k < T; k++) {
        sorted[k] = values[order[k]];
        for (int i = 0; i < T; i++)
            vectors[i * T + k] = row_at(&vt[order[k]], i);
    }
    for (int k = 0; k < T; k++)
        values[k] = sorted[k] * scale;
}

#endif

bool RP_CONE_NAME(rp__friction_factorise)(RP_CONE_NAME(rp__friction_factor) * f, const double *w)
{
    double sum = 0, schur[T * T], coupling[T];
    for (int i = 0; i < D * D; i++)
        sum += fabs(w[i]);
    if (!(sum <= DBL_MAX) || !(w[0] > 0))
        return false;
    f->alpha = 0;
    f->inverse_normal = 1 / w[0];
    for (int i = 0; i < T; i++)
        coupling[i] = w[(i + 1) * D] * f->inverse_normal;
    for (int i = 0; i < T; i++)
        for (int j = 0; j <= i; j++) {
            double entry = w[(i + 1) * D + j + 1] - coupling[i] * w[(j + 1) * D];
            schur[i * T + j] = entry;
            schur[j * T + i] = entry;
        }
    RP_CONE_NAME(rp__friction_eigen)(schur, f->s, &f->q[0][0]);
    /* The Schur complement carries rounding of the size of W: an eigenvalue below it is as good as this floor. */
    double floor = 0;
    for (int i = 0; i < D; i++)
        floor = fabs(w[i * D + i]) > floor ? fabs(w[i * D + i]) : floor;
    floor *= DBL_EPSILON;
    double aa = 0;
    for (int k = 0; k < T; k++) {
        if (!(f->s[k] > floor))
            f->s[k] = floor;
        f->inverse_s[k] = 1 / f->s[k];
        f->a[k] = 0;
    }
    for (int i = 0; i < T; i++)
        for (int k = 0; k < T; k++)
            f->a[k] += f->q[i][k] * coupling[i];
    for (int k = 0; k < T; k++)
        aa += f->a[k] * f->a[k];
    f->norm_a = sqrt(aa);
    return f->inverse_normal <= DBL_MAX && f->norm_a <= DBL_MAX;
}
