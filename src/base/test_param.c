#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/text.h"
#include "base/units.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct grains {
    double size, slope, horizon;
    int64_t count;
    bool cohesive;
    int stress;
    char *label;
    double gravity[3];
} grains;

static const rp_param table[] = {
    { "cell_size", RP_REAL, offsetof(grains, size), 0.01, 1e-6, 1e3, "m", "side of a cell", NULL },
    { "friction_angle", RP_REAL, offsetof(grains, slope), 0.5, 0, 1.5, "rad", "internal angle", NULL },
    { "horizon", RP_REAL, offsetof(grains, horizon), INFINITY, 0, INFINITY, "s", "when it ends", NULL },
    { "count", RP_INT, offsetof(grains, count), 100, 1, 1e15, "", "how many", NULL },
    { "cohesive", RP_BOOL, offsetof(grains, cohesive), 1, 0, 0, "", "whether they stick", NULL },
    { "stress", RP_ENUM, offsetof(grains, stress), 1, 0, 0, "", "where it lives", "node|cell|both" },
    { "label", RP_TEXT, offsetof(grains, label), 0, 0, 0, "", "a name", "sand" },
    { "gravity", RP_VEC3, offsetof(grains, gravity), 0, -1e3, 1e3, "m/s2", "its direction and size", NULL },
    { 0 }
};

static void assert_says(const char *words)
{
    if (!strstr(rp_last_error(), words))
        fail_msg("'%s' does not say '%s'", rp_last_error(), words);
}

static void set(grains *g, const char *key, const char *value)
{
    if (rp__param_set_text(table, g, key, value) != RP_OK)
        fail_msg("%s = %s: %s", key, value, rp_last_error());
}

static void refuse(grains *g, const char *key, const char *value, const char *words)
{
    grains before = *g;
    assert_int_equal(rp__param_set_text(table, g, key, value), RP_BAD_ARGUMENT);
    assert_says(words);
    assert_memory_equal(&before, g, sizeof before);
}

static void defaults_come_from_the_table(void **state)
{
    (void)state;
    grains g;
    memset(&g, 0xff, sizeof g);
    rp__param_defaults(table, &g);
    assert_true(g.size == 0.01 && g.count == 100 && g.cohesive && g.stress == 1 && !g.label && g.gravity[2] == 0);
    assert_string_equal(rp__param_text(rp__param_find(table, "label"), &g), "sand");
    assert_int_equal(rp__param_check(table, &g), RP_OK);
}

static void texts_are_read(void **state)
{
    (void)state;
    grains g;
    rp__param_defaults(table, &g);
    set(&g, "cell_size", "7 cm");
    assert_true(g.size == 0.07);
    set(&g, "friction_angle", "30 deg");
    assert_true(fabs(g.slope - 0.52359877559829887) < 1e-15);
    set(&g, "horizon", "20 min");
    assert_true(g.horizon == 1200);
    set(&g, "horizon", "inf");
    assert_true(isinf(g.horizon));
    set(&g, "count", "900719925474099"); /* more digits than a float keeps */
    assert_true(g.count == 900719925474099);
    set(&g, "count", "1e6");
    assert_true(g.count == 1000000);
    set(&g, "cohesive", "No");
    assert_false(g.cohesive);
    set(&g, "stress", "both");
    assert_int_equal(g.stress, 2);
    set(&g, "label", "coarse: 3, \"x\"");
    set(&g, "label", "fine");
    assert_string_equal(g.label, "fine");
    set(&g, "gravity", "[0, -1.5, -9.81 m/s2]");
    assert_true(g.gravity[0] == 0 && g.gravity[1] == -1.5 && g.gravity[2] == -9.81);
    set(&g, "gravity", " 100 cm/s2, 1 m/s2 , 1 km/s2");
    assert_true(g.gravity[0] == 1 && g.gravity[1] == 1 && g.gravity[2] == 1000);
    set(&g, "gravity", "[1, 2, 3 cm/s2]");
    assert_true(g.gravity[0] == 0.01 && g.gravity[1] == 0.02 && g.gravity[2] == 0.03);
    rp__param_free(table, &g);
    assert_null(g.label);
}

