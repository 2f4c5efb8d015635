/* The stage: a scene set up as a film would show it, for programs that draw by themselves. */
#include "render/film.h"

#include <string.h>

/* A film of this scene that has no folder. */
static rp_film film_of(const rp_scene *scene, int width, int height)
{
    rp_film film = { .sim = rp_scene_sim_def(scene), .out = rp_scene_output(scene), .def = rp_default_film_def() };
    film.def.quality = RP_DRAFT;
    film.def.width = width, film.def.height = height;
    film.def.turntable = film.out->turntable;
    film.def.aperture = film.out->aperture;
    rp__film_find_up(&film);
    return film;
}

static rp_result fill(rp_film *film, const rp_frame *first, rp_stage *stage)
{
    film_ground ground;
    RP_TRY(rp__film_make_bodies(film));
    rp__film_find_containers(film, first);
    RP_TRY(rp__film_find_tray(film, first));
    RP_TRY(rp__film_choose_view(film, first));
    RP_TRY(rp__film_ground(film, &ground));
    stage->bodies = rp__base_alloc_zero(sizeof *stage->bodies * (size_t)(film->body_count + 1));
    if (!stage->bodies)
        return RP_OUT_OF_MEMORY;
    stage->view = film->view;
    stage->up_axis = film->up_axis, stage->up_sign = film->up_sign;
    stage->tray = film->tray;
    stage->ground = ground.present;
    memcpy(stage->ground_point, ground.point, sizeof ground.point);
    memcpy(stage->ground_normal, ground.normal, sizeof ground.normal);
    memcpy(stage->ground_colour, ground.colour, 3);
    rp_picture usual = rp_default_picture();
    memcpy(stage->sun, usual.sun, sizeof stage->sun);
    memcpy(stage->background, usual.background, 3);
    rp__film_sun(film, stage->sun);
    stage->body_count = film->body_count;
    for (int b = 0; b < film->body_count; b++) { /* the meshes change hands */
        stage->bodies[b].mesh = film->bodies[b].mesh;
        stage->bodies[b].container = film->bodies[b].container;
        memset(&film->bodies[b].mesh, 0, sizeof film->bodies[b].mesh);
    }
    return RP_OK;
}

rp_result rp_stage_make(const rp_scene *scene, const rp_frame *first, int width, int height, rp_stage *out)
{
    if (width < 1 || height < 1)
        return rp__base_fail(RP_BAD_ARGUMENT, "a stage of %d by %d pixels cannot be framed", width, height);
    rp_film film = film_of(scene, width, height);
    rp_stage stage = { 0 };
    rp_result result = fill(&film, first, &stage);
    for (int b = 0; film.bodies && b < film.body_count; b++)
        rp_mesh_free(&film.bodies[b].mesh);
    rp__base_free(film.bodies);
    if (result != RP_OK)
        rp_stage_free(&stage);
    else
        *out = stage;
    return result;
}

rp_view rp_stage_view(const rp_scene *scene, const rp_stage *stage, double time)
{
    rp_film film = film_of(scene, 1, 1);
    film.view = stage->view;
    return rp__film_view_at(&film, time);
}

void rp_stage_free(rp_stage *stage)
{
    for (int b = 0; stage->bodies && b < stage->body_count; b++)
        rp_mesh_free(&stage->bodies[b].mesh);
    rp__base_free(stage->bodies);
    memset(stage, 0, sizeof *stage);
}
