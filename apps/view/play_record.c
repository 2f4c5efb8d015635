#include "play_record.h"

#include "apps/folder.h"
#include "apps/options.h"
#include "apps/run_loop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool write_text(const char *folder, const char *name, const char *text)
{
    char path[4200], aside[4210];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(aside, sizeof aside, "%s.part", path);
    FILE *to = fopen(aside, "wb");
    bool good = to && fputs(text, to) >= 0 && fflush(to) == 0 && fsync(fileno(to)) == 0;
    good = (!to || fclose(to) == 0) && good && rename(aside, path) == 0;
    if (!good) {
        fprintf(stderr, "repose: cannot write %s: %s\n", path, strerror(errno));
        unlink(aside);
    }
    return good;
}

int play_record(const char *folder, const rp_scene *scene, rp_sim *sim)
{
    char *yaml = NULL, path[4200];
    snprintf(path, sizeof path, "%s/last.vtkhdf", folder);
    if (!make_folder(folder) || rp_scene_format(scene, &yaml) != RP_OK) {
        fprintf(stderr, "repose: cannot record to %s\n", folder);
        return EXIT_FAILED;
    }
    bool good = write_text(folder, "scene.yaml", yaml) && write_text(folder, "actions.jsonl", rp_sim_journal(sim));
    rp_text_free(yaml);
    rp_result result = good ? rp_frame_write(sim, rp_scene_output(scene), path) : RP_IO_ERROR;
    if (!good)
        return EXIT_FAILED;
    if (result != RP_OK)
        return report_failure(path, result);
    fprintf(stderr, "recorded %.17g s: repose run %s/scene.yaml --actions %s --until %.17g -o DIR\n", rp_sim_time(sim), folder, folder,
            rp_sim_time(sim));
    return EXIT_DONE;
}
