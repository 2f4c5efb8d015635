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

#else

/* Householder reflections to tridiagonal form: z becomes the product of the reflections, diagonal and off the matrix
 * [golub2013, 8.3.1]. */
static void tridiagonalise(double z[T][T], double *diagonal, double *off)
{
    double a[T][T];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) {
            a[i][j] = z[i][j];
            z[i][j] = i == j;
        }
    for (int k = 0; k < T - 2; k++) {
        double v[T] = { 0 }, p[T] = { 0 }, tail = 0;
        for (int i = k + 2; i < T; i++)
            tail += a[i][k] * a[i][k];
        if (tail == 0)
            continue;
        double norm = sqrt(tail + a[k + 1][k] * a[k + 1][k]), head = a[k + 1][k];
        double shifted = head > 0 ? head + norm : head - norm;
        double beta = 2 / (tail + shifted * shifted), vp = 0;
        v[k + 1] = shifted;
        for (int i = k + 2; i < T; i++)
            v[i] = a[i][k];
        for (int i = k; i < T; i++)
            for (int j = k; j < T; j++)
                p[i] += a[i][j] * v[j];
        for (int i = k; i < T; i++) {
            p[i] *= beta;
            vp += v[i] * p[i];
        }
        for (int i = k; i < T; i++)
            p[i] -= 0.5 * beta * vp * v[i];
        for (int i = k; i < T; i++)
            for (int j = k; j < T; j++)
                a[i][j] -= v[i] * p[j] + p[i] * v[j];
        for (int i = 0; i < T; i++) { /* z <- z (I - beta v vᵀ) */
            double dot = 0;
            for (int j = k + 1; j < T; j++)
                dot += z[i][j] * v[j];
            for (int j = k + 1; j < T; j++)
                z[i][j] -= beta * dot * v[j];
        }
    }
    for (int i = 0; i < T; i++) {
        diagonal[i] = a[i][i];
        off[i] = i + 1 < T ? a[i + 1][i] : 0;
    }
}

/* One implicit QL sweep with Wilkinson's shift on rows l..m; vt holds the vectors in rows. */
static void ql_sweep(double *diagonal, double *off, double vt[T][T], int l, int m)
{
    double g = (diagonal[l + 1] - diagonal[l]) / (2 * off[l]), r = sqrt(g * g + 1);
    g = diagonal[m] - diagonal[l] + off[l] / (g + (g >= 0 ? r : -r));
    double s = 1, c = 1, p = 0;
    for (int i = m - 1; i >= l; i--) {
        double f = s * off[i], b = c * off[i];
        r = sqrt(f * f + g * g);
        off[i + 1] = r;
        if (r == 0) { /* the matrix has split */
            diagonal[i + 1] -= p;
            off[m] = 0;
            return;
        }
        double inverse = 1 / r;
        s = f * inverse;
        c = g * inverse;
        g = diagonal[i + 1] - p;
        r = (diagonal[i] - g) * s + 2 * c * b;
        p = s * r;
        diagonal[i + 1] = g + p;
        g = c * r - b;
        for (int k = 0; k < T; k++) {
            double upper = vt[i + 1][k], lower = vt[i][k];
            vt[i + 1][k] = s * lower + c * upper;
            vt[i][k] = c * lower - s * upper;
        }
    }
    diagonal[l] -= p;
    off[l] = g;
    off[m] = 0;
}

void RP_CONE_NAME(rp__friction_eigen)(const double *s, double *values, double *vectors)
{
    double z[T][T], vt[T][T], off[T], scale = 0;
    for (int i = 0; i < T * T; i++)
        scale = fabs(s[i]) > scale ? fabs(s[i]) : scale;
    double unit = scale > 0 ? 1 / scale : 1; /* squares must neither overflow nor vanish */
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            z[i][j] = s[i >= j ? i * T + j : j * T + i] * unit;
    tridiagonalise(z, values, off);
    for (int i = 0; i < T; i++)
        for (int k = 0; k < T; k++)
            vt[k][i] = z[i][k];
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
            vectors[i * T + k] = vt[order[k]][i];
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
