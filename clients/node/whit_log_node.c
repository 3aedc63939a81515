/* The Node client: N-API over the C client, of which it calls what index.js needs.
 *
 * One call of log() is one record: the values come as an array of name, value and form, so that a record
 * costs one way into C.  Loggers are numbers of a table that all threads of the process share; texts are
 * copied into memory of the thread, which serves the next record.  Nothing here throws into the program that
 * logs: what cannot be stored is counted by the C client. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAPI_VERSION 6
#include <node_api.h>

#include "whit_log.h"

enum { LOGGERS_MAX = 4096, PAIRS_MAX = 62, LEVELS = 12 };
/* How a number is stored: by its value, or as it is. */
enum { FORM_BY_VALUE = 0, FORM_FLOAT = 1 };

static whit_log_logger loggers[LOGGERS_MAX];
static uint32_t logger_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const uint8_t text_type[] = {WHIT_LOG_TEXT};
#define SITE(level) {0, 0, "", "", "{}", text_type, (level), 1, 4, 0}
/* By level: where a message comes from is not known, and its text is of the record. */
static whit_log_site sites[LEVELS] = {SITE(1), SITE(1), SITE(2), SITE(3), SITE(4), SITE(5),
                                      SITE(6), SITE(6), SITE(8), SITE(9), SITE(10), SITE(11)};

/* Texts of a record, in pieces that stay where they are. */
struct piece { struct piece *next; size_t size, used; char bytes[]; };
static __thread struct piece *pieces;
enum { PIECE_BYTES = 16 << 10 };

static pthread_key_t pieces_key;
static pthread_once_t pieces_once = PTHREAD_ONCE_INIT;

