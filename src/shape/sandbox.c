#include "shape/sandbox.h"

#include "base/error.h"
#include "base/memory.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { SLOTS = 8, HOOK_STEP = 1000, MESSAGE = 400, NAME = 32 };

/* A Lua state and who uses it. */
typedef struct slot {
    atomic_flag busy;
    lua_State *lua;
    size_t used;      /* bytes */
    int instructions; /* of the running call */
} slot;

struct rp__shape_sandbox {
    char what[NAME];
    char *chunk; /* the source with its variables before it */
    size_t chunk_length;
    int variable_count;
    char variables[RP_SANDBOX_VALUES][NAME];
    slot slots[SLOTS];
};

/* ---- what a state may use ---- */

static void *bounded(void *context, void *pointer, size_t old_size, size_t new_size)
{
    slot *s = context;
    if (!pointer)
        old_size = 0;
    if (new_size == 0) {
        rp__base_free(pointer);
        s->used -= old_size;
        return NULL;
    }
    if (new_size > old_size && s->used + (new_size - old_size) > RP_SANDBOX_MEMORY)
        return NULL;
    void *moved = rp__base_realloc(pointer, new_size);
    if (!moved && new_size > old_size)
        return NULL;
    s->used += new_size - old_size;
    return moved ? moved : pointer; /* shrinking may not fail for Lua */
}

static void count_instructions(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    void *context;
    lua_getallocf(lua, &context);
    slot *s = context;
    s->instructions += HOOK_STEP;
    if (s->instructions > RP_SANDBOX_INSTRUCTIONS)
        luaL_error(lua, "it does not end: more than %d instructions", (int)RP_SANDBOX_INSTRUCTIONS);
}

static int refuse_write(lua_State *lua)
{
    return luaL_error(lua, "the functions of math cannot be replaced");
}

/* Registry: "names" what every script sees, "environment" the metatable of its empty environment. */
static int open_names(lua_State *lua)
{
    luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 0);
    lua_pushnil(lua);
    lua_setfield(lua, -2, "random");
    lua_pushnil(lua);
    lua_setfield(lua, -2, "randomseed");
    lua_newtable(lua); /* names: every function of math by its own name, and math itself, not to be written */
    lua_pushnil(lua);
    while (lua_next(lua, -3)) {
        lua_pushvalue(lua, -2);
        lua_insert(lua, -2);
        lua_settable(lua, -4);
    }
    lua_newtable(lua); /* math, seen through a table that refuses to be written */
    lua_newtable(lua);
    lua_pushvalue(lua, -4);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, refuse_write);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
    lua_setfield(lua, -2, "math");
    lua_newtable(lua); /* the metatable of environments */
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "__index");
    lua_setfield(lua, LUA_REGISTRYINDEX, "environment");
    return 0;
}

/* Compiles the chunk given as a light pointer to the sandbox; keeps it in the registry as "script". */
static int compile(lua_State *lua)
{
    const rp__shape_sandbox *box = lua_touserdata(lua, 1);
    char name[NAME + 1] = "=";
    strcat(name, box->what);
    if (luaL_loadbufferx(lua, box->chunk, box->chunk_length, name, "t") != LUA_OK)
        return lua_error(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, "script");
    return 0;
}

typedef struct call {
    const rp__shape_sandbox *box;
    const double *values;
    double *results;
    int capacity, count;
} call;

static int run(lua_State *lua)
{
    call *c = lua_touserdata(lua, 1);
    lua_settop(lua, 0);
    luaL_checkstack(lua, RP_SANDBOX_VALUES + 8, NULL);
    lua_getfield(lua, LUA_REGISTRYINDEX, "script");
    lua_newtable(lua); /* what the script writes goes with this table */
    lua_getfield(lua, LUA_REGISTRYINDEX, "environment");
    lua_setmetatable(lua, -2);
    lua_setupvalue(lua, 1, 1); /* _ENV */
    for (int i = 0; i < c->box->variable_count; i++)
        lua_pushnumber(lua, c->values[i]);
    lua_call(lua, c->box->variable_count, LUA_MULTRET);
    c->count = lua_gettop(lua);
    for (int i = 0; i < c->count && i < c->capacity; i++) {
        if (lua_type(lua, i + 1) != LUA_TNUMBER)
            return luaL_error(lua, "value %d it returns is a %s, not a number", i + 1, luaL_typename(lua, i + 1));
        c->results[i] = lua_tonumber(lua, i + 1);
    }
    return 0;
}

/* ---- states ---- */

static void close_slot(slot *s)
{
    if (s->lua)
        lua_close(s->lua);
    s->lua = NULL;
}

