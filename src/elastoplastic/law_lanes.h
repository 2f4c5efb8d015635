/* The law on RP_LANES particles at once, included once a type by law_kernel.c: REAL, NAME(), EIGEN, TINY, and the bound SMALL
 * with the terms of the series that are exact to rounding below it.
 *
 * Strains are small beside 1, so everything is written on b - I = expm1(2 e), which keeps their relative accuracy:
 *     B' = B + G + G^T + G G^T + G B + B G^T + G B G^T,   G = dt grad v,   B = b - I. */

/* out = a b of two symmetric matrices that commute; storage xx yy zz xy xz yz. */
static inline void NAME(product)(REAL (*a)[RP_LANES], REAL (*b)[RP_LANES], REAL (*restrict out)[RP_LANES])
{
    RP_FOR_LANES (l) {
        out[0][l] = a[0][l] * b[0][l] + a[3][l] * b[3][l] + a[4][l] * b[4][l];
        out[1][l] = a[3][l] * b[3][l] + a[1][l] * b[1][l] + a[5][l] * b[5][l];
        out[2][l] = a[4][l] * b[4][l] + a[5][l] * b[5][l] + a[2][l] * b[2][l];
        out[3][l] = a[0][l] * b[3][l] + a[3][l] * b[1][l] + a[4][l] * b[5][l];
        out[4][l] = a[0][l] * b[4][l] + a[3][l] * b[5][l] + a[4][l] * b[2][l];
        out[5][l] = a[3][l] * b[4][l] + a[1][l] * b[5][l] + a[5][l] * b[2][l];
    }
}

/* out = exp(2 e) - I: Taylor's polynomial of 2 e / 2^s, then s times E <- 2 E + E². */
static inline void NAME(expm1_twice)(REAL (*restrict e)[RP_LANES], REAL (*restrict out)[RP_LANES])
{
    enum { SQUARINGS = 3, DEGREE = 9 };
    RP_LANES_ALIGNED REAL a[6][RP_LANES], square[6][RP_LANES];
    for (int k = 0; k < 6; k++)
        RP_FOR_LANES (l) {
            a[k][l] = e[k][l] * ((REAL)2 / (1 << SQUARINGS));
            out[k][l] = a[k][l] / DEGREE;
        }
    for (int n = DEGREE - 1; n >= 1; n--) {
        NAME(product)(a, out, square);
        for (int k = 0; k < 6; k++)
            RP_FOR_LANES (l)
                out[k][l] = (a[k][l] + square[k][l]) * ((REAL)1 / (REAL)n);
    }
    for (int s = 0; s < SQUARINGS; s++) {
        NAME(product)(out, out, square);
        for (int k = 0; k < 6; k++)
            RP_FOR_LANES (l)
                out[k][l] = 2 * out[k][l] + square[k][l];
    }
}

/* Half of log(1 + x), x > -1: with s = x / (2 + x), log(1 + x) = 2 atanh(s); powers of two are taken out of 1 + x first
 * when it lies outside [0.7, 1.42]. */
static inline void NAME(half_log1p)(REAL *restrict x, REAL *restrict out)
{
    RP_FOR_LANES (l) {
        REAL v = x[l], power = 0;
        for (int k = 8; k >= 1; k /= 2) { /* leaves 1 + v in [1/sqrt 2, sqrt 2) */
            REAL up = (REAL)(1 << k), y = 1 + v, bound = (REAL)0.70710678118654752 * up;
            REAL large = y >= bound ? (REAL)1 : (REAL)0, small = y * bound < 1 ? (REAL)1 : (REAL)0;
            v = large > 0 ? y / up - 1 : small > 0 ? y * up - 1 : v;
            power += (REAL)k * (large - small);
        }
        REAL s = v / (2 + v), z = s * s;
        REAL series = (REAL)1 / 21;
        series = series * z + (REAL)1 / 19;
        series = series * z + (REAL)1 / 17;
        series = series * z + (REAL)1 / 15;
        series = series * z + (REAL)1 / 13;
        series = series * z + (REAL)1 / 11;
        series = series * z + (REAL)1 / 9;
        series = series * z + (REAL)1 / 7;
        series = series * z + (REAL)1 / 5;
        series = series * z + (REAL)1 / 3;
        out[l] = s + s * z * series + power * (REAL)0.34657359027997265;
    }
}

