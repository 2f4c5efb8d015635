#include "base/units.h"

#include "base/error.h"
#include "base/locale.h"

#include <float.h>
#include <math.h>
#include <repose/param.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* Exponents of metre, kilogram, second, kelvin and radian. */
enum { LENGTH, MASS, TIME, TEMPERATURE, ANGLE, DIMENSIONS };

/* A unit is num / den in SI: kept apart, so that "7 cm" is 7 / 100 and not 7 × 0.01. */
typedef struct quantity {
    double num, den;
    int power[DIMENSIONS];
} quantity;

typedef struct unit {
    const char *name;
    bool prefixes; /* takes k, m, u, ... before its name */
    quantity value;
} unit;

/* A name that is here wins over a prefix and a shorter name ("min" is no milli-inch). */
static const unit units[] = {
    { "m", true, { 1, 1, { 1, 0, 0, 0, 0 } } },
    { "g", true, { 1, 1000, { 0, 1, 0, 0, 0 } } },
    { "s", true, { 1, 1, { 0, 0, 1, 0, 0 } } },
    { "K", true, { 1, 1, { 0, 0, 0, 1, 0 } } },
    { "rad", true, { 1, 1, { 0, 0, 0, 0, 1 } } },
    { "N", true, { 1, 1, { 1, 1, -2, 0, 0 } } },
    { "Pa", true, { 1, 1, { -1, 1, -2, 0, 0 } } },
    { "J", true, { 1, 1, { 2, 1, -2, 0, 0 } } },
    { "W", true, { 1, 1, { 2, 1, -3, 0, 0 } } },
    { "Hz", true, { 1, 1, { 0, 0, -1, 0, 0 } } },
    { "bar", true, { 1e5, 1, { -1, 1, -2, 0, 0 } } },
    { "atm", false, { 101325, 1, { -1, 1, -2, 0, 0 } } },
    { "psi", false, { 6894.757293168361, 1, { -1, 1, -2, 0, 0 } } },
    { "l", true, { 1, 1000, { 3, 0, 0, 0, 0 } } },
    { "L", true, { 1, 1000, { 3, 0, 0, 0, 0 } } },
    { "t", false, { 1000, 1, { 0, 1, 0, 0, 0 } } },
    { "in", false, { 254, 10000, { 1, 0, 0, 0, 0 } } },
    { "ft", false, { 3048, 10000, { 1, 0, 0, 0, 0 } } },
    { "lb", false, { 45359237, 1e8, { 0, 1, 0, 0, 0 } } },
    { "min", false, { 60, 1, { 0, 0, 1, 0, 0 } } },
    { "h", false, { 3600, 1, { 0, 0, 1, 0, 0 } } },
    { "hour", false, { 3600, 1, { 0, 0, 1, 0, 0 } } },
    { "day", false, { 86400, 1, { 0, 0, 1, 0, 0 } } },
    { "sec", false, { 1, 1, { 0, 0, 1, 0, 0 } } },
    { "second", false, { 1, 1, { 0, 0, 1, 0, 0 } } },
    { "seconds", false, { 1, 1, { 0, 0, 1, 0, 0 } } },
    { "minute", false, { 60, 1, { 0, 0, 1, 0, 0 } } },
    { "minutes", false, { 60, 1, { 0, 0, 1, 0, 0 } } },
    { "hours", false, { 3600, 1, { 0, 0, 1, 0, 0 } } },
    { "days", false, { 86400, 1, { 0, 0, 1, 0, 0 } } },
    { "deg", false, { PI, 180, { 0, 0, 0, 0, 1 } } },
    { "degree", false, { PI, 180, { 0, 0, 0, 0, 1 } } },
    { "degrees", false, { PI, 180, { 0, 0, 0, 0, 1 } } },
    { "radian", false, { 1, 1, { 0, 0, 0, 0, 1 } } },
    { "radians", false, { 1, 1, { 0, 0, 0, 0, 1 } } },
    { "°", false, { PI, 180, { 0, 0, 0, 0, 1 } } },
    { "rev", false, { 2 * PI, 1, { 0, 0, 0, 0, 1 } } },
    { "turn", false, { 2 * PI, 1, { 0, 0, 0, 0, 1 } } },
    { "turns", false, { 2 * PI, 1, { 0, 0, 0, 0, 1 } } },
    { "rpm", false, { 2 * PI, 60, { 0, 0, -1, 0, 1 } } },
    { "%", false, { 1, 100, { 0, 0, 0, 0, 0 } } },
    { "1", false, { 1, 1, { 0, 0, 0, 0, 0 } } },
};

