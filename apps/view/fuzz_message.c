/* What a page may send, however it looks; and requests, whose parts are cut out of the same bytes at zeros. */
#include "guard.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const uint8_t *data, size_t size)
{
    static guard g;
    if (!g.port) {
        guard_create(&g, 2, true);
        g.port = 80;
        strcpy(g.session, "0123456789abcdef0123456789abcdef");
    }
    char *copy = malloc(size + 1);
    if (!copy)
        return;
    memcpy(copy, data, size);
    copy[size] = '\0';
    const char *parts[7] = { NULL };
    for (size_t at = 0, k = 0; k < 7 && at <= size; k++, at += strlen(copy + at) + 1)
        parts[k] = copy + at;
    request r = { parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], false };
    verdict v = guard_judge(&g, &r);
    if (v.code == 101 && (!r.origin || !r.cookie || !r.host || v.source >= g.sources))
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    message m;
    const char *why = NULL;
    if (message_read((const char *)data, size, &m, &why)) {
        if (m.kind >= MESSAGE_KINDS || m.frame < 0 || m.index < 0 || m.stride < 1 || memchr(m.field, '\0', sizeof m.field) == NULL)
            abort();
    } else if (!why)
        abort();
    judge(data, size);
    return 0;
}
