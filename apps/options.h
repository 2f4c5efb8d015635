/* Command lines from tables: parsing, --help, the man page and shell completion come from the same lines. */
#ifndef REPOSE_APPS_OPTIONS_H
#define REPOSE_APPS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum option_kind {
    OPT_FLAG, /* bool */
    OPT_TEXT, /* const char * */
    OPT_INT,  /* int */
    OPT_REAL, /* double */
    OPT_TIME, /* double, seconds: "5", "5ms", "2 min" */
    OPT_LIST  /* text_list: may be given again */
} option_kind;

enum { LIST_MOST = 256 };
typedef struct text_list {
    const char *items[LIST_MOST];
    int count;
} text_list;

typedef struct option {
    const char *name;     /* "--threads" */
    char letter;          /* 't' for -t, 0 for none */
    option_kind kind;
    size_t offset;        /* in the command's own structure */
    const char *argument; /* "N"; NULL for a flag */
    const char *help;
} option;

/* One command. `options` ends with a NULL name; --help is added to every one. */
typedef struct command {
    const char *name;
    const char *usage;    /* what follows the name: "SCENE [-o DIR] [--set KEY=VALUE]..." */
    const char *summary;  /* one line */
    const char *details;  /* paragraphs; may be NULL */
    const option *options;
    int (*main)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} command;

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SCENE = 3, EXIT_DIVERGED = 4, EXIT_INTERRUPTED = 130 };

/* Fills `target` (already holding defaults) and the positional arguments, in order. Returns -1 to go on, or the exit code
 * when --help was answered or the line is wrong (said on standard error). `least`, `most`: how many positionals. */
int options_parse(const command *cmd, void *target, int argc, char **argv, text_list *positional, int least, int most);

/* How many letters two words have in common at their beginnings and ends. */
size_t likeness(const char *a, const char *b);

void command_help(FILE *stream, const command *cmd);

#endif
