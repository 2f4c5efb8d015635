/* The commands of `repose`, one file each. Each has a `const command` with its option table (apps/options.h), from which
 * --help, the man page and shell completion are made. */
#ifndef REPOSE_APPS_COMMANDS_H
#define REPOSE_APPS_COMMANDS_H

#include "options.h"

extern const command command_run;
extern const command command_resume;
extern const command command_info;
extern const command command_convert;
extern const command command_scenes;
extern const command command_schema;
extern const command command_render;
extern const command command_plot;
extern const command command_sheet;
extern const command command_view;
extern const command command_play;
extern const command command_export;
extern const command command_friction;
extern const command command_validate;
extern const command command_bench;
extern const command command_measure;
extern const command command_help_page;
extern const command command_completion;

/* All of them, ending with NULL (apps/main.c). */
extern const command *const commands[];

#endif
