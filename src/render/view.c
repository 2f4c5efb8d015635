/* Cameras: a box that fills the picture, and turns about the vertical. */
#include "math/quat.h"
#include "render/internal.h"

rp_view rp_view_frame(const double lower[3], const double upper[3], const double direction[3], const double up[3],
                      double field_of_view, bool orthographic, int width, int height, double fill)
{
    rp_view v = { .field_of_view = field_of_view, .orthographic = orthographic };
    rp__vec3 u = rp__vec3_unit(rp__vec3_load(up), rp__vec3_make(0, 0, 1));
    rp__vec3 back = rp__vec3_unit(rp__vec3_load(direction), rp__vec3_make(0, -1, 0));
    rp__vec3 right = rp__vec3_cross(u, back);
    if (rp__vec3_norm(right) < 1e-6)
        right = rp__vec3_cross(fabs(back.y) < 0.9 ? rp__vec3_make(0, 1, 0) : rp__vec3_make(1, 0, 0), back);
    right = rp__vec3_unit(right, rp__vec3_make(1, 0, 0));
    rp__vec3 high = rp__vec3_cross(back, right);
    rp__vec3 centre = rp__vec3_scale(0.5, rp__vec3_add(rp__vec3_load(lower), rp__vec3_load(upper)));
    double tan_y = tan(0.5 * field_of_view) * fill, tan_x = tan_y * width / height, distance = 0, half_y = 0;
    for (int corner = 0; corner < 8; corner++) {
        rp__vec3 c = rp__vec3_make(corner & 1 ? upper[0] : lower[0], corner & 2 ? upper[1] : lower[1],
                                   corner & 4 ? upper[2] : lower[2]);
        c = rp__vec3_sub(c, centre);
        double x = fabs(rp__vec3_dot(c, right)), y = fabs(rp__vec3_dot(c, high)), z = rp__vec3_dot(c, back);
        distance = fmax(distance, z + fmax(x / tan_x, y / tan_y));
        half_y = fmax(half_y, fmax(y, x * height / width) / fill);
    }
    distance = fmax(distance, 1e-6);
    if (orthographic) {
        v.extent = 2 * fmax(half_y, 1e-9);
        double size = rp__vec3_norm(rp__vec3_sub(rp__vec3_load(upper), rp__vec3_load(lower)));
        distance = fmax(2 * size, 1e-6);
    }
    rp__vec3_store(v.target, centre);
    rp__vec3_store(v.eye, rp__vec3_axpy(distance, back, centre));
    rp__vec3_store(v.up, u);
    return v;
}

rp_view rp_view_turn(const rp_view *view, double angle)
{
    rp_view v = *view;
    rp__vec3 target = rp__vec3_load(view->target);
    rp__quat q = rp__quat_from_axis(rp__vec3_load(view->up), angle);
    rp__vec3 arm = rp__quat_rotate(q, rp__vec3_sub(rp__vec3_load(view->eye), target));
    rp__vec3_store(v.eye, rp__vec3_add(target, arm));
    return v;
}
