/* Fibres with contacts: rolling, the capstan, stick and slip of a pressed rod, crossing fibres, threads, restarts, bad input. */
#include "contact/contact_tests.h"

#include <stdlib.h>

#define G 9.81
#define PI 3.14159265358979323846

static rp_fibres_def fibre_def(const double *nodes, const int32_t *counts, int64_t count)
{
    rp_fibres_def f = rp_default_fibres_def();
    f.name = "fibres";
    f.nodes = nodes;
    f.counts = counts;
    f.count = count;
    return f;
}

/* ---- a straight fibre on an incline: 2/3 g sin(alpha) while mu > tan(alpha) / 3, g (sin - mu cos) else ---- */

static double incline(double alpha, double friction, bool twist_column)
{
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, friction, &material);
    double nodes[18];
    int32_t count = 6;
    for (int i = 0; i < 6; i++)
        nodes[3 * i] = 0.3, nodes[3 * i + 1] = 0.3 + 0.05 * i, nodes[3 * i + 2] = 0.01;
    rp_fibres_def f = fibre_def(nodes, &count, 1);
    rp_params *p = params_of("tolerance", "1e-12", "tolerance_max", "1e-11", NULL);
    f.radius = 0.01;
    f.youngs_modulus = 1e6;
    f.friction = friction;
    def.fibres = &f;
    def.fibres_count = 1;
    def.method_params = rp_params_data(p);
    def.gravity[0] = G * sin(alpha);
    def.gravity[2] = -G * cos(alpha);
    def.frame_rate = 1000;
    rp_sim *sim = make_sim(&def);
    rp__contact_state *s = sim->state;
    if (!twist_column) /* what remains when fibres cannot turn: the inertia about the axis is made very large */
        for (int j = 0; j < 5; j++)
            s->fibres[0].rod->mass[4 * j + 3] *= 1e9;
    run_steps(sim, 50);
    double v = s->fibres[0].rod->velocity[0];
    rp_sim_destroy(sim);
    rp_params_destroy(p);
    return v / (0.05 * G * sin(alpha));
}

static void test_fibre_on_incline(void **state)
{
    (void)state;
    assert_true(fabs(incline(0.3, 0.5, true) - 2.0 / 3) < 1e-8);
    assert_true(fabs(incline(0.3, 0.05, true) - (1 - 0.05 / tan(0.3))) < 1e-8);
    assert_true(incline(0.3, 0.5, false) < 0.01); /* control: without turning it sticks */
}

/* ---- capstan: contacts at nodes, a turn delta each: T2 / T1 = ((1 + mu tan(delta / 2)) / (1 - mu tan(delta / 2)))^(theta / delta) ----
 * That is of a thin rope. Friction on a limp one of radius r acts r nearer to the middle of the drum than its tension does (at R): as a couple too, which
 * a shear V carries. By the angle, T' = F' - V, N' = T - V', V = r/R F', F' = mu N', so T ~ exp(k theta), k/mu + k² r/R = 1 - r/R. */
