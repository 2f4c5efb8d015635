/* From the grid back to the particles: v_p = u(x_p), c_p = grad u(x_p), the ellipsoid, friction mu(I), cohesion, the new place. */
#include "nonsmooth/system.h"
#include "nonsmooth/shared.h"

#include "exec/exec.h"

#include <math.h>
#include <string.h>

typedef struct job {
    ns_system *y;
    const rp__world *world;
    double dt;
    const double *carrying;     /* node, NS_PAD: velocities that carry the particles */
    double *gradient[9], *ellipsoid[6], *size, *friction, *cohesion, *looseness;
    double *pressure, *smooth;  /* stress: p; p without its alternating part */
    double pressed;             /* above this pressure grains touch */
    double carried;             /* a smaller change of velocity than this: gravity does not act alone */
    double cell_volume;
    bool varied;
    double low[3], high[3];     /* particles stay between */
} job;

/* Values at the corners of a cell, four numbers each; value and the derivatives along the axes (per cell) at t. */
NS_INLINE ns_four interpolate(const ns_four *c, const double *t, ns_four *d)
{
#if RP_DIM == 3
    ns_four x00 = c[1] - c[0], x10 = c[3] - c[2], x01 = c[5] - c[4], x11 = c[7] - c[6];
    ns_four a00 = c[0] + t[0] * x00, a10 = c[2] + t[0] * x10, a01 = c[4] + t[0] * x01, a11 = c[6] + t[0] * x11;
    ns_four y0 = a10 - a00, y1 = a11 - a01, b0 = a00 + t[1] * y0, b1 = a01 + t[1] * y1;
    ns_four dx0 = x00 + t[1] * (x10 - x00), dx1 = x01 + t[1] * (x11 - x01);
    d[0] = dx0 + t[2] * (dx1 - dx0);
    d[1] = y0 + t[2] * (y1 - y0);
    d[2] = b1 - b0;
    return b0 + t[2] * d[2];
#else
    ns_four x0 = c[1] - c[0], x1 = c[3] - c[2], a0 = c[0] + t[0] * x0, a1 = c[2] + t[0] * x1;
    d[0] = x0 + t[1] * (x1 - x0);
    d[1] = a1 - a0;
    return a0 + t[1] * d[1];
#endif
}

/* Velocities at the corners as far as others than particle i move them; the rest is its own. False: all of them are known. */
static bool own_corners(const job *w, int64_t i, const int64_t *node, const double *t, ns_four v, const ns_four *corner, ns_four *known)
{
    const rp__particles *p = w->world->particles;
    double full = p->mass[i] / p->volume[i] * w->world->materials[p->material[i]].volume_fraction * w->cell_volume;
    bool less = false;
    for (int k = 0; k < NS_CORNERS; k++) {
        double own = p->mass[i];
        for (int a = 0; a < RP_DIM; a++)
            own *= (k >> a & 1) ? t[a] : 1 - t[a];
        double part = (w->y->mass[node[k]] - own) / (NS_OTHERS * full);
        part = part < 1 ? part > 0 ? part : 0 : 1;
        less |= part < 1;
        known[k] = v + part * (corner[k] - v);
    }
    return less;
}

/* The velocity gradient that grains in contact keep.
 *
 * Stresses at nodes see strains averaged over the cells around a node. Velocities that alternate from node to node have none: they would
 * be kept by c_p = grad u(x_p); stretching would slowly gather the grains of every second cell, and shear would grow where a wall drives it, and
 * pass for a rate of shear in mu(I). So grains in contact keep the stretching that the stresses see: averaged at the nodes from the centres of the
 * cells around them, by volume, and interpolated. Shear and rotation are grad u(x_p); where friction or cohesion depend on the rate of shear, as far as that
 * lies between NS_LEAST and NS_MOST of what is seen: a layer of shear one cell thick, beside a wall that sticks, is not spread. All is the same for
 * affine velocities. Free grains keep grad u(x_p). The operator g is used up by now; its rows hold cell and node values. */
static double *row_of(const ns_system *y, int64_t i)
{
    return y->g + i * y->stencil * RP_DIM;
}

