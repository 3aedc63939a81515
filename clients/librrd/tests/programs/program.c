/* A program that is compiled against the header: collectd's calls, lists, times and the daemon. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rrd.h>
#include <rrd_client.h>

static size_t count_bytes(const void *piece, size_t size, void *user)
{
    (void)piece;
    *(size_t *)user += size;
    return size;
}

static void show(const char *name, long result)
{
    printf("%s %ld %d %s\n", name, result, rrd_test_error(), rrd_get_error());
    rrd_clear_error();
}

static void once(const char *daemon)
{
    const char *definitions[] = {"DS:a:GAUGE:120:U:U", "DS:b:COUNTER:120:0:U", "RRA:AVERAGE:0.5:1:20",
                                 "RRA:MAX:0.5:5:20"};
    const char *readings[] = {"1700000060:1:10", "1700000120:2:600", "1700000180:U:1200"};
    const char *late[] = {"1700000060:1:10"};
    show("create", rrd_create_r("c.rrd", 60, 1700000000, 4, definitions));
    show("create2", rrd_create_r2("c.rrd", 60, 1700000000, 1, NULL, NULL, 4, definitions));
    show("update", rrd_update_r("c.rrd", NULL, 3, readings));
    show("update", rrd_update_r("c.rrd", NULL, 1, late));
    show("updatex", rrd_updatex_r("c.rrd", NULL, RRD_SKIP_PAST_UPDATES, 1, late));
    show("update", rrd_update_r("no.rrd", "a:b", 1, late));
    show("last", rrd_last_r("c.rrd"));
    show("first", rrd_first_r("c.rrd", 1));

    time_t start = 1700000000, end = 1700000240, last;
    unsigned long step = 1, count, size;
    char **names, **latest;
    rrd_value_t *data;
    show("fetch", rrd_fetch_r("c.rrd", "AVERAGE", &start, &end, &step, &count, &names, &data));
    printf("%ld %ld %lu %lu\n", (long)start, (long)end, step, count);
    for (unsigned long row = 0; row < (end - start) / step; row++)
        for (unsigned long source = 0; source < count; source++)
            printf("%s %.10g\n", names[source], fabs(data[row * count + source]));
    for (unsigned long source = 0; source < count; source++)
        free(names[source]);
    free(names);
    rrd_freemem(data);
    show("fetch", rrd_fetch_r("no.rrd", "AVERAGE", &start, &end, &step, &count, &names, &data));

    show("lastupdate", rrd_lastupdate_r("c.rrd", &last, &count, &names, &latest));
    for (unsigned long source = 0; source < count; source++) {
        printf("%ld %s %s\n", (long)last, names[source], latest[source]);
        free(names[source]);
        free(latest[source]);
    }
    free(names);
    free(latest);

    rrd_info_t *info = rrd_info_r("c.rrd");
    for (rrd_info_t *at = info; at; at = at->next)
        if (!strstr(at->key, "cur_row"))
            printf("%s %d\n", at->key, at->type);
    rrd_info_free(info);
    show("info", rrd_info_r("no.rrd") == NULL);

    rrd_infoval_t value;
    value.u_str = "text";
    rrd_info_t *list = rrd_info_push(NULL, strdup("key"), RD_I_STR, value);
    value.u_blo.size = 3;
    value.u_blo.ptr = (unsigned char *)"abc";
    rrd_info_push(list, strdup("blob"), RD_I_BLO, value);
    value.u_int = -7;
    rrd_info_push(list->next, strdup("int"), RD_I_INT, value);
    rrd_info_print(list);
    rrd_info_free(list);

    size_t bytes = 0;
    show("dump", rrd_dump_cb_r("c.rrd", 1, count_bytes, &bytes));
    printf("%zu\n", bytes);

    char *drawing[] = {"graph", "c.png", "-s", "1700000000", "-e", "1700000200", "DEF:a=c.rrd:a:AVERAGE",
                       "LINE1:a#ff0000:a", "PRINT:a:MAX:%.1lf", NULL};
    char **prints;
    int width, height;
    double minimum, maximum;
    show("graph", rrd_graph(9, drawing, &prints, &width, &height, NULL, &minimum, &maximum));
    printf("%d %d %g %g %s\n", width, height, minimum, maximum, prints[0]);
    free(prints[0]);
    free(prints);
    info = rrd_graph_v(9, drawing);
    rrd_info_print(info);
    rrd_info_free(info);

    char *table[] = {"xport", "-s", "1700000000", "-e", "1700000200", "DEF:a=c.rrd:a:AVERAGE", "XPORT:a:legend"};
    int unused;
    show("xport", rrd_xport(7, table, &unused, &start, &end, &step, &size, &names, &data));
    printf("%ld %ld %lu %lu %s %g\n", (long)start, (long)end, step, size, names[0], data[0]);
    free(names[0]);
    free(names);
    free(data);

    char *folder = rrd_list_r(0, ".");
    show("list", strstr(folder, "c.rrd") != NULL);
    free(folder);

    rrd_time_value_t from, to;
    char *wrong = rrd_parsetime("end-1day", &from);
    printf("%s\n", wrong ? wrong : "fine");
    wrong = rrd_parsetime("1700000000", &to);
    show("times", rrd_proc_start_end(&from, &to, &start, &end));
    printf("%ld %ld\n", (long)start, (long)end);
    wrong = rrd_parsetime("when", &from);
    printf("%s\n", wrong);

    char **texts = NULL;
    size_t text_count = 0;
    for (int index = 0; index < 5; index++)
        rrd_add_strdup(&texts, &text_count, "text");
    printf("%zu %s\n", text_count, texts[4]);
    rrd_free_ptrs((void ***)&texts, &text_count);
    rrd_free_context(rrd_new_context());
    rrd_set_error("%s %d %.2f", "formatted", 7, 2.5);
    show("set", 0);

    unlink("d.rrd");
    show("connect", rrdc_connect(daemon));
    show("connected", rrdc_is_connected(daemon));
    show("create", rrdc_create("d.rrd", 60, 1700000000, 1, 4, definitions));
    show("create", rrdc_create("d.rrd", 60, 1700000000, 1, 4, definitions));
    show("update", rrdc_update("d.rrd", 3, readings));
    show("update", rrdc_update("d.rrd", 1, late));
    show("update", rrdc_update("no.rrd", 1, late));
    show("flush", rrdc_flush("d.rrd"));
    show("last", rrdc_last("d.rrd"));
    show("first", rrdc_first("d.rrd", 0));
    show("last", rrdc_last("no.rrd"));
    start = 1700000000;
    end = 1700000200;
    show("fetch", rrdc_fetch("d.rrd", "AVERAGE", &start, &end, &step, &count, &names, &data));
    printf("%ld %ld %lu %lu %s %.10g\n", (long)start, (long)end, step, count, names[1], data[3]);
    for (unsigned long source = 0; source < count; source++)
        free(names[source]);
    free(names);
    free(data);
    info = rrdc_info("d.rrd");
    for (rrd_info_t *at = info; at; at = at->next)
        if (!strstr(at->key, "cur_row"))
            printf("%s %d\n", at->key, at->type);
    rrd_info_free(info);
    rrdc_stats_t *stats;
    show("stats", rrdc_stats_get(&stats));
    for (rrdc_stats_t *at = stats; at; at = at->next)
        printf("%s %d\n", at->name, at->type);
    rrdc_stats_free(stats);
    show("forget", rrdc_forget("d.rrd"));
    show("disconnect", rrdc_disconnect());
    show("connected", rrdc_is_any_connected());
    show("update", rrdc_update("d.rrd", 1, late));
    show("connect", rrdc_connect("unix:/nonexistent"));
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        return 2;
    int times = argc > 2 ? atoi(argv[2]) : 1;
    for (int turn = 0; turn < times; turn++)
        once(argv[1]);
    return 0;
}
