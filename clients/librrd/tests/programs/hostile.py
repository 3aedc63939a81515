# Calls the library (argv[1]) with random arguments from a seed (argv[2]), argv[3] times; prints what
# is an internal error.  Whatever happens, the process must live.
import ctypes
import os
import random
import sys

library = ctypes.CDLL(sys.argv[1])
random.seed(int(sys.argv[2]))
library.rrd_get_error.restype = ctypes.c_char_p
LISTS = ["rrd_info", "rrd_update_v", "rrd_graph_v"]
for name in LISTS + ["rrd_list", "rrd_info_r", "rrd_list_r"]:
    getattr(library, name).restype = ctypes.c_void_p

WORDS = [word.encode("latin-1") for word in [
    "a.rrd", "b.rrd", "-s", "-e", "--start", "1700000000", "1700003600", "N:1", "1700000060:1", "1700000300:7",
    "DS:a:GAUGE:60:U:U", "DS:z:COUNTER:9999999999999:0:U", "DS:a:COMPUTE:1,2,+", "RRA:AVERAGE:0.5:1:10",
    "RRA:HWPREDICT:10:0.1:0.1:5", "RRA:MAX:0.5:1000000000:3", "RRA:AVERAGE:0:1d:99999999999", "RRA#0:+100",
    "DEL:a", "DELRRA:0", "DEF:a=a.rrd:a:AVERAGE", "DEF:c=cb//x:a:MAX", "CDEF:b=a,1,+", "VDEF:v=a,MAXIMUM",
    "LINE1:a#ff0000", "AREA:b#00f:x", "PRINT:a:MAX:%lf", "XPORT:a", "AVERAGE", "-", "--", "", "\xff\xfe", "-r",
    "a:100", "-h", "0", "-1", "GROW", "SHRINK", "99999999999999999999", "end-1d", "x.png", "x.xml", "-a", "SVG",
    "CSV", "-w", "-5", "--json", "%s%n%s", "cb//x", "-t", "a" * 300, "--template", "-O", "1e309:1", "9e18:1",
    "9223372036854775807:1", "-9e18:1", "-x", "0:0.5", "nan:nan", "noon@1"]]
FUNCTIONS = ["rrd_create", "rrd_update", "rrd_update_v", "rrd_info", "rrd_last", "rrd_first", "rrd_lastupdate",
             "rrd_tune", "rrd_resize", "rrd_dump", "rrd_restore", "rrd_list", "rrd_flushcached", "rrd_graph_v",
             "rrd_fetch", "rrd_xport", "rrd_graph"]


def array(words):
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)


def begin():
    words = [b"create", b"a.rrd", b"-b", b"1700000000", b"-s", b"60", b"DS:a:GAUGE:60:U:U", b"RRA:AVERAGE:0.5:1:10"]
    library.rrd_create(len(words), array(words))


def damaged(word):
    return bytes(random.randint(1, 255) if random.random() < 0.05 else byte for byte in word)


# What commands print goes nowhere; they read nothing.
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for turn in range(int(sys.argv[3])):
    if not os.path.exists("a.rrd") or turn % 100 == 0:
        begin()
    name = random.choice(FUNCTIONS)
    words = [name.encode()] + [b"a.rrd"] * random.randint(0, 1) + random.choices(WORDS, k=random.randint(0, 9))
    if random.random() < 0.3:
        words = [damaged(word) for word in words]
    # No daemon is asked.
    words = [word for word in words if not word.startswith((b"-d", b"--d", b"-D"))]
    places = [ctypes.byref(ctypes.c_void_p()) for _ in range(6)]
    function = getattr(library, name)
    if name == "rrd_fetch":
        function(len(words), array(words), *places)
    elif name == "rrd_xport":
        function(len(words), array(words), *places, ctypes.byref(ctypes.c_void_p()))
    elif name == "rrd_graph":
        function(len(words), array(words), *places[:3], None, *places[3:5])
    elif name in LISTS:
        library.rrd_info_free(ctypes.c_void_p(function(len(words), array(words))))
    else:
        function(len(words), array(words))
    error = library.rrd_get_error()
    if b"internal error" in error:
        sys.stderr.write("%r: %r\n" % (words, error))
    library.rrd_clear_error()

# Nothing where something must be.
for name, count in [
        ("rrd_info_r", 1), ("rrd_last_r", 1), ("rrd_first_r", 2), ("rrd_list_r", 2), ("rrd_update_r", 4),
        ("rrd_updatex_r", 5), ("rrd_update_v_r", 5), ("rrd_create_r", 5), ("rrd_create_r2", 8), ("rrd_fetch_r", 8),
        ("rrd_lastupdate_r", 5), ("rrd_dump_r", 2), ("rrd_dump_opt_r", 3), ("rrd_dump_cb_r", 4), ("rrd_open", 3),
        ("rrd_close", 1), ("rrd_free", 1), ("rrd_init", 1), ("rrd_lock", 1), ("rrd_info_free", 1),
        ("rrd_info_print", 1), ("rrd_freemem", 1), ("rrd_create", 2), ("rrd_graph", 8), ("rrd_parsetime", 2),
        ("rrd_proc_start_end", 4), ("rrd_cf_conv", 1), ("rrd_mkdir_p", 2), ("rrd_free_ptrs", 2), ("rrd_lcd", 1),
        ("rrd_strtod", 2), ("rrd_strtodbl", 4), ("rrd_scaled_duration", 3), ("rrdc_connect", 1), ("rrdc_flush", 1),
        ("rrdc_update", 3), ("rrdc_fetch", 8), ("rrdc_stats_get", 1), ("rrdc_stats_free", 1), ("rrdc_info", 1),
        ("rrd_fetch_cb_register", 1), ("rrd_free_context", 1)]:
    getattr(library, name)(*[None] * count)
sys.stderr.write("alive\n")
