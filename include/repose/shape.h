/* Shapes: signed distances (negative inside) of analytic solids, their combinations, height fields and meshes.
 * A shape is immutable and counted: release what you create; combinations keep what they use.
 * Lengths in metres, angles in radians. In 2D a shape is its section at z = 0. */
#ifndef REPOSE_SHAPE_H
#define REPOSE_SHAPE_H

#include <repose/export.h>
#include <repose/result.h>
#include <stdint.h>

RP_BEGIN

typedef struct rp_shape rp_shape;

RP_API rp_shape *rp_shape_retain(const rp_shape *shape);
RP_API void rp_shape_release(rp_shape *shape); /* NULL is allowed */

/* Everything on the side of `point` away from `normal` is inside. */
RP_API rp_result rp_shape_plane(const double point[3], const double normal[3], rp_shape **out);
/* Half sizes may be INFINITY (a slab, a prism: a rectangle in 2D), but not all three. */
RP_API rp_result rp_shape_box(const double centre[3], const double half[3], double rounding, rp_shape **out);
RP_API rp_result rp_shape_sphere(const double centre[3], double radius, rp_shape **out);
/* Between the two points, flat caps. */
RP_API rp_result rp_shape_cylinder(const double a[3], const double b[3], double radius, rp_shape **out);
RP_API rp_result rp_shape_capsule(const double a[3], const double b[3], double radius, rp_shape **out);
/* Truncated cone: radius_a at a, radius_b at b (either may be 0). */
RP_API rp_result rp_shape_cone(const double a[3], const double b[3], double radius_a, double radius_b, rp_shape **out);
RP_API rp_result rp_shape_torus(const double centre[3], const double axis[3], double radius, double tube, rp_shape **out);
RP_API rp_result rp_shape_ellipsoid(const double centre[3], const double semi_axes[3], rp_shape **out);
/* Heights over the rectangle lower…upper (x, y), row j at y_j, bilinear; inside below the surface, flat outside it. */
RP_API rp_result rp_shape_heightfield(const double *heights, int64_t columns, int64_t rows, const double lower[2],
                                      const double upper[2], rp_shape **out);
/* The same from an image: black = low, white = high (8- or 16-bit grey PNG, or PGM); its top row lies at y = upper. */
RP_API rp_result rp_shape_heightfield_image(const char *path, const double lower[2], const double upper[2], double low,
                                            double high, rp_shape **out);
/* A closed triangle mesh (OBJ, STL, PLY, glTF): signed distance, sign by winding number. */
RP_API rp_result rp_shape_mesh(const char *path, double scale, rp_shape **out);
RP_API rp_result rp_shape_mesh_data(const double *vertices, int64_t vertex_count, const int32_t *triangles,
                                    int64_t triangle_count, rp_shape **out);

/* Where the distances of meshes are kept between runs; NULL: nowhere. At first $XDG_CACHE_HOME/repose or ~/.cache/repose. */
RP_API rp_result rp_shape_cache_folder(const char *folder);

/* A deforming solid: meshes of one topology at given times, vertices interpolated between them, held before and after. */
typedef struct rp_mesh_sequence rp_mesh_sequence;
RP_API rp_result rp_mesh_sequence_create(const char *const *paths, const double *times, int count, double scale,
                                         rp_mesh_sequence **out);
/* The same from arrays: vertices[k] holds 3 vertex_count numbers at times[k]. */
RP_API rp_result rp_mesh_sequence_create_data(const double *const *vertices, const double *times, int count, int64_t vertex_count,
                                              const int32_t *triangles, int64_t triangle_count, rp_mesh_sequence **out);
RP_API rp_mesh_sequence *rp_mesh_sequence_retain(const rp_mesh_sequence *sequence);
RP_API void rp_mesh_sequence_release(rp_mesh_sequence *sequence);
/* The solid at time t, with the velocities of its vertices; release it with rp_shape_release. */
RP_API rp_result rp_mesh_sequence_evaluate(const rp_mesh_sequence *sequence, double t, rp_shape **out);
/* The fastest vertex between two times. */
RP_API double rp_mesh_sequence_speed(const rp_mesh_sequence *sequence, double from, double to);
/* Velocity of the nearest point of the surface; zero for shapes that are not made by a sequence. */
RP_API void rp_mesh_sequence_velocity(const rp_shape *shape, const double point[3], double velocity[3]);

