/* Particles and tiles, included once a type by sweep_kernel_dim.c: REAL, NAME(), WIDTH numbers in a vector register.
 *
 * A tile is the 8^d nodes of a block and its neighbours at +1; a node has four numbers, (m, m v) or (v, 0). No order of the
 * particles inside their block is asked for: each reads and writes its own nodes, and lanes are components and nodes. */

typedef REAL NAME(four) __attribute__((vector_size(4 * sizeof(REAL))));
typedef REAL NAME(any_four) __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef REAL NAME(wide) __attribute__((vector_size(WIDTH * sizeof(REAL))));
typedef REAL NAME(any_wide) __attribute__((vector_size(WIDTH * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
/* Where a register holds eight numbers a node stands in it twice, once for the velocity and once for its slope on x. */
#define PARTS (8 / WIDTH)
#define COPIES (WIDTH / 4)
#define LINE (int)(64 / sizeof(REAL)) /* numbers in a line of the cache */
#define FLOATS (int)(64 / sizeof(float))

/* What the passes work on: the planes of the law, and the velocity gradient c_p in its two parts. */
typedef struct NAME(fields) {
    NAME(planes) law;
    float *rate[6];  /* (c + c^T) / 2: xx yy zz xy xz yz */
    REAL *spin[3];   /* (c - c^T) / 2: yx zx zy */
} NAME(fields);

RP_INLINE NAME(fields) NAME(find_fields)(const rp__elastoplastic_sweep *w)
{
    NAME(fields) f = { .law = NAME(find)(w->step, w->p) };
    for (int k = 0; k < 6; k++)
        f.rate[k] = rp__particles_plane(w->p, w->step->first_field + RP_EP_RATE, k);
    for (int k = 0; k < 3; k++)
        f.spin[k] = rp__particles_plane(w->p, w->step->first_field + RP_EP_SPIN, k);
    return f;
}

typedef struct NAME(batch) {
    _Alignas(64) REAL t[3][BATCH];        /* x - base, in cells */
    _Alignas(64) REAL w[3][4][BATCH];     /* weights */
    _Alignas(64) REAL s[3][4][BATCH];     /* their moments (x_j - x_p) N_j / D   [1/m] */
    _Alignas(64) int32_t start[BATCH];    /* base node in the tile */
} NAME(batch);

/* t and start on one axis; `around`: cells of a periodic one, or 0. */
RP_INLINE int NAME(offsets)(int order, const rp__lattice *lattice, int a, double corner, double around, const double *restrict x,
                            REAL *restrict t, int32_t *restrict start)
{
    double outside = 0, most = 7 - order;
#pragma omp simd reduction(+ : outside)
    for (int l = 0; l < BATCH; l++) {
        double q = rp__lattice_coordinate(lattice, a, x[l]), base = rp__lattice_base(order, q), offset = base - corner;
        if (around > 0) {
            offset = offset < 0 ? offset + around : offset;
            offset = offset > 7 - order ? offset - around : offset;
        }
        double inside = offset >= 0 ? offset : 0;
        inside = inside <= most ? inside : most;
        outside += inside == offset ? 0.0 : 1.0;
        t[l] = (REAL)(q - base);
        start[l] += (int32_t)inside << 3 * a;
    }
    return outside > 0;
}

/* t, w and start; nonzero when a particle is where the tile does not reach (its start is then of no meaning, but in the tile). */
RP_INLINE int NAME(locate)(int order, const rp__elastoplastic_sweep *w, int64_t block, int64_t first, int count,
                               NAME(batch) *restrict b)
{
    const rp__lattice *lattice = &w->g->lattice;
    int outside = 0;
    for (int l = 0; l < BATCH; l++)
        b->start[l] = 0;
    for (int a = 0; a < RP_DIM; a++) {
        double room[BATCH], corner = (double)w->g->coord[block][a] * RP_BLOCK, around = lattice->periodic[a] ? (double)lattice->cells[a] : 0;
        const double *restrict x = w->p->x[a] + first;
        if (count < BATCH) {
            for (int l = 0; l < BATCH; l++)
                room[l] = x[l < count ? l : count - 1];
            x = room;
        }
        REAL *restrict t = b->t[a], (*restrict weight)[BATCH] = b->w[a];
        outside |= around > 0 ? NAME(offsets)(order, lattice, a, corner, around, x, t, b->start)
                              : NAME(offsets)(order, lattice, a, corner, 0, x, t, b->start);
#pragma omp simd
        for (int l = 0; l < BATCH; l++) {
            if (order == 2) {
                REAL c = (REAL)1.5 - t[l], d = t[l] - 1, e = t[l] - (REAL)0.5;
                weight[0][l] = (REAL)0.5 * c * c;
                weight[1][l] = (REAL)0.75 - d * d;
                weight[2][l] = (REAL)0.5 * e * e;
            } else {
                REAL r = t[l] - 1, s = 1 - r;
                weight[0][l] = s * s * s * ((REAL)1 / 6);
                weight[1][l] = (REAL)2 / 3 - r * r * (1 - (REAL)0.5 * r);
                weight[2][l] = (REAL)2 / 3 - s * s * (1 - (REAL)0.5 * s);
                weight[3][l] = r * r * r * ((REAL)1 / 6);
            }
        }
    }
    return outside;
}

/* Asks for the particles of a batch to come: there are more planes than processors follow by themselves. */
RP_INLINE void NAME(look_ahead)(const rp__elastoplastic_sweep *w, const NAME(fields) *f, int64_t first, bool writes)
{
    if (first + BATCH > w->p->count)
        return;
    for (int a = 0; a < RP_DIM; a++)
        for (int l = 0; l < BATCH; l += 8) {
            __builtin_prefetch(w->p->x[a] + first + l, 1, 3);
            __builtin_prefetch(w->p->v[a] + first + l, 1, 3);
        }
    for (int k = 0; k < 6; k++) {
        for (int l = 0; l < BATCH; l += LINE)
            __builtin_prefetch(f->law.strain[k] + first + l, 1, 3);
        for (int l = 0; l < BATCH; l += FLOATS)
            __builtin_prefetch(f->rate[k] + first + l, 1, 3);
    }
    for (int k = 0; k < (RP_DIM == 3 ? 3 : 1); k++)
        for (int l = 0; l < BATCH; l += LINE)
            __builtin_prefetch(f->spin[k] + first + l, 1, 3);
    for (int l = 0; l < BATCH && writes; l += FLOATS) {
        __builtin_prefetch(f->law.hardening + first + l, 1, 3);
        __builtin_prefetch(f->law.gain + first + l, 1, 3);
    }
    for (int l = 0; l < BATCH && !writes; l += 8) {
        __builtin_prefetch(w->p->mass + first + l, 0, 3);
        __builtin_prefetch(w->p->volume + first + l, 0, 3);
    }
}

RP_INLINE void NAME(moments)(int order, double h, NAME(batch) *restrict b)
{
    REAL scale = (REAL)((order == 2 ? 4 : 3) / h);
    for (int a = 0; a < RP_DIM; a++)
        for (int i = 0; i <= order; i++)
#pragma omp simd
            for (int l = 0; l < BATCH; l++)
                b->s[a][i][l] = scale * b->w[a][i][l] * ((REAL)i - b->t[a][l]);
}

/* Four rows to four columns. */
RP_INLINE void NAME(turn)(NAME(four) r[4])
{
    NAME(four) a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6), b = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);
    NAME(four) c = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6), d = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

RP_INLINE NAME(four) NAME(spread)(REAL x)
{
    return (NAME(four)){ x, x, x, x };
}

/* ---- to the grid ---- */

/* What a particle brings: A + i Gx + j Gy + k Gz to node base + (i, j, k), times its weight. A = m (1, v + c (x_base - x_p)),
 * Ga = m h (0, column a of c); planes [component][lane], then by particle. */
typedef struct NAME(cargo) {
    _Alignas(64) REAL a[4][BATCH], g[3][4][BATCH];
    _Alignas(64) REAL pulled[4][BATCH], pull[3][4][BATCH]; /* FLIP: the part of the stress apart */
    _Alignas(64) REAL weight[16][BATCH]; /* w_j w_k at k (order + 1) + j */
    NAME(four) what[BATCH][4];           /* A, Gx, Gy, Gz */
} NAME(cargo);

RP_INLINE void NAME(products)(int order, const NAME(batch) *restrict b, NAME(cargo) *restrict out)
{
    int nodes = order + 1;
    for (int k = 0; k < (RP_DIM == 3 ? nodes : 1); k++)
        for (int j = 0; j < nodes; j++)
#pragma omp simd
            for (int l = 0; l < BATCH; l++)
                out->weight[k * nodes + j][l] = RP_DIM == 3 ? b->w[1][j][l] * b->w[2][k][l] : b->w[1][j][l];
}

/* c_p from its two parts. */
RP_INLINE void NAME(load_gradient)(const NAME(fields) *f, int64_t first, int count, REAL (*restrict c)[3][RP_LANES])
{
    RP_LANES_ALIGNED REAL rate[RP_LANES], spin[RP_LANES];
    for (int i = 0, k = 3; i < RP_DIM; i++) {
        NAME(load_float)(f->rate[i] + first, count, c[i][i]);
        for (int j = i + 1; j < RP_DIM; j++, k++) {
            NAME(load_float)(f->rate[k] + first, count, rate);
            NAME(load)(f->spin[k - 3] + first, count, spin);
            RP_FOR_LANES (l) {
                c[j][i][l] = rate[l] + spin[l];
                c[i][j][l] = rate[l] - spin[l];
            }
        }
    }
}

/* A and G of RP_LANES particles from lane l of the batch on. */
RP_INLINE void NAME(charge)(bool flip, const rp__elastoplastic_sweep *w, const NAME(fields) *f, const NAME(batch) *restrict b, int64_t first,
                                int l0, int count, NAME(cargo) *restrict out)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    NAME(lane_state) s;
    RP_LANES_ALIGNED REAL mass[RP_LANES], v[RP_LANES], c[3][3][RP_LANES];
    REAL h = (REAL)w->g->lattice.h, keep = w->step->keep_affine ? 1 : 0;
    for (int k = 0; k < 6; k++)
        NAME(load)(f->law.strain[k] + first, count, s.strain[k]);
    NAME(load_gradient)(f, first, count, c);
    NAME(pull)(w->step, &f->law, first, count, &s);
    NAME(load_double)(w->p->mass + first, count, mass);
    RP_FOR_LANES (l)
        out->a[0][l0 + l] = mass[l];
    for (int r = 0; r < RP_DIM; r++) {
        NAME(load_double)(w->p->v[r] + first, count, v);
        RP_FOR_LANES (l)
            v[l] = mass[l] * v[l];
        for (int a = 0; a < RP_DIM; a++) {
            const REAL *restrict tau = s.tau[at[r][a]], *restrict t = b->t[a] + l0, *restrict own = c[r][a];
            REAL *restrict g = out->g[a][1 + r] + l0;
            RP_FOR_LANES (l) {
                g[l] = mass[l] * h * (flip ? keep * own[l] : keep * own[l] - tau[l]);
                v[l] -= g[l] * t[l];
            }
        }
        RP_FOR_LANES (l)
            out->a[1 + r][l0 + l] = v[l];
    }
    if (!flip)
        return;
    RP_FOR_LANES (l)
        out->pulled[0][l0 + l] = mass[l];
    for (int r = 0; r < RP_DIM; r++) {
        RP_FOR_LANES (l)
            v[l] = 0;
        for (int a = 0; a < RP_DIM; a++) {
            const REAL *restrict tau = s.tau[at[r][a]], *restrict t = b->t[a] + l0;
            REAL *restrict g = out->pull[a][1 + r] + l0;
            RP_FOR_LANES (l) {
                g[l] = -mass[l] * h * tau[l];
                v[l] -= g[l] * t[l];
            }
        }
        RP_FOR_LANES (l)
            out->pulled[1 + r][l0 + l] = v[l];
    }
}

