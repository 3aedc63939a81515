/* Logging into rings in shared memory, for C11 and C++17: the hot path, and printf-style macros.
 *
 *     whit_log_start(NULL);
 *     whit_log_logger log;
 *     whit_log_logger_make(&log, "CONTROL/PM01", NULL, 0);
 *     WHIT_LOG_INFO(&log, "antenna %d at %.3f degrees", 7, 45.25);
 *
 * A call compares the logger's level byte, stores the values and a time stamp into the thread's ring,
 * and returns: no formatting, no lock, no system call.  The compiler checks formats and arguments as
 * those of printf.  Arguments may be integers, floats, bool, texts that end with NUL (also with a
 * precision) and pointers cast to void *; up to 16.  Widths and precisions may be "*".
 *
 * docs/format-log-ring.md defines the layout.  src/whit_log.c is everything that is not hot.
 * GCC or Clang, 64-bit little-endian Linux with pages of 4 KiB. */
#ifndef WHIT_LOG_H
#define WHIT_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Levels, with ACS's numbers.  7 is not defined. */
enum {
    WHIT_LOG_LEVEL_TRACE = 1,
    WHIT_LOG_LEVEL_DELOUSE = 2,
    WHIT_LOG_LEVEL_DEBUG = 3,
    WHIT_LOG_LEVEL_INFO = 4,
    WHIT_LOG_LEVEL_NOTICE = 5,
    WHIT_LOG_LEVEL_WARNING = 6,
    WHIT_LOG_LEVEL_ERROR = 8,
    WHIT_LOG_LEVEL_CRITICAL = 9,
    WHIT_LOG_LEVEL_ALERT = 10,
    WHIT_LOG_LEVEL_EMERGENCY = 11,
    WHIT_LOG_LEVEL_OFF = 99
};

/* What a call does when its ring has no room.  What is dropped is counted, and said in the stream. */
enum {
    WHIT_LOG_GROW = 0,      /* a larger ring, up to the limits; then as WHIT_LOG_BLOCK */
    WHIT_LOG_BLOCK = 1,     /* wait for the reader, for a limited time; then drop */
    WHIT_LOG_DROP = 2,      /* drop this record */
    WHIT_LOG_OVERWRITE = 3  /* give up the oldest records */
};

/* How safe records are. */
enum { WHIT_LOG_TIER_RING = 0, WHIT_LOG_TIER_READ = 1, WHIT_LOG_TIER_SYNCED = 2, WHIT_LOG_TIER_CENTRAL = 3 };

/* Types of arguments. */
enum {
    WHIT_LOG_SIGNED = 1,
    WHIT_LOG_UNSIGNED = 2,
    WHIT_LOG_FLOAT = 3,
    WHIT_LOG_BOOL = 4,
    WHIT_LOG_CHAR = 5,
    WHIT_LOG_TEXT = 6,
    WHIT_LOG_POINTER = 8,
    WHIT_LOG_FLOAT32 = 13 /* stored as WHIT_LOG_FLOAT; shown with as many digits as a float needs */
};

/* Levels of a logger by its name, for the central store and for local outputs; WHIT_LOG_LEVEL_UNSET: that
 * of every new logger. */
enum { WHIT_LOG_LEVEL_UNSET = 255, WHIT_LOG_NAMED_MAX = 32 };
typedef struct whit_log_named {
    char name[145];
    uint8_t central;
    uint8_t local;
} whit_log_named;

