/* In the place of this room where the component 'files' is left out: every function of <repose/scene.h> is there and refuses by name. */
#include "base/absent.h"

#include <repose/scene.h>

#define COMPONENT "'files' (scene files, libfyaml)"

REFUSE(rp_scene_load, const char *path, const rp_scene_options *options, rp_scene **out)
REFUSE(rp_scene_parse, const char *text, const char *name, const char *folder, const rp_scene_options *options, rp_scene **out)
REFUSE(rp_scene_add_bodies, rp_scene *scene, const char *journal)
REFUSE(rp_scene_format, const rp_scene *scene, char **yaml)
REFUSE(rp_scene_schema, char **json)
REFUSE(rp_scene_reference, char **markdown)

/* What has no result: nothing was ever made, so there is nothing to tell or to free. */
NOTHING(rp_scene_destroy, rp_scene *scene)
GIVE(int, 0, rp_scene_file_count, const rp_scene *scene)
GIVE(const char *, NULL, rp_scene_file, const rp_scene *scene, int index)
GIVE(const rp_sim_def *, NULL, rp_scene_sim_def, const rp_scene *scene)
GIVE(int, 0, rp_scene_control_count, const rp_scene *scene)
GIVE(const rp_control_def *, NULL, rp_scene_control, const rp_scene *scene, int index)
GIVE(rp_output_def, ((rp_output_def){ 0 }), rp_default_output_def, void)
GIVE(const rp_param *, NULL, rp_output_table, void)
GIVE(const rp_output_def *, NULL, rp_scene_output, const rp_scene *scene)
GIVE(const char *, NULL, rp_scene_title, const rp_scene *scene)
GIVE(const char *, NULL, rp_scene_description, const rp_scene *scene)
