#include "probe.h"

#include "server.h"

#include <math.h>

void probe_put_values(FILE *to, const rp_frame *frame, int64_t i)
{
    fputs(",\"values\":[", to);
    for (int f = 0; f < frame->field_count; f++) {
        const rp_field_view *v = &frame->fields[f];
        fprintf(to, "%s{\"name\":", f ? "," : "");
        json_quote(to, v->info.name);
        fputs(",\"unit\":", to);
        json_quote(to, v->info.unit ? v->info.unit : "");
        fputs(",\"value\":[", to);
        for (int c = 0; c < v->info.components; c++) {
            double value = wire_number(v, c, i);
            if (isfinite(value))
                fprintf(to, "%s%.9g", c ? "," : "", value);
            else
                fprintf(to, "%snull", c ? "," : "");
        }
        fputs("]}", to);
    }
    fputs("]", to);
}

int64_t probe_find(const rp_frame *frame, int64_t id)
{
    const rp_field_view *ids = rp_frame_field(frame, "id");
    for (int64_t i = 0; i < frame->count; i++)
        if (wire_id(ids, i) == id)
            return i;
    return -1;
}

int64_t probe_nearest(const rp_frame *frame, const double place[3])
{
    const rp_field_view *x = rp_frame_field(frame, "position");
    double least = INFINITY;
    int64_t best = -1;
    for (int64_t i = 0; x && i < frame->count; i++) {
        double square = 0;
        for (int d = 0; d < 3; d++) {
            double away = wire_number(x, d, i) - place[d];
            square += away * away;
        }
        if (square < least)
            least = square, best = i;
    }
    return best;
}
