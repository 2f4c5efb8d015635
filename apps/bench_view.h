/* The chain of `repose play` without a browser. */
#ifndef REPOSE_APPS_BENCH_VIEW_H
#define REPOSE_APPS_BENCH_VIEW_H

#include "bench.h"

/* Plays the scene as fast as it goes, with a page that reads all frames from its socket: steps, fine grains, packing, sending. Writes an object. */
bool bench_view(const benchmark *b, const bench_settings *s, int threads, FILE *to);

#endif