/* trial = (I + G)(I + B)(I + G)^T - I; g[row][column]. */
static inline void NAME(trial)(REAL (*restrict g)[3][RP_LANES], REAL (*restrict b)[RP_LANES], REAL (*restrict out)[RP_LANES])
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    RP_LANES_ALIGNED REAL gb[3][3][RP_LANES]; /* G + G B */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            RP_FOR_LANES (l)
                gb[i][j][l] = g[i][j][l] + g[i][0][l] * b[at[0][j]][l] + g[i][1][l] * b[at[1][j]][l] + g[i][2][l] * b[at[2][j]][l];
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    for (int k = 0; k < 6; k++) {
        int i = row[k], j = column[k];
        RP_FOR_LANES (l)
            out[k][l] = b[k][l] + gb[i][j][l] + gb[j][i][l] + gb[i][0][l] * g[j][0][l] + gb[i][1][l] * g[j][1][l] +
                        gb[i][2][l] * g[j][2][l];
    }
}

/* The plane's eigen-decomposition for 2D, by one rotation; the third axis is left alone with value 0. */
static inline void NAME(eigen_plane)(REAL (*restrict s)[RP_LANES], REAL (*restrict values)[RP_LANES],
                                     REAL (*restrict v)[3][RP_LANES])
{
    RP_FOR_LANES (l) {
        REAL c = s[3][l], d = (s[1][l] - s[0][l]) / 2;
        REAL t = c / (ABS(d) + SQRT(d * d + c * c) + TINY);
        t = d < 0 ? -t : t;
        REAL cosine = 1 / SQRT(1 + t * t), sine = t * cosine;
        values[0][l] = s[0][l] - t * c;
        values[1][l] = s[1][l] + t * c;
        values[2][l] = 0;
        v[0][0][l] = cosine, v[0][1][l] = sine, v[0][2][l] = 0;
        v[1][0][l] = -sine, v[1][1][l] = cosine, v[1][2][l] = 0;
        v[2][0][l] = 0, v[2][1][l] = 0, v[2][2][l] = 1;
    }
}

/* ---- small strains: no principal directions ---- */

/* out = sum_n coefficient[n - 1] a^n, n = 1 … terms. A matrix satisfies its characteristic equation,
 *     a³ = I1 a² - I2 a + I3 I,
 * so Horner's scheme on x a² + y a + z I takes three numbers a term. */
static inline void NAME(series)(REAL (*restrict a)[RP_LANES], const REAL *restrict coefficient, int terms,
                                REAL (*restrict out)[RP_LANES])
{
    RP_FOR_LANES (l) {
        REAL xx = a[0][l], yy = a[1][l], zz = a[2][l], xy = a[3][l], xz = a[4][l], yz = a[5][l];
        REAL cxx = yy * zz - yz * yz, cxy = xz * yz - xy * zz, cxz = xy * yz - yy * xz; /* cofactors */
        REAL one = xx + yy + zz, two = cxx + xx * zz - xz * xz + xx * yy - xy * xy, three = xx * cxx + xy * cxy + xz * cxz;
        REAL x = 0, y = 0, z = coefficient[terms - 1];
        for (int n = terms - 2; n >= 0; n--) {
            REAL next = x * one + y;
            y = z - x * two;
            z = x * three + coefficient[n];
            x = next;
        }
        REAL square = x * one + y, linear = z - x * two, constant = x * three;
        out[0][l] = square * (xx * xx + xy * xy + xz * xz) + linear * xx + constant;
        out[1][l] = square * (xy * xy + yy * yy + yz * yz) + linear * yy + constant;
        out[2][l] = square * (xz * xz + yz * yz + zz * zz) + linear * zz + constant;
        out[3][l] = square * (xx * xy + xy * yy + xz * yz) + linear * xy;
        out[4][l] = square * (xx * xz + xy * yz + xz * zz) + linear * xz;
        out[5][l] = square * (xy * xz + yy * yz + yz * zz) + linear * yz;
    }
}

/* out = exp(2 e) - I for ||2 e|| <= SMALL. */
static inline void NAME(expm1_small)(REAL (*restrict e)[RP_LANES], REAL (*restrict out)[RP_LANES])
{
    static const REAL coefficient[] = { (REAL)2, (REAL)2, (REAL)4 / 3, (REAL)2 / 3, (REAL)4 / 15, (REAL)4 / 45, (REAL)8 / 315,
                                        (REAL)2 / 315, (REAL)4 / 2835, (REAL)4 / 14175 }; /* 2^n / n! */
    NAME(series)(e, coefficient, EXP_TERMS, out);
}