/* From planes of components to particles. */
RP_INLINE void NAME(line_up)(bool affine, REAL (*a)[BATCH], REAL (*g)[4][BATCH], NAME(cargo) *restrict out)
{
    for (int l = 0; l < BATCH; l += 4)
        for (int n = 0; n < (affine ? 1 + RP_DIM : 1); n++) {
            NAME(four) r[4];
            for (int c = 0; c < 4; c++)
                r[c] = *(const NAME(any_four) *)(n == 0 ? &a[c][l] : &g[n - 1][c][l]);
            NAME(turn)(r);
            for (int k = 0; k < 4; k++)
                out->what[l + k][n] = r[k];
        }
}

#define SPANS(order) (((order) + COPIES) / COPIES) /* registers in a row of nodes */

/* Adds a particle to the tile; with registers of eight a row is rounded up to an even number of nodes, of weight zero. */
RP_INLINE void NAME(add_one)(int order, bool affine, const NAME(batch) *b, const NAME(cargo) *in, int l, REAL *tile)
{
    int nodes = order + 1, spans = SPANS(order);
    REAL *at = tile + 4 * b->start[l];
    const NAME(four) *q = in->what[l];
    NAME(wide) layer[4], dy[4], dz[4];
    for (int i = 0; i < spans; i++) {
#if WIDTH == 8
        NAME(four) left = NAME(spread)(b->w[0][2 * i][l]), right = NAME(spread)(2 * i + 1 < nodes ? b->w[0][2 * i + 1][l] : 0);
        NAME(wide) weight = __builtin_shufflevector(left, right, 0, 1, 2, 3, 4, 5, 6, 7);
        NAME(four) even = affine ? q[0] + (REAL)(2 * i) * q[1] : q[0], odd = affine ? even + q[1] : q[0];
        layer[i] = weight * __builtin_shufflevector(even, odd, 0, 1, 2, 3, 4, 5, 6, 7);
        if (affine) {
            dy[i] = weight * __builtin_shufflevector(q[2], q[2], 0, 1, 2, 3, 0, 1, 2, 3);
            if (RP_DIM == 3)
                dz[i] = weight * __builtin_shufflevector(q[3], q[3], 0, 1, 2, 3, 0, 1, 2, 3);
        }
#else
        REAL weight = b->w[0][i][l];
        layer[i] = weight * (affine ? q[0] + (REAL)i * q[1] : q[0]);
        if (affine) {
            dy[i] = weight * q[2];
            if (RP_DIM == 3)
                dz[i] = weight * q[3];
        }
#endif
    }
    for (int k = 0; k < (RP_DIM == 3 ? nodes : 1); k++) {
        NAME(wide) here[4];
        for (int i = 0; i < spans; i++)
            here[i] = layer[i];
        for (int j = 0; j < nodes; j++) {
            REAL weight = in->weight[k * nodes + j][l];
            REAL *to = at + 4 * ((k * SIDE + j) * SIDE);
            for (int i = 0; i < spans; i++) {
                NAME(any_wide) *sum = (NAME(any_wide) *)(void *)(to + i * WIDTH);
                *sum += weight * here[i];
                if (affine && j + 1 < nodes)
                    here[i] += dy[i];
            }
        }
        for (int i = 0; i < spans && affine && RP_DIM == 3; i++)
            layer[i] += dz[i];
    }
}

