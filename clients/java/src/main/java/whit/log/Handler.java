package whit.log;

import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

/**
 * Stores the records of {@code java.util.logging}, which ACS uses: {@code handlers = whit.log.Handler}.
 *
 * <p>The property {@code whit.log.Handler.level} is a level; {@code whit.log.Handler.places=false} leaves out class
 * and method, which {@code java.util.logging} finds by walking the stack. With a formatter the message is the text
 * that it makes. A record survives the program from its call on, so that {@code flush()} waits for nothing.
 */
public final class Handler extends java.util.logging.Handler {
    private static final SimpleFormatter PLAIN = new SimpleFormatter();

    private final LoggersByName loggers = new LoggersByName();
    private final boolean hasPlaces;

    /** A handler with the properties of the log manager. */
    public Handler() {
        java.util.logging.LogManager manager = java.util.logging.LogManager.getLogManager();
        hasPlaces = !"false".equals(manager.getProperty(Handler.class.getName() + ".places"));
        String level = manager.getProperty(Handler.class.getName() + ".level");
        try {
            setLevel(level == null ? java.util.logging.Level.ALL : java.util.logging.Level.parse(level));
        } catch (IllegalArgumentException unknown) {
            reportError(level + " is no level", unknown, java.util.logging.ErrorManager.GENERIC_FAILURE);
        }
    }

    /** ACS's level of a level: by its name, else by its number. */
    static Level levelOf(java.util.logging.Level level) {
        switch (level.getName()) {
            case "TRACE":
                return Level.TRACE;
            case "DELOUSE":
                return Level.DELOUSE;
            case "DEBUG":
                return Level.DEBUG;
            case "NOTICE":
                return Level.NOTICE;
            case "ERROR":
                return Level.ERROR;
            case "CRITICAL":
                return Level.CRITICAL;
            case "ALERT":
                return Level.ALERT;
            case "EMERGENCY":
                return Level.EMERGENCY;
            default:
                int number = level.intValue();
                return number < 400 ? Level.TRACE : number < 500 ? Level.DELOUSE : number < 800 ? Level.DEBUG
                    : number == 800 ? Level.INFO : number < 900 ? Level.NOTICE : number == 900 ? Level.WARNING
                    : Level.ERROR;
        }
    }

    @Override
    public void publish(LogRecord record) {
        try {
            if (!isLoggable(record)) {
                return;
            }
            Logger log = loggers.get(record.getLoggerName() == null ? "" : record.getLoggerName());
            Level level = levelOf(record.getLevel());
            if (!log.isEnabled(level)) {
                return;
            }
            String type = hasPlaces ? record.getSourceClassName() : null;
            String method = hasPlaces ? record.getSourceMethodName() : null;
            String routine = type == null ? "" : method == null ? type : type + "." + method;
            log.at(level, message(record)).exception(record.getThrown()).writeAt("", 0, routine);
        } catch (RuntimeException error) {
            reportError(null, error, java.util.logging.ErrorManager.WRITE_FAILURE);
        }
    }

    private String message(LogRecord record) {
        if (getFormatter() != null) {
            return getFormatter().format(record);
        }
        Object[] values = record.getParameters();
        boolean isPlain = record.getResourceBundle() == null && (values == null || values.length == 0);
        return isPlain ? record.getMessage() : PLAIN.formatMessage(record);
    }

    /** Waits for nothing: what was published is in the ring. */
    @Override
    public void flush() {}

    /** Keeps nothing open. */
    @Override
    public void close() {}
}