static void cell_gradients(void *context, int64_t begin, int64_t end, int worker)
{
    const ns_system *y = ((job *)context)->y;
    double factor = (RP_DIM == 3 ? 0.25 : 0.5) / y->lattice.h;
    (void)worker;
    for (int64_t block = begin; block < end; block++)
        for (int cell = 0; cell < RP_BLOCK_NODES; cell++) {
            int64_t i = block * RP_BLOCK_NODES + cell;
            double d[RP_DIM * RP_DIM] = { 0 };
            if (!(y->cell[NS_CELL * i + NS_BERNSTEIN] > 0))
                continue;
            for (int k = 0; k < NS_CORNERS; k++) {
                const double *u = ns_velocity(y, ns_tile_node(y, block, ns_tile_of_local(cell) + ns_corner(k)));
                for (int a = 0; a < RP_DIM; a++)
                    for (int b = 0; b < RP_DIM; b++)
                        d[RP_DIM * a + b] += (k >> b & 1) ? u[a] : -u[a];
            }
            for (int a = 0; a < RP_DIM * RP_DIM; a++)
                row_of(y, i)[a] = factor * d[a];
        }
}

static void node_gradients(void *context, int64_t begin, int64_t end, int worker)
{
    const ns_system *y = ((job *)context)->y;
    (void)worker;
    for (int64_t block = begin; block < end; block++)
        for (int l = 0; l < RP_BLOCK_NODES; l++) {
            double sum[RP_DIM * RP_DIM] = { 0 }, volume = 0;
            for (int k = 0; k < NS_CORNERS; k++) {
                int64_t cell = ns_tile_node(y, block, ns_tile_of_local(l) - ns_corner(k));
                double v = cell < 0 ? 0 : y->cell[NS_CELL * cell + NS_BERNSTEIN];
                if (!(v > 0))
                    continue;
                volume += v;
                for (int a = 0; a < RP_DIM * RP_DIM; a++)
                    sum[a] += v * row_of(y, cell)[a];
            }
            double *to = row_of(y, block * RP_BLOCK_NODES + l) + RP_DIM * RP_DIM;
            for (int a = 0; a < RP_DIM * RP_DIM; a++)
                to[a] = volume > 0 ? sum[a] / volume : 0;
        }
}

/* The gradient that the stresses see at place t of the cell with these corners. */
static void seen_gradient(const ns_system *y, const int64_t *node, const double *t, double c[3][3])
{
    double sum[RP_DIM * RP_DIM] = { 0 };
    for (int k = 0; k < NS_CORNERS; k++) {
        double n = 1;
        for (int a = 0; a < RP_DIM; a++)
            n *= (k >> a & 1) ? t[a] : 1 - t[a];
        for (int a = 0; a < RP_DIM * RP_DIM; a++)
            sum[a] += n * row_of(y, node[k])[RP_DIM * RP_DIM + a];
    }
    for (int a = 0; a < RP_DIM; a++)
        for (int b = 0; b < RP_DIM; b++)
            c[a][b] = sum[RP_DIM * a + b];
}

/* Friction or cohesion of the material depend on the rate of shear. */
static bool depends_on_rate(const rp_material_def *m)
{
    return m->friction_dynamic >= 0 || (m->cohesion > 0 && m->cohesion_decay > 0);
}

static void limit_gradient(bool shear, double seen[3][3], double c[3][3])
{
    for (int a = 0; a < RP_DIM; a++)
        for (int b = 0; b < RP_DIM; b++) {
            double most = (seen[a][b] > 0 ? NS_MOST : NS_LEAST) * seen[a][b], least = (seen[a][b] > 0 ? NS_LEAST : NS_MOST) * seen[a][b];
            if (a == b)
                c[a][b] = seen[a][b];
            else if (shear)
                c[a][b] = c[a][b] > most ? most : c[a][b] < least ? least : c[a][b];
        }
}

/* F <- (I + dt c) F (I + dt c)^T keeps F positive: dF/dt = grad u F + F grad u^T   [daviet2016, (22)]. */
NS_INLINE void stretch(const job *w, int64_t i, double c[3][3])
{
    double a[3][3], f[3][3], af[3][3];
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++) {
            a[r][s] = (r == s) + w->dt * c[r][s];
            f[r][s] = w->ellipsoid[at[r][s]][i];
        }
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++) {
            af[r][s] = 0;
            for (int k = 0; k < RP_DIM; k++)
                af[r][s] += a[r][k] * f[k][s];
        }
    for (int r = 0; r < RP_DIM; r++)
        for (int s = r; s < RP_DIM; s++) {
            double sum = 0;
            for (int k = 0; k < RP_DIM; k++)
                sum += af[r][k] * a[s][k];
            w->ellipsoid[at[r][s]][i] = sum;
        }
    double kept[6];
    for (int k = 0; k < 6; k++)
        kept[k] = w->ellipsoid[k][i];
    NS(clamp_ellipsoid)(kept, w->size[i] / NS_DRAWN, w->size[i] * NS_DRAWN);
    for (int k = 0; k < 6; k++)
        w->ellipsoid[k][i] = kept[k];
}

