package whit.log.slf4j;

import java.util.Map;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.event.LoggingEvent;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggingEventAware;
import org.slf4j.spi.MDCAdapter;
import whit.log.Entry;
import whit.log.Logger;
import whit.log.WhitLog;

/** A logger of SLF4J: values are stored as such where the reader makes the text that SLF4J makes. */
final class RingLogger extends LegacyAbstractLogger implements LoggingEventAware {
    private static final long serialVersionUID = 1;

    private final transient Logger log;
    private final transient MDCAdapter contexts;

    RingLogger(String name, MDCAdapter contexts) {
        this.name = name;
        this.contexts = contexts;
        log = WhitLog.logger(name);
    }

    private static whit.log.Level levelOf(Level level) {
        switch (level) {
            case TRACE:
                return whit.log.Level.TRACE;
            case DEBUG:
                return whit.log.Level.DEBUG;
            case INFO:
                return whit.log.Level.INFO;
            case WARN:
                return whit.log.Level.WARNING;
            default:
                return whit.log.Level.ERROR;
        }
    }

    @Override
    public boolean isTraceEnabled() {
        return log.isEnabled(whit.log.Level.TRACE);
    }

    @Override
    public boolean isDebugEnabled() {
        return log.isEnabled(whit.log.Level.DEBUG);
    }

    @Override
    public boolean isInfoEnabled() {
        return log.isEnabled(whit.log.Level.INFO);
    }

    @Override
    public boolean isWarnEnabled() {
        return log.isEnabled(whit.log.Level.WARNING);
    }

    @Override
    public boolean isErrorEnabled() {
        return log.isEnabled(whit.log.Level.ERROR);
    }

    @Override
    protected String getFullyQualifiedCallerName() {
        return null;
    }

    /** Whether the reader puts these values into the format as SLF4J would. */
    private static boolean isPlain(String format, Object[] values) {
        int places = 0;
        for (int at = 0; at < format.length(); at++) {
            char c = format.charAt(at);
            if (c == '\\' || c == '}') {
                return false;
            } else if (c == '{') {
                if (at + 1 >= format.length() || format.charAt(++at) != '}') {
                    return false;
                }
                places++;
            }
        }
        return places == values.length && places <= 16;
    }

    private Entry begin(Level level, String format, Object[] values) {
        Entry entry;
        if (values == null || values.length == 0 || format == null) {
            entry = log.at(levelOf(level), format);
        } else if (isPlain(format, values)) {
            entry = log.at(levelOf(level), format);
            for (Object value : values) {
                // Java writes floats in its own way.
                entry.put(value instanceof Double || value instanceof Float ? value.toString() : value);
            }
        } else {
            entry = log.at(levelOf(level), "{}").put(MessageFormatter.basicArrayFormat(format, values));
        }
        return entry;
    }

    private void end(Entry entry, Throwable thrown) {
        Map<String, String> context = contexts.getCopyOfContextMap();
        if (context != null) {
            context.forEach(entry::data);
        }
        entry.exception(thrown).write();
    }

    @Override
    protected void handleNormalizedLoggingCall(Level level, Marker marker, String format, Object[] values, Throwable thrown) {
        Entry entry = begin(level, format, values);
        if (marker != null) {
            entry.data("marker", marker.getName());
        }
        end(entry, thrown);
    }

    /** An event of the fluent calls: its names and values are data. */
    @Override
    public void log(LoggingEvent event) {
        Entry entry = begin(event.getLevel(), event.getMessage(), event.getArgumentArray());
        if (event.getMarkers() != null) {
            event.getMarkers().forEach(marker -> entry.data("marker", marker.getName()));
        }
        if (event.getKeyValuePairs() != null) {
            event.getKeyValuePairs().forEach(pair -> entry.data(pair.key, pair.value));
        }
        end(entry, event.getThrowable());
    }
}
