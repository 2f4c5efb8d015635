/* Grains at the start have the volume of their room. Emitters: grains come only where there is room, however the emitter lies and whatever is driven
 * through it. */
#include "sim/action_tests.h"

#define SPOUT                                                                                                                  \
    "domain: [0.4, 0.2, 0.3]\ncell_size: 2 cm\nduration: 0.2 s\nframe_rate: 20\nwalls: {all: slip}\nmaterial: dry-sand\n"       \
    "bodies: [{name: plate, shape: {box: {lower: [-0.06, -0.1, -0.03], upper: [0.06, 0.1, 0.03]}}, position: [0.08, 0.1, 0.1]}]\n" \
    "emitters: [{shape: {box: {lower: [0.2, 0, 0.23], upper: [0.34, 0.2, 0.34]}}, velocity: [0, 0, -0.4], rate: 4 l/s}]\n"

static const char *const methods[] = { "ballistic", "nonsmooth", "elastoplastic", "pbd", "contact" };
enum { METHODS = sizeof methods / sizeof *methods };

static rp_sim *spout(const char *method)
{
    char text[1024];
    snprintf(text, sizeof text, "method: %s\n" SPOUT, method);
    return make(text);
}

static void steps_until(rp_sim *sim, double time)
{
    while (rp_sim_time(sim) < time - 1e-12)
        ok(rp_sim_step_to(sim, time, NULL));
}

static const int64_t *ids_of(const rp_sim *sim)
{
    for (int f = 0; f < rp_sim_field_count(sim); f++) {
        rp_field_view view;
        ok(rp_sim_field(sim, f, &view));
        if (strcmp(view.info.name, "id") == 0)
            return view.data;
    }
    fail_msg("grains have no id");
    return NULL;
}

/* The emitter reaches beyond the lid, and its places are shifted in each step: still all grains are in the room, and the state can
 * be taken back. */
static void test_an_emitter_across_a_wall(void **test)
{
    (void)test;
    for (int m = 0; m < METHODS; m++) {
        rp_sim *sim = spout(methods[m]), *other = spout(methods[m]);
        rp_state state;
        int64_t born = 0;
        for (double t = 0.01; t < 0.1; t += 0.01) {
            steps_until(sim, t);
            const double *z = plane(sim, "position", 2);
            born = rp_sim_particle_count(sim);
            for (int64_t i = 0; i < born; i++)
                if (!(z[i] >= 0 && z[i] <= 0.3))
                    fail_msg("%s: a grain at z = %g m at t = %g s", methods[m], z[i], t);
            ok(rp_sim_save(sim, &state));
            ok(rp_sim_restore(other, &state));
            rp_state_free(&state);
        }
        assert_true(born > 20);
        rp_sim_destroy(sim);
        rp_sim_destroy(other);
    }
}

/* A plate is put into the emitter: from then on grains come beside it only. */
static void test_a_body_in_an_emitter(void **test)
{
    (void)test;
    for (int m = 0; m < METHODS; m++) {
        rp_sim *sim = spout(methods[m]);
        const double there[3] = { 0.22, 0.1, 0.27 };
        ok(rp_sim_set_body_pose(sim, 0, there, still));
        int64_t known = 0, born = 0;
        while (rp_sim_time(sim) < 0.06) {
            ok(rp_sim_step(sim, NULL));
            const int64_t *id = ids_of(sim);
            const double *x = plane(sim, "position", 0), *z = plane(sim, "position", 2);
            for (int64_t i = 0; i < rp_sim_particle_count(sim); i++) {
                bool new = id[i] >= known;
                born += new;
                if (new && fabs(x[i] - 0.22) < 0.0599 && z[i] > 0.2401)
                    fail_msg("%s: a grain begins in the plate, at x = %g, z = %g m", methods[m], x[i], z[i]);
            }
            for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
                known = id[i] >= known ? id[i] + 1 : known;
        }
        assert_true(born > 0);
        rp_sim_destroy(sim);
    }
}