/* How a program logs; whit_log_defaults fills it, and whit_log_set_acs sets what ACS has names for. */
typedef struct whit_log_settings {
    size_t size;                /* sizeof(whit_log_settings) */
    const char *directory;      /* NULL: $WHIT_LOG_DIRECTORY, or the user's folder */
    const char *host_name;      /* NULL: the system's */
    const char *process_name;   /* NULL: the program's */
    uint64_t ring_bytes;        /* of a thread's first ring */
    uint64_t ring_bytes_max;    /* up to which it grows */
    uint64_t process_bytes_max; /* of all rings */
    uint64_t block_timeout_ns;  /* longest wait of one call */
    uint8_t policies[16];       /* by level: WHIT_LOG_GROW ... */
    int tsc;                    /* stamps by the TSC: 1 yes, 0 no, -1 if it is invariant */
    int logs_per_second_max;    /* of the process, ACS's maxLogsPerSecond; -1: no limit.  What it
                                 * suppresses is counted, and said in the stream */
    uint8_t level_central;      /* of a new logger */
    uint8_t level_local;
    uint8_t wake_level;         /* records of this level and above wake the reader at once: ERROR.  Below
                                 * ERROR every call takes the slow way, about 30 ns */
    uint32_t packet_records;    /* records of a thread after which it wakes the reader, which looks by
                                 * itself every 50 ms at the latest; 0: it does not */
    uint32_t named_count;       /* loggers that get levels of their own at the start */
    whit_log_named named[WHIT_LOG_NAMED_MAX];
} whit_log_settings;

/* A named logger.  May be copied. */
typedef struct whit_log_logger {
    const uint8_t *level; /* of all records that are made, for the central store, for local outputs */
    uint32_t context;
    uint32_t index;
} whit_log_logger;

/* A name and a value of a context. */
typedef struct whit_log_pair {
    const char *name;
    const char *value;
} whit_log_pair;

/* What the reader of the rings does with the records.  LOST: it is gone without a word. */
enum {
    WHIT_LOG_STATE_NONE = 0,
    WHIT_LOG_STATE_IN_PROCESS = 1,
    WHIT_LOG_STATE_CONNECTED = 2,
    WHIT_LOG_STATE_SPOOLING = 3,
    WHIT_LOG_STATE_DEGRADED = 4,
    WHIT_LOG_STATE_FULL = 5,
    WHIT_LOG_STATE_ENDED = 6,
    WHIT_LOG_STATE_LOST = 7
};

/* Records that could not be delivered. */
typedef struct whit_log_range {
    uint32_t ring;
    uint32_t reason; /* errno, or 0 */
    uint64_t first_sequence;
    uint64_t last_sequence;
    uint64_t number;
} whit_log_range;

/* What the reader of the rings says. */
typedef struct whit_log_status {
    uint32_t sequence;     /* changes with everything else */
    uint32_t state;        /* WHIT_LOG_STATE_... */
    uint32_t failure;      /* errno, or 0 */
    uint32_t consumer_pid;
    uint64_t range_count;  /* ranges of records that could not be delivered, ever */
    char message[256];
} whit_log_status;

void whit_log_defaults(whit_log_settings *settings);
/* Takes an attribute of ACS's LoggingConfig, or a variable of ACS, by its name; docs/log.md has them all.
 * NULL; or why it is refused, and what to do instead.  ACS's order: the configuration database, then the
 * environment. */
const char *whit_log_set_acs(whit_log_settings *settings, const char *name, const char *value);
/* Takes ACS's variables of the environment, as far as they are set.  Each that is refused is said in a line
 * on standard error; gives how many these are. */
int whit_log_set_acs_environment(whit_log_settings *settings);
/* Starts logging; NULL: defaults.  0; 1: there was no room in the directory, so that the rings do not
 * survive the process, or its reader is of another version, so that nothing is logged; a line on standard
 * error says which; -1 and errno: EINVAL for settings that are none. */
int whit_log_start(const whit_log_settings *settings);
/* Says that the process ends in order, and what a limit has suppressed until now.  Logging goes on
 * working. */
void whit_log_end(void);
/* Finds or makes a logger.  0; -1 and errno.  Before the start a logger is made that never logs. */
int whit_log_logger_make(whit_log_logger *logger, const char *name, const whit_log_pair *pairs, size_t count);
/* Levels for the central store and for local outputs; all loggers of the name follow at once. */
void whit_log_set_levels(const whit_log_logger *logger, uint8_t central, uint8_t local);
/* The number of a context, for whit_log_set_scope; 0: no room. */
uint32_t whit_log_context(const whit_log_pair *pairs, size_t count);
/* The context of this thread, beside those of loggers; 0: none.  Gives the one before. */
uint32_t whit_log_set_scope(uint32_t context);
/* Puts names and values before those that the context of this thread has.  Gives the context before, which
 * whit_log_set_scope restores. */
