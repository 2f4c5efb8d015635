/* What a friction problem is inside: three ways to hold W behind the same few operations. */
#ifndef RP_FRICTION_PROBLEM_H
#define RP_FRICTION_PROBLEM_H

#include <repose/friction.h>
#include <stddef.h>

typedef enum rp__friction_kind {
    RP__BLOCKS,   /* W by block rows */
    RP__FACTORED, /* W = Hᵀ Y with Y = M⁻¹ H, both by contact; a vector v of velocities is kept up to date */
    RP__CALLBACKS
} rp__friction_kind;

/* A sparse list of d-vectors by contact: entry k of contact i sits at dof index[k] with value[k*d .. k*d+d). */
typedef struct rp__friction_rows {
    int64_t *first; /* contacts + 1 */
    int32_t *index;
    double *value;
} rp__friction_rows;

/* A sparse matrix that owns its arrays, by compressed columns, rows ascending, no doubles. */
typedef struct rp__friction_csc {
    int64_t rows, columns;
    int64_t *first;
    int32_t *row;
    double *value;
} rp__friction_csc;

/* M = Pᵀ L Lᵀ P with L by rows from the first entry that is not zero (the envelope), split in independent components. */
typedef struct rp__friction_cholesky {
    int64_t n;
    int32_t *position;   /* dof -> place in the order */
    int32_t *dof;        /* place -> dof */
    int32_t *component;  /* place -> first place of its component */
    int32_t *last;       /* place -> one past the last place of its component */
    int64_t *row_first;  /* n + 1: row i of L is value[row_first[i] ..), its first column is i + 1 - length */
    double *value;
} rp__friction_cholesky;

struct rp_friction {
    rp_friction_form form;
    rp__friction_kind kind;
    int dimension;
    int64_t contacts, dofs;
    double *b, *mu;
    double *rolling;  /* NULL: none of the components is a moment (rolling.h) */
    double *diagonal; /* d² a contact, made symmetric: what local solvers use */
    double *norm;     /* |W_ii| (Frobenius), the unit that turns forces into velocities */
    double scale;     /* root mean square of |b_i| */
    double asymmetry;

    int64_t *first; /* blocks */
    int32_t *column;
    double *block;

    rp__friction_rows h, y; /* factored */
    rp__friction_rows yt;   /* Y by dof: yt.index are contacts */

    rp_friction_operator_def callbacks;

    /* What a problem in global form was made of, for writing it and for v. */
    rp__friction_csc m, hm;
    double *f, *w;
    rp__friction_cholesky cholesky;

    char *title, *description, *math;
};

/* Rows [begin, end) of W r for a problem held by blocks or factored (there v must be up to date), and of v = Y r. */
void rp__friction_block_rows_c2(const rp_friction *problem, int64_t begin, int64_t end, const double *r, double *u);
void rp__friction_block_rows_c3(const rp_friction *problem, int64_t begin, int64_t end, const double *r, double *u);
void rp__friction_block_rows_c6(const rp_friction *problem, int64_t begin, int64_t end, const double *r, double *u);
void rp__friction_gather_rows_c2(const rp_friction *problem, int64_t begin, int64_t end, const double *v, double *u);
void rp__friction_gather_rows_c3(const rp_friction *problem, int64_t begin, int64_t end, const double *v, double *u);
void rp__friction_gather_rows_c6(const rp_friction *problem, int64_t begin, int64_t end, const double *v, double *u);
void rp__friction_scatter_rows_c2(const rp_friction *problem, int64_t begin, int64_t end, const double *r, double *v);
void rp__friction_scatter_rows_c3(const rp_friction *problem, int64_t begin, int64_t end, const double *r, double *v);
void rp__friction_scatter_rows_c6(const rp_friction *problem, int64_t begin, int64_t end, const double *r, double *v);

/* Calls name_c2, name_c3 or name_c6 by the dimension of the problem. */
#define RP__CONE_CALL(problem, name, ...)                           \
    ((problem)->dimension == 2   ? name##_c2((problem), __VA_ARGS__) \
     : (problem)->dimension == 3 ? name##_c3((problem), __VA_ARGS__) \
                                 : name##_c6((problem), __VA_ARGS__))

/* u = W r (no b); v is scratch of `dofs` numbers when the problem is factored, else unused. */
void rp__friction_multiply(const rp_friction *problem, const double *r, double *v, double *u);
void rp__friction_multiply_ref(const rp_friction *problem, const double *r, double *v, double *u); /* plain, for tests */

/* The checks that all forms share: dimension, sizes, b, mu, and the diagonal blocks (which it makes symmetric). */
rp_result rp__friction_check_vectors(int dimension, int64_t contacts, const double *b, const char *b_name, const double *mu);
rp_result rp__friction_finish(rp_friction *problem); /* diagonal checks, norms, scale */

rp_result rp__friction_copy(double **to, const double *from, int64_t count);

/* Contacts that may be visited at once, colour by colour, in ascending order inside a colour. */
typedef struct rp__friction_colors {
    int count;
    int64_t *first; /* count + 1 */
    int32_t *items;
} rp__friction_colors;

rp_result rp__friction_color(const rp_friction *problem, rp__friction_colors *colors);
void rp__friction_colors_free(rp__friction_colors *colors);

/* csc.c */
rp_result rp__friction_csc_copy(const rp_friction_matrix *from, const char *name, rp__friction_csc *to); /* sorts, adds doubles */
void rp__friction_csc_free(rp__friction_csc *matrix);
rp_result rp__friction_csc_transpose(const rp__friction_csc *from, rp__friction_csc *to);

/* cholesky.c */
rp_result rp__friction_cholesky_make(const rp__friction_csc *m, rp__friction_cholesky *factor);
void rp__friction_cholesky_free(rp__friction_cholesky *factor);
/* x (in the order of places) <- (L Lᵀ)⁻¹ x on places begin .. end, whole components; entries before `start` are zero. */
void rp__friction_cholesky_solve(const rp__friction_cholesky *factor, int64_t begin, int64_t end, int64_t start, double *x);

/* v = M⁻¹ (H r + f) for a problem in global form; v by dof. */
rp_result rp__friction_velocities(const rp_friction *problem, const double *r, double *v);

#endif
