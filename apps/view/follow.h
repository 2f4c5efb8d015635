/* A grain that the probe follows while a simulation goes on. Only the thread of the simulation calls these. */
#ifndef REPOSE_APPS_VIEW_FOLLOW_H
#define REPOSE_APPS_VIEW_FOLLOW_H

#include "server.h"

enum { FOLLOW_PLACES = 256 };

typedef struct followed {
    bool on;
    int64_t id;
    int count;
    double every;              /* [s] between places that are kept; doubled whenever there are too many */
    double path[FOLLOW_PLACES][4]; /* time, x, y, z */
} followed;

/* The grain nearest to the place; off when there is none. */
void follow_begin(followed *f, const rp_frame *frame, const double place[3]);
/* With every frame that is sent: where it is, `{"type":"probed",…}`; the path grows. A grain that is gone is followed no more. */
void follow_say(followed *f, const rp_frame *frame, server *s, const feed *source);
/* All its fields and its path, `{"type":"probe",…}`. */
void follow_tell(const followed *f, const rp_frame *frame, server *s, const feed *source);
/* The simulation was set back: what came later is forgotten. */
void follow_back(followed *f, double time);

#endif
