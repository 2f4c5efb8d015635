/* Writers of the other formats: each takes a frame and leaves a whole file. */
#ifndef RP_IO_CONVERT_H
#define RP_IO_CONVERT_H

#include "io/io.h"

enum { RP_IO_ROWS = 8192 /* particles interleaved at a time */ };

/* x, vx, stress_xx, …: column c (in the order of VTK) of a field. */
void rp__io_column_name(const rp_field_info *info, int c, char *buffer, size_t size);

rp_result rp__io_vtp_write(const rp_frame *frame, const char *path);
rp_result rp__io_ply_write(const rp_frame *frame, const char *path);
rp_result rp__io_csv_write(const rp_frame *frame, const char *path);
rp_result rp__io_npz_write(const rp_frame *frame, const char *path);

/* One stage for all frames: paths[i] is a frame file. With a single one there are no time samples. */
rp_result rp__io_usda_write(char *const *paths, int64_t count, const char *path);

#endif
