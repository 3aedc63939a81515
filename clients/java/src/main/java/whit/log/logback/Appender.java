package whit.log.logback;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import whit.log.Entry;
import whit.log.Level;
import whit.log.LoggersByName;

/** Stores the events of Logback: {@code <appender name="WHIT" class="whit.log.logback.Appender"/>}. */
public final class Appender extends AppenderBase<ILoggingEvent> {
    private final LoggersByName loggers = new LoggersByName();
    private boolean includeCallerData;

    /** Logback makes it. */
    public Appender() {}

    /** Whether records have file, line and method, for which Logback walks the stack. */
    public void setIncludeCallerData(boolean includeCallerData) {
        this.includeCallerData = includeCallerData;
    }

    private static Level levelOf(ch.qos.logback.classic.Level level) {
        int number = level.toInt();
        return number < ch.qos.logback.classic.Level.DEBUG_INT ? Level.TRACE
            : number < ch.qos.logback.classic.Level.INFO_INT ? Level.DEBUG
            : number < ch.qos.logback.classic.Level.WARN_INT ? Level.INFO
            : number < ch.qos.logback.classic.Level.ERROR_INT ? Level.WARNING : Level.ERROR;
    }

    @Override
    protected void append(ILoggingEvent event) {
        Entry entry = loggers.get(event.getLoggerName()).at(levelOf(event.getLevel()), event.getFormattedMessage());
        event.getMDCPropertyMap().forEach(entry::data);
        if (event.getThrowableProxy() instanceof ThrowableProxy) {
            entry.exception(((ThrowableProxy) event.getThrowableProxy()).getThrowable());
        }
        StackTraceElement[] caller = includeCallerData ? event.getCallerData() : null;
        if (caller == null || caller.length == 0) {
            entry.writeAt("", 0, "");
        } else {
            String routine = caller[0].getClassName() + "." + caller[0].getMethodName();
            entry.writeAt(caller[0].getFileName(), caller[0].getLineNumber(), routine);
        }
    }
}
