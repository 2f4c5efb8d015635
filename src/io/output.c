/* An output folder: what a run leaves behind, and how it goes on from there.
 *
 * Invariant behind `resume`: a checkpoint of step s is renamed into place only after the rows up to s and the frames up to its
 * frame are synced. Whatever is later than the newest sound checkpoint can be cut away and comes again, to the byte. */
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timer.h"
#include "io/io.h"

#include <dirent.h>
#include <errno.h>
#include <repose/action.h>
#include <string.h>
#include <unistd.h>

struct rp_output {
    char *folder, *scene, *fields;
    bool frames, grid;
    int lock;                     /* of the folder */
    int frame_every, kept;
    double checkpoint_every;      /* [s], wall clock */
    double checkpoint_clock;      /* when the last one was made */
    int64_t checkpoint_step;      /* -1: none yet */
    int64_t checkpoint_journal;   /* bytes of the journal in it */
    rp__io_table stats, bodies;
    FILE *actions;                /* NULL until there is something to write */
    int64_t actions_written;      /* bytes of the journal that it holds */
};

/* ---- files of the folder ---- */

static rp_result remove_file(const char *folder, const char *name)
{
    char *path = rp__file_join(folder, name);
    if (!path)
        return RP_OUT_OF_MEMORY;
    rp_result result = RP_OK;
    if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
        result = rp__base_fail(RP_IO_ERROR, "cannot remove %s: %s", path, strerror(errno));
    rp__base_free(path);
    return result;
}

/* What a killed program left half-written. */
static rp_result remove_parts(const char *folder)
{
    DIR *stream = opendir(folder);
    if (!stream)
        return RP_OK;
    rp_result result = RP_OK;
    for (const struct dirent *item; result == RP_OK && (item = readdir(stream));) {
        size_t length = strlen(item->d_name);
        if (length > 5 && strcmp(item->d_name + length - 5, ".part") == 0)
            result = remove_file(folder, item->d_name);
    }
    closedir(stream);
    return result;
}

