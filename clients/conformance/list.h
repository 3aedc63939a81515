/* Reads the conformance list, for the programs in C and C++: README.md defines it. */
#ifndef WHIT_LOG_CONFORMANCE_LIST_H
#define WHIT_LOG_CONFORMANCE_LIST_H
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "whit_log.h"

enum { LIST_MAX = 64, FIELDS_MAX = 12 };

struct row {
    int form, level, logger, scope, is;
    int64_t i;
    uint64_t u;
    double f;
    char *t, *s;
};

static whit_log_logger loggers[LIST_MAX];
static uint32_t scopes[LIST_MAX + 1];
static int logger_count, scope_count;

/* COUNT*HEX. */
static char *text_of(const char *from)
{
    char *hex;
    size_t count = strtoul(from, &hex, 10), length = strcspn(++hex, "= \n") / 2;
    char *text = (char *)calloc(count * length + 1, 1);
    if (!text) abort();
    for (size_t at = 0; at < length; at++) {
        char two[3] = {hex[at * 2], hex[at * 2 + 1], 0};
        text[at] = (char)strtoul(two, NULL, 16);
    }
    for (size_t turn = 1; turn < count; turn++) memcpy(text + turn * length, text, length);
    return text;
}

static int split(char *line, char **fields)
{
    int count = 0;
    for (char *word = strtok(line, " \n"); word && count < FIELDS_MAX; word = strtok(NULL, " \n")) fields[count++] = word;
    return count;
}

static size_t pairs_of(char **fields, int count, whit_log_pair *pairs)
{
    for (int at = 0; at < count; at++) {
        pairs[at].name = text_of(fields[at]);
        pairs[at].value = text_of(strchr(fields[at], '=') + 1);
    }
    return (size_t)count;
}

static struct row row_of(char **fields)
{
    struct row row;
    uint64_t bits = strtoull(fields[7], NULL, 10);
    row.form = atoi(fields[1]);
    row.level = atoi(fields[2]);
    row.logger = atoi(fields[3]);
    row.scope = atoi(fields[4]);
    row.i = strtoll(fields[5], NULL, 10);
    row.u = strtoull(fields[6], NULL, 10);
    memcpy(&row.f, &bits, sizeof bits);
    row.is = atoi(fields[8]);
    row.t = text_of(fields[9]);
    row.s = text_of(fields[10]);
    return row;
}

/* Logs a record: what the program in C or C++ is about. */
static void log_row(const whit_log_logger *log, const struct row *row);

static void write_row(char *line)
{
    char *fields[FIELDS_MAX];
    if (split(line, fields) != 11) abort();
    struct row row = row_of(fields);
    uint32_t before = whit_log_set_scope(scopes[row.scope]);
    log_row(&loggers[row.logger], &row);
    whit_log_set_scope(before);
    free(row.t);
    free(row.s);
}

struct part { char **lines; long count; };

static void *write_part(void *given)
{
    struct part *part = (struct part *)given;
    for (long at = 0; at < part->count; at++) write_row(part->lines[at]);
    return NULL;
}

static void in_thread(struct part *part)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_part, part) != 0 || pthread_join(thread, NULL) != 0) abort();
}

static void in_child(struct part *part)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        write_part(part);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
}

static void define(char *line)
{
    char *fields[FIELDS_MAX];
    whit_log_pair pairs[FIELDS_MAX];
    int count = split(line, fields);
    if (strcmp(fields[0], "logger") == 0) {
        size_t number = pairs_of(fields + 2, count - 2, pairs);
        whit_log_logger *log = &loggers[logger_count++];
        if (whit_log_logger_make(log, text_of(fields[1]), pairs, number) != 0) abort();
        whit_log_set_levels(log, WHIT_LOG_LEVEL_TRACE, WHIT_LOG_LEVEL_TRACE);
    } else {
        scopes[++scope_count] = whit_log_context(pairs, pairs_of(fields + 1, count - 1, pairs));
    }
}

static int run_list(const char *path, long first)
{
    FILE *file = fopen(path, "r");
    char *line = NULL, **lines = NULL;
    size_t size = 0;
    long count = 0;
    while (file && getline(&line, &size, file) > 0) {
        if (!(lines = (char **)realloc(lines, (size_t)(count + 1) * sizeof *lines))) abort();
        lines[count++] = strdup(line);
    }
    if (!file) return 66;
    for (long at = 0; at < count; at++)
        if (strncmp(lines[at], "logger ", 7) == 0 || strncmp(lines[at], "scope ", 6) == 0) define(lines[at]);
    for (long at = first; at < count; at++) {
        struct part part = {lines + at + 1, 0};
        if (strncmp(lines[at], "record ", 7) == 0) write_row(lines[at]);
        else if (strncmp(lines[at], "kill", 4) == 0) kill(getpid(), SIGKILL);
        else if (sscanf(lines[at], "thread %ld", &part.count) == 1) in_thread(&part);
        else if (sscanf(lines[at], "process %ld", &part.count) == 1) in_child(&part);
        at += part.count;
    }
    whit_log_end();
    return 0;
}
#endif
