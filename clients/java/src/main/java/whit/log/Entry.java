package whit.log;

import static whit.log.Layout.*;

/**
 * A record that is being made: values in the order of its format's places, then data, then {@link #write}.
 *
 * <p>It belongs to the thread that asked the logger for it, and is used again after {@code write}.
 */
public final class Entry {
    static final int ARGUMENTS_MAX = 16, DATA_MAX = 62;
    private static final int MAX = ARGUMENTS_MAX + DATA_MAX + 1;
    /** Takes everything, and keeps nothing: of a level that is off. */
    static final Entry OFF = new Entry(null);

    private final Ring ring;
    private Logger logger;
    private Level level;
    private String format;
    private long signature;
    private long leftOut;
    boolean isBusy;
    int arguments, count;
    final byte[] types = new byte[MAX];
    final long[] words = new long[MAX];
    final String[] texts = new String[MAX];
    final int[] bytes = new int[MAX];
    final String[] names = new String[MAX];
    final int[] nameBytes = new int[MAX];

    Entry(Ring ring) {
        this.ring = ring;
    }

    Entry begin(Logger logger, Level level, String format) {
        this.logger = logger;
        this.level = level;
        this.format = format;
        signature = level.number;
        arguments = count = 0;
        leftOut = 0;
        isBusy = true;
        return this;
    }

    private boolean takesArgument() {
        if (ring == null || arguments < count) {
            return false;
        }
        if (arguments == ARGUMENTS_MAX) {
            leftOut++;
            return false;
        }
        return true;
    }

    private Entry argument(byte type, long word) {
        if (takesArgument()) {
            types[count] = type;
            words[count] = word;
            signature = signature * 31 + type;
            arguments = ++count;
        }
        return this;
    }

    /** An integer. */
    public Entry put(long number) {
        return argument(SIGNED, number);
    }

    /** An integer without a sign. */
    public Entry putUnsigned(long number) {
        return argument(UNSIGNED, number);
    }

    /** A float. */
    public Entry put(double number) {
        return argument(FLOAT, Double.doubleToRawLongBits(number));
    }

    /** A float of 32 bits, which is shown with as many digits as it needs. */
    public Entry put(float number) {
        return argument(FLOAT32, Double.doubleToRawLongBits(number));
    }

    /** True or false. */
    public Entry put(boolean is) {
        return argument(BOOL, is ? 1 : 0);
    }

    /** A character. */
    public Entry put(char character) {
        return argument(CHAR, Character.isSurrogate(character) ? '?' : character);
    }

    /** A text. */
    public Entry put(String text) {
        if (takesArgument()) {
            setText(text);
            signature = signature * 31 + TEXT;
            arguments = ++count;
        }
        return this;
    }

    /** Anything: numbers, booleans, characters and texts as such, others as their text. */
    public Entry put(Object value) {
        if (ring == null) {
            return this;
        } else if (value instanceof Double || value instanceof Float) {
            return value instanceof Float ? put(((Float) value).floatValue()) : put(((Double) value).doubleValue());
        } else if (isInteger(value)) {
            return put(((Number) value).longValue());
        } else if (value instanceof Boolean) {
            return put(((Boolean) value).booleanValue());
        } else if (value instanceof Character) {
            return put(((Character) value).charValue());
        }
        return put(textOf(value));
    }

    private void setText(String text) {
        String known = text == null ? "null" : text;
        types[count] = TEXT;
        texts[count] = known;
        bytes[count] = utf8Length(known);
    }

    private boolean takesData(String name) {
        if (ring == null) {
            return false;
        }
        if (count - arguments >= DATA_MAX) {
            leftOut++;
            return false;
        }
        names[count] = name;
        nameBytes[count] = Math.min(utf8Length(name), 255);
        return true;
    }

    private Entry data(String name, byte type, long word) {
        if (takesData(name)) {
            types[count] = type;
            words[count++] = word;
        }
        return this;
    }