/* Shear rate sqrt(2 D':D'), D' the deviator of the strain rate. */
static double shear_rate(double c[3][3])
{
    double trace = 0, sum = 0;
    for (int r = 0; r < RP_DIM; r++)
        trace += c[r][r];
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++) {
            double d = 0.5 * (c[r][s] + c[s][r]) - (r == s ? trace / RP_DIM : 0);
            sum += d * d;
        }
    return sqrt(2 * sum);
}

/* mu(I) = mu_s + (mu_d - mu_s) I / (I_0 + I), I = shear rate · d sqrt(rho / p)   [jop2006], rho of the grains and p of the
 * packed material, phi_max times the pressure of the solid phase; dc/dt = -xi |D| c, |D| half the shear rate. */
static void change_material(const job *w, int64_t i, double c[3][3], double pressure)
{
    const rp__particles *p = w->world->particles;
    const rp_material_def *m = &w->world->materials[p->material[i]];
    double rate = shear_rate(c), mu = rp_material_friction(m, RP_DIM);
    if (m->friction_dynamic >= 0 && rate > 0) {
        double root = pressure > 0 ? sqrt(p->mass[i] / (p->volume[i] * m->volume_fraction * pressure)) : INFINITY;
        double number = rate * m->grain_diameter * root;
        mu += (m->friction_dynamic - mu) * (isinf(number) ? 1 : number / (m->inertial_number + number));
    }
    w->friction[i] = mu;
    w->cohesion[i] *= exp(-0.5 * m->cohesion_decay * rate * w->dt);
}

/* sqrt(D:D). */
static double strain_rate(double c[3][3])
{
    double sum = 0;
    for (int r = 0; r < RP_DIM; r++)
        for (int s = 0; s < RP_DIM; s++)
            sum += 0.25 * (c[r][s] + c[s][r]) * (c[r][s] + c[s][r]);
    return sqrt(sum);
}

/* Looseness s: how much volume may be lost before grains touch. Under pressure they touch, and near rest when something carries them
 * (gravity does not act alone): s = 0.
 * Else s follows the volume of the material, d(1 + s)/dt = (1 + s) div u. */
static void loosen(const job *w, int64_t i, double c[3][3], double pressure, const double *before)
{
    const rp__particles *p = w->world->particles;
    double *s = &w->looseness[i], rate = 0, change = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double dv = p->v[a][i] - before[a];
        change += dv * dv;
        rate += c[a][a];
    }
    if (pressure > w->pressed || (w->y->lattice.h * strain_rate(c) < w->y->slow && change < w->carried * w->carried)) {
        *s = 0;
        return;
    }
    *s = (1 + *s) * (1 + w->dt * rate) - 1;
    *s = *s < 0 ? 0 : *s > NS_LOOSE ? NS_LOOSE : *s;
}

static void keep_inside(const job *w, int64_t i, double *x)
{
    (void)i;
    for (int a = 0; a < RP_DIM; a++) {
        x[a] = x[a] < w->low[a] ? w->low[a] : x[a];
        x[a] = x[a] > w->high[a] ? w->high[a] : x[a];
    }
}

static uint64_t bodies_near(const job *w, int64_t block)
{
    uint64_t near = 0;
    double x[3] = { 0 }, h = w->y->lattice.h;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = w->y->lattice.origin[a] + h * (4.0 * w->y->grid.coord[block][a] + 2);
    for (int k = 0; k < w->world->body_count && k < 64; k++) {
        const rp__body *body = &w->world->bodies[k];
        rp__vec3 n;
        double way = rp__vec3_norm(rp__body_velocity_at(body, rp__vec3_load(x))) * w->dt;
        if (body->present && rp__body_distance(body, &body->pose_next, rp__vec3_load(x), &n) < (2 * sqrt(RP_DIM) + 2) * h + way)
            near |= (uint64_t)1 << k;
    }
    return near;
}