/* out = log(I + b) / 2 for ||b|| <= SMALL. */
static inline void NAME(half_log_small)(REAL (*restrict b)[RP_LANES], REAL (*restrict out)[RP_LANES])
{
    static const REAL coefficient[] = { (REAL)0.5, (REAL)-1 / 4, (REAL)1 / 6, (REAL)-1 / 8, (REAL)0.1, (REAL)-1 / 12, (REAL)1 / 14,
                                        (REAL)-1 / 16, (REAL)1 / 18, (REAL)-1 / 20, (REAL)1 / 22, (REAL)-1 / 24, (REAL)1 / 26,
                                        (REAL)-1 / 28, (REAL)1 / 30, (REAL)-1 / 32 };
    NAME(series)(b, coefficient, LOG_TERMS, out);
}

/* The largest Frobenius norm of the lanes is at most `bound`. */
static inline bool NAME(within)(REAL (*restrict s)[RP_LANES], REAL bound)
{
    int beyond = 0;
#pragma omp simd reduction(| : beyond)
    for (int l = 0; l < RP_LANES; l++) {
        REAL norm = s[0][l] * s[0][l] + s[1][l] * s[1][l] + s[2][l] * s[2][l] +
                    2 * (s[3][l] * s[3][l] + s[4][l] * s[4][l] + s[5][l] * s[5][l]);
        beyond |= !(norm <= bound * bound); /* NaN too */
    }
    return beyond == 0;
}

/* The law's numbers of each lane. */
typedef struct NAME(lane_law) {
    RP_LANES_ALIGNED REAL cone[RP_LANES], stiffness[RP_LANES], yields[RP_LANES], tip[RP_LANES], apex[RP_LANES], q[RP_LANES], gain[RP_LANES];
} NAME(lane_law);

/* The three cases of the projection, without branches   [klar2016, §7.1]: tensors keep their directions, so trace and norm of
 * the deviator are all it needs. */
static inline void NAME(project)(int dim, REAL correct, NAME(lane_law) *restrict w, REAL (*restrict e)[RP_LANES])
{
    RP_FOR_LANES (l) {
        REAL yields = w->yields[l], part = correct * w->gain[l] * yields / (REAL)dim;
        REAL a = e[0][l] + part, b = e[1][l] + part, c = dim == 3 ? e[2][l] + part : 0;
        REAL trace = a + b + c, mean = trace / (REAL)dim;
        REAL da = a - mean, db = b - mean, dc = dim == 3 ? c - mean : 0;
        REAL off = e[3][l] * e[3][l] + e[4][l] * e[4][l] + e[5][l] * e[5][l];
        REAL norm = SQRT(da * da + db * db + dc * dc + 2 * off), over = trace - w->tip[l], pull = w->tip[l] / (REAL)dim;
        REAL below = over < 0 ? over : 0, radius = w->stiffness[l] * w->cone[l] * SQRT(below * below + w->apex[l] * w->apex[l]);
        REAL excess = norm > radius ? norm - radius : 0, lost = over - part * (REAL)dim, whole = SQRT(excess * excess + lost * lost / (REAL)dim);
        REAL tension = over >= 0 ? (REAL)1 : (REAL)0, level = over >= 0 ? pull : mean;
        REAL stays = yields > 0 ? 1 - excess / (norm + TINY) : (REAL)1;
        e[0][l] = yields > 0 ? level + stays * da : e[0][l];
        e[1][l] = yields > 0 ? level + stays * db : e[1][l];
        e[2][l] = yields > 0 ? (dim == 3 ? level : 0) + stays * dc : e[2][l];
        e[3][l] *= stays;
        e[4][l] *= stays;
        e[5][l] *= stays;
        w->q[l] += yields * (tension > 0 ? whole : excess);
        w->gain[l] = yields * tension * over;
    }
}

/* strain = V diag(e) V^T */
static inline void NAME(compose)(REAL (*restrict e)[RP_LANES], REAL (*restrict v)[3][RP_LANES], REAL (*restrict strain)[RP_LANES])
{
    static const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
    for (int k = 0; k < 6; k++)
        RP_FOR_LANES (l)
            strain[k][l] = e[0][l] * v[row[k]][0][l] * v[column[k]][0][l] + e[1][l] * v[row[k]][1][l] * v[column[k]][1][l] +
                           e[2][l] * v[row[k]][2][l] * v[column[k]][2][l];
}

