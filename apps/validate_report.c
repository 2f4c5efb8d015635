/* Results of the validation: a table, JSON, and the sections and page of docs/. */
#include "validate.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char *verdict_of(const check *c)
{
    if (c->control)
        return c->passed ? "fails, as it must" : "TOO LOOSE";
    return c->passed ? "pass" : "FAIL";
}

static void number(char *text, size_t size, double value)
{
    snprintf(text, size, "%.4g", value);
}

/* The difference and what is allowed, in the unit in which they are compared. */
static void difference_of(const check *c, char *difference, char *allowed, size_t size)
{
    switch (c->kind) {
    case CHECK_RELATIVE:
        snprintf(difference, size, "%+.2g %%", 100 * c->difference);
        snprintf(allowed, size, "%.3g %%", 100 * c->tolerance);
        break;
    case CHECK_ABSOLUTE:
        snprintf(difference, size, "%+.2g", c->difference);
        snprintf(allowed, size, "%.3g", c->tolerance);
        break;
    case CHECK_BELOW:
    case CHECK_ABOVE:
        snprintf(difference, size, "%+.2g", c->difference);
        snprintf(allowed, size, "%s", c->kind == CHECK_BELOW ? "at most" : "at least");
        break;
    }
}

/* The numbers of a row as they are shown. */
typedef struct row_text {
    char reference[32], ours[32], difference[32], allowed[32];
} row_text;

static row_text text_of_row(const check *c)
{
    row_text t;
    number(t.reference, sizeof t.reference, c->reference);
    number(t.ours, sizeof t.ours, c->ours);
    difference_of(c, t.difference, t.allowed, sizeof t.difference);
    return t;
}

static const char *verdict_of_case(const validation *v)
{
    return v->trouble[0] ? "NOT CARRIED OUT" : validation_failed(v) ? "FAIL" : "pass";
}

void report_table(FILE *stream, const validation *v)
{
    fprintf(stream, "%s%s%s: %s (%.1f processor seconds, %lld steps, %lld not converged)\n", v->name, v->variant ? ", " : "",
            v->variant ? v->variant : "", verdict_of_case(v), v->seconds, (long long)v->steps, (long long)v->unconverged);
    if (v->trouble[0])
        fprintf(stream, "  %s\n", v->trouble);
    for (int i = 0; i < v->check_count; i++) {
        const check *c = &v->checks[i];
        row_text t = text_of_row(c);
        fprintf(stream, "  %-62s %11s %11s %10s %9s  %s\n", c->quantity, t.reference, t.ours, t.difference, t.allowed, verdict_of(c));
    }
    if (validation_failed(v) && validation_text(v, "known")[0])
        fprintf(stream, "  known: %s\n", validation_text(v, "known"));
}

void report_variants(FILE *stream, const validation *const *variants, int count)
{
    int rows = 0, agree[VARIANTS_MOST] = { 0 };
    fprintf(stream, "%s: %-*s %11s %9s", variants[0]->name, 60 - (int)strlen(variants[0]->name), "", "reference", "allowed");
    for (int k = 0; k < count; k++) {
        fprintf(stream, "  %25.25s", variants[k]->variant);
        rows = variants[k]->check_count > rows ? variants[k]->check_count : rows;
    }
    for (int i = 0; i < rows; i++) {
        for (int k = 0, told = 0; k < count; k++) {
            const check *c = &variants[k]->checks[i];
            if (i >= variants[k]->check_count) {
                fprintf(stream, "%*s", told ? 27 : 0, "");
                continue;
            }
            row_text t = text_of_row(c);
            if (!told++)
                fprintf(stream, "\n  %-62s %11s %9s%*s", c->quantity, t.reference, t.allowed, 27 * k, "");
            fprintf(stream, "  %10s %9s %s", t.ours, t.difference, c->passed ? c->control ? "fail" : "pass" : c->control ? "LOOSE" : "FAIL");
            fprintf(stream, "%*s", c->passed || !c->control, "");
            agree[k] += c->passed;
        }
    }
    fprintf(stream, "\n  %-62s %11s %9s", "rows that agree, of how many", "", "");
    for (int k = 0; k < count; k++)
        fprintf(stream, "  %10d of %6d     ", agree[k], variants[k]->check_count);
    fprintf(stream, "\n  %-62s %11s %9s", "processor seconds, steps not converged", "", "");
    for (int k = 0; k < count; k++)
        fprintf(stream, "  %10.1f %9lld     ", variants[k]->seconds, (long long)variants[k]->unconverged);
    fprintf(stream, "\n");
    for (int k = 0; k < count; k++)
        if (variants[k]->trouble[0])
            fprintf(stream, "  %s: %s\n", variants[k]->variant, variants[k]->trouble);
}

