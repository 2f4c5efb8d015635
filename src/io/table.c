/* stats.csv and bodies.csv: a row a step, appended and flushed; cut back to a step when a run is resumed. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/io.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- opening and cutting ---- */

static void free_columns(rp__io_table *table)
{
    for (int c = 0; c < table->column_count; c++)
        rp__base_free(table->columns[c]);
    rp__base_free(table->columns);
    table->columns = NULL;
    table->column_count = 0;
}

/* Splits "a,b,c" into the names of the columns. */
static rp_result set_columns(rp__io_table *table, const char *header)
{
    int count = 1;
    for (const char *p = header; *p; p++)
        count += *p == ',';
    table->columns = rp__base_alloc_zero((size_t)count * sizeof *table->columns);
    if (!table->columns)
        return RP_OUT_OF_MEMORY;
    const char *start = header;
    for (int c = 0; c < count; c++) {
        size_t length = strcspn(start, ",");
        char *name = rp__base_alloc(length + 1);
        if (!name) {
            free_columns(table);
            return RP_OUT_OF_MEMORY;
        }
        memcpy(name, start, length);
        name[length] = '\0';
        table->columns[table->column_count++] = name;
        start += length + 1;
    }
    return RP_OK;
}

/* The next line with its end, into `line`; false at the end of the file and for a line that was torn. */
static bool next_line(FILE *stream, rp__text *line)
{
    char piece[512];
    line->length = 0;
    while (fgets(piece, sizeof piece, stream)) {
        rp__text_append_string(line, piece);
        if (line->failed)
            return false;
        if (line->length && line->data[line->length - 1] == '\n')
            return true;
    }
    return false;
}

static bool step_of(const char *row, int64_t *step)
{
    int64_t value = 0;
    int digits = 0;
    for (; row[digits] >= '0' && row[digits] <= '9' && digits < 18; digits++)
        value = value * 10 + (row[digits] - '0');
    *step = value;
    return digits > 0 && row[digits] == ',';
}

/* Reads the header and finds where the rows to keep end. */
static rp_result find_end(rp__io_table *table, int64_t last_step, off_t *end)
{
    rp__text line = { 0 };
    rp_result result = RP_OK;
    *end = 0;
    if (next_line(table->stream, &line)) {
        *end = ftello(table->stream);
        line.data[line.length - 1] = '\0';
        result = set_columns(table, line.data);
        int64_t step;
        while (result == RP_OK && next_line(table->stream, &line) && step_of(line.data, &step) && step <= last_step)
            *end = ftello(table->stream);
    }
    if (result == RP_OK && line.failed)
        result = RP_OUT_OF_MEMORY;
    rp__text_free(&line);
    return result;
}

