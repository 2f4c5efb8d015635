/* Two simulations in two threads of one program, each with its own memory and messages. */
#include "example.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct job {
    const char *method;
    atomic_size_t bytes;
    double centre;
} job;

static void *take(void *context, size_t alignment, size_t size)
{
    atomic_fetch_add(&((job *)context)->bytes, size);
    return aligned_alloc(alignment, size);
}

static void give(void *context, void *block, size_t size)
{
    atomic_fetch_sub(&((job *)context)->bytes, size);
    free(block);
}

static void hear(void *context, rp_log_level level, const char *message)
{
    fprintf(stderr, "%s: %s%s\n", ((job *)context)->method, level >= RP_LOG_WARNING ? "warning: " : "", message);
}

static void *run(void *context)
{
    job *j = context;
    rp_allocator allocator = { take, give, j };
    rp_material_def sand = rp_default_material_def();
    sand.youngs_modulus = 5e4;
    rp_grains_def ball = rp_default_grains_def();
    TRY(rp_shape_sphere((const double[3]){ 0.5, 0.5, 0 }, 0.2, &ball.shape));
    ball.per_cell = 4;
    rp_sim_def def = rp_default_sim_def();
    def.dim = 2;
    def.cell_size = 0.05;
    def.gravity[1] = -9.81, def.gravity[2] = 0;
    def.duration = 0.4;
    def.method = j->method;
    def.materials = &sand, def.material_count = 1;
    def.grains = &ball, def.grains_count = 1;
    def.threads = 1;
    def.allocator = &allocator;
    def.log = hear, def.log_context = j;
    rp_sim *sim = NULL;
    TRY(rp_sim_create(&def, &sim));
    while (!rp_sim_done(sim))
        TRY(rp_sim_step(sim, NULL));
    rp_sums sums;
    TRY(rp_sim_sums(sim, NULL, &sums));
    j->centre = sums.centre[1];
    rp_sim_destroy(sim);
    rp_shape_release(ball.shape);
    return NULL;
}

int main(void)
{
    job jobs[2] = { { .method = "nonsmooth" }, { .method = "elastoplastic" } };
    pthread_t threads[2];
    for (int k = 0; k < 2; k++)
        if (pthread_create(&threads[k], NULL, run, &jobs[k]) != 0)
            return 1;
    for (int k = 0; k < 2; k++) {
        pthread_join(threads[k], NULL);
        CHECK(atomic_load(&jobs[k].bytes) == 0); /* every byte came back */
        printf("%s: the centre of mass is at %.3f m\n", jobs[k].method, jobs[k].centre);
        CHECK(jobs[k].centre > 0 && jobs[k].centre < 0.3);
    }
    return 0;
}
