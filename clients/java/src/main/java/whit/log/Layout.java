package whit.log;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** The layout of the files: docs/format-log-ring.md defines it. */
final class Layout {
    private Layout() {}

    static final int VERSION = 1, PAGE = 4096;
    /** Of the process file. */
    static final int DICTIONARY_LENGTH = 1024, PAIRS = 1032, FLUSH = 1040, ENDED = 1044, DROPPED = 1048, RINGS = 1176,
        LOGGER_COUNT = 1180, SLEEPER = 1344, CALIBRATION = 8192, LOGGERS = 12288, LOGGERS_MAX = 1024, LOGGER_BYTES = 256,
        LOGGER_NAME = 112, LOGGER_NAME_MAX = 144, DICTIONARY = 274_432, DICTIONARY_MAX = 16 << 20;
    /** Of a ring. */
    static final int R_WRITE = 256, R_ENDED = 272, R_WAITS = 276, R_SUCCESSOR = 280, R_DROPPED = 288, R_MARKS = 512,
        MARK_BYTES = 32, R_DATA = 4096, RESERVE = 128, NO_RING = -1;
    /** Of a record. */
    static final int HEAD = 24, RECORD_MAX = 524_280, ATTRIBUTES = 0x10, CUT = 0x20, LOCAL = 0x80, CUT_BYTES = 24;
    static final int K_LOG = 1, K_DROPPED = 2, K_CLOCKS = 4, K_NEXT = 5, K_BEGIN = 6, K_END = 7;
    /** Types of values. */
    static final byte SIGNED = 1, UNSIGNED = 2, FLOAT = 3, BOOL = 4, CHAR = 5, TEXT = 6, FLOAT32 = 13;
    /** Forms of call sites. */
    static final int FORM_TEXT = 3, FORM_BRACES = 4;

    static final VarHandle LONG =
        MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    /** Bytes of a text in UTF-8; what is no character becomes '?'. */
    static int utf8Length(String text) {
        int length = text.length(), bytes = length;
        for (int at = 0; at < length; at++) {
            char c = text.charAt(at);
            if (c < 0x80) {
                continue;
            }
            if (c < 0x800) {
                bytes++;
            } else if (!Character.isSurrogate(c)) {
                bytes += 2;
            } else if (Character.isHighSurrogate(c) && at + 1 < length && Character.isLowSurrogate(text.charAt(at + 1))) {
                bytes += 2;
                at++;
            }
        }
        return bytes;
    }

    static int padded(int bytes) {
        return (bytes + 7) & ~7;
    }
}
