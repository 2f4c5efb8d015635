/* A performance and its replay: a paddle is moved by hand with a fast method; the journal gives the same bytes again, and then the same
 * motion under another method and on finer cells. */
#include "example.h"

#include <math.h>
#include <string.h>

static const char scene_text[] =
    "domain: [0.6, 0.3]\nduration: 0.5 s\nframe_rate: 25\nwalls: {all: slip, bottom: 0.5}\n"
    "material: {preset: dry-sand, youngs_modulus: 20 kPa}\ngrains: [{shape: {box: {lower: [0, 0], upper: [0.3, 0.09]}}, per_cell: 4}]\n"
    "bodies: [{name: paddle, shape: {box: {lower: [-0.015, 0, -1], upper: [0.015, 0.12, 1]}}, position: [0.4, 0.02, 0]}]\n";

static rp_sim *make(const char *method, const char *cells)
{
    char set_method[64], set_cells[64];
    snprintf(set_method, sizeof set_method, "method=%s", method);
    snprintf(set_cells, sizeof set_cells, "cell_size=%s", cells);
    const char *set[2] = { set_method, set_cells };
    rp_scene_options options = { set, 2 };
    rp_scene *scene = NULL;
    rp_sim *sim = NULL;
    TRY(rp_scene_parse(scene_text, "scene", NULL, &options, &scene));
    TRY(rp_sim_create(rp_scene_sim_def(scene), &sim));
    rp_scene_destroy(scene);
    return sim;
}

static double paddle_at_the_end(rp_sim *sim)
{
    rp_body_state paddle;
    TRY(rp_sim_body(sim, 0, &paddle));
    return paddle.position[0];
}

int main(void)
{
    rp_sim *hand = make("ballistic", "3 cm");
    while (!rp_sim_done(hand)) { /* a hand that moves to and fro */
        double t = rp_sim_time(hand), x = 0.4 - 0.2 * sin(3 * t) * sin(3 * t);
        TRY(rp_sim_set_body_target(hand, 0, (const double[3]){ x, 0.02, 0 }, (const double[4]){ 1, 0, 0, 0 }, RP_NEXT_STEP));
        TRY(rp_sim_step(hand, NULL));
    }

    rp_sim *again = make("ballistic", "3 cm");
    TRY(rp_sim_replay(again, rp_sim_journal(hand)));
    while (!rp_sim_done(again))
        TRY(rp_sim_step(again, NULL));
    rp_state a, b;
    TRY(rp_sim_save(hand, &a));
    TRY(rp_sim_save(again, &b));
    for (int k = 0; k < b.count; k++) { /* the last mark of the journal is still to come */
        const rp_blob *other = rp_state_find(&a, b.blobs[k].name);
        size_t width = b.blobs[k].type == RP_F64 || b.blobs[k].type == RP_I64 ? 8 : 4;
        if (strncmp(b.blobs[k].name, "drive/", 6) != 0)
            CHECK(other && other->count == b.blobs[k].count && memcmp(other->data, b.blobs[k].data, (size_t)other->count * width) == 0);
    }
    rp_state_free(&a);
    rp_state_free(&b);

    static const char *const others[][2] = { { "elastoplastic", "3 cm" }, { "elastoplastic", "1.5 cm" } };
    for (int k = 0; k < 2; k++) {
        rp_sim *sim = make(others[k][0], others[k][1]);
        TRY(rp_sim_replay(sim, rp_sim_journal(hand)));
        while (!rp_sim_done(sim))
            TRY(rp_sim_step(sim, NULL));
        double height;
        bool there;
        TRY(rp_sim_surface(sim, 0.1, 0, &height, &there));
        printf("%s, cells of %s: %lld steps, the paddle ends at %.6f m, the sand is %.3f m high\n", others[k][0], others[k][1],
               (long long)rp_sim_steps(sim), paddle_at_the_end(sim), height);
        CHECK(fabs(paddle_at_the_end(sim) - paddle_at_the_end(hand)) < 1e-12);
        rp_sim_destroy(sim);
    }
    rp_sim_destroy(hand);
    rp_sim_destroy(again);
    return 0;
}