static const struct prefix {
    const char *name;
    double num, den;
} prefixes[] = {
    { "n", 1, 1e9 },  { "u", 1, 1e6 },  { "µ", 1, 1e6 }, { "μ", 1, 1e6 }, { "m", 1, 1e3 }, { "c", 1, 100 },
    { "d", 1, 10 },   { "h", 100, 1 },  { "k", 1e3, 1 }, { "M", 1e6, 1 }, { "G", 1e9, 1 },
};

/* What a dimension is called, and its unit in messages. */
static const struct named {
    const char *name, *unit;
    int power[DIMENSIONS];
} named[] = {
    { "plain number", "", { 0, 0, 0, 0, 0 } },
    { "length", "m", { 1, 0, 0, 0, 0 } },
    { "area", "m2", { 2, 0, 0, 0, 0 } },
    { "volume", "m3", { 3, 0, 0, 0, 0 } },
    { "mass", "kg", { 0, 1, 0, 0, 0 } },
    { "time", "s", { 0, 0, 1, 0, 0 } },
    { "temperature", "K", { 0, 0, 0, 1, 0 } },
    { "angle", "rad", { 0, 0, 0, 0, 1 } },
    { "speed", "m/s", { 1, 0, -1, 0, 0 } },
    { "acceleration", "m/s2", { 1, 0, -2, 0, 0 } },
    { "angular speed", "rad/s", { 0, 0, -1, 0, 1 } },
    { "rate", "1/s", { 0, 0, -1, 0, 0 } },
    { "density", "kg/m3", { -3, 1, 0, 0, 0 } },
    { "pressure", "Pa", { -1, 1, -2, 0, 0 } },
    { "force", "N", { 1, 1, -2, 0, 0 } },
    { "energy or torque", "N m", { 2, 1, -2, 0, 0 } },
    { "power", "W", { 2, 1, -3, 0, 0 } },
    { "viscosity", "Pa s", { -1, 1, -1, 0, 0 } },
    { "kinematic viscosity", "m2/s", { 2, 0, -1, 0, 0 } },
    { "volume rate", "m3/s", { 3, 0, -1, 0, 0 } },
    { "mass rate", "kg/s", { 0, 1, -1, 0, 0 } },
    { "stiffness", "N/m", { 0, 1, -2, 0, 0 } },
    { "curvature", "1/m", { -1, 0, 0, 0, 0 } },
    { "number density", "1/m3", { -3, 0, 0, 0, 0 } },
    { "inertia", "kg m2", { 2, 1, 0, 0, 0 } },
    { "momentum", "kg m/s", { 1, 1, -1, 0, 0 } },
    { "mass an area", "kg/m2", { -2, 1, 0, 0, 0 } },
};

enum { COUNT_UNITS = sizeof units / sizeof *units };
enum { COUNT_PREFIXES = sizeof prefixes / sizeof *prefixes };
enum { COUNT_NAMED = sizeof named / sizeof *named };

/* ---- numbers ---- */

static const char *skip_digits(const char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

/* The end of a decimal number, or NULL. */
static const char *scan_number(const char *text)
{
    const char *p = text + (*text == '+' || *text == '-');
    const char *whole = p;
    p = skip_digits(p);
    long digits = p - whole;
    if (*p == '.') {
        const char *fraction = skip_digits(p + 1);
        digits += fraction - (p + 1);
        p = fraction;
    }
    if (digits == 0)
        return NULL;
    if (*p == 'e' || *p == 'E') {
        const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
        if (*exponent >= '0' && *exponent <= '9')
            p = skip_digits(exponent);
    }
    return p;
}

const char *rp__units_number(const char *text, double *value)
{
    char copy[512];
    const char *end = scan_number(text);
    if (!end || (size_t)(end - text) >= sizeof copy)
        return NULL;
    memcpy(copy, text, (size_t)(end - text));
    copy[end - text] = '\0';
    void *previous = rp__base_locale_enter();
    double number = strtod(copy, NULL);
    rp__base_locale_leave(previous);
    if (!isfinite(number))
        return NULL;
    *value = number;
    return end;
}

int rp__units_format(double value, char *buffer, size_t size)
{
    if (!isfinite(value))
        return rp__base_format(buffer, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        rp__base_format(text, sizeof text, "%.*g", digits, value);
        double back;
        if (rp__units_number(text, &back) && back == value)
            break;
    }
    return rp__base_format(buffer, size, "%s", text);
}

/* ---- units ---- */

static bool starts_with(const char *text, size_t length, const char *start, size_t *used)
{
    *used = strlen(start);
    return *used <= length && memcmp(text, start, *used) == 0;
}

static const unit *find_unit(const char *name, size_t length)
{
    for (int i = 0; i < COUNT_UNITS; i++)
        if (strlen(units[i].name) == length && memcmp(units[i].name, name, length) == 0)
            return &units[i];
    return NULL;
}

static bool find_name(const char *name, size_t length, quantity *found)
{
    const unit *u = find_unit(name, length);
    if (u) {
        *found = u->value;
        return true;
    }
    for (int i = 0; i < COUNT_PREFIXES; i++) {
        size_t used;
        if (!starts_with(name, length, prefixes[i].name, &used))
            continue;
        u = find_unit(name + used, length - used);
        if (u && u->prefixes) {
            *found = u->value;
            found->num *= prefixes[i].num;
            found->den *= prefixes[i].den;
            return true;
        }
    }
    return false;
}

/* An exponent after a unit: "2", "-1", "^2", "^-3", "²", "³"; 1 when there is none, 0 when it is bad. */
static int read_exponent(const char **text)
{
    const char *p = *text;
    static const char *const raised[] = { "²", "³" };
    for (int i = 0; i < 2; i++) {
        if (strncmp(p, raised[i], strlen(raised[i])) == 0) {
            *text = p + strlen(raised[i]);
            return i + 2;
        }
    }
    bool caret = *p == '^';
    p += caret;
    bool negative = *p == '-';
    const char *digit = p + (*p == '-' || (caret && *p == '+'));
    if (*digit < '0' || *digit > '9')
        return caret || negative ? 0 : 1;
    if (*digit == '0' || (digit[1] >= '0' && digit[1] <= '9'))
        return 0;
    *text = digit + 1;
    return negative ? -(*digit - '0') : *digit - '0';
}

static bool name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%';
}