static void json_text(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            fprintf(stream, "\\u%04x", (unsigned)*c);
        else
            fputc(*c, stream);
    }
    fputc('"', stream);
}

static void json_number(FILE *stream, const char *name, double value)
{
    if (isfinite(value))
        fprintf(stream, "\"%s\": %.17g", name, value);
    else
        fprintf(stream, "\"%s\": null", name);
}

static void json_case(FILE *stream, const validation *v)
{
    static const char *const kinds[] = { "relative", "absolute", "at most", "at least" };
    fprintf(stream, "    {\"case\": \"%s\", \"verdict\": \"%s\", ", v->name,
            v->trouble[0] ? "not carried out" : validation_failed(v) ? "fail" : "pass");
    if (v->variant) {
        fprintf(stream, "\"variant\": ");
        json_text(stream, v->variant);
        fprintf(stream, ", ");
    }
    json_number(stream, "seconds", v->seconds);
    fprintf(stream, ", \"steps\": %lld, \"unconverged_steps\": %lld, \"trouble\": ", (long long)v->steps, (long long)v->unconverged);
    json_text(stream, v->trouble);
    fprintf(stream, ",\n     \"rows\": [");
    for (int i = 0; i < v->check_count; i++) {
        const check *c = &v->checks[i];
        fprintf(stream, "%s\n      {\"quantity\": ", i ? "," : "");
        json_text(stream, c->quantity);
        fprintf(stream, ", ");
        json_number(stream, "reference", c->reference);
        fprintf(stream, ", ");
        json_number(stream, "ours", c->ours);
        fprintf(stream, ", ");
        json_number(stream, "difference", c->difference);
        fprintf(stream, ", ");
        json_number(stream, "tolerance", c->tolerance);
        fprintf(stream, ", \"compared\": \"%s\", \"control\": %s, \"passed\": %s}", kinds[c->kind], c->control ? "true" : "false",
                c->passed ? "true" : "false");
    }
    fprintf(stream, "]}");
}

bool report_json(const validation *const *cases, int count, const char *path)
{
    FILE *stream = fopen(path, "w");
    if (!stream)
        return false;
    int failed = 0;
    for (int i = 0; i < count; i++)
        failed += validation_failed(cases[i]);
    fprintf(stream, "{\"program\": \"repose %s\", \"cases\": %d, \"failed\": %d,\n  \"results\": [\n", rp_version(), count, failed);
    for (int i = 0; i < count; i++) {
        json_case(stream, cases[i]);
        fprintf(stream, "%s\n", i + 1 < count ? "," : "");
    }
    fprintf(stream, "  ]}\n");
    return fclose(stream) == 0;
}

/* A pipe would end a cell of a Markdown table. */
static void cell(FILE *stream, const char *text)
{
    for (; *text; text++)
        fprintf(stream, *text == '|' ? "\\%c" : "%c", *text);
}

static void paragraph(FILE *stream, const validation *v, const char *key, const char *heading)
{
    const char *text = validation_text(v, key);
    if (text[0])
        fprintf(stream, "**%s** %s\n\n", heading, text);
}

