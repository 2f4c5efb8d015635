/* Band matrices with ten diagonals on each side: Cholesky factorisation and solves. */
#include "rod/rod.h"

#include <string.h>

enum { B = RP_ROD_BAND, R = RP_ROD_ROW };

/* A = L Lᵀ row by row; the diagonal of the factor holds 1 / L_ii. Rows before the first are taken as empty. */
bool rp__rod_band_factorise(double *band, int n)
{
    for (int i = 0; i < n; i++) {
        double *row = band + (size_t)i * R;
        int from = i < B ? B - i : 0; /* first column of the row that exists */
        for (int c = from; c < B; c++) {
            const double *other = band + (size_t)(i - B + c) * R + (B - c); /* its column of the same number */
            double sum = row[c];
            for (int k = from; k < c; k++)
                sum -= row[k] * other[k];
            row[c] = sum * other[c];
        }
        double sum = row[B];
        for (int k = from; k < B; k++)
            sum -= row[k] * row[k];
        if (!(sum > 0) || !isfinite(sum))
            return false;
        row[B] = 1 / sqrt(sum);
    }
    return true;
}

/* The same as a textbook has it, for the tests. */
bool rp__rod_band_factorise_ref(double *band, int n)
{
#define AT(i, j) band[(size_t)(i) * R + (j) - (i) + B]
    for (int j = 0; j < n; j++) {
        if (!(AT(j, j) > 0))
            return false;
        double d = sqrt(AT(j, j));
        AT(j, j) = 1 / d;
        for (int i = j + 1; i < n && i <= j + B; i++)
            AT(i, j) /= d;
        for (int k = j + 1; k < n && k <= j + B; k++)
            for (int i = k; i < n && i <= j + B; i++)
                AT(i, k) -= AT(i, j) * AT(k, j);
    }
#undef AT
    return true;
}

void rp__rod_band_solve_from(const double *factor, int n, int first, double *vector)
{
    for (int i = first; i < n; i++) {
        const double *row = factor + (size_t)i * R;
        int from = i - first < B ? B - (i - first) : 0;
        double sum = vector[i];
        for (int k = from; k < B; k++)
            sum -= row[k] * vector[i - B + k];
        vector[i] = sum * row[B];
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *row = factor + (size_t)i * R;
        int from = i < B ? B - i : 0;
        double value = vector[i] * row[B];
        vector[i] = value;
        for (int k = from; k < B; k++)
            vector[i - B + k] -= row[k] * value;
    }
}

void rp__rod_band_solve(const double *factor, int n, double *vector)
{
    rp__rod_band_solve_from(factor, n, 0, vector);
}

void rp__rod_band_solve3(const double *factor, int n, int first, double *v)
{
    for (int i = first; i < n; i++) {
        const double *row = factor + (size_t)i * R;
        int from = i - first < B ? B - (i - first) : 0;
        double x = v[3 * i], y = v[3 * i + 1], z = v[3 * i + 2];
        for (int k = from; k < B; k++) {
            const double *w = v + 3 * (i - B + k);
            x -= row[k] * w[0], y -= row[k] * w[1], z -= row[k] * w[2];
        }
        v[3 * i] = x * row[B], v[3 * i + 1] = y * row[B], v[3 * i + 2] = z * row[B];
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *row = factor + (size_t)i * R;
        int from = i < B ? B - i : 0;
        double x = v[3 * i] * row[B], y = v[3 * i + 1] * row[B], z = v[3 * i + 2] * row[B];
        v[3 * i] = x, v[3 * i + 1] = y, v[3 * i + 2] = z;
        for (int k = from; k < B; k++) {
            double *w = v + 3 * (i - B + k);
            w[0] -= row[k] * x, w[1] -= row[k] * y, w[2] -= row[k] * z;
        }
    }
}

void rp__rod_band_fix(double *band, int n, int index, double value, double *right)
{
    double *row = band + (size_t)index * R;
    for (int k = 1; k <= B; k++) {
        if (index - k >= 0) {
            if (right)
                right[index - k] -= row[B - k] * value;
            row[B - k] = 0;
        }
        if (index + k < n) {
            double *below = band + (size_t)(index + k) * R + B - k;
            if (right)
                right[index + k] -= *below * value;
            *below = 0;
        }
    }
    row[B] = 1;
    if (right)
        right[index] = value;
}