/* Adds the tile to the planes of the grid. `plane[0]` is not negative at any node: rows where it is zero brought nothing. */
RP_INLINE void NAME(add_tile)(const rp__grid *g, int64_t block, const REAL *tile, double *const *plane, int first, int planes)
{
    for (int oz = 0; oz < (RP_DIM == 3 ? 2 : 1); oz++)
        for (int oy = 0; oy < 2; oy++)
            for (int ox = 0; ox < 2; ox++) {
                int64_t owner = owner_of(g, block, ox, oy, oz) * RP_BLOCK_NODES;
                for (int k = 0; k < (RP_DIM == 3 ? 4 : 1); k++)
                    for (int j = 0; j < 4; j++) {
                        const NAME(four) *from = (const NAME(four) *)(const void *)tile + ((k + 4 * oz) * SIDE + j + 4 * oy) * SIDE + 4 * ox;
                        NAME(four) r[4] = { from[0], from[1], from[2], from[3] };
                        NAME(turn)(r);
                        if (r[0][0] == 0 && r[0][1] == 0 && r[0][2] == 0 && r[0][3] == 0)
                            continue;
                        int64_t to = owner + (k * 4 + j) * 4;
                        for (int n = 0; n < planes; n++)
                            *(any_four *)(void *)(plane[n] + to) += __builtin_convertvector(r[first + n], any_four);
                    }
            }
}