/* The trial strain log((I + G) exp(2 e) (I + G)^T) / 2. */
static inline void NAME(deform)(int dim, REAL (*restrict g)[3][RP_LANES], REAL (*restrict strain)[RP_LANES])
{
    RP_LANES_ALIGNED REAL b[6][RP_LANES], after[6][RP_LANES], values[3][RP_LANES], e[3][RP_LANES], v[3][3][RP_LANES];
    if (NAME(within)(strain, SMALL / 2))
        NAME(expm1_small)(strain, b);
    else
        NAME(expm1_twice)(strain, b);
    NAME(trial)(g, b, after);
    if (NAME(within)(after, SMALL)) {
        NAME(half_log_small)(after, strain);
        return;
    }
    if (dim == 3)
        EIGEN(after, values, v);
    else
        NAME(eigen_plane)(after, values, v);
    for (int k = 0; k < 3; k++) {
        RP_FOR_LANES (l)
            values[k][l] = values[k][l] > (REAL)-0.9999 ? values[k][l] : (REAL)-0.9999;
        NAME(half_log1p)(values[k], e[k]);
    }
    NAME(compose)(e, v, strain);
}

/* ---- particles ---- */

/* The planes the law works on. */
typedef struct NAME(planes) {
    REAL *strain[6];
    float *hardening, *gain;
    double *c[3][3]; /* implicit steps: the velocity gradient */
    const double *volume, *mass;
    const int32_t *material;
} NAME(planes);

static inline NAME(planes) NAME(find)(const rp__elastoplastic_step *step, const rp__particles *p)
{
    NAME(planes) f = { .volume = p->volume, .mass = p->mass, .material = p->material };
    for (int k = 0; k < 6; k++)
        f.strain[k] = rp__particles_plane(p, step->first_field + RP_EP_STRAIN, k);
    f.hardening = rp__particles_plane(p, step->first_field + RP_EP_HARDENING, 0);
    f.gain = rp__particles_plane(p, step->first_field + RP_EP_VOLUME_GAIN, 0);
    return f;
}

/* Implicit steps: with the gradient. */
static inline NAME(planes) NAME(find_all)(const rp__elastoplastic_step *step, const rp__particles *p)
{
    NAME(planes) f = NAME(find)(step, p);
    for (int k = 0; k < 9; k++)
        f.c[k / 3][k % 3] = rp__particles_plane(p, step->first_field + RP_EP_GRADIENT, k);
    return f;
}

/* Numbers of a plane to lanes and back; what is not there is 0. */
#define LOAD(name, type)                                                                      \
    static inline void NAME(name)(const type *restrict from, int count, REAL *restrict out)   \
    {                                                                                         \
        if (count == RP_LANES) {                                                              \
            RP_FOR_LANES (l)                                                                  \
                out[l] = (REAL)from[l];                                                       \
            return;                                                                           \
        }                                                                                     \
        for (int l = 0; l < RP_LANES; l++)                                                    \
            out[l] = l < count ? (REAL)from[l] : 0;                                           \
    }
#define STORE(name, type)                                                                     \
    static inline void NAME(name)(type *restrict to, int count, const REAL *restrict in)      \
    {                                                                                         \
        if (count == RP_LANES) {                                                              \
            RP_FOR_LANES (l)                                                                  \
                to[l] = (type)in[l];                                                          \
            return;                                                                           \
        }                                                                                     \
        for (int l = 0; l < count; l++)                                                       \
            to[l] = (type)in[l];                                                              \
    }
LOAD(load, REAL)
LOAD(load_float, float)
LOAD(load_double, double)
STORE(store, REAL)
STORE(store_float, float)
#undef LOAD
#undef STORE

/* The law of all lanes, when they have one. */
static inline const rp__elastoplastic_law *NAME(common_law)(const rp__elastoplastic_step *step, const NAME(planes) *f, int64_t first,
                                                            int count)
{
    const int32_t *material = f->material + first;
    int32_t differs = 0;
    for (int l = 1; l < count; l++)
        differs |= material[l] ^ material[0];
    return differs ? NULL : &step->laws[material[0]];
}

/* What the particles of the lanes carry. */
typedef struct NAME(lane_state) {
    RP_LANES_ALIGNED REAL strain[6][RP_LANES], tau[6][RP_LANES];
    NAME(lane_law) w;
} NAME(lane_state);

