/* help, completion: pages made from the option tables. */
#include "commands.h"

#include <repose/version.h>
#include <string.h>

typedef struct help_line {
    bool man;
} help_line;

static const option help_options[] = {
    { "--man", 0, OPT_FLAG, offsetof(help_line, man), NULL, "the manual page, in roff" },
    { 0 },
};

static void overview(FILE *stream)
{
    fprintf(stream, "usage: repose COMMAND ...\n\nRepose %s simulates granular matter.\n\ncommands:\n", rp_version());
    for (const command *const *c = commands; *c; c++)
        fprintf(stream, "  %-12s %s\n", (*c)->name, (*c)->summary);
    fprintf(stream, "\n`repose COMMAND --help` tells more. A first run: repose run collapse\n");
}

/* Text for roff: backslashes and hyphens escaped, leading dots guarded. */
static void roff(const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            printf("\\&");
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
        line_start = *text == '\n';
    }
}

static void man_page(void)
{
    printf(".TH REPOSE 1 \"\" \"repose %s\" \"User Commands\"\n.SH NAME\nrepose \\- simulate granular matter\n", rp_version());
    printf(".SH SYNOPSIS\n.B repose\nCOMMAND [options]\n.SH COMMANDS\n");
    for (const command *const *c = commands; *c; c++) {
        printf(".SS repose ");
        roff((*c)->name);
        printf(" ");
        roff((*c)->usage);
        printf("\n");
        roff((*c)->summary);
        printf(".\n");
        if ((*c)->details) {
            printf(".PP\n");
            roff((*c)->details);
            printf("\n");
        }
        for (const option *o = (*c)->options; o && o->name; o++) {
            printf(".TP\n.B ");
            if (o->letter)
                printf("\\-%c, ", o->letter);
            roff(o->name);
            if (o->argument) {
                printf(" ");
                roff(o->argument);
            }
            printf("\n");
            roff(o->help);
            printf("\n");
        }
    }
    printf(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 error in the scene, 4 diverged, 130 interrupted\n"
           "(after writing a checkpoint).\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on the terminal\n"
           ".TP\n.B REPOSE_SCENES\nfolder of the bundled scenes\n");
}

static int help_main(int argc, char **argv)
{
    help_line line = { 0 };
    text_list names;
    int code = options_parse(&command_help_page, &line, argc, argv, &names, 0, 1);
    if (code >= 0)
        return code;
    if (line.man) {
        man_page();
        return EXIT_DONE;
    }
    if (names.count == 0) {
        overview(stdout);
        return EXIT_DONE;
    }
    for (const command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, names.items[0]) == 0) {
            command_help(stdout, *c);
            return EXIT_DONE;
        }
    fprintf(stderr, "repose: there is no command '%s'\n", names.items[0]);
    return EXIT_USAGE;
}

const command command_help_page = {
    "help", "[COMMAND] [--man]", "Explains the commands", NULL, help_options, help_main,
};

static const option none[] = { { 0 } };

static int completion_main(int argc, char **argv)
{
    text_list names;
    int code = options_parse(&command_completion, NULL, argc, argv, &names, 1, 1);
    if (code >= 0)
        return code;
    if (strcmp(names.items[0], "bash") != 0) {
        fprintf(stderr, "repose: completion is there for bash, not for '%s'\n", names.items[0]);
        return EXIT_USAGE;
    }
    printf("# bash completion for repose; source it, or put it in bash-completion/completions/repose\n_repose()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} options=\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        options=\"");
    for (const command *const *c = commands; *c; c++)
        printf("%s%s", c == commands ? "" : " ", (*c)->name);
    printf("\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (const command *const *c = commands; *c; c++) {
        printf("            %s) options=\"--help", (*c)->name);
        for (const option *o = (*c)->options; o && o->name; o++)
            printf(" %s", o->name);
        printf("\" ;;\n");
    }
    printf("        esac\n        if [ \"${COMP_WORDS[1]}\" = run ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
           "            options=\"$options $(repose scenes 2>/dev/null | cut -d' ' -f1)\"\n        fi\n    fi\n"
           "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\") $(compgen -f -- \"$word\"))\n}\n"
           "complete -o filenames -F _repose repose\n");
    return EXIT_DONE;
}

const command command_completion = {
    "completion", "bash", "Prints the completion script of a shell", NULL, none, completion_main,
};
