package whit.log;

/** How safe records are; each tier includes those before it. */
public enum Tier {
    /** In the ring: they survive this process. */
    RING,
    /** Read by the proxy. */
    READ,
    /** On the proxy's disk. */
    SYNCED,
    /** In the central store. */
    CENTRAL
}
