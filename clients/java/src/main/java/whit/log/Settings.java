package whit.log;

import java.nio.file.Path;

/** How a program logs; {@link WhitLog#start} takes it. */
public final class Settings {
    /** The folder of rings; null: {@code $WHIT_LOG_DIRECTORY}, or the user's. */
    public Path directory;
    /** The name of the host; null: the system's. */
    public String hostName;
    /** The name of the program; null: its main class or archive. */
    public String processName;
    /** Bytes of a thread's ring, which begins with 16 KiB. */
    public long ringBytes = 1 << 20;
    /** Bytes up to which a ring grows with {@link Policy#GROW}. */
    public long ringBytesMax = 16 << 20;
    /** Bytes of all rings. */
    public long processBytesMax = 256 << 20;
    /** The longest wait of a call. */
    public long blockTimeoutNanos = 10_000_000_000L;
    /** What a call does without room. */
    public Policy policy = Policy.GROW;
    /** Level of a new logger for the central store. */
    public Level levelCentral = Level.DELOUSE;
    /** Level of a new logger for local outputs. */
    public Level levelLocal = Level.DELOUSE;
    /** All threads write into eight rings that they share, as virtual threads always do: for very many threads. */
    public boolean sharedRings;
}