/* An emitter that is kept full pours sand of its own density, not more: the bulk volume in its shape over that of the shape, at every direction and
 * speed of the stream (1.14 where a new grain only keeps 0.8 spacings from others). */
static void test_a_full_emitter_is_not_overfull(void **test)
{
    (void)test;
    static const char *const velocities[] = { "[0, -1]", "[0.3, -0.9]", "[-0.5, -0.5]", "[0.05, -2.3]" };
    for (int k = 0; k < 4; k++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "method: ballistic\ndomain: [4, 4]\ncell_size: 10 cm\nduration: 2 s\nframe_rate: 100\ngravity: [0, 0]\nwalls: {all: open}\n"
                 "material: {preset: dry-sand, volume_fraction: 0.6}\n"
                 "emitters: [{shape: {box: {lower: [1.03, 2.01], upper: [2.07, 3.04]}}, velocity: %s, rate: 0, per_cell: 4}]\n",
                 velocities[k]);
        rp_sim *sim = make(text);
        double sum = 0;
        int times = 0;
        for (double t = 0.2; t < 0.8; t += 0.037, times++) {
            steps_until(sim, t);
            const double *x = plane(sim, "position", 0), *y = plane(sim, "position", 1), *volume = plane(sim, "volume", 0);
            for (int64_t i = 0; i < rp_sim_particle_count(sim); i++)
                if (x[i] > 1.03 && x[i] < 2.07 && y[i] > 2.01 && y[i] < 3.04)
                    sum += volume[i] / 0.6 / (1.04 * 1.03);
        }
        print_message("velocity %s: filled to %.3f\n", velocities[k], sum / times);
        if (fabs(sum / times - 1) > 0.04)
            fail_msg("velocity %s: filled to %g", velocities[k], sum / times);
        rp_sim_destroy(sim);
    }
}

/* A bed on a ramp, level above, in a domain whose sites end nowhere where the bed does: its mass is ρ φ times its area, and it rests. */
static void test_a_bed_on_a_ramp_has_its_mass(void **test)
{
    (void)test;
    static const char *const grids[] = { "nonsmooth", "elastoplastic", "ballistic", "diphasic" };
    const double slope = tan(0.2), foot = -0.451 + 0.5 / cos(0.2), area = 0.4 * (0.203 - foot - 0.003 * slope);
    for (int m = 0; m < 4; m++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "method: %s\ndomain: [0.4, 0.3]\ncell_size: 2 cm\nduration: 0.1 s\nframe_rate: 20\nwalls: {all: slip, top: open}\n%s"
                 "material: {density: 2000, volume_fraction: 0.6, friction: 0.6}\n"
                 "grains: [{shape: {box: {lower: [0, 0], upper: [0.4, 0.203]}}, per_cell: 6}]\n"
                 "bodies: [{name: ramp, shape: {box: {size: [2, 1, 2]}}, position: [0.197, -0.451], rotation: [0, 0, 0.2], surface: 0.6}]\n",
                 grids[m], m == 3 ? "fluid: {density: 1000, viscosity: 1e-3}\n" : "");
        rp_sim *sim = make(text);
        rp_sums sums, after;
        ok(rp_sim_sums(sim, NULL, &sums));
        if (fabs(sums.mass / (0.6 * 2000 * area) - 1) > 1e-5)
            fail_msg("%s: %g kg/m of %g", grids[m], sums.mass, 0.6 * 2000 * area);
        if (m == 0) {
            steps_until(sim, 0.1);
            ok(rp_sim_sums(sim, NULL, &after));
            for (int a = 0; a < 2; a++)
                assert_true(fabs(after.centre[a] - sums.centre[a]) < 1e-3 * 0.02);
        }
        rp_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bed_on_a_ramp_has_its_mass),
        cmocka_unit_test(test_an_emitter_across_a_wall),
        cmocka_unit_test(test_a_body_in_an_emitter),
        cmocka_unit_test(test_a_full_emitter_is_not_overfull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
