# The binding frees what it has not set when a fetch fails, so RRDtool's library ends the program.
import rrdtool

rrdtool.create("a.rrd", "--start", "1700000000", "--step", "60", "DS:in:GAUGE:120:0:U", "RRA:AVERAGE:0.5:1:60")
for arguments in (
        ["a.rrd", "NONE"], ["a.rrd"], ["no.rrd", "AVERAGE"], ["a.rrd", "AVERAGE", "-s", "xx"],
        ["a.rrd", "AVERAGE", "-s", "1700000100", "-e", "1700000000"]):
    try:
        rrdtool.fetch(*arguments)
    except rrdtool.OperationalError as error:
        print(error)