static rp_result remove_path(char *path)
{
    rp_result result = path ? remove_file("", path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    return result;
}

/* What is written with frames, and the lists of it that ParaView opens. */
static const struct { const char *prefix, *series; } kinds[] = {
    { RP_IO_FRAME_PREFIX, RP_IO_SERIES },
    { RP_IO_GRID_PREFIX, RP_IO_GRID_SERIES },
    { RP_IO_FIBRES_PREFIX, RP_IO_FIBRES_SERIES },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Files of a kind with an index above `last`. */
static rp_result remove_frames(const char *folder, const char *prefix, int64_t last)
{
    char *inside = rp__file_join(folder, RP_IO_FRAMES);
    if (!inside)
        return RP_OUT_OF_MEMORY;
    rp__io_list list;
    rp_result result = rp__io_list_make(&list, inside, prefix, RP_IO_FRAME_SUFFIX);
    for (int64_t i = 0; i < list.count && result == RP_OK; i++)
        if (list.numbers[i] > last)
            result = remove_path(rp__io_frame_path(folder, prefix, list.numbers[i]));
    rp__io_list_free(&list);
    if (result == RP_OK)
        result = remove_parts(inside);
    rp__base_free(inside);
    return result;
}

static rp_result list_checkpoints(const char *folder, rp__io_list *list)
{
    *list = (rp__io_list){ 0 };
    char *inside = rp__file_join(folder, RP_IO_CHECKPOINTS);
    if (!inside)
        return RP_OUT_OF_MEMORY;
    rp_result result = rp__io_list_make(list, inside, RP_IO_CHECKPOINT_PREFIX, RP_IO_CHECKPOINT_SUFFIX);
    rp__base_free(inside);
    return result;
}

/* All but the newest `kept`. */
static rp_result prune_checkpoints(const char *folder, int kept)
{
    rp__io_list list;
    RP_TRY(list_checkpoints(folder, &list));
    rp_result result = RP_OK;
    for (int64_t i = 0; i < list.count - kept && result == RP_OK; i++)
        result = remove_path(rp__io_checkpoint_path(folder, list.numbers[i]));
    rp__io_list_free(&list);
    return result;
}

/* The list that ParaView opens as one: {"files": [{"name", "time"}, …]}. */
static rp_result write_series(const char *folder, const char *prefix, const char *name, double frame_rate)
{
    char *inside = rp__file_join(folder, RP_IO_FRAMES), *path = rp__file_join(folder, name);
    rp__io_list list = { 0 };
    rp__text text = { 0 };
    rp_result result = inside && path ? rp__io_list_make(&list, inside, prefix, RP_IO_FRAME_SUFFIX) : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        rp__text_append_string(&text, "{\n  \"file-series-version\": \"1.0\",\n  \"files\": [");
        for (int64_t i = 0; i < list.count; i++) {
            rp__text_append(&text, "%s\n    { \"name\": \"%s/%s%06lld%s\", \"time\": ", i ? "," : "", RP_IO_FRAMES, prefix,
                            (long long)list.numbers[i], RP_IO_FRAME_SUFFIX);
            rp__text_append_number(&text, (double)list.numbers[i] / frame_rate);
            rp__text_append_string(&text, " }");
        }
        rp__text_append_string(&text, "\n  ]\n}\n");
        result = rp__text_result(&text);
    }
    if (result == RP_OK)
        result = rp__file_write_text(path, text.data);
    rp__text_free(&text);
    rp__io_list_free(&list);
    rp__base_free(inside);
    rp__base_free(path);
    return result;
}

/* ---- making, opening, closing ---- */

static rp_result open_table(rp__io_table *table, const char *folder, const char *name, int64_t last_step)
{
    char *path = rp__file_join(folder, name);
    rp_result result = path ? rp__io_table_open(table, path, last_step) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    return result;
}

static rp_result make_subfolder(const char *folder, const char *name)
{
    char *path = rp__file_join(folder, name);
    rp_result result = path ? rp__file_make_folder(path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    return result;
}

/* Takes ownership of `scene_text` and `lock`, also on failure. */
static rp_result open_output(const char *folder, const rp_output_def *def, char *scene_text, int lock, int64_t last_step,
                             rp_output **out)
{
    rp_output *output = RP_NEW(rp_output);
    if (!output) {
        rp__base_free(scene_text);
        rp__file_unlock(lock);
        return RP_OUT_OF_MEMORY;
    }
    output->scene = scene_text;
    output->lock = lock;
    output->folder = rp__base_copy_text(folder);
    output->fields = rp__base_copy_text(def->fields ? def->fields : "");
    output->frames = def->frames;
    output->grid = def->grid;
    output->frame_every = def->frame_every > 0 ? def->frame_every : 1;
    output->kept = def->checkpoints_kept > 0 ? def->checkpoints_kept : 1;
    output->checkpoint_every = def->checkpoint_every;
    output->checkpoint_clock = rp__base_seconds();
    output->checkpoint_step = last_step;
    rp_result result = output->folder && output->fields ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = make_subfolder(folder, RP_IO_FRAMES);
    if (result == RP_OK)
        result = make_subfolder(folder, RP_IO_CHECKPOINTS);
    if (result == RP_OK)
        result = open_table(&output->stats, folder, "stats.csv", last_step);
    if (result == RP_OK)
        result = open_table(&output->bodies, folder, "bodies.csv", last_step);
    if (result == RP_OK)
        *out = output;
    else
        rp_output_destroy(output);
    return result;
}

void rp_output_destroy(rp_output *output)
{
    if (!output)
        return;
    rp__io_table_close(&output->stats);
    rp__io_table_close(&output->bodies);
    rp__base_free(output->folder);
    rp__base_free(output->scene);
    rp__base_free(output->fields);
    if (output->actions)
        fclose(output->actions);
    rp__file_unlock(output->lock);
    rp__base_free(output);
}

static rp_result holds_run(const char *folder, bool *holds)
{
    static const char *const names[] = { "scene.yaml", "stats.csv", RP_IO_SERIES };
    *holds = false;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char *path = rp__file_join(folder, names[k]);
        if (!path)
            return RP_OUT_OF_MEMORY;
        *holds = *holds || rp__file_exists(path);
        rp__base_free(path);
    }
    rp__io_list list;
    RP_TRY(list_checkpoints(folder, &list));
    *holds = *holds || list.count > 0;
    rp__io_list_free(&list);
    return RP_OK;
}

/* A link in the place of what a run writes would lead its files, and what --overwrite removes, elsewhere. */
static rp_result refuse_links(const char *folder)
{
    static const char *const names[] = { RP_IO_FRAMES, RP_IO_CHECKPOINTS, RP_IO_FILES, RP_IO_PROBLEMS, "stats.csv", "bodies.csv", RP_IO_ACTIONS };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char *path = rp__file_join(folder, names[k]);
        if (!path)
            return RP_OUT_OF_MEMORY;
        rp_result result = rp__file_is_link(path)
                               ? rp__base_fail(RP_IO_ERROR, "%s is a symbolic link: a run writes only into its own folder; remove the link", path)
                               : RP_OK;
        rp__base_free(path);
        RP_TRY(result);
    }
    return RP_OK;
}

