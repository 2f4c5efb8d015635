/* Creating and checking problems; products with W. */
#include "friction/problem.h"

#include "base/error.h"
#include "base/memory.h"
#include "exec/exec.h"
#include "friction/local.h"

#include <math.h>
#include <string.h>

static const double default_asymmetry = 5e-2; /* real files reach 1e-2 */

rp_friction_local_def rp_default_friction_local_def(void)
{
    return (rp_friction_local_def){ .dimension = 3, .asymmetry = default_asymmetry };
}

rp_friction_global_def rp_default_friction_global_def(void)
{
    return (rp_friction_global_def){ .dimension = 3, .asymmetry = default_asymmetry };
}

rp_friction_operator_def rp_default_friction_operator_def(void)
{
    return (rp_friction_operator_def){ .dimension = 3 };
}

static void free_rows(rp__friction_rows *rows)
{
    rp__base_free(rows->first);
    rp__base_free(rows->index);
    rp__base_free(rows->value);
}

void rp_friction_destroy(rp_friction *p)
{
    if (!p)
        return;
    rp__base_free(p->b);
    rp__base_free(p->mu);
    rp__base_free(p->rolling);
    rp__base_free(p->diagonal);
    rp__base_free(p->norm);
    rp__base_free(p->first);
    rp__base_free(p->column);
    rp__base_free(p->block);
    free_rows(&p->h);
    free_rows(&p->y);
    free_rows(&p->yt);
    rp__friction_csc_free(&p->m);
    rp__friction_csc_free(&p->hm);
    rp__base_free(p->f);
    rp__base_free(p->w);
    rp__friction_cholesky_free(&p->cholesky);
    rp__base_free(p->title);
    rp__base_free(p->description);
    rp__base_free(p->math);
    rp__base_free(p);
}

rp_friction_info rp_friction_get_info(const rp_friction *p)
{
    rp_friction_info info = { .form = p->form,
                              .dimension = p->dimension,
                              .contacts = p->contacts,
                              .dofs = p->dofs,
                              .blocks = p->kind == RP__BLOCKS && p->first ? p->first[p->contacts] : 0,
                              .asymmetry = p->asymmetry,
                              .scale = p->scale,
                              .title = p->title ? p->title : "",
                              .description = p->description ? p->description : "",
                              .math = p->math ? p->math : "" };
    for (int64_t i = 0; i < p->contacts; i++) {
        info.mu_min = i == 0 || p->mu[i] < info.mu_min ? p->mu[i] : info.mu_min;
        info.mu_max = i == 0 || p->mu[i] > info.mu_max ? p->mu[i] : info.mu_max;
    }
    return info;
}

rp_result rp__friction_copy(double **to, const double *from, int64_t count)
{
    *to = RP_NEW_ARRAY(double, count);
    if (!*to)
        return RP_OUT_OF_MEMORY;
    if (count > 0)
        memcpy(*to, from, (size_t)count * sizeof **to);
    return RP_OK;
}

rp_result rp__friction_check_vectors(int dimension, int64_t contacts, const double *b, const char *b_name, const double *mu)
{
    if (dimension != 2 && dimension != 3 && dimension != 6)
        return rp__base_fail(RP_BAD_ARGUMENT, "dimension %d: it must be 2, 3 or 6", dimension);
    if (contacts < 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "%lld contacts: the number cannot be negative", (long long)contacts);
    if (contacts > INT32_MAX / dimension)
        return rp__base_fail(RP_TOO_LARGE, "%lld contacts: at most %d are possible in dimension %d", (long long)contacts,
                             (int)(INT32_MAX / dimension), dimension);
    if (contacts > 0 && (!b || !mu))
        return rp__base_fail(RP_BAD_ARGUMENT, "vector %s is missing", b ? "mu" : b_name);
    for (int64_t i = 0; i < contacts; i++) {
        if (!(mu[i] >= 0 && mu[i] <= 1e100))
            return rp__base_fail(RP_BAD_ARGUMENT, "mu of contact %lld is %g: it must be between 0 and 1e100", (long long)i, mu[i]);
        for (int a = 0; a < dimension; a++)
            if (!isfinite(b[i * dimension + a]))
                return rp__base_fail(RP_BAD_ARGUMENT, "%s of contact %lld, component %d, is not a finite number", b_name,
                                     (long long)i, a);
    }
    return RP_OK;
}

