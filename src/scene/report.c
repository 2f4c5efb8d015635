/* Errors with their place: "file:line:column: sentence", the offending line, a caret. */
#include "base/error.h"
#include "base/text.h"
#include "scene/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 2048, SHOWN = 100 /* characters of a line */ };

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* inside a UTF-8 sequence */
}

/* The bytes of line `line`, without its end. */
static const char *find_line(const rp__tree *tree, int line, size_t *length)
{
    const char *p = tree->text, *end = tree->text + tree->size;
    for (int i = 1; i < line && p < end; ++i) {
        const char *n = memchr(p, '\n', (size_t)(end - p));
        p = n ? n + 1 : end;
    }
    const char *n = memchr(p, '\n', (size_t)(end - p));
    *length = (size_t)((n ? n : end) - p);
    if (*length && p[*length - 1] == '\r')
        --*length;
    return p;
}

/* The line (a window of it when it is long) and a caret under `column`. Control characters become spaces. */
static void show(rp__text *out, const rp__tree *tree, int line, int column)
{
    size_t length;
    const char *p = find_line(tree, line, &length);
    size_t at = 0;
    for (int c = 1; at < length && (c < column || continues(p[at])); ++at)
        c += !continues(p[at]);
    size_t from = 0, to = length;
    if (length > SHOWN) {
        from = at > SHOWN / 2 ? at - SHOWN / 2 : 0;
        to = from + SHOWN < length ? from + SHOWN : length;
        while (from > 0 && continues(p[from]))
            --from;
        while (to < length && continues(p[to]))
            ++to;
    }
    rp__text_append_string(out, from ? "\n  ..." : "\n  ");
    int caret = from ? 5 : 2;
    for (size_t i = from; i < to; ++i) {
        unsigned char c = (unsigned char)p[i];
        char clean = (char)(c < 0x20 || c == 0x7f ? ' ' : tree->broken && c >= 0x80 ? '?' : c);
        rp__text_append_bytes(out, &clean, 1);
        caret += i < at && !continues(p[i]);
    }
    rp__text_append_string(out, to < length ? "...\n" : "\n");
    rp__text_append(out, "%*s^", caret, "");
}

static rp_result report(const rp__tree *tree, const rp__node *node, const char *sentence)
{
    rp__text out = { 0 };
    if (!node)
        rp__text_append(&out, "%s: %s", tree->name, sentence);
    else if (node->origin >= 0)
        rp__text_append(&out, "--set %.200s: %s", tree->set[node->origin], sentence);
    else {
        rp__text_append(&out, "%s:%d:%d: %s", tree->name, node->line, node->column, sentence);
        show(&out, tree, node->line, node->column);
    }
    rp_result result = out.failed ? RP_OUT_OF_MEMORY : RP_BAD_SCENE;
    rp__base_fail(result, "%s", rp__text_string(&out));
    rp__text_free(&out);
    return result;
}

rp_result rp__scene_fail(const rp__tree *tree, const rp__node *node, const char *format, ...)
{
    char sentence[SENTENCE];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return report(tree, node, sentence);
}

rp_result rp__scene_wrap(const rp__tree *tree, const rp__node *node, rp_result result)
{
    if (result == RP_OK || result == RP_OUT_OF_MEMORY)
        return result;
    char sentence[SENTENCE];
    snprintf(sentence, sizeof sentence, "%s", rp_last_error());
    return report(tree, node, sentence);
}
