/* Three slots between the simulation and those who watch: the latest wins, and neither side ever waits for the other. */
#ifndef REPOSE_APPS_VIEW_SLOTS_H
#define REPOSE_APPS_VIEW_SLOTS_H

#include "protocol.h"

#include <pthread.h>

enum { SLOT_COUNT = 3 };

typedef struct slots {
    pthread_mutex_t lock;      /* held for a few instructions only */
    wire_buffer buffer[SLOT_COUNT];
    uint64_t serial[SLOT_COUNT]; /* 0: never filled */
    int readers[SLOT_COUNT];
    int latest;                /* -1: nothing yet */
    uint64_t published, dropped;
} slots;

void slots_init(slots *s);
void slots_free(slots *s);

/* A slot to fill, or NULL when all are being copied (then this frame is dropped: the writer never waits). */
wire_buffer *slots_begin(slots *s);
void slots_commit(slots *s, wire_buffer *filled);

/* Copies the latest into `to` when it is newer than `after`; returns its serial number, or 0. */
uint64_t slots_copy(slots *s, uint64_t after, wire_buffer *to);

#endif