/* The norm of the symmetric part of g. */
static inline void NAME(measure)(REAL (*restrict g)[3][RP_LANES], REAL *restrict size)
{
    RP_FOR_LANES (l) {
        REAL xy = g[0][1][l] + g[1][0][l], xz = g[0][2][l] + g[2][0][l], yz = g[1][2][l] + g[2][1][l];
        size[l] = SQRT(g[0][0][l] * g[0][0][l] + g[1][1][l] * g[1][1][l] + g[2][2][l] * g[2][2][l] + (xy * xy + xz * xz + yz * yz) / 2);
    }
}

/* Strain, hardening and gain after the step, from those before and g = dt grad v. */
static inline void NAME(advance)(const rp__elastoplastic_step *step, const NAME(planes) *f, int64_t first, int count,
                                 REAL (*restrict g)[3][RP_LANES], NAME(lane_state) *restrict s)
{
    RP_LANES_ALIGNED REAL size[RP_LANES];
    for (int k = 0; k < 6; k++)
        NAME(load)(f->strain[k] + first, count, s->strain[k]);
    NAME(load_float)(f->hardening + first, count, s->w.q);
    NAME(load_float)(f->gain + first, count, s->w.gain);
    const rp__elastoplastic_law *common = NAME(common_law)(step, f, first, count);
    NAME(measure)(g, size);
    if (common && !common->varies) {
        REAL cone = (REAL)common->cone, stiffness = (REAL)common->stiffness, yields = common->elastic ? (REAL)0 : (REAL)1;
        REAL tip = (REAL)common->tip, apex = (REAL)common->apex, moving = (REAL)common->moving;
        RP_FOR_LANES (l) {
            REAL rest = 1 - size[l] * moving, gain = s->w.gain[l];
            s->w.cone[l] = cone;
            s->w.stiffness[l] = stiffness;
            s->w.yields[l] = yields;
            s->w.tip[l] = gain <= (REAL)RP_EP_BONDED ? tip : 0;
            s->w.apex[l] = gain <= (REAL)RP_EP_TOUCHING && rest > 0 ? apex * rest : 0;
        }
    }
    for (int l = 0; l < RP_LANES && !(common && !common->varies); l++) {
        const rp__elastoplastic_law *law = &step->laws[f->material[first + (l < count ? l : 0)]];
        s->w.cone[l] = (REAL)rp__elastoplastic_cone(law, (double)s->w.q[l]);
        s->w.stiffness[l] = (REAL)law->stiffness;
        s->w.yields[l] = law->elastic ? (REAL)0 : (REAL)1;
        s->w.tip[l] = (REAL)rp__elastoplastic_tip(law, (double)s->w.q[l], (double)s->w.gain[l]);
        s->w.apex[l] = (REAL)rp__elastoplastic_apex(law, (double)size[l], (double)s->w.gain[l]);
    }
    NAME(deform)(step->dim, g, s->strain);
    NAME(project)(step->dim, step->correct_volume ? (REAL)1 : (REAL)0, &s->w, s->strain);
}

/* tau dt V0 / (m D) of the strain, V0 the bulk volume. */
static inline void NAME(pull)(const rp__elastoplastic_step *step, const NAME(planes) *f, int64_t first, int count,
                              NAME(lane_state) *restrict s)
{
    RP_LANES_ALIGNED REAL b[6][RP_LANES], shear[RP_LANES], lame[RP_LANES], factor[RP_LANES], solid[RP_LANES];
    const rp__elastoplastic_law *common = count == RP_LANES ? NAME(common_law)(step, f, first, count) : NULL;
    bool any_solid = common && common->elastic;
    if (common) {
        REAL mu = (REAL)common->shear, lambda = (REAL)common->lame, is_solid = common->elastic ? (REAL)1 : (REAL)0;
        double scale = step->dt * step->inverse_d * common->inverse_fraction;
        const double *volume = f->volume + first, *mass = f->mass + first;
        REAL factors = (REAL)scale;
        RP_FOR_LANES (l) {
            shear[l] = mu;
            lame[l] = lambda;
            solid[l] = is_solid;
            factor[l] = factors * ((REAL)volume[l] / (REAL)mass[l]);
        }
    }
    for (int l = 0; l < RP_LANES && !common; l++) {
        int64_t i = first + (l < count ? l : 0);
        const rp__elastoplastic_law *law = &step->laws[f->material[i]];
        shear[l] = (REAL)law->shear;
        lame[l] = (REAL)law->lame;
        solid[l] = law->elastic ? (REAL)1 : (REAL)0;
        any_solid = any_solid || law->elastic;
        factor[l] = (REAL)(step->dt * step->inverse_d * law->inverse_fraction * (f->volume[i] / f->mass[i]));
    }
    if (any_solid)
        NAME(expm1_twice)(s->strain, b);
    RP_FOR_LANES (l) {
        REAL normal = lame[l] * (s->strain[0][l] + s->strain[1][l] + s->strain[2][l]);
        for (int k = 0; k < 6; k++) {
            REAL hencky = 2 * s->strain[k][l], hooke = any_solid ? b[k][l] : hencky;
            s->tau[k][l] = factor[l] * (shear[l] * (solid[l] > 0 ? hooke : hencky) + (k < 3 ? normal : 0));
        }
    }
}