uint32_t whit_log_enter_scope(const whit_log_pair *pairs, size_t count);
/* Gives this thread its ring now, of the whole size that the settings name: for threads that log in signal
 * handlers, or whose first records must not wait until a ring has grown. */
void whit_log_attach_thread(void);
/* Waits until all that was logged is as safe as a tier says: 1, or 0 after the time-out. */
int whit_log_flush(int tier, uint64_t timeout_ns);
/* The reader's status: 0, or -1 before the start. */
int whit_log_get_status(whit_log_status *status);
/* The range of a number below range_count: 0, or -1 if it is not kept any more (16 are). */
int whit_log_get_range(uint64_t number, whit_log_range *range);
/* Waits until the status has another number, or for the time-out. */
void whit_log_wait_status(uint32_t sequence, uint64_t timeout_ns);
/* Calls a function, in a thread of its own, with the first status and whenever the state, its reason
 * or the number of ranges changes.  One at a time: 0; -1 and errno.  The function must not wait for a
 * flush, and must not end the watch. */
typedef void whit_log_status_call(const whit_log_status *status, void *user);
int whit_log_watch_status(whit_log_status_call *call, void *user);
/* Ends the watch, and waits for the end of its thread. */
void whit_log_unwatch_status(void);

/* ACS's repeat guard: of calls that repeat, the first, and then one after so many calls, after so much time,
 * after both or after either.  `static whit_log_repeat_guard guard = WHIT_LOG_GUARD_COUNT(100);` */
typedef struct whit_log_repeat_guard {
    uint64_t every;
    uint64_t interval_ms;
    uint32_t rule;
    uint32_t busy;
    uint64_t calls;
    uint64_t last_ns; /* of the last that was let through; 0: none */
} whit_log_repeat_guard;
#define WHIT_LOG_GUARD_COUNT(every) {(every), 0, 0, 0, 0, 0}
#define WHIT_LOG_GUARD_INTERVAL(interval_ms) {0, (interval_ms), 1, 0, 0, 0}
#define WHIT_LOG_GUARD_BOTH(every, interval_ms) {(every), (interval_ms), 2, 0, 0, 0}
#define WHIT_LOG_GUARD_EITHER(every, interval_ms) {(every), (interval_ms), 3, 0, 0, 0}
/* Counts a call.  -1: do not log; else log, and say that so many calls before it were suppressed. */
int64_t whit_log_guard_check(whit_log_repeat_guard *guard);
/* Begins anew, as if there had been no call. */
void whit_log_guard_reset(whit_log_repeat_guard *guard);

/* ---- What the macros use. ---- */

typedef struct whit_log_site {
    uint32_t number; /* in the dictionary; 0: not yet */
    uint32_t line;
    const char *file;
    const char *routine;
    const char *format;
    const uint8_t *types;
    uint8_t level;
    uint8_t count;
    uint8_t format_kind; /* 2 printf, 3 the text itself, 4 {} of C++ */
    uint8_t role; /* 1 a function begins, 2 it ends, 3 stop watch: readers say so */
} whit_log_site;

/* An argument. */
typedef struct whit_log_value {
    uint64_t word;
    const char *text;
    uint32_t length;
    uint8_t type;
} whit_log_value;

/* A name and a value of one record: see WHIT_LOG_WITH. */
typedef struct whit_log_attribute {
    const char *name;
    whit_log_value value;
} whit_log_attribute;

/* At most so many records of a call site in an interval: see WHIT_LOG_LIMITED. */
typedef struct whit_log_limit {
    uint32_t busy;
    uint64_t begin_ns;
    uint64_t count;
    uint64_t suppressed;
    uint64_t first_ns;
    uint64_t last_ns;
} whit_log_limit;

/* What lasts until the end of a block: see WHIT_LOG_TRACE_SCOPE and WHIT_LOG_STOP_WATCH. */
typedef struct whit_log_span {
    whit_log_logger logger;
    whit_log_site *end; /* NULL: it says nothing at its end */
    uint64_t begin_ns;
} whit_log_span;

