/* In the place of this room where the component 'files' is left out: every function of <repose/output.h> is there and refuses by name. */
#include "base/absent.h"

#include <repose/output.h>

#define COMPONENT "'files' (files of a run, HDF5)"

REFUSE(rp_frame_write, rp_sim *sim, const rp_output_def *output, const char *path)
REFUSE(rp_frame_collect, rp_sim *sim, const char *fields, rp_frame *out)
REFUSE(rp_frame_read, const char *path, rp_frame *out)
REFUSE(rp_grid_write, rp_sim *sim, const char *path)
REFUSE(rp_fibres_write, rp_sim *sim, const char *path)
REFUSE(rp_fibres_read, const char *path, rp_fibres_frame *out)
REFUSE(rp_convert, const char *from, const char *to, const char *format)
REFUSE(rp_frame_convert, const rp_frame *frame, const char *to, const char *format)
REFUSE(rp_checkpoint_write, const char *path, const rp_sim *sim, const char *scene_yaml)
REFUSE(rp_checkpoint_read, const char *path, char **scene_yaml, rp_state *state)
REFUSE(rp_run_scene, const char *folder, rp_scene **out)
REFUSE(rp_journal_read, const char *path, char **journal)
REFUSE(rp_output_create, const char *folder, const rp_scene *scene, bool overwrite, rp_output **out)
REFUSE(rp_output_resume, const char *folder, rp_output **out, rp_scene **scene, rp_sim **sim)
REFUSE(rp_output_step, rp_output *output, rp_sim *sim, const rp_step_stats *stats)
REFUSE(rp_output_start, rp_output *output, rp_sim *sim)
REFUSE(rp_output_checkpoint, rp_output *output, rp_sim *sim)
REFUSE(rp_output_last, rp_output *output, rp_sim *sim, const rp_step_stats *stats)
REFUSE(rp_output_dump, rp_output *output, rp_sim *sim)
REFUSE(rp_verify, const char *path, char **report)
REFUSE(rp_info, const char *path, bool json, char **text)

/* What has no result: nothing was ever made, so there is nothing to tell or to free. */
GIVE(const rp_field_view *, NULL, rp_frame_field, const rp_frame *frame, const char *name)
NOTHING(rp_frame_free, rp_frame *frame)
NOTHING(rp_fibres_free, rp_fibres_frame *frame)
GIVE(const char *, NULL, rp_convert_formats, void)
NOTHING(rp_output_destroy, rp_output *output)
