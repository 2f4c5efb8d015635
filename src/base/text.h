/* Text that grows, and the distance between two words. */
#ifndef RP_BASE_TEXT_H
#define RP_BASE_TEXT_H

#include <repose/export.h>
#include <repose/result.h>
#include <stdbool.h>
#include <stdint.h>

/* { 0 } is an empty text. After a failed allocation it keeps what it has, remembers it in `failed`, and ignores what is
 * appended, so that a caller checks once at the end with rp__text_result. */
typedef struct rp__text {
    char *data; /* ends with '\0'; NULL while nothing was appended */
    int64_t length, capacity;
    bool failed;
} rp__text;

void rp__text_append(rp__text *text, const char *format, ...) RP_PRINTF(2, 3);
void rp__text_append_bytes(rp__text *text, const char *bytes, int64_t count);
void rp__text_append_string(rp__text *text, const char *string);
/* The shortest decimal that reads back to the same double, whatever the locale. */
void rp__text_append_number(rp__text *text, double value);
/* "..." with the escapes of JSON (which YAML reads too). */
void rp__text_append_quoted(rp__text *text, const char *string);

const char *rp__text_string(const rp__text *text); /* never NULL */
rp_result rp__text_result(const rp__text *text);   /* RP_OUT_OF_MEMORY when something did not fit */
char *rp__text_take(rp__text *text);               /* gives the memory away (rp__base_free it), leaves an empty text; NULL when failed */
void rp__text_free(rp__text *text);

/* Edit distance between two words: insertions, deletions, substitutions and swaps of neighbours each cost one; case and the
 * difference of '-' and '_' cost nothing. Words longer than 63 bytes are compared by their first 63. */
int rp__text_distance(const char *a, const char *b);

/* The candidate of `count` nearest to `word`, or -1 when none is within a third of the word's length (at least 1, at most 3). */
int rp__text_nearest(const char *word, const char *const *candidates, int count);

#endif
