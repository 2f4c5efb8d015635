/* What is known of one grain, as members of a message. */
#ifndef REPOSE_APPS_VIEW_PROBE_H
#define REPOSE_APPS_VIEW_PROBE_H

#include "protocol.h"

#include <stdio.h>

/* ,"values":[{"name":…,"unit":…,"value":[…]},…] of particle i */
void probe_put_values(FILE *to, const rp_frame *frame, int64_t i);
/* The particle of this id; -1: none. */
int64_t probe_find(const rp_frame *frame, int64_t id);
/* The particle whose centre is nearest to a place; -1: there are none. */
int64_t probe_nearest(const rp_frame *frame, const double place[3]);

#endif
