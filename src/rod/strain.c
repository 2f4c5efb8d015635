/* Strains of a rod, their first and second derivatives, energy, forces and stiffness.
 *
 * At a vertex with edges e and f: chi = 1 + t_e·t_f, t~ = (t_e + t_f) / chi, m~_a = (m_a^e + m_a^f) / chi,
 *   kb = 2 t_e×t_f / chi,  kappa1 = ½ kb·(m2^e + m2^f),  kappa2 = -½ kb·(m1^e + m1^f),  tau = theta^f - theta^e + m_ref
 *                                                                                                  [bergou2010, §4.2]
 * and the energy is
 *   E = ½ Σ_j ES l (|e|/l - 1)² + ½ Σ_i (B1 (kappa1 - k1)² + B2 (kappa2 - k2)² + GJ (tau - t)²) / l_i. */
#include "rod/rod.h"

#include <string.h>

enum { B = RP_ROD_BAND, R = RP_ROD_ROW, N = RP_ROD_STENCIL };

/* All that the derivatives at one vertex need. Strain 0 is kappa1, 1 is kappa2, 2 is the twist. */
typedef struct vertex {
    rp__vec3 te, tf, mean_tangent, kb, m[2][2]; /* m[a][side] */
    rp__vec3 mean[2];                           /* m~1, m~2 */
    double chi, e, f, strain[3];
} vertex;

static void look(const rp__rod *rod, int i, vertex *v)
{
    v->te = rp__vec3_load(rod->tangent + 3 * i);
    v->tf = rp__vec3_load(rod->tangent + 3 * i + 3);
    v->e = rp__vec3_norm(rp__vec3_sub(rp__rod_node(rod, i + 1), rp__rod_node(rod, i)));
    v->f = rp__vec3_norm(rp__vec3_sub(rp__rod_node(rod, i + 2), rp__rod_node(rod, i + 1)));
    v->chi = 1 + rp__vec3_dot(v->te, v->tf);
    v->mean_tangent = rp__vec3_scale(1 / v->chi, rp__vec3_add(v->te, v->tf));
    v->kb = rp__vec3_scale(2 / v->chi, rp__vec3_cross(v->te, v->tf));
    for (int side = 0; side < 2; side++)
        rp__rod_frame(rod, i + side, &v->m[0][side], &v->m[1][side]);
    for (int a = 0; a < 2; a++)
        v->mean[a] = rp__vec3_scale(1 / v->chi, rp__vec3_add(v->m[a][0], v->m[a][1]));
    v->strain[0] = 0.5 * rp__vec3_dot(v->kb, rp__vec3_add(v->m[1][0], v->m[1][1]));
    v->strain[1] = -0.5 * rp__vec3_dot(v->kb, rp__vec3_add(v->m[0][0], v->m[0][1]));
    v->strain[2] = rod->theta[i + 1] - rod->theta[i] + rod->reference_twist[i];
}

void rp__rod_strains(const rp__rod *rod, int i, double strain[3])
{
    vertex v;
    look(rod, i, &v);
    memcpy(strain, v.strain, sizeof v.strain);
}

/* From derivatives by e and f to those by the three nodes: -d/de, d/de - d/df, d/df. */
static void to_nodes(double g[N], rp__vec3 by_e, rp__vec3 by_f, double by_theta_e, double by_theta_f)
{
    rp__vec3_store(g, rp__vec3_scale(-1, by_e));
    rp__vec3_store(g + 4, rp__vec3_sub(by_e, by_f));
    rp__vec3_store(g + 8, by_f);
    g[3] = by_theta_e;
    g[7] = by_theta_f;
}

/* sigma t×m~: +1 for kappa1 with m~2, -1 for kappa2 with m~1. */
static rp__vec3 turned(rp__vec3 t, rp__vec3 mean, double sigma)
{
    return rp__vec3_scale(sigma, rp__vec3_cross(t, mean));
}

