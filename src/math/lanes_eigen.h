/* The body of lanes.h's eigen-decomposition, included there once a type: a fixed number of cyclic Jacobi sweeps
 * [golub2013, §8.5]. It has no guard on purpose. */

/* One rotation in the plane (p, q); r is the third axis. Annuls apq, updates the rest and the columns p, q of the vectors. */
static inline void LANES_NAME(rotate)(LANES_REAL *restrict app, LANES_REAL *restrict aqq, LANES_REAL *restrict apq,
                                      LANES_REAL *restrict arp, LANES_REAL *restrict arq,
                                      LANES_REAL (*restrict v)[3][RP_LANES], int p, int q)
{
    RP_LANES_ALIGNED LANES_REAL cosines[RP_LANES], sines[RP_LANES];
    RP_FOR_LANES (l) {
        LANES_REAL c = apq[l], d = (aqq[l] - app[l]) / 2;
        LANES_REAL t = c / (LANES_ABS(d) + LANES_SQRT(d * d + c * c) + LANES_TINY); /* |t| <= 1; 0 when c = 0 */
        t = d < 0 ? -t : t;
        LANES_REAL cosine = 1 / LANES_SQRT(1 + t * t), sine = t * cosine;
        app[l] -= t * c;
        aqq[l] += t * c;
        apq[l] = 0;
        LANES_REAL x = arp[l], y = arq[l];
        arp[l] = cosine * x - sine * y;
        arq[l] = sine * x + cosine * y;
        cosines[l] = cosine;
        sines[l] = sine;
    }
    for (int i = 0; i < 3; i++) {
        LANES_REAL *vp = v[i][p], *vq = v[i][q];
        RP_FOR_LANES (l) {
            LANES_REAL x = vp[l], y = vq[l];
            vp[l] = cosines[l] * x - sines[l] * y;
            vq[l] = sines[l] * x + cosines[l] * y;
        }
    }
}

/* Swaps eigenvalues p and q where they are out of order, and negates one column so that v stays a rotation. */
static inline void LANES_NAME(order)(LANES_REAL (*restrict value)[RP_LANES], LANES_REAL (*restrict v)[3][RP_LANES], int p, int q)
{
    RP_LANES_ALIGNED LANES_REAL swap[RP_LANES];
    LANES_REAL *a = value[p], *b = value[q];
    RP_FOR_LANES (l) {
        LANES_REAL x = a[l], y = b[l];
        swap[l] = x > y ? (LANES_REAL)1 : (LANES_REAL)0;
        a[l] = x > y ? y : x;
        b[l] = x > y ? x : y;
    }
    for (int i = 0; i < 3; i++) {
        LANES_REAL *vp = v[i][p], *vq = v[i][q];
        RP_FOR_LANES (l) {
            LANES_REAL x = vp[l], y = vq[l];
            vp[l] = swap[l] > 0 ? y : x;
            vq[l] = swap[l] > 0 ? -x : y;
        }
    }
}

static inline void LANES_NAME(eigen_sym3)(LANES_REAL (*s)[RP_LANES], LANES_REAL (*restrict values)[RP_LANES],
                                          LANES_REAL (*restrict v)[3][RP_LANES])
{
    RP_LANES_ALIGNED LANES_REAL a[6][RP_LANES], scale[RP_LANES], invalid[RP_LANES];
    RP_FOR_LANES (l) {
        LANES_REAL largest = 0, sum = 0;
        for (int k = 0; k < 6; k++) {
            LANES_REAL size = LANES_ABS(s[k][l]);
            largest = size > largest ? size : largest;
            sum += s[k][l] - s[k][l]; /* 0, or NaN when a number is not finite */
        }
        scale[l] = largest > LANES_TINY ? largest : (LANES_REAL)1;
        invalid[l] = sum;
    }
    for (int k = 0; k < 6; k++)
        RP_FOR_LANES (l)
            a[k][l] = s[k][l] / scale[l];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            RP_FOR_LANES (l)
                v[i][j][l] = i == j ? (LANES_REAL)1 : (LANES_REAL)0;
    for (int sweep = 0; sweep < LANES_SWEEPS; sweep++) {
        LANES_NAME(rotate)(a[0], a[1], a[3], a[4], a[5], v, 0, 1);
        LANES_NAME(rotate)(a[0], a[2], a[4], a[3], a[5], v, 0, 2);
        LANES_NAME(rotate)(a[1], a[2], a[5], a[3], a[4], v, 1, 2);
    }
    for (int k = 0; k < 3; k++)
        RP_FOR_LANES (l)
            values[k][l] = a[k][l] * scale[l] + invalid[l];
    LANES_NAME(order)(values, v, 0, 1);
    LANES_NAME(order)(values, v, 1, 2);
    LANES_NAME(order)(values, v, 0, 1);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            RP_FOR_LANES (l)
                v[i][j][l] += invalid[l];
}

#undef LANES_REAL
#undef LANES_NAME
#undef LANES_SQRT
#undef LANES_ABS
#undef LANES_TINY
#undef LANES_SWEEPS
