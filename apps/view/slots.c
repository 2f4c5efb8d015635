#include "slots.h"

#include <stdlib.h>
#include <string.h>

void slots_init(slots *s)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->latest = -1;
}

void slots_free(slots *s)
{
    for (int k = 0; k < SLOT_COUNT; k++)
        wire_buffer_free(&s->buffer[k]);
    pthread_mutex_destroy(&s->lock);
}

wire_buffer *slots_begin(slots *s)
{
    wire_buffer *free_one = NULL;
    pthread_mutex_lock(&s->lock);
    for (int k = 0; k < SLOT_COUNT && !free_one; k++)
        if (k != s->latest && s->readers[k] == 0)
            free_one = &s->buffer[k];
    s->dropped += !free_one;
    pthread_mutex_unlock(&s->lock);
    return free_one;
}

void slots_commit(slots *s, wire_buffer *filled)
{
    pthread_mutex_lock(&s->lock);
    s->latest = (int)(filled - s->buffer);
    s->serial[s->latest] = ++s->published;
    pthread_mutex_unlock(&s->lock);
}

static bool make_room(wire_buffer *to, size_t size)
{
    if (to->room >= size)
        return true;
    uint8_t *more = realloc(to->bytes, size);
    if (!more)
        return false;
    to->bytes = more, to->room = size;
    return true;
}

uint64_t slots_copy(slots *s, uint64_t after, wire_buffer *to)
{
    pthread_mutex_lock(&s->lock);
    int k = s->latest;
    uint64_t serial = k >= 0 && s->serial[k] > after ? s->serial[k] : 0;
    if (serial)
        s->readers[k]++;
    pthread_mutex_unlock(&s->lock);
    if (!serial)
        return 0;
    /* no one writes to a slot that is read: the copy needs no lock */
    bool copied = make_room(to, s->buffer[k].size);
    if (copied) {
        memcpy(to->bytes, s->buffer[k].bytes, s->buffer[k].size);
        to->size = s->buffer[k].size;
        memcpy(to->level, s->buffer[k].level, sizeof to->level);
    }
    pthread_mutex_lock(&s->lock);
    s->readers[k]--;
    pthread_mutex_unlock(&s->lock);
    return copied ? serial : 0;
}
