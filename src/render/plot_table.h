/* CSV tables of a run, read into columns of numbers. */
#ifndef RP_RENDER_PLOT_TABLE_H
#define RP_RENDER_PLOT_TABLE_H

#include <repose/result.h>
#include <stdint.h>

typedef struct rp__table {
    int columns;
    int64_t rows;
    char **names;    /* of the columns */
    double **values; /* a column each; NaN where a cell is no number */
    char *words;     /* `word_column` as text: 64 bytes a row; NULL unless asked for */
    char *text;      /* owned */
} rp__table;

/* `word` (may be NULL): the column to keep as text. A torn last line is left out. */
rp_result rp__table_read(const char *path, const char *word, rp__table *out);
void rp__table_free(rp__table *table);
const double *rp__table_column(const rp__table *table, const char *name); /* NULL if absent */

#endif
