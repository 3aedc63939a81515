# What Python programs do with RRDtool: every function of the binding, errors too.
import os
import rrdtool

START = 1700000000


def show(name, call):
    try:
        result = call()
    except Exception as error:
        result = "%s: %s" % (type(error).__name__, error)
    if isinstance(result, dict):
        for key in sorted(result):
            value = result[key]
            # The first row of a new archive is random.
            if "cur_row" in key:
                continue
            if isinstance(value, (bytes, bytearray)):
                value = "%d bytes or more" % min(len(value), 500)
            print(name, key, repr(value))
    else:
        print(name, repr(result))


print(rrdtool.lib_version())
show("create", lambda: rrdtool.create(
    "a.rrd", "--start", str(START), "--step", "60", "DS:in:COUNTER:120:0:U", "DS:out:GAUGE:120:-5:100",
    "DS:sum:COMPUTE:in,out,+", "RRA:AVERAGE:0.5:1:60", "RRA:MAX:0.5:5:40", "RRA:LAST:0:1:5",
    "RRA:HWPREDICT:50:0.1:0.0035:10"))
show("create again", lambda: rrdtool.create("a.rrd", "-O", "DS:a:GAUGE:60:U:U", "RRA:MAX:0:1:1"))
show("create", lambda: rrdtool.create("b.rrd", "DS:a:NONE:60:U:U", "RRA:MAX:0:1:1"))
show("create", lambda: rrdtool.create("b.rrd", "DS:a:GAUGE:60:U:U"))
show("create", lambda: rrdtool.create("b.rrd", "--step", "x", "DS:a:GAUGE:60:U:U"))
show("create", lambda: rrdtool.create("/nonexistent/b.rrd", "DS:a:GAUGE:60:U:U", "RRA:MAX:0:1:1"))
show("create", lambda: rrdtool.create("t.rrd", "--template", "a.rrd", "--start", str(START)))
for index in range(1, 31):
    time = START + index * 60
    value = "%d:%d:%g" % (time, index * 1000 % 7777, index * 7 % 110)
    if index % 7 == 0:
        value = "%d:U:%d" % (time, index)
    show("update", lambda: rrdtool.update("a.rrd", value))
show("update", lambda: rrdtool.update("a.rrd", "-t", "out:in", "%d:4:5" % (START + 1860)))
show("update", lambda: rrdtool.update("a.rrd", "-t", "out:no", "%d:4:5" % (START + 1920)))
show("update", lambda: rrdtool.update("a.rrd", "%d:4:5" % START))
show("update", lambda: rrdtool.update("a.rrd", "%d:4" % (START + 2000)))
show("update", lambda: rrdtool.update("a.rrd", "%d:4:5:6" % (START + 2000)))
show("update", lambda: rrdtool.update("a.rrd", "%d:x:5" % (START + 2000)))
show("update", lambda: rrdtool.update("a.rrd", "%d:4:x" % (START + 2000)))
show("update", lambda: rrdtool.update("a.rrd", "x:4:5"))
show("update", lambda: rrdtool.update("a.rrd"))
show("update", lambda: rrdtool.update("no.rrd", "N:1"))
show("update", lambda: rrdtool.update("a.rrd", "--no-such-option", "N:1"))
show("updatev", lambda: rrdtool.updatev("a.rrd", "%d:900:15" % (START + 2100), "%d:1900:17" % (START + 2400)))
show("updatev", lambda: rrdtool.updatev("a.rrd", "%d:900:15" % START))
show("updatev", lambda: rrdtool.updatev("a.rrd"))
for arguments in (
        ["a.rrd", "AVERAGE", "-s", str(START), "-e", str(START + 1200)],
        ["a.rrd", "MAX", "-s", "end-1h", "-e", str(START + 1800), "-r", "300"],
        ["a.rrd", "LAST", "-s", str(START), "-e", "start+10min", "-a"],
        ["a.rrd", "HWPREDICT", "-s", str(START), "-e", "start+20min"],
        ["a.rrd", "MIN", "-s", str(START), "-e", "start+4min"]):
    show("fetch", lambda: rrdtool.fetch(*arguments))