/* Distances of the middle of a cell to the bodies near its block; beyond 64 bodies none is looked at. */
static void cell_distances(const job *w, int64_t block, int cell, uint64_t near, double *distance)
{
    double x[3] = { 0 }, h = w->y->lattice.h;
    for (int a = 0; a < RP_DIM; a++)
        x[a] = w->y->lattice.origin[a] + h * (4.0 * w->y->grid.coord[block][a] + (cell >> 2 * a & 3) + 0.5);
    for (uint64_t bits = near; bits; bits &= bits - 1) {
        const rp__body *body = &w->world->bodies[__builtin_ctzll(bits)];
        distance[__builtin_ctzll(bits)] = rp__body_distance(body, &body->pose_next, rp__vec3_load(x), NULL) -
                                          w->dt * rp__vec3_norm(rp__body_velocity_at(body, rp__vec3_load(x)));
    }
}

/* Those of the bodies near that a particle of the cell may meet on its way: the surface is nearer than half the cell's diagonal and twice the way. */
static uint64_t met(const job *w, int64_t i, const double *x, uint64_t near, const double *distance)
{
    double way = 0;
    uint64_t found = 0;
    for (int a = 0; a < RP_DIM; a++)
        way += (x[a] - w->world->particles->x[a][i]) * (x[a] - w->world->particles->x[a][i]);
    double reach = 2 * sqrt(way) + 0.51 * sqrt(RP_DIM) * w->y->lattice.h;
    for (uint64_t bits = near; bits; bits &= bits - 1)
        if (!(distance[__builtin_ctzll(bits)] > 1.1 * reach))
            found |= bits & -bits;
    return found;
}

/* At the corners of a cell: velocity and pressure; the velocity that carries particles, and the pressure without its alternating part. */
static void load_corners(const job *w, int64_t block, int cell, int64_t *at, ns_four *corner, ns_four *way)
{
    const ns_system *y = w->y;
    int tile = ns_tile_of_local(cell);
    for (int i = 0; i < NS_CORNERS; i++) {
        int64_t node = at[i] = ns_tile_node(y, block, tile + ns_corner(i));
        corner[i] = *(const ns_four *)(y->u + NS_PAD * node);
        way[i] = *(const ns_four *)(w->carrying + NS_PAD * node);
        corner[i][3] = w->pressure[y->stress_cell ? block * RP_BLOCK_NODES + cell : node];
        way[i][3] = w->varied ? w->smooth[y->stress_cell ? block * RP_BLOCK_NODES + cell : node] : 0;
    }
}

static void blocks_to_particles(void *context, int64_t begin, int64_t end, int worker)
{
    const job *w = context;
    const ns_system *y = w->y;
    rp__particles *p = w->world->particles;
    const double inverse_h = 1 / y->lattice.h;
    (void)worker;
    for (int64_t block = begin; block < end; block++) {
        ns_four corner[NS_CORNERS] = { { 0 } }, way[NS_CORNERS] = { { 0 } }, d[3], unused[3];
        uint64_t near = w->world->body_count ? bodies_near(w, block) : 0;
        double distance[64];
        int64_t node[NS_CORNERS] = { 0 };
        int cell = -1;
        for (int64_t i = y->grid.first[block]; i < y->grid.first[block + 1]; i++) {
            double t[3], c[3][3], x[3];
            int at = 0;
            for (int a = 0; a < RP_DIM; a++) {
                double q = rp__lattice_coordinate(&y->lattice, a, p->x[a][i]), base = floor(q);
                t[a] = ns_inside(q - base);
                at |= ((int32_t)base & 3) << 2 * a;
            }
            if (at != cell) {
                load_corners(w, block, cell = at, node, corner, way);
                cell_distances(w, block, cell, near, distance);
            }
            ns_four v = interpolate(corner, t, d), carried = interpolate(way, t, unused);
            double before[3];
            for (int a = 0; a < RP_DIM; a++) {
                before[a] = p->v[a][i];
                p->v[a][i] = v[a];
                x[a] = p->x[a][i] + w->dt * carried[a];
                for (int b = 0; b < RP_DIM; b++)
                    c[a][b] = d[b][a] * inverse_h;
            }
            ns_four known[NS_CORNERS];
            if (own_corners(w, i, node, t, v, corner, known)) {
                interpolate(known, t, d);
                for (int a = 0; a < RP_DIM; a++)
                    for (int b = 0; b < RP_DIM; b++)
                        c[a][b] = d[b][a] * inverse_h;
            }
            loosen(w, i, c, v[3], before);
            double seen[3][3];
            bool touches = w->looseness[i] == 0;
            if (touches) {
                seen_gradient(y, node, t, seen);
                limit_gradient(w->varied && depends_on_rate(&w->world->materials[p->material[i]]), seen, c);
            }
            for (int a = 0; a < RP_DIM; a++)
                for (int b = 0; b < RP_DIM; b++)
                    w->gradient[3 * a + b][i] = c[a][b];
            stretch(w, i, c);
            if (w->varied)
                change_material(w, i, touches ? seen : c, carried[3]);
            if (near)
                ns_push_out(w->world, w->y->lattice.h, i, x, met(w, i, x, near, distance));
            keep_inside(w, i, x);
            for (int a = 0; a < RP_DIM; a++)
                p->x[a][i] = x[a];
        }
    }
}

