package whit.log;

import java.nio.ByteBuffer;

/**
 * A named logger: {@link WhitLog#logger} makes it.
 *
 * <p>Formats have places as C++'s: {@code {}}, {@code {:.3f}}, {@code {:>8}}; a text without values is taken as it is.
 * Values are stored as they are, and put into the text by who reads it. Calls with constants and primitives allocate
 * nothing.
 */
public final class Logger {
    /** Logs nothing. */
    static final Logger OFF = new Logger();

    private final RingProcess process;
    /** The levels: of all records that are made, for the central store, for local outputs. */
    private final ByteBuffer levels;
    private final int at, index;
    final int context;
    /** Its own name, if there was no room for it. */
    final String leftName;

    private Logger() {
        process = null;
        levels = ByteBuffer.wrap(new byte[] {99, 99, 99});
        at = index = context = 0;
        leftName = null;
    }

    Logger(RingProcess process, int index, int context, String leftName) {
        this.process = process;
        this.index = index;
        this.context = context;
        this.leftName = leftName;
        levels = process.page;
        at = Layout.LOGGERS + index * Layout.LOGGER_BYTES;
    }

    int centralLevel() {
        return levels.get(at + 1);
    }

    /** Whether records of a level are made. */
    public boolean isEnabled(Level level) {
        return level.number >= levels.get(at) && level != Level.OFF;
    }

    /** Sets the levels for the central store and for local outputs; all loggers of the name follow at once. */
    public void setLevels(Level central, Level local) {
        if (process != null) {
            process.setLevels(index, central.number, local.number);
        }
    }

    /** Begins a record, to which values and data are added: {@link Entry#write} stores it. */
    public Entry at(Level level, String format) {
        if (!isEnabled(level)) {
            return Entry.OFF;
        }
        Ring ring = process.ring();
        if (ring == null) {
            process.countLost(level);
            return Entry.OFF;
        }
        // An argument's toString() may log.
        Entry entry = ring.isShared || ring.entry.isBusy ? new Entry(ring) : ring.entry;
        return entry.begin(this, level, format == null ? "null" : format);
    }

    /** Stores a record. */
    public void log(Level level, String text) {
        at(level, text).write();
    }

    /** Stores a record. */
    public void log(Level level, String format, long value) {
        at(level, format).put(value).write();
    }

    /** Stores a record. */
    public void log(Level level, String format, double value) {
        at(level, format).put(value).write();
    }

    /** Stores a record. */
    public void log(Level level, String format, Object value) {
        if (isEnabled(level)) {
            at(level, format).put(value).write();
        }
    }

    /** Stores a record. */
    public void log(Level level, String format, long first, long second) {
        at(level, format).put(first).put(second).write();
    }

    /** Stores a record. */
    public void log(Level level, String format, long first, double second) {
        at(level, format).put(first).put(second).write();
    }

    /** Stores a record. */
    public void log(Level level, String format, Object... values) {
        if (isEnabled(level)) {
            Entry entry = at(level, format);
            for (Object value : values) {
                entry.put(value);
            }
            entry.write();
        }
    }

    /** At level TRACE. */
    public void trace(String text) {
        log(Level.TRACE, text);
    }

    /** At level TRACE. */
    public void trace(String format, long value) {
        log(Level.TRACE, format, value);
    }

    /** At level TRACE. */
    public void trace(String format, double value) {
        log(Level.TRACE, format, value);
    }

    /** At level TRACE. */
    public void trace(String format, long first, double second) {
        log(Level.TRACE, format, first, second);
    }

    /** At level TRACE. */
    public void trace(String format, Object... values) {
        log(Level.TRACE, format, values);
    }

    /** At level DELOUSE. */
    public void delouse(String text) {
        log(Level.DELOUSE, text);
    }

    /** At level DELOUSE. */
    public void delouse(String format, long value) {
        log(Level.DELOUSE, format, value);
    }

    /** At level DELOUSE. */
    public void delouse(String format, double value) {
        log(Level.DELOUSE, format, value);
    }

    /** At level DELOUSE. */
    public void delouse(String format, long first, double second) {
        log(Level.DELOUSE, format, first, second);
    }

    /** At level DELOUSE. */
    public void delouse(String format, Object... values) {
        log(Level.DELOUSE, format, values);
    }

    /** At level DEBUG. */
    public void debug(String text) {
        log(Level.DEBUG, text);
    }

    /** At level DEBUG. */
    public void debug(String format, long value) {
        log(Level.DEBUG, format, value);
    }