static bool copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    char buffer[65536];
    size_t n = 0;
    bool good = out != NULL;
    while (good && (n = fread(buffer, 1, sizeof buffer, in)) > 0)
        good = fwrite(buffer, 1, n, out) == n;
    if (in)
        fclose(in);
    return (out ? fclose(out) == 0 : false) && good;
}

bool report_section(const validation *v, const char *folder)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/validation", folder);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/validation/%s.md", folder, v->name);
    FILE *stream = fopen(path, "w");
    if (!stream)
        return false;
    int failed = 0;
    for (int i = 0; i < v->check_count; i++)
        failed += !v->checks[i].passed;
    /* the first line is the row of the page's table: verdict, rows, failed rows, seconds */
    fprintf(stream, "<!-- %s | %d | %d | %.1f -->\n", verdict_of_case(v), v->check_count, failed, v->seconds);
    fprintf(stream, "### %s\n\n%s\n\n", v->name, validation_text(v, "title"));
    paragraph(stream, v, "compares", "Compared:");
    paragraph(stream, v, "reference", "Reference:");
    paragraph(stream, v, "tolerance", "Tolerance:");
    if (v->trouble[0])
        fprintf(stream, "**Not carried out:** %s\n\n", v->trouble);
    fprintf(stream, "| quantity | reference | ours | difference | allowed | verdict |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < v->check_count; i++) {
        const check *c = &v->checks[i];
        row_text t = text_of_row(c);
        const char *bold = c->passed ? "" : "**";
        fprintf(stream, "| ");
        cell(stream, c->quantity);
        fprintf(stream, " | %s | %s | %s | %s | %s%s%s |\n", t.reference, t.ours, t.difference, t.allowed, bold, verdict_of(c), bold);
    }
    fprintf(stream, "\n");
    if (validation_failed(v))
        paragraph(stream, v, "known", "What is known about the failure:");
    if (v->unconverged)
        fprintf(stream, "%lld of %lld steps stopped at the limit of iterations.\n\n", (long long)v->unconverged,
                (long long)v->steps);
    bool good = true;
    for (int i = 0; i < v->plot_count; i++) {
        char from[1200], to[1400];
        snprintf(from, sizeof from, "%s/%s", v->output, v->plots[i].file);
        snprintf(to, sizeof to, "%s/validation/%s", folder, v->plots[i].file);
        good = copy_file(from, to) && good;
        fprintf(stream, "![%s](validation/%s)\n\n", v->plots[i].caption, v->plots[i].file);
    }
    fprintf(stream, "Repeat it with `repose validate %s`.\n", v->name);
    return fclose(stream) == 0 && good;
}

/* ---- the page ---- */

/* What the first line of a section tells. */
typedef struct summary {
    char verdict[32];
    int rows, failed;
    double seconds;
    bool found;
} summary;

static summary summary_of(const char *folder, const char *name)
{
    summary s = { .verdict = "not run yet" };
    char path[1400], line[256] = "";
    snprintf(path, sizeof path, "%s/validation/%s.md", folder, name);
    FILE *stream = fopen(path, "r");
    if (!stream)
        return s;
    s.found = fgets(line, sizeof line, stream) && sscanf(line, "<!-- %31[^|] | %d | %d | %lf -->", s.verdict, &s.rows, &s.failed, &s.seconds) == 4;
    fclose(stream);
    for (size_t n = strlen(s.verdict); s.found && n && s.verdict[n - 1] == ' ';)
        s.verdict[--n] = '\0';
    return s;
}

/* Copies a file of text, without its first line when that is the summary. */
static void append_file(FILE *stream, const char *path)
{
    char line[4096];
    FILE *section = fopen(path, "r");
    if (!section)
        return;
    while (fgets(line, sizeof line, section))
        if (strncmp(line, "<!-- ", 5) != 0)
            fputs(line, stream);
    fputc('\n', stream);
    fclose(section);
}