/* The message of a failed call, with what it was; the state is left clean. */
static rp_result failed(const rp__shape_sandbox *box, slot *s, int status)
{
    char message[MESSAGE] = "no message";
    if (lua_type(s->lua, -1) == LUA_TSTRING) {
        strncpy(message, lua_tostring(s->lua, -1), sizeof message - 1);
        message[sizeof message - 1] = '\0';
    }
    lua_settop(s->lua, 0);
    if (status == LUA_ERRMEM) {
        lua_gc(s->lua, LUA_GCCOLLECT);
        return rp__base_fail(RP_BAD_ARGUMENT, "%s: %s; it may use %d bytes", box->what, message, (int)RP_SANDBOX_MEMORY);
    }
    return rp__base_fail(RP_BAD_ARGUMENT, "%s", message);
}

static int protected_call(slot *s, lua_CFunction function, void *argument)
{
    s->instructions = 0;
    lua_sethook(s->lua, count_instructions, LUA_MASKCOUNT, HOOK_STEP); /* counts from here on, not from where the last call ended */
    lua_settop(s->lua, 0);
    lua_pushcfunction(s->lua, function);
    lua_pushlightuserdata(s->lua, argument);
    return lua_pcall(s->lua, 1, 0, 0);
}

/* A new state with the names in it, without a script. */
static rp_result open_slot(slot *s)
{
    s->used = 0;
    s->lua = lua_newstate(bounded, s);
    if (!s->lua || protected_call(s, open_names, NULL) != LUA_OK) {
        close_slot(s);
        return rp__base_fail(RP_OUT_OF_MEMORY, "no memory for a script");
    }
    return RP_OK;
}

/* ---- the source ---- */

static const char *const keywords[] = { "and",   "break", "do",     "else", "elseif", "end",    "false", "for",  "function", "goto",  "if",
                                        "in",    "local", "nil",    "not",  "or",     "repeat", "return", "then", "true",     "until", "while" };

static bool is_name(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length >= NAME || !(isalpha((unsigned char)text[0]) || text[0] == '_'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!(isalnum((unsigned char)text[i]) || text[i] == '_'))
            return false;
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(text, keywords[i]) == 0)
            return false;
    return true;
}

/* The level of a long bracket at s ("[==["): number of '=' plus 1, or 0 when it is none. */
static int long_bracket(const char *s)
{
    int level = 0;
    if (*s++ != '[')
        return 0;
    while (*s == '=')
        s++, level++;
    return *s == '[' ? level + 1 : 0;
}

/* After a comment that starts at s ("--"). */
static const char *skip_comment(const char *s)
{
    s += 2;
    int level = long_bracket(s);
    if (level == 0)
        return s + strcspn(s, "\r\n");
    for (s += level + 1; *s; s++) {
        if (*s != ']')
            continue;
        const char *end = s + 1;
        int equals = 0;
        while (*end == '=')
            end++, equals++;
        if (*end == ']' && equals == level - 1)
            return end + 1;
    }
    return s;
}

/* Text has no place in a script of numbers: without literals and without '..' there is none, and nothing can be made to
 * take long by it. Also tells whether the word return occurs. */
static rp_result scan(const char *what, const char *source, bool *has_return)
{
    *has_return = false;
    int line = 1;
    for (const char *s = source; *s;) {
        if (s[0] == '-' && s[1] == '-') {
            const char *end = skip_comment(s);
            for (; s < end; s++)
                line += *s == '\n';
            continue;
        }
        if (*s == '"' || *s == '\'' || long_bracket(s))
            return rp__base_fail(RP_BAD_ARGUMENT, "%s:%d: text in quotes or [[ ]] is not allowed; a script computes with numbers only",
                                 what, line);
        if (isalpha((unsigned char)*s) || *s == '_') {
            size_t length = 0;
            while (isalnum((unsigned char)s[length]) || s[length] == '_')
                length++;
            *has_return = *has_return || (length == 6 && memcmp(s, "return", 6) == 0);
            s += length;
            continue;
        }
        if (s[0] == '.' && s[1] == '.') {
            if (s[2] != '.')
                return rp__base_fail(RP_BAD_ARGUMENT, "%s:%d: '..' joins text; a script computes with numbers only", what, line);
            s += 3;
            continue;
        }
        if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) { /* so that 1..2 is seen as it is by Lua */
            while (isalnum((unsigned char)*s) || (*s == '.' && s[1] != '.'))
                s++;
            continue;
        }
        line += *s == '\n';
        s++;
    }
    return RP_OK;
}

/* "local x,y=...;" or the same with return, then the source; on one line, so that line numbers stay. */
static rp_result build_chunk(rp__shape_sandbox *box, const char *source, bool expression)
{
    size_t room = strlen(source) + 64 + RP_SANDBOX_VALUES * (NAME + 1);
    rp__base_free(box->chunk);
    box->chunk = rp__base_alloc(room);
    if (!box->chunk)
        return RP_OUT_OF_MEMORY;
    char *to = box->chunk;
    *to = '\0';
    for (int i = 0; i < box->variable_count; i++) {
        strcat(to, i ? "," : "local ");
        strcat(to, box->variables[i]);
    }
    if (box->variable_count)
        strcat(to, "=...;");
    /* the upvalue _ENV must be the first one, even when the script uses no name */
    strcat(to, "local _=_ENV;");
    if (expression)
        strcat(to, "return ");
    strcat(to, source);
    strcat(to, "\n");
    box->chunk_length = strlen(to);
    return RP_OK;
}

