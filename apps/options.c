#include "options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <repose/repose.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100 };

/* Text in lines of at most WIDTH bytes, where it has spaces; those after the first begin with `indent` spaces. */
static void print_wrapped(FILE *stream, const char *text, int indent)
{
    int column = indent;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " \n");
        if (column > indent && column + 1 + (int)length > WIDTH) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', stream);
            column++;
        }
        fwrite(word, 1, length, stream);
        column += (int)length;
        word += length;
        if (*word == '\n') {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        }
        word += *word != '\0';
    }
    fputc('\n', stream);
}

static void print_option(FILE *stream, const option *o)
{
    char left[64];
    snprintf(left, sizeof left, "%c%c%s%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ', o->letter ? ", " : "  ",
             o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    fprintf(stream, "  %-28s ", left);
    print_wrapped(stream, o->help, 31);
}

void command_help(FILE *stream, const command *cmd)
{
    fprintf(stream, "usage: repose %s %s\n\n%s.\n", cmd->name, cmd->usage, cmd->summary);
    if (cmd->details) {
        fputc('\n', stream);
        print_wrapped(stream, cmd->details, 0);
    }
    fprintf(stream, "\noptions:\n");
    for (const option *o = cmd->options; o && o->name; o++)
        print_option(stream, o);
    static const option help = { "--help", 'h', OPT_FLAG, 0, NULL, "this text" };
    print_option(stream, &help);
}

static int wrong(const command *cmd, const char *format, const char *a, const char *b)
{
    fprintf(stderr, "repose %s: ", cmd->name);
    fprintf(stderr, format, a, b);
    fprintf(stderr, "\nusage: repose %s %s\n", cmd->name, cmd->usage);
    return EXIT_USAGE;
}

static const option *find(const command *cmd, const char *argument, size_t length)
{
    for (const option *o = cmd->options; o && o->name; o++) {
        if (strlen(o->name) == length && strncmp(o->name, argument, length) == 0)
            return o;
        if (o->letter && length == 2 && argument[0] == '-' && argument[1] == o->letter)
            return o;
    }
    return NULL;
}

static int store(const command *cmd, const option *o, void *target, const char *value)
{
    void *member = (char *)target + o->offset;
    char *end = NULL;
    errno = 0;
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)member = true;
        return -1;
    case OPT_TEXT:
        *(const char **)member = value;
        return -1;
    case OPT_INT: {
        long number = strtol(value, &end, 10);
        if (end == value || *end || errno || number < INT_MIN || number > INT_MAX)
            return wrong(cmd, "%s needs a whole number, not '%s'", o->name, value);
        *(int *)member = (int)number;
        return -1;
    }
    case OPT_REAL: {
        double number = strtod(value, &end);
        if (end == value || *end || errno || !isfinite(number))
            return wrong(cmd, "%s needs a number, not '%s'", o->name, value);
        *(double *)member = number;
        return -1;
    }
    case OPT_TIME:
        if (rp_parse_quantity(value, "s", member) != RP_OK) {
            fprintf(stderr, "repose %s: %s: %s\n", cmd->name, o->name, rp_last_error());
            return EXIT_USAGE;
        }
        return -1;
    case OPT_LIST: {
        text_list *list = member;
        if (list->count == LIST_MOST)
            return wrong(cmd, "%s was given too often (at '%s')", o->name, value);
        list->items[list->count++] = value;
        return -1;
    }
    }
    return -1;
}

size_t likeness(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b), shorter = la < lb ? la : lb, head = 0, tail = 0;
    while (head < shorter && a[head] == b[head])
        head++;
    while (head + tail < shorter && a[la - 1 - tail] == b[lb - 1 - tail])
        tail++;
    return head + tail;
}

/* The option most like it, in a letter at least after "--". */
static const char *nearest(const command *cmd, const char *argument)
{
    const char *best = NULL;
    size_t most = 2;
    for (const option *o = cmd->options; o && o->name; o++) {
        size_t like = likeness(argument, o->name);
        if (like > most)
            most = like, best = o->name;
    }
    return best;
}

static int parse_option(const command *cmd, void *target, int argc, char **argv, int *at)
{
    const char *argument = argv[*at];
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
        command_help(stdout, cmd);
        return EXIT_DONE;
    }
    const char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    const option *o = find(cmd, argument, equals ? (size_t)(equals - argument) : strlen(argument));
    if (!o) {
        char hint[64] = "";
        const char *near = nearest(cmd, argument);
        if (near)
            snprintf(hint, sizeof hint, "; did you mean '%s'?", near);
        return wrong(cmd, "there is no option '%s'%s", argument, hint);
    }
    if (!o->argument)
        return equals ? wrong(cmd, "%s takes no value%s", o->name, "") : store(cmd, o, target, NULL);
    if (equals)
        return store(cmd, o, target, equals + 1);
    if (*at + 1 >= argc)
        return wrong(cmd, "%s needs a value: %s", o->name, o->argument);
    return store(cmd, o, target, argv[++*at]);
}

int options_parse(const command *cmd, void *target, int argc, char **argv, text_list *positional, int least, int most)
{
    bool only_names = false;
    positional->count = 0;
    for (int i = 1; i < argc; i++) {
        if (!only_names && strcmp(argv[i], "--") == 0) {
            only_names = true;
        } else if (!only_names && argv[i][0] == '-' && argv[i][1]) {
            int code = parse_option(cmd, target, argc, argv, &i);
            if (code >= 0)
                return code;
        } else if (positional->count == most || positional->count == LIST_MOST) {
            return wrong(cmd, "there is one argument too many: '%s'%s", argv[i], "");
        } else {
            positional->items[positional->count++] = argv[i];
        }
    }
    if (positional->count < least) { /* the words of the usage name them, in their order */
        char missing[32] = "";
        const char *word = cmd->usage;
        for (int i = 0; i < positional->count && word; i++)
            word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL;
        if (word)
            sscanf(word, "%31[A-Z|a-z]", missing);
        if (!missing[0])
            strcpy(missing, "something");
        return wrong(cmd, "%s is missing%s", missing, "");
    }
    return -1;
}
