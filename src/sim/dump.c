/* Where methods write friction problems: in the folder of the run and nowhere else. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "sim/method.h"

#include <stdio.h>
#include <string.h>

/* A link on the way below the folder of the run would lead files elsewhere. */
static rp_result refuse_links(const char *run, const char *folder)
{
    char *part = rp__base_copy_text(folder);
    rp_result result = part ? RP_OK : RP_OUT_OF_MEMORY;
    for (size_t k = 1, length = strlen(folder); result == RP_OK && k <= length; k++) {
        if (folder[k] != '/' && folder[k] != '\0')
            continue;
        part[k] = '\0';
        char *path = rp__file_join(run, part);
        if (!path)
            result = RP_OUT_OF_MEMORY;
        else if (rp__file_is_link(path))
            result = rp__base_fail(RP_IO_ERROR, "%s is a symbolic link: a run writes only into its own folder; remove the link", path);
        rp__base_free(path);
        part[k] = folder[k];
    }
    rp__base_free(part);
    return result;
}

rp_result rp__sim_dump_path(const rp__world *world, const char *folder, int64_t number, char **path)
{
    const char *run = world->def->folder ? world->def->folder : "", *given = folder && *folder ? folder : "problems";
    char name[64];
    snprintf(name, sizeof name, "problem-%06lld.hdf5", (long long)number);
    RP_TRY(refuse_links(run, given));
    char *inside = rp__file_join(run, given);
    rp_result result = inside ? rp__file_make_folder(inside) : RP_OUT_OF_MEMORY;
    if (result == RP_OK && !(*path = rp__file_join(inside, name)))
        result = RP_OUT_OF_MEMORY;
    rp__base_free(inside);
    return result;
}