/* Positive semidefinite up to rounding, by Cholesky with the diagonal lifted a little. */
static bool nearly_positive(int d, const double *w, double lift)
{
    double l[36];
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double sum = w[i * d + j] + (i == j ? lift : 0);
            for (int k = 0; k < j; k++)
                sum -= l[i * d + k] * l[j * d + k];
            if (i == j && !(sum > 0))
                return false;
            l[i * d + j] = i == j ? sqrt(sum) : sum / l[j * d + j];
        }
    return true;
}

static rp_result check_diagonal(rp_friction *p, int64_t i)
{
    int d = p->dimension;
    double *w = p->diagonal + i * d * d, norm = 0, off = 0;
    for (int a = 0; a < d * d; a++)
        norm += w[a] * w[a];
    norm = sqrt(norm);
    if (!isfinite(norm))
        return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W has an entry that is not a finite number", (long long)i);
    if (norm == 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W is empty: contact %lld moves nothing", (long long)i,
                             (long long)i);
    for (int a = 0; a < d; a++)
        for (int c = 0; c < a; c++) {
            off = fmax(off, fabs(w[a * d + c] - w[c * d + a]));
            w[a * d + c] = w[c * d + a] = 0.5 * (w[a * d + c] + w[c * d + a]);
        }
    if (off > default_asymmetry * norm)
        return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W is not symmetric: relative difference %.2g", (long long)i,
                             off / norm);
    if (!(w[0] > 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W is not positive: its normal entry is %g", (long long)i, w[0]);
    if (!nearly_positive(d, w, 1e-9 * norm))
        return rp__base_fail(RP_BAD_ARGUMENT, "diagonal block %lld of W is not positive semidefinite", (long long)i);
    p->norm[i] = norm;
    return RP_OK;
}

static void set_scale(rp_friction *p)
{
    double sum = 0;
    for (int64_t i = 0; i < p->contacts * p->dimension; i++)
        sum += p->b[i] * p->b[i];
    p->scale = sum > 0 ? sqrt(sum / (double)p->contacts) : 1;
}

rp_result rp__friction_finish(rp_friction *p)
{
    p->norm = RP_NEW_ARRAY(double, p->contacts);
    if (!p->norm)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < p->contacts; i++)
        RP_TRY(check_diagonal(p, i));
    set_scale(p);
    return RP_OK;
}

rp_result rp_friction_set_b(rp_friction *p, const double *b)
{
    if (!p)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_set_b: the problem is NULL");
    if (p->form == RP_FRICTION_GLOBAL)
        return rp__base_fail(RP_UNSUPPORTED, "b of a problem in global form comes from its f and w: make another one");
    RP_TRY(rp__friction_check_vectors(p->dimension, p->contacts, b, "b", p->mu));
    if (p->contacts > 0)
        memcpy(p->b, b, (size_t)(p->contacts * p->dimension) * sizeof *b);
    set_scale(p);
    return RP_OK;
}

/* Sorts the blocks of each row by column and adds those of the same place. */
static rp_result copy_blocks(const rp_friction_local_def *def, rp_friction *p)
{
    int64_t n = def->contacts, count = def->first[n];
    size_t dd = (size_t)(def->dimension * def->dimension);
    p->first = RP_NEW_ARRAY(int64_t, n + 1);
    p->column = RP_NEW_ARRAY(int32_t, count);
    p->block = rp__base_alloc_array((size_t)count, dd * sizeof(double));
    if (!p->first || !p->column || !p->block)
        return RP_OUT_OF_MEMORY;
    int64_t out = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = out;
        p->first[i] = out;
        for (int64_t k = def->first[i]; k < def->first[i + 1]; k++) {
            int64_t place = out;
            while (place > begin && p->column[place - 1] > def->column[k])
                place--;
            if (place > begin && p->column[place - 1] == def->column[k]) {
                for (size_t a = 0; a < dd; a++)
                    p->block[(size_t)(place - 1) * dd + a] += def->blocks[(size_t)k * dd + a];
                continue;
            }
            memmove(p->column + place + 1, p->column + place, (size_t)(out - place) * sizeof *p->column);
            memmove(p->block + (size_t)(place + 1) * dd, p->block + (size_t)place * dd, (size_t)(out - place) * dd * sizeof(double));
            p->column[place] = def->column[k];
            memcpy(p->block + (size_t)place * dd, def->blocks + (size_t)k * dd, dd * sizeof(double));
            out++;
        }
    }
    p->first[n] = out;
    return RP_OK;
}

