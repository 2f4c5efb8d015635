/* A state: named arrays that hold everything the next step depends on, to the bit. */
#ifndef REPOSE_STATE_H
#define REPOSE_STATE_H

#include <repose/export.h>
#include <repose/field.h>
#include <repose/result.h>

RP_BEGIN

typedef struct rp_blob {
    char name[64];
    rp_type type;
    int64_t count;
    void *data;
} rp_blob;

typedef struct rp_state {
    rp_blob *blobs;
    int count, capacity;
} rp_state;

/* Copies `data`; a name may stand only once. */
RP_API rp_result rp_state_add(rp_state *state, const char *name, rp_type type, int64_t count, const void *data);
RP_API const rp_blob *rp_state_find(const rp_state *state, const char *name); /* NULL if absent */
RP_API void rp_state_free(rp_state *state);

RP_END
#endif
