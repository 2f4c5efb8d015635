/* What the validation cases share: case.yaml, rows, runs, profiles, tables. */
#include "validate.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- case.yaml ---- */

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    if (n >= 2 && text[0] == '"' && text[n - 1] == '"') {
        text[n - 1] = '\0';
        text++;
    }
    return text;
}

/* Joins lines that go on with a value to the line before them, so that each key is one line. */
static void join_lines(char *text)
{
    for (char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n'))
        if (line[1] == ' ')
            *line = ' ';
}

bool validation_read(validation *v)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/case.yaml", v->folder);
    FILE *file = fopen(path, "rb");
    if (!file) {
        validation_trouble(v, "there is no %s", path);
        return false;
    }
    size_t n = fread(v->text, 1, sizeof v->text - 1, file);
    fclose(file);
    v->text[n] = '\0';
    join_lines(v->text);
    for (char *line = strtok(v->text, "\n"); line && v->key_count < KEYS_MOST; line = strtok(NULL, "\n")) {
        char *colon = strchr(line, ':');
        if (line[0] == '#' || !colon)
            continue;
        *colon = '\0';
        v->keys[v->key_count].key = trimmed(line);
        v->keys[v->key_count++].value = trimmed(colon + 1);
    }
    return true;
}

const char *validation_text(const validation *v, const char *key)
{
    for (int i = 0; i < v->key_count; i++)
        if (strcmp(v->keys[i].key, key) == 0)
            return v->keys[i].value;
    return "";
}

double validation_number(validation *v, const char *key)
{
    const char *text = validation_text(v, key);
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end) {
        validation_trouble(v, "case.yaml has no number '%s'", key);
        return NAN;
    }
    return value;
}

/* ---- rows ---- */

void validation_trouble(validation *v, const char *format, ...)
{
    if (v->trouble[0])
        return; /* the first one is the cause */
    va_list list;
    va_start(list, format);
    vsnprintf(v->trouble, sizeof v->trouble, format, list);
    va_end(list);
}

static void add_row(validation *v, check_kind kind, const char *tolerance, double reference, double ours, bool control,
                    const char *quantity, va_list list)
{
    if (v->check_count == CHECKS_MOST) {
        validation_trouble(v, "more than %d rows", CHECKS_MOST);
        return;
    }
    check *c = &v->checks[v->check_count++];
    char key[80];
    snprintf(key, sizeof key, "tolerance_%s", tolerance ? tolerance : "");
    *c = (check){ .kind = kind, .reference = reference, .ours = ours, .control = control };
    vsnprintf(c->quantity, sizeof c->quantity, quantity, list);
    c->tolerance = tolerance ? validation_number(v, key) : 0;
    c->difference = ours - reference;
    bool within = false;
    switch (kind) {
    case CHECK_RELATIVE:
        c->difference /= fabs(reference);
        within = fabs(c->difference) <= c->tolerance;
        break;
    case CHECK_ABSOLUTE: within = fabs(c->difference) <= c->tolerance; break;
    case CHECK_BELOW: within = ours <= reference; break;
    case CHECK_ABOVE: within = ours >= reference; break;
    }
    c->passed = isfinite(ours) && within != control;
}

void validation_check(validation *v, check_kind kind, const char *tolerance, double reference, double ours, const char *quantity, ...)
{
    va_list list;
    va_start(list, quantity);
    add_row(v, kind, tolerance, reference, ours, false, quantity, list);
    va_end(list);
}

void validation_control(validation *v, check_kind kind, const char *tolerance, double reference, double ours, const char *quantity,
                        ...)
{
    va_list list;
    va_start(list, quantity);
    add_row(v, kind, tolerance, reference, ours, true, quantity, list);
    va_end(list);
}

bool validation_failed(const validation *v)
{
    if (v->trouble[0] || v->check_count == 0)
        return true;
    for (int i = 0; i < v->check_count; i++)
        if (!v->checks[i].passed)
            return true;
    return false;
}

