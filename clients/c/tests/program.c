/* What the tests of the C client run: a role and a directory.  A reader decodes what it wrote. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drain.h"
#include "whit_log.h"

static whit_log_logger logger;
static const char *directory;
static int logs_per_second_max = -1, is_private;

static void begin(int policy, uint64_t ring_bytes)
{
    whit_log_settings settings;
    whit_log_defaults(&settings);
    settings.directory = directory;
    settings.host_name = "host";
    settings.process_name = "c";
    settings.ring_bytes = ring_bytes;
    settings.block_timeout_ns = 200000000;
    settings.logs_per_second_max = logs_per_second_max;
    if (ring_bytes < 1 << 16) settings.ring_bytes_max = 1 << 16;
    memset(settings.policies, WHIT_LOG_OVERWRITE + 1, sizeof settings.policies);
    if (whit_log_start(&settings) != -1 || errno != EINVAL) exit(2);
    memset(settings.policies, policy, sizeof settings.policies);
    is_private = whit_log_start(&settings);
    if (is_private < 0 || whit_log_logger_make(&logger, "CONTROL/PM01", NULL, 0) != 0) {
        perror("start");
        exit(1);
    }
    if (whit_log_start(&settings) != -1 || errno != EALREADY) exit(2);
}

/* Logs where a program does that names no folder. */
static void log_by_default(void)
{
    if (whit_log_start(NULL) < 0 || whit_log_logger_make(&logger, "default", NULL, 0) != 0) exit(1);
    WHIT_LOG_INFO(&logger, "by default");
}

static int evaluated;
static int evaluate(void) { return ++evaluated; }

static void everything(void)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    char text[] = "own";
    _Bool is = 1;
    errno = 77;
    WHIT_LOG_INFO(&logger, "nothing");
    if (errno != 77) exit(3);
    WHIT_LOG_ERROR(&logger, "%d %u %ld %llu %c %s %s %.3f %p %d", -1, 2u, LONG_MIN, ULLONG_MAX, 'x', "text", text,
                   2.5, (void *)0x10, is);
    WHIT_LOG_NOTICE(&logger, "%s %*d|%-5s|%5.1f%%", "", 6, 42, "ab", 99.5);
    WHIT_LOG_WARNING(&logger, "%s", (const char *)NULL);
    whit_log_set_levels(&logger, WHIT_LOG_LEVEL_WARNING, WHIT_LOG_LEVEL_WARNING);
    WHIT_LOG_DEBUG(&logger, "never %d", evaluate());
    if (evaluated != 0) exit(4);
    WHIT_LOG_EMERGENCY(&logger, "once %d", evaluate());
    if (evaluated != 1) exit(5);
    whit_log_pair pairs[] = {{"Antenna", "DV01"}, {"Audience", "Operator"}};
    whit_log_pair array[] = {{"Array", "A1"}};
    whit_log_logger antenna;
    if (whit_log_logger_make(&antenna, "CONTROL/PM01", pairs, 2) != 0) exit(6);
    uint32_t before = whit_log_set_scope(whit_log_context(array, 1));
    WHIT_LOG_ALERT(&antenna, "in scope %d", 1);
    whit_log_set_scope(before);
    WHIT_LOG_CRITICAL(&antenna, "out of scope %d", 2);
    char *longer = malloc(2000001);
    memset(longer, 'y', 2000000);
    longer[2000000] = 0;
    WHIT_LOG_CRITICAL(&logger, "long %s %d", longer, 7);
    free(longer);
    if (whit_log_flush(WHIT_LOG_TIER_RING, 0) != 1 || whit_log_flush(WHIT_LOG_TIER_READ, 1000000) != 0) exit(7);
    whit_log_end();
}

static void endless(void)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    char path[4096];
    snprintf(path, sizeof path, "%s/completed", directory);
    int note = open(path, O_RDWR | O_CREAT, 0600);
    for (uint64_t number = 0; number < 1000000;) {
        WHIT_LOG_INFO(&logger, "%lu %s", (unsigned long)number, "some text");
        number++;
        if (pwrite(note, &number, 8, 0) != 8) exit(1);
        if (number == 1) {
            puts("ready");
            fflush(stdout);
        }
    }
}

