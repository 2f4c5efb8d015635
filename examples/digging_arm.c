/* A robot arm that digs: a bucket is led from pose to pose, a target for each frame, and feels what it pushes. */
#include "example.h"

#include <math.h>

static const char bed[] =
    "method: elastoplastic\ndomain: [0.8, 0.2, 0.5]\ncell_size: 4 cm\nduration: 0.6 s\nframe_rate: 50\n"
    "walls: {all: slip, bottom: 0.5}\nmaterial: {preset: dry-sand, youngs_modulus: 30 kPa}\n"
    "grains: [{shape: {box: {lower: [0, 0, 0], upper: [0.8, 0.2, 0.16]}}, per_cell: 4}]\n"
    "bodies: [{name: bucket, shape: {box: {lower: [-0.02, -0.1, -0.12], upper: [0.02, 0.1, 0.12]}}, position: [0.2, 0.1, 0.34]}]\n";

int main(void)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    TRY(rp_scene_parse(bed, "bed", NULL, NULL, &scene));
    TRY(rp_sim_create(rp_scene_sim_def(scene), &sim));
    rp_scene_destroy(scene);

    double largest = 0;
    for (int frame = 1; !rp_sim_done(sim); frame++) {
        /* down into the sand, then along, then up and tilted */
        double s = frame / 30.0, x = s < 0.3 ? 0.2 : s < 0.8 ? 0.2 + 0.5 * (s - 0.3) : 0.45, turn = s < 0.8 ? 0 : 1.5 * (s - 0.8);
        double z = s < 0.3 ? 0.34 - 0.6 * s : s < 0.8 ? 0.16 : 0.16 + 0.8 * (s - 0.8);
        const double position[3] = { x, 0.1, z }, orientation[4] = { cos(turn / 2), 0, sin(turn / 2), 0 };
        TRY(rp_sim_set_body_target(sim, 0, position, orientation, frame / 50.0)); /* there at the end of the frame */
        do {
            TRY(rp_sim_step(sim, NULL));
            rp_body_state bucket;
            TRY(rp_sim_body(sim, 0, &bucket));
            largest = fmax(largest, fabs(bucket.force[0]));
        } while (!rp_sim_at_frame(sim));
        rp_body_state bucket;
        TRY(rp_sim_body(sim, 0, &bucket));
        CHECK(bucket.position[0] == x && bucket.position[2] == z); /* to the bit */
    }
    double before, behind;
    bool there;
    TRY(rp_sim_surface(sim, 0.6, 0.1, &before, &there));
    TRY(rp_sim_surface(sim, 0.28, 0.1, &behind, &there));
    printf("the bucket was pushed back by %.1f N; the sand is %.3f m high before it and %.3f m behind\n", largest, before, behind);
    CHECK(largest > 1 && before > behind + 0.01);
    rp_sim_destroy(sim);
    return 0;
}