/* The bytes of a unit's name at text, without the superscripts that may follow. */
static size_t name_length(const char *text)
{
    if (*text == '1')
        return 1;
    size_t n = 0;
    for (;;) {
        if (name_byte(text[n]))
            n++;
        else if (strncmp(text + n, "µ", 2) == 0 || strncmp(text + n, "μ", 2) == 0 || strncmp(text + n, "°", 2) == 0)
            n += 2;
        else
            return n;
    }
}

static bool apply(quantity *total, const quantity *factor, int exponent)
{
    for (int k = 0; k < (exponent < 0 ? -exponent : exponent); k++) {
        total->num *= exponent > 0 ? factor->num : factor->den;
        total->den *= exponent > 0 ? factor->den : factor->num;
    }
    for (int i = 0; i < DIMENSIONS; i++) {
        total->power[i] += exponent * factor->power[i];
        if (abs(total->power[i]) > 12)
            return false;
    }
    return total->num > DBL_MIN && total->den > DBL_MIN && isfinite(total->num) && isfinite(total->den);
}

/* Reads a product such as "kg/m3", "Pa s", "1/(m s)" up to the end or `closing`. False with *reason set when it is none. */
static bool read_units(const char **text, char closing, int depth, quantity *total, const char **reason)
{
    const char *p = *text;
    bool divided = false, first = true;
    *total = (quantity){ 1, 1, { 0 } };
    for (;;) {
        bool spaced = *p == ' ' || *p == '\t';
        while (*p == ' ' || *p == '\t')
            p++;
        if (*p == closing || *p == '\0')
            break;
        int sign = 1;
        bool dot = strncmp(p, "·", 2) == 0;
        if (*p == '/') {
            sign = -1;
            p++;
        } else if (!first && (*p == '*' || dot)) {
            p += dot ? 2 : 1;
        } else if (!first && !spaced && *p != '(') {
            *reason = "something is wrong after a unit";
            return false;
        }
        while (*p == ' ' || *p == '\t')
            p++;
        if (sign > 0 && divided) {
            *reason = "after '/' put what is below the line in brackets, such as kg/(m s)";
            return false;
        }
        quantity factor;
        if (*p == '(' && depth < 4) {
            p++;
            if (!read_units(&p, ')', depth + 1, &factor, reason))
                return false;
            if (*p++ != ')') {
                *reason = "a bracket is not closed";
                return false;
            }
        } else {
            size_t length = name_length(p);
            if (length == 0 || !find_name(p, length, &factor)) {
                *reason = "unknown unit";
                return false;
            }
            p += length;
        }
        int exponent = read_exponent(&p);
        if (exponent == 0 || !apply(total, &factor, sign * exponent)) {
            *reason = "bad exponent";
            return false;
        }
        divided = divided || sign < 0;
        first = false;
    }
    *text = p;
    if (first) {
        *reason = "a unit is missing";
        return false;
    }
    return true;
}

static bool read_whole_unit(const char *text, quantity *total, const char **reason)
{
    if (!text || !*text) {
        *total = (quantity){ 1, 1, { 0 } };
        return true;
    }
    return read_units(&text, '\0', 0, total, reason) && *text == '\0';
}

/* An exact integer factor is applied in one rounding. */
static double apply_factor(double value, const quantity *q)
{
    double up = q->num / q->den, down = q->den / q->num;
    if (up == floor(up))
        return value * up;
    if (down == floor(down))
        return value / down;
    return value * q->num / q->den;
}