static void free_all(void *first)
{
    for (struct piece *piece = first, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
}

static void make_key(void) { pthread_key_create(&pieces_key, free_all); }

/* Room of so many bytes; NULL: there is none. */
static char *room(size_t bytes)
{
    if (!pieces || pieces->size - pieces->used < bytes) {
        size_t size = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
        struct piece *piece = malloc(sizeof *piece + size);
        if (!piece) return NULL;
        *piece = (struct piece){pieces, size, 0};
        pieces = piece;
        pthread_once(&pieces_once, make_key);
        pthread_setspecific(pieces_key, pieces);
    }
    return pieces->bytes + pieces->used;
}

/* The texts of the last record are not needed any more: one piece is kept. */
static void forget_texts(void)
{
    int is_freed = 0;
    while (pieces && (pieces->next || pieces->size > PIECE_BYTES)) {
        struct piece *next = pieces->next;
        free(pieces);
        pieces = next;
        is_freed = 1;
    }
    if (pieces) pieces->used = 0;
    if (is_freed) pthread_setspecific(pieces_key, pieces);
}

/* A text as UTF-8 with a NUL behind it; an empty one for what is no text. */
static const char *text_of(napi_env env, napi_value value, size_t *length)
{
    *length = 0;
    char *to = room(256);
    size_t space = to ? pieces->size - pieces->used : 0;
    if (!to || napi_get_value_string_utf8(env, value, to, space, length) != napi_ok) return "";
    /* A character of several bytes may not have fitted in. */
    if (*length + 4 >= space) {
        size_t whole = 0;
        if (napi_get_value_string_utf8(env, value, NULL, 0, &whole) != napi_ok) return "";
        if (whole > *length) {
            to = room(whole + 1);
            if (!to || napi_get_value_string_utf8(env, value, to, whole + 1, length) != napi_ok) {
                *length = 0;
                return "";
            }
        }
    }
    pieces->used += *length + 1;
    return to;
}

static napi_value nothing(napi_env env)
{
    napi_value value = NULL;
    napi_get_undefined(env, &value);
    return value;
}

static napi_value number(napi_env env, double of)
{
    napi_value value = NULL;
    napi_create_double(env, of, &value);
    return value;
}

static uint32_t unsigned_of(napi_env env, napi_value value)
{
    uint32_t found = 0;
    napi_get_value_uint32(env, value, &found);
    return found;
}

static napi_value item(napi_env env, napi_value array, uint32_t at)
{
    napi_value value = NULL;
    return napi_get_element(env, array, at, &value) == napi_ok ? value : nothing(env);
}

static uint32_t length_of(napi_env env, napi_value array)
{
    uint32_t length = 0;
    napi_get_array_length(env, array, &length);
    return length;
}

/* A number by its value, a bigint, a truth value or a text. */
static whit_log_value value_of(napi_env env, napi_value from, uint32_t form)
{
    napi_valuetype type = napi_undefined;
    napi_typeof(env, from, &type);
    if (type == napi_number) {
        double of = 0;
        napi_get_value_double(env, from, &of);
        int is_whole = form == FORM_BY_VALUE && trunc(of) == of && fabs(of) <= 9007199254740992.0 &&
                       !(of == 0 && signbit(of));
        return is_whole ? whit_log_of_signed((int64_t)of) : whit_log_of_float(of);
    }
    if (type == napi_bigint) {
        int64_t of = 0;
        uint64_t above = 0;
        bool is_whole = false;
        if (napi_get_value_bigint_int64(env, from, &of, &is_whole) == napi_ok && is_whole)
            return whit_log_of_signed(of);
        napi_get_value_bigint_uint64(env, from, &above, &is_whole);
        return whit_log_of_unsigned(above);
    }
    if (type == napi_boolean) {
        bool is = false;
        napi_get_value_bool(env, from, &is);
        return whit_log_of_bool(is);
    }
    size_t length;
    const char *text = text_of(env, from, &length);
    return whit_log_of_bytes(text, length);
}

/* Pairs of an array of names and values. */
static size_t pairs_of(napi_env env, napi_value array, whit_log_pair *pairs)
{
    uint32_t count = length_of(env, array) / 2;
    if (count > PAIRS_MAX) count = PAIRS_MAX;
    for (uint32_t at = 0; at < count; at++) {
        size_t length;
        pairs[at].name = text_of(env, item(env, array, at * 2), &length);
        pairs[at].value = text_of(env, item(env, array, at * 2 + 1), &length);
    }
    return count;
}

#define TAKE(most) \
    size_t count = (most); \
    napi_value given[most]; \
    if (napi_get_cb_info(env, info, &count, given, NULL, NULL) != napi_ok || count < (most)) return nothing(env)

/* start(directory, process, level): texts may be empty, a level of 0 is the default. */
static napi_value start(napi_env env, napi_callback_info info)
{
    TAKE(3);
    whit_log_settings settings;
    whit_log_defaults(&settings);
    size_t length;
    const char *directory = text_of(env, given[0], &length);
    if (length > 0) settings.directory = directory;
    const char *process = text_of(env, given[1], &length);
    if (length > 0) settings.process_name = process;
    uint32_t level = unsigned_of(env, given[2]);
    if (level > 0) settings.level_central = settings.level_local = (uint8_t)level;
    int done = whit_log_start(&settings);
    forget_texts();
    return number(env, done);
}

/* logger(name, pairs): its number; -1: it cannot be made. */
static napi_value logger(napi_env env, napi_callback_info info)
{
    TAKE(2);
    whit_log_pair pairs[PAIRS_MAX];
    size_t length, pair_count = pairs_of(env, given[1], pairs);
    const char *name = text_of(env, given[0], &length);
    double made = -1;
    pthread_mutex_lock(&lock);
    if (logger_count < LOGGERS_MAX &&
        whit_log_logger_make(&loggers[logger_count], name, pairs, pair_count) == 0)
        made = logger_count++;
    pthread_mutex_unlock(&lock);
    forget_texts();
    return number(env, made);
}

/* The logger of a number that `logger` gave; NULL for others. */
static whit_log_logger *known(napi_env env, napi_value value)
{
    uint32_t at = LOGGERS_MAX;
    napi_get_value_uint32(env, value, &at);
    return at < LOGGERS_MAX && loggers[at].level ? &loggers[at] : NULL;
}

/* setLevels(logger, central, local) */
static napi_value set_levels(napi_env env, napi_callback_info info)
{
    TAKE(3);
    whit_log_logger *log = known(env, given[0]);
    if (log) whit_log_set_levels(log, (uint8_t)unsigned_of(env, given[1]), (uint8_t)unsigned_of(env, given[2]));
    return nothing(env);
}

/* level(logger): the level from which on records are made. */
static napi_value level(napi_env env, napi_callback_info info)
{
    TAKE(1);
    whit_log_logger *log = known(env, given[0]);
    return number(env, log ? __atomic_load_n(log->level, __ATOMIC_RELAXED) : WHIT_LOG_LEVEL_OFF);
}

/* context(pairs): a number for log(); 0: there is no room. */
static napi_value context(napi_env env, napi_callback_info info)
{
    TAKE(1);
    whit_log_pair pairs[PAIRS_MAX];
    size_t pair_count = pairs_of(env, given[0], pairs);
    uint32_t made = whit_log_context(pairs, pair_count);
    forget_texts();
    return number(env, made);
}

/* log(logger, level, message, data, context): data has a name, a value and a form in turn. */
static napi_value store(napi_env env, napi_callback_info info)
{
    TAKE(5);
    whit_log_logger *log = known(env, given[0]);
    uint32_t at_level = unsigned_of(env, given[1]);
    if (!log || at_level >= LEVELS || !whit_log_is_enabled(log, (uint8_t)at_level)) return nothing(env);
    whit_log_attribute attributes[PAIRS_MAX + 1];
    uint32_t items = length_of(env, given[3]) / 3, kept = items > PAIRS_MAX ? PAIRS_MAX - 1 : items;
    size_t length;
    for (uint32_t at = 0; at < kept; at++) {
        attributes[at].name = text_of(env, item(env, given[3], at * 3), &length);
        uint32_t form = unsigned_of(env, item(env, given[3], at * 3 + 2));
        attributes[at].value = value_of(env, item(env, given[3], at * 3 + 1), form);
    }
    uint32_t attribute_count = kept;
    if (items > kept)
        attributes[attribute_count++] =
            (whit_log_attribute){"DataLeftOut", whit_log_of_unsigned(items - kept)};
    const char *text = text_of(env, given[2], &length);
    const whit_log_value message = whit_log_of_bytes(text, length);
    uint32_t scope = unsigned_of(env, given[4]), before = whit_log_set_scope(scope);
    whit_log_slow_with(&sites[at_level], log, whit_log_head(log, (uint8_t)at_level), &message, 1, attributes,
                       attribute_count);
    whit_log_set_scope(before);
    forget_texts();
    return nothing(env);
}

/* flush(tier, ms): whether all is as safe. */
static napi_value flush(napi_env env, napi_callback_info info)
{
    TAKE(2);
    double ms = 0;
    napi_get_value_double(env, given[1], &ms);
    napi_value is = NULL;
    int is_safe = whit_log_flush((int)unsigned_of(env, given[0]), ms > 0 ? (uint64_t)(fmin(ms, 1e12) * 1e6) : 0);
    napi_get_boolean(env, is_safe != 0, &is);
    return is;
}

static napi_value end(napi_env env, napi_callback_info info)
{
    (void)info;
    whit_log_end();
    return nothing(env);
}

NAPI_MODULE_INIT()
{
    static const struct { const char *name; napi_callback call; } calls[] = {
        {"start", start}, {"logger", logger}, {"setLevels", set_levels}, {"level", level},
        {"context", context}, {"log", store}, {"flush", flush}, {"end", end},
    };
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
        napi_value function;
        if (napi_create_function(env, calls[at].name, NAPI_AUTO_LENGTH, calls[at].call, NULL, &function) != napi_ok ||
            napi_set_named_property(env, exports, calls[at].name, function) != napi_ok)
            return NULL;
    }
    return exports;
}