static const double *find_block(const rp_friction *p, int64_t i, int64_t j)
{
    int64_t low = p->first[i], high = p->first[i + 1];
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p->column[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < p->first[i + 1] && p->column[low] == j;
    return found ? p->block + low * p->dimension * p->dimension : NULL;
}

/* W against its transpose, and every entry against the diagonal: |w_ab| <= sqrt(w_aa w_bb) for a positive matrix. */
static rp_result check_blocks(rp_friction *p, double allowed)
{
    int d = p->dimension;
    for (int64_t i = 0; i < p->contacts; i++) {
        const double *own = p->diagonal + i * d * d;
        for (int64_t k = p->first[i]; k < p->first[i + 1]; k++) {
            int64_t j = p->column[k];
            const double *w = p->block + k * d * d, *t = find_block(p, j, i), *other = p->diagonal + j * d * d;
            double unit = sqrt(p->norm[i] * p->norm[j]), difference = 0;
            for (int a = 0; a < d; a++)
                for (int c = 0; c < d; c++) {
                    difference = fmax(difference, fabs(w[a * d + c] - (t ? t[c * d + a] : 0)));
                    double bound = sqrt(fmax(own[a * d + a], 0) * fmax(other[c * d + c], 0));
                    if (!(fabs(w[a * d + c]) <= bound + allowed * unit))
                        return rp__base_fail(RP_BAD_ARGUMENT,
                                             "block (%lld, %lld) of W: entry (%d, %d) is %g, more than %g: W is not positive",
                                             (long long)i, (long long)j, a, c, w[a * d + c], bound);
                }
            if (!(difference <= allowed * unit))
                return rp__base_fail(RP_BAD_ARGUMENT, "block (%lld, %lld) of W differs from the transpose of block (%lld, %lld) by %.2g "
                                     "of the diagonal: W is not symmetric", (long long)i, (long long)j, (long long)j, (long long)i,
                                     difference / unit);
            p->asymmetry = fmax(p->asymmetry, difference / unit);
        }
    }
    return RP_OK;
}

static rp_result check_local(const rp_friction_local_def *def)
{
    RP_TRY(rp__friction_check_vectors(def->dimension, def->contacts, def->b, "b", def->mu));
    if (!def->first || def->first[0] != 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "W: the array of row beginnings is missing or does not begin with 0");
    int dd = def->dimension * def->dimension;
    for (int64_t i = 0; i < def->contacts; i++) {
        if (def->first[i + 1] < def->first[i])
            return rp__base_fail(RP_BAD_ARGUMENT, "W: block row %lld ends before it begins", (long long)i);
        if (def->first[i + 1] > def->first[i] && (!def->column || !def->blocks))
            return rp__base_fail(RP_BAD_ARGUMENT, "W: the arrays of columns and blocks are missing");
        for (int64_t k = def->first[i]; k < def->first[i + 1]; k++) {
            if (def->column[k] < 0 || def->column[k] >= def->contacts)
                return rp__base_fail(RP_BAD_ARGUMENT, "W: a block of row %lld is in column %d, there are %lld contacts", (long long)i,
                                     (int)def->column[k], (long long)def->contacts);
            for (int a = 0; a < dd; a++)
                if (!isfinite(def->blocks[k * dd + a]))
                    return rp__base_fail(RP_BAD_ARGUMENT, "block (%lld, %d) of W has an entry that is not a finite number",
                                         (long long)i, (int)def->column[k]);
        }
    }
    if (!(def->asymmetry >= 0))
        return rp__base_fail(RP_BAD_ARGUMENT, "asymmetry %g: it must be 0 or more", def->asymmetry);
    return RP_OK;
}

static rp_result fill_local(const rp_friction_local_def *def, rp_friction *p)
{
    int64_t n = def->contacts;
    int d = def->dimension;
    p->form = RP_FRICTION_LOCAL;
    p->kind = RP__BLOCKS;
    p->dimension = d;
    p->contacts = n;
    RP_TRY(rp__friction_copy(&p->b, def->b, n * d));
    RP_TRY(rp__friction_copy(&p->mu, def->mu, n));
    RP_TRY(copy_blocks(def, p));
    p->diagonal = rp__base_alloc_zero((size_t)n * (size_t)(d * d) * sizeof(double));
    if (!p->diagonal)
        return RP_OUT_OF_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        const double *w = find_block(p, i, i);
        if (w)
            memcpy(p->diagonal + i * d * d, w, (size_t)(d * d) * sizeof(double));
    }
    RP_TRY(rp__friction_finish(p));
    return check_blocks(p, def->asymmetry);
}

