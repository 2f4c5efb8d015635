/* A run as a page of its own. */
#ifndef REPOSE_APPS_VIEW_EXPORT_PAGE_H
#define REPOSE_APPS_VIEW_EXPORT_PAGE_H

#include "run_folder.h"

typedef struct export_options {
    const char *colour;        /* field, or "material" */
    double low, high;          /* its range; equal: automatic */
    int64_t frames, grains;    /* at most */
} export_options;

/* Writes the page; false after a sentence on standard error. The file appears whole or not at all. */
bool export_page(const run_folder *run, const export_options *options, const char *path, int64_t *frames, int64_t *bytes);

#endif