RP_INLINE void NAME(scatter_block)(int order, bool flip, const rp__elastoplastic_sweep *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1];
    w->left[block] = 0;
    if (first == last)
        return;
    _Alignas(64) REAL tile[4 * (TILE + 4)], apart[4 * (TILE + 4)];
    NAME(batch) b;
    NAME(cargo) in;
    NAME(fields) f = NAME(find_fields)(w);
    int outside = 0;
    memset(tile, 0, sizeof tile);
    if (flip)
        memset(apart, 0, sizeof apart);
    memset(&in, 0, sizeof in);
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        NAME(look_ahead)(w, &f, first + AHEAD * BATCH, false);
        outside |= NAME(locate)(order, w, block, first, count, &b);
        for (int l = 0; l < count; l += RP_LANES)
            NAME(charge)(flip, w, &f, &b, first + l, l, count - l < RP_LANES ? count - l : RP_LANES, &in);
        NAME(products)(order, &b, &in);
        NAME(line_up)(true, in.a, in.g, &in);
        for (int l = 0; l < count; l++)
            NAME(add_one)(order, true, &b, &in, l, tile);
        if (flip) {
            NAME(line_up)(true, in.pulled, in.pull, &in);
            for (int l = 0; l < count; l++)
                NAME(add_one)(order, true, &b, &in, l, apart);
        }
    }
    w->left[block] = outside != 0;
    double *const plane[4] = { w->mass, w->velocity[0], w->velocity[1], w->velocity[2] };
    double *const was[4] = { w->mass, w->before[0], w->before[1], w->before[2] };
    NAME(add_tile)(w->g, block, tile, flip ? was : plane, 0, 1 + RP_DIM);
    if (flip)
        NAME(add_tile)(w->g, block, apart, w->velocity, 1, RP_DIM);
}