/* `middle`: the ratio over the middle half of the turn. */
static double capstan(double mu, int n, double radius, double *law, double *middle)
{
    double R = 1, dl = PI / n, h = 2 * R * sin(dl / 2), T1 = 1, ES = 1e3, nodes[3 * 80];
    int legs = 4;
    int32_t count = n + 1 + 2 * legs;
    for (int k = 0; k < count; k++) {
        double *x = nodes + 3 * k;
        x[1] = 5;
        if (k < legs)
            x[0] = -R, x[2] = -h * (legs - k);
        else if (k <= legs + n)
            x[0] = R * cos(PI - (k - legs) * dl), x[2] = R * sin(PI - (k - legs) * dl);
        else
            x[0] = R, x[2] = -h * (k - legs - n);
        x[0] += 5, x[2] += 5;
    }
    rp_material_def material;
    rp_sim_def def = scene(10, 0.5, mu, &material);
    double a[3] = { 5, 0, 5 }, b[3] = { 5, 10, 5 };
    rp_body_def bodies[3] = { rp_default_body_def(), rp_default_body_def(), rp_default_body_def() };
    /* nodes lie on the surface, radii and all: the drum is thinner by the radius */
    assert_int_equal(rp_shape_cylinder(a, b, R - radius, &bodies[0].shape), RP_OK);
    bodies[0].name = "drum";
    bodies[0].surface = (rp_surface){ .kind = RP_FRICTIONAL, .friction = mu };
    double origin[3] = { 9, 9, 9 };
    for (int k = 1; k < 3; k++) { /* one end is drawn down, the other let up: the fibre slides round, and stretch goes where friction wants it */
        assert_int_equal(rp_shape_sphere(origin, 0.1, &bodies[k].shape), RP_OK);
        bodies[k].name = k == 1 ? "pull" : "slack";
        assert_int_equal(rp_motion_expression(k == 1 ? "return 0, 0, -0.01 * t" : "return 0, 0, 0.01 * t", &bodies[k].motion), RP_OK);
    }
    rp_fibres_def f = fibre_def(nodes, &count, 1);
    f.radius = radius;
    f.tip = RP_FIBRE_PINNED;
    f.root = RP_FIBRE_PINNED;
    f.tip_body = 1;
    f.body = 2;
    f.stretch = 0;
    f.density = 1e-3 / (PI * radius * radius); /* 1 g a metre */
    f.youngs_modulus = ES / (PI * radius * radius);
    rp_params *p = params_of("tolerance", "1e-9", "tolerance_max", "1e-8", "max_iterations", "20000", NULL);
    def.bodies = bodies;
    def.body_count = 3;
    def.fibres = &f;
    def.fibres_count = 1;
    def.gravity[2] = 0;
    def.method_params = rp_params_data(p);
    def.frame_rate = 50;
    rp_sim *sim = make_sim(&def);
    rp__contact_state *s = sim->state;
    rp__rod *rod = s->fibres[0].rod;
    for (int i = 0; i + 1 < rod->edges; i++) /* it has been wound: no bending, and EI small beside T R² */
        rod->rest_curvature[2 * i] = rod->rest_curvature[2 * i + 1] = 0;
    for (int j = 0; j < rod->edges; j++)
        rod->length[j] /= 1 + T1 / ES;
    rod->section.bend[0] = rod->section.bend[1] = rod->section.twist = 1e-6;
    for (int k = 0; k < 70; k++)
        run_steps(sim, 1);
    double ratio = rp__rod_strain_of_edge(rod, rod->edges - 1) / rp__rod_strain_of_edge(rod, 0);
    *middle = rp__rod_strain_of_edge(rod, legs + 3 * n / 4) / rp__rod_strain_of_edge(rod, legs + n / 4);
    double t = tan(dl / 2);
    *law = pow((1 + mu * t) / (1 - mu * t), n);
    rp_sim_destroy(sim);
    rp_params_destroy(p);
    for (int k = 0; k < 3; k++) {
        rp_motion_release(bodies[k].motion);
        rp_shape_release(bodies[k].shape);
    }
    return ratio;
}

static void test_capstan(void **state)
{
    (void)state;
    const double thin = 1e-3;
    double law, middle, ratio = capstan(0.3, 10, thin, &law, &middle);
    assert_true(fabs(ratio / law - 1) < 3e-3);
    double rough = fabs(law - exp(0.3 * PI));
    ratio = capstan(0.3, 20, thin, &law, &middle);
    assert_true(fabs(ratio / law - 1) < 3e-3 && fabs(law - exp(0.3 * PI)) < 0.3 * rough);
    ratio = capstan(0.5, 20, thin, &law, &middle);
    assert_true(fabs(ratio / law - 1) < 3e-3);
    capstan(0.3, 20, thin, &law, &middle);
    assert_true(fabs(ratio / law - 1) > 0.3); /* control: the friction of one is not that of the other */
}

static void test_thick_rope_on_a_drum(void **state)
{
    (void)state;
    const double mu = 0.3, part = 0.1;
    double law, middle, k = (sqrt(1 / (mu * mu) + 4 * part * (1 - part)) - 1 / mu) / (2 * part);
    capstan(mu, 40, part, &law, &middle); /* couples end where the rope leaves the drum: there the forces are others */
    print_message("thick rope, middle half: %.4f, limp and smooth %.4f, thin %.4f\n", middle, exp(0.5 * k * PI), exp(0.5 * mu * PI));
    assert_true(fabs(middle / exp(0.5 * k * PI) - 1) < 2e-3);
}

