/* RRDtool's C library: the client of the caching daemon.
 *
 * One connection, which all threads share.  Without a connection the functions return -1, or NULL,
 * and set no error. */
#ifndef WHIT_RRD_CLIENT_H
#define WHIT_RRD_CLIENT_H

#include <stdint.h>

#include "rrd.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RRDCACHED_DEFAULT_PORT "42217"
#define ENV_RRDCACHED_ADDRESS "RRDCACHED_ADDRESS"
#define ENV_RRDCACHED_STRIPPATH "RRDCACHED_STRIPPATH"

#define RRDC_STATS_TYPE_GAUGE 0x0001
#define RRDC_STATS_TYPE_COUNTER 0x0002

typedef struct rrdc_stats_s {
    const char *name;
    uint16_t type;
    uint16_t flags;
    union {
        uint64_t counter;
        double gauge;
    } value;
    struct rrdc_stats_s *next;
} rrdc_stats_t;

int rrdc_connect(const char *address);
int rrdc_is_connected(const char *address);
int rrdc_is_any_connected(void);
int rrdc_disconnect(void);
int rrdc_ping(void);
int rrdc_update(const char *file, int count, const char *const *values);
int rrdc_flush(const char *file);
int rrdc_flushall(void);
int rrdc_forget(const char *file);
int rrdc_flush_if_daemon(const char *address, const char *file);
int rrdc_flushall_if_daemon(const char *address);
rrd_info_t *rrdc_info(const char *file);
char *rrdc_list(int recursive, const char *folder);
time_t rrdc_last(const char *file);
time_t rrdc_first(const char *file, int archive);
int rrdc_create(const char *file, unsigned long step, time_t last_update, int no_overwrite,
                int argc, const char **argv);
int rrdc_create_r2(const char *file, unsigned long step, time_t last_update, int no_overwrite,
                   const char **sources, const char *template_, int argc, const char **argv);
int rrdc_fetch(const char *file, const char *function, time_t *start, time_t *end,
               unsigned long *step, unsigned long *source_count, char ***names,
               rrd_value_t **data);
int rrdc_stats_get(rrdc_stats_t **stats);
void rrdc_stats_free(rrdc_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
