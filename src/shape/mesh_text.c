/* OBJ and STL files. Both are read as far as they describe a surface: points and faces; names, normals, textures and colours are passed over. */
#include "shape/mesh_faces.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- words of a line ---- */

/* Blanks; in OBJ a line goes on after a backslash at its end. */
static const char *skip_blanks(const char *p)
{
    for (;;) {
        if (*p == ' ' || *p == '\t')
            p++;
        else if (*p == '\\' && p[1] == '\n')
            p += 2;
        else if (*p == '\\' && p[1] == '\r' && p[2] == '\n')
            p += 3;
        else
            return p;
    }
}

static bool ends_word(char c)
{
    return c == '\0' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\';
}

static bool take_word(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0 || !ends_word((*at)[length]))
        return false;
    *at += length;
    return true;
}

static const char *next_line(const char *p)
{
    p += strcspn(p, "\n\r");
    return p + (*p == '\r') + (*p == '\r' ? p[1] == '\n' : *p == '\n');
}

static int line_number(const char *text, const char *at)
{
    int number = 1;
    for (const char *p = next_line(text); p <= at && *p; p = next_line(p))
        number++;
    return number;
}

bool rp__shape_take_number(const char **at, double *value)
{
    const char *p = skip_blanks(*at);
    if (ends_word(*p))
        return false;
    char *end;
    *value = strtod(p, &end);
    *at = end;
    return end != p && ends_word(*end);
}

static rp_result take_point(rp__faces *f, const char *text, const char *line, const char *p)
{
    double x[3];
    for (int i = 0; i < 3; i++)
        if (!rp__shape_take_number(&p, &x[i]))
            return rp__base_fail(RP_BAD_FILE, "%s, line %d: a vertex needs three numbers: '%.*s'", f->path, line_number(text, line),
                                 (int)strcspn(line, "\n\r") < 60 ? (int)strcspn(line, "\n\r") : 60, line);
    return rp__shape_faces_vertex(f, x);
}

/* ---- OBJ ---- */

/* f 1 2 3, f 1/1 2/2 3/3, f 1//1 …, or from the last vertex backwards: f -3 -2 -1 */
static rp_result take_face(rp__faces *f, const char *text, const char *line, const char *p)
{
    for (p = skip_blanks(p); *p && *p != '\n' && *p != '\r' && *p != '#'; p = skip_blanks(p)) {
        char *end;
        long long number = strtoll(p, &end, 10);
        if (end == p || number == 0 || (!ends_word(*end) && *end != '/'))
            return rp__base_fail(RP_BAD_FILE, "%s, line %d: '%.*s' is no corner of a face, which is the number of a vertex from 1, or backwards from -1",
                                 f->path, line_number(text, line), (int)strcspn(p, " \t\n\r") < 30 ? (int)strcspn(p, " \t\n\r") : 30, p);
        RP_TRY(rp__shape_faces_corner(f, number > 0 ? number - 1 : number < -f->vertex_count ? -1 : f->vertex_count + number));
        for (p = end; !ends_word(*p); p++)
            ;
    }
    return rp__shape_faces_close(f);
}

/* The line after one that may go on over several. */
static const char *next_logical_line(const char *p)
{
    for (;;) {
        const char *end = p + strcspn(p, "\n\r");
        bool goes_on = end > p && end[-1] == '\\';
        p = next_line(end);
        if (!goes_on || !*p)
            return p;
    }
}

rp_result rp__shape_read_obj(const char *text, rp__faces *f)
{
    for (const char *line = text; *line; line = next_logical_line(line)) {
        const char *p = skip_blanks(line);
        if (take_word(&p, "v"))
            RP_TRY(take_point(f, text, line, p));
        else if (take_word(&p, "f"))
            RP_TRY(take_face(f, text, line, p));
    }
    return RP_OK;
}

/* ---- STL ---- */

enum { STL_HEAD = 84, STL_TRIANGLE = 50 };

static uint32_t little(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static rp_result read_binary(const unsigned char *bytes, int64_t count, rp__faces *f)
{
    for (int64_t t = 0; t < count; t++) {
        const unsigned char *at = bytes + STL_HEAD + STL_TRIANGLE * t + 12; /* behind the normal */
        for (int k = 0; k < 3; k++) {
            double x[3];
            for (int i = 0; i < 3; i++, at += 4) {
                uint32_t bits = little(at);
                float value;
                memcpy(&value, &bits, sizeof value);
                x[i] = (double)value;
            }
            RP_TRY(rp__shape_faces_corner(f, f->vertex_count));
            RP_TRY(rp__shape_faces_vertex(f, x));
        }
        RP_TRY(rp__shape_faces_close(f));
    }
    return RP_OK;
}

static rp_result read_solid(const char *text, rp__faces *f)
{
    for (const char *line = text; *line; line = next_line(line)) {
        const char *p = skip_blanks(line);
        if (take_word(&p, "vertex")) {
            RP_TRY(rp__shape_faces_corner(f, f->vertex_count));
            RP_TRY(take_point(f, text, line, p));
        } else if (take_word(&p, "endloop")) {
            RP_TRY(rp__shape_faces_close(f));
        }
    }
    return f->corner_count > (f->face_count ? f->ends[f->face_count - 1] : 0)
               ? rp__base_fail(RP_BAD_FILE, "%s: it ends within a facet: 'endloop' is missing", f->path)
               : RP_OK;
}

/* Binary files may begin with "solid" too: the size tells. */
rp_result rp__shape_read_stl(const char *text, size_t size, rp__faces *f)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint64_t count = size >= STL_HEAD ? little(bytes + STL_HEAD - 4) : 0, needed = STL_HEAD + STL_TRIANGLE * count;
    bool solid = strncmp(text, "solid", 5) == 0;
    if (size >= STL_HEAD && (needed == size || (!solid && needed < size)))
        return read_binary(bytes, (int64_t)count, f);
    if (solid)
        return read_solid(text, f);
    if (size < STL_HEAD)
        return rp__base_fail(RP_BAD_FILE, "%s: %zu bytes are no STL file: it begins with 'solid', or has 84 bytes before its triangles", f->path, size);
    return rp__base_fail(RP_BAD_FILE, "%s: its %llu triangles take %llu bytes, but the file has %zu: it is cut short or no STL file", f->path,
                         (unsigned long long)count, (unsigned long long)needed, size);
}