void validation_plot(validation *v, const char *name, const char *caption, rp_plot_def *plot)
{
    if (v->no_plots || v->plot_count == PLOTS_MOST)
        return;
    char path[1200];
    snprintf(v->plots[v->plot_count].file, sizeof v->plots->file, "%s-%s.png", v->name, name);
    snprintf(v->plots[v->plot_count].caption, sizeof v->plots->caption, "%s", caption);
    snprintf(path, sizeof path, "%s/%s", v->output, v->plots[v->plot_count].file);
    if (rp_plot_png(plot, path) == RP_OK)
        v->plot_count++;
    else
        validation_trouble(v, "plot %s: %s", name, rp_last_error());
}

/* ---- runs ---- */

void setting(settings *s, const char *format, ...)
{
    if (s->count == SETTINGS_MOST)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(s->text[s->count], sizeof s->text[0], format, list);
    va_end(list);
    s->list[s->count] = s->text[s->count];
    s->list[++s->count] = NULL;
}

bool run_open(validation *v, run *r, const char *scene, const char *const *set)
{
    *r = (run){ 0 };
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", v->folder, scene);
    const char *all[SETTINGS_MOST + 1];
    int count = 0;
    while (set && set[count] && count < SETTINGS_MOST) {
        all[count] = set[count];
        count++;
    }
    if (v->variant)
        all[count++] = v->variant;
    rp_scene_options options = { .set = all, .set_count = count };
    if (rp_scene_load(path, &options, &r->scene) != RP_OK || rp_sim_create(rp_scene_sim_def(r->scene), &r->sim) != RP_OK) {
        validation_trouble(v, "%s: %s", scene, rp_last_error());
        run_close(r);
        return false;
    }
    rp_sim_set_threads(r->sim, v->threads);
    return true;
}

bool run_step(validation *v, run *r)
{
    rp_result result = rp_sim_step(r->sim, &r->stats);
    if (result != RP_OK) {
        validation_trouble(v, "at t = %g s: %s (%s)", rp_sim_time(r->sim), rp_result_text(result), rp_last_error());
        return false;
    }
    v->steps++;
    v->unconverged += !r->stats.converged;
    return true;
}

bool run_until(validation *v, run *r, double time)
{
    while (!rp_sim_done(r->sim) && rp_sim_time(r->sim) < time * (1 - 1e-9))
        if (!run_step(v, r))
            return false;
    return true;
}

void run_close(run *r)
{
    rp_sim_destroy(r->sim);
    rp_scene_destroy(r->scene);
    *r = (run){ 0 };
}

const double *run_plane(const run *r, const char *field, int component)
{
    rp_field_view view;
    if (rp_sim_field_named(r->sim, field, &view) != RP_OK || view.info.type != RP_F64 || component >= view.info.components)
        return NULL;
    return (const double *)view.data + component * view.stride;
}

int64_t run_count(const run *r)
{
    return rp_sim_particle_count(r->sim);
}

double run_mass(const run *r)
{
    const double *mass = run_plane(r, "mass", 0);
    double sum = 0;
    for (int64_t i = 0; i < run_count(r); i++)
        sum += mass[i];
    return sum;
}

double run_mean(const run *r, const char *field, int component)
{
    const double *mass = run_plane(r, "mass", 0), *value = run_plane(r, field, component);
    double sum = 0, total = 0;
    for (int64_t i = 0; value && i < run_count(r); i++) {
        sum += mass[i] * value[i];
        total += mass[i];
    }
    return sum / total; /* not a number when there is nothing: every check then fails */
}

static int by_id(const void *a, const void *b)
{
    const particle_place *p = a, *q = b;
    return p->id < q->id ? -1 : p->id > q->id;
}

particle_places run_places(const run *r, double above)
{
    rp_field_view id;
    particle_places p = { 0 };
    const double *x = run_plane(r, "position", 0), *y = run_plane(r, "position", 1);
    if (rp_sim_field_named(r->sim, "id", &id) != RP_OK || id.info.type != RP_I64 || !(p.list = calloc((size_t)run_count(r) + 1, sizeof *p.list)))
        return p;
    for (int64_t i = 0; i < run_count(r); i++)
        if (y[i] > above)
            p.list[p.count++] = (particle_place){ ((const int64_t *)id.data)[i], x[i], y[i] };
    qsort(p.list, p.count, sizeof *p.list, by_id);
    return p;
}

void places_free(particle_places *p)
{
    free(p->list);
    *p = (particle_places){ 0 };
}