show("info", lambda: rrdtool.info("a.rrd"))
show("info", lambda: rrdtool.info("no.rrd"))
show("first", lambda: rrdtool.first("a.rrd"))
show("first", lambda: rrdtool.first("a.rrd", "--rraindex", "1"))
show("first", lambda: rrdtool.first("a.rrd", "--rraindex", "99"))
show("last", lambda: rrdtool.last("a.rrd"))
show("last", lambda: rrdtool.last("no.rrd"))
show("lastupdate", lambda: rrdtool.lastupdate("a.rrd"))
show("lastupdate", lambda: rrdtool.lastupdate("no.rrd"))
# Names come in the order of the folder.
show("list", lambda: sorted(rrdtool.list(".")))
show("flushcached", lambda: rrdtool.flushcached("a.rrd"))
show("tune", lambda: rrdtool.tune("a.rrd", "-h", "in:300", "-i", "out:-10", "-a", "out:U", "-r", "out:away"))
show("tune", lambda: rrdtool.tune("a.rrd", "-h", "no:300"))
show("tune", lambda: rrdtool.tune("a.rrd", "DS:new:GAUGE:60:U:U"))
show("resize", lambda: rrdtool.resize("a.rrd", "0", "GROW", "10"))
show("resize", lambda: os.path.exists("resize.rrd"))
show("resize", lambda: rrdtool.resize("a.rrd", "99", "GROW", "10"))
show("dump", lambda: rrdtool.dump("a.rrd", "a.xml"))
print(open("a.xml").read())
show("dump", lambda: rrdtool.dump("no.rrd", "no.xml"))
SERIES = ["-s", str(START), "-e", str(START + 1800), "DEF:in=a.rrd:in:AVERAGE", "DEF:away=a.rrd:away:MAX",
          "CDEF:both=in,away,+", "VDEF:top=both,MAXIMUM"]
show("xport", lambda: rrdtool.xport(*SERIES, "XPORT:in:received", "XPORT:both:all of it"))
show("xport", lambda: rrdtool.xport(*SERIES))
show("xport", lambda: rrdtool.xport("-s", "xx", "XPORT:in"))
DRAWING = SERIES + ["LINE1:in#ff0000:in", "AREA:away#00ff0080:away", "GPRINT:top:top %6.2lf%s",
                    "PRINT:top:%6.2lf%s", "PRINT:top:%c:strftime", "COMMENT:done\\c"]
show("graph", lambda: rrdtool.graph("a.png", "-t", "title", "-v", "label", *DRAWING))
show("graph", lambda: open("a.png", "rb").read(8))
show("graph", lambda: rrdtool.graph("a.svg", "-a", "SVG", "--imginfo", "<img %s %lu %lu>", *DRAWING))
show("graphv", lambda: rrdtool.graphv("-", *DRAWING))
show("graphv", lambda: rrdtool.graphv("a.csv", "-a", "CSV", *DRAWING))
show("graph", lambda: rrdtool.graph("a.png", "LINE1:no#ff0000"))
show("graph", lambda: rrdtool.graph("a.png", "DEF:a=no.rrd:a:AVERAGE", "LINE1:a#ff0000"))
show("graph", lambda: rrdtool.graph("a.png", "-w", "3", *DRAWING))


def rows(arguments):
    step = 60
    count = (arguments["end"] - arguments["start"]) // step
    return {"start": arguments["start"], "step": step, "data": {"x": [float(i) for i in range(count)]}}


rrdtool.register_fetch_cb(rows)
show("callback", lambda: rrdtool.graph("c.png", "-s", str(START), "-e", "start+10min",
                                       "DEF:x=cb//any:x:AVERAGE", "LINE1:x#0000ff", "PRINT:x:MAX:%lf"))
rrdtool.clear_fetch_cb()
