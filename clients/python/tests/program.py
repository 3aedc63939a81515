"""What the tests run: `program.py ROLE EXPECTED` logs, and appends to the file EXPECTED what it has logged,
a line of JSON for each record, made by Python's own `%` and `logging`.

`program.py compare EXPECTED GOT` compares that with what the central store holds, as JSON.
"""

import asyncio
import collections
import json
import logging
import logging.handlers
import multiprocessing
import os
import queue
import random
import signal
import sys
import threading
import time

import whit_log

LEVELS = {1: "TRACE", 2: "DELOUSE", 3: "DEBUG", 4: "INFO", 5: "NOTICE", 6: "WARNING", 8: "ERROR", 9: "CRITICAL",
          10: "ALERT", 11: "EMERGENCY"}


def expect(level, logger, message, data=None, context=None, line=None, routine=None):
    """Notes a record.  One write, so that threads and processes do not mix."""
    record = {"level": LEVELS[level], "logger": logger, "message": message, "data": data or {},
              "context": context or {}, "pid": os.getpid(), "line": line, "routine": routine}
    os.write(EXPECTED, json.dumps(record).encode() + b"\n")


def here(depth=1):
    frame = sys._getframe(depth)
    return {"line": frame.f_lineno, "routine": frame.f_code.co_name}


class Odd:
    """Its text has what JSON escapes, and its repr() fails."""

    def __str__(self):
        return 'odd "\\\n\x01 \u2028 text'

    def __repr__(self):
        raise ValueError("no repr")


class Angry(str):
    """A str whose str() is of a class of its own."""

    def __str__(self):
        return Angry("angry")


def everything():
    """Levels, values, contexts, data and exceptions, by both ways."""
    # As it is without it, TRACE is off.
    assert whit_log.start(acs={"minLogLevel": "TRACE", "minLogLevelLocal": "TRACE"}, ring_bytes=1 << 16)
    for wrong in ({"acs": {"minLogLevel": "loud"}}, {"directory": b"/"}):
        try:
            whit_log.start(**wrong)
            raise AssertionError(wrong)
        except (RuntimeError, ValueError):
            pass
    whit_log.add_level_names()
    direct = whit_log.Logger("CONTROL/PM01", Antenna="DV01", Audience="Operator")
    context = {"Antenna": "DV01", "Audience": "Operator"}
    for level, name in LEVELS.items():
        getattr(direct, name.lower())("at %s %d", name, level)
        expect(level, "CONTROL/PM01", f"at {name} {level}", context=context, **here())
        direct.log(whit_log.Level(level), f"again {name}")
        expect(level, "CONTROL/PM01", f"again {name}", context=context, **here())
    direct.set_levels(whit_log.Level.ERROR, whit_log.Level.OFF)
    assert not direct.is_enabled(whit_log.Level.WARNING) and direct.is_enabled(whit_log.Level.ERROR)
    direct.info("never")
    direct.set_levels(whit_log.Level.TRACE, whit_log.Level.TRACE)
    direct.info("data %d", 5, Uri="http://h/ü", Count=7, Big=2**64 - 1, Huge=2**70, Low=-2**63, Ratio=0.1,
                Yes=True, Nothing=None, Odd=Odd(), Bytes=b"\x00\xff")
    expect(4, "CONTROL/PM01", "data 5", {
        "Uri": "http://h/ü", "Count": 7, "Big": 2**64 - 1, "Huge": str(2**70), "Low": -2**63, "Ratio": 0.1,
        "Yes": True, "Nothing": "None", "Odd": str(Odd()), "Bytes": str(b"\x00\xff")}, context, **here(1))
    many = {f"n{number}": number for number in range(100)}
    direct.info("many", **many)
    expect(4, "CONTROL/PM01", "many", {**{f"n{number}": number for number in range(62)}, "DataLeftOut": 38}, context)
    direct.info("%d places", "none")
    expect(4, "CONTROL/PM01", "%d places ('none',)",
           {"FormatError": "the arguments do not fit the format"}, context)
    direct.info("%s %r", Angry("x"), 1.5)
    expect(4, "CONTROL/PM01", "angry 1.5", None, context)
    # Longer than a record: cut, and said so.
    direct.info("x" * 600_000)
    with whit_log.scope(Array="A1"), whit_log.scope(Depth=2):
        direct.info("in scope")
        expect(4, "CONTROL/PM01", "in scope", {"Array": "A1", "Depth": 2}, context)
    direct.info("out of scope")
    expect(4, "CONTROL/PM01", "out of scope", None, context)
    handler = whit_log.Handler()
    log = logging.getLogger("a.b")
    log.addHandler(handler)
    log.setLevel(1)
    for number, level in [(5, 1), (7, 2), (10, 3), (20, 4), (25, 5), (30, 6), (40, 8), (50, 9), (60, 10), (70, 11),
                          (1, 1), (15, 3), (35, 6), (1000, 11)]:
        log.log(number, "number %(number)d of %(name)s", {"number": number, "name": "this"})
        expect(level, "a.b", f"number {number} of this", **here())
    log.info(Odd())
    expect(4, "a.b", str(Odd()))
    log.info("extra %s", "ü€😀\t", extra={"key": "value", "number": 3, "ratio": 2.5})
    expect(4, "a.b", "extra ü€😀\t", {"key": "value", "number": 3, "ratio": 2.5})
    try:
        try:
            raise KeyError("first")
        except KeyError as cause:
            raise ValueError("second ü") from cause
    except ValueError as error:
        stack = logging.Formatter().formatException(sys.exc_info()) + "\n"
        data = {"exception.type": "ValueError", "exception.message": "second ü", "exception.stacktrace": stack}
        log.exception("failed %d", 3)
        expect(8, "a.b", "failed 3", data)
        direct.exception("failed %d", 4, more=1)
        expect(8, "CONTROL/PM01", "failed 4", {"more": 1, **data}, context, **here())
        direct.error("failed", cause=error)
        expect(8, "CONTROL/PM01", "failed", {"cause": "second ü", **data}, context)
    handler.setFormatter(logging.Formatter("%(levelname)s <%(message)s>"))
    log.warning("formatted %d", 1)
    expect(6, "a.b", "WARNING <formatted 1>")
    handler.setFormatter(None)
    log.warning("after %d", 1)
    expect(6, "a.b", "after 1")
    # More loggers than a process file has room for.
    for number in range(1100):
        logging.getLogger(f"a.b.{number}").info("of logger %d", number)
    for number in range(1100):
        # Loggers before: python, CONTROL/PM01, a.b.
        is_own = number < 1024 - 3
        expect(4, f"a.b.{number}" if is_own else "python", f"of logger {number}",
               None if is_own else {"name": f"a.b.{number}"})
    assert whit_log.flush(whit_log.Tier.RING, 0)


