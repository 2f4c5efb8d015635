/* The plain keys of each block: numbers, choices, texts. */
#include "base/param.h"

#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

#define DEGREE 0.017453292519943295
#define LARGE 1e300
#define END { 0 }

/* ---- the whole scene ---- */

#define S(member) offsetof(rp__settings, member)
static const rp_param settings_table[] = {
    { "title", RP_TEXT, S(title), 0, 0, 0, "", "a name for people", "" },
    { "description", RP_TEXT, S(description), 0, 0, 0, "", "what the scene shows", "" },
    { "method", RP_TEXT, S(method), 0, 0, 0, "",
      "how the grains are simulated; parameters of a method stand in a block of its name", "nonsmooth" },
    { "cell_size", RP_REAL, S(cell_size), 0, 1e-9, 1e6, "m", "edge of a grid cell; or give resolution", NULL },
#define REAL(member, type, initial, least, most, unit, help) { #member, RP_REAL, S(member), initial, least, most, unit, help, NULL },
#define WHOLE(member, type, initial, least, most, unit, help) { #member, RP_INT, S(member), initial, least, most, unit, help, NULL },
#define CHOICE(member, type, initial, last, help, choices) { #member, RP_ENUM, S(member), initial, 0, last, "", help, choices },
    RP__SIM_SETTINGS(REAL, WHOLE, CHOICE)
#undef REAL
#undef WHOLE
#undef CHOICE
    END,
};
const rp_param *rp__scene_settings_table(void) { return settings_table; }

#define G(member) offsetof(rp__gravity_draft, member)
static const rp_param gravity_table[] = {
    { "magnitude", RP_REAL, G(magnitude), 9.81, 0, 1e9, "m/s2", "strength", NULL },
    { "tilt", RP_REAL, G(tilt), 0, -LARGE, LARGE, "rad", "angle from straight down", NULL },
    { "toward", RP_ENUM, G(toward), 0, 0, 3, "", "axis towards which gravity leans", "+x|-x|+y|-y" },
    END,
};
const rp_param *rp__scene_gravity_table(void) { return gravity_table; }

/* ---- surfaces ---- */

#define U(member) offsetof(rp_surface, member)
#define SURFACE                                                                                                        \
    { "friction", RP_REAL, U(friction), 0.5, 0, 1e6, "", "Coulomb coefficient of a frictional surface", NULL },        \
    { "adhesion", RP_REAL, U(adhesion), 0, 0, 1e12, "Pa", "pull that the surface can hold", NULL }, END
static const rp_param wall_table[] = {
    { "kind", RP_ENUM, U(kind), RP_FRICTIONAL, 0, 4, "", "how grains meet it", "stick|slip|frictional|open|periodic" },
    SURFACE,
};
static const rp_param surface_table[] = {
    { "kind", RP_ENUM, U(kind), RP_FRICTIONAL, 0, 2, "", "how grains meet it", "stick|slip|frictional" },
    SURFACE,
};
const rp_param *rp__scene_wall_table(void) { return wall_table; }
const rp_param *rp__scene_surface_table(void) { return surface_table; }

/* ---- grains, emitters, sinks ---- */

#define FILLING(type)                                                                                                  \
    { "sampling", RP_ENUM, offsetof(type, sampling), RP_JITTERED, 0, 2, "", "how the shape is filled with particles",  \
      "regular|jittered|poisson" },                                                                                    \
    { "per_cell", RP_REAL, offsetof(type, per_cell), 8, 1e-3, 1e6, "", "particles a cell", NULL },                     \
    { "fill", RP_REAL, offsetof(type, fill), 1, 1e-6, 1, "", "volume fraction at the start, as a part of the largest", \
      NULL },                                                                                                          \
    { "seed", RP_INT, offsetof(type, seed), 0, 0, 9007199254740992.0, "", "of the sampling, mixed with the scene's",   \
      NULL }
#define NAME(type) { "name", RP_TEXT, offsetof(type, name), 0, 0, 0, "", "for messages and --set", "" }
#define SCHEDULE(type)                                                                                                 \
    { "start", RP_REAL, offsetof(type, start), -INFINITY, -INFINITY, INFINITY, "s", "works from here on", NULL },      \
    { "stop", RP_REAL, offsetof(type, stop), INFINITY, -INFINITY, INFINITY, "s", "works until here", NULL }

#define R(member) offsetof(rp_grains_def, member)
static const rp_param grains_table[] = {
    NAME(rp_grains_def),
    { "velocity", RP_VEC3, R(velocity), 0, -LARGE, LARGE, "m/s", "at the start", NULL },
    { "angular_velocity", RP_VEC3, R(angular_velocity), 0, -LARGE, LARGE, "rad/s", "at the start, about pivot", NULL },
    { "pivot", RP_VEC3, R(pivot), 0, -LARGE, LARGE, "m", "centre of the angular velocity", NULL },
    { "fixed", RP_BOOL, R(fixed), 0, 0, 1, "", "they stay where they are and hold others: a rough floor (method contact)", NULL },
    FILLING(rp_grains_def),
    END,
};
const rp_param *rp__scene_grains_table(void) { return grains_table; }

