/* A reader of JSON, for the files this program writes itself and for messages of its page: numbers as doubles, texts in UTF-8. */
#ifndef REPOSE_APPS_JSON_H
#define REPOSE_APPS_JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT } json_kind;

typedef struct json {
    json_kind kind;
    double number;      /* of a number; 1 or 0 of a bool */
    char *text;         /* of a text */
    char *name;         /* in an object */
    struct json *first; /* of an array or object */
    struct json *next;  /* beside this one */
} json;

/* NULL when the text is not JSON (depth up to 64) or there is no memory; *at receives where it stopped. */
json *json_parse(const char *text, size_t *at);
/* The same with another limit on the depth. */
json *json_parse_within(const char *text, int depth, size_t *at);
json *json_read_file(const char *path); /* NULL: said on standard error */
void json_free(json *value);

const json *json_member(const json *object, const char *name);           /* NULL when absent; object may be NULL */
double json_number(const json *object, const char *name, double otherwise);
const char *json_text_of(const json *object, const char *name);          /* "" when absent */

#endif
