/* Logging into rings in shared memory: all that is not hot.  The layout is that of
 * docs/format-log-ring.md, the rules are those of crates/logring.
 *
 * The process is registered once; a child of fork finds zeros in the pages marked WIPEONFORK, makes
 * files of its own, and maps its process file where its parent's was, so that level bytes and numbers
 * of call sites stay right.  After the start nothing allocates, so that signal handlers may log. */
#define _GNU_SOURCE
#include "whit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum {
    PAGE = 4096,
    P_VERSION = 8, P_FLAGS = 12, P_PID = 16, P_START = 24, P_BOOT = 32, P_ID = 48, P_HZ = 64,
    P_HOST = 128, P_NAME = 384, P_DICT_LENGTH = 1024, P_PAIRS = 1032, P_FLUSH = 1040, P_ENDED = 1044,
    P_DROPPED = 1048, P_RINGS = 1176, P_LOGGERS = 1180, P_SUPPRESSED = 1184, P_SLEEPER = 1344,
    FLAG_TSC = 1, FLAG_WAKES = 2,
    STATUS = 0x1000, CALIBRATION = 0x2000, LOGGERS = 0x3000, LOGGERS_MAX = 1024, LOGGER_BYTES = 256,
    LOGGER_NAME = 112, LOGGER_NAME_MAX = 144,
    DICTIONARY = LOGGERS + LOGGERS_MAX * LOGGER_BYTES, DICTIONARY_MAX = 16 << 20,
    R_VERSION = 8, R_FLAGS = 12, R_ID = 16, R_PID = 32, R_TID = 36, R_START = 40, R_NUMBER = 48,
    B_VERSIONS = 8,
    R_PREDECESSOR = 52, R_CAPACITY = 56, R_THREAD = 64, R_WRITE = 256, R_OLDEST = 264, R_ENDED = 272,
    R_WAITS = 276, R_SUCCESSOR = 280, R_DROPPED = 288, R_MARKS = 512, MARK_BYTES = 32, R_DATA = 4096,
    RESERVE = 128,
    /* Bytes of a ring that has grown whose pages are mapped at once, ahead of the records: some 10 us a time. */
    PIECE_BYTES = 64 << 10,
    ENTRY_HEAD = 16, ENTRY_MAX = 64 << 10, TEXT_MAX = 12 << 10, GROWTH = 16 << 10,
    INTERN_SLOTS = 1 << 16, SLOTS_MAX = 4096, SHARED_BYTES = 32 << 10, FIRST_BYTES = 16 << 10, IDLE_MAX = 16, OVERWRITE_BYTES = 4096,
    HEAD = 24, REPORT_BYTES = HEAD + 32, SPINS = 1000,
    K_LOG = 1, K_DROPPED = 2, K_SUPPRESSED = 3, K_CALIBRATION = 4, K_NEXT = 5, K_BEGIN = 6, K_END = 7,
    FLAG_ATTRIBUTES = 0x10, FLAG_CUT = 0x20, CUT_BYTES = 24, FLAG_ASIDE = 0x40, LEVEL_MASK = 0x0F,
    NAME_MAX_BYTES = 1024
};
/* glibc has it since 2.35. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* A reader that has not looked for so long is lost. */
#define SILENCE_MAX UINT64_C(10000000000)
#define NO_RING UINT32_MAX
/* Of the layout. */
#define WHIT_LOG_VERSION 1u
#define MAPPED ((size_t)DICTIONARY + DICTIONARY_MAX)

enum { FREE, ACTIVE, IDLE, RETIRED };

/* Records that were dropped and not said yet; the context names their logger, 0: none, or several. */
struct dropped { uint64_t count, first, last, is_of_several; uint32_t context; };

struct slot;

/* The state of a thread; `hot` is first.  `room` is up to where there is room; the hot path's limit is
 * the same, or 0 where every record is counted against the limit of records in a second. */
struct thread_state {
    whit_log_state hot;
    int is_shared, has_dropped;
    uint64_t room, read, oldest, stalled, left_out;
    /* Position up to which the ring's pages are mapped; UINT64_MAX: all are. */
    uint64_t mapped;
    /* Position after which the next record takes the slow way, which counts those of a packet; the number
     * of the packet's first record. */
    uint64_t packet_end, packet_first;
    struct slot *slot;
    struct dropped dropped[16];
    uint32_t of_logger, of_thread, combined;
};

struct slot {
    int used, file;
    uint32_t number;
    uint64_t capacity;
    unsigned char *base;
    struct thread_state *state;
};

struct intern { uint64_t hash, offset; };

struct fork_state { uint32_t registered, lock, signal_ring; };

/* The limit of records in a second: number of the second and records in it, in one word; when the
 * first and the last record were suppressed; how many of each level the stream says. */
struct throttle { uint64_t window, first_ns, last_ns, reported[16]; };

static struct {
    whit_log_settings settings;
    char directory[NAME_MAX_BYTES - 100], host[256], process[256];
    int has_tsc, is_slow, is_off;
    uint64_t stamp_hz;
    unsigned char boot_id[16], id[16];
    unsigned char *base, *doorbell;
    struct fork_state *fork_state;
    struct throttle throttle;
    pthread_key_t key;
    /* Under the lock: */
    char stem[64];
    int file, is_private, private_error;
    uint64_t allocated, dictionary_length, ring_bytes, start;
    uint32_t entries, loggers, next_ring, pid;
    struct intern *intern;
    unsigned char *scratch; /* where an entry of the dictionary is built */
    struct slot *slots;
    size_t slot_count;
    struct thread_state *signal_ring;
} P;

/* Set last by the start. */
static int is_started;
/* A logger that was made before the start has this level. */
static const uint8_t level_off[3] = {WHIT_LOG_LEVEL_OFF, WHIT_LOG_LEVEL_OFF, WHIT_LOG_LEVEL_OFF};

/* In the process file once that is mapped. */
static uint32_t no_sleeper;
uint32_t *whit_log_sleeper = &no_sleeper;

/* Busy for ever, so that the hot path leaves it alone. */
static whit_log_state empty_state = {1, 0, 0, 0, NULL, 0, NULL, 0, 0};
__thread whit_log_state *whit_log_current = &empty_state;
/* 0 new, 1 is being given a ring, 2 has one, 3 has given it back. */
static __thread int phase;

/* ---- Clocks, locks, checksums ---- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t whit_log_boottime_ns(void) { return clock_ns(CLOCK_BOOTTIME); }

/* stamp, realtime, boottime: the reading that took the shortest time. */
static void read_clocks(uint64_t best[3])
{
    uint64_t shortest = UINT64_MAX;
    for (int turn = 0; turn < 5; turn++) {
        uint64_t before = whit_log_stamp((uint32_t)P.has_tsc);
        uint64_t real = clock_ns(CLOCK_REALTIME), boot = clock_ns(CLOCK_BOOTTIME);
        uint64_t took = whit_log_stamp((uint32_t)P.has_tsc) - before;
        if (took < shortest) {
            shortest = took;
            best[0] = before + took / 2;
            best[1] = real;
            best[2] = boot;
        }
    }
}

static size_t read_file(const char *path, char *to, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, to, size - 1);
    if (file >= 0) close(file);
    to[count < 0 ? 0 : count] = 0;
    return count < 0 ? 0 : (size_t)count;
}

static int is_tsc_usable(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    char source[64];
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)) return 0;
    read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    return strcmp(source, "tsc\n") == 0;
#else
    return 0;
#endif
}

