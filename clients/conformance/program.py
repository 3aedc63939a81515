"""Writes the conformance list through the Python client: README.md defines the list."""

import os
import signal
import struct
import sys
import threading
from contextlib import nullcontext

import whit_log

LOGGERS, SCOPES = [], [{}]
METHODS = {level: level.name.lower() for level in whit_log.Level}


def text_of(field):
    count, digits = field.split("*")
    return bytes.fromhex(digits).decode() * int(count)


def pairs_of(fields):
    return {text_of(name): text_of(value) for name, value in (field.split("=") for field in fields)}


def log_row(log, form, i, u, f, b, t, s):
    if form == 0:
        log("constant text")
    elif form == 1:
        log("100% of {braces}")
    elif form == 2:
        log("signed %d", i)
    elif form == 3:
        log("unsigned %d", u)
    elif form == 4:
        log("float %.3f", f)
    elif form == 5:
        log("text %s", t)
    elif form == 6:
        log("mixed %s %d %s %d", t, i, s, u)
    elif form == 7:
        log("data %d", i, Signed=i, Unsigned=u, Float=f, Is=b, Text=t)
    elif form == 8:
        log("failed: %s", t, **{"StackId": s, "StackLevel": i, "exception.stacktrace": t})
    elif form == 9:
        log("many %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", *[i] * 16)
    else:
        log("%s", t)


def write_row(line):
    _, form, level, logger, scope, i, u, f, b, t, s = line.split()
    log = getattr(LOGGERS[int(logger)], METHODS[int(level)])
    number = struct.unpack("<d", struct.pack("<Q", int(f)))[0]
    with whit_log.scope(**SCOPES[int(scope)]) if scope != "0" else nullcontext():
        log_row(log, int(form), int(i), int(u), number, b == "1", text_of(t), text_of(s))


def write_part(lines):
    for line in lines:
        write_row(line)


def in_child(lines):
    child = os.fork()
    if child == 0:
        write_part(lines)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def in_thread(lines):
    thread = threading.Thread(target=write_part, args=(lines,))
    thread.start()
    thread.join()


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        lines = file.read().splitlines()
    for line in lines:
        word, *fields = line.split()
        if word == "logger":
            log = whit_log.Logger(text_of(fields[0]), **pairs_of(fields[1:]))
            log.set_levels(whit_log.Level.TRACE, whit_log.Level.TRACE)
            LOGGERS.append(log)
        elif word == "scope":
            SCOPES.append(pairs_of(fields))
    at = int(sys.argv[2])
    while at < len(lines):
        word, *fields = lines[at].split(maxsplit=1)
        at += 1
        count = int(fields[0]) if word in ("thread", "process") else 0
        if word == "record":
            write_row(lines[at - 1])
        elif word == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "thread":
            in_thread(lines[at:at + count])
        elif word == "process":
            in_child(lines[at:at + count])
        at += count


main()
