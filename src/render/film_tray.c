/* Boards around a bed of grains that fills its box from wall to wall: without them it would stand on the ground like a cake. */
#include "render/film.h"

#include <math.h>
#include <string.h>

static bool is_closed(rp_surface_kind kind)
{
    return kind == RP_STICK || kind == RP_SLIP || kind == RP_FRICTIONAL;
}

typedef struct plan {
    int up, side[2];              /* axes */
    int64_t size[2];              /* cells on the two sides */
    double floor, sign;
} plan;

static bool make_plan(const rp_film *film, plan *p)
{
    const rp_sim_def *sim = film->sim;
    p->up = film->up_axis, p->sign = film->up_sign;
    p->floor = p->sign > 0 ? sim->lower[p->up] : sim->upper[p->up];
    for (int k = 0, d = 0; d < 3; d++) {
        if (d == p->up)
            continue;
        if (!is_closed(sim->wall[2 * d].kind) || !is_closed(sim->wall[2 * d + 1].kind))
            return false;
        p->side[k] = d;
        p->size[k] = (int64_t)((sim->upper[d] - sim->lower[d]) / sim->cell_size + 0.5);
        if (p->size[k] < 4 || p->size[k] > 20000)
            return false;
        k++;
    }
    return is_closed(sim->wall[2 * p->up + (p->sign > 0 ? 0 : 1)].kind);
}

/* Heights of the lowest and highest grain in each column of cells. */
static void measure(const rp_film *film, const plan *p, const rp_field_view *x, float *low, float *high)
{
    const rp_sim_def *sim = film->sim;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t at[2];
        for (int k = 0; k < 2; k++) {
            double v = ((const double *)x->data)[p->side[k] * x->stride + i];
            at[k] = (int64_t)floor((v - sim->lower[p->side[k]]) / sim->cell_size);
            at[k] = at[k] < 0 ? 0 : at[k] >= p->size[k] ? p->size[k] - 1 : at[k];
        }
        float height = (float)(p->sign * (((const double *)x->data)[p->up * x->stride + i] - p->floor));
        int64_t c = at[0] + p->size[0] * at[1];
        low[c] = fminf(low[c], height);
        high[c] = fmaxf(high[c], height);
    }
}

/* The height of a bed whose grains lie along the four walls, from the floor to about one height (where a tool stands there may be less);
 * 0 when there is none. */
static double bed_height(const rp_film *film, const plan *p, const float *low, const float *high)
{
    double cell = film->sim->cell_size, most = 0;
    int64_t along = 0, full = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < p->size[1]; j++)
            for (int64_t i = 0; i < p->size[0]; i++) {
                int64_t c = i + p->size[0] * j;
                if (i > 0 && j > 0 && i < p->size[0] - 1 && j < p->size[1] - 1)
                    continue;
                bool lies = low[c] < 1.5 * cell;
                if (pass == 0) {
                    along++;
                    most = fmax(most, lies ? (double)high[c] : 0);
                } else
                    full += lies && (double)high[c] > fmin(0.65 * most, most - 1.5 * cell);
            }
    double width = cell * (double)(p->size[0] < p->size[1] ? p->size[0] : p->size[1]);
    return most > 0 && 8 * full >= 7 * along && most < 0.75 * width ? most + 0.3 * cell : 0;
}

rp_result rp__film_find_tray(rp_film *film, const rp_frame *first)
{
    const rp_field_view *x = rp_frame_field(first, "position");
    plan p;
    film->tray = 0;
    if (film->sim->dim != 3 || first->count == 0 || !x || x->info.type != RP_F64 ||
        (film->out->walls && strcmp(film->out->walls, "none") == 0) || !make_plan(film, &p))
        return RP_OK;
    int64_t n = p.size[0] * p.size[1];
    float *low = RP_NEW_ARRAY(float, n), *high = RP_NEW_ARRAY(float, n);
    rp_result result = low && high ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        for (int64_t c = 0; c < n; c++)
            low[c] = INFINITY, high[c] = -INFINITY;
        measure(film, &p, x, low, high);
        film->tray = bed_height(film, &p, low, high);
    }
    rp__base_free(low);
    rp__base_free(high);
    return result;
}

rp_result rp__film_add_board(rp_render *render, const double a[3], const double b[3], const uint8_t colour[3], double opacity)
{
    double vertices[24];
    for (int k = 0; k < 8; k++)
        for (int d = 0; d < 3; d++)
            vertices[3 * k + d] = k >> d & 1 ? b[d] : a[d];
    int32_t triangles[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                              2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5 };
    rp_mesh mesh = { vertices, triangles, 8, 12 };
    rp_mesh_set set = rp_default_mesh_set();
    set.mesh = &mesh;
    set.smooth = false;
    set.gloss = 0;
    set.opacity = opacity;
    memcpy(set.colour, colour, 3);
    return rp_render_add_mesh(render, &set);
}

rp_result rp__film_add_tray(const rp_film *film, rp_render *render)
{
    static const uint8_t wood[3] = { 150, 122, 95 };
    const rp_sim_def *sim = film->sim;
    plan p;
    if (!(film->tray > 0) || !make_plan(film, &p))
        return RP_OK;
    double thick = 0;
    for (int k = 0; k < 2; k++)
        thick = fmax(thick, 0.022 * (sim->upper[p.side[k]] - sim->lower[p.side[k]]));
    for (int board = 0; board < 4; board++) {
        int across = p.side[board / 2], along = p.side[1 - board / 2];
        double a[3], b[3];
        a[p.up] = p.sign > 0 ? p.floor : p.floor - film->tray;
        b[p.up] = a[p.up] + film->tray;
        a[across] = board % 2 ? sim->upper[across] : sim->lower[across] - thick;
        b[across] = a[across] + thick;
        a[along] = sim->lower[along] - (board / 2 ? thick : 0); /* two run past the ends of the others */
        b[along] = sim->upper[along] + (board / 2 ? thick : 0);
        RP_TRY(rp__film_add_board(render, a, b, wood, 1));
    }
    return RP_OK;
}