static uint64_t start_ticks(void)
{
    char text[1024];
    read_file("/proc/self/stat", text, sizeof text);
    char *at = strrchr(text, ')');
    for (int field = 0; at && field < 20; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static uint32_t thread_id(void) { return (uint32_t)syscall(SYS_gettid); }

static void futex_wake(void *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

static void futex_wait(void *word, uint32_t value, uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

/* 0: this thread has the lock already, and was interrupted. */
static int take_lock(uint32_t *lock)
{
    uint32_t own = thread_id();
    for (int turn = 0;; turn++) {
        uint32_t owner = 0;
        if (__atomic_compare_exchange_n(lock, &owner, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
        if (owner == own) return 0;
        if (turn > SPINS) {
            struct timespec time = {0, 50000};
            nanosleep(&time, NULL);
        }
    }
}

static void give_lock(uint32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

static uint32_t crc32c(const unsigned char *bytes, size_t length)
{
    uint32_t sum = ~0u;
    while (length--) {
        sum ^= *bytes++;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (0x82F63B78u & (0u - (sum & 1)));
    }
    return ~sum;
}

static uint32_t u32_at(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static uint16_t u16_at(const unsigned char *at)
{
    uint16_t value;
    memcpy(&value, at, 2);
    return value;
}

static void store64(unsigned char *at, uint64_t value) { __atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE); }
static void store32(unsigned char *at, uint32_t value) { __atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELEASE); }
static uint64_t load64(const unsigned char *at) { return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE); }
static uint32_t load32(const unsigned char *at) { return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE); }

static void *map_private(size_t length)
{
    void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *map_wiped_on_fork(size_t length)
{
    void *at = map_private(length);
    if (at && madvise(at, length, MADV_WIPEONFORK) != 0) return NULL;
    return at;
}

static int allocate(int file, uint64_t from, uint64_t length)
{
    int result;
    do result = fallocate(file, 0, (off_t)from, (off_t)length);
    while (result != 0 && errno == EINTR);
    return result;
}

static int write_at(int file, const void *bytes, size_t length, uint64_t at)
{
    const char *from = bytes;
    while (length > 0) {
        ssize_t count = pwrite(file, from, length, (off_t)at);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return -1;
        from += count;
        length -= (size_t)count;
        at += (uint64_t)count;
    }
    return 0;
}

/* A file of `length` bytes that are really there: with a name, or without. */
static int make_file(const char *name, uint64_t length)
{
    int file = name ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                    : (int)syscall(SYS_memfd_create, "whit-log", 1u /* close on exec */);
    if (file >= 0 && allocate(file, 0, length) != 0) {
        int error = errno;
        close(file);
        if (name) unlink(name);
        errno = error;
        return -1;
    }
    return file;
}

static int rename_new(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1u /* no replace */);
}

/* ---- The dictionary, under the lock ---- */

struct builder { unsigned char *to; size_t length; };

static void put_bytes(struct builder *b, const void *bytes, size_t length)
{
    size_t room = ENTRY_MAX - 8 - b->length;
    if (length > room) length = room;
    memcpy(b->to + b->length, bytes, length);
    b->length += length;
}

static void put_u32(struct builder *b, size_t number)
{
    uint32_t value = (uint32_t)number;
    put_bytes(b, &value, 4);
}

static unsigned char *entry_at(uint64_t offset) { return P.base + DICTIONARY + offset; }

/* Makes sure that an entry of this length has pages; 0: no room. */
static int reserve_entry(size_t total)
{
    uint64_t needed = P.dictionary_length + total;
    if (P.file < 0 || needed > DICTIONARY_MAX) return 0;
    if (needed > P.allocated) {
        uint64_t length = (needed - P.allocated + GROWTH - 1) / GROWTH * GROWTH;
        if (length > DICTIONARY_MAX - P.allocated) length = DICTIONARY_MAX - P.allocated;
        if (allocate(P.file, DICTIONARY + P.allocated, length) != 0) return 0;
        P.allocated += length;
    }
    return 1;
}

/* Begins an entry, in memory of the process: the file has pages for what it holds, and few more. */
static void entry_begin(struct builder *b)
{
    b->to = P.scratch + ENTRY_HEAD;
    b->length = 0;
}

/* Publishes it, or finds the same; gives its number, 0: too long, or no room. */
static uint32_t entry_end(struct builder *b, uint16_t kind)
{
    size_t total = (ENTRY_HEAD + b->length + 7) & ~(size_t)7;
    if (total > ENTRY_MAX) return 0;
    unsigned char *start = b->to - ENTRY_HEAD;
    memset(b->to + b->length, 0, total - ENTRY_HEAD - b->length);
    uint64_t hash = 0xcbf29ce484222325u ^ kind;
    for (size_t at = ENTRY_HEAD; at < total; at++) hash = (hash ^ start[at]) * 0x100000001b3u;
    if (hash == 0) hash = 1;
    size_t place = hash % INTERN_SLOTS;
    for (; P.intern[place].hash != 0; place = (place + 1) % INTERN_SLOTS) {
        unsigned char *other = entry_at(P.intern[place].offset);
        if (P.intern[place].hash == hash && u32_at(other) == total && u16_at(other + 8) == kind &&
            memcmp(other + ENTRY_HEAD, start + ENTRY_HEAD, total - ENTRY_HEAD) == 0)
            return u32_at(other + 12);
    }
    uint32_t number = P.entries + 1, length = (uint32_t)total;
    uint16_t zero = 0;
    memcpy(start, &length, 4);
    memcpy(start + 8, &kind, 2);
    memcpy(start + 10, &zero, 2);
    memcpy(start + 12, &number, 4);
    uint32_t sum = crc32c(start + 8, total - 8);
    memcpy(start + 4, &sum, 4);
    if (!reserve_entry(total)) return 0;
    memcpy(entry_at(P.dictionary_length), start, total);
    if (P.entries < INTERN_SLOTS / 4 * 3) {
        P.intern[place].offset = P.dictionary_length;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        P.intern[place].hash = hash;
    }
    P.entries = number;
    P.dictionary_length += total;
    store64(P.base + P_DICT_LENGTH, P.dictionary_length);
    return number;
}

static size_t cut(const char *text, size_t most)
{
    return strnlen(text, most);
}

static uint32_t add_site(const whit_log_site *site)
{
    struct builder b;
    const char *routine = __atomic_load_n(&site->routine, __ATOMIC_RELAXED);
    const char *texts[3] = {site->file, routine ? routine : "", site->format};
    uint8_t marks[4] = {site->level, site->format_kind, site->count, site->role};
    entry_begin(&b);
    put_u32(&b, site->line);
    put_bytes(&b, marks, 4);
    for (int at = 0; at < 3; at++) put_u32(&b, cut(texts[at], TEXT_MAX));
    put_u32(&b, 0);
    put_bytes(&b, site->types, site->count);
    for (int at = 0; at < 3; at++) put_bytes(&b, texts[at], cut(texts[at], TEXT_MAX));
    return entry_end(&b, 1);
}

static uint32_t add_context(uint32_t index, const whit_log_pair *pairs, size_t count)
{
    struct builder b;
    const unsigned char *entry = P.base + LOGGERS + (size_t)index * LOGGER_BYTES;
    size_t length = index < P.loggers ? entry[3] : 0;
    entry_begin(&b);
    if (count > 64) count = 64;
    put_u32(&b, index);
    put_u32(&b, count);
    put_u32(&b, length);
    put_bytes(&b, entry + LOGGER_NAME, length);
    for (size_t at = 0; at < count; at++) {
        uint16_t lengths[2] = {(uint16_t)cut(pairs[at].name, 120), (uint16_t)cut(pairs[at].value, 380)};
        put_bytes(&b, lengths, 4);
        put_bytes(&b, pairs[at].name, lengths[0]);
        put_bytes(&b, pairs[at].value, lengths[1]);
    }
    return entry_end(&b, 2);
}

static const unsigned char *find_entry(uint32_t number)
{
    for (uint64_t at = 0; at < P.dictionary_length; at += u32_at(entry_at(at)))
        if (u32_at(entry_at(at) + 12) == number) return entry_at(at) + ENTRY_HEAD;
    return NULL;
}

static size_t pairs_length(const unsigned char *context)
{
    const unsigned char *at = context + 12 + u32_at(context + 8), *from = at;
    for (uint32_t left = u32_at(context + 4); left > 0; left--) at += 4 + u16_at(at) + u16_at(at + 2);
    return (size_t)(at - from);
}

/* A context of the first's logger and both's pairs. */
static uint32_t add_combination(uint32_t context, uint32_t scope)
{
    struct builder b;
    const unsigned char *one = find_entry(context), *other = find_entry(scope);
    if (!one || !other) return context;
    entry_begin(&b);
    put_bytes(&b, one, 4);
    put_u32(&b, u32_at(one + 4) + u32_at(other + 4));
    put_bytes(&b, one + 8, 4 + u32_at(one + 8));
    put_bytes(&b, other + 12 + u32_at(other + 8), pairs_length(other));
    put_bytes(&b, one + 12 + u32_at(one + 8), pairs_length(one));
    uint32_t number = entry_end(&b, 2);
    return number ? number : context;
}

/* ---- Records ---- */

static int fits(const struct thread_state *s, uint64_t size) { return s->hot.write + size <= s->room; }

/* A record to be stored. */
struct record {
    uint8_t kind, head;
    uint32_t site, context;
    const whit_log_value *values;
    unsigned count;
    const whit_log_attribute *attributes;
    unsigned attribute_count;
};

/* A value whose text is cut after so many bytes. */
static whit_log_value shortened(const whit_log_value *value, uint32_t text_max)
{
    whit_log_value shorter = *value;
    if (shorter.type == WHIT_LOG_TEXT && shorter.length > text_max) shorter.length = text_max;
    return shorter;
}

static size_t name_length(const whit_log_attribute *attribute) { return strnlen(attribute->name, 255); }

static uint64_t record_bytes(const struct record *r, uint32_t text_max)
{
    uint64_t size = HEAD;
    for (unsigned at = 0; at < r->count; at++) {
        whit_log_value value = shortened(&r->values[at], text_max);
        size += whit_log_value_bytes(&value);
    }
    for (unsigned at = 0; at < r->attribute_count; at++) {
        whit_log_value value = shortened(&r->attributes[at].value, text_max);
        size += ((name_length(&r->attributes[at]) + 11) & ~(size_t)7) + whit_log_value_bytes(&value);
    }
    return size;
}

static unsigned char *store_attribute(unsigned char *to, const whit_log_attribute *attribute, uint32_t text_max)
{
    whit_log_value name = whit_log_of_bytes(attribute->name, name_length(attribute));
    whit_log_value value = shortened(&attribute->value, text_max);
    unsigned char head[4] = {value.type, (unsigned char)name.length, 0, 0}, *next = whit_log_value_store(to, &name);
    memcpy(to, head, sizeof head);
    return whit_log_value_store(next, &value);
}

/* Stores a record and publishes it; the caller has made room. */
static void place(struct thread_state *s, const struct record *r, uint64_t size, uint32_t text_max)
{
    unsigned char *to = s->hot.data + (s->hot.write & s->hot.mask), *next = to + HEAD;
    for (unsigned at = 0; at < r->count; at++) {
        whit_log_value value = shortened(&r->values[at], text_max);
        next = whit_log_value_store(next, &value);
    }
    for (unsigned at = 0; at < r->attribute_count; at++) next = store_attribute(next, &r->attributes[at], text_max);
    if (r->head & FLAG_CUT) {
        /* An attribute: type, length of the name, name; how many bytes of texts were left out. */
        memcpy(to + size - CUT_BYTES, "\2\10\0\0CutBytes\0\0\0\0", CUT_BYTES - 8);
        memcpy(to + size - 8, &s->left_out, 8);
    }
    uint64_t words[3] = {size >> 3 | (uint64_t)r->kind << 16 | (uint64_t)r->head << 24 | s->hot.sequence << 32,
                         whit_log_stamp(s->hot.has_tsc), r->site | (uint64_t)r->context << 32};
    memcpy(to, words, sizeof words);
    s->hot.sequence++;
    s->hot.write += size;
    __atomic_store_n(s->hot.published, s->hot.write, __ATOMIC_RELEASE);
}

static unsigned char *field(const struct thread_state *s, size_t offset)
{
    return (unsigned char *)s->hot.published - R_WRITE + offset;
}

static void set_limit(struct thread_state *s)
{
    uint64_t from = s->read > s->oldest ? s->read : s->oldest;
    s->room = from + s->hot.mask + 1 - RESERVE;
    uint64_t most = P.is_slow ? 0 : s->packet_end;
    if (s->mapped < most) most = s->mapped;
    s->hot.limit = s->room < most ? s->room : most;
}

/* Maps pages of a ring in advance.  Where the kernel cannot (before 5.14), each of them is mapped when a record
 * is first stored in it. */
static void map_pages(unsigned char *place, uint64_t length) { madvise(place, length, MADV_POPULATE_WRITE); }

/* Notes that only the first pages of a ring that has grown are mapped. */
static void begin_mapped(struct thread_state *s)
{
    if (s->hot.mask + 1 <= PIECE_BYTES) return;
    s->mapped = PIECE_BYTES;
    set_limit(s);
}

/* Maps the piece of the ring into which a record of so many bytes goes. */
static void map_ahead(struct thread_state *s, uint64_t size)
{
    uint64_t end = s->hot.write + size, capacity = s->hot.mask + 1;
    if (end <= s->mapped) return;
    uint64_t to = (end + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
    if (to > capacity) to = capacity;
    if (to > s->mapped) map_pages(s->hot.data + s->mapped, to - s->mapped);
    s->mapped = to < capacity ? to : UINT64_MAX;
    set_limit(s);
}

/* Counts the records of a packet after one was written the slow way; whether it is full.  The hot path stores
 * fewer than are left of it, since each has a head.  Ring 0 wakes with every record. */
static int fill_packet(struct thread_state *s)
{
    uint64_t most = P.settings.packet_records;
    if (most == 0 || !s->hot.data) return most > 0;
    int is_full = s->hot.sequence - s->packet_first >= most;
    if (is_full) s->packet_first = s->hot.sequence;
    s->packet_end = s->hot.write + (most - (s->hot.sequence - s->packet_first) - 1) * HEAD;
    set_limit(s);
    return is_full;
}

/* Looks how far the reader is.  One that goes back, or ahead of the writer, is not believed. */
static void look(struct thread_state *s)
{
    for (int turn = 0; turn < 100; turn++) {
        uint64_t position = load64(field(s, R_MARKS)), inverted = load64(field(s, R_MARKS + 16));
        if (position != ~inverted) continue;
        if (position <= s->hot.write && position % 8 == 0 && position > s->read) {
            s->read = position;
            set_limit(s);
        }
        return;
    }
}

/* Adds what was dropped; either may be none. */
static void add_dropped(struct dropped *all, const struct dropped *other)
{
    if (other->count == 0) return;
    if (all->count == 0) {
        *all = *other;
        return;
    }
    all->count += other->count;
    if (other->first < all->first) all->first = other->first;
    if (other->last > all->last) all->last = other->last;
    if (all->context != other->context) {
        all->context = 0;
        all->is_of_several = 1;
    }
    all->is_of_several |= other->is_of_several;
}

static void note_dropped(struct thread_state *s, uint8_t level, uint32_t context, uint64_t sequence)
{
    unsigned char *counter = field(s, R_DROPPED + (size_t)(level & LEVEL_MASK) * 8);
    struct dropped *d = &s->dropped[level & LEVEL_MASK];
    store64(counter, load64(counter) + 1);
    struct dropped one = {1, sequence, sequence, 0, context};
    add_dropped(d, &one);
    s->has_dropped = 1;
}

static void place_numbers(struct thread_state *s, uint8_t kind, uint8_t head, const uint64_t *numbers, unsigned count)
{
    whit_log_value values[3];
    for (unsigned at = 0; at < count; at++) values[at] = whit_log_of_unsigned(numbers[at]);
    struct record r = {.kind = kind, .head = head, .values = values, .count = count};
    place(s, &r, HEAD + 8u * count, UINT32_MAX);
}

static void place_dropped(struct thread_state *s, uint8_t level, const struct dropped *d)
{
    whit_log_value values[4] = {whit_log_of_unsigned(d->count), whit_log_of_unsigned(d->first),
                                whit_log_of_unsigned(d->last), whit_log_of_unsigned(d->is_of_several)};
    struct record r = {.kind = K_DROPPED, .head = level, .context = d->context, .values = values, .count = 4};
    place(s, &r, REPORT_BYTES, UINT32_MAX);
}

/* Says in the stream what was dropped, as far as there is room beside `size` bytes. */
static void report_dropped(struct thread_state *s, uint64_t size)
{
    if (!s->has_dropped) return;
    for (uint8_t level = 0; level < 16; level++) {
        struct dropped *d = &s->dropped[level];
        if (d->count == 0) continue;
        if (!fits(s, size + REPORT_BYTES)) return;
        place_dropped(s, level, d);
        memset(d, 0, sizeof *d);
    }
    s->has_dropped = 0;
}

/* The last record of a ring, or of its thread; before it, what was dropped and is not said yet. */
static void place_last(struct thread_state *s, uint8_t kind, uint64_t number)
{
    struct dropped all = {0, 0, 0, 0, 0};
    for (int level = 0; level < 16 && s->has_dropped; level++) add_dropped(&all, &s->dropped[level]);
    if (all.count && s->hot.write + REPORT_BYTES <= s->room + RESERVE / 2) {
        place_dropped(s, 0, &all);
        memset(s->dropped, 0, sizeof s->dropped);
        s->has_dropped = 0;
    }
    if (s->hot.write + HEAD + 8 <= s->room + RESERVE) place_numbers(s, kind, 0, &number, 1);
}

static void overwrite(struct thread_state *s, uint64_t size)
{
    uint64_t from = s->read > s->oldest ? s->read : s->oldest, at = from;
    uint64_t capacity = s->hot.mask + 1, room = s->room > s->hot.write ? s->room - s->hot.write : 0;
    uint64_t wanted = size > room ? size - room : 0;
    uint64_t least = capacity / 4 < OVERWRITE_BYTES ? capacity / 4 : OVERWRITE_BYTES;
    if (wanted < least) wanted = least;
    while (at < s->hot.write && at - from < wanted) {
        uint64_t word;
        uint32_t context;
        memcpy(&word, s->hot.data + (at & s->hot.mask), 8);
        memcpy(&context, s->hot.data + (at & s->hot.mask) + 20, 4);
        uint64_t next = s->hot.sequence, low = word >> 32;
        if ((word >> 16 & 0xFF) == K_LOG)
            note_dropped(s, (uint8_t)(word >> 24), context, next - ((next - low) & UINT32_MAX));
        uint64_t length = (word & 0xFFFF) * 8;
        at += length ? length : 8;
    }
    if (at == from) return;
    s->oldest = at;
    store64(field(s, R_OLDEST), at);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    set_limit(s);
}

static void ring_doorbell(void)
{
    if (P.doorbell && load32(P.doorbell + 4) != 0) {
        int error = errno;
        __atomic_fetch_add((uint32_t *)(void *)P.doorbell, 1, __ATOMIC_RELAXED);
        futex_wake(P.doorbell);
        errno = error;
    }
}

static inline __attribute__((always_inline)) void wake_now(void)
{
    /* The next records need not. */
    if (whit_log_has_sleeper()) __atomic_exchange_n(whit_log_sleeper, 0, __ATOMIC_SEQ_CST);
    ring_doorbell();
}

/* After a record: wakes the reader, if it sleeps or the level is one that wakes. */
void whit_log_wake(uint8_t level)
{
    if ((level & LEVEL_MASK) >= P.settings.wake_level || whit_log_has_sleeper()) wake_now();
}

/* Waits for room; not again before the reader has read something. */
static int wait_for_room(struct thread_state *s, uint64_t size)
{
    if (s->stalled == s->read + 1) return 0;
    uint64_t begin = clock_ns(CLOCK_BOOTTIME), timeout = P.settings.block_timeout_ns;
    unsigned char *waits = field(s, R_WAITS);
    for (;;) {
        store32(waits, 1);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        look(s);
        if (fits(s, size)) {
            store32(waits, 0);
            report_dropped(s, size);
            return fits(s, size);
        }
        uint64_t waited = clock_ns(CLOCK_BOOTTIME) - begin;
        if (waited >= timeout) {
            store32(waits, 0);
            s->stalled = s->read + 1;
            return 0;
        }
        ring_doorbell();
        uint64_t rest = timeout - waited;
        futex_wait(field(s, R_MARKS), (uint32_t)s->read, rest < 10000000 ? rest : 10000000);
    }
}

/* ---- Rings, under the lock ---- */

static void forget_dropped(struct thread_state *s)
{
    memset(s->dropped, 0, sizeof s->dropped);
    s->has_dropped = 0;
}

static uint64_t mark_of(const struct slot *slot, int tier)
{
    const unsigned char *mark = slot->base + R_MARKS + tier * MARK_BYTES;
    uint64_t position = load64(mark);
    return position == ~load64(mark + 16) ? position : 0;
}

static void unmap_ring(unsigned char *base, uint64_t capacity) { munmap(base, R_DATA + 2 * capacity); }

/* The header, the data, and the data again; with the pages of so many bytes of the data. */
static unsigned char *map_ring(int file, uint64_t capacity, uint64_t mapped)
{
    unsigned char *base = map_private(R_DATA + 2 * capacity);
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
    if (!base) return NULL;
    int populates = mapped < capacity ? 0 : MAP_POPULATE;
    if (mmap(base, R_DATA + capacity, protection, flags | populates, file, 0) == MAP_FAILED ||
        mmap(base + R_DATA + capacity, capacity, protection, flags, file, R_DATA) == MAP_FAILED) {
        unmap_ring(base, capacity);
        return NULL;
    }
    if (mapped < capacity) map_pages(base, R_DATA + mapped);
    /* Only the end of a record runs into the second mapping: its first page is mapped now. */
    *(volatile uint64_t *)(void *)(base + R_DATA + capacity) = 0;
    madvise(base, R_DATA + 2 * capacity, MADV_DONTFORK);
    return base;
}

static int make_ring(struct slot *slot, uint64_t capacity, uint32_t predecessor, uint32_t flags)
{
    char from[NAME_MAX_BYTES], to[NAME_MAX_BYTES];
    snprintf(from, sizeof from, "%s/%s-%u.new", P.directory, P.stem, P.next_ring);
    snprintf(to, sizeof to, "%s/%s-%u.ring", P.directory, P.stem, P.next_ring);
    int file = make_file(P.is_private ? NULL : from, R_DATA + capacity);
    if (file < 0) return -1;
    /* A thread that grows its ring is in the middle of its records: it pays for what it uses. */
    uint64_t mapped = predecessor == NO_RING || capacity < PIECE_BYTES ? capacity : PIECE_BYTES;
    unsigned char *base = map_ring(file, capacity, mapped);
    if (base) {
        uint32_t none = NO_RING, version = WHIT_LOG_VERSION;
        memcpy(base, "whitlogR", 8);
        memcpy(base + R_VERSION, &version, 4);
        memcpy(base + R_FLAGS, &flags, 4);
        memcpy(base + R_ID, P.id, 16);
        memcpy(base + R_PID, &P.pid, 4);
        memcpy(base + R_START, &P.start, 8);
        memcpy(base + R_NUMBER, &P.next_ring, 4);
        memcpy(base + R_PREDECESSOR, &predecessor, 4);
        memcpy(base + R_CAPACITY, &capacity, 8);
        memcpy(base + R_SUCCESSOR, &none, 4);
        for (int tier = 0; tier < 3; tier++) memset(base + R_MARKS + tier * MARK_BYTES + 16, 0xFF, 16);
    }
    if (!P.is_private) {
        close(file);
        file = -1;
        if (!base || rename_new(from, to) != 0) {
            unlink(from);
            if (base) unmap_ring(base, capacity);
            return -1;
        }
    } else if (!base) {
        close(file);
        return -1;
    }
    slot->used = ACTIVE;
    slot->file = file;
    slot->number = P.next_ring++;
    slot->capacity = capacity;
    slot->base = base;
    P.ring_bytes += capacity;
    store32(P.base + P_RINGS, P.next_ring);
    return 0;
}

/* As make_ring; without room one without a name. */
static int make_some_ring(struct slot *slot, uint64_t capacity, uint32_t flags)
{
    if (make_ring(slot, capacity, NO_RING, flags) == 0) return 0;
    if (P.is_private) return -1;
    P.is_private = 1;
    int result = make_ring(slot, capacity, NO_RING, flags);
    P.is_private = 0;
    return result;
}

/* A free place of the table. */
static struct slot *free_slot(int needs_state)
{
    struct slot *found = NULL;
    for (size_t at = 0; at < P.slot_count; at++) {
        struct slot *slot = &P.slots[at];
        if (slot->used == RETIRED && mark_of(slot, 0) >= load64(slot->base + R_WRITE)) {
            unmap_ring(slot->base, slot->capacity);
            if (slot->file >= 0) close(slot->file);
            P.ring_bytes -= slot->capacity;
            slot->used = FREE;
        }
        if (slot->used == FREE && !found) found = slot;
    }
    if (!found && P.slot_count < SLOTS_MAX) found = &P.slots[P.slot_count++];
    if (found && needs_state && !found->state) {
        found->state = map_wiped_on_fork((sizeof(struct thread_state) + PAGE - 1) / PAGE * PAGE);
        if (!found->state) return NULL;
    }
    return found;
}

static void begin_state(struct thread_state *s, struct slot *slot)
{
    s->hot.data = slot->base + R_DATA;
    s->hot.mask = slot->capacity - 1;
    s->hot.published = (uint64_t *)(void *)(slot->base + R_WRITE);
    s->hot.write = 0;
    s->hot.sequence = 0;
    s->hot.has_tsc = (uint32_t)P.has_tsc;
    s->oldest = s->read = s->stalled = 0;
    s->is_shared = 0;
    s->slot = slot;
    s->mapped = UINT64_MAX;
    s->packet_first = 0;
    s->packet_end = P.settings.packet_records ? 0 : UINT64_MAX;
    forget_dropped(s);
    set_limit(s);
}

static struct thread_state *new_state(struct thread_state *state, uint64_t capacity, uint32_t flags)
{
    struct slot *slot = P.file < 0 ? NULL : free_slot(state == NULL);
    if (!slot || make_some_ring(slot, capacity, flags) != 0) return NULL;
    if (state) slot->state = state;
    begin_state(slot->state, slot);
    slot->state->hot.busy = 0;
    return slot->state;
}

static struct thread_state *idle_state(uint64_t least)
{
    for (size_t at = 0; at < P.slot_count; at++) {
        struct slot *slot = &P.slots[at];
        if (slot->used != IDLE || !slot->state || slot->capacity < least) continue;
        struct thread_state *s = slot->state;
        look(s);
        if (s->room > s->hot.write && s->room - s->hot.write > slot->capacity / 4) {
            slot->used = ACTIVE;
            s->hot.busy = 0;
            s->hot.scope = 0;
            return s;
        }
    }
    return NULL;
}

static void say_thread_begins(struct thread_state *s)
{
    char name[16] = {0};
    uint64_t clocks[3];
    prctl(PR_GET_NAME, name);
    store32(s->slot->base + R_TID, thread_id());
    memcpy(s->slot->base + R_THREAD, name, sizeof name);
    whit_log_value values[2] = {whit_log_of_unsigned(thread_id()), whit_log_of_bytes(name, strnlen(name, 16))};
    struct record r = {.kind = K_BEGIN, .values = values, .count = 2};
    uint64_t size = record_bytes(&r, UINT32_MAX);
    if (fits(s, size)) place(s, &r, size, UINT32_MAX);
    read_clocks(clocks);
    if (fits(s, HEAD + 24)) place_numbers(s, K_CALIBRATION, 0, clocks, 3);
}

/* ---- The process ---- */

static int make_process_file(void)
{
    char name[NAME_MAX_BYTES], to[NAME_MAX_BYTES];
    unsigned char page[PAGE] = {0};
    uint32_t version = WHIT_LOG_VERSION, flags = (P.has_tsc ? FLAG_TSC : 0) | FLAG_WAKES;
    uint64_t one = 1, pair[4] = {1};
    P.pid = (uint32_t)getpid();
    P.start = start_ticks();
    if (getrandom(P.id, 16, GRND_NONBLOCK) != 16) {
        uint64_t now = clock_ns(CLOCK_REALTIME);
        memcpy(P.id, &now, 8);
        memcpy(P.id + 8, &P.pid, 4);
    }
    P.allocated = (P.dictionary_length + GROWTH - 1) / GROWTH * GROWTH + GROWTH;
    if (P.allocated > DICTIONARY_MAX) P.allocated = DICTIONARY_MAX;
    memcpy(page, "whitlogP", 8);
    memcpy(page + P_VERSION, &version, 4);
    memcpy(page + P_FLAGS, &flags, 4);
    memcpy(page + P_PID, &P.pid, 4);
    memcpy(page + P_START, &P.start, 8);
    memcpy(page + P_BOOT, P.boot_id, 16);
    memcpy(page + P_ID, P.id, 16);
    memcpy(page + P_HZ, &P.stamp_hz, 8);
    memcpy(page + P_HOST, P.host, strnlen(P.host, 255));
    memcpy(page + P_NAME, P.process, strnlen(P.process, 255));
    memcpy(page + P_DICT_LENGTH, &P.dictionary_length, 8);
    memcpy(page + P_PAIRS, &one, 8);
    memcpy(page + P_LOGGERS, &P.loggers, 4);
    read_clocks(pair + 1);
    uint64_t tag;
    memcpy(&tag, P.id, 8);
    snprintf(name, sizeof name, "%s/%u-%llu-%016llx.new", P.directory, P.pid, (unsigned long long)P.start,
             (unsigned long long)tag);
    int file = make_file(P.is_private ? NULL : name, 0x4000);
    size_t loggers = (size_t)P.loggers * LOGGER_BYTES;
    int failed = file < 0 || allocate(file, DICTIONARY, P.allocated) != 0 ||
                 write_at(file, page, PAGE, 0) != 0 || write_at(file, pair, 32, CALIBRATION) != 0;
    if (!failed && loggers > 0)
        failed = allocate(file, LOGGERS, loggers) != 0 || write_at(file, P.base + LOGGERS, loggers, LOGGERS) != 0;
    /* What the parent has logged, as the reader counted it, is not the child's. */
    static const unsigned char none[104];
    for (size_t at = 0; !failed && at < loggers; at += LOGGER_BYTES)
        failed = write_at(file, none, sizeof none, LOGGERS + at + 8) != 0;
    if (!failed && P.dictionary_length > 0)
        failed = write_at(file, P.base + DICTIONARY, P.dictionary_length, DICTIONARY) != 0;
    for (int turn = 1; !failed && turn < 1000; turn++) {
        if (turn == 1) snprintf(P.stem, sizeof P.stem, "%u-%llu", P.pid, (unsigned long long)P.start);
        else snprintf(P.stem, sizeof P.stem, "%u-%llu.%d", P.pid, (unsigned long long)P.start, turn);
        if (P.is_private) break;
        snprintf(to, sizeof to, "%s/%s.process", P.directory, P.stem);
        if (rename_new(name, to) == 0) break;
        failed = errno != EEXIST || turn == 999;
    }
    if (failed) {
        int error = errno;
        if (file >= 0) close(file);
        if (P.is_private) return -1;
        if (file >= 0) unlink(name);
        P.is_private = 1;
        P.private_error = error;
        return make_process_file();
    }
    /* Held for as long as the process lives. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    fcntl(file, F_OFD_SETLK, &lock);
    int how = MAP_SHARED | (P.base ? MAP_FIXED : 0);
    void *base = mmap(P.base, MAPPED, PROT_READ | PROT_WRITE, how, file, 0);
    if (base == MAP_FAILED) {
        close(file);
        return -1;
    }
    P.base = base;
    P.file = file;
    __atomic_store_n(&whit_log_sleeper, (uint32_t *)(void *)(P.base + P_SLEEPER), __ATOMIC_RELAXED);
    return 0;
}

static void make_signal_ring(void)
{
    P.signal_ring = new_state(NULL, SHARED_BYTES, 1);
    if (P.signal_ring) P.signal_ring->is_shared = 1;
}

/* A child of fork: files of its own. */
static void register_child(void)
{
    close(P.file);
    for (size_t at = 0; at < P.slot_count; at++) {
        struct slot *slot = &P.slots[at];
        if (slot->used != FREE && slot->file >= 0) close(slot->file);
        slot->used = FREE;
        slot->state = NULL;
    }
    P.file = -1;
    P.is_private = P.doorbell == NULL;
    memset(&P.throttle, 0, sizeof P.throttle);
    P.next_ring = 0;
    P.ring_bytes = 0;
    P.signal_ring = NULL;
    if (make_process_file() == 0) make_signal_ring();
}

/* Takes the lock; a child of fork is registered first.  0: this thread has it. */
static int lock_process(void)
{
    if (!take_lock(&P.fork_state->lock)) return 0;
    if (!__atomic_load_n(&P.fork_state->registered, __ATOMIC_RELAXED)) {
        register_child();
        __atomic_store_n(&P.fork_state->registered, 1, __ATOMIC_RELEASE);
    }
    return 1;
}

static void unlock_process(void) { give_lock(&P.fork_state->lock); }

/* The capacity of a thread's first ring: most processes log little. */
static uint64_t first_bytes(void) { return P.settings.ring_bytes < FIRST_BYTES ? P.settings.ring_bytes : FIRST_BYTES; }

/* Goes on in a ring that is larger, if the limits allow: by steps of four to the size that the settings
 * name, whatever the policy, and by steps of two further where the policy is to grow. */
static int grow(struct thread_state *s, uint64_t size, uint8_t level)
{
    uint64_t most = P.settings.ring_bytes, capacity = (s->hot.mask + 1) * 2;
    if (capacity * 2 <= most) capacity *= 2;
    while (capacity / 2 < size + RESERVE) capacity *= 2;
    if (P.settings.policies[level & LEVEL_MASK] == WHIT_LOG_GROW && P.settings.ring_bytes_max > most)
        most = P.settings.ring_bytes_max;
    if (capacity > most || !lock_process()) return 0;
    struct slot *old = s->slot, *slot = NULL;
    if (P.ring_bytes + capacity <= P.settings.process_bytes_max) slot = free_slot(0);
    if (!slot || make_ring(slot, capacity, old->number, 0) != 0) {
        unlock_process();
        return 0;
    }
    place_last(s, K_NEXT, slot->number);
    store32(old->base + R_SUCCESSOR, slot->number);
    store32(old->base + R_ENDED, 1);
    old->used = RETIRED;
    old->state = slot->state;
    slot->state = s;
    begin_state(s, slot);
    begin_mapped(s);
    unlock_process();
    say_thread_begins(s);
    return fits(s, size);
}

static int make_room(struct thread_state *s, uint64_t size, uint8_t level, uint32_t context)
{
    if (fits(s, size) && !s->has_dropped) return 1;
    look(s);
    report_dropped(s, size);
    if (fits(s, size)) return 1;
    int policy = P.settings.policies[level & LEVEL_MASK];
    if (!s->is_shared && grow(s, size, level)) return 1;
    if (policy == WHIT_LOG_OVERWRITE) {
        overwrite(s, size);
        if (fits(s, size)) return 1;
    } else if (!s->is_shared && policy != WHIT_LOG_DROP && wait_for_room(s, size)) {
        return 1;
    }
    note_dropped(s, level, context, s->hot.sequence);
    s->hot.sequence++;
    return 0;
}

/* The bytes of texts that a record lacks if they are cut after so many bytes. */
static uint64_t bytes_left_out(const struct record *r, uint32_t text_max)
{
    uint64_t bytes = 0;
    for (unsigned at = 0; at < r->count; at++)
        bytes += r->values[at].length - shortened(&r->values[at], text_max).length;
    for (unsigned at = 0; at < r->attribute_count; at++)
        bytes += r->attributes[at].value.length - shortened(&r->attributes[at].value, text_max).length;
    return bytes;
}

/* Makes room for a record and stores it; texts are cut if it would be too long. */
static void write_record(struct thread_state *s, const struct record *given)
{
    struct record r = *given;
    uint64_t size = record_bytes(&r, UINT32_MAX);
    if (size > WHIT_LOG_RECORD_MAX) size = WHIT_LOG_RECORD_MAX;
    if (!s->is_shared && (s->hot.mask + 1) / 2 < size + RESERVE) grow(s, size, r.head & LEVEL_MASK);
    uint64_t most = (s->hot.mask + 1) / 2 - RESERVE;
    uint32_t text_max = UINT32_MAX;
    if (most > WHIT_LOG_RECORD_MAX) most = WHIT_LOG_RECORD_MAX;
    /* Halves of what it may be, until a byte more would be too much. */
    size = record_bytes(&r, UINT32_MAX);
    if (size > most) {
        uint32_t too_much = (uint32_t)most;
        text_max = 0;
        while (text_max + 1 < too_much) {
            uint32_t middle = text_max + (too_much - text_max) / 2;
            if (record_bytes(&r, middle) + CUT_BYTES <= most) text_max = middle;
            else too_much = middle;
        }
        size = record_bytes(&r, text_max) + CUT_BYTES;
        s->left_out = bytes_left_out(&r, text_max);
        r.head |= FLAG_CUT | FLAG_ATTRIBUTES;
    }
    if (!make_room(s, size, r.head & LEVEL_MASK, r.context)) return;
    map_ahead(s, size);
    place(s, &r, size, text_max);
}

/* ---- The limit of records in a second ---- */

enum { SUPPRESSED, ADMITTED, ADMITTED_AFTER_REPORT };

static uint64_t *suppressed_of(unsigned level) { return (uint64_t *)(void *)(P.base + P_SUPPRESSED + level * 8); }

/* Counts a record of a level against the limit. */
static int admit(uint8_t level)
{
    if (P.settings.logs_per_second_max < 0) return ADMITTED;
    /* A child of fork counts in its own file. */
    if (!__atomic_load_n(&P.fork_state->registered, __ATOMIC_ACQUIRE) && lock_process()) unlock_process();
    struct throttle *t = &P.throttle;
    uint64_t now = clock_ns(CLOCK_BOOTTIME), second = now / 1000000000u & UINT32_MAX, first = 0;
    uint64_t word = __atomic_load_n(&t->window, __ATOMIC_RELAXED), next;
    do {
        uint64_t count = word >> 32 == second ? word & UINT32_MAX : 0;
        if (count >= (uint64_t)P.settings.logs_per_second_max) {
            /* Not kept if another did it meanwhile: it is as early. */
            __atomic_compare_exchange_n(&t->first_ns, &first, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            __atomic_store_n(&t->last_ns, now, __ATOMIC_RELAXED);
            __atomic_fetch_add(suppressed_of(level & LEVEL_MASK), 1, __ATOMIC_RELEASE);
            return SUPPRESSED;
        }
        next = second << 32 | (count + 1);
    } while (!__atomic_compare_exchange_n(&t->window, &word, next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return word >> 32 == second ? ADMITTED : ADMITTED_AFTER_REPORT;
}

/* About the stamp that a record made at this CLOCK_BOOTTIME would have. */
static uint64_t stamp_of(const uint64_t now[3], uint64_t boottime_ns)
{
    double ago_ns = boottime_ns < now[2] ? (double)(now[2] - boottime_ns) : 0;
    double ticks = ago_ns * (double)P.stamp_hz / 1e9;
    return ticks < (double)now[0] ? now[0] - (uint64_t)ticks : 0;
}

/* Says in the stream what was suppressed and is not said yet: each once, whatever thread does it. */
static void report_suppressed(struct thread_state *s)
{
    struct throttle *t = &P.throttle;
    if (P.settings.logs_per_second_max < 0) return;
    uint64_t first_ns = __atomic_exchange_n(&t->first_ns, 0, __ATOMIC_RELAXED), clocks[3] = {0};
    uint64_t last_ns = __atomic_load_n(&t->last_ns, __ATOMIC_RELAXED);
    for (uint8_t level = 0; level < 16; level++) {
        uint64_t total = __atomic_load_n(suppressed_of(level), __ATOMIC_ACQUIRE);
        uint64_t said = __atomic_load_n(&t->reported[level], __ATOMIC_RELAXED);
        while (said < total &&
               !__atomic_compare_exchange_n(&t->reported[level], &said, total, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
        if (said >= total) continue;
        if (clocks[0] == 0) read_clocks(clocks);
        uint64_t numbers[3] = {total - said, stamp_of(clocks, first_ns ? first_ns : last_ns), stamp_of(clocks, last_ns)};
        if (make_room(s, HEAD + 24, level, 0)) place_numbers(s, K_SUPPRESSED, level, numbers, 3);
    }
}

static void count_dropped(uint8_t level)
{
    __atomic_fetch_add((uint64_t *)(void *)(P.base + P_DROPPED + (level & LEVEL_MASK) * 8), 1, __ATOMIC_RELAXED);
}

/* Into ring 0: from a signal handler that interrupted a call, or after the end of the thread. */
static void write_signal_ring(struct record *r)
{
    if (!__atomic_load_n(&P.fork_state->registered, __ATOMIC_ACQUIRE) && lock_process()) unlock_process();
    if (!take_lock(&P.fork_state->signal_ring)) {
        count_dropped(r->head);
        return;
    }
    r->head |= FLAG_ASIDE;
    if (P.signal_ring) write_record(P.signal_ring, r);
    else count_dropped(r->head);
    give_lock(&P.fork_state->signal_ring);
}

static void thread_ends(void *unused)
{
    struct thread_state *s = (struct thread_state *)whit_log_current;
    (void)unused;
    phase = 3;
    whit_log_current = &empty_state;
    if (&s->hot == &empty_state || !s->hot.data) return;
    report_suppressed(s);
    look(s);
    report_dropped(s, 0);
    place_last(s, K_END, thread_id());
    if (!lock_process()) return;
    int idle = 0;
    for (size_t at = 0; at < P.slot_count; at++) idle += P.slots[at].used == IDLE;
    s->slot->used = idle < IDLE_MAX ? IDLE : RETIRED;
    if (s->slot->used == RETIRED) store32(s->slot->base + R_ENDED, 1);
    unlock_process();
}

/* With a ring of the whole size, if the limits and the folder allow. */
static struct thread_state *whole_state(void)
{
    uint64_t capacity = P.settings.ring_bytes;
    if (P.file < 0 || capacity <= first_bytes() || P.ring_bytes + capacity > P.settings.process_bytes_max) return NULL;
    struct slot *slot = free_slot(1);
    if (!slot || make_ring(slot, capacity, NO_RING, 0) != 0) return NULL;
    begin_state(slot->state, slot);
    slot->state->hot.busy = 0;
    return slot->state;
}

static void attach(int wants_whole)
{
    phase = 1;
    struct thread_state *s = NULL;
    if (lock_process()) {
        s = idle_state(wants_whole ? P.settings.ring_bytes : 0);
        if (!s && wants_whole) s = whole_state();
        if (!s) s = new_state(NULL, first_bytes(), 0);
        unlock_process();
    }
    if (s) {
        say_thread_begins(s);
        pthread_setspecific(P.key, s);
        whit_log_current = &s->hot;
    }
    phase = s ? 2 : 0;
}

/* The context of a logger together with that of the thread. */
static uint32_t combined_context(struct thread_state *s, uint32_t context)
{
    if (s->hot.scope == 0) return context;
    if (s->of_logger != context || s->of_thread != s->hot.scope) {
        uint32_t combined = context;
        if (lock_process()) {
            combined = add_combination(context, s->hot.scope);
            unlock_process();
        }
        s->of_logger = context;
        s->of_thread = s->hot.scope;
        s->combined = combined;
    }
    return s->combined;
}

/* Gives a thread that a fork has made its ring: 0, there is none. */
static int renew(struct thread_state *s)
{
    int has_ring = 0;
    if (lock_process()) {
        has_ring = new_state(s, first_bytes(), 0) != NULL;
        unlock_process();
    }
    if (has_ring) {
        s->hot.busy = 1;
        say_thread_begins(s);
    }
    return has_ring;
}

/* Writes a record of a call site; its head has the level, and is completed here. */
static void write_slowly(struct record *r, whit_log_site *site, const whit_log_logger *logger)
{
    int admission = r->kind == K_LOG ? admit(r->head) : ADMITTED;
    if (admission == SUPPRESSED) return;
    r->head = whit_log_head(logger, r->head);
    if (r->attribute_count) r->head |= FLAG_ATTRIBUTES;
    r->context = logger->context;
    r->site = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
    if (r->site == 0 && lock_process()) {
        r->site = add_site(site);
        unlock_process();
        __atomic_store_n(&site->number, r->site, __ATOMIC_RELAXED);
    }
    if (r->site == 0) {
        count_dropped(r->head);
        return;
    }
    if (phase == 0) attach(0);
    struct thread_state *s = (struct thread_state *)whit_log_current;
    int is_own = s->hot.busy == 0, is_full = P.settings.packet_records > 0;
    if (is_own) {
        s->hot.busy = 1;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        is_own = s->hot.data || renew(s);
    }
    if (is_own) {
        r->context = combined_context(s, r->context);
        if (admission == ADMITTED_AFTER_REPORT) report_suppressed(s);
        write_record(s, r);
        is_full = fill_packet(s);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        s->hot.busy = 0;
    } else {
        write_signal_ring(r);
    }
    if (is_full) wake_now();
    else whit_log_wake(r->kind == K_LOG ? r->head : 0);
}

void whit_log_slow_with(whit_log_site *site, const whit_log_logger *logger, uint8_t head,
                        const whit_log_value *values, unsigned count,
                        const whit_log_attribute *attributes, unsigned attribute_count)
{
    int error = errno;
    struct record r = {.kind = K_LOG, .head = head, .values = values, .count = count,
                       .attributes = attributes, .attribute_count = attribute_count};
    if (__atomic_load_n(&is_started, __ATOMIC_ACQUIRE)) write_slowly(&r, site, logger);
    errno = error;
}

void whit_log_slow(whit_log_site *site, const whit_log_logger *logger, uint8_t head,
                   const whit_log_value *values, unsigned count)
{
    whit_log_slow_with(site, logger, head, values, count, NULL, 0);
}

/* ---- Fewer records than calls, and spans of time ---- */

/* Whether this call has the state of a limit or guard to itself; if not, it is let through: another thread has
 * it, or what a signal handler interrupted. */
static int try_lock(uint32_t *busy) { return !__atomic_exchange_n(busy, 1, __ATOMIC_ACQUIRE); }

int whit_log_limit_admits(whit_log_limit *limit, uint64_t count_max, uint64_t interval_ms, whit_log_site *site,
                          const whit_log_logger *logger, uint8_t level)
{
    if (!__atomic_load_n(&is_started, __ATOMIC_ACQUIRE) || !try_lock(&limit->busy)) return 1;
    int error = errno;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    if (now - limit->begin_ns >= interval_ms * 1000000u) {
        limit->begin_ns = now;
        limit->count = 0;
        if (limit->suppressed > 0) {
            uint64_t clocks[3];
            read_clocks(clocks);
            const whit_log_value values[3] = {whit_log_of_unsigned(limit->suppressed),
                                              whit_log_of_unsigned(stamp_of(clocks, limit->first_ns)),
                                              whit_log_of_unsigned(stamp_of(clocks, limit->last_ns))};
            struct record r = {.kind = K_SUPPRESSED, .head = level, .values = values, .count = 3};
            write_slowly(&r, site, logger);
            limit->suppressed = 0;
        }
    }
    int is_admitted = limit->count < count_max;
    if (is_admitted) {
        limit->count++;
    } else {
        if (limit->suppressed++ == 0) limit->first_ns = now;
        limit->last_ns = now;
    }
    __atomic_store_n(&limit->busy, 0, __ATOMIC_RELEASE);
    errno = error;
    return is_admitted;
}

int64_t whit_log_guard_check(whit_log_repeat_guard *guard)
{
    if (!try_lock(&guard->busy)) return 0;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    guard->calls++;
    int has_count = guard->calls >= guard->every;
    int has_time = now - guard->last_ns >= guard->interval_ms * 1000000u;
    const int is_due[4] = {has_count, has_time, has_count && has_time, has_count || has_time};
    int64_t suppressed = -1;
    if (guard->last_ns == 0 || is_due[guard->rule & 3]) {
        suppressed = (int64_t)guard->calls - 1;
        guard->calls = 0;
        guard->last_ns = now;
    }
    __atomic_store_n(&guard->busy, 0, __ATOMIC_RELEASE);
    return suppressed;
}

void whit_log_guard_reset(whit_log_repeat_guard *guard)
{
    if (!try_lock(&guard->busy)) return;
    guard->calls = guard->last_ns = 0;
    __atomic_store_n(&guard->busy, 0, __ATOMIC_RELEASE);
}

whit_log_span whit_log_trace_begin(const whit_log_logger *logger, whit_log_site *entry, whit_log_site *end,
                                   const char *routine)
{
    whit_log_span span = {*logger, NULL, 0};
    if (!whit_log_is_enabled(logger, WHIT_LOG_LEVEL_TRACE)) return span;
    __atomic_store_n(&entry->routine, routine, __ATOMIC_RELAXED);
    __atomic_store_n(&end->routine, routine, __ATOMIC_RELAXED);
    whit_log_slow(entry, logger, WHIT_LOG_LEVEL_TRACE, NULL, 0);
    span.end = end;
    span.begin_ns = clock_ns(CLOCK_BOOTTIME);
    return span;
}

whit_log_span whit_log_watch_begin(const whit_log_logger *logger, whit_log_site *end, const char *routine)
{
    whit_log_span span = {*logger, end, clock_ns(CLOCK_BOOTTIME)};
    __atomic_store_n(&end->routine, routine, __ATOMIC_RELAXED);
    return span;
}

void whit_log_span_end(whit_log_span *span)
{
    /* The end of a function is said if its beginning was. */
    if (!span->end || (span->end->role == 3 && !whit_log_is_enabled(&span->logger, span->end->level))) return;
    const whit_log_value took = whit_log_of_unsigned(clock_ns(CLOCK_BOOTTIME) - span->begin_ns);
    whit_log_slow(span->end, &span->logger, span->end->level, &took, 1);
}

/* ---- What programs call ---- */

void whit_log_defaults(whit_log_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->size = sizeof *settings;
    settings->ring_bytes = 1 << 20;
    settings->ring_bytes_max = 16 << 20;
    settings->process_bytes_max = 256 << 20;
    settings->block_timeout_ns = 10000000000u;
    settings->tsc = settings->logs_per_second_max = -1;
    settings->level_central = settings->level_local = WHIT_LOG_LEVEL_DELOUSE;
    settings->wake_level = WHIT_LOG_LEVEL_ERROR;
}

/* ---- ACS's names ---- */

/* A level of ACS by name or number, as a threshold. */
static int parse_level(const char *text, uint8_t *level)
{
    static const char *const names[] = {"TRACE", "DELOUSE", "DEBUG", "INFO", "NOTICE", "WARNING", "",
                                        "ERROR", "CRITICAL", "ALERT", "EMERGENCY"};
    if (!strcasecmp(text, "OFF") || !strcmp(text, "99")) {
        *level = WHIT_LOG_LEVEL_OFF;
        return 1;
    }
    int is_number = *text && strspn(text, "0123456789") == strlen(text);
    if (!strcmp(text, "0") || !strcmp(text, "7")) {
        *level = (uint8_t)(*text - '0');
        return 1;
    }
    unsigned long number = is_number ? strtoul(text, NULL, 10) : 0;
    for (unsigned at = 0; at < sizeof names / sizeof *names; at++) {
        if (!*names[at] || (is_number ? number != at + 1 : strcasecmp(text, names[at]) != 0)) continue;
        *level = (uint8_t)(at + 1);
        return 1;
    }
    return 0;
}

/* A whole number up to `most`. */
static int parse_number(const char *text, uint64_t most, uint64_t *number)
{
    if (!*text || strspn(text, "0123456789") != strlen(text)) return 0;
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno == 0 && *number <= most;
}

static const char *set_named(whit_log_settings *settings, const char *name, const char *colon, const char *value)
{
    size_t length = (size_t)(colon - name), at = 0;
    int is_local = !strcmp(colon, ":minLogLevelLocal");
    uint8_t level;
    if (!is_local && strcmp(colon, ":minLogLevel") != 0) return "a logger has minLogLevel and minLogLevelLocal";
    if (length > LOGGER_NAME_MAX) return "a logger's name has 144 bytes at most";
    if (!parse_level(value, &level)) return "not a level of ACS";
    while (at < settings->named_count &&
           (strlen(settings->named[at].name) != length || memcmp(settings->named[at].name, name, length) != 0))
        at++;
    if (at >= WHIT_LOG_NAMED_MAX) return "there is room for 32 named loggers: set the levels of others after the start";
    whit_log_named *named = &settings->named[at];
    if (at == settings->named_count) {
        memset(named, 0, sizeof *named);
        memcpy(named->name, name, length);
        named->central = named->local = WHIT_LOG_LEVEL_UNSET;
        settings->named_count++;
    }
    *(is_local ? &named->local : &named->central) = level;
    return NULL;
}

static const char *const acs_variables[] = {"ACS_LOG_STDOUT", "ACS_LOG_CENTRAL", "ACS_LOG_FILE",
                                            "ACS_LOG_SYSLOG", "ACS_LOG_BIN", "LOG_SERVICE_USE_EXTENSIONS"};

/* What would do nothing here, and what does it instead: crates/logger/src/config.rs says the same. */
static const char *const refused[][2] = {
    {"flushPeriodSeconds", "records are handed on within a second, and no program can delay that: leave it out"},
    {"maxLogQueueSize",
     "rings are measured in bytes: set those, and --quota of whit log proxy for what its disk keeps"},
    {"centralizedLogger",
     "the proxy of the host knows the central store: give its address to whit log proxy --central"},
    {"ACS_LOG_FILE",
     "nothing needs it while the central store is away: for a file, give -o acs:FILE to whit log proxy"},
    {"ACS_LOG_SYSLOG", "programs send nothing: give -o syslog:HOST:PORT to whit log proxy"},
    {"ACS_LOG_BIN", "records are always binary: leave it out"},
    {"LOG_SERVICE_USE_EXTENSIONS", "no CORBA carries records: leave it out"},
};

const char *whit_log_set_acs(whit_log_settings *settings, const char *name, const char *value)
{
    const char *colon = strrchr(name, ':');
    uint64_t number;
    if (colon) return set_named(settings, name, colon, value);
    uint8_t *level = NULL;
    if (!strcmp(name, "minLogLevel") || !strcmp(name, "ACS_LOG_CENTRAL")) level = &settings->level_central;
    if (!strcmp(name, "minLogLevelLocal") || !strcmp(name, "ACS_LOG_STDOUT")) level = &settings->level_local;
    if (!strcmp(name, "immediateDispatchLevel")) level = &settings->wake_level;
    if (level) return parse_level(value, level) ? NULL : "not a level of ACS";
    if (!strcmp(name, "dispatchPacketSize")) {
        if (!parse_number(value, UINT32_MAX, &number)) return "not a number";
        /* Without ACS's cache each record is a packet. */
        settings->packet_records = number ? (uint32_t)number : 1;
        return NULL;
    }
    if (!strcmp(name, "maxLogsPerSecond")) {
        int is_negative = *value == '-';
        if (!parse_number(value + is_negative, INT32_MAX + (uint64_t)is_negative, &number)) return "not a number";
        settings->logs_per_second_max = is_negative && number > 0 ? -1 : (int)number;
        return NULL;
    }
    for (size_t at = 0; at < sizeof refused / sizeof *refused; at++)
        if (!strcmp(name, refused[at][0])) return refused[at][1];
    return "unknown name";
}

int whit_log_set_acs_environment(whit_log_settings *settings)
{
    int count = 0;
    for (size_t at = 0; at < sizeof acs_variables / sizeof *acs_variables; at++) {
        const char *value = getenv(acs_variables[at]);
        const char *why = value ? whit_log_set_acs(settings, acs_variables[at], value) : NULL;
        if (!why) continue;
        count++;
        dprintf(2, "%s: %s=%s: %s\n", program_invocation_short_name, acs_variables[at], value, why);
    }
    return count;
}

/* ---- The start ---- */

static uint64_t power_of_two(uint64_t bytes)
{
    uint64_t power = 4096;
    while (power < bytes && power < 1 << 30) power *= 2;
    return power;
}

static void say(const char *path, const char *why, const char *then)
{
    char line[NAME_MAX_BYTES + 400];
    int length = snprintf(line, sizeof line, "%s: %s: %s%s\n", P.process, path, then, why);
    if (length >= (int)sizeof line) length = sizeof line - 1;
    /* Without standard error there is nobody to tell. */
    ssize_t ignored = length > 0 ? write(2, line, (size_t)length) : 0;
    (void)ignored;
}

/* Why a folder is not safe for this user; NULL: it is. */
static const char *fault(const struct stat *facts)
{
    if (S_ISLNK(facts->st_mode)) return "it is a symbolic link";
    if (!S_ISDIR(facts->st_mode)) return "it is not a folder";
    if (facts->st_uid != geteuid()) return "it belongs to another user";
    return facts->st_mode & 022 ? "others may write in it" : NULL;
}

/* Makes a folder, if it is not there: 0; else -1, and why it is refused, if that is so. */
static int make_folder(const char *path, const char **why)
{
    struct stat facts;
    *why = NULL;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return -1;
    if (lstat(path, &facts) != 0) return -1;
    *why = fault(&facts);
    if (*why) errno = EACCES;
    return *why ? -1 : 0;
}

/* Where programs log by default.  The rule, and its reasons, are those of crates/logring/src/folder.rs. */
#ifndef WHIT_LOG_SHARED
#define WHIT_LOG_SHARED "/run/whit/log"
#endif
#ifndef WHIT_LOG_MEMORY
#define WHIT_LOG_MEMORY "/dev/shm"
#endif

/* One of the default folders; 0: there is none of this number here. */
static int candidate(int number, char *to, size_t room)
{
    struct stat facts;
    unsigned user = (unsigned)geteuid();
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    int length;
    if (number == 0) {
        if (lstat(WHIT_LOG_SHARED, &facts) != 0 || !S_ISDIR(facts.st_mode)) return 0;
        if (facts.st_uid != 0 && facts.st_uid != geteuid()) return 0;
        if ((facts.st_mode & 022) && !(facts.st_mode & S_ISVTX)) return 0;
        length = snprintf(to, room, "%s/%u", WHIT_LOG_SHARED, user);
    } else if (number == 1) {
        if (!runtime || *runtime != '/' || lstat(runtime, &facts) != 0 || fault(&facts)) return 0;
        length = snprintf(to, room, "%s/whit-log", runtime);
    } else {
        length = snprintf(to, room, "%s/whit-log-%u", WHIT_LOG_MEMORY, user);
    }
    return length > 0 && (size_t)length < room;
}

/* The folder to log into if the program names none; refused ones are named on standard error. */
static const char *default_directory(char *to, size_t room)
{
    const char *why, *named = secure_getenv("WHIT_LOG_DIRECTORY");
    if (named && *named) return named;
    for (int number = 0; number < 3; number++) {
        if (!candidate(number, to, room)) continue;
        if (make_folder(to, &why) == 0) break;
        if (why) say(to, why, "refused as a folder of log records: ");
    }
    return to;
}

static int make_directory(const char **why)
{
    if (make_folder(P.directory, why) != 0) return -1;
    char path[NAME_MAX_BYTES];
    snprintf(path, sizeof path, "%s/doorbell", P.directory);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return -1;
    void *page = allocate(file, 0, PAGE) != 0
                     ? MAP_FAILED
                     : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) return -1;
    /* What the reader of the folder says that it reads: oldest and newest version; 0: it has not said. */
    uint32_t versions = load32((unsigned char *)page + B_VERSIONS), newest = versions >> 16;
    P.is_off = newest != 0 && ((versions & 0xFFFF) > WHIT_LOG_VERSION || newest < WHIT_LOG_VERSION);
    if (P.is_off) {
        *why = "its reader reads other versions of rings than this program writes";
        return -1;
    }
    P.doorbell = page;
    return 0;
}

static void measure(void)
{
    uint64_t first[3], second[3];
    P.stamp_hz = 1000000000u;
    if (!P.has_tsc) return;
    read_clocks(first);
    while (clock_ns(CLOCK_BOOTTIME) < first[2] + 200000) {}
    read_clocks(second);
    P.stamp_hz = (uint64_t)((double)(second[0] - first[0]) * 1e9 / (double)(second[2] - first[2]));
}

static void read_boot_id(void)
{
    static const char digits[] = "0123456789abcdef";
    char text[64];
    int count = 0;
    read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    for (char *at = text; *at && count < 32; at++) {
        const char *known = strchr(digits, *at);
        if (!known) continue;
        P.boot_id[count / 2] = (unsigned char)(P.boot_id[count / 2] << 4 | (known - digits));
        count++;
    }
}

static void apply_kept(const whit_log_logger *logger, const char *name);

int whit_log_start(const whit_log_settings *given)
{
    static int begun;
    whit_log_settings s;
    whit_log_defaults(&s);
    int is_known = !given || (given->size == sizeof s && given->named_count <= WHIT_LOG_NAMED_MAX);
    for (int level = 0; is_known && given && level < 16; level++) is_known = given->policies[level] <= WHIT_LOG_OVERWRITE;
    if (!is_known) {
        errno = EINVAL;
        return -1;
    }
    if (given) s = *given;
    if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL)) {
        errno = EALREADY;
        return -1;
    }
    snprintf(P.process, sizeof P.process, "%s", s.process_name ? s.process_name : program_invocation_short_name);
    char own[sizeof P.directory] = "";
    const char *directory = s.directory ? s.directory : default_directory(own, sizeof own);
    if (strlen(directory) >= sizeof P.directory) {
        begun = 0;
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(P.directory, directory);
    if (s.host_name) snprintf(P.host, sizeof P.host, "%s", s.host_name);
    else gethostname(P.host, sizeof P.host - 1);
    s.ring_bytes = power_of_two(s.ring_bytes);
    s.directory = s.host_name = s.process_name = NULL;
    P.settings = s;
    P.is_slow = s.logs_per_second_max >= 0 || s.wake_level < WHIT_LOG_LEVEL_ERROR;
    P.has_tsc = s.tsc < 0 ? is_tsc_usable() : s.tsc;
#if !defined(__x86_64__)
    P.has_tsc = 0;
#endif
    measure();
    read_boot_id();
    P.file = -1;
    P.intern = map_private(INTERN_SLOTS * sizeof(struct intern));
    P.slots = map_private(SLOTS_MAX * sizeof(struct slot));
    P.fork_state = map_wiped_on_fork(PAGE);
    const char *why;
    P.is_private = make_directory(&why) != 0;
    P.private_error = errno;
    P.scratch = map_private(ENTRY_MAX);
    if (!P.intern || !P.scratch || !P.slots || !P.fork_state || pthread_key_create(&P.key, thread_ends) != 0 ||
        make_process_file() != 0) {
        begun = 0;
        return -1;
    }
    make_signal_ring();
    __atomic_store_n(&P.fork_state->registered, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&is_started, 1, __ATOMIC_RELEASE);
    if (P.is_private)
        say(P.directory, why ? why : strerror(P.private_error),
            P.is_off ? "nothing is logged: " : "log records stay in this process: ");
    for (uint32_t at = 0; at < s.named_count; at++) {
        const whit_log_named *named = &s.named[at];
        whit_log_logger logger;
        if (whit_log_logger_make(&logger, named->name, NULL, 0) != 0) return -1;
        whit_log_set_levels(&logger, named->central == WHIT_LOG_LEVEL_UNSET ? s.level_central : named->central,
                            named->local == WHIT_LOG_LEVEL_UNSET ? s.level_local : named->local);
        apply_kept(&logger, named->name);
    }
    return P.is_private;
}

void whit_log_end(void)
{
    if (!is_started) return;
    int error = errno;
    if (P.settings.logs_per_second_max >= 0) {
        if (phase == 0) attach(0);
        struct thread_state *s = (struct thread_state *)whit_log_current;
        if (s->hot.busy == 0) {
            s->hot.busy = 1;
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            if (s->hot.data) report_suppressed(s);
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            s->hot.busy = 0;
        }
    }
    store32(P.base + P_ENDED, 1);
    errno = error;
}

/* ---- Levels that last: as crates/logring/src/kept_levels.rs ---- */

/* Whether a name fits a pattern, in which `*` stands for any text; an empty pattern fits all. */
static int fits_pattern(const char *pattern, size_t length, const char *name)
{
    const char *end = pattern + length, *star = NULL, *taken = NULL;
    if (length == 0) return 1;
    while (*name) {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            taken = name;
        } else if (pattern < end && *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++taken;
        } else {
            return 0;
        }
    }
    while (pattern < end && *pattern == '*') pattern++;
    return pattern == end;
}

/* Takes one line: five fields with tabs between them. */
static void apply_line(const char *line, const char *end, const char *name, uint8_t levels[2])
{
    const char *fields[6], *names[3] = {name, P.host, P.process};
    uint64_t numbers[2];
    int count = 0;
    fields[count++] = line;
    for (const char *at = line; at < end && count < 6; at++)
        if (*at == '\t') fields[count++] = at + 1;
    if (count != 5) return;
    for (int at = 0; at < 3; at++)
        if (!fits_pattern(fields[at], (size_t)(fields[at + 1] - fields[at] - 1), names[at])) return;
    for (int at = 0; at < 2; at++) {
        char digits[4] = "";
        size_t length = (size_t)((at ? end : fields[4] - 1) - fields[3 + at]);
        if (length < sizeof digits) memcpy(digits, fields[3 + at], length);
        numbers[at] = WHIT_LOG_LEVEL_UNSET;
        if (length == 1 && *digits == '-') continue;
        if (!parse_number(digits, WHIT_LOG_LEVEL_OFF, &numbers[at])) return;
        if (numbers[at] > WHIT_LOG_LEVEL_EMERGENCY && numbers[at] != WHIT_LOG_LEVEL_OFF) return;
    }
    for (int at = 0; at < 2; at++)
        if (numbers[at] != WHIT_LOG_LEVEL_UNSET) levels[at] = (uint8_t)numbers[at];
}

/* Gives a logger the levels that were set at run time and are to last. */
static void apply_kept(const whit_log_logger *logger, const char *name)
{
    enum { KEPT_BYTES = 256 << 10, KEPT_LINES = 256 };
    char path[NAME_MAX_BYTES];
    snprintf(path, sizeof path, "%s/levels", P.directory);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *text = file < 0 ? NULL : malloc(KEPT_BYTES);
    size_t length = 0;
    for (ssize_t count = 1; text && count > 0 && length < KEPT_BYTES; length += count > 0 ? (size_t)count : 0)
        count = read(file, text + length, KEPT_BYTES - length);
    if (file >= 0) close(file);
    if (!text) return;
    uint8_t levels[2] = {logger->level[1], logger->level[2]};
    const char *at = text, *behind = text + length;
    for (int line = 0; at < behind && line < KEPT_LINES; line++) {
        const char *end = memchr(at, '\n', (size_t)(behind - at));
        if (!end) end = behind;
        apply_line(at, end, name, levels);
        at = end + 1;
    }
    whit_log_set_levels(logger, levels[0], levels[1]);
    free(text);
}

static int find_logger(const char *name, size_t length)
{
    for (uint32_t at = 0; at < P.loggers; at++) {
        const unsigned char *entry = P.base + LOGGERS + (size_t)at * LOGGER_BYTES;
        if (entry[3] == length && memcmp(entry + LOGGER_NAME, name, length) == 0) return (int)at;
    }
    if (P.loggers >= LOGGERS_MAX) {
        errno = ENOSPC;
        return -1;
    }
    size_t offset = LOGGERS + (size_t)P.loggers * LOGGER_BYTES;
    if (P.file < 0 || allocate(P.file, offset, LOGGER_BYTES) != 0) return -1;
    unsigned char *entry = P.base + offset;
    uint8_t central = P.is_off ? WHIT_LOG_LEVEL_OFF : P.settings.level_central;
    uint8_t local = P.is_off ? WHIT_LOG_LEVEL_OFF : P.settings.level_local;
    entry[0] = central < local ? central : local;
    entry[1] = central;
    entry[2] = local;
    entry[3] = (unsigned char)length;
    memcpy(entry + LOGGER_NAME, name, length);
    store32(P.base + P_LOGGERS, P.loggers + 1);
    return (int)P.loggers++;
}

int whit_log_logger_make(whit_log_logger *logger, const char *name, const whit_log_pair *pairs, size_t count)
{
    size_t length = strlen(name);
    logger->level = level_off;
    logger->context = logger->index = 0;
    if (!is_started) return 0;
    if (length > LOGGER_NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (!lock_process()) {
        errno = EDEADLK;
        return -1;
    }
    uint32_t before = P.loggers;
    int index = find_logger(name, length);
    int is_new = P.loggers > before;
    uint32_t context = index < 0 ? 0 : add_context((uint32_t)index, pairs, count);
    unlock_process();
    if (index < 0) return -1;
    if (context == 0) {
        errno = ENOSPC;
        return -1;
    }
    logger->level = P.base + LOGGERS + (size_t)index * LOGGER_BYTES;
    logger->context = context;
    logger->index = (uint32_t)index;
    if (is_new) apply_kept(logger, name);
    return 0;
}

void whit_log_set_levels(const whit_log_logger *logger, uint8_t central, uint8_t local)
{
    if (logger->level == level_off || P.is_off) return;
    uint8_t *entry = P.base + LOGGERS + (size_t)logger->index * LOGGER_BYTES;
    __atomic_store_n(entry + 1, central, __ATOMIC_RELAXED);
    __atomic_store_n(entry + 2, local, __ATOMIC_RELAXED);
    __atomic_store_n(entry, central < local ? central : local, __ATOMIC_RELAXED);
}

uint32_t whit_log_context(const whit_log_pair *pairs, size_t count)
{
    if (!is_started || !lock_process()) return 0;
    uint32_t context = add_context(0, pairs, count);
    unlock_process();
    return context;
}

static void attach_if_new(int wants_whole)
{
    int error = errno;
    if (is_started && phase == 0) attach(wants_whole);
    errno = error;
}

void whit_log_attach_thread(void) { attach_if_new(1); }

uint32_t whit_log_set_scope(uint32_t context)
{
    attach_if_new(0);
    if (whit_log_current == &empty_state) return 0;
    uint32_t before = whit_log_current->scope;
    whit_log_current->scope = context;
    return before;
}

uint32_t whit_log_enter_scope(const whit_log_pair *pairs, size_t count)
{
    uint32_t context = whit_log_context(pairs, count), before = whit_log_set_scope(context);
    if (before == 0) return 0;
    /* Without room for it the scope stays as it was. */
    if (context == 0) whit_log_set_scope(before);
    else if (lock_process()) {
        uint32_t both = add_combination(before, context);
        unlock_process();
        whit_log_set_scope(both);
    }
    return before;
}

int whit_log_flush(int tier, uint64_t timeout_ns)
{
    if (!is_started || tier <= WHIT_LOG_TIER_RING) return 1;
    if (tier > WHIT_LOG_TIER_CENTRAL) tier = WHIT_LOG_TIER_CENTRAL;
    static const size_t most = SLOTS_MAX;
    struct { uint32_t number; uint64_t written; } *wanted = calloc(most, sizeof *wanted);
    size_t count = 0;
    if (!wanted) return 0;
    if (lock_process()) {
        for (size_t at = 0; at < P.slot_count; at++) {
            if (P.slots[at].used == FREE) continue;
            wanted[count].number = P.slots[at].number;
            wanted[count++].written = load64(P.slots[at].base + R_WRITE);
        }
        unlock_process();
    }
    uint64_t begin = clock_ns(CLOCK_BOOTTIME);
    store32(P.base + P_FLUSH, (uint32_t)tier);
    ring_doorbell();
    int is_safe = 0;
    for (;;) {
        uint32_t sequence = load32(P.base + STATUS);
        uint64_t remaining = 0;
        if (!lock_process()) break;
        for (size_t at = 0; at < P.slot_count; at++)
            for (size_t other = 0; P.slots[at].used != FREE && other < count; other++) {
                uint64_t mark = mark_of(&P.slots[at], tier - 1);
                if (wanted[other].number == P.slots[at].number && wanted[other].written > mark)
                    remaining += wanted[other].written - mark;
            }
        unlock_process();
        is_safe = remaining == 0;
        uint64_t waited = clock_ns(CLOCK_BOOTTIME) - begin;
        if (is_safe || waited >= timeout_ns) break;
        uint64_t rest = timeout_ns - waited;
        futex_wait(P.base + STATUS, sequence, rest < 2000000 ? rest : 2000000);
    }
    store32(P.base + P_FLUSH, 0);
    free(wanted);
    return is_safe;
}

/* Whether a reader has the lock of the process file; of a file that cannot be asked, yes. */
static int has_consumer(void)
{
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 1;
    lock.l_len = 1;
    if (!lock_process()) return 1;
    int asked = P.file < 0 ? -1 : fcntl(P.file, F_OFD_GETLK, &lock);
    unlock_process();
    return asked != 0 || lock.l_type != F_UNLCK;
}

int whit_log_get_status(whit_log_status *status)
{
    if (!is_started) return -1;
    const unsigned char *page = P.base + STATUS;
    status->sequence = load32(page);
    status->state = load32(page + 4);
    status->failure = load32(page + 8);
    status->consumer_pid = load32(page + 12);
    status->range_count = load64(page + 24);
    memcpy(status->message, page + 576, 255);
    status->message[255] = 0;
    if (status->state == WHIT_LOG_STATE_NONE || status->state == WHIT_LOG_STATE_ENDED) return 0;
    /* A reader that says it reads, and does not. */
    unsigned pid = status->consumer_pid;
    uint64_t beat = load64(page + 16), now = clock_ns(CLOCK_BOOTTIME);
    if (!has_consumer()) {
        status->state = WHIT_LOG_STATE_LOST;
        snprintf(status->message, sizeof status->message, "the consumer (process %u) is gone", pid);
    } else if (beat != 0 && now > beat && now - beat > SILENCE_MAX) {
        status->state = WHIT_LOG_STATE_LOST;
        snprintf(status->message, sizeof status->message,
                 "the consumer (process %u) has not looked for %llu s", pid,
                 (unsigned long long)((now - beat) / 1000000000u));
    }
    return 0;
}

int whit_log_get_range(uint64_t number, whit_log_range *range)
{
    if (!is_started) return -1;
    const unsigned char *at = P.base + STATUS + 64 + (number % 16) * 32;
    range->ring = load32(at);
    range->reason = load32(at + 4);
    range->first_sequence = load64(at + 8);
    range->last_sequence = load64(at + 16);
    range->number = load64(at + 24);
    return number < load64(P.base + STATUS + 24) && range->number == number ? 0 : -1;
}

static struct {
    pthread_t thread;
    whit_log_status_call *call;
    void *user;
    int is_running, is_over;
} watching;

static void *watch_status(void *unused)
{
    whit_log_status known, now;
    int is_first = 1;
    (void)unused;
    memset(&known, 0, sizeof known);
    while (!__atomic_load_n(&watching.is_over, __ATOMIC_ACQUIRE)) {
        whit_log_get_status(&now);
        if (is_first || now.state != known.state || now.failure != known.failure ||
            now.range_count != known.range_count || strcmp(now.message, known.message)) {
            watching.call(&now, watching.user);
            known = now;
            is_first = 0;
        }
        futex_wait(P.base + STATUS, now.sequence, 200000000);
    }
    return NULL;
}

int whit_log_watch_status(whit_log_status_call *call, void *user)
{
    if (!is_started || watching.is_running) {
        errno = is_started ? EBUSY : ENOTCONN;
        return -1;
    }
    watching.call = call;
    watching.user = user;
    watching.is_over = 0;
    int error = pthread_create(&watching.thread, NULL, watch_status, NULL);
    if (error != 0) {
        errno = error;
        return -1;
    }
    watching.is_running = 1;
    return 0;
}

void whit_log_unwatch_status(void)
{
    if (!watching.is_running) return;
    __atomic_store_n(&watching.is_over, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, P.base + STATUS, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    pthread_join(watching.thread, NULL);
    watching.is_running = 0;
}

void whit_log_wait_status(uint32_t sequence, uint64_t timeout_ns)
{
    if (is_started) futex_wait(P.base + STATUS, sequence, timeout_ns);
}
