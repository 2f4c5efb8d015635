/* The friction problem of a step as a file of the FCLIB collection, in global form: M v = H r + f, u = Hᵀ v + w.
 * The collection has no place for moments: rolling friction is left out. */
#include "contact/state.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

typedef struct sparse {
    int64_t *first;
    int32_t *row;
    double *value;
    int64_t count, capacity, value_capacity;
} sparse;

static void drop(sparse *m)
{
    rp__base_free(m->first);
    rp__base_free(m->row);
    rp__base_free(m->value);
}

static rp_result put(sparse *m, int64_t row, double value)
{
    if (value == 0)
        return RP_OK;
    if (!rp__base_grow(&m->row, &m->capacity, m->count + 1, sizeof *m->row) ||
        !rp__base_grow(&m->value, &m->value_capacity, m->count + 1, sizeof *m->value))
        return RP_OUT_OF_MEMORY;
    m->row[m->count] = (int32_t)row;
    m->value[m->count++] = value;
    return RP_OK;
}

/* Element (i, j) of A = L Lᵀ from its band factor, whose diagonal holds 1 / L_ii. */
static double element(const double *factor, int i, int j)
{
    if (i < j) {
        int k = i;
        i = j, j = k;
    }
    double sum = 0;
    for (int k = i - RP_ROD_BAND > 0 ? i - RP_ROD_BAND : 0; k <= j; k++) {
        double li = factor[(size_t)i * RP_ROD_ROW + k - i + RP_ROD_BAND], lj = factor[(size_t)j * RP_ROD_ROW + k - j + RP_ROD_BAND];
        sum += (k == i ? 1 / li : li) * (k == j ? 1 / lj : lj);
    }
    return sum;
}

static rp_result put_fibre(const rp__contact_fibre *f, sparse *m)
{
    int n = rp__rod_unknowns(f->rod);
    for (int j = 0; j < n; j++) {
        m->first[f->first + j] = m->count;
        for (int i = j - RP_ROD_BAND > 0 ? j - RP_ROD_BAND : 0; i < n && i <= j + RP_ROD_BAND; i++)
            RP_TRY(put(m, f->first + i, element(f->factor, i, j)));
    }
    return RP_OK;
}