static rp_result compile_source(rp__shape_sandbox *box, const char *source)
{
    bool has_return;
    slot *s = &box->slots[0];
    RP_TRY(scan(box->what, source, &has_return));
    RP_TRY(open_slot(s));
    /* with the word return it is a body, or else an expression with a function in it */
    for (int tries = has_return ? 2 : 1; tries > 0; tries--) {
        RP_TRY(build_chunk(box, source, tries == 1));
        int status = protected_call(s, compile, box);
        if (status == LUA_OK)
            return RP_OK;
        if (tries == 2 || !has_return)
            failed(box, s, status); /* the message about the body is the one that helps */
    }
    return RP_BAD_ARGUMENT;
}

rp_result rp__shape_sandbox_create(const char *what, const char *source, const char *const *variables, int variable_count,
                                   rp__shape_sandbox **out)
{
    if (!source || strspn(source, " \t\r\n") == strlen(source))
        return rp__base_fail(RP_BAD_ARGUMENT, "%s: the script is empty", what);
    if (strlen(source) > RP_SANDBOX_SOURCE)
        return rp__base_fail(RP_TOO_LARGE, "%s: the script has %zu bytes; at most %d are allowed", what, strlen(source),
                             (int)RP_SANDBOX_SOURCE);
    if (variable_count < 0 || variable_count > RP_SANDBOX_VALUES)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s: %d variables; from 0 to %d are allowed", what, variable_count,
                             (int)RP_SANDBOX_VALUES);
    for (int i = 0; i < variable_count; i++)
        if (!variables[i] || !is_name(variables[i]))
            return rp__base_fail(RP_BAD_ARGUMENT, "%s: '%s' cannot name a variable", what, variables[i] ? variables[i] : "");
    rp__shape_sandbox *box = RP_NEW(rp__shape_sandbox);
    if (!box)
        return RP_OUT_OF_MEMORY;
    strncpy(box->what, what, NAME - 1);
    box->variable_count = variable_count;
    for (int i = 0; i < variable_count; i++)
        strcpy(box->variables[i], variables[i]);
    for (int i = 0; i < SLOTS; i++)
        atomic_flag_clear(&box->slots[i].busy);
    rp_result result = compile_source(box, source);
    if (result != RP_OK) {
        rp__shape_sandbox_free(box);
        return result;
    }
    *out = box;
    return RP_OK;
}

void rp__shape_sandbox_free(rp__shape_sandbox *sandbox)
{
    if (!sandbox)
        return;
    for (int i = 0; i < SLOTS; i++)
        close_slot(&sandbox->slots[i]);
    rp__base_free(sandbox->chunk);
    rp__base_free(sandbox);
}

/* ---- calls ---- */

/* A state nobody uses; others than the first are made when they are first needed. */
static slot *acquire(rp__shape_sandbox *box)
{
    for (;;) {
        for (int i = 0; i < SLOTS; i++) {
            slot *s = &box->slots[i];
            if (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire))
                continue;
            if (s->lua)
                return s;
            if (open_slot(s) == RP_OK && protected_call(s, compile, box) == LUA_OK)
                return s;
            close_slot(s); /* no room for another: wait for one of those there are */
            atomic_flag_clear_explicit(&s->busy, memory_order_release);
        }
        sched_yield();
    }
}

static rp_result not_finite(const rp__shape_sandbox *box, const double *values, int which, double result)
{
    if (box->variable_count > 0)
        return rp__base_fail(RP_BAD_ARGUMENT, "%s: value %d it returns is %g at %s = %g; it must be finite", box->what, which + 1,
                             result, box->variables[0], values[0]);
    return rp__base_fail(RP_BAD_ARGUMENT, "%s: value %d it returns is %g; it must be finite", box->what, which + 1, result);
}

rp_result rp__shape_sandbox_call(const rp__shape_sandbox *sandbox, const double *values, double *results, int capacity,
                                 int *result_count)
{
    rp__shape_sandbox *box = (rp__shape_sandbox *)(uintptr_t)sandbox; /* the states are not part of what const protects */
    double found[RP_SANDBOX_VALUES];
    call c = { box, values, found, capacity < RP_SANDBOX_VALUES ? capacity : RP_SANDBOX_VALUES, 0 };
    slot *s = acquire(box);
    int status = protected_call(s, run, &c);
    rp_result result = status == LUA_OK ? RP_OK : failed(box, s, status);
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
    if (result != RP_OK)
        return result;
    for (int i = 0; i < c.count && i < c.capacity; i++)
        if (!isfinite(found[i]))
            return not_finite(box, values, i, found[i]);
    memcpy(results, found, (size_t)(c.count < c.capacity ? c.count : c.capacity) * sizeof *results);
    *result_count = c.count;
    return RP_OK;
}