/* ---- to the particles ---- */

/* The nodes around a block from up to three planes. */
RP_INLINE void NAME(read_tile)(const rp__grid *g, int64_t block, double *const *plane, int planes, NAME(wide) *tile)
{
    for (int oz = 0; oz < (RP_DIM == 3 ? 2 : 1); oz++)
        for (int oy = 0; oy < 2; oy++)
            for (int ox = 0; ox < 2; ox++) {
                int64_t owner = owner_of(g, block, ox, oy, oz) * RP_BLOCK_NODES;
                for (int k = 0; k < (RP_DIM == 3 ? 4 : 1); k++)
                    for (int j = 0; j < 4; j++) {
                        NAME(wide) *to = tile + ((k + 4 * oz) * SIDE + j + 4 * oy) * SIDE + 4 * ox;
                        int64_t from = owner + (k * 4 + j) * 4;
                        NAME(four) r[4] = { { 0 } };
                        for (int n = 0; n < planes; n++)
                            r[n] = __builtin_convertvector(*(const any_four *)(const void *)(plane[n] + from), NAME(four));
                        NAME(turn)(r);
                        for (int i = 0; i < 4; i++)
#if WIDTH == 8
                            to[i] = __builtin_shufflevector(r[i], r[i], 0, 1, 2, 3, 0, 1, 2, 3);
#else
                            to[i] = r[i];
#endif
                    }
            }
}