static void gradients(const vertex *v, double g[3][N])
{
    for (int a = 0; a < 2; a++) {
        double sigma = a == 0 ? 1 : -1;
        rp__vec3 mean = v->mean[1 - a];
        rp__vec3 by_e = rp__vec3_axpy(-v->strain[a], v->mean_tangent, turned(v->tf, mean, sigma));
        rp__vec3 by_f = rp__vec3_axpy(-v->strain[a], v->mean_tangent, turned(v->te, mean, -sigma));
        to_nodes(g[a], rp__vec3_scale(1 / v->e, by_e), rp__vec3_scale(1 / v->f, by_f), -0.5 * rp__vec3_dot(v->kb, v->m[a][0]),
                 -0.5 * rp__vec3_dot(v->kb, v->m[a][1]));
    }
    to_nodes(g[2], rp__vec3_scale(0.5 / v->e, v->kb), rp__vec3_scale(0.5 / v->f, v->kb), -1, 1);
}

void rp__rod_gradients(const rp__rod *rod, int i, double g[3][RP_ROD_STENCIL])
{
    vertex v;
    look(rod, i, &v);
    gradients(&v, g);
}

/* ---- second derivatives: blocks by e and f ---- */

typedef struct blocks {
    double ee[3][3], ff[3][3], ef[3][3]; /* ef: row by e, column by f */
} blocks;

static void add_outer(double m[3][3], double s, rp__vec3 a, rp__vec3 b)
{
    double p[3], q[3];
    rp__vec3_store(p, a);
    rp__vec3_store(q, b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[i][j] += s * p[i] * q[j];
}

static void add_both(double m[3][3], double s, rp__vec3 a, rp__vec3 b)
{
    add_outer(m, s, a, b);
    add_outer(m, s, b, a);
}

static void add_identity(double m[3][3], double s)
{
    for (int i = 0; i < 3; i++)
        m[i][i] += s;
}

/* The matrix of a×. */
static void add_cross(double m[3][3], double s, rp__vec3 a)
{
    m[0][1] -= s * a.z, m[0][2] += s * a.y, m[1][2] -= s * a.x;
    m[1][0] += s * a.z, m[2][0] -= s * a.y, m[2][1] += s * a.x;
}

static void scale(double m[3][3], double s)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[i][j] *= s;
}

/* kappa_ee = (2 k t~t~ᵀ - p_e t~ᵀ - t~ p_eᵀ - (k/chi)(I - t_e t_eᵀ) + (sigma/4)(kb m_eᵀ + m_e kbᵀ)) / |e|², kappa_ff likewise,
 * kappa_ef = (2 k t~t~ᵀ - p_e t~ᵀ - t~ p_fᵀ - (k/chi)(I + t_e t_fᵀ) - sigma [m~]) / (|e||f|). */
static void curvature_blocks(const vertex *v, int a, blocks *h)
{
    double sigma = a == 0 ? 1 : -1, k = v->strain[a];
    rp__vec3 mean = v->mean[1 - a], t = v->mean_tangent;
    rp__vec3 pe = turned(v->tf, mean, sigma), pf = turned(v->te, mean, -sigma);
    memset(h, 0, sizeof *h);
    add_outer(h->ee, 2 * k, t, t);
    add_both(h->ee, -1, pe, t);
    add_identity(h->ee, -k / v->chi);
    add_outer(h->ee, k / v->chi, v->te, v->te);
    add_both(h->ee, 0.25 * sigma, v->kb, v->m[1 - a][0]);
    scale(h->ee, 1 / (v->e * v->e));
    add_outer(h->ff, 2 * k, t, t);
    add_both(h->ff, -1, pf, t);
    add_identity(h->ff, -k / v->chi);
    add_outer(h->ff, k / v->chi, v->tf, v->tf);
    add_both(h->ff, 0.25 * sigma, v->kb, v->m[1 - a][1]);
    scale(h->ff, 1 / (v->f * v->f));
    add_outer(h->ef, 2 * k, t, t);
    add_outer(h->ef, -1, pe, t);
    add_outer(h->ef, -1, t, pf);
    add_identity(h->ef, -k / v->chi);
    add_outer(h->ef, -k / v->chi, v->te, v->tf);
    add_cross(h->ef, -sigma, mean);
    scale(h->ef, 1 / (v->e * v->f));
}

