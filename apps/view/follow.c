#include "follow.h"

#include "probe.h"

#include <stdlib.h>
#include <string.h>

static void place_of(const rp_frame *frame, int64_t i, double place[4])
{
    const rp_field_view *x = rp_frame_field(frame, "position");
    place[0] = frame->time;
    for (int d = 0; d < 3; d++)
        place[1 + d] = x ? wire_number(x, d, i) : 0;
}

void follow_begin(followed *f, const rp_frame *frame, const double place[3])
{
    int64_t i = probe_nearest(frame, place);
    *f = (followed){ .on = i >= 0, .every = 1.0 / 120 };
    if (i < 0)
        return;
    f->id = wire_id(rp_frame_field(frame, "id"), i);
    place_of(frame, i, f->path[f->count++]);
}

/* Every second place stays, and only half as many come from now on. */
static void thin(followed *f)
{
    int kept = 0;
    for (int k = 0; k < f->count; k += 2)
        memcpy(f->path[kept++], f->path[k], sizeof *f->path);
    f->count = kept;
    f->every *= 2;
}

void follow_say(followed *f, const rp_frame *frame, server *s, const feed *source)
{
    char text[160];
    double place[4];
    int64_t i = probe_find(frame, f->id);
    if (i < 0) {
        f->on = false;
        server_say(s, source, "{\"type\":\"probed\",\"position\":null}");
        return;
    }
    place_of(frame, i, place);
    if (f->count == 0 || place[0] >= f->path[f->count - 1][0] + f->every) {
        if (f->count == FOLLOW_PLACES)
            thin(f);
        memcpy(f->path[f->count++], place, sizeof place);
    }
    snprintf(text, sizeof text, "{\"type\":\"probed\",\"position\":[%.7g,%.7g,%.7g]}", place[1], place[2], place[3]);
    server_say(s, source, text);
}

void follow_tell(const followed *f, const rp_frame *frame, server *s, const feed *source)
{
    char *text = NULL;
    size_t size = 0;
    int64_t i = probe_find(frame, f->id);
    FILE *to = i >= 0 ? open_memstream(&text, &size) : NULL;
    if (!to)
        return;
    fprintf(to, "{\"type\":\"probe\",\"frame\":%lld,\"id\":%lld", (long long)frame->index, (long long)f->id);
    probe_put_values(to, frame, i);
    fputs(",\"path\":[", to);
    for (int k = 0; k < f->count; k++)
        fprintf(to, "%s[%.7g,%.7g,%.7g,%.7g]", k ? "," : "", f->path[k][0], f->path[k][1], f->path[k][2], f->path[k][3]);
    fputs("]}", to);
    if (fclose(to) == 0)
        server_say(s, source, text);
    free(text);
}

void follow_back(followed *f, double time)
{
    while (f->count > 0 && f->path[f->count - 1][0] > time)
        f->count--;
}