/* As the other clients of the tests that kill: records of thread and number, until the end. */
static void until_killed(void)
{
    begin(WHIT_LOG_GROW, 1 << 18);
    char path[4096];
    snprintf(path, sizeof path, "%s/completed-%d", directory, (int)getpid());
    int note = open(path, O_RDWR | O_CREAT, 0600);
    for (uint64_t number = 0;;) {
        WHIT_LOG_INFO(&logger, "thread %lu number %lu %s", 0ul, (unsigned long)number, "text");
        number++;
        if (pwrite(note, &number, 8, 0) != 8) exit(1);
    }
}

static void *one_record(void *number)
{
    WHIT_LOG_INFO(&logger, "%lu thread", (unsigned long)(uintptr_t)number);
    return NULL;
}

static void fork_and_log(void)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    WHIT_LOG_INFO(&logger, "%d before", 0);
    for (int child = 1; child <= 3; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int number = 0; number < 1000; number++) WHIT_LOG_INFO(&logger, "%d in the child", child * 10000 + number);
            whit_log_logger own;
            if (whit_log_logger_make(&own, "of the child", NULL, 0) != 0) _exit(1);
            WHIT_LOG_WARNING(&own, "%d new place", child);
            pthread_t thread;
            pthread_create(&thread, NULL, one_record, (void *)(uintptr_t)child);
            pthread_join(thread, NULL);
            _exit(0);
        }
        for (int number = 0; number < 100; number++) WHIT_LOG_INFO(&logger, "%d in the parent", child * 100 + number);
        int status;
        waitpid(pid, &status, 0);
        if (status != 0) exit(1);
    }
}

/* Parent and children, alive together: each says how many calls were its own. */
static void fork_and_stay(void)
{
    begin(WHIT_LOG_GROW, 1 << 18);
    int calls = 100;
    for (int number = 0; number < calls; number++) WHIT_LOG_INFO(&logger, "%d of %d", number, calls);
    whit_log_flush(WHIT_LOG_TIER_READ, 10000000000u);
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    pid_t parent = getpid();
    for (int child = 1; child <= 2 && getpid() == parent; child++) {
        /* The consumer has told the counts of the parent. */
        usleep(1200000);
        if (fork() == 0) calls = 30 * child;
    }
    if (getpid() != parent)
        for (int number = 0; number < calls; number++) WHIT_LOG_INFO(&logger, "%d of %d", number, calls);
    printf("> logged %d %d\n", (int)getpid(), calls);
    fflush(stdout);
    char end;
    if (getpid() != parent) {
        close(ends[1]);
        if (read(ends[0], &end, 1) != 0) _exit(1);
        _exit(0);
    }
    while (read(0, &end, 1) > 0) {}
    close(ends[1]);
    while (wait(NULL) > 0) {}
}

static void churn(void)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    for (uintptr_t round = 0; round < 50; round++) {
        pthread_t threads[20];
        for (uintptr_t at = 0; at < 20; at++) pthread_create(&threads[at], NULL, one_record, (void *)(round * 20 + at));
        for (int at = 0; at < 20; at++) pthread_join(threads[at], NULL);
    }
}

static volatile uint64_t signals;

static void handler(int number)
{
    (void)number;
    signals++;
    WHIT_LOG_INFO(&logger, "%lu in the handler", (unsigned long)signals);
}

static void signals_and_log(void)
{
    begin(WHIT_LOG_GROW, 64 << 20);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 50}, {0, 50}}, off = {{0, 0}, {0, 0}};
    WHIT_LOG_INFO(&logger, "%d first", 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    uint64_t own = 0;
    for (; own < 1200000 && signals < 2000; own++) WHIT_LOG_INFO(&logger, "%lu own", (unsigned long)own);
    setitimer(ITIMER_REAL, &off, NULL);
    usleep(1000);
    printf("own=%lu signals=%lu\n", (unsigned long)own, (unsigned long)signals);
}