static const char *const group_titles[CASE_GROUPS] = {
    [AGAINST_THEORY] = "Exact solutions and limit analysis",
    [AGAINST_GRAINS] = "Grains one by one, and another continuum",
    [AGAINST_EXPERIMENTS] = "Experiments and their laws",
    [AGAINST_ITSELF] = "The program against itself",
};

static void write_totals(FILE *stream, const char *folder)
{
    int cases[CASE_GROUPS] = { 0 }, whole[CASE_GROUPS] = { 0 }, rows[CASE_GROUPS] = { 0 }, failed[CASE_GROUPS] = { 0 }, all[4] = { 0 };
    for (const validation_case *c = validate_cases; c->name; c++) {
        summary s = summary_of(folder, c->name);
        cases[c->group]++, whole[c->group] += s.found && strcmp(s.verdict, "pass") == 0;
        rows[c->group] += s.rows, failed[c->group] += s.failed;
    }
    fprintf(stream, "| | cases | whole | rows | agree |\n|---|---|---|---|---|\n");
    for (int g = 0; g < CASE_GROUPS; g++) {
        fprintf(stream, "| %s | %d | %d | %d | %d |\n", group_titles[g], cases[g], whole[g], rows[g], rows[g] - failed[g]);
        all[0] += cases[g], all[1] += whole[g], all[2] += rows[g], all[3] += rows[g] - failed[g];
    }
    fprintf(stream, "| **all** | **%d** | **%d** | **%d** | **%d** |\n\n", all[0], all[1], all[2], all[3]);
}

static void write_group(FILE *stream, case_group group, const char *cases, const char *folder)
{
    fprintf(stream, "### %s\n\n| case | | verdict | rows | failed | why it fails | seconds | set |\n|---|---|---|---|---|---|---|---|\n", group_titles[group]);
    for (const validation_case *c = validate_cases; c->name; c++) {
        if (c->group != group)
            continue;
        validation v = { .name = c->name };
        snprintf(v.folder, sizeof v.folder, "%s/%s", cases, c->name);
        validation_read(&v);
        summary s = summary_of(folder, c->name);
        const char *set = strcmp(validation_text(&v, "affordable"), "true") == 0 ? "validate" : "validate-all";
        fprintf(stream, "| [%s](#%s) | %s | %s |", c->name, c->name, validation_text(&v, "title"), s.verdict);
        if (s.found)
            fprintf(stream, " %d | %d | %s | %.1f | %s |\n", s.rows, s.failed, s.failed ? validation_text(&v, "cause") : "", s.seconds, set);
        else
            fprintf(stream, " | | | | %s |\n", set);
    }
    fprintf(stream, "\n");
}

bool report_page(const char *cases, const char *folder)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/validation.md", folder);
    FILE *stream = fopen(path, "w");
    if (!stream)
        return false;
    fprintf(stream,
            "# Validation\n\n"
            "Numbers of the program beside theory, grain-by-grain runs and experiments. A comparison that fails is shown as failing, with what was "
            "measured of its cause. This page is made by `repose validate --page docs`; scenes, reference data and tolerances of a case are in "
            "`validation/NAME`. `repose validate NAME` repeats a case, `make validate` the affordable set, `make validate-all` everything.\n\n"
            "Rows named *control* repeat a comparison with friction made wrong on purpose: they must fail, or the comparison would be too loose to "
            "mean anything. Where nothing else is said the method is `nonsmooth`. Seconds are processor seconds of all threads.\n\n"
            "## Overview\n\n");
    write_totals(stream, folder);
    for (int g = 0; g < CASE_GROUPS; g++)
        write_group(stream, (case_group)g, cases, folder);
    case_group last = CASE_GROUPS;
    for (const validation_case *c = validate_cases; c->name; c++) {
        if (c->group != last)
            fprintf(stream, "## %s: the cases\n\n", group_titles[last = c->group]);
        snprintf(path, sizeof path, "%s/validation/%s.md", folder, c->name);
        append_file(stream, path);
    }
    snprintf(path, sizeof path, "%s/missing.md", cases);
    append_file(stream, path);
    return fclose(stream) == 0;
}
