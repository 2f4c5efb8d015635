/* Scenes from hostile bytes: read, written, read again. Files are out of reach: a scene without a folder takes absolute
 * paths only, and inputs with one are passed over. Seeds: scenes/, tests/scenes_bad/ and tests/scenes_seed/. */
#include <repose/repose.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    /* the first line may be a replacement: "--set key=value" */
    char *body = text;
    const char *set = NULL;
    if (strncmp(text, "--set ", 6) == 0) {
        body = strchr(text, '\n');
        set = text + 6;
        if (body)
            *body++ = '\0';
        else
            body = text + strlen(text);
    }
    const rp_scene_options options = { &set, set ? 1 : 0 };
    rp_scene *scene = NULL, *again = NULL;
    bool files = strstr(body, "file") || strstr(body, "image") || (set && (strstr(set, "file") || strstr(set, "image")));
    if (!files && rp_scene_parse(body, "fuzz", NULL, &options, &scene) == RP_OK) {
        char *once = NULL, *twice = NULL;
        if (rp_scene_format(scene, &once) != RP_OK || rp_scene_parse(once, "again", NULL, NULL, &again) != RP_OK ||
            rp_scene_format(again, &twice) != RP_OK || strcmp(once, twice) != 0)
            abort();
        rp_text_free(once);
        rp_text_free(twice);
    }
    rp_scene_destroy(scene);
    rp_scene_destroy(again);
    free(text);
    return 0;
}