#define E(member) offsetof(rp_emitter_def, member)
static const rp_param emitter_table[] = {
    NAME(rp_emitter_def),
    { "velocity", RP_VEC3, E(velocity), 0, -LARGE, LARGE, "m/s", "of the grains as they come", NULL },
    { "rate", RP_REAL, E(rate), 0, 0, 1e12, "m3/s",
      "volume of material a second (m2/s in 2D); 0 keeps the shape full as grains leave it", NULL },
    SCHEDULE(rp_emitter_def),
    FILLING(rp_emitter_def),
    END,
};
const rp_param *rp__scene_emitter_table(void) { return emitter_table; }

static const rp_param sink_table[] = { NAME(rp_sink_def), SCHEDULE(rp_sink_def), END };
const rp_param *rp__scene_sink_table(void) { return sink_table; }

/* ---- bodies ---- */

#define B(member) offsetof(rp_body_def, member)
static const rp_param body_table[] = {
    NAME(rp_body_def),
    { "kind", RP_ENUM, B(kind), RP_BODY_SCRIPTED, 0, 1, "",
      "scripted: at rest or moved by 'motion'; free: moved by forces, gravity and grains", "scripted|free" },
    { "position", RP_VEC3, B(position), 0, -LARGE, LARGE, "m", "where the origin of the shape is put", NULL },
    { "rotation", RP_VEC3, B(rotation), 0, -LARGE, LARGE, "rad",
      "rotation vector about the shape's origin, or {axis, angle}; one angle in 2D", NULL },
    { "velocity", RP_VEC3, B(velocity), 0, -LARGE, LARGE, "m/s", "of a free body at the start", NULL },
    { "angular_velocity", RP_VEC3, B(angular_velocity), 0, -LARGE, LARGE, "rad/s", "of a free body at the start", NULL },
    { "density", RP_REAL, B(density), 2000, 1e-6, 1e9, "kg/m3", "of a free body", NULL },
    { "mass", RP_REAL, B(mass), 0, 0, 1e15, "kg", "of a free body, instead of its density; 0: from the density", NULL },
    { "linear_damping", RP_REAL, B(linear_damping), 0, 0, 1e9, "1/s", "of a free body", NULL },
    { "angular_damping", RP_REAL, B(angular_damping), 0, 0, 1e9, "1/s", "of a free body", NULL },
    { "force", RP_VEC3, B(force), 0, -LARGE, LARGE, "N", "constant, on a free body", NULL },
    { "torque", RP_VEC3, B(torque), 0, -LARGE, LARGE, "N m", "constant, on a free body", NULL },
    SCHEDULE(rp_body_def),
    END,
};
const rp_param *rp__scene_body_table(void) { return body_table; }

static const rp_param joint_table[] = {
    { "kind", RP_ENUM, B(joint), RP_JOINT_HINGE, 0, 3, "", "what it leaves free: nothing, a turn, a slide",
      "none|fixed|hinge|slider" },
    { "point", RP_VEC3, B(joint_point), 0, -LARGE, LARGE, "m", "where it holds, in the world at the start", NULL },
    { "axis", RP_VEC3, B(joint_axis), 0, -LARGE, LARGE, "", "of the hinge or slider, in the world at the start", NULL },
    END,
};
const rp_param *rp__scene_joint_table(void) { return joint_table; }

#define M(member) offsetof(rp__motor_draft, member)
static const rp_param motor_table[] = {
    { "torque", RP_REAL, M(torque), NAN, -LARGE, LARGE, "N m", "constant, about a hinge", NULL },
    { "force", RP_REAL, M(force), NAN, -LARGE, LARGE, "N", "constant, along a slider", NULL },
    { "angular_speed", RP_REAL, M(angular_speed), NAN, -LARGE, LARGE, "rad/s", "held by a hinge", NULL },
    { "speed", RP_REAL, M(speed), NAN, -LARGE, LARGE, "m/s", "held by a slider", NULL },
    { "largest_torque", RP_REAL, M(largest_torque), NAN, 0, LARGE, "N m", "of a hinge that holds a speed; 0 for any",
      NULL },
    { "largest_force", RP_REAL, M(largest_force), NAN, 0, LARGE, "N", "of a slider that holds a speed; 0 for any", NULL },
    END,
};
const rp_param *rp__scene_motor_table(void) { return motor_table; }

/* ---- output ---- */

