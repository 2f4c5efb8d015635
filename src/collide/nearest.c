/* Nearest points of segments and capsules, crossings of moving segments, memory of pairs. */
#include "collide/collide.h"

#include <stddef.h>

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* |p1 + s d1 - p2 - t d2|² is least over the unit square: the free minimum clamped along s, then t, then s again
 * [ericson2005, 5.1.9]. */
double rp__collide_segments(rp__vec3 p1, rp__vec3 q1, rp__vec3 p2, rp__vec3 q2, double *s, double *t)
{
    rp__vec3 d1 = rp__vec3_sub(q1, p1), d2 = rp__vec3_sub(q2, p2), r = rp__vec3_sub(p1, p2);
    double a = rp__vec3_dot(d1, d1), e = rp__vec3_dot(d2, d2), f = rp__vec3_dot(d2, r), c = rp__vec3_dot(d1, r);
    if (!(a > 0) && !(e > 0)) {
        *s = *t = 0;
    } else if (!(a > 0)) {
        *s = 0;
        *t = clamp01(f / e);
    } else if (!(e > 0)) {
        *t = 0;
        *s = clamp01(-c / a);
    } else {
        double b = rp__vec3_dot(d1, d2), determinant = a * e - b * b;
        *s = determinant > 1e-14 * a * e ? clamp01((b * f - c * e) / determinant) : 0.5;
        *t = (b * *s + f) / e;
        if (*t < 0) {
            *t = 0;
            *s = clamp01(-c / a);
        } else if (*t > 1) {
            *t = 1;
            *s = clamp01((b - c) / a);
        }
    }
    rp__vec3 between = rp__vec3_sub(rp__vec3_axpy(*s, d1, p1), rp__vec3_axpy(*t, d2, p2));
    return rp__vec3_dot(between, between);
}

double rp__collide_segments_ref(rp__vec3 p1, rp__vec3 q1, rp__vec3 p2, rp__vec3 q2)
{
    double best = INFINITY;
    for (int i = 0; i <= 400; i++)
        for (int j = 0; j <= 400; j++) {
            rp__vec3 x = rp__vec3_axpy(i / 400.0, rp__vec3_sub(q1, p1), p1), y = rp__vec3_axpy(j / 400.0, rp__vec3_sub(q2, p2), p2);
            rp__vec3 d = rp__vec3_sub(x, y);
            best = fmin(best, rp__vec3_dot(d, d));
        }
    return best;
}

/* Something perpendicular to d. */
static rp__vec3 across(rp__vec3 d)
{
    rp__vec3 x = { 1, 0, 0 }, z = { 0, 0, 1 };
    return rp__vec3_unit(rp__vec3_cross(fabs(d.z) < 0.9 * rp__vec3_norm(d) ? z : x, d), z);
}

/* The touch of the places s and t; false when it is farther than `within`. */
static bool touch_at(const rp__collide_capsule *a, const rp__collide_capsule *b, double s, double t, double within, rp__collide_touch *out)
{
    rp__vec3 da = rp__vec3_sub(a->q, a->p), db = rp__vec3_sub(b->q, b->p);
    out->s = s;
    out->t = t;
    out->on_a = rp__vec3_axpy(s, da, a->p);
    out->on_b = rp__vec3_axpy(t, db, b->p);
    rp__vec3 between = rp__vec3_sub(out->on_a, out->on_b);
    double distance = rp__vec3_norm(between), size = a->radius + b->radius;
    out->gap = distance - size;
    if (distance > 1e-9 * size)
        out->normal = rp__vec3_scale(1 / distance, between);
    else { /* axes meet: across both, or across one, or up */
        rp__vec3 n = rp__vec3_cross(da, db);
        double length = rp__vec3_norm(n);
        bool crossed = length > 1e-9 * rp__vec3_norm(da) * rp__vec3_norm(db);
        out->normal = crossed ? rp__vec3_scale(1 / length, n) : across(rp__vec3_norm(da) > 0 ? da : db);
    }
    return out->gap < within;
}

int rp__collide_capsules(const rp__collide_capsule *a, const rp__collide_capsule *b, double within, rp__collide_touch out[2])
{
    rp__vec3 da = rp__vec3_sub(a->q, a->p), db = rp__vec3_sub(b->q, b->p);
    double la = rp__vec3_norm(da), lb = rp__vec3_norm(db), s, t;
    bool parallel = la > 0 && lb > 0 && rp__vec3_norm(rp__vec3_cross(da, db)) < RP_COLLIDE_PARALLEL * la * lb;
    if (parallel) { /* the part of a that lies beside b, from end to end */
        double s0 = rp__vec3_dot(rp__vec3_sub(b->p, a->p), da) / (la * la), s1 = rp__vec3_dot(rp__vec3_sub(b->q, a->p), da) / (la * la);
        double low = clamp01(fmin(s0, s1)), high = clamp01(fmax(s0, s1));
        if ((high - low) * la > 0.5 * (a->radius + b->radius)) {
            int n = 0;
            for (int k = 0; k < 2; k++) {
                s = k == 0 ? low : high;
                t = clamp01(rp__vec3_dot(rp__vec3_sub(rp__vec3_axpy(s, da, a->p), b->p), db) / (lb * lb));
                n += touch_at(a, b, s, t, within, &out[n]);
            }
            return n;
        }
    }
    rp__collide_segments(a->p, a->q, b->p, b->q, &s, &t);
    return touch_at(a, b, s, t, within, &out[0]);
}

