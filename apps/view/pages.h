/* The files of the page, compiled into the program (made at build from apps/view/page). */
#ifndef REPOSE_APPS_VIEW_PAGES_H
#define REPOSE_APPS_VIEW_PAGES_H

#include <stddef.h>

typedef struct page_file {
    const unsigned char *bytes; /* ends with a zero that does not count */
    size_t size;
} page_file;

extern const page_file page_html, page_script, page_style, page_icon;

#endif