#define O(member) offsetof(rp_output_def, member)
#define FILES                                                                                                          \
    { "frames", RP_BOOL, O(frames), 1, 0, 1, "", "write frames", NULL },                                               \
    { "frame_every", RP_INT, O(frame_every), 1, 1, 1e9, "", "write every n-th frame", NULL },                          \
    { "grid", RP_BOOL, O(grid), 0, 0, 1, "", "write grid fields too", NULL },                                          \
    { "fields", RP_TEXT, O(fields), 0, 0, 0, "", "names of particle fields to write; nothing for all", "" },           \
    { "checkpoint_every", RP_REAL, O(checkpoint_every), 60, 0, 1e9, "s",                                               \
      "wall-clock time between checkpoints; 0 for one at each frame", NULL },                                          \
    { "checkpoints_kept", RP_INT, O(checkpoints_kept), 2, 1, 1e6, "", "how many of the newest stay", NULL },           \
    { "grains_per_particle", RP_REAL, O(grains_per_particle), 0, 0, 1e6, "",                                           \
      "render samples a particle; 0 for none", NULL },                                                                 \
    { "upsample", RP_REAL, O(upsample), 0, 0, 1e3, "m",                                                                \
      "radius of fine grains in pictures that follow particles which are balls (pbd); 0 for none", NULL }
#define CAMERA                                                                                                         \
    { "eye", RP_VEC3, O(eye), 0, -LARGE, LARGE, "m", "where the camera stands; absent: the scene is framed", NULL },   \
    { "target", RP_VEC3, O(target), 0, -LARGE, LARGE, "m", "what it looks at", NULL },                                 \
    { "up", RP_VEC3, O(up), 0, -LARGE, LARGE, "", "what is up in the picture", NULL },                                 \
    { "field_of_view", RP_REAL, O(field_of_view), 35 * DEGREE, 0.1 * DEGREE, 170 * DEGREE, "rad", "vertical", NULL },  \
    { "orthographic", RP_BOOL, O(orthographic), 0, 0, 1, "", "without perspective", NULL },                            \
    { "turntable", RP_REAL, O(turntable), 0, -1e3, 1e3, "1/s",                                                         \
      "turns a second about the vertical through the target", NULL },                                                  \
    { "focus", RP_REAL, O(focus), 0, 0, 1e9, "m", "distance in focus; 0 for the target", NULL },                       \
    { "aperture", RP_REAL, O(aperture), 0, 0, 1e3, "m", "radius of the lens; 0 for a pinhole", NULL },                 \
    { "shutter", RP_REAL, O(shutter), 0, 0, 1, "", "part of the frame time it is open; 0 for no motion blur", NULL }
#define PICTURE                                                                                                        \
    { "width", RP_INT, O(width), 1280, 1, 32768, "", "pixels", NULL },                                                 \
    { "height", RP_INT, O(height), 720, 1, 32768, "", "pixels", NULL },                                                \
    { "colour", RP_TEXT, O(colour), 0, 0, 0, "", "'material', or the name of a field: velocity, pressure, ...",        \
      "material" },                                                                                                    \
    { "sun", RP_VEC3, O(sun), 0, -LARGE, LARGE, "",                                                                    \
      "direction towards the sun; [0, 0, 0]: low, from the left of the view, so that slopes stand out", NULL },        \
    { "sun_strength", RP_REAL, O(sun_strength), 1, 0, 1e6, "", "light of the sun; 1 at midday", NULL },                \
    { "sky_strength", RP_REAL, O(sky_strength), 1, 0, 1e6, "", "light of the sky; 1 at midday", NULL },                \
    { "lamp", RP_VEC3, O(lamp), 0, -LARGE, LARGE, "m", "where a round lamp is; it shines at the camera's target", NULL }, \
    { "lamp_radius", RP_REAL, O(lamp_radius), 0.1, 1e-9, 1e6, "m", "of the lamp: the larger, the softer the shadows", NULL }, \
    { "lamp_strength", RP_REAL, O(lamp_strength), 0, 0, 1e9, "", "radiance of the lamp; 0 for none, about 10 for one of a tenth of its distance", NULL }, \
    { "ground", RP_TEXT, O(ground), 0, 0, 0, "", "'auto', 'none' or a colour '#rrggbb'", "auto" },                     \
    { "walls", RP_TEXT, O(walls), 0, 0, 0, "", "'auto': boards around a bed that fills its box; 'none'", "auto" },        \
    { "grain_shape", RP_TEXT, O(grain_shape), 0, 0, 0, "", "'sphere', 'disc' or 'ellipsoid'", "sphere" }

static const rp_param files_table[] = { FILES, END };
static const rp_param camera_table[] = { CAMERA, END };
static const rp_param picture_table[] = { PICTURE, END };
static const rp_param output_table[] = { FILES, CAMERA, PICTURE, END };
const rp_param *rp__scene_files_table(void) { return files_table; }
const rp_param *rp__scene_camera_table(void) { return camera_table; }
const rp_param *rp__scene_picture_table(void) { return picture_table; }
const rp_param *rp_output_table(void) { return output_table; }

rp_output_def rp_default_output_def(void)
{
    rp_output_def def;
    memset(&def, 0, sizeof def);
    rp__param_defaults(output_table, &def);
    def.fields = "";
    def.colour = "material";
    def.ground = "auto";
    def.walls = "auto";
    def.grain_shape = "sphere";
    def.up[2] = 1;
    return def;
}
