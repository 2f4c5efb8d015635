/* Messages of the page: small JSON objects, checked before anything acts on them. */
#ifndef REPOSE_APPS_VIEW_MESSAGE_H
#define REPOSE_APPS_VIEW_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_MOST = 65536, MESSAGE_DEPTH = 8 };

/* name, what it carries: one list for the enumeration and the reader. */
#define MESSAGES(M)                                                                            \
    M(HELLO, "hello")     /* version */                                                        \
    M(ACK, "ack")         /* frame */                                                          \
    M(SEEK, "seek")       /* frame */                                                          \
    M(COLOR, "color")     /* field, min, max */                                                \
    M(QUALITY, "quality") /* stride */                                                         \
    M(ARROWS, "arrows")   /* field; none: no arrows */                                         \
    M(GRAINS, "grains")   /* field: "fine" or "particles" */                                   \
    M(PROBE, "probe")     /* frame, index, stride; of a simulation: down, position */           \
    M(PAUSE, "pause")                                                                          \
    M(RESUME, "resume")                                                                        \
    M(STEP, "step")                                                                            \
    M(RESET, "reset")                                                                          \
    M(SPEED, "speed")     /* factor; 0 = as fast as it goes */                                 \
    M(TOOL, "tool")       /* field: its name; down, position, across, value: its pitch, size */ \
    M(CONTROL, "control") /* index, value */                                                   \
    M(GRAVITY, "gravity") /* position: the vector */

typedef enum message_kind {
#define M(name, text) MESSAGE_##name,
    MESSAGES(M)
#undef M
    MESSAGE_KINDS
} message_kind;

typedef struct message {
    message_kind kind;
    int64_t frame, index;      /* 0 … 2^53 */
    uint32_t stride;           /* a power of two, 1 … 65536 */
    char field[64];            /* letters, digits, '_' and '.' */
    double low, high;
    double factor, value, size;
    double position[3], across[3];
    bool down;
} message;

/* False when the text is no message of ours; *why (may be NULL) gets a sentence. The text may hold anything. */
bool message_read(const char *text, size_t size, message *out, const char **why);

const char *message_name(message_kind kind);

#endif