/* ---- stick and slip: a rod clamped at the top, vertical, pressed down on a plane; its foot begins to slide at a strain that depends on mu
 * alone; setting of [sano2017] ---- */

static double slip_strain(double mu, int n)
{
    double nodes[3 * 64], l = 1.0 / n, speed = 0.02;
    int32_t count = n + 1;
    for (int i = 0; i <= n; i++) { /* from the clamp down to the foot */
        nodes[3 * i] = 2 + (i > 0 && i < n ? 1e-3 * sin(PI * i / n) : 0);
        nodes[3 * i + 1] = 2;
        nodes[3 * i + 2] = 1 - i * l;
    }
    rp_material_def material;
    rp_sim_def def = scene(4, 0.5, mu, &material);
    rp_body_def body = rp_default_body_def();
    double centre[3] = { 3.5, 3.5, 3.5 };
    assert_int_equal(rp_shape_sphere(centre, 0.1, &body.shape), RP_OK);
    body.name = "press";
    assert_int_equal(rp_motion_expression("return 0, 0, -0.02 * t", &body.motion), RP_OK);
    rp_fibres_def f = fibre_def(nodes, &count, 1);
    f.radius = 1e-4;
    f.root = RP_FIBRE_CLAMPED;
    f.body = 0;
    f.rest = RP_REST_STRAIGHT;
    f.stretch = 0;
    f.friction = mu;
    double I = PI * pow(f.radius, 4) / 4;
    f.youngs_modulus = 1 / I <= 1e13 ? 1 / I : 1e13;
    rp_params *p = params_of("tolerance", "1e-8", "tolerance_max", "1e-7", NULL);
    def.bodies = &body;
    def.body_count = 1;
    def.fibres = &f;
    def.fibres_count = 1;
    def.gravity[2] = 0;
    def.method_params = rp_params_data(p);
    def.frame_rate = 50;
    rp_sim *sim = make_sim(&def);
    rp__contact_state *s = sim->state;
    rp__rod *rod = s->fibres[0].rod;
    rod->section.stretch = 1e5;
    rod->section.bend[0] = rod->section.bend[1] = 1;
    rod->section.twist = 2.0 / 3;
    for (int i = 0; i < rp__rod_unknowns(rod); i++) /* light: 1 g a metre */
        rod->mass[i] *= 1e-3 / rod->section.mass;
    double found = -1;
    for (int k = 0; k < 1000 && found < 0; k++) {
        run_steps(sim, 1);
        double strain = speed * rp_sim_time(sim), foot = rod->velocity[4 * rod->edges];
        if (strain > 0.003 && fabs(foot) > 0.05 * speed && s->system.count > 0)
            found = strain;
    }
    rp_sim_destroy(sim);
    rp_params_destroy(p);
    rp_motion_release(body.motion);
    rp_shape_release(body.shape);
    return found;
}

static void test_stick_slip(void **state)
{
    (void)state;
    static const double table[3][2] = { { 0.1, 0.04687 }, { 0.2, 0.15487 }, { 0.3, 0.27156 } };
    for (int k = 0; k < 3; k++) {
        double strain = slip_strain(table[k][0], 30);
        assert_true(fabs(strain / table[k][1] - 1) < 0.02);
    }
    assert_true(fabs(slip_strain(0.13, 30) / table[0][1] - 1) > 0.2); /* control: 1.3 mu */
}

/* ---- fibres on fibres ---- */

/* Two layers of crossing fibres fall on each other and on the floor; nothing goes through, energy does not grow, and they come to rest. */
typedef struct crossing {
    double nodes[3 * 12 * 9];
    int32_t counts[12];
    rp_material_def material;
    rp_sim_def def;
    rp_fibres_def fibres;
    rp_params *params;
} crossing;