int rp__collide_side(const rp__collide_capsule *a, const rp__collide_capsule *b)
{
    rp__vec3 da = rp__vec3_sub(a->q, a->p), db = rp__vec3_sub(b->q, b->p), n = rp__vec3_cross(da, db);
    double length = rp__vec3_norm(n);
    if (!(length > RP_COLLIDE_PARALLEL * rp__vec3_norm(da) * rp__vec3_norm(db)))
        return 0;
    double s, t;
    rp__collide_segments(a->p, a->q, b->p, b->q, &s, &t);
    rp__vec3 between = rp__vec3_sub(rp__vec3_axpy(s, da, a->p), rp__vec3_axpy(t, db, b->p));
    double d = rp__vec3_dot(between, n);
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* ---- crossings ---- */

static double volume(const rp__vec3 p1[2], const rp__vec3 q1[2], const rp__vec3 p2[2], const rp__vec3 q2[2], double time)
{
    rp__vec3 a = rp__vec3_axpy(time, rp__vec3_sub(p1[1], p1[0]), p1[0]), b = rp__vec3_axpy(time, rp__vec3_sub(q1[1], q1[0]), q1[0]);
    rp__vec3 c = rp__vec3_axpy(time, rp__vec3_sub(p2[1], p2[0]), p2[0]), d = rp__vec3_axpy(time, rp__vec3_sub(q2[1], q2[0]), q2[0]);
    return rp__vec3_dot(rp__vec3_sub(b, a), rp__vec3_cross(rp__vec3_sub(c, a), rp__vec3_sub(d, a)));
}

/* Between two places where the cubic has different signs. */
static double bisect(const rp__vec3 p1[2], const rp__vec3 q1[2], const rp__vec3 p2[2], const rp__vec3 q2[2], double low, double high)
{
    double at_low = volume(p1, q1, p2, q2, low);
    for (int k = 0; k < 60; k++) {
        double middle = 0.5 * (low + high), v = volume(p1, q1, p2, q2, middle);
        if ((v > 0) == (at_low > 0))
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static bool meet_at(const rp__vec3 p1[2], const rp__vec3 q1[2], const rp__vec3 p2[2], const rp__vec3 q2[2], double time)
{
    rp__vec3 a = rp__vec3_axpy(time, rp__vec3_sub(p1[1], p1[0]), p1[0]), b = rp__vec3_axpy(time, rp__vec3_sub(q1[1], q1[0]), q1[0]);
    rp__vec3 c = rp__vec3_axpy(time, rp__vec3_sub(p2[1], p2[0]), p2[0]), d = rp__vec3_axpy(time, rp__vec3_sub(q2[1], q2[0]), q2[0]);
    double s, t, size = rp__vec3_norm(rp__vec3_sub(b, a)) + rp__vec3_norm(rp__vec3_sub(d, c));
    return sqrt(rp__collide_segments(a, b, c, d, &s, &t)) < 1e-6 * size;
}

bool rp__collide_crossing(const rp__vec3 p1[2], const rp__vec3 q1[2], const rp__vec3 p2[2], const rp__vec3 q2[2], double *time)
{
    /* the cubic through four of its values, and where its slope is zero: between those it is monotonous */
    double f0 = volume(p1, q1, p2, q2, 0), f1 = volume(p1, q1, p2, q2, 1.0 / 3), f2 = volume(p1, q1, p2, q2, 2.0 / 3), f3 = volume(p1, q1, p2, q2, 1);
    double c3 = 4.5 * (f3 - 3 * f2 + 3 * f1 - f0), c2 = 4.5 * (2 * f0 - 5 * f1 + 4 * f2 - f3), c1 = 0.5 * (-11 * f0 + 18 * f1 - 9 * f2 + 2 * f3);
    double stops[4] = { 0, 1, 1, 1 };
    int n = 1;
    double disc = c2 * c2 - 3 * c3 * c1;
    if (disc > 0) {
        double root = sqrt(disc), q = -(c2 + (c2 > 0 ? root : -root)), r[2] = { q != 0 ? c1 / q : 0, c3 != 0 ? q / (3 * c3) : 0 };
        double low = fmin(r[0], r[1]), high = fmax(r[0], r[1]);
        if (low > 0 && low < 1)
            stops[n++] = low;
        if (high > 0 && high < 1)
            stops[n++] = high;
    }
    stops[n] = 1;
    for (int k = 0; k < n; k++) {
        double from = volume(p1, q1, p2, q2, stops[k]), to = volume(p1, q1, p2, q2, stops[k + 1]);
        if ((from > 0) == (to > 0) || from == 0)
            continue;
        double at = bisect(p1, q1, p2, q2, stops[k], stops[k + 1]);
        if (meet_at(p1, q1, p2, q2, at)) {
            *time = at;
            return true;
        }
    }
    return false;
}

/* ---- memory ---- */

int rp__collide_compare(const rp__collide_key *a, const rp__collide_key *b)
{
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return a->slot == b->slot ? 0 : a->slot < b->slot ? -1 : 1;
}

const rp__collide_record *rp__collide_find(const rp__collide_record *records, int64_t count, const rp__collide_key *key)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = rp__collide_compare(&records[middle].key, key);
        if (order == 0)
            return &records[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
