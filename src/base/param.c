#include "base/param.h"

#include "base/error.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *unit_of(const rp_param *entry)
{
    return entry->unit ? entry->unit : "";
}

static void *member(const rp_param *entry, void *target)
{
    return (char *)target + entry->offset;
}

static const void *const_member(const rp_param *entry, const void *target)
{
    return (const char *)target + entry->offset;
}

/* least = most says that there is no range. */
static bool has_range(const rp_param *entry)
{
    return entry->least < entry->most;
}

/* ---- choices ---- */

/* The i-th name of "a|b|c": its start and length; NULL when there is none. */
static const char *choice_at(const rp_param *entry, int index, int *length)
{
    const char *p = entry->choices;
    for (int i = 0; p; i++) {
        const char *bar = strchr(p, '|');
        if (i == index) {
            *length = bar ? (int)(bar - p) : (int)strlen(p);
            return p;
        }
        p = bar ? bar + 1 : NULL;
    }
    return NULL;
}

static int count_choices(const rp_param *entry)
{
    int n = 0, length;
    while (choice_at(entry, n, &length))
        n++;
    return n;
}

bool rp__param_choice(const rp_param *entry, int index, char *buffer, size_t size)
{
    int length;
    const char *name = index >= 0 ? choice_at(entry, index, &length) : NULL;
    if (!name)
        return false;
    rp__base_format(buffer, size, "%.*s", length, name);
    return true;
}

/* ---- defaults and finding ---- */

void rp__param_defaults(const rp_param *table, void *target)
{
    for (const rp_param *e = table; e->name; e++) {
        void *m = member(e, target);
        switch (e->type) {
        case RP_REAL: *(double *)m = e->initial; break;
        case RP_INT: *(int64_t *)m = (int64_t)e->initial; break;
        case RP_BOOL: *(bool *)m = e->initial != 0; break;
        case RP_ENUM: *(int *)m = (int)e->initial; break;
        case RP_TEXT: *(char **)m = NULL; break;
        case RP_VEC3:
            for (int i = 0; i < 3; i++)
                ((double *)m)[i] = e->initial;
            break;
        }
    }
}

const rp_param *rp__param_find(const rp_param *table, const char *name)
{
    for (const rp_param *e = table; e->name; e++)
        if (strcmp(e->name, name) == 0)
            return e;
    return NULL;
}

const char *rp__param_nearest(const rp_param *table, const char *name)
{
    const char *best = NULL;
    int least = 0;
    for (const rp_param *e = table; e->name; e++) {
        if (rp__text_nearest(name, &e->name, 1) < 0)
            continue;
        int distance = rp__text_distance(name, e->name);
        if (!best || distance < least) {
            best = e->name;
            least = distance;
        }
    }
    return best;
}

rp_result rp__param_unknown(const rp_param *table, const char *name)
{
    const char *nearest = rp__param_nearest(table, name);
    if (nearest)
        return rp__base_fail(RP_NOT_FOUND, "unknown key '%.100s'; did you mean '%s'?", name, nearest);
    char list[1500] = "";
    size_t used = 0;
    for (const rp_param *e = table; e->name && used < sizeof list; e++)
        used += (size_t)rp__base_format(list + used, sizeof list - used, "%s%s", e == table ? "" : ", ", e->name);
    if (used == 0)
        return rp__base_fail(RP_NOT_FOUND, "unknown key '%.100s'; there are no keys here", name);
    return rp__base_fail(RP_NOT_FOUND, "unknown key '%.100s'; known are: %s", name, list);
}

/* ---- checks ---- */

/* "between 0 and 10 [m]", "at least 0", "at most 1 [s]"; angles in degrees: "between 0 and 89 deg". */
static void describe_range(const rp_param *e, char *buffer, size_t size)
{
    char least[40], most[40];
    bool bounded = isfinite(e->most), below = isfinite(e->least), angle = strcmp(unit_of(e), "rad") == 0;
    const char *unit = angle ? "deg" : unit_of(e), *open = angle ? " " : *unit ? " [" : "", *close = angle || !*unit ? "" : "]";
    if (angle) {
        rp__base_format(least, sizeof least, "%.6g", e->least * 57.29577951308232);
        rp__base_format(most, sizeof most, "%.6g", e->most * 57.29577951308232);
    } else {
        rp__units_format(e->least, least, sizeof least);
        rp__units_format(e->most, most, sizeof most);
    }
    if (bounded && below)
        rp__base_format(buffer, size, "between %s and %s%s%s%s", least, most, open, unit, close);
    else if (below)
        rp__base_format(buffer, size, "at least %s%s%s%s", least, open, unit, close);
    else
        rp__base_format(buffer, size, "at most %s%s%s%s", most, open, unit, close);
}

