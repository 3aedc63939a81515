# The functions that no binding shows, through ctypes: helpers, raw files, the client without a daemon.
import ctypes as c
import os

library = c.CDLL("librrd.so.8")
text = c.c_char_p
for name in ["rrd_get_error", "rrd_strversion", "rrd_strerror", "rrd_scaled_duration", "rrd_parsetime"]:
    getattr(library, name).restype = text
for name in ["rrd_version", "rrd_strtod", "rrd_set_to_DNAN", "rrd_set_to_DINF"]:
    getattr(library, name).restype = c.c_double
for name in ["rrd_lcd", "rrd_last_r", "rrd_first_r", "rrdc_last", "rrdc_first", "rrd_seek", "rrd_tell", "rrd_read"]:
    getattr(library, name).restype = c.c_long
for name in ["rrdc_info", "rrd_list_r", "rrd_open"]:
    getattr(library, name).restype = c.c_void_p
by = c.byref


def show(*values):
    print(*values, library.rrd_test_error(), library.rrd_get_error())
    library.rrd_clear_error()


def texts(*words):
    return (text * len(words))(*words)


show(library.rrd_strversion(), library.rrd_version(), library.rrd_set_to_DNAN(), library.rrd_set_to_DINF())
for word in [b"5", b"5m", b"0", b"x", b"-3", b"12h", b"1d2", b"300s", b"4y", b"", b"10w", b"7 ", b"2M", b"7s"]:
    for divisor in (1, 300):
        value = c.c_ulong(77)
        show(word, divisor, library.rrd_scaled_duration(word, c.c_ulong(divisor), by(value)), value.value)
for word in [b"1", b"1.5e3x", b"nan", b"inf", b"-inf", b" 4", b"x", b"", b"1,5", b"0x10", b"1e999", b"+3", b"U", b"  -7.25  "]:
    given, end, value = c.create_string_buffer(word), text(), c.c_double(-1)
    show(word, library.rrd_strtod(given, by(end)), end.value)
    show(library.rrd_strtodbl(given, None, by(value), None), value.value)
    show(library.rrd_strtodbl(given, by(end), by(value), b"place"), value.value, end.value)
for name in [b"AVERAGE", b"MIN", b"MAX", b"LAST", b"HWPREDICT", b"MHWPREDICT", b"DEVPREDICT", b"SEASONAL",
             b"DEVSEASONAL", b"FAILURES", b"X"]:
    show(name, library.rrd_cf_conv(name))
for numbers in ([300, 0], [4, 6, 0], [12, 18, 30, 0], [7, 11, 0], [0]):
    show(numbers, library.rrd_lcd((c.c_ulong * len(numbers))(*numbers)))
for number in (0, 1, 2, 9999):
    show(library.rrd_strerror(number))
with open("plain", "w") as file:
    file.write("no database " * 20)
for folder in [b"a/b/c", b"a/b", b"plain/x", b"plain", b""]:
    show(folder, library.rrd_mkdir_p(folder, 0o755), os.path.isdir(folder or b"no"))
library.rrd_set_error(b"a %s %d %.3f %lu %c", b"text", c.c_int(5), c.c_double(2.5), c.c_ulong(2 ** 63), c.c_int(65))
show()
library.rrd_set_error(b"%s", b"x" * 5000)
print(len(library.rrd_get_error()))
library.rrd_clear_error()
buffer = c.create_string_buffer(16)
show(library.rrd_snprintf(buffer, c.c_size_t(16), b"%s-%d", b"hello world long", c.c_int(3)), buffer.value)

malloc = c.CDLL(None).malloc
malloc.restype = c.c_void_p
for function, row_step, start, end, step, sources in [
        (0, 60, 1700000040, 1700000640, 300, 2), (2, 60, 1699999980, 1700000340, 180, 1),
        (1, 300, 1700000100, 1700003700, 1800, 3), (3, 60, 1700000040, 1700000340, 100, 1)]:
    count = (end - start) // row_step * sources
    data = c.cast(c.c_void_p(malloc((count + sources) * 8)), c.POINTER(c.c_double))
    for index in range(count):
        data[index] = float("nan") if index % 5 == 3 else index * 1.25
    from_, to, wanted, columns = c.c_long(start), c.c_long(end), c.c_ulong(step), c.c_ulong(sources)
    done = library.rrd_reduce_data(function, c.c_ulong(row_step), by(from_), by(to), by(wanted), by(columns), by(data))
    rows = (to.value - from_.value) // wanted.value
    show(done, from_.value, to.value, wanted.value, [data[index] for index in range(rows * sources)])