/* Friction problems of the run before would stand among those of the next. */
static rp_result remove_problems(const char *folder)
{
    char *inside = rp__file_join(folder, RP_IO_PROBLEMS);
    if (!inside)
        return RP_OUT_OF_MEMORY;
    rp__io_list list;
    rp_result result = rp__io_list_make(&list, inside, RP_IO_PROBLEM_PREFIX, RP_IO_PROBLEM_SUFFIX);
    for (int64_t i = 0; i < list.count && result == RP_OK; i++)
        result = remove_path(rp__io_problem_path(folder, list.numbers[i]));
    if (result == RP_OK && list.count > 0)
        rmdir(inside); /* stays when something else is in it */
    rp__io_list_free(&list);
    rp__base_free(inside);
    return result;
}

/* Removes what a run writes, and nothing else. Checkpoints go first: a half-removed run is never resumed. */
static rp_result clear_run(const char *folder)
{
    static const char *const names[] = { "stats.csv", "bodies.csv", RP_IO_ACTIONS, RP_IO_DUMP, RP_IO_LAST, "scene.yaml" };
    RP_TRY(prune_checkpoints(folder, 0));
    for (int k = 0; k < KINDS; k++) {
        RP_TRY(remove_frames(folder, kinds[k].prefix, -1));
        RP_TRY(remove_file(folder, kinds[k].series));
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        RP_TRY(remove_file(folder, names[k]));
    RP_TRY(remove_problems(folder));
    RP_TRY(rp__io_remove_files(folder));
    return remove_parts(folder);
}

rp_result rp_output_create(const char *folder, const rp_scene *scene, bool overwrite, rp_output **out)
{
    if (!folder || !scene || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_output_create needs a folder, a scene and a place for the output (there is a NULL)");
    bool holds;
    RP_TRY(rp__file_make_folder(folder));
    RP_TRY(refuse_links(folder));
    RP_TRY(holds_run(folder, &holds));
    if (holds && !overwrite)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s holds a run already; resume it, choose another folder, or ask to overwrite it",
                             folder);
    int lock;
    RP_TRY(rp__file_lock(folder, &lock));
    char *text = NULL, *path = rp__file_join(folder, "scene.yaml");
    rp_result result = path ? clear_run(folder) : RP_OUT_OF_MEMORY;
    if (result == RP_OK)
        result = rp_scene_format(scene, &text);
    if (result == RP_OK)
        result = rp__io_copy_files(folder, scene, &text);
    if (result == RP_OK)
        result = rp__file_write_text(path, text);
    rp__base_free(path);
    if (result != RP_OK) {
        rp_text_free(text);
        rp__file_unlock(lock);
        return result;
    }
    return open_output(folder, rp_scene_output(scene), text, lock, -1, out);
}

/* ---- what was done from outside ---- */

/* The file anew, whole: when a run goes on from a checkpoint, or was taken back to an earlier state. */
static rp_result rewrite_actions(rp_output *output, const char *journal)
{
    if (output->actions)
        fclose(output->actions);
    output->actions = NULL;
    output->actions_written = 0;
    if (!*journal)
        return remove_file(output->folder, RP_IO_ACTIONS);
    char *path = rp__file_join(output->folder, RP_IO_ACTIONS);
    rp_result result = path ? rp__file_write_text(path, journal) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    if (result == RP_OK)
        output->actions_written = output->checkpoint_journal = (int64_t)strlen(journal);
    return result;
}

/* The lines that were added to the journal since. */
static rp_result write_actions(rp_output *output, const rp_sim *sim, bool sync)
{
    const char *journal = rp_sim_journal(sim);
    int64_t length = (int64_t)strlen(journal);
    if (length < output->actions_written)
        RP_TRY(rewrite_actions(output, journal));
    if (length == output->actions_written && !(sync && output->actions))
        return RP_OK;
    char *path = rp__file_join(output->folder, RP_IO_ACTIONS);
    if (!path)
        return RP_OUT_OF_MEMORY;
    if (!output->actions)
        output->actions = fopen(path, "ab");
    size_t more = (size_t)(length - output->actions_written);
    rp_result result = RP_OK;
    if (!output->actions || fwrite(journal + output->actions_written, 1, more, output->actions) != more || fflush(output->actions) != 0 ||
        (sync && fsync(fileno(output->actions)) != 0))
        result = rp__base_fail(RP_IO_ERROR, "cannot write %s: %s", path, strerror(errno));
    else
        output->actions_written = length;
    rp__base_free(path);
    return result;
}

rp_result rp_journal_read(const char *path, char **journal)
{
    if (!path || !journal)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_journal_read needs a path and a place for the text");
    char *inside = rp__io_is_folder(path) ? rp__file_join(path, RP_IO_ACTIONS) : rp__base_copy_text(path);
    size_t size;
    rp_result result = inside ? rp__file_read(inside, (size_t)1 << 32, journal, &size) : RP_OUT_OF_MEMORY;
    rp__base_free(inside);
    return result;
}

rp_result rp_run_scene(const char *folder, rp_scene **out)
{
    if (!folder || !out)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_run_scene needs a folder and a place for the scene (one is NULL)");
    char *path = rp__file_join(folder, "scene.yaml"), *actions = rp__file_join(folder, RP_IO_ACTIONS), *journal = NULL;
    rp_scene *scene = NULL;
    rp_result result = path && actions ? RP_OK : RP_OUT_OF_MEMORY;
    if (result == RP_OK && !rp__file_exists(path))
        result = rp__base_fail(RP_NOT_FOUND, "%s is not the folder of a run: it has no scene.yaml", folder);
    if (result == RP_OK)
        result = rp_scene_load(path, NULL, &scene);
    if (result == RP_OK && rp__file_exists(actions)) {
        result = rp_journal_read(actions, &journal);
        if (result == RP_OK && rp_scene_add_bodies(scene, journal) != RP_OK)
            RP_WARN("%s: %s; bodies that came later are not shown", actions, rp_last_error()); /* perhaps it is being written */
    }
    rp_text_free(journal);
    rp__base_free(path);
    rp__base_free(actions);
    if (result != RP_OK) {
        rp_scene_destroy(scene);
        return result;
    }
    *out = scene;
    return RP_OK;
}

/* ---- resuming ---- */

typedef struct found {
    rp__io_checkpoint_info info;
    char *scene;
    rp_state state;
} found;

/* A damaged checkpoint that is newer than the one used is kept under another name, out of the count of those kept. */
static rp_result put_aside(const char *folder, int64_t step)
{
    char *path = rp__io_checkpoint_path(folder, step);
    rp__text aside = { 0 };
    rp__text_append(&aside, "%s.damaged", path ? path : "");
    rp_result result = path ? rp__text_result(&aside) : RP_OUT_OF_MEMORY;
    if (result == RP_OK && rename(path, aside.data) != 0)
        result = rp__base_fail(RP_IO_ERROR, "cannot rename %s: %s", path, strerror(errno));
    rp__text_free(&aside);
    rp__base_free(path);
    return result;
}

static rp_result load_newest(const char *folder, found *f, rp__io_list *list, int64_t *used)
{
    rp_result result = RP_NOT_FOUND;
    for (int64_t i = list->count - 1; i >= 0; i--) {
        char *path = rp__io_checkpoint_path(folder, list->numbers[i]);
        result = path ? rp__io_checkpoint_load(path, &f->info, &f->scene, &f->state) : RP_OUT_OF_MEMORY;
        rp__base_free(path);
        *used = i;
        if (result != RP_BAD_FILE)
            return result;
        RP_WARN("%s", rp_last_error());
    }
    return result == RP_NOT_FOUND ? rp__base_fail(RP_NOT_FOUND, "%s holds no checkpoint to resume from", folder)
                                  : rp__base_fail_prefix(result, "%s holds no sound checkpoint: ", folder);
}

static rp_result find_newest(const char *folder, found *f)
{
    rp__io_list list;
    RP_TRY(list_checkpoints(folder, &list));
    int64_t used = -1;
    rp_result result = load_newest(folder, f, &list, &used);
    for (int64_t i = used + 1; result == RP_OK && i < list.count; i++)
        result = put_aside(folder, list.numbers[i]);
    rp__io_list_free(&list);
    return result;
}

static rp_result rebuild(const char *folder, const found *f, rp_scene **scene, rp_sim **sim)
{
    char *name = rp__io_checkpoint_path(folder, f->info.step);
    rp_result result = name ? rp_scene_parse(f->scene, name, folder, NULL, scene) : RP_OUT_OF_MEMORY;
    if (result == RP_OK) {
        rp_sim_def def = *rp_scene_sim_def(*scene);
        def.folder = folder;
        result = rp_sim_create(&def, sim);
    }
    if (result == RP_OK)
        result = rp_sim_restore(*sim, &f->state);
    if (result == RP_OK && rp_sim_steps(*sim) != f->info.step)
        result = rp__base_fail(RP_BAD_FILE, "%s: its head says step %lld, its arrays %lld", name, (long long)f->info.step,
                               (long long)rp_sim_steps(*sim));
    rp__base_free(name);
    return result;
}

/* Cuts the folder back to the checkpoint. */
static rp_result cut_back(const char *folder, const found *f, const rp_scene *scene)
{
    double rate = rp_scene_sim_def(scene)->frame_rate;
    char *inside = rp__file_join(folder, RP_IO_CHECKPOINTS);
    rp_result result = inside ? remove_parts(inside) : RP_OUT_OF_MEMORY;
    rp__base_free(inside);
    RP_TRY(result);
    RP_TRY(remove_parts(folder));
    RP_TRY(remove_file(folder, RP_IO_LAST));
    for (int k = 0; k < KINDS; k++) {
        RP_TRY(remove_frames(folder, kinds[k].prefix, f->info.frame));
        char *series = rp__file_join(folder, kinds[k].series);
        bool listed = series && rp__file_exists(series);
        rp__base_free(series);
        if (!series)
            return RP_OUT_OF_MEMORY;
        if (listed)
            RP_TRY(write_series(folder, kinds[k].prefix, kinds[k].series, rate));
    }
    return RP_OK;
}

rp_result rp_output_resume(const char *folder, rp_output **out, rp_scene **scene, rp_sim **sim)
{
    if (!folder || !out || !scene || !sim)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_output_resume needs a folder and places for the output, the scene and the simulation (there is a NULL)");
    if (!rp__io_is_folder(folder))
        return rp__base_fail(RP_NOT_FOUND, "%s is not a folder", folder);
    RP_TRY(refuse_links(folder));
    found f = { 0 };
    rp_scene *new_scene = NULL;
    rp_sim *new_sim = NULL;
    int lock = -1;
    rp_result result = rp__file_lock(folder, &lock);
    if (result == RP_OK)
        result = rp__io_verify_files(folder, NULL);
    if (result == RP_OK)
        result = find_newest(folder, &f);
    if (result == RP_OK)
        result = rebuild(folder, &f, &new_scene, &new_sim);
    if (result == RP_OK)
        result = cut_back(folder, &f, new_scene);
    if (result == RP_OK) {
        char *text = f.scene;
        f.scene = NULL;
        result = open_output(folder, rp_scene_output(new_scene), text, lock, f.info.step, out);
        if (result == RP_OK && (result = rewrite_actions(*out, rp_sim_journal(new_sim))) != RP_OK) {
            rp_output_destroy(*out);
            *out = NULL;
        }
    } else
        rp__file_unlock(lock);
    rp__base_free(f.scene);
    rp_state_free(&f.state);
    if (result == RP_OK) {
        *scene = new_scene;
        *sim = new_sim;
    } else {
        rp_sim_destroy(new_sim);
        rp_scene_destroy(new_scene);
    }
    return result;
}

/* ---- during a run ---- */

static rp_result write_grid(rp_output *output, rp_sim *sim, int64_t frame)
{
    char *path = rp__io_frame_path(output->folder, RP_IO_GRID_PREFIX, frame);
    rp_result result = path ? rp_grid_write(sim, path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    if (result == RP_UNSUPPORTED) {
        RP_WARN("%s; none are written", rp_last_error());
        output->grid = false;
        return RP_OK;
    }
    RP_TRY(result);
    return write_series(output->folder, RP_IO_GRID_PREFIX, RP_IO_GRID_SERIES, rp_sim_definition(sim)->frame_rate);
}

static rp_result write_fibres(rp_output *output, rp_sim *sim, int64_t frame)
{
    char *path = rp__io_frame_path(output->folder, RP_IO_FIBRES_PREFIX, frame);
    rp_result result = path ? rp_fibres_write(sim, path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    RP_TRY(result);
    return write_series(output->folder, RP_IO_FIBRES_PREFIX, RP_IO_FIBRES_SERIES, rp_sim_definition(sim)->frame_rate);
}

static rp_result write_frame(rp_output *output, rp_sim *sim)
{
    int64_t frame = rp_sim_frame(sim);
    if (!rp_sim_at_frame(sim) || frame % output->frame_every != 0)
        return RP_OK;
    if (output->frames) {
        rp_output_def def = rp_default_output_def();
        def.fields = output->fields;
        char *path = rp__io_frame_path(output->folder, RP_IO_FRAME_PREFIX, frame);
        rp_result result = path ? rp_frame_write(sim, &def, path) : RP_OUT_OF_MEMORY;
        rp__base_free(path);
        RP_TRY(result);
        RP_TRY(write_series(output->folder, RP_IO_FRAME_PREFIX, RP_IO_SERIES, rp_sim_definition(sim)->frame_rate));
        if (rp_sim_definition(sim)->fibres_count > 0)
            RP_TRY(write_fibres(output, sim, frame));
    }
    bool surface = output->frames && rp_fluid_has_surface(rp_sim_definition(sim)->fluid); /* it is on the nodes */
    return output->grid || surface ? write_grid(output, sim, frame) : RP_OK;
}

rp_result rp_output_checkpoint(rp_output *output, rp_sim *sim)
{
    if (!output || !sim)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_output_checkpoint needs an output and a simulation (there is a NULL)");
    int64_t step = rp_sim_steps(sim);
    int64_t journal = (int64_t)strlen(rp_sim_journal(sim));
    if (step == output->checkpoint_step && journal == output->checkpoint_journal)
        return RP_OK; /* it is there */
    RP_TRY(rp__io_table_sync(&output->stats));
    RP_TRY(rp__io_table_sync(&output->bodies));
    RP_TRY(write_actions(output, sim, true));
    char *path = rp__io_checkpoint_path(output->folder, step);
    rp_result result = path ? rp_checkpoint_write(path, sim, output->scene) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    RP_TRY(result);
    output->checkpoint_step = step;
    output->checkpoint_journal = journal;
    output->checkpoint_clock = rp__base_seconds();
    return prune_checkpoints(output->folder, output->kept);
}

static bool checkpoint_due(const rp_output *output, const rp_sim *sim)
{
    if (rp_sim_done(sim))
        return true;
    return output->checkpoint_every > 0 ? rp__base_seconds() - output->checkpoint_clock >= output->checkpoint_every
                                        : rp_sim_at_frame(sim);
}

/* Walls that can be pushed stand among the bodies: at the middle of their face, with the force of the grains. */
static rp_result wall_rows(rp_output *output, const rp_sim *sim, int64_t step, double time)
{
    static const char *const names[2][6] = {
        { "wall-left", "wall-right", "wall-bottom", "wall-top", NULL, NULL },
        { "wall-left", "wall-right", "wall-front", "wall-back", "wall-bottom", "wall-top" },
    };
    const rp_sim_def *def = rp_sim_definition(sim);
    for (int face = 0; face < 2 * def->dim; face++) {
        if (def->wall[face].kind == RP_OPEN || def->wall[face].kind == RP_PERIODIC)
            continue;
        rp_body_state wall = { .orientation = { 1, 0, 0, 0 }, .present = true };
        for (int d = 0; d < def->dim; d++)
            wall.position[d] = 0.5 * (def->lower[d] + def->upper[d]);
        wall.position[face / 2] = face % 2 ? def->upper[face / 2] : def->lower[face / 2];
        RP_TRY(rp_sim_wall_force(sim, face, wall.force));
        RP_TRY(rp__io_body_row(&output->bodies, step, time, names[def->dim - 2][face], &wall));
    }
    return RP_OK;
}

static rp_result body_rows(rp_output *output, const rp_sim *sim, int64_t step, double time)
{
    RP_TRY(rp__io_body_header(&output->bodies));
    for (int b = 0; b < rp_sim_body_count(sim); b++) {
        rp_body_state body;
        RP_TRY(rp_sim_body(sim, b, &body));
        RP_TRY(rp__io_body_row(&output->bodies, step, time, rp_sim_body_name(sim, b), &body));
    }
    return wall_rows(output, sim, step, time);
}

rp_result rp_output_step(rp_output *output, rp_sim *sim, const rp_step_stats *stats)
{
    if (!output || !sim || !stats)
        return rp__base_fail(RP_BAD_ARGUMENT, "rp_output_step needs an output, a simulation and the numbers of its step (there is a NULL)");
    RP_TRY(rp__io_stats_row(&output->stats, rp_method_find(rp_sim_definition(sim)->method), stats));
    RP_TRY(body_rows(output, sim, stats->step, stats->time));
    RP_TRY(write_actions(output, sim, false));
    RP_TRY(write_frame(output, sim));
    return checkpoint_due(output, sim) ? rp_output_checkpoint(output, sim) : RP_OK;
}

rp_result rp_output_start(rp_output *output, rp_sim *sim)
{
    RP_TRY(write_frame(output, sim));
    return rp_output_checkpoint(output, sim);
}

/* A state beside the frames. */
static rp_result write_aside(const rp_output *output, rp_sim *sim, const char *name, const char *fields)
{
    char *path = rp__file_join(output->folder, name);
    rp_output_def def = rp_default_output_def();
    def.fields = fields;
    rp_result result = path ? rp_frame_write(sim, &def, path) : RP_OUT_OF_MEMORY;
    rp__base_free(path);
    return result;
}

/* No checkpoint: `resume` cuts these rows and this state away and makes the step whole. */
rp_result rp_output_last(rp_output *output, rp_sim *sim, const rp_step_stats *stats)
{
    if (stats) {
        RP_TRY(rp__io_stats_row(&output->stats, rp_method_find(rp_sim_definition(sim)->method), stats));
        RP_TRY(body_rows(output, sim, stats->step, stats->time));
    }
    return write_aside(output, sim, RP_IO_LAST, output->fields);
}

rp_result rp_output_dump(rp_output *output, rp_sim *sim)
{
    return write_aside(output, sim, RP_IO_DUMP, "*");
}
