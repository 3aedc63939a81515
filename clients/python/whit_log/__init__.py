"""Logging into rings in shared memory, which `whit log proxy` reads.

    import logging, whit_log
    logging.basicConfig(level=logging.INFO, handlers=[whit_log.Handler()])
    logging.getLogger("CONTROL/PM01").info("antenna %d at %.3f degrees", 7, 45.25)

or without `logging`:

    log = whit_log.Logger("CONTROL/PM01", Antenna="DV01")
    log.info("antenna %d at %.3f degrees", 7, 45.25, Uri="http://host/7")

A call that returned is safe from then on, however the program ends.
"""

import atexit
import contextlib
import contextvars
import enum
import logging
import os
import sys
import threading
import traceback

try:
    from . import _ring
except ImportError as error:
    # Plain Python cannot publish a record by one store that other processors see after its bytes.
    raise ImportError(
        f"whit_log has no part in C here ({error}): install it with `pip install .` where a C compiler is"
    ) from error

__all__ = ["Handler", "Level", "Logger", "Policy", "Tier", "add_level_names", "flush", "scope", "start",
           "structlog_processor"]


class Level(enum.IntEnum):
    """Levels, with ACS's numbers."""

    TRACE = 1
    DELOUSE = 2
    DEBUG = 3
    INFO = 4
    NOTICE = 5
    WARNING = 6
    ERROR = 8
    CRITICAL = 9
    ALERT = 10
    EMERGENCY = 11
    OFF = 99


class Policy(enum.IntEnum):
    """What a call does when its ring has no room."""

    GROW = 0
    BLOCK = 1
    DROP = 2
    OVERWRITE = 3


class Tier(enum.IntEnum):
    """How safe records are."""

    RING = 0
    READ = 1
    SYNCED = 2
    CENTRAL = 3


# Levels of `logging` below these numbers; what is above is EMERGENCY.
_BELOW = [(6, Level.TRACE), (10, Level.DELOUSE), (20, Level.DEBUG), (25, Level.INFO), (30, Level.NOTICE),
          (40, Level.WARNING), (50, Level.ERROR), (60, Level.CRITICAL), (70, Level.ALERT)]
_NUMBERS = {"TRACE": 5, "DELOUSE": 7, "NOTICE": 25, "ALERT": 60, "EMERGENCY": 70}
_NAMED = {level.name: int(level) for level in Level if level is not Level.OFF}
_NAMED.update(WARN=6, FATAL=9, EXCEPTION=8)
_lock = threading.Lock()
_started = False
_scope = contextvars.ContextVar("whit_log_scope", default=())


def start(*, directory=None, host_name=None, process_name=None, ring_bytes=None, ring_bytes_max=None,
          process_bytes_max=None, block_timeout_ns=None, policy=None, acs=None):
    """Starts logging with settings of your own; without it the first logger or handler starts it.

    `directory` is the folder of rings ($WHIT_LOG_DIRECTORY, or the user's), `policy` what a call does
    without room, `acs` a mapping of ACS's names to texts.  Gives whether the records survive this process.
    """
    settings = {name: value for name, value in locals().items() if value is not None and name != "acs"}
    settings.update({f"acs:{name}": str(value) for name, value in (acs or {}).items()})
    settings.setdefault("process_name", _process_name())
    for name in ("directory",):
        if name in settings:
            settings[name] = os.fsdecode(settings[name])
    global _started
    with _lock:
        if _started:
            raise RuntimeError("whit_log is started already: call start() before the first logger or handler")
        is_private = _ring.start(settings)
        _connect()
        _started = True
    return is_private == 0


