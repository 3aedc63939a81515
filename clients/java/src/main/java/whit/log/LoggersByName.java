package whit.log;

import java.util.concurrent.ConcurrentHashMap;

/** The loggers of names, for handlers and appenders of other libraries, which are given a name with each record. */
public final class LoggersByName {
    private static final int LOGGERS_MAX = 4096;
    private final ConcurrentHashMap<String, Logger> loggers = new ConcurrentHashMap<>();

    /** None is known at first. */
    public LoggersByName() {}

    /** The logger of a name; those beyond 4,096 are looked up anew at each call. */
    public Logger get(String name) {
        Logger known = loggers.get(name);
        if (known == null) {
            known = WhitLog.logger(name);
            if (loggers.size() < LOGGERS_MAX) {
                loggers.put(name, known);
            }
        }
        return known;
    }
}