static bool closed(const rp__world *world, int face)
{
    rp_surface_kind kind = world->def->wall[face].kind;
    return kind != RP_OPEN && kind != RP_PERIODIC;
}

void NS(bounds)(const ns_system *y, const rp__world *world, double *low, double *high)
{
    for (int a = 0; a < RP_DIM; a++) {
        double h = y->lattice.h, size = h * (double)world->cells[a];
        low[a] = closed(world, 2 * a) ? y->lattice.origin[a] + 1e-6 * h : -INFINITY;
        high[a] = closed(world, 2 * a + 1) ? y->lattice.origin[a] + size - 1e-6 * h : INFINITY;
    }
}

void NS(to_particles)(ns_system *y, const rp__world *world, double dt)
{
    const rp__particles *p = world->particles;
    job w = { .y = y, .world = world, .dt = dt, .cell_volume = pow(y->lattice.h, RP_DIM) };
    for (int c = 0; c < 9; c++)
        w.gradient[c] = rp__particles_f64(p, y->first_field + RP__NS_GRADIENT, c);
    for (int c = 0; c < 6; c++)
        w.ellipsoid[c] = rp__particles_f64(p, y->first_field + RP__NS_ELLIPSOID, c);
    w.size = rp__particles_f64(p, y->first_field + RP__NS_SIZE, 0);
    w.friction = rp__particles_f64(p, y->first_field + RP__NS_FRICTION, 0);
    w.cohesion = rp__particles_f64(p, y->first_field + RP__NS_COHESION, 0);
    w.looseness = rp__particles_f64(p, y->first_field + RP__NS_LOOSENESS, 0);
    NS(bounds)(y, world, w.low, w.high);
    /* p = Tr lambda / d, without the cohesion. The sums of friction, cohesion and looseness are used up. */
    for (int64_t i = 0; i < (int64_t)y->grid.blocks * RP_BLOCK_NODES; i++)
        y->friction[i] = y->cohesion[i] = y->loose[i] = 0;
    for (int64_t b = 0; b < y->grid.blocks; b++)
        for (uint64_t bits = y->active[b]; bits; bits &= bits - 1) {
            int64_t i = b * RP_BLOCK_NODES + __builtin_ctzll(bits);
            y->friction[i] = y->cohesion[i] = (y->stress[i].lambda[0] - y->stress[i].cohesion) * NS_TRACE / RP_DIM;
        }
    w.pressure = y->friction;
    w.smooth = y->varied ? NS(smooth)(y, y->cohesion, y->loose, 1, 1) : NULL;
    w.varied = y->varied;
    double undecided = y->params->tolerance * y->stress_scale;
    const double *g = world->def->gravity;
    w.carried = 0.5 * dt * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    w.pressed = NS_PRESSED * y->skin > undecided ? NS_PRESSED * y->skin : undecided;
    rp__exec_for(y->grid.blocks, 4, cell_gradients, &w);
    rp__exec_for(y->grid.blocks, 4, node_gradients, &w);
    w.carrying = NS(calm)(y);
    rp__exec_for(y->grid.blocks, 4, blocks_to_particles, &w);
}
