package whit.log;

/** Levels, with ACS's numbers. */
public enum Level {
    /** A function is entered or left. */
    TRACE(1),
    /** Debugging of low levels. */
    DELOUSE(2),
    /** Debugging. */
    DEBUG(3),
    /** Normal operation. */
    INFO(4),
    /** Normal, but significant. */
    NOTICE(5),
    /** Could lead to errors. */
    WARNING(6),
    /** An error. */
    ERROR(8),
    /** An alarm for operators. */
    CRITICAL(9),
    /** More important than critical. */
    ALERT(10),
    /** The highest. */
    EMERGENCY(11),
    /** As a threshold: nothing passes. */
    OFF(99);

    /** ACS's number. */
    public final int number;

    Level(int number) {
        this.number = number;
    }
}
