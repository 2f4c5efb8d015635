/* Inside io: what its files share. Everything takes views or an rp_frame; only collect.c and output.c know a simulation. */
#ifndef RP_IO_IO_H
#define RP_IO_IO_H

#include "base/file.h"

#include <repose/output.h>

/* ---- frames ---- */

size_t rp__io_type_size(rp_type type);

/* Fields and bodies of a simulation as a frame that points into it: valid until the next step. `fields` as in
 * rp_output_def. Free with rp_frame_free. */
rp_result rp__io_frame_collect(rp_sim *sim, const char *fields, rp_frame *out);

/* What the method has on its nodes, at the particles: fields of single precision that the frame owns. Nothing where the method has no
 * node fields. `wanted` says by name which to add. */
enum { RP_IO_PROBES = 5 };
extern const rp_field_info rp__io_probes[RP_IO_PROBES]; /* pressure, volume_fraction, region, fluid_pressure, fluid_velocity */
rp_result rp__io_probe(rp_sim *sim, const bool wanted[RP_IO_PROBES], rp_frame *frame);

/* `compressed`: chunks with shuffle and deflate; otherwise plain contiguous arrays (written at the speed of the disk). The
 * first field must be "position". The same content gives the same bytes. */
rp_result rp__io_frame_write(const rp_frame *frame, const char *path, bool compressed);

/* Our order of a symmetric tensor (xx yy zz xy xz yz) to VTK's (xx yy zz xy yz xz): component c of VTK is this one of ours.
 * It is its own inverse. */
int rp__io_vtk_component(int components, int c);

/* Planar to interleaved: row i of `rows` holds the components of particle first + i, in the order of VTK. */
void rp__io_gather(const rp_field_view *view, int64_t first, int64_t count, void *rows);

/* Component c of particle i is element c * stride + i. */
double rp__io_element(const rp_field_view *view, int64_t at);

/* ---- checksums ---- */

uint64_t rp__io_crc64(uint64_t crc, const void *data, size_t size); /* CRC-64/XZ; start with 0, may be continued */
uint32_t rp__io_crc32(uint32_t crc, const void *data, size_t size); /* CRC-32 of zip and PNG; likewise */
uint64_t rp__io_crc64_ref(uint64_t crc, const void *data, size_t size); /* bit by bit, for tests */
uint32_t rp__io_crc32_ref(uint32_t crc, const void *data, size_t size);

/* The end of a frame file: a mark and the CRC-64 of all bytes before it. HDF5 does not look beyond its own end. */
enum { RP_IO_SEAL = 16 };
void rp__io_seal(const void *data, size_t size, unsigned char seal[RP_IO_SEAL]);
/* Whether the bytes of a frame agree with the checksum at their end. One that has none (changed by another program) is refused when it is needed. */
rp_result rp__io_verify_seal(const char *path, const char *data, size_t size, bool needed);

/* ---- meshes and images of a run ---- */

/* Copies what the scene names into FOLDER/files, under names with their checksums, and puts these names into the text of the scene. */
rp_result rp__io_copy_files(const char *folder, const rp_scene *scene, char **scene_text);
rp_result rp__io_verify_files(const char *folder, int *count); /* RP_BAD_FILE for the first that has changed; adds to *count (or NULL) */
rp_result rp__io_remove_files(const char *folder);

/* ---- checkpoints ---- */

enum { RP_IO_CHECKPOINT_VERSION = 1 };

typedef struct rp__io_checkpoint_info {
    int64_t step, frame;
    double time;
    int64_t bytes; /* of the file */
    int blobs;
} rp__io_checkpoint_info;

rp_result rp__io_checkpoint_save(const char *path, const rp__io_checkpoint_info *info, const rp_state *state,
                                 const char *scene_yaml);
/* `info`, `scene_yaml` and `state` may each be NULL; everything is checked all the same. */
rp_result rp__io_checkpoint_load(const char *path, rp__io_checkpoint_info *info, char **scene_yaml, rp_state *state);
/* The same from memory; `name` stands for the file in messages. */
rp_result rp__io_checkpoint_parse(const void *data, size_t size, const char *name, rp__io_checkpoint_info *info,
                                  char **scene_yaml, rp_state *state);

/* ---- tables ---- */

/* A CSV file to which rows are appended; each row is flushed, so that a killed program loses none. */
typedef struct rp__io_table {
    FILE *stream;
    char *path;
    char **columns;
    int column_count;
} rp__io_table;

/* Opens PATH, keeping the header and the whole rows whose first column (the step) is at most `last_step`. */
rp_result rp__io_table_open(rp__io_table *table, const char *path, int64_t last_step);
rp_result rp__io_table_sync(rp__io_table *table);
void rp__io_table_close(rp__io_table *table);

/* One row; before the first the header, with the columns of the method (NULL: those that the step has). */
rp_result rp__io_stats_row(rp__io_table *table, const rp_method_info *method, const rp_step_stats *stats);
/* One row; writes the header before the first. */
rp_result rp__io_body_row(rp__io_table *table, int64_t step, double time, const char *name, const rp_body_state *body);
rp_result rp__io_body_header(rp__io_table *table);

/* ---- folders ---- */

/* Files PREFIX<digits>SUFFIX of a folder, sorted by number; empty when the folder is absent. */
typedef struct rp__io_list {
    int64_t *numbers;
    int64_t count;
} rp__io_list;

rp_result rp__io_list_make(rp__io_list *list, const char *folder, const char *prefix, const char *suffix);
void rp__io_list_free(rp__io_list *list);

#define RP_IO_FRAMES "frames"
#define RP_IO_FRAME_PREFIX "frame_"
#define RP_IO_GRID_PREFIX "grid_"
#define RP_IO_FIBRES_PREFIX "fibres_"
#define RP_IO_FIBRES_SERIES "fibres.vtkhdf.series"
#define RP_IO_FRAME_SUFFIX ".vtkhdf"
#define RP_IO_SERIES "frames.vtkhdf.series"
#define RP_IO_ACTIONS "actions.jsonl"
#define RP_IO_LAST "last.vtkhdf"
#define RP_IO_DUMP "dump.vtkhdf"
#define RP_IO_PROBLEMS "problems"
#define RP_IO_PROBLEM_PREFIX "problem-"
#define RP_IO_PROBLEM_SUFFIX ".hdf5"
#define RP_IO_GRID_SERIES "grid.vtkhdf.series"
#define RP_IO_FILES "files"
#define RP_IO_CHECKPOINTS "checkpoints"
#define RP_IO_CHECKPOINT_PREFIX "step_"
#define RP_IO_CHECKPOINT_SUFFIX ".checkpoint"

/* FOLDER/frames/PREFIX000012.vtkhdf, FOLDER/checkpoints/step_000000012.checkpoint; free with rp__base_free. */
char *rp__io_frame_path(const char *folder, const char *prefix, int64_t index);
char *rp__io_checkpoint_path(const char *folder, int64_t step);
char *rp__io_problem_path(const char *folder, int64_t number);
bool rp__io_is_folder(const char *path);

#endif
