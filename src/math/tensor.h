/* Symmetric tensors and the orthonormal map chi between coefficients and tensors   [daviet2016, §5.2].
 *
 * Scalar product <s,t> = 1/2 s:t, norm |s| = sqrt<s,s>. The first coefficient is the normal part (trace), the others
 * the tangential (deviatoric) part: |Dev chi(r)| = ||r_T||, Tr chi(r) = sqrt(6) r_N in 3D, 2 r_N in 2D.
 * Symmetric tensors are stored as xx yy zz xy xz yz (3D, 6 numbers) and xx yy xy (2D, 3 numbers). */
#ifndef RP_MATH_TENSOR_H
#define RP_MATH_TENSOR_H

#define RP_SQRT3 1.73205080756887729353
#define RP_SQRT2 1.41421356237309504880
#define RP_SQRT6 2.44948974278317809820

/* 3D: s = chi(r). */
static inline void rp__tensor_from_coefficients_3d(const double r[6], double s[6])
{
    double base = (RP_SQRT2 * r[0] - r[2]) / RP_SQRT3;
    s[0] = base + r[1];
    s[1] = base - r[1];
    s[2] = (RP_SQRT2 * r[0] + 2 * r[2]) / RP_SQRT3;
    s[3] = r[3], s[4] = r[4], s[5] = r[5];
}
/* 3D: r = chi^-1(s); orthonormal, so r_k = <s, chi(e_k)>. */
static inline void rp__tensor_to_coefficients_3d(const double s[6], double r[6])
{
    r[0] = (s[0] + s[1] + s[2]) / RP_SQRT6;
    r[1] = 0.5 * (s[0] - s[1]);
    r[2] = (2 * s[2] - s[0] - s[1]) / (2 * RP_SQRT3);
    r[3] = s[3], r[4] = s[4], r[5] = s[5];
}
/* 2D: [[a + b, c], [c, a - b]]. */
static inline void rp__tensor_from_coefficients_2d(const double r[3], double s[3])
{
    s[0] = r[0] + r[1], s[1] = r[0] - r[1], s[2] = r[2];
}
static inline void rp__tensor_to_coefficients_2d(const double s[3], double r[3])
{
    r[0] = 0.5 * (s[0] + s[1]), r[1] = 0.5 * (s[0] - s[1]), r[2] = s[2];
}

#endif