/* 30 where an angle is wanted is 30 radians: was 30 deg meant? */
static bool meant_degrees(const rp_param *e, double value, const char *shown)
{
    double bare, angle = value / 57.29577951308232;
    const char *end = strcmp(unit_of(e), "rad") == 0 ? rp__units_number(shown, &bare) : NULL;
    return end && *end == '\0' && angle >= e->least && angle <= e->most;
}

static rp_result check_real(const rp_param *e, double value, const char *shown)
{
    if (isnan(value))
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s is not a number", e->name, shown);
    if (!has_range(e) || (value >= e->least && value <= e->most)) {
        if (isinf(value) && (!has_range(e) || (value > 0 ? e->most : e->least) != value))
            return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s is not finite", e->name, shown);
        return RP_OK;
    }
    char range[120];
    describe_range(e, range, sizeof range);
    if (meant_degrees(e, value, shown))
        return rp__base_fail(RP_BAD_ARGUMENT,
                             "'%s' = %s is out of range: a number without unit is in radians, and it must be %s; did you mean '%s deg'?",
                             e->name, shown, range, shown);
    return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s is out of range: it must be %s", e->name, shown, range);
}

static rp_result check_integer(const rp_param *e, int64_t value, const char *shown)
{
    if (!has_range(e) || ((double)value >= e->least && (double)value <= e->most))
        return RP_OK;
    char range[120];
    describe_range(e, range, sizeof range);
    return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s is out of range: it must be a whole number %s", e->name, shown, range);
}

static rp_result bad_choice(const rp_param *e, const char *shown)
{
    char list[600] = "", nearest[100] = "";
    size_t used = 0;
    int limit = 0;
    for (int i = 0, n = count_choices(e); i < n && used < sizeof list; i++) {
        char name[100];
        rp__param_choice(e, i, name, sizeof name);
        used += (size_t)rp__base_format(list + used, sizeof list - used, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", name);
        const char *candidate = name;
        if (rp__text_nearest(shown, &candidate, 1) < 0)
            continue;
        int distance = rp__text_distance(shown, name);
        if (!*nearest || distance < limit) {
            memcpy(nearest, name, sizeof name);
            limit = distance;
        }
    }
    if (*nearest)
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = '%.100s' is no choice: it must be %s; did you mean '%s'?", e->name, shown,
                             list, nearest);
    return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = '%.100s' is no choice: it must be %s", e->name, shown, list);
}

rp_result rp__param_check(const rp_param *table, const void *target)
{
    for (const rp_param *e = table; e->name; e++) {
        const void *m = const_member(e, target);
        char shown[160];
        rp__param_format(e, target, shown, sizeof shown);
        switch (e->type) {
        case RP_REAL: RP_TRY(check_real(e, *(const double *)m, shown)); break;
        case RP_INT: RP_TRY(check_integer(e, *(const int64_t *)m, shown)); break;
        case RP_ENUM:
            if (*(const int *)m < 0 || *(const int *)m >= count_choices(e))
                return bad_choice(e, shown);
            break;
        case RP_VEC3:
            for (int i = 0; i < 3; i++)
                RP_TRY(check_real(e, ((const double *)m)[i], shown));
            break;
        case RP_BOOL:
        case RP_TEXT: break;
        }
    }
    return RP_OK;
}

/* ---- setting from text ---- */

static rp_result set_real_text(const rp_param *e, double *to, const char *value)
{
    double number = 0;
    if (strcmp(value, "inf") == 0 || strcmp(value, ".inf") == 0 || strcmp(value, "-inf") == 0 || strcmp(value, "-.inf") == 0)
        number = value[0] == '-' ? -INFINITY : INFINITY; /* check_real lets it pass where the range has no end */
    else
        RP_TRY(rp__units_parse_key(value, e->name, unit_of(e), &number));
    RP_TRY(check_real(e, number, value));
    *to = number;
    return RP_OK;
}

static rp_result to_integer(const rp_param *e, double number, const char *shown, int64_t *to)
{
    if (!(fabs(number) < 0x1p63) || number != floor(number))
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s must be a whole number", e->name, shown);
    *to = (int64_t)number;
    return RP_OK;
}