static void make_crossing(crossing *c, int threads)
{
    int at = 0;
    for (int k = 0; k < 12; k++) {
        c->counts[k] = 9;
        for (int i = 0; i < 9; i++, at++) {
            double along = 0.05 + 0.0125 * i, across = 0.07 + 0.01 * (k % 6);
            c->nodes[3 * at] = k < 6 ? along : across;
            c->nodes[3 * at + 1] = k < 6 ? across : along;
            c->nodes[3 * at + 2] = k < 6 ? 0.01 : 0.02;
            c->nodes[3 * at + (k < 6)] += 4e-3 * sin(PI * i / 8); /* bent: straight ones would roll on the floor like rollers */
        }
    }
    c->def = scene(0.2, 0.02, 0.4, &c->material);
    c->fibres = fibre_def(c->nodes, c->counts, 12);
    c->fibres.radius = 1e-3;
    c->fibres.youngs_modulus = 1e8;
    c->fibres.friction = 0.4;
    c->fibres.damping = 1e-3;
    c->params = params_of("tolerance", "1e-4", NULL);
    c->def.fibres = &c->fibres;
    c->def.fibres_count = 1;
    c->def.materials = &c->material;
    c->def.method_params = rp_params_data(c->params);
    c->def.frame_rate = 200;
    c->def.threads = threads;
}

static uint64_t digest(rp_sim *sim)
{
    uint64_t h = 1469598103934665603u;
    rp_state state;
    assert_int_equal(rp_sim_save(sim, &state), RP_OK);
    for (int k = 0; k < state.count; k++) {
        const rp_blob *blob = &state.blobs[k];
        size_t size = (size_t)blob->count * (blob->type == RP_F64 || blob->type == RP_I64 ? 8 : 4);
        for (size_t i = 0; i < size; i++)
            h = (h ^ ((const unsigned char *)blob->data)[i]) * 1099511628211u;
    }
    rp_state_free(&state);
    return h;
}

static void test_crossing_fibres_rest(void **state)
{
    (void)state;
    crossing c;
    make_crossing(&c, 1);
    rp_sim *sim = make_sim(&c.def);
    rp_step_stats stats = run_steps(sim, 1);
    double begin = extra_of(&stats, "fibre_kinetic") + extra_of(&stats, "fibre_elastic") + extra_of(&stats, "fibre_potential"), last = begin;
    for (int k = 0; k < 400; k++) {
        stats = run_steps(sim, 1);
        double now = extra_of(&stats, "fibre_kinetic") + extra_of(&stats, "fibre_elastic") + extra_of(&stats, "fibre_potential");
        assert_true(now < last + 1e-3 * begin);
        last = now;
    }
    rp_fibres_view view;
    assert_int_equal(rp_sim_fibres(sim, &view), RP_OK);
    assert_int_equal(view.count, 12);
    assert_int_equal(view.nodes, 108);
    double fastest = 0, floor = 1, upper = 0;
    for (int64_t i = 0; i < view.nodes; i++) {
        for (int a = 0; a < 3; a++)
            fastest = fmax(fastest, fabs(view.velocity[3 * i + a]));
        floor = fmin(floor, view.position[3 * i + 2]);
        upper = fmax(upper, view.position[3 * i + 2]);
    }
    assert_true(floor > 0.99e-3 && upper > 2.9e-3 && upper < 4.5e-3); /* one layer on the floor, the other on top of it */
    assert_true(fastest < 1e-9); /* 1e-6 radii a second */
    rp_sim_destroy(sim);
    rp_params_destroy(c.params);
}

static void test_threads_and_restarts_keep_the_bytes(void **state)
{
    (void)state;
    uint64_t one = 0;
    static const int threads[] = { 1, 2, 5 };
    for (int t = 0; t < 3; t++) {
        crossing c;
        make_crossing(&c, threads[t]);
        rp_sim *sim = make_sim(&c.def), *again = make_sim(&c.def);
        run_steps(sim, 12);
        rp_state kept;
        assert_int_equal(rp_sim_save(sim, &kept), RP_OK);
        assert_int_equal(rp_sim_restore(again, &kept), RP_OK);
        rp_state_free(&kept);
        run_steps(sim, 20);
        run_steps(again, 20);
        uint64_t end = digest(sim);
        assert_true(end == digest(again));
        assert_true(t == 0 || end == one);
        one = end;
        rp_sim_destroy(sim);
        rp_sim_destroy(again);
        rp_params_destroy(c.params);
    }
}

/* A fibre shot at another that is clamped at both ends, a thousand radii in a step: the mean height at which it ends, and how deep it
 * was under the other where they were nearest. */
