package whit.log.log4j;

import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.Filter;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.plugins.Plugin;
import org.apache.logging.log4j.core.config.plugins.PluginAttribute;
import org.apache.logging.log4j.core.config.plugins.PluginElement;
import org.apache.logging.log4j.core.config.plugins.PluginFactory;
import whit.log.Entry;
import whit.log.Level;
import whit.log.LoggersByName;

/** Stores the events of Log4j 2: {@code <Whit name="WHIT"/>} among the appenders. */
@Plugin(name = "Whit", category = "Core", elementType = Appender.ELEMENT_TYPE)
public final class RingAppender extends AbstractAppender {
    private final LoggersByName loggers = new LoggersByName();

    private RingAppender(String name, Filter filter) {
        super(name, filter, null, true, Property.EMPTY_ARRAY);
    }

    /** Log4j makes it. */
    @PluginFactory
    public static RingAppender create(@PluginAttribute("name") String name, @PluginElement("Filter") Filter filter) {
        return new RingAppender(name, filter);
    }

    private static Level levelOf(org.apache.logging.log4j.Level level) {
        int number = level.intLevel();
        return number <= 100 ? Level.CRITICAL : number <= 200 ? Level.ERROR : number <= 300 ? Level.WARNING
            : number <= 400 ? Level.INFO : number <= 500 ? Level.DEBUG : Level.TRACE;
    }

    @Override
    public void append(LogEvent event) {
        Entry entry = loggers.get(event.getLoggerName()).at(levelOf(event.getLevel()), event.getMessage().getFormattedMessage());
        event.getContextData().forEach((name, value) -> entry.data(name, value));
        entry.exception(event.getThrown());
        StackTraceElement caller = event.isIncludeLocation() ? event.getSource() : null;
        if (caller == null) {
            entry.writeAt("", 0, "");
        } else {
            entry.writeAt(caller.getFileName(), caller.getLineNumber(), caller.getClassName() + "." + caller.getMethodName());
        }
    }
}
