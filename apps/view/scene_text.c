#include "scene_text.h"

#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


void scene_text_vector(FILE *to, const char *name, const double v[3])
{
    fprintf(to, ",\"%s\":[%.9g,%.9g,%.9g]", name, isfinite(v[0]) ? v[0] : 0, isfinite(v[1]) ? v[1] : 0, isfinite(v[2]) ? v[2] : 0);
}

static void put_view(FILE *to, const char *name, const rp_view *v)
{
    fprintf(to, ",\"%s\":{\"fov\":%.9g,\"orthographic\":%s,\"extent\":%.9g", name, v->field_of_view, v->orthographic ? "true" : "false",
            v->extent);
    scene_text_vector(to, "eye", v->eye);
    scene_text_vector(to, "target", v->target);
    scene_text_vector(to, "up", v->up);
    fputs("}", to);
}

/* Where the scene's camera goes, when it moves. */
static void put_cameras(FILE *to, const scene_text *t)
{
    enum { LOOKS = 120 };
    const rp_output_def *out = rp_scene_output(t->scene);
    fputs(",\"cameras\":[", to);
    if (strcmp(t->mode, "view") == 0 && (out->camera_key_count > 0 || out->turntable != 0))
        for (int k = 0; k <= LOOKS; k++) {
            double time = rp_scene_sim_def(t->scene)->duration * k / LOOKS;
            rp_view v = rp_stage_view(t->scene, t->stage, time);
            fprintf(to, "%s[%.9g", k ? "," : "", time);
            for (int d = 0; d < 6; d++)
                fprintf(to, ",%.9g", d < 3 ? v.eye[d] : v.target[d - 3]);
            fputs("]", to);
        }
    fputs("]", to);
}

void scene_text_mesh(FILE *to, const rp_mesh *mesh)
{
    float *vertices = malloc((size_t)(3 * mesh->vertex_count + 1) * sizeof *vertices);
    for (int64_t k = 0; vertices && k < 3 * mesh->vertex_count; k++)
        vertices[k] = (float)mesh->vertices[k];
    fputs(",\"vertices\":\"", to);
    if (vertices)
        json_base64(to, vertices, (size_t)(3 * mesh->vertex_count) * sizeof *vertices);
    fputs("\",\"triangles\":\"", to);
    if (vertices)
        json_base64(to, mesh->triangles, (size_t)(3 * mesh->triangle_count) * sizeof *mesh->triangles);
    fputs("\"", to);
    free(vertices);
}

static void put_bodies(FILE *to, const scene_text *t)
{
    const rp_sim_def *sim = rp_scene_sim_def(t->scene);
    fputs(",\"bodies\":[", to);
    for (int b = 0; b < t->stage->body_count; b++) {
        const rp_body_def *def = &sim->bodies[b];
        fprintf(to, "%s{\"name\":", b ? "," : "");
        json_quote(to, def->name);
        fprintf(to, ",\"free\":%s,\"container\":%s", def->kind == RP_BODY_FREE ? "true" : "false",
                t->stage->bodies[b].container ? "true" : "false");
        scene_text_vector(to, "colour", def->colour);
        rp_mesh now = { 0 };
        if (def->sequence && rp_mesh_sequence_mesh(def->sequence, t->first->time, &now) == RP_OK) {
            scene_text_mesh(to, &now);
            rp_mesh_free(&now);
        } else
            scene_text_mesh(to, &t->stage->bodies[b].mesh);
        fputs("}", to);
    }
    fputs("]", to);
}

static void put_fields(FILE *to, const rp_sim_def *sim, const rp_frame *frame)
{
    int n = 0;
    fputs(",\"fields\":[", to);
    for (int f = 0; f < frame->field_count; f++) {
        const rp_field_info *info = &frame->fields[f].info;
        if (strcmp(info->name, "material") == 0 || info->components == 9)
            continue;
        fprintf(to, "%s{\"name\":", n++ ? "," : "");
        json_quote(to, info->name);
        fputs(",\"unit\":", to);
        json_quote(to, info->unit ? info->unit : "");
        fprintf(to, ",\"components\":%d}", info->components);
    }
    if (sim->fibres_count > 0)
        fprintf(to, "%s{\"name\":\"tension\",\"unit\":\"N\",\"components\":1}", n ? "," : "");
    fputs("]", to);
}

