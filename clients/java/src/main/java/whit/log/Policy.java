package whit.log;

/** What a call does when its ring has no room; what is dropped is counted, and said in the stream. */
public enum Policy {
    /** Takes a larger ring, up to the limits; then as {@link #BLOCK}. */
    GROW,
    /** Waits for the reader, for a limited time; then drops. */
    BLOCK,
    /** Drops this record. */
    DROP
}