static double shoot(bool remember, double *deepest)
{
    double worst = 0, height = 0;
    double nodes[3 * 10];
    int32_t counts[2] = { 5, 5 };
    for (int i = 0; i < 5; i++) {
        nodes[3 * i] = 0.3 + 0.1 * i, nodes[3 * i + 1] = 0.5, nodes[3 * i + 2] = 0.5; /* target, clamped */
        nodes[15 + 3 * i] = 0.51, nodes[15 + 3 * i + 1] = 0.33 + 0.1 * i, nodes[15 + 3 * i + 2] = 0.7;
    }
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.3, &material);
    rp_fibres_def f[2] = { fibre_def(nodes, counts, 1), fibre_def(nodes + 15, counts + 1, 1) };
    for (int k = 0; k < 2; k++) {
        f[k].radius = 1e-4;
        f[k].youngs_modulus = 1e9;
    }
    f[0].root = f[0].tip = RP_FIBRE_CLAMPED;
    f[1].velocity[2] = -10;
    def.gravity[2] = 0;
    def.fibres = f;
    def.fibres_count = 2;
    def.frame_rate = 100;
    rp_sim *sim = make_sim(&def);
    rp__contact_state *s = sim->state;
    for (int k = 0; k < 12; k++) {
        run_steps(sim, 1);
        /* where the two are nearest the shot one is above the target */
        rp__collide_capsule a, b;
        double least = INFINITY, side = 0;
        for (int i = 1; i < 5; i++)
            for (int j = 0; j < 4; j++) {
                a = (rp__collide_capsule){ rp__rod_node(s->fibres[0].rod, i), rp__rod_node(s->fibres[0].rod, i + 1), 1e-4 };
                b = (rp__collide_capsule){ rp__rod_node(s->fibres[1].rod, j), rp__rod_node(s->fibres[1].rod, j + 1), 1e-4 };
                double u, v, d = rp__collide_segments(a.p, a.q, b.p, b.q, &u, &v);
                if (d < least) {
                    least = d;
                    side = rp__vec3_axpy(v, rp__vec3_sub(b.q, b.p), b.p).z - rp__vec3_axpy(u, rp__vec3_sub(a.q, a.p), a.p).z;
                }
            }
        worst = fmin(worst, side);
        if (!remember) /* control */
            s->memory_count = 0;
    }
    for (int i = 0; i < 5; i++)
        height += s->fibres[1].rod->x[3 * i + 2] / 5;
    *deepest = -worst;
    rp_sim_destroy(sim);
    return height;
}

static void test_no_tunnelling(void **state)
{
    (void)state;
    double deepest, height = shoot(true, &deepest);
    assert_true(height > 0.5 && deepest < 2e-3);
    height = shoot(false, &deepest);
    assert_true(height < 0.5 && deepest > 2e-3); /* without the memory of sides it is through */
}

/* ---- what cannot be ---- */

static rp_result try_fibres(rp_fibres_def *f, double gravity)
{
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.3, &material);
    def.gravity[2] = gravity;
    def.fibres = f;
    def.fibres_count = 1;
    rp_sim *sim = NULL;
    rp_result result = rp_sim_create(&def, &sim);
    for (int k = 0; k < 5 && result == RP_OK; k++)
        result = rp_sim_step(sim, NULL);
    if (result != RP_OK)
        assert_true(strlen(rp_last_error()) > 20);
    rp_sim_destroy(sim);
    return result;
}