/* out[0] = sum_j N_j u_j, out[1 + s] = sum_j S_j,s u_j with the moments S: sums over x, y, z, nested. */
RP_INLINE void NAME(read_one)(int order, const NAME(batch) *b, int l, const NAME(wide) *tile, NAME(four) out[4])
{
    int nodes = order + 1;
    const NAME(wide) *at = tile + b->start[l];
    NAME(wide) wx[4][PARTS], v[PARTS] = { { 0 } }, vy = { 0 }, vz = { 0 };
    for (int i = 0; i < nodes; i++) {
        NAME(four) weight = NAME(spread)(b->w[0][i][l]), moment = NAME(spread)(b->s[0][i][l]);
#if WIDTH == 8
        wx[i][0] = __builtin_shufflevector(weight, moment, 0, 1, 2, 3, 4, 5, 6, 7);
#else
        wx[i][0] = weight;
        wx[i][1] = moment;
#endif
    }
    for (int k = 0; k < (RP_DIM == 3 ? nodes : 1); k++) {
        NAME(wide) layer[PARTS] = { { 0 } }, layer_y = { 0 };
        for (int j = 0; j < nodes; j++) {
            const NAME(wide) *u = at + (k * SIDE + j) * SIDE;
            NAME(wide) row[PARTS];
            for (int q = 0; q < PARTS; q++) {
                row[q] = u[0] * wx[0][q];
                for (int i = 1; i < nodes; i++)
                    row[q] += u[i] * wx[i][q];
                layer[q] += b->w[1][j][l] * row[q];
            }
            layer_y += b->s[1][j][l] * row[0];
        }
        for (int q = 0; q < PARTS; q++)
            v[q] = RP_DIM == 3 ? v[q] + b->w[2][k][l] * layer[q] : layer[q];
        vy = RP_DIM == 3 ? vy + b->w[2][k][l] * layer_y : layer_y;
        if (RP_DIM == 3)
            vz += b->s[2][k][l] * layer[0];
    }
#if WIDTH == 8
    out[0] = __builtin_shufflevector(v[0], v[0], 0, 1, 2, 3);
    out[1] = __builtin_shufflevector(v[0], v[0], 4, 5, 6, 7);
    out[2] = __builtin_shufflevector(vy, vy, 0, 1, 2, 3);
    out[3] = __builtin_shufflevector(vz, vz, 0, 1, 2, 3);
#else
    out[0] = v[0], out[1] = v[1], out[2] = vy, out[3] = vz;
#endif
}

/* sum_j N_j u_j alone. */
RP_INLINE NAME(four) NAME(read_value)(int order, const NAME(batch) *b, int l, const NAME(wide) *tile)
{
    int nodes = order + 1;
    const NAME(wide) *at = tile + b->start[l];
    NAME(four) v = { 0 };
    for (int k = 0; k < (RP_DIM == 3 ? nodes : 1); k++) {
        NAME(four) layer = { 0 };
        for (int j = 0; j < nodes; j++) {
            NAME(four) row = { 0 };
            for (int i = 0; i < nodes; i++)
                row += b->w[0][i][l] * *(const NAME(any_four) *)(const void *)(at + (k * SIDE + j) * SIDE + i);
            layer += b->w[1][j][l] * row;
        }
        v = RP_DIM == 3 ? v + b->w[2][k][l] * layer : layer;
    }
    return v;
}

/* The velocity that moves a particle, and its own: v <- u + flip (v - u_before). */
RP_INLINE void NAME(store_flip)(const rp__elastoplastic_sweep *w, int64_t first, int count, NAME(four) (*restrict read)[4],
                                NAME(four) *restrict was)
{
    for (int c = 0; c < RP_DIM; c++) {
        double *restrict v = w->p->v[c] + first, *restrict moving = w->moving[c] + first;
        for (int l = 0; l < count; l++) {
            moving[l] = (double)read[l][0][c];
            v[l] = moving[l] + w->flip * (v[l] - (double)was[l][c]);
        }
    }
}

/* Where the velocities and gradients of a batch are put in planes, v[component] and c[column][row]. */
typedef struct NAME(motion) {
    _Alignas(64) REAL v[4][BATCH], c[RP_DIM][4][BATCH];
} NAME(motion);