array, count, room = c.c_void_p(), c.c_size_t(0), c.c_size_t(0)
for index in range(5):
    show(library.rrd_add_strdup_chunk(by(array), by(count), b"text%d" % index, by(room), c.c_size_t(2)), count.value, room.value)
print(c.cast(array, c.POINTER(text))[4])
library.rrd_free_ptrs(by(array), by(count))
show(array.value, count.value)
for name in [b"", b"unix:/nonexistent", b"127.0.0.1:1", b"[::1"]:
    show(name, library.rrdc_connect(name))
show(library.rrdc_connect(None), library.rrdc_is_connected(None), library.rrdc_is_any_connected())
show(library.rrdc_flush(b"x.rrd"), library.rrdc_forget(b"x.rrd"), library.rrdc_flush_if_daemon(None, b"x.rrd"))
show(library.rrdc_last(b"x.rrd"), library.rrdc_first(b"x.rrd", 0), library.rrdc_info(b"x.rrd"), library.rrdc_disconnect())
show(library.rrdc_update(b"x.rrd", 1, texts(b"N:1")), library.rrdc_stats_get(by(c.c_void_p())))

words = texts(b"DS:a:GAUGE:60:U:U", b"RRA:AVERAGE:0.5:1:10", b"RRA:MAX:0.5:2:10")
for name, step, start, count in [(b"a.rrd", 60, 1700000000, 3), (b"b.rrd", 0, -1, 3), (b"c.rrd", 60, 5, 3), (b"d.rrd", 60, 5, 0),
                                 (b"/nonexistent/c.rrd", 60, 1700000000, 3), (b"e.rrd", 60, 1700000000, 1)]:
    show(name, library.rrd_create_r(name, c.c_ulong(step), c.c_long(start), count, words))
sources = texts(b"a.rrd", None)
show(library.rrd_update_r(b"a.rrd", None, 2, texts(b"1700000060:1", b"1700000120:3")))
show(library.rrd_create_r2(b"f.rrd", c.c_ulong(60), c.c_long(1700000120), 1, sources, b"a.rrd", 0, None), library.rrd_last_r(b"f.rrd"))
show(library.rrd_create_r2(b"f.rrd", c.c_ulong(60), c.c_long(1700000120), 1, None, None, 3, words))
show(library.rrd_update_r(b"a.rrd", b"a:b", 1, texts(b"1700000180:1")))
show(library.rrd_update_r(b"a.rrd", None, 0, None))
show(library.rrd_updatex_r(b"a.rrd", None, 1, 1, texts(b"1700000060:1")))
show(library.rrd_updatex_r(b"a.rrd", None, 0, 1, texts(b"1700000060:1")))
show(library.rrd_first_r(b"a.rrd", 1), library.rrd_first_r(b"a.rrd", -1))
show(library.rrd_dump_r(b"a.rrd", b"a.xml"), os.path.getsize("a.xml"))
show(library.rrd_dump_r(b"no.rrd", b"b.xml"))
for heading in (0, 1, 2):
    show(library.rrd_dump_opt_r(b"a.rrd", b"a.xml", heading), os.path.getsize("a.xml"))
    pieces = []
    take = c.CFUNCTYPE(c.c_size_t, c.c_void_p, c.c_size_t, c.c_void_p)(lambda piece, size, user: (pieces.append(c.string_at(piece, size)), size)[1])
    show(library.rrd_dump_cb_r(b"a.rrd", heading, take, None), b"".join(pieces))

header = (c.c_void_p * 11)()
library.rrd_init(header)
file = library.rrd_open(b"a.rrd", header, 1)
show(file is not None)
live = c.cast(header[3], c.POINTER(c.c_long))
sizes = c.cast(c.c_void_p(file), c.POINTER(c.c_size_t))
stat = c.cast(header[0], c.POINTER(c.c_ulong))
print(live[0], live[1], sizes[0], sizes[1], stat[3], stat[4], stat[5], c.string_at(header[1], 1), c.string_at(header[2], 7))
last = c.cast(header[5], c.POINTER(c.c_char))
print(last[0])
buffer = c.create_string_buffer(8)
show(library.rrd_seek(c.c_void_p(file), c.c_long(0), 0), library.rrd_read(c.c_void_p(file), buffer, c.c_size_t(8)), buffer.raw)
show(library.rrd_tell(c.c_void_p(file)))
show(library.rrd_close(c.c_void_p(file)))
library.rrd_free(header)
show(library.rrd_open(b"no.rrd", header, 1))
show(library.rrd_open(b"plain", header, 1))