/* The state of a thread: the part that the hot path uses. */
typedef struct whit_log_state {
    uint32_t busy;
    uint32_t scope;
    uint64_t write;
    uint64_t limit;
    unsigned char *data;
    uint64_t mask;
    uint64_t *published;
    uint64_t sequence;
    uint32_t has_tsc;
} whit_log_state;

extern __thread whit_log_state *whit_log_current;
void whit_log_slow(whit_log_site *site, const whit_log_logger *logger, uint8_t head,
                   const whit_log_value *values, unsigned count);
void whit_log_slow_with(whit_log_site *site, const whit_log_logger *logger, uint8_t head,
                        const whit_log_value *values, unsigned count,
                        const whit_log_attribute *attributes, unsigned attribute_count);
/* Whether the record may be written; says before it what was suppressed in the interval before. */
int whit_log_limit_admits(whit_log_limit *limit, uint64_t count_max, uint64_t interval_ms, whit_log_site *site,
                          const whit_log_logger *logger, uint8_t level);
whit_log_span whit_log_trace_begin(const whit_log_logger *logger, whit_log_site *entry, whit_log_site *end,
                                   const char *routine);
whit_log_span whit_log_watch_begin(const whit_log_logger *logger, whit_log_site *end, const char *routine);
void whit_log_span_end(whit_log_span *span);
void whit_log_wake(uint8_t level);
/* The word by which a reader says that it sleeps for long. */
extern uint32_t *whit_log_sleeper;
uint64_t whit_log_boottime_ns(void);

#define WHIT_LOG_INLINE static inline __attribute__((always_inline))
#define WHIT_LOG_RECORD_MAX (0xFFFFu * 8u)
#define WHIT_LOG_PREFETCH_BYTES 1024

WHIT_LOG_INLINE uint32_t whit_log_value_bytes(const whit_log_value *value)
{
    return value->type == WHIT_LOG_TEXT ? (value->length + 11u) & ~7u : 8u;
}

WHIT_LOG_INLINE unsigned char *whit_log_value_store(unsigned char *to, const whit_log_value *value)
{
    if (value->type == WHIT_LOG_TEXT) {
        uint32_t bytes = whit_log_value_bytes(value);
        uint64_t zero = 0;
        memcpy(to + bytes - 8, &zero, 8);
        memcpy(to, &value->length, 4);
        memcpy(to + 4, value->text, value->length);
        return to + bytes;
    }
    memcpy(to, &value->word, 8);
    return to + 8;
}

WHIT_LOG_INLINE uint64_t whit_log_stamp(uint32_t has_tsc)
{
#if defined(__x86_64__)
    if (__builtin_expect(has_tsc != 0, 1)) return __rdtsc();
#else
    (void)has_tsc;
#endif
    return whit_log_boottime_ns();
}

/* Where the arguments of a record go; NULL: the slow way. */
WHIT_LOG_INLINE unsigned char *whit_log_begin(whit_log_state *state, const whit_log_site *site, uint64_t size)
{
    if (__builtin_expect(state->busy != 0 || size > WHIT_LOG_RECORD_MAX, 0)) return NULL;
    state->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(state->write + size > state->limit || state->scope != 0 ||
                         __atomic_load_n(&site->number, __ATOMIC_RELAXED) == 0, 0)) {
        state->busy = 0;
        return NULL;
    }
    unsigned char *to = state->data + (state->write & state->mask);
    __builtin_prefetch(to + WHIT_LOG_PREFETCH_BYTES, 1, 3);
    return to;
}

/* Whether a reader sleeps, and is to be woken after a record. */
WHIT_LOG_INLINE int whit_log_has_sleeper(void)
{
    return __builtin_expect(__atomic_load_n(whit_log_sleeper, __ATOMIC_RELAXED) != 0, 0);
}

/* A level as a record has it: bit 7 if only local outputs want it. */
WHIT_LOG_INLINE uint8_t whit_log_head(const whit_log_logger *logger, uint8_t level)
{
    return (uint8_t)(level | (level < __atomic_load_n(logger->level + 1, __ATOMIC_RELAXED) ? 0x80 : 0));
}

