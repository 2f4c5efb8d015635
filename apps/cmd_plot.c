/* plot: tables and frames of runs to plots. */
#include "commands.h"
#include "run_loop.h"

#include <repose/render.h>

typedef struct plot_line {
    const char *output;
    bool compare;
} plot_line;

static const option plot_options[] = {
    { "--compare", 0, OPT_FLAG, offsetof(plot_line, compare), NULL, "overlays several runs" },
    { "--output", 'o', OPT_TEXT, offsetof(plot_line, output), "DIR", "folder of the plots (default: DIR/plots of the first run)" },
    { 0 },
};

static int plot_main(int argc, char **argv)
{
    plot_line line = { 0 };
    text_list names;
    int code = options_parse(&command_plot, &line, argc, argv, &names, 1, 8), made = 0;
    if (code >= 0)
        return code;
    if (names.count > 1 && !line.compare) {
        fprintf(stderr, "repose: plot takes one folder; to overlay several runs: repose plot --compare DIR DIR...\n");
        return EXIT_USAGE;
    }
    char usual[4096];
    snprintf(usual, sizeof usual, "%s/%s", names.items[0], line.compare ? "plots_compare" : "plots");
    const char *folder = line.output ? line.output : usual;
    rp_result result = rp_plot_runs(names.items, names.count, folder, &made);
    if (result != RP_OK)
        return report_failure("", result);
    fprintf(stderr, "%d plots, each as SVG and PNG\n", made);
    printf("%s\n", folder);
    return EXIT_DONE;
}

const command command_plot = {
    "plot", "DIR | --compare DIR DIR...", "Plots energy, residual, time in each phase, forces, run-out and profiles of a run",
    "Lines come from stats.csv and bodies.csv, run-out, height and profiles from the frames. Each plot is written as SVG and PNG.",
    plot_options, plot_main,
};