static void fill(int policy)
{
    begin(policy, 8192);
    for (int number = 0; number < 1000; number++) WHIT_LOG_INFO(&logger, "%d", number);
}

/* Pages that a burst of a thread maps which has not asked for its whole ring. */
static void count_faults(void)
{
    struct rusage before, after;
    begin(WHIT_LOG_GROW, 1 << 20);
    WHIT_LOG_INFO(&logger, "%d", 0);
    getrusage(RUSAGE_THREAD, &before);
    for (int number = 1; number < 10000; number++) WHIT_LOG_INFO(&logger, "%d %f %f", number, 1.5, 2.5);
    getrusage(RUSAGE_THREAD, &after);
    printf("faults=%ld.\n", after.ru_minflt - before.ru_minflt);
}

/* A thread that has asked for its whole ring. */
static void attach_and_log(void)
{
    begin(WHIT_LOG_GROW, 1 << 18);
    whit_log_attach_thread();
    for (int number = 0; number < 2000; number++) WHIT_LOG_INFO(&logger, "%d", number);
}

/* Thirty threads with a ring each; stays until its input ends. */
static void *one_record_each(void *number)
{
    static pthread_barrier_t all;
    if (!number) {
        pthread_barrier_init(&all, NULL, 31);
        return &all;
    }
    WHIT_LOG_INFO(&logger, "%lu", (unsigned long)(uintptr_t)number - 1);
    pthread_barrier_wait(&all);
    return NULL;
}

static void log_and_stay(void)
{
    pthread_t threads[30];
    char end;
    begin(WHIT_LOG_GROW, 1 << 20);
    pthread_barrier_t *all = one_record_each(NULL);
    for (uintptr_t at = 0; at < 30; at++) pthread_create(&threads[at], NULL, one_record_each, (void *)(at + 1));
    pthread_barrier_wait(all);
    for (int at = 0; at < 30; at++) pthread_join(threads[at], NULL);
    printf("private=%d\n", is_private);
    fflush(stdout);
    while (read(0, &end, 1) > 0) {}
}

/* As the Rust clients of log_central/tests/acs_losses.rs. */
enum { CALLS = 5000, LEVEL_CALLS = 3000 };

static void log_throttled(void)
{
    logs_per_second_max = 100;
    begin(WHIT_LOG_GROW, 1 << 20);
    for (int number = 0; number < CALLS; number++) WHIT_LOG_INFO(&logger, "%d", number);
    whit_log_end();
}

static void *log_both_levels(void *from)
{
    for (int number = 0; number < 500; number++) {
        WHIT_LOG_INFO(&logger, "%lu", (unsigned long)(uintptr_t)from + (unsigned long)number);
        WHIT_LOG_ERROR(&logger, "%lu error", (unsigned long)(uintptr_t)from + (unsigned long)number);
    }
    return NULL;
}