/* tau_ee = -(kb (t_e + t~)ᵀ + (t_e + t~) kbᵀ) / 4|e|², tau_ff likewise, tau_ef = ((2/chi)[t_e] - kb t~ᵀ) / (2|e||f|). */
static void twist_blocks(const vertex *v, blocks *h)
{
    memset(h, 0, sizeof *h);
    add_both(h->ee, -0.25 / (v->e * v->e), v->kb, rp__vec3_add(v->te, v->mean_tangent));
    add_both(h->ff, -0.25 / (v->f * v->f), v->kb, rp__vec3_add(v->tf, v->mean_tangent));
    add_cross(h->ef, 2 / v->chi, v->te);
    add_outer(h->ef, -1, v->kb, v->mean_tangent);
    scale(h->ef, 0.5 / (v->e * v->f));
}

/* Adds c × the blocks to the matrix of a stencil: nodes are (-e, e - f, f). */
static void add_blocks(double m[N][N], double c, const blocks *h)
{
    static const double by[3][2] = { { -1, 0 }, { 1, -1 }, { 0, 1 } }; /* node: its part in e and f */
    for (int p = 0; p < 3; p++)
        for (int q = 0; q < 3; q++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    m[4 * p + i][4 * q + j] += c * (by[p][0] * by[q][0] * h->ee[i][j] + by[p][1] * by[q][1] * h->ff[i][j] +
                                                    by[p][0] * by[q][1] * h->ef[i][j] + by[p][1] * by[q][0] * h->ef[j][i]);
}

/* kappa1_{e theta^j} = (½ (kb·m1^j) t~ - t_f×m1^j / chi) / |e|, kappa1_{f theta^j} = (½ (kb·m1^j) t~ + t_e×m1^j / chi) / |f|,
 * kappa1_{theta theta} = -½ kb·m2; kappa2 the same with m2 for m1, and +½ kb·m1. */
static void add_angles(double m[N][N], double c, const vertex *v, int a)
{
    for (int j = 0; j < 2; j++) {
        rp__vec3 own = v->m[a][j];
        double half = 0.5 * rp__vec3_dot(v->kb, own), column[N] = { 0 };
        rp__vec3 by_e = rp__vec3_axpy(-1 / v->chi, rp__vec3_cross(v->tf, own), rp__vec3_scale(half, v->mean_tangent));
        rp__vec3 by_f = rp__vec3_axpy(1 / v->chi, rp__vec3_cross(v->te, own), rp__vec3_scale(half, v->mean_tangent));
        to_nodes(column, rp__vec3_scale(1 / v->e, by_e), rp__vec3_scale(1 / v->f, by_f), 0, 0);
        int t = 3 + 4 * j;
        for (int i = 0; i < N; i++)
            m[i][t] += c * column[i], m[t][i] += c * column[i];
        m[t][t] += (a == 0 ? -0.5 : 0.5) * c * rp__vec3_dot(v->kb, v->m[1 - a][j]);
    }
}

/* ---- energy, force, stiffness ---- */

static void stiffness_of(const rp__rod *rod, int i, double k[3])
{
    k[0] = rod->section.bend[0] / rod->span[i];
    k[1] = rod->section.bend[1] / rod->span[i];
    k[2] = rod->section.twist / rod->span[i];
}

static void strain_from_rest(const rp__rod *rod, int i, const vertex *v, double s[3])
{
    s[0] = v->strain[0] - rod->rest_curvature[2 * i];
    s[1] = v->strain[1] - rod->rest_curvature[2 * i + 1];
    s[2] = v->strain[2] - rod->rest_twist[i];
}

double rp__rod_strain_of_edge(const rp__rod *rod, int edge)
{
    rp__vec3 e = rp__vec3_sub(rp__rod_node(rod, edge + 1), rp__rod_node(rod, edge));
    return rp__vec3_norm(e) / rod->length[edge] - 1;
}

double rp__rod_energy(const rp__rod *rod)
{
    double sum = 0;
    for (int j = 0; j < rod->edges; j++) {
        double strain = rp__rod_is_ghost(rod, j) ? 0 : rp__rod_strain_of_edge(rod, j);
        sum += 0.5 * rod->section.stretch * rod->length[j] * strain * strain;
    }
    for (int i = 0; i + 1 < rod->edges; i++) {
        vertex v;
        double k[3], s[3];
        look(rod, i, &v);
        stiffness_of(rod, i, k);
        strain_from_rest(rod, i, &v, s);
        sum += 0.5 * (k[0] * s[0] * s[0] + k[1] * s[1] * s[1] + k[2] * s[2] * s[2]);
    }
    return sum;
}

double rp__rod_kinetic(const rp__rod *rod)
{
    double sum = 0;
    for (int i = 0; i < rp__rod_unknowns(rod); i++)
        sum += 0.5 * rod->mass[i] * rod->velocity[i] * rod->velocity[i];
    return sum;
}

void rp__rod_force(const rp__rod *rod, double *force)
{
    memset(force, 0, (size_t)rp__rod_unknowns(rod) * sizeof *force);
    for (int j = 0; j < rod->edges; j++) {
        if (rp__rod_is_ghost(rod, j))
            continue;
        double tension = rod->section.stretch * rp__rod_strain_of_edge(rod, j);
        for (int a = 0; a < 3; a++) {
            force[4 * j + a] += tension * rod->tangent[3 * j + a];
            force[4 * j + 4 + a] -= tension * rod->tangent[3 * j + a];
        }
    }
    for (int i = 0; i + 1 < rod->edges; i++) {
        vertex v;
        double k[3], s[3], g[3][N];
        look(rod, i, &v);
        stiffness_of(rod, i, k);
        strain_from_rest(rod, i, &v, s);
        gradients(&v, g);
        for (int p = 0; p < N; p++)
            force[4 * i + p] -= k[0] * s[0] * g[0][p] + k[1] * s[1] * g[1][p] + k[2] * s[2] * g[2][p];
    }
}

static void stiffen_edge(const rp__rod *rod, int j, rp__rod_stiffness kind, double elastic, double tension, double *band)
{
    double strain = rp__rod_strain_of_edge(rod, j), length = rod->length[j] * (1 + strain);
    double pull = rod->section.stretch * strain, along = elastic * rod->section.stretch / rod->length[j];
    double across = tension * (kind == RP_ROD_FULL ? pull : fmax(pull, 0)) / length;
    const double *t = rod->tangent + 3 * j;
    for (int p = 0; p < 3; p++)
        for (int q = 0; q < 3; q++) {
            double value = along * t[p] * t[q] + across * ((p == q) - t[p] * t[q]);
            if (q <= p) {
                band[(size_t)(4 * j + p) * R + q - p + B] += value;
                band[(size_t)(4 * j + 4 + p) * R + q - p + B] += value;
            }
            band[(size_t)(4 * j + 4 + p) * R + q - 4 - p + B] -= value;
        }
}

void rp__rod_stiffen(const rp__rod *rod, rp__rod_stiffness kind, double elastic, double tension, double *band)
{
    for (int j = 0; j < rod->edges; j++)
        if (!rp__rod_is_ghost(rod, j))
            stiffen_edge(rod, j, kind, elastic, tension, band);
    for (int i = 0; i + 1 < rod->edges; i++) {
        vertex v;
        double k[3], s[3], g[3][N], m[N][N];
        look(rod, i, &v);
        stiffness_of(rod, i, k);
        strain_from_rest(rod, i, &v, s);
        gradients(&v, g);
        for (int p = 0; p < N; p++)
            for (int q = 0; q <= p; q++)
                m[p][q] = k[0] * g[0][p] * g[0][q] + k[1] * g[1][p] * g[1][q] + k[2] * g[2][p] * g[2][q];
        if (kind == RP_ROD_FULL) {
            blocks h;
            double full[N][N] = { { 0 } };
            for (int a = 0; a < 2; a++) {
                curvature_blocks(&v, a, &h);
                add_blocks(full, k[a] * s[a], &h);
                add_angles(full, k[a] * s[a], &v, a);
            }
            twist_blocks(&v, &h);
            add_blocks(full, k[2] * s[2], &h);
            for (int p = 0; p < N; p++)
                for (int q = 0; q <= p; q++)
                    m[p][q] += 0.5 * (full[p][q] + full[q][p]);
        }
        for (int p = 0; p < N; p++)
            for (int q = 0; q <= p; q++)
                band[(size_t)(4 * i + p) * R + q - p + B] += elastic * m[p][q];
    }
}