RP_API rp_result rp_shape_union(rp_shape *const *shapes, int count, rp_shape **out);
RP_API rp_result rp_shape_intersection(rp_shape *const *shapes, int count, rp_shape **out);
RP_API rp_result rp_shape_difference(rp_shape *from, rp_shape *taken, rp_shape **out);
RP_API rp_result rp_shape_offset(rp_shape *shape, double distance, rp_shape **out);   /* grown by distance */
RP_API rp_result rp_shape_shell(rp_shape *shape, double thickness, rp_shape **out);   /* |d| - thickness/2 */
RP_API rp_result rp_shape_complement(rp_shape *shape, rp_shape **out);
/* Turned by the rotation vector (axis × angle) about the origin, then moved, after scaling by `scale` > 0. */
RP_API rp_result rp_shape_place(rp_shape *shape, const double position[3], const double rotation[3], double scale,
                                rp_shape **out);

/* Signed distance at a point; the gradient too when `gradient` is not NULL (unit length where it exists). Exact for
 * single shapes; combinations give a bound that has the right sign and zero set. */
RP_API double rp_shape_distance(const rp_shape *shape, const double point[3], double gradient[3]);

/* Bounds of the inside; infinite where it is unbounded, lower > upper when it is surely empty. */
RP_API void rp_shape_bounds(const rp_shape *shape, double lower[3], double upper[3]);

/* Triangles of the surface for pictures and files, about `resolution` across; free with rp_mesh_free. */
typedef struct rp_mesh {
    double *vertices;    /* 3 a vertex */
    int32_t *triangles;  /* 3 indices a triangle, counter-clockwise from outside */
    int64_t vertex_count, triangle_count;
} rp_mesh;
RP_API rp_result rp_shape_triangulate(const rp_shape *shape, const double lower[3], const double upper[3],
                                      int resolution, rp_mesh *out);
/* Moves vertices beside the edges and corners of the shape onto them, where its triangles have cut them off. For pictures: some triangles
 * become thin. */
RP_API rp_result rp_mesh_sharpen(const rp_shape *shape, rp_mesh *mesh);
RP_API rp_result rp_mesh_load(const char *path, double scale, rp_mesh *out);
RP_API void rp_mesh_free(rp_mesh *mesh);
/* Triangles of a sequence at a time; free with rp_mesh_free. */
RP_API rp_result rp_mesh_sequence_mesh(const rp_mesh_sequence *sequence, double t, rp_mesh *out);

/* ---- motions: a pose as a function of time ---- */

typedef struct rp_motion rp_motion;

typedef enum rp_interpolation { RP_STEP, RP_LINEAR, RP_SMOOTH /* Catmull–Rom and slerp */ } rp_interpolation;

typedef struct rp_keyframe {
    double time;          /* [s], strictly increasing */
    double position[3];   /* [m] */
    double rotation[3];   /* rotation vector [rad], may exceed a turn: interpolated as given when axes agree */
} rp_keyframe;

RP_API rp_result rp_motion_keyframes(const rp_keyframe *keys, int count, rp_interpolation kind, rp_motion **out);

/* A Lua function body or expression of t returning x, y, z[, rx, ry, rz]; sandboxed: no files, no loading, bounded
 * instructions and memory. Only pure functions of t: the state is reset for each call. */
RP_API rp_result rp_motion_expression(const char *source, rp_motion **out);

RP_API rp_motion *rp_motion_retain(const rp_motion *motion);
RP_API void rp_motion_release(rp_motion *motion);

/* Pose at time t: position and unit quaternion (w, x, y, z). */
RP_API rp_result rp_motion_pose(const rp_motion *motion, double t, double position[3], double orientation[4]);

/* A scalar expression of named variables (x, y, z, t …), in the same sandbox; for fields and keyed parameters. */
typedef struct rp_expression rp_expression;
RP_API rp_result rp_expression_create(const char *source, const char *const *variables, int variable_count,
                                      int result_count, rp_expression **out);
RP_API rp_result rp_expression_evaluate(const rp_expression *expression, const double *values, double *results);
RP_API void rp_expression_release(rp_expression *expression);

/* How a region is filled with particles. */
typedef enum rp_sampling { RP_REGULAR, RP_JITTERED, RP_POISSON } rp_sampling;

RP_END
#endif