static rp_result set_integer_text(const rp_param *e, int64_t *to, const char *value)
{
    char *end;
    errno = 0;
    long long exact = strtoll(value, &end, 10);
    int64_t integer = exact;
    if (end == value || *end != '\0' || errno == ERANGE) { /* "1e6", "20 min", or nonsense */
        double number = 0;
        RP_TRY(rp__units_parse_key(value, e->name, unit_of(e), &number));
        RP_TRY(to_integer(e, number, value, &integer));
    }
    RP_TRY(check_integer(e, integer, value));
    *to = integer;
    return RP_OK;
}

static rp_result set_bool_text(const rp_param *e, bool *to, const char *value)
{
    static const char *const words[] = { "false", "no", "off", "0", "true", "yes", "on", "1" };
    for (int i = 0; i < 8; i++) {
        if (strlen(value) == strlen(words[i]) && rp__text_distance(value, words[i]) == 0) {
            *to = i >= 4;
            return RP_OK;
        }
    }
    return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = '%.100s' must be true or false", e->name, value);
}

static rp_result set_choice_text(const rp_param *e, int *to, const char *value)
{
    int length;
    const char *name;
    for (int i = 0; (name = choice_at(e, i, &length)); i++) {
        if (strlen(value) == (size_t)length && memcmp(name, value, (size_t)length) == 0) {
            *to = i;
            return RP_OK;
        }
    }
    return bad_choice(e, value);
}

/* "[1, 2, 3]", "1 m, 2 m, 3 m", "[1, 2, 3 cm]": a unit after the last number counts for numbers without one. */
static rp_result set_vec3_text(const rp_param *e, double *to, const char *value)
{
    char copy[300], *part[3];
    size_t length = strlen(value);
    const char *wrong = "'%s' = '%.100s' must be three numbers such as [0, 0, 1]";
    if (length >= sizeof copy)
        return rp__base_fail(RP_BAD_ARGUMENT, wrong, e->name, value);
    memcpy(copy, value, length + 1);
    char *p = copy + strspn(copy, " \t");
    if (*p == '[') {
        char *close = strrchr(p, ']');
        if (!close || close[1 + strspn(close + 1, " \t")] != '\0')
            return rp__base_fail(RP_BAD_ARGUMENT, wrong, e->name, value);
        *close = '\0';
        p++;
    }
    for (int i = 0; i < 3; i++) {
        part[i] = p + strspn(p, " \t");
        char *comma = strchr(p, ',');
        if ((comma == NULL) != (i == 2))
            return rp__base_fail(RP_BAD_ARGUMENT, wrong, e->name, value);
        if (comma) {
            *comma = '\0';
            p = comma + 1;
        }
    }
    double unused, result[3] = { 0 };
    const char *unit = rp__units_number(part[2], &unused);
    bool shared = unit && unit[strspn(unit, " \t")] != '\0';
    for (int i = 0; i < 3; i++) {
        char number[400];
        const char *end = rp__units_number(part[i], &unused);
        bool bare = end && end[strspn(end, " \t")] == '\0';
        rp__base_format(number, sizeof number, "%s%s%s", part[i], bare && shared ? " " : "", bare && shared ? unit : "");
        RP_TRY(rp__units_parse_key(number, e->name, unit_of(e), &result[i]));
        RP_TRY(check_real(e, result[i], value));
    }
    memcpy(to, result, sizeof result);
    return RP_OK;
}

static rp_result set_text(char **to, const char *value)
{
    char *copy = rp__base_copy_text(value);
    if (!copy)
        return RP_OUT_OF_MEMORY;
    rp__base_free(*to);
    *to = copy;
    return RP_OK;
}

rp_result rp__param_set_text(const rp_param *table, void *target, const char *name, const char *value)
{
    const rp_param *e = rp__param_find(table, name);
    if (!e)
        return rp__param_unknown(table, name);
    void *m = member(e, target);
    switch (e->type) {
    case RP_REAL: return set_real_text(e, m, value);
    case RP_INT: return set_integer_text(e, m, value);
    case RP_BOOL: return set_bool_text(e, m, value);
    case RP_ENUM: return set_choice_text(e, m, value);
    case RP_TEXT: return set_text(m, value);
    case RP_VEC3: return set_vec3_text(e, m, value);
    }
    return RP_BAD_ARGUMENT;
}

/* ---- setting from numbers ---- */