static void wrong_values_are_refused_with_a_sentence(void **state)
{
    (void)state;
    grains g;
    memset(&g, 0, sizeof g);
    rp__param_defaults(table, &g);
    refuse(&g, "cell_size", "5 kg", "'5 kg' is a mass [kg]; 'cell_size' needs a length [m]");
    refuse(&g, "cell_size", "-1", "'cell_size' = -1 is out of range: it must be between 1e-06 and 1000 [m]");
    refuse(&g, "cell_size", "2 km", "'cell_size' = 2 km is out of range");
    refuse(&g, "cell_size", "inf", "'cell_size' = inf is out of range");
    refuse(&g, "cell_size", "nan", "'nan' is not a number; 'cell_size' needs a length [m]");
    refuse(&g, "cell_size", "", "is not a number");
    refuse(&g, "horizon", "-1", "'horizon' = -1 is out of range: it must be at least 0 [s]");
    refuse(&g, "horizon", "-inf", "out of range");
    refuse(&g, "count", "1.5", "'count' = 1.5 must be a whole number");
    refuse(&g, "count", "0", "'count' = 0 is out of range: it must be a whole number between 1 and 1e+15");
    refuse(&g, "count", "99999999999999999999", "must be a whole number");
    refuse(&g, "count", "7 m", "'7 m' is a length [m]; 'count' needs a plain number");
    refuse(&g, "cohesive", "perhaps", "'cohesive' = 'perhaps' must be true or false");
    refuse(&g, "stress", "cel", "'stress' = 'cel' is no choice: it must be node, cell or both; did you mean 'cell'?");
    refuse(&g, "stress", "edges", "it must be node, cell or both");
    refuse(&g, "stress", "node|cell", "is no choice");
    refuse(&g, "stress", "", "is no choice");
    refuse(&g, "gravity", "9.81", "'gravity' = '9.81' must be three numbers");
    refuse(&g, "gravity", "[1, 2, 3, 4]", "must be three numbers");
    refuse(&g, "gravity", "[1, 2, 3", "must be three numbers");
    refuse(&g, "gravity", "[1, 2, 3] m", "must be three numbers");
    refuse(&g, "gravity", "[1, 2, 3 m]", "is a length [m]; 'gravity' needs an acceleration [m/s2]");
    refuse(&g, "gravity", "[1, 2, 3000]", "out of range: it must be between -1000 and 1000 [m/s2]");
    char long_text[2000];
    memset(long_text, '1', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    refuse(&g, "gravity", long_text, "must be three numbers");
    refuse(&g, "cell_size", long_text, "too large or too long");
}

static void unknown_keys_get_the_nearest(void **state)
{
    (void)state;
    grains g;
    rp__param_defaults(table, &g);
    assert_int_equal(rp__param_set_text(table, &g, "cel_size", "1"), RP_NOT_FOUND);
    assert_string_equal(rp_last_error(), "unknown key 'cel_size'; did you mean 'cell_size'?");
    assert_string_equal(rp__param_nearest(table, "Cell-Size"), "cell_size");
    assert_string_equal(rp__param_nearest(table, "strses"), "stress");
    assert_string_equal(rp__param_nearest(table, "cuont"), "count");
    assert_null(rp__param_nearest(table, "temperature"));
    assert_null(rp__param_nearest(table, ""));
    assert_int_equal(rp__param_set_number(table, &g, "temperature", 1), RP_NOT_FOUND);
    assert_says("known are: cell_size, friction_angle, horizon, count, cohesive, stress, label, gravity");
    assert_null(rp__param_find(table, "cell"));
}

static void numbers_are_checked_as_texts_are(void **state)
{
    (void)state;
    grains g;
    rp__param_defaults(table, &g);
    assert_int_equal(rp__param_set_number(table, &g, "cell_size", 0.5), RP_OK);
    assert_int_equal(rp__param_set_number(table, &g, "count", 12), RP_OK);
    assert_int_equal(rp__param_set_number(table, &g, "cohesive", 0), RP_OK);
    assert_int_equal(rp__param_set_number(table, &g, "stress", 2), RP_OK);
    assert_true(g.size == 0.5 && g.count == 12 && !g.cohesive && g.stress == 2);
    const double v[3] = { 1, 2, 3 }, bad[3] = { 1, NAN, 3 };
    assert_int_equal(rp__param_set_vec3(table, &g, "gravity", v), RP_OK);
    assert_true(g.gravity[2] == 3);
    assert_int_equal(rp__param_set_vec3(table, &g, "gravity", bad), RP_BAD_ARGUMENT);
    assert_int_equal(rp__param_set_vec3(table, &g, "count", v), RP_BAD_ARGUMENT);
    assert_int_equal(rp__param_set_vec3(table, &g, "weight", v), RP_NOT_FOUND);
    static const struct {
        const char *name;
        double value;
    } wrong[] = { { "cell_size", NAN }, { "cell_size", INFINITY }, { "cell_size", 0 },  { "count", 1e300 }, { "count", 0.5 },
                  { "count", NAN },     { "cohesive", 2 },         { "stress", 3 },     { "stress", -1 },   { "stress", NAN },
                  { "label", 1 },       { "gravity", 1 },          { "horizon", -1e9 }, { "horizon", -INFINITY } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(rp__param_set_number(table, &g, wrong[i].name, wrong[i].value), RP_BAD_ARGUMENT);
        assert_says(wrong[i].name);
    }
    g.count = -4;
    assert_int_equal(rp__param_check(table, &g), RP_BAD_ARGUMENT);
    assert_says("'count' = -4 is out of range");
    g.count = 4, g.stress = 9;
    assert_int_equal(rp__param_check(table, &g), RP_BAD_ARGUMENT);
}

static void texts_round_trip(void **state)
{
    (void)state;
    grains g, back;
    rp__param_defaults(table, &g);
    rp__param_defaults(table, &back);
    g.size = 0.1 + 0.2, g.slope = 1.0 / 3, g.count = 123456789012345, g.gravity[0] = -1e-300, g.gravity[1] = DBL_EPSILON;
    set(&g, "label", "with \"quotes\" and ü");
    for (const rp_param *e = table; e->name; e++) {
        char text[200];
        int length = rp__param_format(e, &g, text, sizeof text);
        assert_int_equal(length, strlen(text));
        char small[3];
        assert_int_equal(rp__param_format(e, &g, small, sizeof small), length);
        set(&back, e->name, text);
    }
    assert_string_equal(back.label, g.label);
    rp__param_free(table, &back);
    char *label = g.label;
    g.label = NULL;
    assert_true(back.size == g.size && back.slope == g.slope && back.count == g.count);
    assert_memory_equal(back.gravity, g.gravity, sizeof g.gravity);
    rp__base_free(label);
}

static void copies_survive_lack_of_memory(void **state)
{
    (void)state;
    grains g, copy;
    rp__param_defaults(table, &g);
    set(&g, "label", "one");
    size_t before = rp_memory_in_use();
    rp__base_fail_allocation(1);
    assert_int_equal(rp__param_copy(table, &copy, &g), RP_OUT_OF_MEMORY);
    assert_null(copy.label);
    rp__base_fail_allocation(1);
    assert_int_equal(rp__param_set_text(table, &g, "label", "two"), RP_OUT_OF_MEMORY);
    rp__base_fail_allocation(0);
    assert_string_equal(g.label, "one");
    assert_int_equal(rp_memory_in_use(), before);
    assert_int_equal(rp__param_copy(table, &copy, &g), RP_OK);
    assert_true(copy.label != g.label && strcmp(copy.label, "one") == 0 && copy.size == g.size);
    rp__param_free(table, &g);
    rp__param_free(table, &copy);
}

/* ---- units ---- */

static void units_are_exact(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846;
    static const struct {
        const char *text, *unit;
        double value;
    } cases[] = {
        { "5 cm", "m", 0.05 },         { "7cm", "m", 0.07 },           { "2.2 g/cm3", "kg/m3", 2200 },
        { "1500 kg/m^3", "kg/m3", 1500 }, { "10 kPa", "Pa", 1e4 },     { "1/s", "1/s", 1 },
        { "9.81 m/s2", "m/s2", 9.81 }, { "9.81 m s^-2", "m/s2", 9.81 }, { "9.81 m·s-2", "m/s2", 9.81 },
        { "1 mPa s", "Pa s", 1e-3 },   { "20 min", "s", 1200 },        { "50 %", "", 0.5 },
        { "1.5e-3", "m", 1.5e-3 },     { "  4  mm  ", "m", 0.004 },    { "3 km/h", "m/s", 3000.0 / 3600 },
        { "2 N m", "N m", 2 },         { "2 J", "N m", 2 },            { "1 bar", "Pa", 1e5 },
        { "3 l", "m3", 0.003 },        { "12 Hz", "1/s", 12 },         { "5 um", "m", 5e-6 },
        { "5 µm", "m", 5e-6 },         { "5 m²", "m2", 5 },            { "1 kg/(m s)", "Pa s", 1 },
        { "4 t/m3", "kg/m3", 4000 },   { "1 in", "m", 0.0254 },        { "-3", "m", -3 },
        { "+3 s", "s", 3 },            { ".5 m", "m", 0.5 },           { "5. m", "m", 5 },
        { "1e3 1/s", "1/s", 1000 },    { "2 m*m", "m2", 2 },           { "0.1", "", 0.1 },
        { "1 kg/m/s", "Pa s", 1 },     { "300 K", "K", 300 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        if (rp__units_parse(cases[i].text, cases[i].unit, &value) != RP_OK)
            fail_msg("%s", rp_last_error());
        if (value != cases[i].value)
            fail_msg("%s: %.17g, not %.17g", cases[i].text, value, cases[i].value);
    }
    double value;
    assert_int_equal(rp__units_parse("180 deg", "rad", &value), RP_OK);
    assert_true(value == pi);
    assert_int_equal(rp__units_parse("90°", "rad", &value), RP_OK);
    assert_true(fabs(value - pi / 2) < 1e-15);
    assert_int_equal(rp__units_parse("60 rpm", "rad/s", &value), RP_OK);
    assert_true(fabs(value - 2 * pi) < 1e-15);
    assert_int_equal(rp__units_parse("60 rpm", "1/s", &value), RP_OK); /* a radian is a number */
    assert_true(fabs(value - 2 * pi) < 1e-15);
    assert_true(rp__units_factor("kPa", &value) && value == 1000);
    assert_true(rp__units_factor("", &value) && value == 1);
    assert_false(rp__units_factor("parsec", &value));
    assert_string_equal(rp__units_quantity("Pa"), "pressure");
    assert_string_equal(rp__units_quantity("m7"), "quantity");
}

static void bad_units_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *unit, *words;
    } cases[] = {
        { "5 kg", "m", "'5 kg' is a mass [kg]; a length [m] is needed" },
        { "30 deg", "", "is an angle [rad]; a plain number is needed" },
        { "50 %", "rad", "is a plain number; an angle [rad] is needed" },
        { "5 parsec", "m", "unknown unit" },
        { "5 m m", "m", "is an area [m2]" },
        { "5 kg/m s", "Pa s", "put what is below the line in brackets" },
        { "5 m2 kg2 s-1", "m", "is a quantity in [m2 kg2 s-1]" },
        { "5 m^", "m", "bad exponent" },
        { "5 m0", "m", "bad exponent" },
        { "5 m99", "m", "bad exponent" },
        { "5 m9 m9", "m", "bad exponent" },
        { "5 (m", "m", "a bracket is not closed" },
        { "5 ()", "m", "a unit is missing" },
        { "5 /", "m", "unknown unit" },
        { "5 ((((((m))))))", "m", "unknown unit" },
        { "5,3 m", "m", "comma" },
        { "abc", "m", "is not a number" },
        { "m", "m", "is not a number" },
        { "", "m", "is not a number" },
        { "-", "m", "is not a number" },
        { ".", "m", "is not a number" },
        { "nan", "m", "is not a number" },
        { "inf", "m", "is not a number" },
        { "infinity", "m", "is not a number" },
        { "0x10", "m", "unknown unit" },
        { "1e999", "m", "is too large" },
        { "1e308 km", "m", "is too large" },
        { "1 2", "m", "unknown unit" },
        { "--1", "m", "is not a number" },
        { "1 m;", "m", "something is wrong after a unit" },
        { "1 \xff", "m", "unknown unit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 42;
        if (rp__units_parse(cases[i].text, cases[i].unit, &value) != RP_BAD_ARGUMENT)
            fail_msg("'%s' was read as %g", cases[i].text, value);
        assert_says(cases[i].words);
        assert_true(value == 42);
    }
}

/* Compiles a locale with a decimal comma, as few machines have one installed. LOCPATH must be set before the first look. */
static bool make_comma_locale(void)
{
    static char folder[] = "/tmp/repose_locale_XXXXXX";
    char path[64], command[256];
    if (!mkdtemp(folder))
        return false;
    snprintf(path, sizeof path, "%s/source", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fputs("comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n",
          file);
    fclose(file);
    snprintf(command, sizeof command, "localedef -c -i %s %s/comma > /dev/null 2>&1", path, folder);
    int status = system(command);
    setenv("LOCPATH", folder, 1);
    bool made = status != -1 && setlocale(LC_NUMERIC, "comma");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && made;
}

static void numbers_round_trip_in_every_locale(void **state)
{
    (void)state;
    bool comma = make_comma_locale();
    static const char *const locales[] = { "C", "comma" };
    static const double numbers[] = { 0, -0.0, 0.1, 1.0 / 3, 1e-300, DBL_MIN / 8, DBL_MAX, -123456.789, 1e22, 5e-324 };
    int other = 0;
    for (size_t l = 0; l < sizeof locales / sizeof *locales; l++) {
        if (l == 1 && !comma)
            continue;
        assert_non_null(setlocale(LC_NUMERIC, locales[l])); /* the C library keeps what it loaded */
        other += strcmp(localeconv()->decimal_point, ".") != 0;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            char text[40];
            double back = 7;
            rp__units_format(numbers[i], text, sizeof text);
            assert_null(strchr(text, ','));
            assert_non_null(rp__units_number(text, &back));
            assert_memory_equal(&back, &numbers[i], sizeof back);
        }
        double value = 0;
        assert_int_equal(rp__units_parse("2.5 cm", "m", &value), RP_OK);
        assert_true(value == 0.025);
        rp__base_fail(RP_BAD_ARGUMENT, "%g", 1.5);
        assert_string_equal(rp_last_error(), "1.5");
        char point[8];
        snprintf(point, sizeof point, "%.1f", 0.5); /* and the caller's locale is as it was */
        assert_int_equal(point[1], localeconv()->decimal_point[0]);
    }
    setlocale(LC_NUMERIC, "C");
    if (!other)
        print_message("localedef is missing: only the C locale was tried\n");
    char text[40];
    rp__units_format(0.1, text, sizeof text);
    assert_string_equal(text, "0.1");
    rp__units_format(NAN, text, sizeof text);
    assert_string_equal(text, "nan");
    rp__units_format(-INFINITY, text, sizeof text);
    assert_string_equal(text, "-inf");
}

/* ---- text ---- */

static void text_grows(void **state)
{
    (void)state;
    rp__text text = { 0 };
    assert_string_equal(rp__text_string(&text), "");
    for (int i = 0; i < 1000; i++)
        rp__text_append(&text, "%d,", i);
    assert_int_equal(text.length, strlen(text.data));
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    rp__text_append(&text, "%0300d", 1); /* longer than the first try */
    assert_int_equal(strlen(text.data), text.length);
    assert_int_equal(text.length, 3890 + 300);
    rp__text_free(&text);
    rp__text_append_quoted(&text, "a\"b\\c\nd\te\x01");
    assert_string_equal(rp__text_string(&text), "\"a\\\"b\\\\c\\nd\\te\\u0001\"");
    rp__text_free(&text);
    rp__text_append_number(&text, 0.25);
    char *taken = rp__text_take(&text);
    assert_string_equal(taken, "0.25");
    rp__base_free(taken);
    taken = rp__text_take(&text);
    assert_string_equal(taken, "");
    rp__base_free(taken);
}

static void text_remembers_a_failed_allocation(void **state)
{
    (void)state;
    size_t before = rp_memory_in_use();
    for (int64_t nth = 1; nth <= 3; nth++) {
        rp__text text = { 0 };
        rp__base_fail_allocation(nth);
        for (int i = 0; i < 12; i++)
            rp__text_append_string(&text, "123");
        rp__base_fail_allocation(0);
        assert_int_equal(rp__text_result(&text), RP_OUT_OF_MEMORY);
        assert_null(rp__text_take(&text));
        assert_int_equal(rp__text_result(&text), RP_OK);
    }
    assert_int_equal(rp_memory_in_use(), before);
}

static void distances_are_known(void **state)
{
    (void)state;
    assert_int_equal(rp__text_distance("", ""), 0);
    assert_int_equal(rp__text_distance("", "abc"), 3);
    assert_int_equal(rp__text_distance("kitten", "sitting"), 3);
    assert_int_equal(rp__text_distance("gravtiy", "gravity"), 1);
    assert_int_equal(rp__text_distance("Cell-Size", "cell_size"), 0);
    assert_int_equal(rp__text_distance("ca", "abc"), 3);
    char a[200], b[200];
    memset(a, 'x', 199), memset(b, 'x', 199);
    a[199] = b[199] = '\0';
    b[0] = 'y';
    assert_int_equal(rp__text_distance(a, b), 1);
    static const char *const names[] = { "run", "resume", "render", "info" };
    assert_int_equal(rp__text_nearest("redner", names, 4), 2);
    assert_int_equal(rp__text_nearest("rnu", names, 4), 0);
    assert_int_equal(rp__text_nearest("xyzzy", names, 4), -1);
    assert_int_equal(rp__text_nearest("", names, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_table),
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(wrong_values_are_refused_with_a_sentence),
        cmocka_unit_test(unknown_keys_get_the_nearest),
        cmocka_unit_test(numbers_are_checked_as_texts_are),
        cmocka_unit_test(texts_round_trip),
        cmocka_unit_test(copies_survive_lack_of_memory),
        cmocka_unit_test(units_are_exact),
        cmocka_unit_test(bad_units_are_refused),
        cmocka_unit_test(numbers_round_trip_in_every_locale),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(text_remembers_a_failed_allocation),
        cmocka_unit_test(distances_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
