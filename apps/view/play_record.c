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

static bool tell(const char *folder)
{
    fprintf(stderr, "repose: cannot record to %s: %s\n", folder, strerror(errno));
    return false;
}

/* The whole journal again, beside the old one until it is complete; later lines are added to it. */
static bool write_anew(play_recorder *r, const char *journal)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/actions.jsonl", r->folder);
    if (r->journal)
        fclose(r->journal);
    r->journal = write_text(r->folder, "actions.jsonl", journal) ? fopen(path, "ab") : NULL;
    r->written = strlen(journal);
    return r->journal || tell(r->folder);
}

bool play_record_begin(play_recorder *recorder, const char *folder, const rp_scene *scene)
{
    char *yaml = NULL;
    *recorder = (play_recorder){ .folder = folder };
    if (!folder)
        return true;
    if (!make_folder(folder))
        return tell(folder);
    bool good = rp_scene_format(scene, &yaml) == RP_OK && write_text(folder, "scene.yaml", yaml);
    rp_text_free(yaml);
    return good && write_anew(recorder, "");
}

bool play_record_go_on(play_recorder *recorder, const rp_sim *sim, bool anew)
{
    if (!recorder->journal)
        return true;
    const char *journal = rp_sim_journal(sim);
    if (anew)
        return write_anew(recorder, journal);
    const char *more = journal + recorder->written;
    size_t length = strlen(more);
    if (length == 0)
        return true;
    recorder->written += length;
    return (fwrite(more, 1, length, recorder->journal) == length && fflush(recorder->journal) == 0) || tell(recorder->folder);
}

int play_record_end(play_recorder *recorder, const rp_scene *scene, rp_sim *sim)
{
    char path[4200];
    const char *folder = recorder->folder;
    if (!folder)
        return EXIT_DONE;
    bool good = write_anew(recorder, rp_sim_journal(sim));
    good = recorder->journal && fclose(recorder->journal) == 0 && good;
    recorder->journal = NULL;
    if (!good)
        return EXIT_FAILED;
    snprintf(path, sizeof path, "%s/last.vtkhdf", folder);
    rp_result result = rp_frame_write(sim, rp_scene_output(scene), path);
    if (result != RP_OK)
        return report_failure(path, result);
    fprintf(stderr, "recorded %.17g s: repose run %s/scene.yaml --actions %s --until %.17g -o DIR\n", rp_sim_time(sim), folder, folder,
            rp_sim_time(sim));
    return EXIT_DONE;
}
