#include "message.h"

#include "apps/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define M(name, text) text,
    MESSAGES(M)
#undef M
};

const char *message_name(message_kind kind)
{
    return kind < MESSAGE_KINDS ? names[kind] : "?";
}

static bool fail(const char **why, const char *sentence)
{
    if (why)
        *why = sentence;
    return false;
}

/* A whole number from 0 to 2^53, or `otherwise` when it is absent. */
static bool whole(const json *object, const char *name, int64_t otherwise, int64_t *out)
{
    const json *m = json_member(object, name);
    *out = otherwise;
    if (!m)
        return true;
    if (m->kind != JSON_NUMBER || !(m->number >= 0 && m->number <= 9007199254740992.0) || m->number != floor(m->number))
        return false;
    *out = (int64_t)m->number;
    return true;
}

static bool real(const json *object, const char *name, double otherwise, double *out)
{
    const json *m = json_member(object, name);
    *out = otherwise;
    if (!m)
        return true;
    if (m->kind != JSON_NUMBER || !(fabs(m->number) <= 1e15))
        return false;
    *out = m->number;
    return true;
}

static bool vector(const json *object, const char *name, double out[3])
{
    const json *m = json_member(object, name), *c = m ? m->first : NULL;
    for (int d = 0; d < 3; d++)
        out[d] = 0;
    if (!m)
        return true;
    if (m->kind != JSON_ARRAY)
        return false;
    for (int d = 0; d < 3; d++, c = c->next) {
        if (!c || c->kind != JSON_NUMBER || !(fabs(c->number) <= 1e9))
            return false;
        out[d] = c->number;
    }
    return c == NULL;
}

static bool word(const json *object, const char *name, char out[64])
{
    const char *text = json_text_of(object, name);
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    if (text[n] || n > 63)
        return false;
    memcpy(out, text, n + 1);
    return true;
}

static bool read_members(const json *object, message *m, const char **why)
{
    int64_t stride;
    if (!whole(object, "frame", 0, &m->frame) || !whole(object, "index", 0, &m->index))
        return fail(why, "a frame and an index are whole numbers");
    if (!whole(object, "stride", 1, &stride) || stride < 1 || stride > 65536 || (stride & (stride - 1)) != 0)
        return fail(why, "a stride is a power of two");
    m->stride = (uint32_t)stride;
    if (!word(object, "field", m->field))
        return fail(why, "a field has a name of letters, digits, '_', '-' and '.'");
    if (!real(object, "min", 0, &m->low) || !real(object, "max", 0, &m->high) || !real(object, "factor", 1, &m->factor) ||
        !real(object, "value", 0, &m->value) || !real(object, "size", 0, &m->size))
        return fail(why, "a number is not a number, or too large");
    if (!vector(object, "position", m->position) || !vector(object, "across", m->across))
        return fail(why, "a vector is three numbers");
    const json *down = json_member(object, "down");
    if (down && down->kind != JSON_BOOL)
        return fail(why, "'down' is true or false");
    m->down = down && down->number != 0;
    return true;
}

static bool read_object(const json *object, message *m, const char **why)
{
    const char *type = json_text_of(object, "type");
    int kind = 0;
    while (kind < MESSAGE_KINDS && strcmp(names[kind], type) != 0)
        kind++;
    if (kind == MESSAGE_KINDS)
        return fail(why, "there is no such message");
    memset(m, 0, sizeof *m);
    m->kind = (message_kind)kind;
    return read_members(object, m, why);
}

bool message_read(const char *text, size_t size, message *out, const char **why)
{
    message m;
    if (size == 0 || size > MESSAGE_MOST || memchr(text, '\0', size))
        return fail(why, "a message is a text of at most 64 kB");
    char *copy = malloc(size + 1);
    if (!copy)
        return fail(why, "out of memory");
    memcpy(copy, text, size);
    copy[size] = '\0';
    json *object = json_parse_within(copy, MESSAGE_DEPTH, NULL);
    free(copy);
    if (!object)
        return fail(why, "a message is a JSON object, and not a deep one");
    bool good = read_object(object, &m, why);
    json_free(object);
    if (good)
        *out = m;
    return good;
}
