/* A folder of its own for a test: made by folder_make, emptied and removed by folder_remove. */
#ifndef RP_TESTS_FOLDER_TESTS_H
#define RP_TESTS_FOLDER_TESTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static inline int folder_make(const char *name)
{
    snprintf(folder, sizeof folder, "%s_XXXXXX", name);
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* The path of a name in the folder; the last eight stay valid. */
static inline const char *in_folder(const char *name)
{
    static char path[8][160];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

#endif