WHIT_LOG_INLINE void whit_log_commit(whit_log_state *state, unsigned char *to, const whit_log_site *site,
                                     const whit_log_logger *logger, uint8_t level, uint64_t size)
{
    uint64_t words[3];
    uint64_t head = whit_log_head(logger, level);
    words[0] = size >> 3 | (uint64_t)1 << 16 | head << 24 | state->sequence << 32;
    words[1] = whit_log_stamp(state->has_tsc);
    words[2] = __atomic_load_n(&site->number, __ATOMIC_RELAXED) | (uint64_t)logger->context << 32;
    memcpy(to, words, sizeof words);
    state->sequence += 1;
    state->write += size;
    __atomic_store_n(state->published, state->write, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    state->busy = 0;
    if (level >= WHIT_LOG_LEVEL_ERROR || whit_log_has_sleeper()) whit_log_wake(level);
}

WHIT_LOG_INLINE int whit_log_is_enabled(const whit_log_logger *logger, uint8_t level)
{
    return level >= __atomic_load_n(logger->level, __ATOMIC_RELAXED);
}

WHIT_LOG_INLINE whit_log_value whit_log_of_signed(int64_t number)
{
    whit_log_value value = {(uint64_t)number, NULL, 0, WHIT_LOG_SIGNED};
    return value;
}
WHIT_LOG_INLINE whit_log_value whit_log_of_unsigned(uint64_t number)
{
    whit_log_value value = {number, NULL, 0, WHIT_LOG_UNSIGNED};
    return value;
}
WHIT_LOG_INLINE whit_log_value whit_log_of_bool(uint64_t number)
{
    whit_log_value value = {number, NULL, 0, WHIT_LOG_BOOL};
    return value;
}
WHIT_LOG_INLINE whit_log_value whit_log_of_float(double number)
{
    whit_log_value value = {0, NULL, 0, WHIT_LOG_FLOAT};
    memcpy(&value.word, &number, 8);
    return value;
}
WHIT_LOG_INLINE whit_log_value whit_log_of_pointer(const void *pointer)
{
    whit_log_value value = {(uint64_t)(uintptr_t)pointer, NULL, 0, WHIT_LOG_POINTER};
    return value;
}
WHIT_LOG_INLINE whit_log_value whit_log_of_bytes(const char *text, size_t length)
{
    whit_log_value value = {0, text, 0, WHIT_LOG_TEXT};
    value.length = length > 0x7FFFFFFF ? 0x7FFFFFFF : (uint32_t)length;
    return value;
}
WHIT_LOG_INLINE whit_log_value whit_log_of_text(const char *text)
{
    return text ? whit_log_of_bytes(text, strlen(text)) : whit_log_of_bytes("(null)", 6);
}

#ifdef __cplusplus
}
#endif

