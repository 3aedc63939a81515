package whit.log;

import java.io.IOException;

/**
 * Logging into rings in shared memory, which {@code whit log proxy} reads.
 *
 * <pre>{@code
 * Logger log = WhitLog.logger("CONTROL/PM01", "Antenna", "DV01");
 * log.info("antenna {} at {:.3f} degrees", 7, 45.25);
 * log.at(Level.ERROR, "cannot open {}").put(path).exception(error).write();
 * }</pre>
 *
 * A call that returned is safe from then on, however the program ends.
 */
public final class WhitLog {
    private WhitLog() {}

    private static volatile RingProcess process;
    private static boolean isStarted;

    /** A block whose records have names and values, in this thread alone. */
    public static final class Scope implements AutoCloseable {
        private final int before;

        private Scope(int before) {
            this.before = before;
        }

        @Override
        public void close() {
            RingProcess known = process;
            if (known != null) {
                known.setScope(before);
            }
        }
    }

    /**
     * Starts logging with settings of your own; without it the first logger or handler starts it.
     *
     * @return whether records are kept; if not, a line on standard error says why, and nothing is logged
     */
    public static synchronized boolean start(Settings settings) {
        if (isStarted) {
            throw new IllegalStateException("logging is started already: start it before the first logger");
        }
        isStarted = true;
        try {
            process = new RingProcess(settings);
        } catch (IOException | RuntimeException | Error why) {
            RingProcess.say(Folder.reason(why) + ": nothing is logged");
        }
        return process != null;
    }

    static RingProcess process() {
        RingProcess known = process;
        if (known == null) {
            synchronized (WhitLog.class) {
                if (!isStarted) {
                    start(new Settings());
                }
                known = process;
            }
        }
        return known;
    }

    /** The logger of a name; names and values of its context follow, in turn. */
    public static Logger logger(String name, String... pairs) {
        RingProcess known = process();
        return known == null ? Logger.OFF : known.logger(name, pairs);
    }

    /** Gives all records of this thread names and values, before those of its scope, until it is closed. */
    public static Scope scope(String... pairs) {
        RingProcess known = process();
        Ring ring = known == null ? null : known.ring();
        if (ring == null) {
            return new Scope(0);
        }
        int within = known.scopeOf(ring), number = known.scope(pairs, within);
        return new Scope(known.setScope(number == 0 ? within : number));
    }

    /** Waits until all that was logged is as safe as a tier says; gives whether it is. */
    public static boolean flush(Tier tier, long timeoutNanos) {
        RingProcess known = process;
        return known == null || known.flush(tier, timeoutNanos);
    }
}