static void test_bad_fibres(void **state)
{
    (void)state;
    double line[9] = { 0.3, 0.5, 0.5, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5 }, same[6] = { 0.3, 0.5, 0.5, 0.3, 0.5, 0.5 };
    double twice[12] = { 0.3, 0.5, 0.5, 0.4, 0.5, 0.5, 0.3, 0.5, 0.5, 0.4, 0.5, 0.5 }, short_segments[6] = { 0.3, 0.5, 0.5, 0.301, 0.5, 0.5 };
    int32_t three = 3, one = 1, two[2] = { 2, 2 };
    rp_fibres_def f = fibre_def(same, two, 1);
    assert_int_equal(try_fibres(&f, -9.81), RP_BAD_ARGUMENT); /* a segment without length */
    f = fibre_def(line, &one, 1);
    assert_int_equal(try_fibres(&f, -9.81), RP_BAD_ARGUMENT); /* one node */
    f = fibre_def(line, &three, 1);
    f.youngs_modulus = 0;
    assert_int_equal(try_fibres(&f, -9.81), RP_BAD_ARGUMENT);
    f.youngs_modulus = 1e13; /* the stiffest there is */
    assert_int_equal(try_fibres(&f, -9.81), RP_OK);
    f.stretch = 0;
    assert_int_equal(try_fibres(&f, 0), RP_OK);
    f = fibre_def(short_segments, two, 1);
    f.radius = 0.01; /* thicker than long */
    assert_int_equal(try_fibres(&f, -9.81), RP_OK);
    f = fibre_def(twice, two, 2); /* two fibres in one place */
    assert_int_equal(try_fibres(&f, -9.81), RP_OK);
    f = fibre_def(line, &three, 1);
    f.rest = RP_REST_SAG_FREE;
    assert_int_equal(try_fibres(&f, -9.81), RP_BAD_ARGUMENT);
    f = fibre_def(line, &three, 1);
    f.body = 3;
    assert_int_equal(try_fibres(&f, -9.81), RP_BAD_ARGUMENT);
    rp_material_def material;
    rp_sim_def def = scene(1, 0.05, 0.3, &material);
    rp_sim *sim = NULL;
    f = fibre_def(line, &three, 1);
    def.fibres = &f;
    def.fibres_count = 1;
    def.method = "ballistic";
    assert_int_equal(rp_sim_create(&def, &sim), RP_UNSUPPORTED);
}

/* A bundle at rest begins each step with the impulses that it needs. Neighbouring segments touch side by side; one that carries nothing
 * must not begin with what its neighbour carries. */
static void test_bundle_starts_with_its_impulses(void **state)
{
    (void)state;
    crossing c;
    make_crossing(&c, 1);
    int at = 0;
    for (int k = 0; k < 12; k++)
        for (int i = 0; i < 9; i++, at++) {
            int layer = k / 4;
            c.nodes[3 * at] = 0.05 + 0.0125 * i + 2e-3 * layer;
            c.nodes[3 * at + 1] = 0.09 + 2.1e-3 * (k % 4) + 1e-3 * layer + 1e-3 * sin(PI * (i + layer) / 8);
            c.nodes[3 * at + 2] = 1.1e-3 + 2.1e-3 * layer;
        }
    rp_sim *sim = make_sim(&c.def);
    run_steps(sim, 200);
    int64_t sweeps = 0, contacts = 0;
    for (int k = 0; k < 20; k++) {
        rp_step_stats stats = run_steps(sim, 1);
        assert_true(stats.converged);
        sweeps += stats.iterations;
        contacts = (int64_t)extra_of(&stats, "contacts");
    }
    assert_true(contacts > 100);
    assert_true(sweeps <= 20 * 10); /* one check a step is enough; with doubled impulses it were 190 */
    rp_sim_destroy(sim);
    rp_params_destroy(c.params);
}

/* Polylines that are written read back to the bit, and as OBJ lines they can be strands of a scene again. */
static void test_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/repose-fibres-XXXXXX", path[200], obj[200];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fibres_000000.vtkhdf", folder);
    snprintf(obj, sizeof obj, "%s/strands.obj", folder);
    crossing c;
    make_crossing(&c, 1);
    rp_sim *sim = make_sim(&c.def);
    run_steps(sim, 5);
    rp_fibres_view view;
    rp_fibres_frame frame;
    assert_int_equal(rp_sim_fibres(sim, &view), RP_OK);
    assert_int_equal(rp_fibres_write(sim, path), RP_OK);
    assert_int_equal(rp_fibres_read(path, &frame), RP_OK);
    assert_true(frame.view.count == 12 && frame.view.nodes == 108 && frame.time == rp_sim_time(sim));
    assert_memory_equal(frame.view.position, view.position, 3 * 108 * sizeof(double));
    assert_memory_equal(frame.view.first, view.first, 13 * sizeof(int64_t));
    rp_fibres_free(&frame);
    assert_int_equal(rp_convert(path, obj, NULL), RP_OK);
    assert_int_equal(rp_convert(path, "/tmp/never.stl", NULL), RP_BAD_ARGUMENT);
    assert_int_not_equal(rp_fibres_read(obj, &frame), RP_OK);
    rp_sim_destroy(sim);
    rp_params_destroy(c.params);
    remove(path);
    remove(obj);
    remove(folder);
}

