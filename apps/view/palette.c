/* Colours of materials as bytes of a frame. */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

void wire_palette_free(wire_palette *p)
{
    free(p->materials);
    free(p->first);
    memset(p, 0, sizeof *p);
}

/* Shades of one colour, from itself to a tenth darker. */
static void add_colour(wire_palette *p, const uint8_t rgb[3])
{
    for (int k = 0; k < p->shades; k++, p->count++)
        for (int c = 0; c < 3; c++)
            p->colours[p->count][c] = (uint8_t)(rgb[c] * (p->shades > 1 ? 1 - 0.1 * k / (p->shades - 1) : 1) + 0.5);
}

rp_result wire_palette_make(const rp_sim_def *sim, wire_palette *out)
{
    enum { SHADES = 8 };
    int n = sim->material_count + 1, all = 0;
    wire_palette p = { .material_count = sim->material_count };
    p.materials = calloc((size_t)n, sizeof *p.materials);
    p.first = calloc((size_t)n, sizeof *p.first);
    rp_result result = p.materials && p.first ? RP_OK : RP_OUT_OF_MEMORY;
    for (int m = 0; m < n && result == RP_OK; m++) {
        result = rp_palette_parse(m < sim->material_count ? sim->materials[m].colour : "sand", &p.materials[m]);
        if (result == RP_OK && all + p.materials[m].count > 256) /* more than a byte can tell: the last ones look like the first */
            p.materials[m] = p.materials[0], p.first[m] = -1;
        else if (result == RP_OK)
            all += p.materials[m].count;
    }
    p.shades = all > 0 && all * SHADES <= 256 ? SHADES : 1;
    for (int m = 0; m < n && result == RP_OK; m++) {
        bool again = p.first[m] < 0;
        p.first[m] = again ? p.first[0] : p.count;
        for (int c = 0; c < p.materials[m].count && !again; c++)
            add_colour(&p, p.materials[m].colour[c]);
    }
    if (result == RP_OK)
        *out = p;
    else
        wire_palette_free(&p);
    return result;
}

uint8_t wire_palette_byte(const wire_palette *p, int material, int64_t id)
{
    int m = material >= 0 && material < p->material_count ? material : p->material_count;
    double lightness;
    int c = rp_palette_choose(&p->materials[m], id, &lightness);
    int shade = (int)(10 * (1 - lightness) * (p->shades - 1) + 0.5);
    shade = shade < p->shades ? shade : p->shades - 1;
    return (uint8_t)(p->first[m] + c * p->shades + shade);
}