rp_result rp__io_table_open(rp__io_table *table, const char *path, int64_t last_step)
{
    memset(table, 0, sizeof *table);
    table->path = rp__base_copy_text(path);
    if (!table->path)
        return RP_OUT_OF_MEMORY;
    bool there = rp__file_exists(path);
    table->stream = fopen(path, there ? "r+b" : "wb");
    rp_result result = RP_OK;
    off_t end = 0;
    if (!table->stream)
        result = rp__base_fail(RP_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
    if (result == RP_OK && there)
        result = find_end(table, last_step, &end);
    if (result == RP_OK && (fseeko(table->stream, end, SEEK_SET) != 0 || ftruncate(fileno(table->stream), end) != 0))
        result = rp__base_fail(RP_IO_ERROR, "cannot cut %s back: %s", path, strerror(errno));
    if (result != RP_OK)
        rp__io_table_close(table);
    return result;
}

rp_result rp__io_table_sync(rp__io_table *table)
{
    if (!table->stream || (fflush(table->stream) == 0 && (fsync(fileno(table->stream)) == 0 || errno == EINVAL)))
        return RP_OK;
    return rp__base_fail(RP_IO_ERROR, "cannot write %s: %s", table->path, strerror(errno));
}

void rp__io_table_close(rp__io_table *table)
{
    if (table->stream)
        fclose(table->stream);
    free_columns(table);
    rp__base_free(table->path);
    memset(table, 0, sizeof *table);
}

/* A line goes in whole or is taken back. */
static rp_result put_line(rp__io_table *table, rp__text *line)
{
    rp_result result = rp__text_result(line);
    if (result == RP_OK) {
        off_t before = ftello(table->stream);
        if (fwrite(line->data, 1, (size_t)line->length, table->stream) != (size_t)line->length || fflush(table->stream) != 0) {
            result = rp__base_fail(RP_IO_ERROR, "cannot write %s: %s", table->path, strerror(errno));
            clearerr(table->stream);
            if (before < 0 || ftruncate(fileno(table->stream), before) != 0 || fseeko(table->stream, before, SEEK_SET) != 0)
                rp__base_fail_prefix(RP_IO_ERROR, "torn row: "); /* cut when the run is resumed */
        }
    }
    rp__text_free(line);
    return result;
}

static rp_result put_header(rp__io_table *table, rp__text *header)
{
    rp_result result = rp__text_result(header);
    if (result == RP_OK)
        result = set_columns(table, header->data);
    if (result != RP_OK) {
        rp__text_free(header);
        return result;
    }
    rp__text_append_string(header, "\n");
    result = put_line(table, header);
    if (result != RP_OK)
        free_columns(table); /* the next row tries again */
    return result;
}

/* ---- stats.csv ---- */

typedef enum kind { INTEGER, NUMBER, FLAG, WORD } kind;
typedef struct column {
    const char *name;
    kind type;
    size_t offset;
} column;

#define COLUMN(type, name) { #name, type, offsetof(rp_step_stats, name) }
static const column columns[] = {
    COLUMN(INTEGER, step),         COLUMN(NUMBER, time),           COLUMN(NUMBER, dt),
    COLUMN(WORD, limit),           COLUMN(INTEGER, particles),     COLUMN(INTEGER, nodes),
    COLUMN(INTEGER, iterations),   COLUMN(NUMBER, residual_mean),  COLUMN(NUMBER, residual_max),
    COLUMN(FLAG, converged),       COLUMN(NUMBER, volume_error),   COLUMN(NUMBER, kinetic_energy),
    COLUMN(NUMBER, potential_energy), COLUMN(INTEGER, emitted),    COLUMN(INTEGER, removed),
    COLUMN(INTEGER, outside),      COLUMN(INTEGER, clamped),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool among(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Names of the method first, whatever the first step had to do; then those that it has besides. */
static void put_names(rp__text *text, const char *before, const char *const *own, const char *const *names, int count)
{
    for (const char *const *n = own; n && *n; n++)
        rp__text_append(text, ",%s%s", before, *n);
    for (int k = 0; k < count; k++)
        if (!among(own, names[k]))
            rp__text_append(text, ",%s%s", before, names[k]);
}

/* step, time, …, the extras, ms_step, ms_PHASE …, ms_other: the time of phases that have no column. */
static rp_result stats_header(rp__io_table *table, const rp_method_info *method, const rp_step_stats *stats)
{
    rp__text text = { 0 };
    for (int c = 0; c < COLUMNS; c++)
        rp__text_append(&text, "%s%s", c ? "," : "", columns[c].name);
    put_names(&text, "", method ? method->extras : NULL, stats->extra_name, stats->extra_count);
    rp__text_append_string(&text, ",ms_step");
    put_names(&text, "ms_", method ? method->phases : NULL, stats->phase_name, stats->phase_count);
    rp__text_append_string(&text, ",ms_other");
    return put_header(table, &text);
}

static void put_member(rp__text *text, const column *c, const rp_step_stats *stats)
{
    const char *member = (const char *)stats + c->offset;
    const char *word;
    switch (c->type) {
    case INTEGER: rp__text_append(text, "%lld", (long long)*(const int64_t *)(const void *)member); break;
    case NUMBER: rp__text_append_number(text, *(const double *)(const void *)member); break;
    case FLAG: rp__text_append_string(text, *(const bool *)member ? "1" : "0"); break;
    case WORD:
        memcpy(&word, member, sizeof word);
        rp__text_append_string(text, word ? word : "");
        break;
    }
}

static bool has_phase(const rp__io_table *table, const char *phase)
{
    for (int c = 0; c < table->column_count; c++)
        if (strncmp(table->columns[c], "ms_", 3) == 0 && strcmp(table->columns[c] + 3, phase) == 0)
            return true;
    return false;
}

static void put_milliseconds(rp__text *text, const rp__io_table *table, const char *phase, const rp_step_stats *stats)
{
    double sum = 0;
    if (strcmp(phase, "step") == 0)
        sum = stats->ms_step;
    else
        for (int p = 0; p < stats->phase_count; p++)
            if (strcmp(phase, "other") == 0 ? !has_phase(table, stats->phase_name[p]) : strcmp(phase, stats->phase_name[p]) == 0)
                sum += stats->phase_ms[p];
    rp__text_append(text, "%.3f", sum);
}

static void put_cell(rp__text *text, const rp__io_table *table, const char *name, const rp_step_stats *stats)
{
    for (int c = 0; c < COLUMNS; c++)
        if (strcmp(name, columns[c].name) == 0) {
            put_member(text, &columns[c], stats);
            return;
        }
    if (strncmp(name, "ms_", 3) == 0) {
        put_milliseconds(text, table, name + 3, stats);
        return;
    }
    for (int e = 0; e < stats->extra_count; e++)
        if (strcmp(name, stats->extra_name[e]) == 0) {
            rp__text_append_number(text, stats->extra[e]);
            return;
        } /* an extra that this step does not have: an empty cell */
}

rp_result rp__io_stats_row(rp__io_table *table, const rp_method_info *method, const rp_step_stats *stats)
{
    if (table->column_count == 0)
        RP_TRY(stats_header(table, method, stats));
    rp__text text = { 0 };
    for (int c = 0; c < table->column_count; c++) {
        if (c)
            rp__text_append_string(&text, ",");
        put_cell(&text, table, table->columns[c], stats);
    }
    rp__text_append_string(&text, "\n");
    return put_line(table, &text);
}

/* ---- bodies.csv ---- */

rp_result rp__io_body_header(rp__io_table *table)
{
    if (table->column_count)
        return RP_OK;
    rp__text text = { 0 };
    rp__text_append_string(&text, "step,time,body,present,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz,fx,fy,fz,tx,ty,tz,px,py,pz,sx,sy,sz");
    return put_header(table, &text);
}

/* A name with a comma or a quote is quoted as RFC 4180 says. */
static void put_name(rp__text *text, const char *name)
{
    if (!strpbrk(name, ",\"\n\r")) {
        rp__text_append_string(text, name);
        return;
    }
    rp__text_append_string(text, "\"");
    for (; *name; name++) {
        if (*name == '"')
            rp__text_append_string(text, "\"");
        rp__text_append_bytes(text, *name == '\n' || *name == '\r' ? " " : name, 1);
    }
    rp__text_append_string(text, "\"");
}

static void put_numbers(rp__text *text, const double *numbers, int count)
{
    for (int k = 0; k < count; k++) {
        rp__text_append_string(text, ",");
        rp__text_append_number(text, numbers[k]);
    }
}

rp_result rp__io_body_row(rp__io_table *table, int64_t step, double time, const char *name, const rp_body_state *body)
{
    RP_TRY(rp__io_body_header(table));
    rp__text text = { 0 };
    rp__text_append(&text, "%lld,", (long long)step);
    rp__text_append_number(&text, time);
    rp__text_append_string(&text, ",");
    put_name(&text, name);
    rp__text_append_string(&text, body->present ? ",1" : ",0");
    put_numbers(&text, body->position, 3);
    put_numbers(&text, body->orientation, 4);
    put_numbers(&text, body->velocity, 3);
    put_numbers(&text, body->angular_velocity, 3);
    put_numbers(&text, body->force, 3);
    put_numbers(&text, body->torque, 3);
    put_numbers(&text, body->fluid_pressure_force, 3);
    put_numbers(&text, body->fluid_viscous_force, 3);
    rp__text_append_string(&text, "\n");
    return put_line(table, &text);
}
