/* Writes the conformance list through the C client's macros. */
#define _GNU_SOURCE
#include "list.h"

#define WITH_LEVEL(level)                                                                                  \
    case level:                                                                                            \
        switch (row->form) {                                                                               \
        case 0: WHIT_LOG_AT(log, level, "constant text"); break;                                           \
        case 1: WHIT_LOG_AT(log, level, "100%% of {braces}"); break;                                       \
        case 2: WHIT_LOG_AT(log, level, "signed %ld", (long)row->i); break;                                \
        case 3: WHIT_LOG_AT(log, level, "unsigned %lu", (unsigned long)row->u); break;                     \
        case 4: WHIT_LOG_AT(log, level, "float %.3f", row->f); break;                                      \
        case 5: WHIT_LOG_AT(log, level, "text %s", row->t); break;                                         \
        case 6:                                                                                            \
            WHIT_LOG_AT(log, level, "mixed %s %ld %s %lu", row->t, (long)row->i, row->s, (unsigned long)row->u); \
            break;                                                                                         \
        case 7:                                                                                            \
            WHIT_LOG_WITH(log, level,                                                                      \
                          (WHIT_LOG_DATA("Signed", row->i), WHIT_LOG_DATA("Unsigned", row->u),             \
                           WHIT_LOG_DATA("Float", row->f), WHIT_LOG_DATA("Is", (_Bool)row->is),            \
                           WHIT_LOG_DATA("Text", row->t)),                                                 \
                          "data %ld", (long)row->i);                                                       \
            break;                                                                                         \
        case 8:                                                                                            \
            WHIT_LOG_WITH(log, level,                                                                      \
                          (WHIT_LOG_DATA("StackId", row->s), WHIT_LOG_DATA("StackLevel", row->i),          \
                           WHIT_LOG_DATA("exception.stacktrace", row->t)),                                 \
                          "failed: %s", row->t);                                                           \
            break;                                                                                         \
        case 9:                                                                                            \
            WHIT_LOG_AT(log, level, "many %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld",  \
                        i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);                                   \
            break;                                                                                         \
        case 10: WHIT_LOG_AT(log, level, "%s", row->t); break;                                             \
        default: abort();                                                                                  \
        }                                                                                                  \
        break;

static void log_row(const whit_log_logger *log, const struct row *row)
{
    const long i = (long)row->i;
    switch (row->level) {
        WITH_LEVEL(1) WITH_LEVEL(2) WITH_LEVEL(3) WITH_LEVEL(4) WITH_LEVEL(5)
        WITH_LEVEL(6) WITH_LEVEL(8) WITH_LEVEL(9) WITH_LEVEL(10) WITH_LEVEL(11)
    default: abort();
    }
}

int main(int count, char **words)
{
    if (count != 3 || whit_log_start(NULL) < 0) return 64;
    return run_list(words[1], atol(words[2]));
}
