/* Asking: the surface of a heap, what a ray meets, what lies in a box, what pushes on a body. */
#include "example.h"

#include <math.h>

static const char scene_text[] =
    "method: nonsmooth\ndomain: [1, 1, 0.625]\ncell_size: 6.25 cm\nduration: 0.2 s\nframe_rate: 25\nwalls: {all: slip, bottom: 0.5}\n"
    "material: dry-sand\ngrains: [{shape: {box: {lower: [0, 0, 0], upper: [1, 1, 0.2]}}, per_cell: 4}]\n"
    "bodies: [{name: stone, kind: free, density: 2500, shape: {sphere: {radius: 12 cm}}, position: [0.5, 0.5, 0.32]}]\n";

int main(void)
{
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    TRY(rp_scene_parse(scene_text, "bed", NULL, NULL, &scene));
    TRY(rp_sim_create(rp_scene_sim_def(scene), &sim));
    rp_scene_destroy(scene);
    TRY(rp_sim_record_contacts(sim, true));
    rp_step_stats stats;
    while (!rp_sim_done(sim))
        TRY(rp_sim_step(sim, &stats));

    for (double x = 0.05; x < 1; x += 0.1) { /* a line of heights across */
        double height;
        bool there;
        TRY(rp_sim_surface(sim, x, 0.2, &height, &there));
        CHECK(there && fabs(height - 0.2) < 0.05);
        printf("%.3f ", height);
    }
    rp_ray_hit hit;
    const double above[3] = { 0.5, 0.5, 0.6 }, down[3] = { 0, 0, -1 };
    TRY(rp_sim_ray(sim, above, down, 1, RP_ASK_ALL, &hit));
    CHECK(hit.what == RP_ASK_BODIES && hit.body == 0);

    int64_t count;
    const double low[3] = { 0, 0, 0 }, high[3] = { 1, 1, 0.05 };
    TRY(rp_sim_grains_in_box(sim, low, high, NULL, 0, &count));
    CHECK(count > 0);

    const rp_contact *contacts;
    double push = 0;
    TRY(rp_sim_contacts(sim, &contacts, &count));
    for (int64_t i = 0; i < count; i++)
        if (contacts[i].body == 0)
            push += contacts[i].impulse[2] / stats.dt;
    rp_body_state stone;
    TRY(rp_sim_body(sim, 0, &stone));
    printf("\nthe stone lies %.3f m under the eye; %lld contacts push it up with %.1f N of its weight of %.1f N\n", hit.distance,
           (long long)count, push, 9.81 * stone.mass);
    CHECK(fabs(push - stone.force[2]) < 1e-6 * fabs(push));

    double points[6] = { 0.2, 0.2, 0.05, 0.2, 0.2, 0.5 }, pressure[2], fill[2];
    TRY(rp_sim_sample(sim, "pressure", points, 2, pressure, fill));
    printf("the pressure is %.0f Pa in the bed; in the air there is %s\n", pressure[0], fill[1] > 0 ? "material" : "none");
    CHECK(pressure[0] > 0 && fill[0] > 0.5 && fill[1] == 0);
    rp_sim_destroy(sim);
    return 0;
}
