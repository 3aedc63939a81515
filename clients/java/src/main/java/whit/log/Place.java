package whit.log;

/** Where a record was made. */
record Place(String file, int line, String routine) {
    static final Place NOWHERE = new Place("", 0, "");
    private static final StackWalker WALKER = StackWalker.getInstance();

    /** The place of the first caller outside of this package and of SLF4J. */
    static Place caller() {
        return WALKER.walk(frames -> frames
            .filter(frame -> !frame.getClassName().startsWith("whit.log.") && !frame.getClassName().startsWith("org.slf4j."))
            .findFirst()
            .map(frame -> new Place(
                frame.getFileName() == null ? frame.getClassName() : frame.getFileName(),
                Math.max(frame.getLineNumber(), 0),
                frame.getClassName() + "." + frame.getMethodName()))
            .orElse(NOWHERE));
    }
}
