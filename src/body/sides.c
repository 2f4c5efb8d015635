/* Looking for the sides of a body that are near a place: the nearest one, and those that rays come to: along and away from that one, and along
 * each two that were found, where a third closes the corner. */
#include "body/sides.h"

#include <math.h>

enum { WAYS = 19 };            /* rays at most: all that three sides ask for, and some */
enum { MARCH = 12, FEET = 4 }; /* steps of a ray; of a foot, which lands at once on a flat side */
#define SAME 1e-4              /* one less the cosine of normals that are those of one side */
#define FOUND 1e-6             /* of the reach: how near to the surface a foot must land */
#define FAR 2.0                /* reaches a ray is long: sides stand slanted to it */

/* Where the unit vector `way` leads to the surface, or to `most`. Steps are as long as the distance, so that thin walls are not passed, but beside a
 * side that the ray goes along no shorter than a part of the way. */
static rp__vec3 ray_end(const rp__body *body, const rp__pose *pose, rp__vec3 x, rp__vec3 way, double most, double tiny)
{
    double done = 0;
    for (int k = 0; k < MARCH && done < most; k++) {
        double d = rp__body_distance(body, pose, rp__vec3_axpy(done, way, x), NULL);
        if (!(d > tiny))
            break;
        done = fmin(done + fmax(d, most / MARCH), most);
    }
    return rp__vec3_axpy(done, way, x);
}

/* The foot of x on the side of the surface next to `from`: onto the tangent plane there, back to the surface, again. False when it does not
 * come to a place that x stands upright above. */
static bool find_foot(const rp__body *body, const rp__pose *pose, rp__vec3 x, rp__vec3 from, double tiny, rp__body_side *side)
{
    rp__vec3 at = from, n;
    double d = rp__body_distance(body, pose, at, &n);
    for (int k = 0; k < FEET; k++) {
        if (!(rp__vec3_norm(n) > 0.5))
            return false;
        n = rp__vec3_unit(n, n);
        rp__vec3 on = rp__vec3_axpy(-d, n, at), foot;
        side->normal = n;
        side->distance = rp__vec3_dot(rp__vec3_sub(x, on), n);
        foot = rp__vec3_axpy(-side->distance, n, x);
        d = rp__body_distance(body, pose, foot, &n);
        if (fabs(d) <= tiny && rp__vec3_dot(n, side->normal) > 1 - SAME)
            return side->distance > 0;
        at = foot;
    }
    return false;
}

static bool is_known(const rp__body_side *side, int count, rp__vec3 normal)
{
    for (int k = 0; k < count; k++)
        if (rp__vec3_dot(side[k].normal, normal) > 1 - SAME)
            return true;
    return false;
}

static double rank(const rp__pose *pose, rp__vec3 normal)
{
    const rp__vec3 slanted = { 0.5377, 0.7043, 0.4636 }; /* to all that shapes are usually made of */
    return rp__vec3_dot(rp__quat_rotate(rp__quat_conjugate(pose->orientation), normal), slanted);
}

int rp__body_sides(const rp__body *body, const rp__pose *pose, rp__vec3 x, double reach, int dim, rp__body_side side[RP__BODY_SIDES])
{
    rp__vec3 n;
    double distance = rp__body_distance(body, pose, x, &n), tiny = FOUND * reach;
    if (!(distance < reach) || !(rp__vec3_norm(n) > 0.5))
        return 0;
    n = rp__vec3_unit(n, n);
    side[0] = (rp__body_side){ distance, n };
    if (!(distance > 0))
        return 1;
    rp__vec3 z = { 0, 0, 1 }, y = { 0, 1, 0 }, way[WAYS] = { n, rp__vec3_unit(rp__vec3_cross(dim == 2 || fabs(n.z) < 0.9 ? z : y, n), y) };
    way[2] = rp__vec3_scale(-1, way[1]);
    way[3] = rp__vec3_cross(n, way[1]);
    way[4] = rp__vec3_scale(-1, way[3]);
    int count = 1, ways = dim == 2 ? 3 : 5;
    for (int k = 0; k < ways && count < RP__BODY_SIDES; k++) {
        rp__body_side found;
        rp__vec3 end = ray_end(body, pose, x, way[k], FAR * reach, tiny);
        if (!find_foot(body, pose, x, end, tiny, &found) || !(found.distance < reach) || is_known(side, count, found.normal))
            continue;
        for (int i = 0; i < count && dim == 3 && ways + 2 <= WAYS; i++, ways += 2) {
            way[ways] = rp__vec3_unit(rp__vec3_cross(side[i].normal, found.normal), z);
            way[ways + 1] = rp__vec3_scale(-1, way[ways]);
        }
        side[count++] = found;
    }
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && rank(pose, side[j].normal) < rank(pose, side[j - 1].normal); j--) {
            rp__body_side swap = side[j];
            side[j] = side[j - 1];
            side[j - 1] = swap;
        }
    return count;
}