/* As "throttle" of logger/tests/life.rs: four threads, a child of fork, and more a second later. */
static void throttle(void)
{
    logs_per_second_max = 50;
    begin(WHIT_LOG_GROW, 1 << 20);
    pthread_t threads[4];
    for (uintptr_t at = 0; at < 4; at++) pthread_create(&threads[at], NULL, log_both_levels, (void *)(at * 1000));
    for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
    pid_t pid = fork();
    if (pid == 0) {
        log_both_levels((void *)4000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    usleep(1100000);
    log_both_levels((void *)5000);
    whit_log_end();
}

static void log_and_die(const char *how)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    for (int number = 0; number < CALLS; number++) WHIT_LOG_INFO(&logger, "%d", number);
    if (!strcmp(how, "die-abort")) abort();
    if (!strcmp(how, "die-kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "die-segv")) *(volatile int *)(uintptr_t)directory[0] = 1;
    _exit(3);
}

static void *log_all_levels(void *thread)
{
    unsigned long own = (unsigned long)(uintptr_t)thread;
    for (int number = 0; number < LEVEL_CALLS; number++) {
        WHIT_LOG_TRACE(&logger, "%lu %d %s", own, number, "trace");
        WHIT_LOG_DELOUSE(&logger, "%lu %d %s", own, number, "delouse");
        WHIT_LOG_DEBUG(&logger, "%lu %d %s", own, number, "debug");
        WHIT_LOG_INFO(&logger, "%lu %d %s", own, number, "info");
        WHIT_LOG_NOTICE(&logger, "%lu %d %s", own, number, "notice");
        WHIT_LOG_WARNING(&logger, "%lu %d %s", own, number, "warning");
        WHIT_LOG_ERROR(&logger, "%lu %d %s", own, number, "error");
        WHIT_LOG_CRITICAL(&logger, "%lu %d %s", own, number, "critical");
        WHIT_LOG_ALERT(&logger, "%lu %d %s", own, number, "alert");
        WHIT_LOG_EMERGENCY(&logger, "%lu %d %s", own, number, "emergency");
    }
    return NULL;
}

static void burst(void)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    whit_log_set_levels(&logger, WHIT_LOG_LEVEL_TRACE, WHIT_LOG_LEVEL_TRACE);
    pthread_t threads[2];
    for (uintptr_t at = 0; at < 2; at++) pthread_create(&threads[at], NULL, log_all_levels, (void *)(at + 1));
    for (int at = 0; at < 2; at++) pthread_join(threads[at], NULL);
}

static void say_status(const whit_log_status *status, void *user)
{
    static uint64_t said;
    (void)user;
    for (; said < status->range_count; said++) {
        whit_log_range range;
        if (whit_log_get_range(said, &range) == 0)
            printf("> range %u %u %llu %llu\n", range.ring, range.reason,
                   (unsigned long long)range.first_sequence, (unsigned long long)range.last_sequence);
    }
    printf("> state %u %u %s\n", status->state, status->failure, status->message);
    fflush(stdout);
}

/* Does what its input says, and says what it is told: see log_central/tests/status.rs. */
static void talk(void)
{
    char line[100];
    unsigned long long one, other;
    begin(WHIT_LOG_GROW, 1 << 20);
    if (whit_log_watch_status(say_status, NULL) != 0) exit(1);
    if (whit_log_watch_status(say_status, NULL) == 0) exit(1);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "log %llu", &one) == 1) {
            for (unsigned long long number = 0; number < one; number++) WHIT_LOG_INFO(&logger, "%llu", number);
            printf("> logged\n");
        } else if (sscanf(line, "debug %llu", &one) == 1) {
            for (unsigned long long number = 0; number < one; number++) WHIT_LOG_DEBUG(&logger, "%llu", number);
            printf("> logged\n");
        } else if (sscanf(line, "levels %llu %llu", &one, &other) == 2) {
            whit_log_set_levels(&logger, (uint8_t)one, (uint8_t)other);
            printf("> set\n");
        } else if (sscanf(line, "flush %llu %llu", &one, &other) == 2) {
            printf("> flush %d\n", whit_log_flush((int)one, other * 1000000));
        } else if (sscanf(line, "sync %llu %llu", &one, &other) == 2) {
            int done = WHIT_LOG_SYNC(&logger, WHIT_LOG_LEVEL_ALERT, (int)one, other * 1000000, "%d", 7);
            printf("> flush %d\n", done);
        }
        fflush(stdout);
    }
    whit_log_unwatch_status();
}

/* ---- As crates/logger/tests/features.rs does in Rust, and program.cpp in C++. ---- */

static void spans(void)
{
    WHIT_LOG_TRACE_SCOPE(&logger);
    WHIT_LOG_STOP_WATCH(&logger, "reading");
    WHIT_LOG_INFO(&logger, "within");
}

static void guarded(whit_log_repeat_guard *guard, const char *name, int calls)
{
    for (int call = 0; call < calls; call++) {
        long long suppressed = whit_log_guard_check(guard);
        if (suppressed >= 0) WHIT_LOG_INFO(&logger, "%s %d after %lld", name, call, suppressed);
    }
}

