#include "friction/anderson.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

bool rp__anderson_make(rp__anderson *t, const rp_friction *p, const int32_t *items, int64_t count)
{
    int64_t n = count * p->dimension;
    memset(t, 0, sizeof *t);
    t->n = n;
    t->memory = rp__base_alloc_zero((size_t)n * (2 * RP__ANDERSON_DEPTH + 3) * sizeof(double));
    if (!t->memory)
        return false;
    for (int k = 0; k < RP__ANDERSON_DEPTH; k++) {
        t->image[k] = t->memory + 2 * k * n;
        t->residual[k] = t->memory + (2 * k + 1) * n;
    }
    t->last_image = t->memory + 2 * RP__ANDERSON_DEPTH * n;
    t->last_residual = t->last_image + n;
    t->weight = t->last_residual + n;
    for (int64_t i = 0; i < n; i++)
        t->weight[i] = sqrt(p->norm[items ? items[i / p->dimension] : i / p->dimension]);
    return true;
}

void rp__anderson_forget(rp__anderson *t)
{
    t->started = false;
    t->count = t->next = 0;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double lane[8] = { 0 }, sum = 0; /* a fixed order of addition, and still whole vectors */
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (int k = 0; k < 8; k++)
        sum += lane[k];
    return sum;
}

void rp__anderson_free(rp__anderson *t)
{
    rp__base_free(t->memory);
    memset(t, 0, sizeof *t);
}

/* Solves (gram + small) x = right by Cholesky, m×m; false when it breaks down. */
static bool solve_small(const rp__anderson *t, double *x)
{
    int m = t->count;
    double l[RP__ANDERSON_DEPTH][RP__ANDERSON_DEPTH], lift = 0;
    for (int i = 0; i < m; i++)
        lift = fmax(lift, t->gram[i][i]);
    lift *= 1e-12;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = t->gram[i][j] + (i == j ? lift : 0);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 0))
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    }
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
        x[i] /= l[i][i];
    }
    for (int i = m - 1; i >= 0; i--) {
        for (int k = i + 1; k < m; k++)
            x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
    return true;
}

bool rp__anderson_step(rp__anderson *t, const double *from, double *to)
{
    int64_t n = t->n;
    int at = t->next;
    double *slot_image = t->image[at], *slot_residual = t->residual[at], x[RP__ANDERSON_DEPTH];
    for (int64_t i = 0; i < n; i++) {
        double image = to[i], residual = (image - from[i]) * t->weight[i];
        slot_image[i] = image - t->last_image[i];
        slot_residual[i] = residual - t->last_residual[i];
        t->last_image[i] = image;
        t->last_residual[i] = residual;
    }
    double size = dot(n, t->last_residual, t->last_residual);
    bool grew = t->started && !(size <= 4 * t->last_size);
    t->last_size = size;
    if (!t->started || grew) { /* a step that made things worse: forget what led to it */
        rp__anderson_forget(t);
        t->started = true;
        return false;
    }
    t->count = t->count < RP__ANDERSON_DEPTH ? t->count + 1 : t->count;
    t->next = (at + 1) % RP__ANDERSON_DEPTH;
    for (int k = 0; k < t->count; k++) {
        double entry = dot(n, slot_residual, t->residual[k]);
        t->gram[at][k] = entry;
        t->gram[k][at] = entry;
        x[k] = dot(n, t->residual[k], t->last_residual);
    }
    if (!solve_small(t, x)) {
        rp__anderson_forget(t);
        t->started = true;
        return false;
    }
    for (int k = 0; k < t->count; k++)
        for (int64_t i = 0; i < n; i++)
            to[i] -= x[k] * t->image[k][i];
    return true;
}