/* c_p <- (c_p or 0) - tau */
static inline void NAME(store_pull)(const rp__elastoplastic_step *step, const NAME(planes) *f, int64_t first, int count, bool keep,
                                    NAME(lane_state) *restrict s)
{
    static const int at[3][3] = { { 0, 3, 4 }, { 3, 1, 5 }, { 4, 5, 2 } };
    for (int i = 0; i < step->dim; i++)
        for (int j = 0; j < step->dim; j++) {
            double *c = f->c[i][j] + first, kept = keep ? 1 : 0;
            const REAL *t = s->tau[at[i][j]];
            if (count == RP_LANES)
                RP_FOR_LANES (l)
                    c[l] = kept * c[l] - (double)t[l];
            else
                for (int l = 0; l < count; l++)
                    c[l] = kept * c[l] - (double)t[l];
        }
}

static inline void NAME(store_strain)(const NAME(planes) *f, int64_t first, int count, const NAME(lane_state) *restrict s)
{
    for (int k = 0; k < 6; k++)
        NAME(store)(f->strain[k] + first, count, s->strain[k]);
    NAME(store_float)(f->hardening + first, count, s->w.q);
    NAME(store_float)(f->gain + first, count, s->w.gain);
}

/* g = dt c_p */
static inline void NAME(increments)(const rp__elastoplastic_step *step, const NAME(planes) *f, int64_t first, int count,
                                    REAL (*restrict g)[3][RP_LANES])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < RP_LANES; l++)
                g[i][j][l] = l < count ? (REAL)(step->dt * f->c[i][j][first + l]) : 0;
}

static inline void NAME(strain_range)(const rp__elastoplastic_step *step, const rp__particles *p, int64_t begin, int64_t end)
{
    NAME(planes) f = NAME(find_all)(step, p);
    NAME(lane_state) s;
    RP_LANES_ALIGNED REAL g[3][3][RP_LANES];
    for (int64_t first = begin; first < end; first += RP_LANES) {
        int count = end - first < RP_LANES ? (int)(end - first) : RP_LANES;
        NAME(increments)(step, &f, first, count, g);
        NAME(advance)(step, &f, first, count, g, &s);
        NAME(store_strain)(&f, first, count, &s);
    }
}

static inline void NAME(stress_range)(const rp__elastoplastic_step *step, const rp__particles *p, int64_t begin, int64_t end)
{
    NAME(planes) f = NAME(find_all)(step, p);
    NAME(lane_state) s;
    for (int64_t first = begin; first < end; first += RP_LANES) {
        int count = end - first < RP_LANES ? (int)(end - first) : RP_LANES;
        for (int k = 0; k < 6; k++)
            NAME(load)(f.strain[k] + first, count, s.strain[k]);
        NAME(pull)(step, &f, first, count, &s);
        NAME(store_pull)(step, &f, first, count, step->keep_affine, &s);
    }
}

static inline void NAME(response_range)(const rp__elastoplastic_step *step, const rp__particles *p, int64_t begin, int64_t end)
{
    NAME(planes) f = NAME(find_all)(step, p);
    NAME(lane_state) s;
    RP_LANES_ALIGNED REAL g[3][3][RP_LANES];
    for (int64_t first = begin; first < end; first += RP_LANES) {
        int count = end - first < RP_LANES ? (int)(end - first) : RP_LANES;
        NAME(increments)(step, &f, first, count, g);
        NAME(advance)(step, &f, first, count, g, &s);
        NAME(pull)(step, &f, first, count, &s);
        NAME(store_pull)(step, &f, first, count, false, &s);
    }
}

#undef REAL
#undef NAME
#undef EIGEN
#undef TINY
#undef SQRT
#undef ABS
#undef SMALL
#undef EXP_TERMS
#undef LOG_TERMS