def formats():
    """Random formats and values: what Python makes of them, and what the reader makes."""
    direct = whit_log.Logger("formats")
    chance = random.Random(20_261_126)
    values = [0, 1, -1, 7, -128, 2**31, -2**31, 2**63 - 1, -2**63, 2**63, 2**64, 10**30, True, False, 0.0, -0.0, 1.0,
              0.1, 1e16, -1.5e300, 5e-324, float("inf"), float("-inf"), float("nan"), 123456.789, "", "text", "ü€😀",
              "a\x00b", "line\nline", "%d %s", None, (1, 2), [1], {"a": 1}, b"b", 1 + 2j, "x" * 300]
    count = 0
    while count < int(sys.argv[3]):
        places = chance.randrange(0, 18)
        text, given = "", []
        for _ in range(places):
            text += chance.choice(["", " ", "ü", "%%", "{}", "\t", "a"]) + "%" + chance.choice(
                ["", "", "", "", "-", "0", "+", " ", "#", "-0", "+ "]) + chance.choice(["", "", "", "5", "12", "1"])
            text += chance.choice(["", "", "", ".0", ".3", ".", ".20"]) + chance.choice(["", "", "", "l", "h"])
            text += chance.choice("sssddifgexXorEGcuaF%")
            given.append(chance.choice(values))
        try:
            message = text % tuple(given)
        except Exception:
            continue
        if not given:
            continue
        direct.info(text, *given)
        expect(4, "formats", message)
        # The same place and format with other values.
        given = [chance.choice(values) if chance.random() < 0.2 else value for value in given]
        try:
            message = text % tuple(given)
        except Exception:
            continue
        direct.info(text, *given)
        expect(4, "formats", message)
        # A place of its own, so that formats are stored as such.
        space = {"direct": direct, "given": given, "text": text}
        exec(compile("\n" * count + "direct.info(text, *given)", f"made{count % 50}.py", "exec"), space)
        expect(4, "formats", message)
        count += 1


def child(name, count):
    """What a process of multiprocessing does."""
    direct = whit_log.Logger("child")
    for number in range(count):
        direct.info("%s %d", name, number)
        expect(4, "child", f"{name} {number}")


def processes():
    """Forks, processes of multiprocessing, and threads."""
    direct = whit_log.Logger("parent")
    direct.info("before")
    expect(4, "parent", "before")
    for number in range(3):
        pid = os.fork()
        if pid == 0:
            for inner in range(200):
                direct.info("fork %d %d", number, inner)
                expect(4, "parent", f"fork {number} {inner}")
            # As a worker of gunicorn that is killed.
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        all_of = [context.Process(target=child, args=(f"{method} {number}", 100)) for number in range(2)]
        for one in all_of:
            one.start()
        for one in all_of:
            one.join()
            assert one.exitcode == 0, one.exitcode

    def thread(number):
        for inner in range(300):
            direct.info("thread %d %d", number, inner)
            expect(4, "parent", f"thread {number} {inner}")

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    async def task(number):
        with whit_log.scope(task=number):
            for inner in range(5):
                direct.info("task %d", inner)
                expect(4, "parent", f"task {inner}", {"task": number})
                await asyncio.sleep(0)

    async def tasks():
        await asyncio.gather(*(task(number) for number in range(20)))

    asyncio.run(tasks())
    direct.info("after")
    expect(4, "parent", "after")
    # A record that another process or a queue hands over.
    log = logging.getLogger("queued")
    log.setLevel(1)
    waiting = queue.SimpleQueue()
    log.addHandler(logging.handlers.QueueHandler(waiting))
    listener = logging.handlers.QueueListener(waiting, whit_log.Handler())
    listener.start()
    for number in range(100):
        log.info("queued %d", number)
        expect(4, "queued", f"queued {number}")
    listener.stop()


