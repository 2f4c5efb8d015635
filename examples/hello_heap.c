/* Hello, heap: a column of sand falls apart, and comes to rest at its angle. */
#include "example.h"

#include <math.h>

int main(void)
{
    rp_material_def sand = rp_default_material_def();
    sand.friction_angle = 30 * 3.14159265358979 / 180;

    rp_grains_def column = rp_default_grains_def();
    const double centre[3] = { 0, 0.1, 0 }, half[3] = { 0.1, 0.1, INFINITY };
    TRY(rp_shape_box(centre, half, 0, &column.shape));
    column.per_cell = 4;

    rp_sim_def def = rp_default_sim_def();
    def.dim = 2;
    def.lower[0] = -0.6, def.upper[0] = 0.6, def.upper[1] = 0.3;
    def.cell_size = 0.02;
    def.gravity[1] = -9.81, def.gravity[2] = 0;
    def.wall[2] = (rp_surface){ RP_STICK, 0, 0 }; /* the ground, -y */
    def.duration = 1;
    def.materials = &sand, def.material_count = 1;
    def.grains = &column, def.grains_count = 1;

    rp_sim *sim = NULL;
    TRY(rp_sim_create(&def, &sim)); /* keeps what it needs */
    rp_shape_release(column.shape);

    rp_step_stats stats;
    double begin = 0;
    while (!rp_sim_done(sim)) {
        TRY(rp_sim_step(sim, &stats));
        begin = fmax(begin, stats.kinetic_energy);
    }
    double height, edge;
    bool there;
    TRY(rp_sim_surface(sim, 0, 0, &height, &there));
    CHECK(there);
    for (edge = 0; there && edge < 0.58; edge += 0.01) {
        double h;
        TRY(rp_sim_surface(sim, edge, 0, &h, &there));
    }
    printf("after %lld steps the heap is %.3f m high and reaches %.2f m; it moves with %.1e of its largest energy\n",
           (long long)stats.step, height, edge, stats.kinetic_energy / begin);
    CHECK(height < 0.19 && edge > 0.12 && stats.kinetic_energy < 0.02 * begin);
    rp_sim_destroy(sim);
    return 0;
}