RP_INLINE void NAME(sort_out)(NAME(four) (*restrict read)[4], NAME(motion) *restrict out)
{
    for (int l = 0; l < BATCH; l += 4)
        for (int n = 0; n < 1 + RP_DIM; n++) {
            NAME(four) r[4] = { read[l][n], read[l + 1][n], read[l + 2][n], read[l + 3][n] };
            NAME(turn)(r);
            for (int c = 0; c < RP_DIM; c++)
                *(NAME(any_four) *)(n == 0 ? &out->v[c][l] : &out->c[n - 1][c][l]) = r[c];
        }
}

/* to[l] = expression of l, for a whole batch or a part of one. */
#define STORE_BATCH(to, type, ...)                 \
    do {                                           \
        type *restrict put = (to);                 \
        if (count == BATCH) {                      \
            RP_SIMD                                \
            for (int l = 0; l < BATCH; l++)        \
                put[l] = (type)(__VA_ARGS__);      \
        } else                                     \
            for (int l = 0; l < count; l++)        \
                put[l] = (type)(__VA_ARGS__);      \
    } while (0)

/* Velocities and gradients of a batch. */
RP_INLINE void NAME(store_motion)(bool flip, const rp__elastoplastic_sweep *w, const NAME(fields) *f, int64_t first, int count,
                                  const NAME(motion) *restrict m)
{
    static const int row[6] = { 0, 1, 2, 1, 2, 2 }, column[6] = { 0, 1, 2, 0, 0, 1 };
    for (int c = 0; c < RP_DIM && !flip; c++)
        STORE_BATCH(w->p->v[c] + first, double, m->v[c][l]);
    for (int k = 0; k < 6; k++) {
        if (row[k] >= RP_DIM)
            continue;
        const REAL *restrict low = m->c[column[k]][row[k]], *restrict high = m->c[row[k]][column[k]];
        STORE_BATCH(f->rate[k] + first, float, (REAL)0.5 * (low[l] + high[l]));
        if (k >= 3)
            STORE_BATCH(f->spin[k - 3] + first, REAL, (REAL)0.5 * (low[l] - high[l]));
    }
}
#undef STORE_BATCH

/* The strains of a batch, from gradients that have not been rounded to their storage. */
RP_INLINE void NAME(strain_batch)(const rp__elastoplastic_sweep *w, const NAME(fields) *f, int64_t first, int count,
                                  const NAME(motion) *restrict m)
{
    NAME(lane_state) s;
    RP_LANES_ALIGNED REAL g[3][3][RP_LANES] = { { { 0 } } }, dt = (REAL)w->step->dt;
    for (int l0 = 0; l0 < count; l0 += RP_LANES) {
        int lanes = count - l0 < RP_LANES ? count - l0 : RP_LANES;
        for (int i = 0; i < RP_DIM; i++)
            for (int j = 0; j < RP_DIM; j++) {
                RP_FOR_LANES (l)
                    g[i][j][l] = dt * m->c[j][i][l0 + l];
                for (int l = lanes; l < RP_LANES; l++)
                    g[i][j][l] = 0;
            }
        NAME(advance)(w->step, &f->law, first + l0, lanes, g, &s);
        NAME(store_strain)(&f->law, first + l0, lanes, &s);
    }
}

