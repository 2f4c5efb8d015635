/* The friction library on the problems of the method. */
#include "nonsmooth/scene_tests.h"

#include <repose/friction.h>

/* A column between frictional walls with a heavy ball on it: stresses, walls and a free body in one problem. */
static void begin(scene *s, int dim, rp_body_def *ball, rp_shape **shape)
{
    const int cells[3] = { 6, dim == 2 ? 10 : 4, 8 };
    const double from[3] = { 0, 0, 0 }, to[3] = { 4, 4, 3 };
    double centre[3] = { 0 };
    scene_begin(s, dim, 0.05, cells, from, to);
    for (int f = 0; f < 2 * dim; f++)
        s->def.wall[f] = (rp_surface){ RP_FRICTIONAL, 0.3, 0 };
    assert_int_equal(rp_shape_sphere(centre, 0.06, shape), RP_OK);
    *ball = rp_default_body_def();
    ball->name = "ball";
    ball->kind = RP_BODY_FREE;
    ball->shape = *shape;
    ball->density = 3000;
    ball->surface = (rp_surface){ RP_FRICTIONAL, 0.4, 0 };
    for (int a = 0; a < dim; a++)
        ball->position[a] = 0.05 * (a == dim - 1 ? to[a] + 1.1 : 0.5 * to[a]);
    s->def.bodies = ball;
    s->def.body_count = 1;
    s->def.substeps = 5; /* 2 ms, from the first step on */
}

static double extra_of(const rp_step_stats *stats, const char *name)
{
    for (int e = 0; e < stats->extra_count; e++)
        if (strcmp(stats->extra_name[e], name) == 0)
            return stats->extra[e];
    fail_msg("no column %s", name);
    return 0;
}

typedef enum law { PLAIN, VISCOUS, FLAT, ROUNDED, NODE, LAWS } law;

/* What the friction library says of the answers of three steps: the largest mean residual. */
static double judged(int dim, law which, const char *sweeps)
{
    char folder[] = "/tmp/repose-library-XXXXXX", path[128];
    scene s;
    rp_body_def ball;
    rp_shape *shape = NULL;
    rp_step_stats stats;
    double most = 0;
    assert_non_null(mkdtemp(folder));
    begin(&s, dim, &ball, &shape);
    s.def.wall[2 * (dim - 1)].kind = RP_STICK;
    s.grains[0].velocity[0] = 0.2;
    scene_set(&s, "apex", which == ROUNDED ? "1" : "0");
    if (which == VISCOUS || which == FLAT)
        s.material.viscosity = 20;
    if (which == FLAT)
        s.material.anisotropy = 0.6, s.material.elongation = 0.9, s.material.orientation[0] = 1;
    if (which == NODE)
        scene_set(&s, "stress", "node");
    scene_set(&s, "tolerance", "1e-7");
    scene_set(&s, "tolerance_max", "1e-5");
    scene_set(&s, "max_iterations", sweeps);
    scene_set(&s, "dump_problems", "3");
    scene_set(&s, "dump_folder", folder);
    scene_start(&s);
    for (int k = 0; k < 3; k++) {
        scene_step(&s, &stats);
        most = fmax(most, extra_of(&stats, "library_residual"));
        snprintf(path, sizeof path, "%s/problem-%06d.hdf5", folder, k);
        assert_int_equal(remove(path), 0);
    }
    remove(folder);
    scene_end(&s);
    rp_shape_release(shape);
    return most;
}

/* Stresses, walls that rub and a floor that holds, ties, a free body, viscosity, flat grains: what the sweeps find is the solution of the problem as the
 * friction library knows it. Its operator and its residual have nothing in common with those of the sweeps. */
static void library_agrees_with_the_sweeps(void **state)
{
    (void)state;
    static const char *const names[LAWS] = { "plain", "viscous", "flat and viscous", "rounded", "node" };
    for (int dim = 2; dim <= 3; dim++)
        for (int which = 0; which < LAWS; which++) {
            double residual = judged(dim, (law)which, "20000"), few = judged(dim, (law)which, "1");
            print_message("%dD, %s: residual %.2e, after one sweep %.2e\n", dim, names[which], residual, few);
            /* The rounded apex is not quite Coulomb's law: it pushes in shear where grains do not press. */
            if (!(residual < (which == ROUNDED ? 0.03 : 1e-4) && few > 10 * residual))
                fail_msg("%dD, %s: residual %g, after one sweep %g", dim, names[which], residual, few);
        }
}

/* A problem in a file holds walls and bodies, the library solves it, and coefficients that only fill up the dimension are zero. */
static void files_hold_surfaces(void **state)
{
    (void)state;
    for (int dim = 2; dim <= 3; dim++) {
        char folder[] = "/tmp/repose-library-XXXXXX", path[128];
        assert_non_null(mkdtemp(folder));
        scene s;
        rp_body_def ball;
        rp_shape *shape = NULL;
        rp_step_stats stats;
        begin(&s, dim, &ball, &shape);
        scene_set(&s, "dump_problems", "3");
        scene_set(&s, "dump_folder", folder);
        scene_start(&s);
        int64_t surfaces = 0, dimension = dim == 2 ? 3 : 6;
        for (int k = 0; k < 3; k++)
            scene_step(&s, &stats);
        for (int e = 0; e < stats.extra_count; e++)
            if (strcmp(stats.extra_name[e], "contacts") == 0)
                surfaces = (int64_t)stats.extra[e];
        assert_true(surfaces > 4);
        snprintf(path, sizeof path, "%s/problem-000002.hdf5", folder);
        rp_friction *problem;
        if (rp_friction_read(path, &problem) != RP_OK)
            fail_msg("%s", rp_last_error());
        rp_friction_info info = rp_friction_get_info(problem);
        assert_int_equal(info.dimension, dimension);
        assert_true(info.contacts >= stats.nodes + surfaces); /* what holds both ways is several rows */
        double *r = calloc((size_t)(info.contacts * dimension), sizeof *r), largest = 0, filled = 0;
        assert_non_null(r);
        rp_friction_options options = rp_default_friction_options();
        options.tolerance = 1e-4; /* ties are rows against each other, which the solvers of the library are slow with */
        options.time_limit = 20;
        if (rp_friction_solve(problem, &options, r, NULL, NULL) != RP_OK)
            fail_msg("%s", rp_last_error());
        for (int64_t i = stats.nodes; i < info.contacts; i++)
            for (int64_t k = 0; k < dimension; k++) {
                double v = fabs(r[i * dimension + k]);
                largest = k < dim ? fmax(largest, v) : largest;
                filled = k >= dim ? fmax(filled, v) : filled;
            }
        assert_true(largest > 10); /* pascals */
        assert_true(filled < 1e-6 * largest);
        free(r);
        rp_friction_destroy(problem);
        for (int k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "%s/problem-%06d.hdf5", folder, k);
            remove(path);
        }
        remove(folder);
        scene_end(&s);
        rp_shape_release(shape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_agrees_with_the_sweeps),
        cmocka_unit_test(files_hold_surfaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
