/* Reading JSON from memory, value by value: for lines that the library writes itself, and for those that people write by hand.
 * Numbers read to the same bits as they were written (rp__text_append_number); "inf" and "-inf", as texts, are numbers too. */
#ifndef RP_BASE_JSON_H
#define RP_BASE_JSON_H

#include <repose/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the reader is. Every failure is RP_BAD_FILE and says at which byte of the text. */
typedef struct rp__json {
    const char *begin, *at, *end; /* *end is 0 */
} rp__json;

rp__json rp__json_open(const char *text, size_t length);

/* The first byte of the next value: one of { [ " 0…9 - t f n, or 0 at the end. */
char rp__json_peek(rp__json *json);

/* An object: begin, then next until *more is false; the value of each key must be read or skipped. */
rp_result rp__json_object(rp__json *json);
rp_result rp__json_key(rp__json *json, bool *first, char *key, size_t size, bool *more);

/* An array: begin, then next before each value until *more is false. */
rp_result rp__json_array(rp__json *json);
rp_result rp__json_item(rp__json *json, bool *first, bool *more);

rp_result rp__json_number(rp__json *json, double *value);
rp_result rp__json_whole(rp__json *json, int64_t *value);
rp_result rp__json_bool(rp__json *json, bool *value);
rp_result rp__json_text(rp__json *json, char *buffer, size_t size); /* refused when it does not fit */
rp_result rp__json_numbers(rp__json *json, double *values, int count); /* an array of exactly that many */
rp_result rp__json_numbers_any(rp__json *json, double **values, int64_t *count); /* free with rp__base_free */
rp_result rp__json_skip(rp__json *json);
rp_result rp__json_finish(rp__json *json); /* nothing but spaces may follow */

#endif
