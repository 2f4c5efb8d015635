/* Light: a sun of finite size, a clear sky that is brighter towards horizon and sun, a round lamp. */
#include "render/internal.h"

#include <string.h>

static f3 from_double(const double v[3])
{
    return f3_make((float)v[0], (float)v[1], (float)v[2]);
}

void rp__render_light_init(light *l, const rp_picture *p, const rp_render *render)
{
    memset(l, 0, sizeof *l);
    l->up = render->has_ground ? render->ground_normal : f3_unit(from_double(p->view.up));
    l->sun = f3_unit(from_double(p->sun));
    f3_frame(l->sun, &l->sun_a, &l->sun_b);
    l->sun_cos = cosf((float)p->sun_radius);
    float height = fmaxf(0, f3_dot(l->sun, l->up));
    /* A low sun is warmer. Irradiance on a surface that faces it; 1 is a white surface at full exposure. */
    f3 warm = f3_mix(f3_make(1.0f, 0.72f, 0.46f), f3_make(1.0f, 0.972f, 0.93f), fminf(1, 1.6f * height));
    l->sun_irradiance = f3_scale(3.5f * (float)p->sun_strength, warm);
    float sky = (float)p->sky_strength;
    l->zenith = f3_scale(0.30f * sky, f3_make(0.66f, 0.83f, 1.12f));
    l->horizon = f3_scale(0.42f * sky, f3_make(0.92f, 0.97f, 1.04f));
    l->below = f3_scale(0.16f * sky, f3_make(1.0f, 0.95f, 0.88f));
    l->glow = f3_scale(0.45f * sky * (p->sun_strength > 0 ? 1.0f : 0.0f), warm);
    l->ambient = f3_add(f3_scale(0.22f, f3_add(l->zenith, l->horizon)), f3_scale(0.05f * height, l->sun_irradiance));
    l->lamp = p->lamp_strength > 0 && p->lamp_radius > 0;
    if (l->lamp) {
        double c[3];
        for (int d = 0; d < 3; d++)
            c[d] = p->lamp_position[d] - render->origin[d];
        l->lamp_centre = from_double(c);
        l->lamp_normal = f3_unit(from_double(p->lamp_direction));
        f3_frame(l->lamp_normal, &l->lamp_a, &l->lamp_b);
        l->lamp_radius = (float)p->lamp_radius;
        l->lamp_radiance = f3_scale((float)p->lamp_strength, f3_make(1.0f, 0.96f, 0.9f));
    }
}

f3 rp__render_sky(const light *l, f3 direction)
{
    float h = f3_dot(direction, l->up);
    if (h < 0)
        return f3_mix(l->horizon, l->below, fminf(1, -6 * h));
    f3 sky = f3_mix(l->horizon, l->zenith, sqrtf(h));
    float near_sun = fmaxf(0, f3_dot(direction, l->sun));
    float g = near_sun * near_sun;
    g *= g;
    return f3_axpy(g * g, l->glow, sky);
}