rp_result rp__param_set_number(const rp_param *table, void *target, const char *name, double value)
{
    const rp_param *e = rp__param_find(table, name);
    if (!e)
        return rp__param_unknown(table, name);
    void *m = member(e, target);
    char shown[40];
    rp__units_format(value, shown, sizeof shown);
    switch (e->type) {
    case RP_REAL:
        RP_TRY(check_real(e, value, shown));
        *(double *)m = value;
        return RP_OK;
    case RP_INT: {
        int64_t integer = 0;
        RP_TRY(to_integer(e, value, shown, &integer));
        RP_TRY(check_integer(e, integer, shown));
        *(int64_t *)m = integer;
        return RP_OK;
    }
    case RP_BOOL:
        if (value != 0 && value != 1)
            return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s must be true or false", e->name, shown);
        *(bool *)m = value != 0;
        return RP_OK;
    case RP_ENUM:
        if (!(value >= 0 && value < count_choices(e)) || value != floor(value))
            return bad_choice(e, shown);
        *(int *)m = (int)value;
        return RP_OK;
    case RP_TEXT: return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s must be a text", e->name, shown);
    case RP_VEC3:
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' = %s must be three numbers such as [0, 0, 1]", e->name, shown);
    }
    return RP_BAD_ARGUMENT;
}

rp_result rp__param_set_vec3(const rp_param *table, void *target, const char *name, const double value[3])
{
    const rp_param *e = rp__param_find(table, name);
    if (!e)
        return rp__param_unknown(table, name);
    if (e->type != RP_VEC3)
        return rp__base_fail(RP_BAD_ARGUMENT, "'%s' is not three numbers", e->name);
    for (int i = 0; i < 3; i++) {
        char shown[40];
        rp__units_format(value[i], shown, sizeof shown);
        RP_TRY(check_real(e, value[i], shown));
    }
    memcpy(member(e, target), value, 3 * sizeof *value);
    return RP_OK;
}

/* ---- writing ---- */

const char *rp__param_text(const rp_param *entry, const void *target)
{
    const char *text = *(char *const *)const_member(entry, target);
    return text ? text : entry->choices ? entry->choices : "";
}

int rp__param_format(const rp_param *e, const void *target, char *buffer, size_t size)
{
    const void *m = const_member(e, target);
    switch (e->type) {
    case RP_REAL: return rp__units_format(*(const double *)m, buffer, size);
    case RP_INT: return rp__base_format(buffer, size, "%lld", (long long)*(const int64_t *)m);
    case RP_BOOL: return rp__base_format(buffer, size, "%s", *(const bool *)m ? "true" : "false");
    case RP_ENUM: {
        int length = 0, index = *(const int *)m;
        const char *name = index >= 0 ? choice_at(e, index, &length) : NULL;
        return name ? rp__base_format(buffer, size, "%.*s", length, name) : rp__base_format(buffer, size, "%d", index);
    }
    case RP_TEXT: return rp__base_format(buffer, size, "%s", rp__param_text(e, target));
    case RP_VEC3: {
        char part[3][40];
        for (int i = 0; i < 3; i++)
            rp__units_format(((const double *)m)[i], part[i], sizeof part[i]);
        return rp__base_format(buffer, size, "[%s, %s, %s]", part[0], part[1], part[2]);
    }
    }
    return 0;
}

/* ---- copying and freeing ---- */

static size_t size_of_type(rp_param_type type)
{
    switch (type) {
    case RP_REAL: return sizeof(double);
    case RP_INT: return sizeof(int64_t);
    case RP_BOOL: return sizeof(bool);
    case RP_ENUM: return sizeof(int);
    case RP_TEXT: return sizeof(char *);
    case RP_VEC3: return 3 * sizeof(double);
    }
    return 0;
}

rp_result rp__param_copy(const rp_param *table, void *to, const void *from)
{
    rp_result result = RP_OK;
    for (const rp_param *e = table; e->name; e++) {
        memcpy(member(e, to), const_member(e, from), size_of_type(e->type));
        char **text = member(e, to);
        if (e->type == RP_TEXT && *text) {
            *text = result == RP_OK ? rp__base_copy_text(*text) : NULL; /* after a failure none may be shared */
            if (!*text)
                result = RP_OUT_OF_MEMORY;
        }
    }
    if (result != RP_OK)
        rp__param_free(table, to);
    return result;
}

void rp__param_free(const rp_param *table, void *target)
{
    for (const rp_param *e = table; e->name; e++) {
        if (e->type != RP_TEXT)
            continue;
        char **text = member(e, target);
        rp__base_free(*text);
        *text = NULL;
    }
}
