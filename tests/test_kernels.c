/* Kernels for several kinds of processor: each that this one runs is the same method, the same bytes every time, and the same results as
 * the plainest but for rounding. A build for one processor has one; tests/portable_long.sh runs this with several. */
#include <repose/machine.h>
#include <repose/repose.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition, ...)              \
    do {                                   \
        if (!(condition)) {                \
            printf("line %d: ", __LINE__); \
            printf(__VA_ARGS__);           \
            printf(" (%s)\n", rp_last_error()); \
            failures++;                    \
        }                                  \
    } while (0)

typedef struct outcome {
    double centre[3], energy, bytes; /* of mass; [J]; a sum over the bytes of the state */
} outcome;

/* A column beside a free ball, made without a scene file: the core alone has it too. */
static rp_sim *make(const char *method, int dim)
{
    rp_material_def sand = rp_default_material_def();
    rp_grains_def column = rp_default_grains_def();
    rp_body_def ball = rp_default_body_def();
    rp_fluid_def water = rp_default_fluid_def();
    rp_sim_def def = rp_default_sim_def();
    rp_sim *sim = NULL;
    const double lower[3] = { 0.05, 0.05, 0 }, upper[3] = { 0.2, 0.2, dim == 2 ? 1 : 0.2 };
    sand.youngs_modulus = 1e4;
    def.dim = dim;
    for (int a = 0; a < dim; a++)
        def.lower[a] = 0, def.upper[a] = 0.4;
    if (dim == 2)
        def.gravity[1] = def.gravity[2], def.gravity[2] = 0;
    def.cell_size = 0.05, def.frame_rate = 50, def.duration = 10, def.threads = 1;
    def.materials = &sand, def.material_count = 1;
    def.grains = &column, def.grains_count = 1;
    def.bodies = &ball, def.body_count = 1;
    def.fluid = strcmp(method, "diphasic") == 0 ? &water : NULL;
    def.method = method;
    column.per_cell = 4;
    ball.kind = RP_BODY_FREE;
    ball.position[0] = 0.3, ball.position[1] = 0.1, ball.position[2] = dim == 3 ? 0.1 : 0;
    if (rp_shape_box(lower, upper, 0, &column.shape) != RP_OK || rp_shape_sphere((const double[3]){ 0, 0, 0 }, 0.04, &ball.shape) != RP_OK ||
        rp_sim_create(&def, &sim) != RP_OK)
        CHECK(false, "%s in %dD was not created", method, dim);
    rp_shape_release(column.shape);
    rp_shape_release(ball.shape);
    return sim;
}

static outcome run(const char *method, int dim, int steps)
{
    outcome o = { { 0, 0, 0 }, 0, 0 };
    rp_sim *sim = make(method, dim);
    rp_step_stats stats = { 0 };
    rp_sums sums = { 0 };
    rp_state state = { 0 };
    for (int i = 0; sim && i < steps; i++)
        CHECK(rp_sim_step(sim, &stats) == RP_OK, "%s in %dD, step %d", method, dim, i);
    if (sim && rp_sim_sums(sim, NULL, &sums) == RP_OK && rp_sim_save(sim, &state) == RP_OK) {
        memcpy(o.centre, sums.centre, sizeof o.centre);
        o.energy = sums.kinetic_energy;
        uint32_t sum = 2166136261u;
        for (int b = 0; b < state.count; b++) {
            bool wide = state.blobs[b].type == RP_F64 || state.blobs[b].type == RP_I64;
            const unsigned char *bytes = state.blobs[b].data;
            for (int64_t i = 0; i < state.blobs[b].count * (wide ? 8 : 4); i++)
                sum = (sum ^ bytes[i]) * 16777619u;
        }
        o.bytes = sum;
    }
    rp_state_free(&state);
    rp_sim_destroy(sim);
    return o;
}

int main(void)
{
    int count = rp_machine_kernels_count();
    CHECK(count >= 1 && rp_machine_kernels_at(count) == NULL && rp_machine_kernels_at(-1) == NULL, "%d kinds of kernels", count);
    printf("chosen: %s\n", rp_machine_kernels());
    if (getenv("REPOSE_KERNELS"))
        CHECK(strcmp(rp_machine_kernels(), getenv("REPOSE_KERNELS")) == 0, "%s", rp_machine_kernels());
    else
        CHECK(strcmp(rp_machine_kernels(), rp_machine_kernels_at(count - 1)) == 0, "%s", rp_machine_kernels());
    CHECK(rp_machine_set_kernels("x86-64-v99") == RP_NOT_FOUND && strstr(rp_last_error(), "x86-64-v99"), "an unknown name is taken");
    for (int m = 0; m < rp_method_count(); m++)
        for (int dim = 2; dim <= 3; dim++) {
            const char *method = rp_method_at(m)->name;
            outcome plain = { { 0, 0, 0 }, 0, 0 };
            for (int k = 0; k < count; k++) {
                const char *name = rp_machine_kernels_at(k);
                CHECK(rp_machine_set_kernels(name) == RP_OK && strcmp(rp_machine_kernels(), name) == 0, "%s", name);
                outcome o = run(method, dim, 6), again = run(method, dim, 6);
                plain = k == 0 ? o : plain;
                double away = 0;
                for (int a = 0; a < 3; a++)
                    away = fmax(away, fabs(o.centre[a] - plain.centre[a]));
                printf("%-14s %dD %-10s centre off by %.1e m, energy by %.1e\n", method, dim, name, away,
                       plain.energy > 0 ? fabs(o.energy - plain.energy) / plain.energy : 0);
                CHECK(o.bytes == again.bytes && o.bytes != 0, "%s in %dD with %s is not the same twice", method, dim, name);
                /* solvers end by a tolerance of 1e-4: what rounding changes lies below what they leave */
                CHECK(away < 1e-5 && fabs(o.energy - plain.energy) <= 2e-2 * plain.energy + 1e-9, "%s in %dD with %s differs", method, dim, name);
            }
        }
    CHECK(rp_machine_set_kernels(NULL) == RP_OK && strcmp(rp_machine_kernels(), rp_machine_kernels_at(count - 1)) == 0, "not the best again");
    return failures != 0;
}