/* Colours that the grains of each material have, as often as they have them, and which material a place of the palette is of. */
static void put_mixes(FILE *to, const wire_palette *p)
{
    enum { MIXED = 64 };
    fputs(",\"mixes\":[", to);
    for (int m = 0; m <= p->material_count; m++) {
        fputs(m ? ",[" : "[", to);
        for (int k = 0; k < MIXED; k++) {
            uint8_t rgb[3];
            rp_palette_pick(&p->materials[m], k, rgb);
            fprintf(to, "%s[%d,%d,%d]", k ? "," : "", rgb[0], rgb[1], rgb[2]);
        }
        fputs("]", to);
    }
    fputs("],\"rows\":[", to);
    for (int c = 0; c < p->count; c++) {
        int row = 0;
        for (int m = 0; m <= p->material_count; m++)
            row = p->first[m] <= c && p->first[m] >= p->first[row] ? m : row;
        fprintf(to, "%s%d", c ? "," : "", row);
    }
    fputs("]", to);
}

/* Particles of these stand for many grains each; those of others are balls. */
static bool is_continuum(const char *method)
{
    static const char *const names[] = { "nonsmooth", "elastoplastic", "diphasic" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(method, names[k]) == 0)
            return true;
    return false;
}

static void put_colours(FILE *to, const wire_palette *p)
{
    fputs(",\"palette\":[", to);
    for (int c = 0; c < p->count; c++)
        fprintf(to, "%s[%d,%d,%d]", c ? "," : "", p->colours[c][0], p->colours[c][1], p->colours[c][2]);
    fputs("],\"map\":[", to);
    for (int k = 0; k < 256; k++) {
        uint8_t rgb[3];
        rp_colour_map(k / 255.0, rgb);
        fprintf(to, "%s[%d,%d,%d]", k ? "," : "", rgb[0], rgb[1], rgb[2]);
    }
    fputs("]", to);
}

static void put_stage(FILE *to, const scene_text *t)
{
    const rp_stage *stage = t->stage;
    const rp_sim_def *sim = rp_scene_sim_def(t->scene);
    double up[3] = { 0, 0, 0 };
    up[stage->up_axis] = stage->up_sign;
    put_view(to, "view", &stage->view);
    put_cameras(to, t);
    scene_text_vector(to, "sun", stage->sun);
    scene_text_vector(to, "up", up);
    fprintf(to, ",\"background\":[%d,%d,%d],\"tray\":%.9g", stage->background[0], stage->background[1], stage->background[2], stage->tray);
    if (stage->ground) {
        fprintf(to, ",\"ground\":{\"colour\":[%d,%d,%d]", stage->ground_colour[0], stage->ground_colour[1], stage->ground_colour[2]);
        scene_text_vector(to, "point", stage->ground_point);
        scene_text_vector(to, "normal", stage->ground_normal);
        fputs("}", to);
    }
    static const char *const kinds[] = { "stick", "slip", "friction", "open", "periodic" };
    fputs(",\"walls\":[", to);
    for (int k = 0; k < 6; k++)
        fprintf(to, "%s\"%s\"", k ? "," : "", kinds[sim->wall[k].kind]);
    fputs("]", to);
}

char *scene_text_make(const scene_text *t)
{
    const rp_sim_def *sim = rp_scene_sim_def(t->scene);
    const rp_output_def *out = rp_scene_output(t->scene);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "{\"type\":\"scene\",\"version\":1,\"mode\":\"%s\",\"name\":", t->mode);
    json_quote(to, t->name);
    fputs(",\"folder\":", to);
    json_quote(to, t->folder);
    fputs(",\"title\":", to);
    json_quote(to, rp_scene_title(t->scene));
    fputs(",\"method\":", to);
    json_quote(to, sim->method);
    fprintf(to, ",\"dim\":%d,\"cell\":%.9g,\"rate\":%.9g,\"duration\":%.9g", sim->dim, sim->cell_size, sim->frame_rate, sim->duration);
    fprintf(to, ",\"fluid\":%s,\"fibres\":%d,\"fine\":%.9g", sim->fluid ? "true" : "false", sim->fibres_count, out->upsample);
    fputs(",\"colour\":", to);
    json_quote(to, out->colour && out->colour[0] ? out->colour : "material");
    scene_text_vector(to, "lower", sim->lower);
    scene_text_vector(to, "upper", sim->upper);
    scene_text_vector(to, "gravity", sim->gravity);
    put_stage(to, t);
    put_fields(to, sim, t->first);
    put_colours(to, t->palette);
    put_mixes(to, t->palette);
    fprintf(to, ",\"continuum\":%s", is_continuum(sim->method) ? "true" : "false");
    put_bodies(to, t);
    fprintf(to, "%s}", t->more ? t->more : "");
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