/* A 6 × 6 mass by inverting its inverse, which every rigid thing has. */
static bool invert6(const double in[36], double out[36])
{
    double a[6][12];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            a[i][j] = in[6 * i + j], a[i][6 + j] = i == j;
    for (int k = 0; k < 6; k++) {
        int best = k;
        for (int i = k + 1; i < 6; i++)
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        if (!(fabs(a[best][k]) > 0))
            return false;
        for (int j = 0; j < 12; j++) {
            double x = a[k][j];
            a[k][j] = a[best][j], a[best][j] = x;
        }
        for (int i = 0; i < 6; i++) {
            double q = a[i][k] / a[k][k];
            for (int j = 0; j < 12 && i != k; j++)
                a[i][j] -= q * a[k][j];
        }
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            out[6 * i + j] = a[i][6 + j] / a[i][i];
    return true;
}

static rp_result put_masses(const rp__contact_state *s, const rp__world *world, sparse *m)
{
    const rp__contact_system *y = &s->system;
    rp__contact_grains g = rp__contact_grains_of(world, s->first_field);
    for (int64_t o = 0; o < y->objects; o++) {
        if (rp__contact_is_fibre(s, o)) {
            RP_TRY(put_fibre(rp__contact_fibre_of(s, o), m));
            continue;
        }
        double block[36] = { 0 }, inverse[36];
        bool moves = o < g.count || (world->bodies[o - g.count].present && world->bodies[o - g.count].def.kind == RP_BODY_FREE);
        for (int k = 0; k < 6; k++)
            block[7 * k] = 1;
        if (o < g.count) {
            for (int k = 0; k < 3; k++) {
                double axis[3] = { k == 0, k == 1, k == 2 }, turned[3];
                rp__vec3_store(turned, rp__contact_angular_momentum(&g, o, rp__vec3_load(axis)));
                block[7 * k] = g.mass[o];
                for (int i = 0; i < 3; i++)
                    block[6 * (3 + i) + 3 + k] = turned[i];
            }
        } else if (moves) {
            rp__body_inverse_mass(&world->bodies[o - g.count], inverse);
            if (!invert6(inverse, block))
                return rp__base_fail(RP_UNSUPPORTED, "body '%s' has a joint: its mass has no inverse, and problems with it cannot be written",
                                     world->bodies[o - g.count].def.name);
        }
        for (int j = 0; j < 6; j++) {
            m->first[y->object_first[o] + j] = m->count;
            for (int i = 0; i < 6; i++)
                RP_TRY(put(m, y->object_first[o] + i, 0.5 * (block[6 * i + j] + block[6 * j + i])));
        }
    }
    m->first[y->size] = m->count;
    return RP_OK;
}

static bool is_fixed(const rp__contact_state *s, const rp__contact_column *c, int64_t at)
{
    if (!rp__contact_is_fibre(s, c->object))
        return false;
    const rp__rod *rod = rp__contact_fibre_of(s, c->object)->rod;
    for (int end = 0; end < 2; end++) {
        int first, count = rp__rod_fixed(rod, end, &first);
        if (at - c->y_first >= first && at - c->y_first < first + count)
            return true;
    }
    return false;
}

/* Columns of H; what prescribed velocities do is a part of w. */
static rp_result put_columns(const rp__contact_state *s, sparse *h, double *w)
{
    const rp__contact_system *y = &s->system;
    for (int64_t i = 0; i < y->count; i++) {
        rp__contact_column column[2];
        rp__contact_set_columns(s, i, column);
        for (int k = 0; k < y->dim; k++) {
            h->first[i * y->dim + k] = h->count;
            w[i * y->dim + k] = y->w[i * y->width + k];
            for (int e = 0; e < 2; e++) {
                const rp__contact_column *c = &column[e];
                for (int r = 0; r < c->rows; r++) {
                    if (is_fixed(s, c, c->first + r))
                        w[i * y->dim + k] += c->h[r][k] * y->free_velocity[c->first + r];
                    else
                        RP_TRY(put(h, c->first + r, c->h[r][k]));
                }
            }
        }
    }
    h->first[y->count * y->dim] = h->count;
    return RP_OK;
}

static rp_result write(const rp__contact_state *s, const rp__world *world, const char *path, sparse *m, sparse *h, double *f, double *w)
{
    const rp__contact_system *y = &s->system;
    RP_TRY(put_masses(s, world, m));
    RP_TRY(put_columns(s, h, w));
    memset(f, 0, (size_t)y->size * sizeof *f);
    for (int64_t j = 0; j < y->size; j++)
        for (int64_t k = m->first[j]; k < m->first[j + 1]; k++)
            f[m->row[k]] += m->value[k] * y->free_velocity[j];
    rp_friction_global_def def = rp_default_friction_global_def();
    def.dimension = y->dim;
    def.contacts = y->count;
    def.dofs = y->size;
    def.m = (rp_friction_matrix){ y->size, y->size, m->first, m->row, m->value };
    def.h = (rp_friction_matrix){ y->size, y->count * y->dim, h->first, h->row, h->value };
    def.f = f;
    def.w = w;
    def.mu = y->mu;
    def.asymmetry = 1e-9;
    rp_friction *problem = NULL;
    RP_TRY(rp_friction_create_global(&def, &problem));
    rp_result result = rp_friction_write(problem, path, NULL, NULL);
    rp_friction_destroy(problem);
    return result;
}

rp_result rp__contact_dump(const rp__contact_state *s, const rp__world *world, double dt, const char *path)
{
    const rp__contact_system *y = &s->system;
    sparse m = { 0 }, h = { 0 };
    (void)dt;
    m.first = RP_NEW_ARRAY(int64_t, y->size + 1);
    h.first = RP_NEW_ARRAY(int64_t, y->count * y->dim + 1);
    double *f = RP_NEW_ARRAY(double, y->size), *w = RP_NEW_ARRAY(double, y->count * y->dim);
    rp_result result = m.first && h.first && f && w ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = write(s, world, path, &m, &h, f, w);
    drop(&m);
    drop(&h);
    rp__base_free(f);
    rp__base_free(w);
    return result;
}
