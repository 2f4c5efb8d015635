/* The message that tells a page what it will see. */
#ifndef REPOSE_APPS_VIEW_SCENE_TEXT_H
#define REPOSE_APPS_VIEW_SCENE_TEXT_H

#include "protocol.h"

#include <stdio.h>

typedef struct scene_text {
    const char *mode;          /* "view" or "play" */
    const char *name;          /* of the run or the scene */
    const char *folder;        /* of the run, for command lines; "" when there is none */
    const rp_scene *scene;
    const rp_stage *stage;
    const rp_frame *first;     /* its fields are those to colour by */
    const wire_palette *palette;
    const char *more;          /* members of the object, each after a comma; may be "" */
} scene_text;

/* Free it; NULL when there is no memory. */
char *scene_text_make(const scene_text *t);

/* ,"vertices":"…","triangles":"…" */
void scene_text_mesh(FILE *to, const rp_mesh *mesh);
/* ,"name":[a,b,c] */
void scene_text_vector(FILE *to, const char *name, const double v[3]);

#endif
