/* Rest shapes: straight (with natural curvature and twist), as the nodes are given, or such that gravity holds the given nodes. */
#include "rod/rest.h"

#include "base/memory.h"

#include <string.h>

/* l_i = (l^e + l^f) / 2; the length of a ghost does not count, which makes clamps second order. */
static void set_spans(rp__rod *rod)
{
    for (int i = 0; i + 1 < rod->edges; i++)
        rod->span[i] = 0.5 * ((rp__rod_is_ghost(rod, i) ? 0 : rod->length[i]) + (rp__rod_is_ghost(rod, i + 1) ? 0 : rod->length[i + 1]));
}

static void take_strains(rp__rod *rod)
{
    for (int i = 0; i + 1 < rod->edges; i++) {
        double s[3];
        rp__rod_strains(rod, i, s);
        rod->rest_curvature[2 * i] = s[0];
        rod->rest_curvature[2 * i + 1] = s[1];
        rod->rest_twist[i] = s[2];
    }
}

/* Solves three equations by Cramer's rule; false when they are not independent. */
static bool solve3(double a[3][3], const double b[3], double x[3])
{
    rp__mat3 m;
    memcpy(m.m, a, sizeof m.m);
    double det = rp__mat3_determinant(&m);
    if (det == 0)
        return false;
    for (int c = 0; c < 3; c++) {
        rp__mat3 k = m;
        for (int r = 0; r < 3; r++)
            k.m[r][c] = b[r];
        x[c] = rp__mat3_determinant(&k) / det;
    }
    return true;
}

/* Moments c_k = B_k (kappa_k - rest_k) / l_i of a vertex, and the tension of the edge after it. */
typedef struct load {
    double c[3], tension;
} load;

/* Nodes and angles are in balance, one after the other from tip to root. The forces on node i + 2 and on the angle of edge i + 1
 * come from vertices beyond (known), from vertex i, and from the tension T of edge i + 1: along the edge T alone, as strains do not
 * change with its length; across it and for the angle three equations for the moments of vertex i. */
static void balance(const rp__rod *rod, const double gravity[3], load *loads)
{
    rp__vec3 far = { 0, 0, 0 }, middle = { 0, 0, 0 }; /* known forces on nodes i + 2 and i + 1 */
    double angle = 0;                                 /* and on the angle of edge i + 1 */
    for (int i = rod->edges - 2; i >= 0; i--) {
        double g[3][RP_ROD_STENCIL], a[3][3];
        load *out = &loads[i];
        rp__rod_gradients(rod, i, g);
        rp__vec3 t = rp__vec3_load(rod->tangent + 3 * i + 3), m1, m2;
        rp__rod_frame(rod, i + 1, &m1, &m2);
        far = rp__vec3_axpy(rod->mass[4 * (i + 2)], rp__vec3_load(gravity), far);
        for (int k = 0; k < 3; k++) {
            rp__vec3 by_node = rp__vec3_load(g[k] + 8);
            a[0][k] = rp__vec3_dot(by_node, m1);
            a[1][k] = rp__vec3_dot(by_node, m2);
            a[2][k] = g[k][7];
        }
        double right[3] = { rp__vec3_dot(far, m1), rp__vec3_dot(far, m2), angle };
        solve3(a, right, out->c);
        out->tension = rp__vec3_dot(far, t);
        rp__vec3 near = { 0, 0, 0 };
        middle = rp__vec3_axpy(out->tension, t, middle);
        angle = 0;
        for (int k = 0; k < 3; k++) {
            middle = rp__vec3_axpy(-out->c[k], rp__vec3_load(g[k] + 4), middle);
            near = rp__vec3_axpy(-out->c[k], rp__vec3_load(g[k]), near);
            angle -= out->c[k] * g[k][3];
        }
        far = middle;
        middle = near;
    }
}

static rp_result sag_free(rp__rod *rod, const double gravity[3])
{
    load *loads = RP_NEW_ARRAY(load, rod->edges);
    if (!loads)
        return RP_OUT_OF_MEMORY;
    memset(loads, 0, (size_t)rod->edges * sizeof *loads);
    balance(rod, gravity, loads);
    for (int i = 0; i + 1 < rod->edges; i++) /* T = ES (|e| / l - 1) */
        rod->length[i + 1] /= fmax(1 + loads[i].tension / rod->section.stretch, 0.5);
    set_spans(rod);
    for (int i = 0; i + 1 < rod->edges; i++) {
        rod->rest_curvature[2 * i] -= loads[i].c[0] * rod->span[i] / rod->section.bend[0];
        rod->rest_curvature[2 * i + 1] -= loads[i].c[1] * rod->span[i] / rod->section.bend[1];
        rod->rest_twist[i] -= loads[i].c[2] * rod->span[i] / rod->section.twist;
    }
    rp__base_free(loads);
    return RP_OK;
}

rp_result rp__rod_set_rest(rp__rod *rod, const rp__rod_def *def)
{
    set_spans(rod);
    if (def->rest == RP_ROD_STRAIGHT) {
        for (int i = 0; i + 1 < rod->edges; i++) {
            rod->rest_curvature[2 * i] = def->curvature[0] * rod->span[i];
            rod->rest_curvature[2 * i + 1] = def->curvature[1] * rod->span[i];
            rod->rest_twist[i] = def->twist * rod->span[i];
        }
        return RP_OK;
    }
    take_strains(rod);
    return def->rest == RP_ROD_SAG_FREE ? sag_free(rod, def->gravity) : RP_OK;
}