def use_structlog():
    """A processor at the end of structlog's chain."""
    import structlog

    structlog.configure(processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level,
                                    structlog.processors.TimeStamper(), whit_log.structlog_processor])
    log = structlog.get_logger(logger_name="s.l")
    log.info("event", key="value", number=5)
    expect(4, "s.l", "event", {"key": "value", "number": 5}, **here_before())
    structlog.contextvars.bind_contextvars(request=7)
    log.warning("bound")
    expect(6, "s.l", "bound", {"request": 7})
    try:
        raise OSError("no")
    except OSError:
        stack = logging.Formatter().formatException(sys.exc_info()) + "\n"
        log.exception("failed")
        expect(8, "s.l", "failed", {"request": 7, "exception.type": "OSError", "exception.message": "no",
                                    "exception.stacktrace": stack})


def here_before():
    return {"line": sys._getframe(1).f_lineno - 1, "routine": sys._getframe(1).f_code.co_name}


def hostile():
    """Overwrites the rings and the process file meanwhile: the program must go on."""
    folder = os.environ["WHIT_LOG_DIRECTORY"]
    # Ten seconds of waiting for a reader that there is not would say nothing.
    whit_log.start(policy=whit_log.Policy.DROP)
    direct = whit_log.Logger("hostile")
    log = logging.getLogger("hostile")
    log.addHandler(whit_log.Handler())
    log.setLevel(1)
    chance = random.Random(7)
    for _ in range(300):
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "r+b") as file:
                size = os.fstat(file.fileno()).st_size
                for _ in range(20):
                    file.seek(chance.randrange(min(size, 16384) if chance.random() < 0.7 else size))
                    file.write(chance.randbytes(chance.choice([1, 8, 64]))[: size - file.tell()])
        for number in range(20):
            direct.error("number %d %s", number, "text", data=number)
            log.info("number %d", number)
    print("went on")


def endless():
    """Logs until it is killed; says how far it is after each 100."""
    direct = whit_log.Logger("endless")
    print("begun", flush=True)
    number = 0
    while True:
        direct.info("%d", number)
        number += 1
        if number % 100 == 0:
            os.pwrite(EXPECTED, b"%20d" % number, 0)
            time.sleep(0.0002)


def cost():
    """Prints what calls cost, in turn, the least of some rounds: for people."""
    import timeit

    direct = whit_log.Logger("cost")
    ways = {"direct": direct}
    for name, handler in [("NullHandler", logging.NullHandler()), ("whit_log.Handler", whit_log.Handler()),
                          ("QueueHandler", logging.handlers.QueueHandler(queue.SimpleQueue()))]:
        ways[name] = logging.getLogger(name)
        ways[name].addHandler(handler)
        ways[name].setLevel(1)
        ways[name].propagate = False
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(10):
        for name, log in ways.items():
            seconds = timeit.timeit("info('antenna %d at %.3f degrees', 7, 45.25)", globals={"info": log.info}, number=3000)
            least[name] = min(least[name], seconds / 3000 * 1e9)
    for name, ns in least.items():
        print(f"{name:20} {ns:8.0f} ns")


def compare():
    """Compares what was expected with what is in the store."""
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = [json.loads(line) for line in file]
    with open(sys.argv[3], encoding="utf-8") as file:
        got = [json.loads(line) for line in file]
    cut = [record for record in got if record.get("cut")]
    got = [record for record in got if not record.get("cut")]

    def key(record):
        plain = [record["level"], record["logger"], record["message"], record.get("data", {}), record.get("context", {}),
                 record["pid"]]
        return json.dumps(plain, sort_keys=True)

    wanted = collections.Counter(map(key, expected))
    found = collections.Counter(map(key, got))
    for text in list((wanted - found).elements())[:10]:
        print("missing   ", text[:1000])
    for text in list((found - wanted).elements())[:10]:
        print("unexpected", text[:1000])
    assert wanted == found, f"{len(expected)} expected, {len(got)} found"
    places = {key(record): record for record in got}
    for record in expected:
        if record["line"] is not None:
            place = places[key(record)]
            is_near = record["line"] - 20 <= place["line"] <= record["line"]
            assert is_near and record["routine"] in (None, place["routine"]), (record, place)
    print(f"{len(expected)} records, {len(cut)} cut")


ROLES = {"everything": everything, "formats": formats, "processes": processes, "structlog": use_structlog,
         "hostile": hostile, "endless": endless, "cost": cost, "compare": compare}

if len(sys.argv) > 2:
    EXPECTED = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | (0 if sys.argv[1] == "endless" else os.O_APPEND), 0o600)
if __name__ == "__main__":
    ROLES[sys.argv[1]]()
