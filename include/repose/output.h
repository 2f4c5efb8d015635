/* Files of a run: frames, tables, checkpoints. Each appears whole or not at all. */
#ifndef REPOSE_OUTPUT_H
#define REPOSE_OUTPUT_H

#include <repose/scene.h>
#include <repose/sim.h>

RP_BEGIN

/* ---- frames: VTKHDF UnstructuredGrid, read by ParaView as it is ---- */

typedef struct rp_frame {
    double time;
    int64_t index;                /* frame number */
    int64_t step;                 /* steps done */
    int dim;
    double cell_size;
    double frame_rate;            /* [1/s] */
    double lower[3], upper[3];    /* of the domain */
    int64_t count;                /* particles */
    rp_field_view *fields;        /* planar, as everywhere */
    int field_count;
    rp_body_state *bodies;
    char (*body_names)[64];
    int body_count;
    void *storage;                /* owned memory */
} rp_frame;

/* Besides the particles' own fields, pressure, volume fraction and region of the law where the method has them on its nodes. */
RP_API rp_result rp_frame_write(rp_sim *sim, const rp_output_def *output, const char *path);
/* The state of a simulation as a frame that is not written: views that hold until the next step. `fields` as in rp_output_def. */
RP_API rp_result rp_frame_collect(rp_sim *sim, const char *fields, rp_frame *out);
RP_API rp_result rp_frame_read(const char *path, rp_frame *out);
RP_API const rp_field_view *rp_frame_field(const rp_frame *frame, const char *name); /* NULL if absent */
RP_API void rp_frame_free(rp_frame *frame);
RP_API rp_result rp_grid_write(rp_sim *sim, const char *path);     /* node fields, on demand */

/* Fibres of one moment, as polylines (a VTKHDF file of type PolyData): frames/fibres_000000.vtkhdf beside the frame of that number. */
typedef struct rp_fibres_frame {
    rp_fibres_view view;
    double time;
    void *storage;                /* owned memory */
} rp_fibres_frame;
RP_API rp_result rp_fibres_write(rp_sim *sim, const char *path);
RP_API rp_result rp_fibres_read(const char *path, rp_fibres_frame *out);
RP_API void rp_fibres_free(rp_fibres_frame *frame);

/* A file of fibres becomes obj (lines), usda (basis curves), csv or npz. vtp pvd ply usda csv npz vtkhdf, by the extension of `to` unless
 * `format` is given. Takes a frame or an output folder; of
 * a folder every frame becomes NAME_000000.ext beside `to`, but usda and pvd make one file (docs/io.md). */
RP_API rp_result rp_convert(const char *from, const char *to, const char *format);
/* A frame in memory, to vtp ply csv npz or vtkhdf. */
RP_API rp_result rp_frame_convert(const rp_frame *frame, const char *to, const char *format);
RP_API const char *rp_convert_formats(void); /* "vtp pvd ply usda csv npz" */

/* ---- checkpoints ---- */

RP_API rp_result rp_checkpoint_write(const char *path, const rp_sim *sim, const char *scene_yaml);
/* The scene text (free with rp_text_free) and the state; foreign or damaged files are refused with a sentence. */
RP_API rp_result rp_checkpoint_read(const char *path, char **scene_yaml, rp_state *state);

/* The scene of a run's folder, and behind its own the bodies that came while it ran: those of its frames. */
RP_API rp_result rp_run_scene(const char *folder, rp_scene **out);

/* A journal (docs/drive.md) from a file of lines, or from the actions.jsonl of a run's folder; free with rp_text_free. */
RP_API rp_result rp_journal_read(const char *path, char **journal);

/* ---- an output folder ---- */

typedef struct rp_output rp_output;

/* A new run: makes the folder, writes scene.yaml. A folder that holds a run already is refused unless `overwrite`. */
RP_API rp_result rp_output_create(const char *folder, const rp_scene *scene, bool overwrite, rp_output **out);

/* Continues a run: finds the newest sound checkpoint, makes scene and simulation from it, cuts the tables and the frames
 * back to it. RP_NOT_FOUND when there is none. */
RP_API rp_result rp_output_resume(const char *folder, rp_output **out, rp_scene **scene, rp_sim **sim);

/* Rows of stats.csv and bodies.csv; what was done from outside in actions.jsonl; a frame when the simulation is at one; a checkpoint when it is due. */
RP_API rp_result rp_output_step(rp_output *output, rp_sim *sim, const rp_step_stats *stats);
RP_API rp_result rp_output_start(rp_output *output, rp_sim *sim);      /* frame 0 and the first checkpoint */
RP_API rp_result rp_output_checkpoint(rp_output *output, rp_sim *sim); /* now */
/* The end of a run at a time between frames: the state as last.vtkhdf, and, unless `stats` is NULL, the rows of the step that was
 * shortened to get there (rp_sim_step_to). Make a checkpoint before that step: `resume` goes on from there, as if the run had not been
 * stopped. */
RP_API rp_result rp_output_last(rp_output *output, rp_sim *sim, const rp_step_stats *stats);
RP_API rp_result rp_output_dump(rp_output *output, rp_sim *sim);       /* state of a diverged run: dump.vtkhdf */
RP_API void rp_output_destroy(rp_output *output);

/* Whether a frame, a checkpoint or everything in a run's folder agrees with its checksums. The report has a line for each that does not
 * (free with rp_text_free), also when the result is RP_BAD_FILE. */
RP_API rp_result rp_verify(const char *path, char **report);

/* Facts of a file or folder for `repose info`, as text or JSON (free with rp_text_free). */
RP_API rp_result rp_info(const char *path, bool json, char **text);

RP_END
#endif