bool rp__units_factor(const char *text, double *factor)
{
    quantity q;
    const char *reason = "";
    if (!read_whole_unit(text, &q, &reason))
        return false;
    *factor = apply_factor(1, &q);
    return true;
}

/* ---- dimensions ---- */

static bool same_powers(const int *a, const int *b, int count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* Angles are numbers in SI, so "rad/s" and "1/s" agree. But an angle where a number is wanted (or the other way round) is a slip. */
static bool agree(const quantity *a, const quantity *b)
{
    static const int none[DIMENSIONS];
    return same_powers(a->power, b->power, ANGLE) &&
           (a->power[ANGLE] == b->power[ANGLE] || !same_powers(a->power, none, ANGLE));
}

static const struct named *find_named(const quantity *q)
{
    for (int i = 0; i < COUNT_NAMED; i++)
        if (same_powers(named[i].power, q->power, DIMENSIONS))
            return &named[i];
    return NULL;
}

/* "a length [m]", "a plain number", "a quantity in [m2 kg-1]" */
static void describe(const quantity *q, char *buffer, size_t size)
{
    const struct named *n = find_named(q);
    if (n) {
        const char *article = strchr("aeiou", n->name[0]) ? "an" : "a";
        rp__base_format(buffer, size, *n->unit ? "%s %s [%s]" : "%s %s", article, n->name, n->unit);
        return;
    }
    static const char *const base[DIMENSIONS] = { "m", "kg", "s", "K", "rad" };
    size_t used = (size_t)rp__base_format(buffer, size, "a quantity in [");
    for (int i = 0; i < DIMENSIONS; i++) {
        if (q->power[i] == 0 || used >= size)
            continue;
        const char *space = buffer[used - 1] == '[' ? "" : " ";
        if (q->power[i] == 1)
            used += (size_t)rp__base_format(buffer + used, size - used, "%s%s", space, base[i]);
        else
            used += (size_t)rp__base_format(buffer + used, size - used, "%s%s%d", space, base[i], q->power[i]);
    }
    if (used < size)
        rp__base_format(buffer + used, size - used, "]");
}

const char *rp__units_quantity(const char *text)
{
    quantity q;
    const char *reason = "";
    const struct named *n = read_whole_unit(text, &q, &reason) ? find_named(&q) : NULL;
    return n ? n->name : "quantity";
}

/* "'cell_size' needs a length [m]", or the same without a key */
static rp_result refuse(const char *text, const char *key, const quantity *expected, const char *what)
{
    char wanted[128];
    describe(expected, wanted, sizeof wanted);
    if (key)
        return rp__base_fail(RP_BAD_ARGUMENT, "'%.100s' %s; '%s' needs %s", text, what, key, wanted);
    return rp__base_fail(RP_BAD_ARGUMENT, "'%.100s' %s; %s is needed", text, what, wanted);
}

rp_result rp__units_parse_key(const char *text, const char *key, const char *expected_unit, double *si_value)
{
    quantity expected, given;
    const char *reason = "";
    if (!read_whole_unit(expected_unit, &expected, &reason))
        return rp__base_fail(RP_BAD_ARGUMENT, "'%.100s' is no unit (%s)", expected_unit, reason);
    const char *p = text;
    while (*p == ' ' || *p == '\t')
        p++;
    double number;
    const char *end = rp__units_number(p, &number);
    if (!end)
        return refuse(text, key, &expected, scan_number(p) ? "is too large or too long a number" : "is not a number");
    if (*end == ',')
        return refuse(text, key, &expected, "has a comma: write a point before the decimals");
    const char *rest = end;
    while (*rest == ' ' || *rest == '\t')
        rest++;
    if (*rest == '\0') {
        *si_value = number;
        return RP_OK;
    }
    if (!read_units(&rest, '\0', 0, &given, &reason)) {
        char what[160];
        rp__base_format(what, sizeof what, "is not a number with a unit (%s)", reason);
        return refuse(text, key, &expected, what);
    }
    if (!agree(&given, &expected)) {
        char is[128], what[160];
        describe(&given, is, sizeof is);
        rp__base_format(what, sizeof what, "is %s", is);
        return refuse(text, key, &expected, what);
    }
    double value = apply_factor(number, &given);
    if (!isfinite(value))
        return refuse(text, key, &expected, "is too large a number");
    *si_value = value;
    return RP_OK;
}

rp_result rp__units_parse(const char *text, const char *expected_unit, double *si_value)
{
    return rp__units_parse_key(text, NULL, expected_unit, si_value);
}

rp_result rp_parse_quantity(const char *text, const char *expected_unit, double *value)
{
    if (!text || !value)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_parse_quantity needs a text and a place for the number");
    return rp__units_parse(text, expected_unit, value);
}
