/* Any bytes as a number with a unit and as the value of each kind of parameter: a result, never a crash, never a NaN. */
#include "base/memory.h"
#include "base/param.h"
#include "base/units.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct values {
    double real;
    int64_t integer;
    bool flag;
    int choice;
    char *text;
    double vector[3];
} values;

static const rp_param table[] = {
    { "real", RP_REAL, offsetof(values, real), 1, 0, 100, "m/s2", "", NULL },
    { "integer", RP_INT, offsetof(values, integer), 1, 0, 1e6, "", "", NULL },
    { "flag", RP_BOOL, offsetof(values, flag), 0, 0, 0, "", "", NULL },
    { "choice", RP_ENUM, offsetof(values, choice), 0, 0, 0, "", "", "one|two|three" },
    { "text", RP_TEXT, offsetof(values, text), 0, 0, 0, "", "", NULL },
    { "vector", RP_VEC3, offsetof(values, vector), 0, 0, 0, "Pa", "", NULL },
    { 0 }
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    double value = 0;
    if (rp__units_parse(text, "kg/m3", &value) == RP_OK && !isfinite(value))
        abort();
    values v;
    rp__param_defaults(table, &v);
    for (const rp_param *e = table; e->name; e++)
        (void)rp__param_set_text(table, &v, e->name, text);
    (void)rp__param_set_text(table, &v, text, "1");
    if (rp__param_check(table, &v) != RP_OK) /* refuses what is not finite */
        abort();
    rp__param_free(table, &v);
    free(text);
    return 0;
}