rp_result rp_friction_create_local(const rp_friction_local_def *def, rp_friction **problem)
{
    if (!def || !problem)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_create_local: the definition or the place of the result is NULL");
    RP_TRY(check_local(def));
    rp_friction *p = RP_NEW(rp_friction);
    if (!p)
        return RP_OUT_OF_MEMORY;
    rp_result result = fill_local(def, p);
    if (result != RP_OK) {
        rp_friction_destroy(p);
        return result;
    }
    *problem = p;
    return RP_OK;
}

static rp_result check_colors(const rp_friction_operator_def *def)
{
    if (def->colors == 0)
        return RP_OK;
    if (def->colors < 0 || !def->color_first || !def->color_items || def->color_first[0] != 0 ||
        def->color_first[def->colors] != def->contacts)
        return rp__base_fail(RP_BAD_ARGUMENT, "the colours must list each of the %lld contacts once", (long long)def->contacts);
    for (int c = 0; c < def->colors; c++)
        if (def->color_first[c + 1] < def->color_first[c])
            return rp__base_fail(RP_BAD_ARGUMENT, "colour %d ends before it begins", c);
    char *seen = rp__base_alloc_zero((size_t)def->contacts);
    if (!seen)
        return RP_OUT_OF_MEMORY;
    rp_result result = RP_OK;
    for (int64_t k = 0; k < def->contacts && result == RP_OK; k++) {
        int32_t i = def->color_items[k];
        if (i < 0 || i >= def->contacts || seen[i])
            result = rp__base_fail(RP_BAD_ARGUMENT, "colour item %lld is contact %d: out of range or listed twice", (long long)k, (int)i);
        else
            seen[i] = 1;
    }
    rp__base_free(seen);
    return result;
}

static rp_result check_rolling(const rp_friction_operator_def *def)
{
    if (!def->rolling)
        return RP_OK;
    if (def->dimension == 2)
        return rp__base_fail(RP_BAD_ARGUMENT, "rolling friction needs dimension 3 (in the plane) or 6, this problem has 2");
    for (int64_t i = 0; i < def->contacts; i++)
        if (!(def->rolling[i] >= 0 && def->rolling[i] <= 1e100))
            return rp__base_fail(RP_BAD_ARGUMENT, "rolling friction of contact %lld is %g: it must be between 0 and 1e100", (long long)i, def->rolling[i]);
    return RP_OK;
}