particle_ways ways_between(const particle_places *before, const particle_places *after, const double shift[2], double wrap)
{
    particle_ways w = { .many = (int)before->count };
    double sum[2] = { 0, 0 };
    for (size_t i = 0; i < before->count; i++) {
        const particle_place *now = after->list ? bsearch(&before->list[i], after->list, after->count, sizeof *after->list, by_id) : NULL;
        if (!now) {
            w.gone++;
            continue;
        }
        double dx = now->x - before->list[i].x - shift[0], dy = now->y - before->list[i].y - shift[1];
        if (wrap > 0)
            dx -= wrap * round(dx / wrap);
        w.farthest = fmax(w.farthest, hypot(dx, dy));
        sum[0] += dx, sum[1] += dy;
    }
    double there = (double)(w.many - w.gone);
    w.mean = hypot(sum[0], sum[1]) / there;
    w.sunk = -sum[1] / there;
    return w;
}

void run_heights(const run *r, double fraction, double x0, double x1, double *heights, int bins)
{
    const double *x = run_plane(r, "position", 0), *volume = run_plane(r, "volume", 0);
    double width = (x1 - x0) / bins;
    memset(heights, 0, (size_t)bins * sizeof *heights);
    for (int64_t i = 0; i < run_count(r); i++) {
        /* shared between the two nearest bins, as particles are as wide as a good part of a bin */
        double at = (x[i] - x0) / width - 0.5, low = floor(at), part = at - low;
        for (int k = 0; k < 2; k++) {
            int bin = (int)low + k;
            bin = bin < 0 ? 0 : bin;
            if (bin < bins)
                heights[bin] += (k ? part : 1 - part) * volume[i] / (fraction * width);
        }
    }
}

double front_of(const double *heights, int bins, double width, double least)
{
    for (int i = 0; i < bins; i++) {
        if (heights[i] > least)
            continue;
        if (i == 0)
            return 0;
        return width * (i - 0.5 + (heights[i - 1] - least) / (heights[i - 1] - heights[i]));
    }
    return width * bins;
}

/* ---- numbers ---- */

void fit_line(const double *x, const double *y, int n, double *slope, double *offset, double *r_squared)
{
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    for (int i = 0; i < n; i++)
        mx += x[i] / n, my += y[i] / n;
    for (int i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        xy += (x[i] - mx) * (y[i] - my);
        yy += (y[i] - my) * (y[i] - my);
    }
    *slope = xy / xx;
    *offset = my - *slope * mx;
    if (r_squared)
        *r_squared = xy * xy / (xx * yy);
}

static int split_numbers(char *line, double *values, int most)
{
    int count = 0;
    for (char *at = line; count < most;) {
        char *end;
        double value = strtod(at, &end);
        values[count++] = end == at ? NAN : value;
        at = strchr(at, ',');
        if (!at)
            return count;
        at++;
    }
    return count;
}

bool table_read(validation *v, const char *file, table *t)
{
    *t = (table){ 0 };
    char path[1200], line[1024];
    snprintf(path, sizeof path, "%s/%s", v->folder, file);
    FILE *stream = fopen(path, "r");
    if (!stream) {
        validation_trouble(v, "there is no %s", path);
        return false;
    }
    int capacity = 0;
    while (fgets(line, sizeof line, stream)) {
        double values[32];
        if (!isdigit((unsigned char)line[0]) && line[0] != '-')
            continue;
        int n = split_numbers(line, values, 32);
        if (t->columns == 0)
            t->columns = n;
        if (t->rows == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            double *more = realloc(t->data, (size_t)capacity * (size_t)t->columns * sizeof *more);
            if (!more) {
                validation_trouble(v, "no memory for %s", file);
                break;
            }
            t->data = more;
        }
        for (int c = 0; c < t->columns; c++)
            t->data[t->rows * t->columns + c] = c < n ? values[c] : NAN;
        t->rows++;
    }
    fclose(stream);
    if (t->rows == 0)
        validation_trouble(v, "%s has no numbers", path);
    return !v->trouble[0];
}

void table_free(table *t)
{
    free(t->data);
    *t = (table){ 0 };
}

double table_at(const table *t, int row, int column)
{
    return t->data[row * t->columns + column];
}