/* W by blocks is what H and Y do: the same velocities for any impulses. */
static void test_blocks(void **state)
{
    (void)state;
    crossing c;
    make_crossing(&c, 1);
    rp_sim *sim = make_sim(&c.def);
    rp__contact_system *y = &((rp__contact_state *)sim->state)->system;
    for (int k = 0; k < 100 && !(y->count > 8 && y->by_blocks); k++)
        run_steps(sim, 1);
    assert_true(y->count > 8 && y->by_blocks);
    rp_friction *blocks = NULL, *columns = NULL;
    assert_int_equal(rp__contact_make_problem(y, &blocks), RP_OK);
    assert_int_equal(rp_friction_get_info(blocks).form, RP_FRICTION_LOCAL);
    y->by_blocks = false;
    assert_int_equal(rp__contact_make_problem(y, &columns), RP_OK);
    assert_int_equal(rp_friction_get_info(columns).form, RP_FRICTION_OPERATOR);
    int64_t n = 3 * y->count;
    double *r = RP_NEW_ARRAY(double, n), *u = RP_NEW_ARRAY(double, n), *v = RP_NEW_ARRAY(double, n), worst = 0, largest = 0;
    for (int64_t k = 0; k < n; k++)
        r[k] = 1e-6 * sin(7.0 * (double)k + 1);
    rp_friction_residual residual;
    assert_int_equal(rp_friction_evaluate(blocks, r, u, &residual), RP_OK);
    assert_int_equal(rp_friction_evaluate(columns, r, v, &residual), RP_OK);
    for (int64_t k = 0; k < n; k++) {
        worst = fmax(worst, fabs(u[k] - v[k]));
        largest = fmax(largest, fabs(u[k] - y->b[k]));
    }
    assert_true(largest > 0 && worst < 1e-10 * largest);
    rp_friction_destroy(blocks);
    rp_friction_destroy(columns);
    rp__base_free(r);
    rp__base_free(u);
    rp__base_free(v);
    rp_sim_destroy(sim);
    rp_params_destroy(c.params);
}

/* A problem that is written can be read, and its solution in global form is that of the step. */
static void test_dump(void **state)
{
    (void)state;
    char folder[] = "/tmp/repose-contact-XXXXXX";
    assert_non_null(mkdtemp(folder));
    crossing c;
    make_crossing(&c, 1);
    assert_int_equal(rp_params_set(c.params, "dump_problems", "1"), RP_OK);
    assert_int_equal(rp_params_set(c.params, "dump_every", "30"), RP_OK);
    assert_int_equal(rp_params_set(c.params, "dump_folder", folder), RP_OK);
    assert_int_equal(rp_params_set(c.params, "tolerance", "1e-10"), RP_OK);
    assert_int_equal(rp_params_set(c.params, "tolerance_max", "1e-9"), RP_OK);
    assert_int_equal(rp_params_set(c.params, "passes", "1"), RP_OK);
    rp_sim *sim = make_sim(&c.def);
    rp__contact_state *s = sim->state;
    while (s->dumped == 0 && s->steps < 100)
        run_steps(sim, 1);
    char path[200];
    snprintf(path, sizeof path, "%s/problem-000000.hdf5", folder);
    rp_friction *problem = NULL;
    assert_int_equal(rp_friction_read(path, &problem), RP_OK);
    assert_int_equal(rp_friction_get_info(problem).contacts, s->system.count);
    rp_friction_residual residual;
    assert_int_equal(rp_friction_evaluate(problem, s->system.r, NULL, &residual), RP_OK);
    assert_true(residual.mean < 1e-8);
    rp_friction_destroy(problem);
    rp_sim_destroy(sim);
    rp_params_destroy(c.params);
    remove(path);
    remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fibre_on_incline), cmocka_unit_test(test_capstan),
        cmocka_unit_test(test_thick_rope_on_a_drum),
        cmocka_unit_test(test_stick_slip),       cmocka_unit_test(test_crossing_fibres_rest),
        cmocka_unit_test(test_threads_and_restarts_keep_the_bytes), cmocka_unit_test(test_no_tunnelling),
        cmocka_unit_test(test_bundle_starts_with_its_impulses),
        cmocka_unit_test(test_bad_fibres),       cmocka_unit_test(test_blocks), cmocka_unit_test(test_dump), cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