static void features(void)
{
    static whit_log_repeat_guard by_count = WHIT_LOG_GUARD_COUNT(3), by_time = WHIT_LOG_GUARD_INTERVAL(3600000),
                                 by_both = WHIT_LOG_GUARD_BOTH(2, 3600000),
                                 by_either = WHIT_LOG_GUARD_EITHER(3, 3600000);
    const whit_log_pair array[] = {{"Array", "A1"}}, audience[] = {{"Audience", "Operator"}, {"Antenna", "DV02"}};
    const whit_log_pair antenna[] = {{"Antenna", "DV01"}};
    whit_log_logger log;
    char name[301], text[300001];
    memset(name, 'n', 300);
    memset(text, 't', 300000);
    name[300] = text[300000] = 0;
    begin(WHIT_LOG_GROW, 1 << 18);
    if (whit_log_logger_make(&log, "of/antenna", antenna, 1) != 0) exit(1);
    WHIT_LOG_WITH(&logger, WHIT_LOG_LEVEL_ERROR,
                  (WHIT_LOG_DATA("FullPath", "/tmp/x"), WHIT_LOG_DATA("StackLevel", 2), WHIT_LOG_DATA("Ratio", 2.5),
                   WHIT_LOG_DATA("Is", (_Bool)1), WHIT_LOG_DATA("", 7u)),
                  "cannot open %s: %d", "x", 5);
    WHIT_LOG_WITH(&log, WHIT_LOG_LEVEL_NOTICE, (WHIT_LOG_DATA(name, text)), "long");
    WHIT_LOG_WITH(&logger, WHIT_LOG_LEVEL_TRACE, (WHIT_LOG_DATA("Never", evaluate())), "never");
    uint32_t none = whit_log_enter_scope(array, 1);
    WHIT_LOG_INFO(&log, "outer");
    uint32_t outer = whit_log_enter_scope(audience, 2);
    WHIT_LOG_WITH(&log, WHIT_LOG_LEVEL_WARNING, (WHIT_LOG_DATA("Uri", "http://x")), "inner %d", 1);
    whit_log_set_scope(outer);
    WHIT_LOG_INFO(&log, "outer again");
    whit_log_set_scope(none);
    WHIT_LOG_INFO(&log, "out of scope");
    spans();
    whit_log_set_levels(&logger, WHIT_LOG_LEVEL_TRACE, WHIT_LOG_LEVEL_TRACE);
    spans();
    whit_log_set_levels(&logger, WHIT_LOG_LEVEL_INFO, WHIT_LOG_LEVEL_TRACE);
    spans();
    whit_log_set_levels(&logger, WHIT_LOG_LEVEL_INFO, WHIT_LOG_LEVEL_OFF);
    spans();
    for (int number = 0; number < 10; number++)
        WHIT_LOG_LIMITED(&logger, WHIT_LOG_LEVEL_INFO, 3, 3600000, "limited %d", number);
    guarded(&by_count, "count", 7);
    guarded(&by_time, "time", 5);
    guarded(&by_both, "both", 5);
    guarded(&by_either, "either", 7);
    whit_log_guard_reset(&by_either);
    guarded(&by_either, "reset", 2);
    if (evaluated != 0) exit(2);
}

/* A limit, whose interval passes once more before the last call. */
static void limited(void)
{
    begin(WHIT_LOG_GROW, 1 << 20);
    for (int call = 0; call <= 1000; call++) {
        if (call == 1000) usleep(60000);
        WHIT_LOG_LIMITED(&logger, WHIT_LOG_LEVEL_WARNING, 2, 50, "limited %d", call);
    }
}

static void print_settings(const whit_log_settings *settings, const char *said)
{
    printf("%s %u %u %u %u %d", said, settings->level_central, settings->level_local, settings->wake_level,
           settings->packet_records, settings->logs_per_second_max);
    for (uint32_t at = 0; at < settings->named_count; at++)
        printf(" %s %u %u", settings->named[at].name, settings->named[at].central, settings->named[at].local);
    printf("\n");
}

