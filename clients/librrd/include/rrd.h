/* RRDtool's C library, librrd.so.8: the functions that it exports.
 *
 * For programs that are compiled against RRDtool 1.7.2; the same functions, types and numbers.
 * A function that fails returns -1, or NULL, and sets the error of its thread.  What a function
 * gives out is freed by free(), lists by their own functions. */
#ifndef WHIT_RRD_H
#define WHIT_RRD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values: unknown is not a number. */
typedef double rrd_value_t;

double rrd_set_to_DNAN(void);
double rrd_set_to_DINF(void);
#ifndef DNAN
#define DNAN rrd_set_to_DNAN()
#endif
#ifndef DINF
#define DINF rrd_set_to_DINF()
#endif

/* The error of each thread. */
typedef struct rrd_context {
    char lib_errstr[256];
    char rrd_error[4096];
} rrd_context_t;

void rrd_set_error(char *format, ...);
void rrd_clear_error(void);
int rrd_test_error(void);
char *rrd_get_error(void);
const char *rrd_strerror(int number);
rrd_context_t *rrd_get_context(void);
rrd_context_t *rrd_new_context(void);
void rrd_free_context(rrd_context_t *context);

/* Keys and values. */
typedef enum rrd_info_type {
    RD_I_VAL = 0,
    RD_I_CNT,
    RD_I_STR,
    RD_I_INT,
    RD_I_BLO
} rrd_info_type_t;

typedef struct rrd_blob_t {
    unsigned long size;
    unsigned char *ptr;
} rrd_blob_t;

typedef union rrd_infoval {
    unsigned long u_cnt;
    rrd_value_t u_val;
    char *u_str;
    int u_int;
    rrd_blob_t u_blo;
} rrd_infoval_t;

typedef struct rrd_info_t {
    char *key;
    rrd_info_type_t type;
    rrd_infoval_t value;
    struct rrd_info_t *next;
} rrd_info_t;

rrd_info_t *rrd_info_push(rrd_info_t *after, char *key, rrd_info_type_t type, rrd_infoval_t value);
void rrd_info_print(rrd_info_t *list);
void rrd_info_free(rrd_info_t *list);

/* Commands: argv[0] is the name of the command. */
int rrd_create(int argc, char **argv);
int rrd_update(int argc, char **argv);
rrd_info_t *rrd_update_v(int argc, char **argv);
int rrd_graph(int argc, char **argv, char ***prints, int *width, int *height, FILE *stream,
              double *minimum, double *maximum);
rrd_info_t *rrd_graph_v(int argc, char **argv);
int rrd_fetch(int argc, char **argv, time_t *start, time_t *end, unsigned long *step,
              unsigned long *source_count, char ***names, rrd_value_t **data);
int rrd_xport(int argc, char **argv, int *size, time_t *start, time_t *end, unsigned long *step,
              unsigned long *column_count, char ***legends, rrd_value_t **data);
rrd_info_t *rrd_info(int argc, char **argv);
time_t rrd_last(int argc, char **argv);
time_t rrd_first(int argc, char **argv);
int rrd_lastupdate(int argc, char **argv);
int rrd_dump(int argc, char **argv);
int rrd_restore(int argc, char **argv);
int rrd_resize(int argc, char **argv);
int rrd_tune(int argc, char **argv);
char *rrd_list(int argc, char **argv);
int rrd_flushcached(int argc, char **argv);

/* The same with plain values. */
#define RRD_SKIP_PAST_UPDATES 0x01

typedef size_t (*rrd_output_callback_t)(const void *piece, size_t size, void *user);

int rrd_create_r(const char *file, unsigned long step, time_t last_update, int argc,
                 const char **argv);
int rrd_create_r2(const char *file, unsigned long step, time_t last_update, int no_overwrite,
                  const char **sources, const char *template_, int argc, const char **argv);
int rrd_update_r(const char *file, const char *template_, int argc, const char **argv);
int rrd_updatex_r(const char *file, const char *template_, int flags, int argc, const char **argv);
int rrd_update_v_r(const char *file, const char *template_, int argc, const char **argv,
                   rrd_info_t *summary);
int rrd_updatex_v_r(const char *file, const char *template_, int flags, int argc,
                    const char **argv, rrd_info_t *summary);
int rrd_fetch_r(const char *file, const char *function, time_t *start, time_t *end,
                unsigned long *step, unsigned long *source_count, char ***names,
                rrd_value_t **data);
rrd_info_t *rrd_info_r(const char *file);
time_t rrd_last_r(const char *file);
time_t rrd_first_r(const char *file, int archive);
int rrd_lastupdate_r(const char *file, time_t *last_update, unsigned long *source_count,
                     char ***names, char ***readings);
int rrd_dump_r(const char *file, char *target);
int rrd_dump_opt_r(const char *file, char *target, int heading);
int rrd_dump_cb_r(const char *file, int heading, rrd_output_callback_t callback, void *user);
char *rrd_list_r(int recursive, char *folder);

/* Answers for files whose names begin with "cb//". */
enum cf_en {
    CF_AVERAGE = 0,
    CF_MINIMUM,
    CF_MAXIMUM,
    CF_LAST,
    CF_HWPREDICT,
    CF_SEASONAL,
    CF_DEVPREDICT,
    CF_DEVSEASONAL,
    CF_FAILURES,
    CF_MHWPREDICT
};

typedef int (*rrd_fetch_cb_t)(const char *file, enum cf_en function, time_t *start, time_t *end,
                              unsigned long *step, unsigned long *source_count, char ***names,
                              rrd_value_t **data);

int rrd_fetch_cb_register(rrd_fetch_cb_t callback);
int rrd_cf_conv(const char *name);
int rrd_reduce_data(enum cf_en function, unsigned long row_step, time_t *start, time_t *end,
                    unsigned long *step, unsigned long *source_count, rrd_value_t **data);

/* Times in words. */
typedef enum {
    ABSOLUTE_TIME,
    RELATIVE_TO_START_TIME,
    RELATIVE_TO_END_TIME,
    RELATIVE_TO_EPOCH
} rrd_timetype_t;

#define TIME_OK NULL

typedef struct rrd_time_value {
    rrd_timetype_t type;
    long offset;
    struct tm tm;
} rrd_time_value_t;

char *rrd_parsetime(const char *words, rrd_time_value_t *time);
int rrd_proc_start_end(rrd_time_value_t *start, rrd_time_value_t *end, time_t *start_seconds,
                       time_t *end_seconds);

/* What programs borrow. */
char *rrd_strversion(void);
double rrd_version(void);
void rrd_freemem(void *memory);
long rrd_random(void);
int rrd_add_ptr(void ***array, size_t *count, void *new_);
int rrd_add_ptr_chunk(void ***array, size_t *count, void *new_, size_t *room, size_t chunk);
int rrd_add_strdup(char ***array, size_t *count, char *new_);
int rrd_add_strdup_chunk(char ***array, size_t *count, char *new_, size_t *room, size_t chunk);
void rrd_free_ptrs(void ***array, size_t *count);
int rrd_mkdir_p(const char *folder, mode_t mode);
const char *rrd_scaled_duration(const char *text, unsigned long divisor, unsigned long *value);
double rrd_strtod(const char *text, char **end);
unsigned int rrd_strtodbl(const char *text, char **end, double *value, const char *place);
int rrd_snprintf(char *buffer, size_t size, const char *format, ...);
long rrd_lcd(unsigned long *numbers);

#ifdef __cplusplus
}
#endif

#endif