    /** A name and an integer. */
    public Entry data(String name, long number) {
        return data(name, SIGNED, number);
    }

    /** A name and an integer without a sign. */
    public Entry dataUnsigned(String name, long number) {
        return data(name, UNSIGNED, number);
    }

    /** A name and a float. */
    public Entry data(String name, double number) {
        return data(name, FLOAT, Double.doubleToRawLongBits(number));
    }

    /** A name and true or false. */
    public Entry data(String name, boolean is) {
        return data(name, BOOL, is ? 1 : 0);
    }

    /** A name and a text. */
    public Entry data(String name, String text) {
        if (takesData(name)) {
            setText(text);
            count++;
        }
        return this;
    }

    /** A name and anything; an exception is there with its stack. */
    public Entry data(String name, Object value) {
        if (ring == null) {
            return this;
        } else if (value instanceof Throwable) {
            return data(name, textOf(value)).exception((Throwable) value);
        } else if (isInteger(value)) {
            return data(name, ((Number) value).longValue());
        } else if (value instanceof Double || value instanceof Float) {
            return data(name, ((Number) value).doubleValue());
        } else if (value instanceof Boolean) {
            return data(name, ((Boolean) value).booleanValue());
        }
        return data(name, textOf(value));
    }

    /** An exception, by OpenTelemetry's names; null: none. */
    public Entry exception(Throwable thrown) {
        if (ring == null || thrown == null) {
            return this;
        }
        data("exception.type", thrown.getClass().getName());
        String message = null, stack;
        try {
            message = thrown.getMessage();
            java.io.StringWriter text = new java.io.StringWriter();
            thrown.printStackTrace(new java.io.PrintWriter(text));
            stack = text.toString();
        } catch (RuntimeException error) {
            stack = "its stack cannot be shown: " + error.getClass().getName();
        }
        if (message != null) {
            data("exception.message", message);
        }
        return data("exception.stacktrace", stack);
    }

    private static boolean isInteger(Object value) {
        return value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte;
    }

    /** The text of anything: what throws says so. */
    static String textOf(Object value) {
        try {
            return value instanceof Object[] ? java.util.Arrays.deepToString((Object[]) value) : String.valueOf(value);
        } catch (RuntimeException error) {
            return "[" + value.getClass().getName() + ".toString() has thrown " + error.getClass().getName() + "]";
        }
    }

    /** Stores the record. */
    public void write() {
        if (ring == null) {
            return;
        }
        try {
            write(null);
        } finally {
            clear();
        }
    }

    /** Stores a record whose format is a text that need not be constant, as made at this place. */
    public void writeAt(String file, int line, String routine) {
        if (ring == null) {
            return;
        }
        try {
            write(new Place(file == null ? "" : file, Math.max(line, 0), routine == null ? "" : routine));
        } finally {
            clear();
        }
    }

    private void clear() {
        for (int at = 0; at < count; at++) {
            texts[at] = null;
        }
        isBusy = false;
    }

    private void write(Place place) {
        if (leftOut > 0 && count < MAX) {
            names[count] = "DataLeftOut";
            nameBytes[count] = 11;
            types[count] = UNSIGNED;
            words[count++] = leftOut;
        }
        ring.process.write(ring, this, place);
    }

    Logger logger() {
        return logger;
    }

    Level level() {
        return level;
    }

    String format() {
        return format;
    }

    long signature() {
        return signature;
    }

    /** Puts a text before all values: a format for which there is no room, or one that is not constant. */
    void insertFormat() {
        int shifted = Math.min(count, MAX - 1);
        for (Object array : new Object[] {types, words, texts, bytes, names, nameBytes}) {
            System.arraycopy(array, 0, array, 1, shifted);
        }
        int before = count;
        count = 0;
        setText(format);
        count = Math.min(before + 1, MAX);
        arguments++;
    }
}
