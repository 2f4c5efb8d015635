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

/* Fibres of a file in another format (obj, usda, csv, npz), by the extension. */
bool rp__io_is_fibres(const char *path);
rp_result rp__io_fibres_convert(const char *from, const char *to, const char *format);

/* One stage for all frames: paths[i] is a frame file. With a single one there are no time samples. */
rp_result rp__io_usda_write(char *const *paths, int64_t count, const char *path);

#endif