/* Applies each line NAME=VALUE of its input to the defaults, and prints what becomes of them. */
static void acs_names(void)
{
    char line[1000];
    whit_log_settings settings;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *value = strchr(line, '=');
        if (!value) exit(1);
        *value++ = 0;
        whit_log_defaults(&settings);
        const char *why = whit_log_set_acs(&settings, line, value);
        print_settings(&settings, why ? why : "taken");
    }
    whit_log_defaults(&settings);
    int refused = whit_log_set_acs_environment(&settings);
    print_settings(&settings, refused == 1 ? "one refused" : "");
}

/* Logs with settings of ACS's names, NAME=VALUE in the environment. */
static void log_by_acs(void)
{
    whit_log_settings settings;
    const char *set = getenv("WHIT_LOG_ACS");
    char name[100], *value;
    whit_log_defaults(&settings);
    settings.directory = directory;
    snprintf(name, sizeof name, "%s", set ? set : "");
    value = strchr(name, '=');
    if (value) *value++ = 0;
    if (value && whit_log_set_acs(&settings, name, value)) exit(1);
    if (whit_log_start(&settings) < 0 || whit_log_logger_make(&logger, "named", NULL, 0) != 0) exit(2);
    for (int number = 0; number < 10; number++) WHIT_LOG_INFO(&logger, "%d", number);
    for (int number = 0; number < 2; number++) WHIT_LOG_ERROR(&logger, "%d", number);
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Bursts of 10,000 calls: median of the means, ns a call.  The ring holds them all. */
#define BURST(name, ...)                                                     \
    do {                                                                     \
        double means[51];                                                    \
        for (int round = 0; round < 51; round++) {                           \
            drain(directory);                                                \
            double start = now_ns();                                         \
            for (int i = 0; i < 10000; i++) __VA_ARGS__;                     \
            means[round] = (now_ns() - start) / 10000;                       \
        }                                                                    \
        qsort(means, 51, sizeof means[0], compare);                          \
        printf("%s %.2f\n", name, means[25]);                                \
    } while (0)

static void bench(void)
{
    const char *volatile text = "a text of forty bytes, which is copied..";
    begin(WHIT_LOG_BLOCK, 1 << 20);
    whit_log_set_levels(&logger, 4, 4);
    BURST("disabled", WHIT_LOG_DEBUG(&logger, "%d %f %d", i, 2.5, i));
    BURST("three", WHIT_LOG_INFO(&logger, "%d %f %d", i, (double)i, -5));
    BURST("text", WHIT_LOG_INFO(&logger, "%s", text));
}

int main(int count, char **words)
{
    if (count != 3) return 64;
    const char *role = words[1];
    directory = words[2];
    if (!strcmp(role, "everything")) everything();
    else if (!strcmp(role, "endless")) endless();
    else if (!strcmp(role, "until-killed")) until_killed();
    else if (!strcmp(role, "fork")) fork_and_log();
    else if (!strcmp(role, "fork-talk")) fork_and_stay();
    else if (!strcmp(role, "churn")) churn();
    else if (!strcmp(role, "signal")) signals_and_log();
    else if (!strcmp(role, "drop")) fill(WHIT_LOG_DROP);
    else if (!strcmp(role, "overwrite")) fill(WHIT_LOG_OVERWRITE);
    else if (!strcmp(role, "grow")) fill(WHIT_LOG_GROW);
    else if (!strcmp(role, "block")) fill(WHIT_LOG_BLOCK);
    else if (!strcmp(role, "attach")) attach_and_log();
    else if (!strcmp(role, "faults")) count_faults();
    else if (!strcmp(role, "stay")) log_and_stay();
    else if (!strcmp(role, "throttled")) log_throttled();
    else if (!strcmp(role, "throttle")) throttle();
    else if (!strncmp(role, "die-", 4)) log_and_die(role);
    else if (!strcmp(role, "default")) log_by_default();
    else if (!strcmp(role, "burst")) burst();
    else if (!strcmp(role, "talk")) talk();
    else if (!strcmp(role, "features")) features();
    else if (!strcmp(role, "limited")) limited();
    else if (!strcmp(role, "acs-names")) acs_names();
    else if (!strcmp(role, "acs")) log_by_acs();
    else if (!strcmp(role, "bench")) bench();
    else return 64;
    return 0;
}