#define WHIT_LOG_JOIN_(a, b) a##b
#define WHIT_LOG_JOIN(a, b) WHIT_LOG_JOIN_(a, b)
#define WHIT_LOG_UNPACK(...) __VA_ARGS__
#define WHIT_LOG_LINED(name) WHIT_LOG_JOIN(name, __LINE__)
#define WHIT_LOG_SPAN_SITE(name, text, level, role)                                          \
    static const uint8_t WHIT_LOG_LINED(name##_types)[] = {WHIT_LOG_UNSIGNED};               \
    static whit_log_site WHIT_LOG_LINED(name) = {0, __LINE__, __FILE__, NULL, text, WHIT_LOG_LINED(name##_types), \
                                                 (level), (role) != 1, 3, (role)}
#define WHIT_LOG_SPAN \
    __attribute__((cleanup(whit_log_span_end), unused)) whit_log_span WHIT_LOG_LINED(whit_log_span_)

/* Logs at level TRACE that a function begins, and at the end of the block that it ends, with its time.  In a
 * block of its own lines: WHIT_LOG_TRACE_SCOPE(&log); */
#define WHIT_LOG_TRACE_SCOPE(logger)                                                         \
    WHIT_LOG_SPAN_SITE(whit_log_entry_, "", WHIT_LOG_LEVEL_TRACE, 1);                 \
    WHIT_LOG_SPAN_SITE(whit_log_exit_, "", WHIT_LOG_LEVEL_TRACE, 2);       \
    WHIT_LOG_SPAN = whit_log_trace_begin((logger), &WHIT_LOG_LINED(whit_log_entry_),         \
                                         &WHIT_LOG_LINED(whit_log_exit_), __func__)

/* Measures until the end of the block, and logs the time at level DEBUG, before a literal text:
 * WHIT_LOG_STOP_WATCH(&log, "reading"); */
#define WHIT_LOG_STOP_WATCH(logger, what)                                                    \
    WHIT_LOG_SPAN_SITE(whit_log_watch_, "" what, WHIT_LOG_LEVEL_DEBUG, 3);                   \
    WHIT_LOG_SPAN = whit_log_watch_begin((logger), &WHIT_LOG_LINED(whit_log_watch_), __func__)

#ifndef __cplusplus

/* Never called: lets the compiler compare format and arguments. */
static inline __attribute__((format(printf, 1, 2), unused)) void whit_log_check(const char *format, ...)
{
    (void)format;
}

#define WHIT_LOG_VALUE(a)                                                                            \
    _Generic((a), char: whit_log_of_signed, signed char: whit_log_of_signed, short: whit_log_of_signed, \
        int: whit_log_of_signed, long: whit_log_of_signed, long long: whit_log_of_signed,            \
        unsigned char: whit_log_of_unsigned, unsigned short: whit_log_of_unsigned,                   \
        unsigned: whit_log_of_unsigned, unsigned long: whit_log_of_unsigned,                         \
        unsigned long long: whit_log_of_unsigned, _Bool: whit_log_of_bool, float: whit_log_of_float, \
        double: whit_log_of_float, long double: whit_log_of_float, char *: whit_log_of_text,         \
        const char *: whit_log_of_text, void *: whit_log_of_pointer, const void *: whit_log_of_pointer)(a)
#define WHIT_LOG_TYPE(i, a)                                                                          \
    _Generic((a), char: 1, signed char: 1, short: 1, int: 1, long: 1, long long: 1, unsigned char: 2, \
        unsigned short: 2, unsigned: 2, unsigned long: 2, unsigned long long: 2, _Bool: 4, float: 3, \
        double: 3, long double: 3, char *: 6, const char *: 6, void *: 8, const void *: 8),
#define WHIT_LOG_DECLARE(i, a) const whit_log_value whit_log_v##i = WHIT_LOG_VALUE(a);
#define WHIT_LOG_BYTES(i, a) +whit_log_value_bytes(&whit_log_v##i)
#define WHIT_LOG_STORE(i, a) whit_log_to = whit_log_value_store(whit_log_to, &whit_log_v##i);
#define WHIT_LOG_COPY(i, a) whit_log_v##i,

/* WHIT_LOG_EACH(M, a, b) is M(1, a) M(2, b). */
#define WHIT_LOG_PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, N, ...) N
#define WHIT_LOG_COUNT(M, ...) WHIT_LOG_PICK(M, ##__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define WHIT_LOG_EACH(M, ...) WHIT_LOG_JOIN(WHIT_LOG_E, WHIT_LOG_COUNT(M, ##__VA_ARGS__))(M, ##__VA_ARGS__)
#define WHIT_LOG_E0(M)
#define WHIT_LOG_E1(M, a) M(1, a)
#define WHIT_LOG_E2(M, a, b) WHIT_LOG_E1(M, a) M(2, b)
#define WHIT_LOG_E3(M, a, b, c) WHIT_LOG_E2(M, a, b) M(3, c)
#define WHIT_LOG_E4(M, a, b, c, d) WHIT_LOG_E3(M, a, b, c) M(4, d)
#define WHIT_LOG_E5(M, a, b, c, d, e) WHIT_LOG_E4(M, a, b, c, d) M(5, e)
#define WHIT_LOG_E6(M, a, b, c, d, e, f) WHIT_LOG_E5(M, a, b, c, d, e) M(6, f)
#define WHIT_LOG_E7(M, a, b, c, d, e, f, g) WHIT_LOG_E6(M, a, b, c, d, e, f) M(7, g)
#define WHIT_LOG_E8(M, a, b, c, d, e, f, g, h) WHIT_LOG_E7(M, a, b, c, d, e, f, g) M(8, h)
#define WHIT_LOG_E9(M, a, b, c, d, e, f, g, h, i) WHIT_LOG_E8(M, a, b, c, d, e, f, g, h) M(9, i)
#define WHIT_LOG_E10(M, a, b, c, d, e, f, g, h, i, j) WHIT_LOG_E9(M, a, b, c, d, e, f, g, h, i) M(10, j)
#define WHIT_LOG_E11(M, a, b, c, d, e, f, g, h, i, j, k) WHIT_LOG_E10(M, a, b, c, d, e, f, g, h, i, j) M(11, k)
#define WHIT_LOG_E12(M, a, b, c, d, e, f, g, h, i, j, k, l) \
    WHIT_LOG_E11(M, a, b, c, d, e, f, g, h, i, j, k) M(12, l)
#define WHIT_LOG_E13(M, a, b, c, d, e, f, g, h, i, j, k, l, m) \
    WHIT_LOG_E12(M, a, b, c, d, e, f, g, h, i, j, k, l) M(13, m)
#define WHIT_LOG_E14(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n) \
    WHIT_LOG_E13(M, a, b, c, d, e, f, g, h, i, j, k, l, m) M(14, n)
#define WHIT_LOG_E15(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) \
    WHIT_LOG_E14(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n) M(15, o)
#define WHIT_LOG_E16(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    WHIT_LOG_E15(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) M(16, p)

/* Logs at a level; arguments are evaluated once, and only if it is enabled. */
#define WHIT_LOG_AT(logger, severity, text, ...)                                                     \
    do {                                                                                             \
        const whit_log_logger *whit_log_l = (logger);                                                \
        if (__builtin_expect(whit_log_is_enabled(whit_log_l, (severity)), 1)) {                      \
            static const uint8_t whit_log_types[] = {WHIT_LOG_EACH(WHIT_LOG_TYPE, ##__VA_ARGS__) 0}; \
            static whit_log_site whit_log_s = {0, __LINE__, __FILE__, NULL, text, whit_log_types,    \
                                               (severity), sizeof whit_log_types - 1, 2, 0};         \
            if (0) whit_log_check(text, ##__VA_ARGS__);                                              \
            WHIT_LOG_EACH(WHIT_LOG_DECLARE, ##__VA_ARGS__)                                           \
            const uint64_t whit_log_bytes = (uint64_t)24 WHIT_LOG_EACH(WHIT_LOG_BYTES, ##__VA_ARGS__); \
            whit_log_state *whit_log_c = whit_log_current;                                           \
            unsigned char *whit_log_to = whit_log_begin(whit_log_c, &whit_log_s, whit_log_bytes);    \
            if (__builtin_expect(whit_log_to != NULL, 1)) {                                          \
                unsigned char *whit_log_first = whit_log_to;                                         \
                whit_log_to += 24;                                                                   \
                WHIT_LOG_EACH(WHIT_LOG_STORE, ##__VA_ARGS__)                                         \
                whit_log_commit(whit_log_c, whit_log_first, &whit_log_s, whit_log_l, (severity),     \
                                whit_log_bytes);                                                     \
            } else {                                                                                 \
                const whit_log_value whit_log_all[] = {                                              \
                    WHIT_LOG_EACH(WHIT_LOG_COPY, ##__VA_ARGS__){0, NULL, 0, 0}};                     \
                __atomic_store_n(&whit_log_s.routine, __func__, __ATOMIC_RELAXED);                   \
                whit_log_slow(&whit_log_s, whit_log_l, (severity), whit_log_all,                     \
                              sizeof whit_log_types - 1);                                            \
            }                                                                                        \
        }                                                                                            \
    } while (0)

/* The slow way, if `admits` says so: for what is not worth code at each call. */
#define WHIT_LOG_SLOWLY(logger, severity, admits, attributes, text, ...)                             \
    do {                                                                                             \
        const whit_log_logger *whit_log_l = (logger);                                                \
        if (__builtin_expect(whit_log_is_enabled(whit_log_l, (severity)), 1)) {                      \
            static const uint8_t whit_log_types[] = {WHIT_LOG_EACH(WHIT_LOG_TYPE, ##__VA_ARGS__) 0}; \
            static whit_log_site whit_log_s = {0, __LINE__, __FILE__, NULL, text, whit_log_types,    \
                                               (severity), sizeof whit_log_types - 1, 2, 0};         \
            if (0) whit_log_check(text, ##__VA_ARGS__);                                              \
            __atomic_store_n(&whit_log_s.routine, __func__, __ATOMIC_RELAXED);                       \
            if (admits) {                                                                            \
                WHIT_LOG_EACH(WHIT_LOG_DECLARE, ##__VA_ARGS__)                                       \
                const whit_log_value whit_log_all[] = {                                              \
                    WHIT_LOG_EACH(WHIT_LOG_COPY, ##__VA_ARGS__){0, NULL, 0, 0}};                     \
                const whit_log_attribute whit_log_a[] = {{NULL, {0, NULL, 0, 0}}, WHIT_LOG_UNPACK attributes}; \
                whit_log_slow_with(&whit_log_s, whit_log_l, (severity), whit_log_all,                \
                                   sizeof whit_log_types - 1, whit_log_a + 1,                        \
                                   sizeof whit_log_a / sizeof *whit_log_a - 1);                      \
            }                                                                                        \
        }                                                                                            \
    } while (0)

/* Logs with attributes, names and values of this record alone: StackId, Uri, or any other.
 *
 *     WHIT_LOG_WITH(&log, WHIT_LOG_LEVEL_ERROR, (WHIT_LOG_DATA("FullPath", path), WHIT_LOG_DATA("Line", 7)),
 *                   "cannot open %s", name); */
#define WHIT_LOG_WITH(logger, severity, attributes, ...) \
    WHIT_LOG_SLOWLY((logger), (severity), 1, attributes, __VA_ARGS__)
#define WHIT_LOG_DATA(name, value) {(name), WHIT_LOG_VALUE(value)}

/* Logs at most so many records in so many milliseconds; what was suppressed is said with the next one after
 * them: WHIT_LOG_LIMITED(&log, WHIT_LOG_LEVEL_INFO, 10, 1000, "text %d", 7); */
#define WHIT_LOG_LIMITED(logger, severity, count, interval_ms, ...)                                  \
    do {                                                                                             \
        static whit_log_limit whit_log_m;                                                            \
        WHIT_LOG_SLOWLY((logger), (severity),                                                        \
                        whit_log_limit_admits(&whit_log_m, (count), (interval_ms), &whit_log_s,      \
                                              whit_log_l, (severity)),                               \
                        (), __VA_ARGS__);                                                            \
    } while (0)

/* Logs, and waits until the record is as safe as a tier says: 1, or 0 after the time-out. */
#define WHIT_LOG_SYNC(logger, severity, tier, timeout_ns, ...)  \
    __extension__({                                             \
        WHIT_LOG_AT((logger), (severity), __VA_ARGS__);         \
        whit_log_flush((tier), (timeout_ns));                   \
    })

#define WHIT_LOG_TRACE(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_TRACE, __VA_ARGS__)
#define WHIT_LOG_DELOUSE(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_DELOUSE, __VA_ARGS__)
#define WHIT_LOG_DEBUG(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define WHIT_LOG_INFO(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_INFO, __VA_ARGS__)
#define WHIT_LOG_NOTICE(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_NOTICE, __VA_ARGS__)
#define WHIT_LOG_WARNING(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_WARNING, __VA_ARGS__)
#define WHIT_LOG_ERROR(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_ERROR, __VA_ARGS__)
#define WHIT_LOG_CRITICAL(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_CRITICAL, __VA_ARGS__)
#define WHIT_LOG_ALERT(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_ALERT, __VA_ARGS__)
#define WHIT_LOG_EMERGENCY(logger, ...) WHIT_LOG_AT(logger, WHIT_LOG_LEVEL_EMERGENCY, __VA_ARGS__)

#endif /* not C++ */
#endif