RP_INLINE void NAME(gather_block)(int order, bool flip, const rp__elastoplastic_sweep *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1], all = first;
    w->left[block] = 0;
    if (first == last)
        return;
    _Alignas(64) NAME(wide) tile[TILE + 4], old[TILE + 4];
    NAME(four) read[BATCH][4], was[BATCH];
    NAME(batch) b;
    NAME(motion) m;
    NAME(fields) f = NAME(find_fields)(w);
    NAME(read_tile)(w->g, block, w->velocity, RP_DIM, tile);
    if (flip)
        NAME(read_tile)(w->g, block, w->before, RP_DIM, old);
    memset(read, 0, sizeof read);
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        NAME(look_ahead)(w, &f, first + AHEAD * BATCH, true);
        NAME(locate)(order, w, block, first, count, &b);
        NAME(moments)(order, w->g->lattice.h, &b);
        for (int l = 0; l < count; l++)
            NAME(read_one)(order, &b, l, tile, read[l]);
        if (flip) {
            for (int l = 0; l < count; l++)
                was[l] = NAME(read_value)(order, &b, l, old);
            NAME(store_flip)(w, first, count, read, was);
        }
        NAME(sort_out)(read, &m);
        NAME(store_motion)(flip, w, &f, first, count, &m);
        NAME(strain_batch)(w, &f, first, count, &m);
        if (!w->move)
            w->left[block] |= move_freely(order, w, block, first, first + count);
    }
    if (w->move)
        w->move(w->context, block, all, last);
}

/* ---- volumes ---- */

RP_INLINE void NAME(volumes_to_grid)(int order, const rp__elastoplastic_sweep *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1];
    if (first == last)
        return;
    _Alignas(64) REAL tile[4 * (TILE + 4)];
    NAME(batch) b;
    NAME(cargo) in;
    rp__elastoplastic_volumes v = rp__elastoplastic_find_volumes(w->step, w->p);
    memset(tile, 0, sizeof tile);
    memset(&in, 0, sizeof in);
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        NAME(locate)(order, w, block, first, count, &b);
        for (int l = 0; l < count; l++) {
            double mass = w->p->mass[first + l];
            in.a[0][l] = (REAL)mass;
            in.a[1][l] = (REAL)(mass * rp__elastoplastic_theta(&v, first + l));
            in.a[2][l] = (REAL)(mass * rp__elastoplastic_gain(&v, first + l));
        }
        NAME(products)(order, &b, &in);
        NAME(line_up)(false, in.a, in.g, &in);
        for (int l = 0; l < count; l++)
            NAME(add_one)(order, false, &b, &in, l, tile);
    }
    NAME(add_tile)(w->g, block, tile, w->value, 1, 2);
}

RP_INLINE void NAME(volumes_to_particles)(int order, const rp__elastoplastic_sweep *w, int64_t block)
{
    int64_t first = w->g->first[block], last = w->g->first[block + 1];
    if (first == last)
        return;
    _Alignas(64) NAME(wide) tile[TILE + 4];
    NAME(batch) b;
    NAME(four) read[4];
    rp__elastoplastic_volumes v = rp__elastoplastic_find_volumes(w->step, w->p);
    NAME(read_tile)(w->g, block, w->value, 4, tile);
    for (int k = 0; k < 6; k++)
        v.rate[k] = rp__particles_plane(w->p, w->step->first_field + RP_EP_RATE, k);
    /* What a particle sees of itself, sum_j N_j² of its mass (11/20 and 151/315 an axis in the mean), is left out: it says nothing of the
     * packing around it, and where there are four particles a cell it is 8 %. */
    double h = w->g->lattice.h, cell = RP_DIM == 3 ? h * h * h : h * h, axis = order == 2 ? 11.0 / 20 : 151.0 / 315;
    double own = RP_DIM == 3 ? axis * axis * axis : axis * axis;
    for (; first < last; first += BATCH) {
        int count = last - first < BATCH ? (int)(last - first) : BATCH;
        NAME(locate)(order, w, block, first, count, &b);
        memset(b.s, 0, sizeof b.s);
        for (int l = 0; l < count; l++) {
            NAME(read_one)(order, &b, l, tile, read);
            double others = fmax(1e-300, (double)read[0][2] - own * w->p->mass[first + l]), room = cell * (double)read[0][3];
            rp__elastoplastic_settle(&v, first + l,
                                     &(rp__elastoplastic_around){ (double)read[0][0], (double)read[0][1], others / fmax(room, 1e-300),
                                                                  w->relax, w->since });
        }
    }
}

#undef REAL
#undef NAME
#undef WIDTH
#undef PARTS
#undef COPIES
#undef LINE
#undef FLOATS
#undef SPANS