    /** At level DEBUG. */
    public void debug(String format, double value) {
        log(Level.DEBUG, format, value);
    }

    /** At level DEBUG. */
    public void debug(String format, long first, double second) {
        log(Level.DEBUG, format, first, second);
    }

    /** At level DEBUG. */
    public void debug(String format, Object... values) {
        log(Level.DEBUG, format, values);
    }

    /** At level INFO. */
    public void info(String text) {
        log(Level.INFO, text);
    }

    /** At level INFO. */
    public void info(String format, long value) {
        log(Level.INFO, format, value);
    }

    /** At level INFO. */
    public void info(String format, double value) {
        log(Level.INFO, format, value);
    }

    /** At level INFO. */
    public void info(String format, long first, double second) {
        log(Level.INFO, format, first, second);
    }

    /** At level INFO. */
    public void info(String format, Object... values) {
        log(Level.INFO, format, values);
    }

    /** At level NOTICE. */
    public void notice(String text) {
        log(Level.NOTICE, text);
    }

    /** At level NOTICE. */
    public void notice(String format, long value) {
        log(Level.NOTICE, format, value);
    }

    /** At level NOTICE. */
    public void notice(String format, double value) {
        log(Level.NOTICE, format, value);
    }

    /** At level NOTICE. */
    public void notice(String format, long first, double second) {
        log(Level.NOTICE, format, first, second);
    }

    /** At level NOTICE. */
    public void notice(String format, Object... values) {
        log(Level.NOTICE, format, values);
    }

    /** At level WARNING. */
    public void warning(String text) {
        log(Level.WARNING, text);
    }

    /** At level WARNING. */
    public void warning(String format, long value) {
        log(Level.WARNING, format, value);
    }

    /** At level WARNING. */
    public void warning(String format, double value) {
        log(Level.WARNING, format, value);
    }

    /** At level WARNING. */
    public void warning(String format, long first, double second) {
        log(Level.WARNING, format, first, second);
    }

    /** At level WARNING. */
    public void warning(String format, Object... values) {
        log(Level.WARNING, format, values);
    }

    /** At level ERROR. */
    public void error(String text) {
        log(Level.ERROR, text);
    }

    /** At level ERROR. */
    public void error(String format, long value) {
        log(Level.ERROR, format, value);
    }

    /** At level ERROR. */
    public void error(String format, double value) {
        log(Level.ERROR, format, value);
    }

    /** At level ERROR. */
    public void error(String format, long first, double second) {
        log(Level.ERROR, format, first, second);
    }

    /** At level ERROR. */
    public void error(String format, Object... values) {
        log(Level.ERROR, format, values);
    }

    /** At level CRITICAL. */
    public void critical(String text) {
        log(Level.CRITICAL, text);
    }

    /** At level CRITICAL. */
    public void critical(String format, long value) {
        log(Level.CRITICAL, format, value);
    }

    /** At level CRITICAL. */
    public void critical(String format, double value) {
        log(Level.CRITICAL, format, value);
    }

    /** At level CRITICAL. */
    public void critical(String format, long first, double second) {
        log(Level.CRITICAL, format, first, second);
    }

    /** At level CRITICAL. */
    public void critical(String format, Object... values) {
        log(Level.CRITICAL, format, values);
    }

    /** At level ALERT. */
    public void alert(String text) {
        log(Level.ALERT, text);
    }

    /** At level ALERT. */
    public void alert(String format, long value) {
        log(Level.ALERT, format, value);
    }

    /** At level ALERT. */
    public void alert(String format, double value) {
        log(Level.ALERT, format, value);
    }

    /** At level ALERT. */
    public void alert(String format, long first, double second) {
        log(Level.ALERT, format, first, second);
    }

    /** At level ALERT. */
    public void alert(String format, Object... values) {
        log(Level.ALERT, format, values);
    }

    /** At level EMERGENCY. */
    public void emergency(String text) {
        log(Level.EMERGENCY, text);
    }

    /** At level EMERGENCY. */
    public void emergency(String format, long value) {
        log(Level.EMERGENCY, format, value);
    }

    /** At level EMERGENCY. */
    public void emergency(String format, double value) {
        log(Level.EMERGENCY, format, value);
    }

    /** At level EMERGENCY. */
    public void emergency(String format, long first, double second) {
        log(Level.EMERGENCY, format, first, second);
    }

    /** At level EMERGENCY. */
    public void emergency(String format, Object... values) {
        log(Level.EMERGENCY, format, values);
    }
}