rp_result rp_friction_create_operator(const rp_friction_operator_def *def, rp_friction **problem)
{
    if (!def || !problem)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_friction_create_operator: the definition or the place of the result is NULL");
    RP_TRY(rp__friction_check_vectors(def->dimension, def->contacts, def->b, "b", def->mu));
    if (!def->multiply || (def->contacts > 0 && !def->diagonal))
        return rp__base_fail(RP_BAD_ARGUMENT, "an operator needs `multiply` and the diagonal blocks");
    RP_TRY(check_colors(def));
    RP_TRY(check_rolling(def));
    rp_friction *p = RP_NEW(rp_friction);
    if (!p)
        return RP_OUT_OF_MEMORY;
    p->form = RP_FRICTION_OPERATOR;
    p->kind = RP__CALLBACKS;
    p->dimension = def->dimension;
    p->contacts = def->contacts;
    p->callbacks = *def;
    rp_result result = rp__friction_copy(&p->b, def->b, def->contacts * def->dimension);
    if (result == RP_OK)
        result = rp__friction_copy(&p->mu, def->mu, def->contacts);
    if (result == RP_OK && def->rolling)
        result = rp__friction_copy(&p->rolling, def->rolling, def->contacts);
    if (result == RP_OK)
        result = rp__friction_copy(&p->diagonal, def->diagonal, def->contacts * def->dimension * def->dimension);
    if (result == RP_OK)
        result = rp__friction_finish(p);
    if (result != RP_OK) {
        rp_friction_destroy(p);
        return result;
    }
    *problem = p;
    return RP_OK;
}

typedef struct product {
    const rp_friction *p;
    const double *in;
    double *out;
} product;

static void block_rows(void *context, int64_t begin, int64_t end, int worker)
{
    product *c = context;
    (void)worker;
    RP__CONE_CALL(c->p, rp__friction_block_rows, begin, end, c->in, c->out);
}

static void gather_rows(void *context, int64_t begin, int64_t end, int worker)
{
    product *c = context;
    (void)worker;
    RP__CONE_CALL(c->p, rp__friction_gather_rows, begin, end, c->in, c->out);
}

static void scatter_rows(void *context, int64_t begin, int64_t end, int worker)
{
    product *c = context;
    (void)worker;
    RP__CONE_CALL(c->p, rp__friction_scatter_rows, begin, end, c->in, c->out);
}

enum { ROW_GRAIN = 1024 }; /* below this a product is not worth a second thread */

static void run_rows(int64_t n, rp__exec_fn function, product *context)
{
    if (n <= ROW_GRAIN)
        function(context, 0, n, 0);
    else
        rp__exec_for(n, ROW_GRAIN, function, context);
}

void rp__friction_multiply(const rp_friction *p, const double *r, double *v, double *u)
{
    if (p->kind == RP__CALLBACKS) {
        p->callbacks.multiply(p->callbacks.context, r, u);
    } else if (p->kind == RP__BLOCKS) {
        run_rows(p->contacts, block_rows, &(product){ p, r, u });
    } else {
        run_rows(p->dofs, scatter_rows, &(product){ p, r, v });
        run_rows(p->contacts, gather_rows, &(product){ p, v, u });
    }
}

void rp__friction_multiply_ref(const rp_friction *p, const double *r, double *v, double *u)
{
    int d = p->dimension;
    memset(u, 0, (size_t)(p->contacts * d) * sizeof *u);
    if (p->kind == RP__CALLBACKS) {
        p->callbacks.multiply(p->callbacks.context, r, u);
    } else if (p->kind == RP__BLOCKS) {
        for (int64_t i = 0; i < p->contacts; i++)
            for (int64_t k = p->first[i]; k < p->first[i + 1]; k++)
                for (int a = 0; a < d; a++)
                    for (int c = 0; c < d; c++)
                        u[i * d + a] += p->block[(k * d + a) * d + c] * r[p->column[k] * d + c];
    } else {
        memset(v, 0, (size_t)p->dofs * sizeof *v);
        for (int64_t i = 0; i < p->contacts; i++)
            for (int64_t k = p->y.first[i]; k < p->y.first[i + 1]; k++)
                for (int a = 0; a < d; a++)
                    v[p->y.index[k]] += p->y.value[k * d + a] * r[i * d + a];
        for (int64_t i = 0; i < p->contacts; i++)
            for (int64_t k = p->h.first[i]; k < p->h.first[i + 1]; k++)
                for (int a = 0; a < d; a++)
                    u[i * d + a] += p->h.value[k * d + a] * v[p->h.index[k]];
    }
}