def _process_name():
    """The name of the script, or of Python."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    if name == "__main__.py":
        name = os.path.basename(os.path.dirname(sys.argv[0]))
    return name if name not in ("", "-c", "-m") else os.path.basename(sys.executable or "python")


def _start_once():
    """Starts with defaults.  A failure is said once, and records are not made: the program goes on."""
    global _started
    with _lock:
        if _started:
            return
        try:
            _ring.start({"process_name": _process_name()})
        except OSError as error:
            print(f"whit_log cannot log: {error}", file=sys.stderr)
        _connect()
        _started = True


def _connect():
    standard = set(logging.makeLogRecord({}).__dict__)
    count = len(standard)
    _ring.connect(_expand, _scope.get, standard | {"message", "asctime", "taskName"}, count, _ring.Logger("python"))
    # Records are in shared memory already; this says that the end was orderly.
    atexit.register(_ring.end)


def flush(tier=Tier.CENTRAL, timeout=5.0):
    """Waits until all that was logged is as safe as a tier says; gives whether it is."""
    return _ring.flush(int(tier), float(timeout))


def add_level_names():
    """Gives `logging` the names TRACE 5, DELOUSE 7, NOTICE 25, ALERT 60 and EMERGENCY 70."""
    for name, number in _NUMBERS.items():
        logging.addLevelName(number, name)


@contextlib.contextmanager
def scope(**pairs):
    """Gives all records of a block these names and values, in this thread or task of asyncio alone."""
    _ring.use_scopes()
    token = _scope.set(_scope.get() + tuple(pairs.items()))
    try:
        yield
    finally:
        _scope.reset(token)


def _expand(name, value):
    """An exception as names and values, by OpenTelemetry's names; one under another name keeps its text."""
    pairs = []
    if name != "exc_info":
        pairs.append((name, str(value)))
    elif value is True:
        value = sys.exc_info()[1]
    elif isinstance(value, tuple):
        value = value[1]
    if not isinstance(value, BaseException):
        return pairs
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    stack = "".join(traceback.format_exception(kind, value, value.__traceback__))
    return pairs + [("exception.type", module + kind.__qualname__), ("exception.message", str(value)),
                    ("exception.stacktrace", stack)]


class Logger(_ring.Logger):
    """A named logger; names and values of its context may follow.

    A message is `%` of its arguments, as of `logging`.  Names and values of a call are data of its record; an
    exception among them, or `exc_info=True`, is there with its stack.
    """

    __slots__ = ()

    def __new__(cls, name, **context):
        _start_once()
        return super().__new__(cls, name, **context)

    def exception(self, message, *args, **data):
        """As error(), with the exception that is handled."""
        frame = sys._getframe(1)
        code = frame.f_code
        data.setdefault("exc_info", True)
        self._write(Level.ERROR, code.co_filename, frame.f_lineno or 0, code.co_name, message, args, tuple(data.items()))


def _level_of(number, name):
    level = _NAMED.get(name)
    if level is not None:
        return level
    for below, level in _BELOW:
        if number < below:
            return int(level)
    return int(Level.EMERGENCY)


class Handler(logging.Handler):
    """Stores the records of `logging`.

    A level with a name of ACS's (add_level_names() makes them) is that one; others are by their numbers.
    `extra` is data of the record, and so are an exception with its stack, and `stack_info`.  With a
    formatter the message is the text that it makes.  flush() waits for `tier`, up to `timeout` seconds: a
    record survives the program from its call on, so the default, the ring, waits for nothing.
    """

    def __init__(self, level=logging.NOTSET, *, tier=Tier.RING, timeout=5.0):
        super().__init__(level)
        _start_once()
        self.tier = Tier(tier)
        self.timeout = float(timeout)
        self._levels = {}

    def createLock(self):
        """Each thread has a ring of its own: there is nothing to lock."""
        self.lock = None

    def emit(self, record):
        """Stores a record."""
        try:
            key = (record.levelno, record.levelname)
            level = self._levels.get(key)
            if level is None:
                level = _level_of(record.levelno, record.levelname)
                if len(self._levels) < 256:
                    self._levels[key] = level
            _ring.emit(record, level, None if self.formatter is None else self.format(record))
        except Exception:
            self.handleError(record)

    def flush(self):
        """Waits until all is as safe as the handler's tier says."""
        flush(self.tier, self.timeout)


def structlog_processor(logger, method_name, event_dict):
    """A processor of structlog, at the end of the chain: stores the event, and ends the chain.

    The event's name is the message, all else is data, and the logger has the name that `logger` or
    `logger_name` of the event says.
    """
    import structlog

    data = dict(event_dict)
    message = data.pop("event", "")
    name = data.pop("logger", None) or data.pop("logger_name", None) or getattr(logger, "name", None) or "structlog"
    data.pop("level", None)
    data.pop("timestamp", None)
    if not data.get("exc_info", True):
        del data["exc_info"]
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "structlog":
        frame = frame.f_back
    code = frame.f_code
    target = _structlog_logger(str(name))
    target._write(_level_of(20, method_name.upper()), code.co_filename, frame.f_lineno or 0, code.co_name, message, (),
                  tuple((str(key), value) for key, value in data.items()))
    raise structlog.DropEvent


_structlog_loggers = {}


def _structlog_logger(name):
    """The logger of a name; `structlog` where there is no room for more."""
    found = _structlog_loggers.get(name)
    if found is None:
        try:
            found = Logger(name)
        except OSError:
            found = Logger("structlog")
        if len(_structlog_loggers) < 1024:
            _structlog_loggers[name] = found
    return found
