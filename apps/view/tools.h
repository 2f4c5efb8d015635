/* Tools of `play`: a ball, a rake and a scoop that push grains, a spout that pours them. They work in every scene, as they are nothing but
 * actions: what they do is in the journal. Only the thread of the simulation calls these. */
#ifndef REPOSE_APPS_VIEW_TOOLS_H
#define REPOSE_APPS_VIEW_TOOLS_H

#include "message.h"

#include <repose/repose.h>

typedef enum tool_kind { TOOL_NONE, TOOL_HAND, TOOL_RAKE, TOOL_SCOOP, TOOL_SPOUT, TOOL_KINDS } tool_kind;

typedef struct tools {
    rp_sim *sim;
    int up_axis;
    double up_sign;
    double unit;               /* size of a tool of size 1 [m] */
    tool_kind kind;
    bool down;
    double goal[3], across[3], pitch, size;
    int body[TOOL_KINDS];      /* -1: not there yet */
    double body_size[TOOL_KINDS];
    bool moving[TOOL_KINDS];   /* its velocity is not zero */
    bool put[TOOL_KINDS];      /* it is among the grains; otherwise it waits far below */
    double poured;             /* time of the last grains of the spout */
    /* called when a body was added */
    void (*added)(void *context, int body, const char *name, rp_shape *shape);
    void *context;
} tools;

const char *tool_name(tool_kind kind);

void tools_init(tools *t, rp_sim *sim, const rp_stage *stage);
/* The simulation was set back: which of the bodies are there is found out again. */
void tools_reset(tools *t);
void tools_message(tools *t, const message *m);
/* Before each step: moves the body of the tool towards where it is wanted, pours grains. */
rp_result tools_apply(tools *t);

#endif
