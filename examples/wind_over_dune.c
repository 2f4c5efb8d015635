/* Wind over a dune: a stream of air drags the upper grains along, inside a box only; a gust kicks once. */
#include "example.h"

static const char dune[] =
    "method: elastoplastic\ndomain: [1.2, 0.5]\ncell_size: 3 cm\nduration: 0.8 s\nframe_rate: 25\nwalls: {all: slip, bottom: stick}\n"
    "material: {preset: dry-sand, youngs_modulus: 50 kPa}\n"
    "grains: [{shape: {ellipsoid: {centre: [0.4, 0, 0], semi_axes: [0.3, 0.15, 1]}}, per_cell: 4}]\n";

static double centre_of_mass(rp_sim *sim)
{
    rp_sums sums;
    TRY(rp_sim_sums(sim, NULL, &sums));
    return sums.centre[0];
}

int main(void)
{
    double moved[2];
    for (int windy = 0; windy < 2; windy++) {
        rp_scene *scene = NULL;
        rp_sim *sim = NULL;
        TRY(rp_scene_parse(dune, "dune", NULL, NULL, &scene));
        TRY(rp_sim_create(rp_scene_sim_def(scene), &sim));
        rp_scene_destroy(scene);
        double begin = centre_of_mass(sim);
        if (windy) {
            rp_force_def wind = rp_default_force_def();
            const double middle[3] = { 0.6, 0.3, 0 }, half[3] = { 0.6, 0.22, 1 };
            TRY(rp_shape_box(middle, half, 0, &wind.shape)); /* above 8 cm */
            wind.name = "wind";
            wind.kind = RP_FORCE_DRAG;
            wind.vector[0] = 4;  /* m/s */
            wind.strength = 5;   /* 1/s */
            TRY(rp_sim_add_force(sim, &wind));
            TRY(rp_sim_kick(sim, &wind, 0.02)); /* a gust: as much as in 20 ms, at once */
            rp_shape_release(wind.shape);
        }
        while (!rp_sim_done(sim)) {
            TRY(rp_sim_step(sim, NULL));
            if (windy && rp_sim_time(sim) > 0.5 && rp_sim_time(sim) < 0.55)
                TRY(rp_sim_set_gravity(sim, (const double[3]){ 0, -9.81, 0 })); /* anything may change while it blows */
        }
        moved[windy] = centre_of_mass(sim) - begin;
        rp_sim_destroy(sim);
    }
    printf("the dune moved by %.4f m in the calm and by %.4f m in the wind\n", moved[0], moved[1]);
    CHECK(moved[1] > moved[0] + 0.01);
    return 0;
}
