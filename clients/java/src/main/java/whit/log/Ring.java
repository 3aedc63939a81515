package whit.log;

import static whit.log.Layout.*;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.LockSupport;

/** A thread's ring, and what the thread keeps of it; only the thread writes, whatever ring it goes on in. */
final class Ring {
    /** Records that were dropped and not said yet. */
    private static final class Dropped {
        long count, first, last;
        int context;
        boolean isOfSeveral;

        void add(long count, long first, long last, int context, boolean isOfSeveral) {
            if (this.count == 0) {
                this.first = first;
                this.last = last;
                this.context = context;
                this.isOfSeveral = isOfSeveral;
            } else {
                this.first = Math.min(this.first, first);
                this.last = Math.max(this.last, last);
                if (this.context != context) {
                    this.context = 0;
                    this.isOfSeveral = true;
                }
            }
            this.count += count;
        }
    }

    private static final int SITES = 512;

    final RingProcess process;
    /** The thread that writes; looked at under the process's lock. */
    WeakReference<Thread> thread;
    /** Threads that have no rings of their own share this one, and take its lock. */
    final boolean isShared;
    long tid;
    ByteBuffer file;
    int number;
    long capacity, write, sequence;
    int scope;
    final Entry entry = new Entry(this);
    private long mask, room, read, stalled = -1;
    private final byte[] scratch = new byte[1024];
    private final Dropped[] dropped = new Dropped[16];
    private boolean hasDropped;
    private int ofLogger, ofScope, combined;
    /** Call sites by the identity of their formats: the sites and contexts that the thread has used last. */
    private final String[] formats = new String[SITES];
    private final long[] signatures = new long[SITES];
    private final int[] sites = new int[SITES];

    Ring(RingProcess process, boolean isShared) {
        this.process = process;
        this.isShared = isShared;
    }

    /** Goes on in a new file. */
    void begin(ByteBuffer file, int number, long capacity) {
        this.file = file;
        this.number = number;
        this.capacity = capacity;
        mask = capacity - 1;
        write = sequence = read = 0;
        stalled = -1;
        room = capacity - RESERVE;
        hasDropped = false;
        java.util.Arrays.fill(dropped, null);
    }

    /** The number of a call site that this thread has used; 0: look it up. */
    int knownSite(String format, long signature) {
        int at = place(format, signature);
        return formats[at] == format && signatures[at] == signature ? sites[at] : 0;
    }

    void keepSite(String format, long signature, int site) {
        int at = place(format, signature);
        formats[at] = format;
        signatures[at] = signature;
        sites[at] = site;
    }

    private static int place(String format, long signature) {
        long hash = (System.identityHashCode(format) ^ signature) * 0x9E3779B97F4A7C15L;
        return (int) (hash >>> 55);
    }

    /** A mark's position; 0 while it is being written. */
    static long mark(ByteBuffer file, int tier) {
        int at = R_MARKS + tier * MARK_BYTES;
        long position = (long) LONG.getAcquire(file, at);
        return position == ~(long) LONG.getAcquire(file, at + 16) ? position : 0;
    }

    /** Looks how far the reader is; one that goes back, or ahead of the writer, is not believed. */
    private void look() {
        long position = mark(file, 0);
        if (position <= write && position % 8 == 0 && position > read) {
            read = position;
            room = read + capacity - RESERVE;
        }
    }

    private boolean fits(long size) {
        return write + size <= room;
    }

    boolean hasQuarter() {
        look();
        return room - write > capacity / 4;
    }

    private int offset(long position) {
        return R_DATA + (int) (position & mask);
    }

    private void putLong(long position, long value) {
        file.putLong(offset(position), value);
    }

    /** Stores length and bytes of a text of ASCII alone; gives the position behind. */
    @SuppressWarnings("deprecation")
    private long putAscii(long position, String text, int bytes) {
        file.putInt(offset(position), bytes);
        long at = position + 4, end = position + padded(4 + bytes);
        for (int done = 0; done < bytes; ) {
            int place = (int) (at & mask);
            int part = Math.min(Math.min(bytes - done, scratch.length), (int) capacity - place);
            // Deprecated for other texts; it is what copies without an array of its own.
            text.getBytes(done, done + part, scratch, 0);
            file.put(R_DATA + place, scratch, 0, part);
            done += part;
            at += part;
        }
        for (; at < end; at++) {
            file.put(offset(at), (byte) 0);
        }
        return end;
    }

    /** Stores length and bytes of a text, which has so many in all; gives the position behind. */
    private long putText(long position, String text, int bytes, int all) {
        if (all == text.length()) {
            return putAscii(position, text, bytes);
        }
        long word = bytes & 0xFFFFFFFFL;
        int left = bytes;
        int shift = 32;
        for (int at = 0, length = text.length(); left > 0 && at < length; at++) {
            int c = text.charAt(at);
            int count = 1;
            if (c >= 0x80) {
                if (Character.isSurrogate((char) c)) {
                    boolean isPair = Character.isHighSurrogate((char) c) && at + 1 < length
                        && Character.isLowSurrogate(text.charAt(at + 1));
                    c = isPair ? Character.toCodePoint((char) c, text.charAt(++at)) : '?';
                }
                count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            }
            for (int part = 0; part < count && left > 0; part++, left--) {
                int value = count == 1 ? c
                    : part == 0 ? (0xF00 >> count) & 0xFF | c >> 6 * (count - 1)
                    : 0x80 | c >> 6 * (count - 1 - part) & 0x3F;
                word |= (long) value << shift;
                shift += 8;
                if (shift == 64) {
                    putLong(position, word);
                    position += 8;
                    word = 0;
                    shift = 0;
                }
            }
        }
        if (shift > 0) {
            putLong(position, word);
            position += 8;
        }
        return position;
    }

    private static int valueBytes(Entry e, int at, int textMax) {
        return e.types[at] == TEXT ? padded(4 + Math.min(e.bytes[at], textMax)) : 8;
    }

    private static long size(Entry e, int textMax) {
        long size = HEAD;
        for (int at = 0; at < e.count; at++) {
            size += valueBytes(e, at, textMax);
            if (at >= e.arguments) {
                size += padded(4 + e.nameBytes[at]);
            }
        }
        return size;
    }

    /** Stores a record; texts are cut if it would be too long. */
    void put(Entry e, int site, int context, int head) {
        long size = size(e, Integer.MAX_VALUE);
        if (capacity / 2 < Math.min(size, RECORD_MAX) + RESERVE) {
            process.grow(this, Math.min(size, RECORD_MAX));
        }
        long most = Math.min(capacity / 2 - RESERVE, RECORD_MAX);
        int textMax = Integer.MAX_VALUE;
        long leftOut = 0;
        if (size > most) {
            int low = 0, high = (int) most;
            while (low + 1 < high) {
                int middle = (low + high) >>> 1;
                if (size(e, middle) + CUT_BYTES <= most) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            textMax = low;
            size = size(e, textMax) + CUT_BYTES;
            for (int at = 0; at < e.count; at++) {
                leftOut += e.types[at] == TEXT ? Math.max(0, e.bytes[at] - textMax) : 0;
            }
            head |= CUT | ATTRIBUTES;
        }
        if (!makeRoom(size, head & 15, context)) {
            return;
        }
        long at = write + HEAD;
        for (int n = 0; n < e.count; n++) {
            if (n >= e.arguments) {
                at = putName(at, e.types[n], e.names[n], e.nameBytes[n]);
            }
            if (e.types[n] == TEXT) {
                at = putText(at, e.texts[n], Math.min(e.bytes[n], textMax), e.bytes[n]);
            } else {
                putLong(at, e.words[n]);
                at += 8;
            }
        }
        if (textMax != Integer.MAX_VALUE) {
            at = putName(at, UNSIGNED, "CutBytes", 8);
            putLong(at, leftOut);
        }
        publish(K_LOG, head, site, context, size);
    }

    private long putName(long position, byte type, String name, int bytes) {
        // 255 may be a part: it is looked at once more then.
        long end = putText(position, name, bytes, bytes == 255 ? utf8Length(name) : bytes);
        // The name's length has one byte, behind the type.
        file.putInt(offset(position), type & 0xFF | bytes << 8);
        return end;
    }

    private void publish(int kind, int head, int site, int context, long size) {
        putLong(write, size >>> 3 | (long) kind << 16 | (long) (head & 0xFF) << 24 | sequence << 32);
        putLong(write + 8, process.stamp());
        putLong(write + 16, site & 0xFFFFFFFFL | (long) context << 32);
        sequence++;
        write += size;
        LONG.setRelease(file, R_WRITE, write);
    }

    private boolean makeRoom(long size, int level, int context) {
        if (fits(size) && !hasDropped) {
            return true;
        }
        look();
        reportDropped(size);
        if (fits(size) || process.grow(this, size)) {
            return true;
        }
        if (process.settings.policy != Policy.DROP && waitForRoom(size)) {
            return true;
        }
        noteDropped(level, context);
        return false;
    }

    /** Waits for room; not again before the reader has read something. */
    private boolean waitForRoom(long size) {
        if (stalled == read) {
            return false;
        }
        long end = System.nanoTime() + process.settings.blockTimeoutNanos;
        while (true) {
            look();
            if (fits(size)) {
                reportDropped(size);
                return fits(size);
            }
            if (end - System.nanoTime() <= 0) {
                stalled = read;
                return false;
            }
            LockSupport.parkNanos(500_000);
        }
    }

    private void noteDropped(int level, int context) {
        int at = R_DROPPED + level * 8;
        LONG.setRelease(file, at, (long) LONG.get(file, at) + 1);
        if (dropped[level] == null) {
            dropped[level] = new Dropped();
        }
        dropped[level].add(1, sequence, sequence, context, false);
        hasDropped = true;
        sequence++;
    }

    private void putNumbers(int kind, int head, int context, long... numbers) {
        for (int at = 0; at < numbers.length; at++) {
            putLong(write + HEAD + 8L * at, numbers[at]);
        }
        publish(kind, head, 0, context, HEAD + 8L * numbers.length);
    }

    private void putDropped(int level, Dropped d) {
        putNumbers(K_DROPPED, level, d.context, d.count, d.first, d.last, d.isOfSeveral ? 1 : 0);
        d.count = 0;
    }

    /** Says in the stream what was dropped, as far as there is room beside so many bytes. */
    private void reportDropped(long size) {
        for (int level = 0; hasDropped && level < 16; level++) {
            Dropped d = dropped[level];
            if (d == null || d.count == 0) {
                continue;
            }
            if (!fits(size + HEAD + 32)) {
                return;
            }
            putDropped(level, d);
        }
        hasDropped = false;
    }

    /** The last record of a ring, or of its thread; before it, what was dropped and is not said yet. */
    void putLast(int kind, long number) {
        look();
        Dropped all = new Dropped();
        for (Dropped d : dropped) {
            if (d != null && d.count > 0) {
                all.add(d.count, d.first, d.last, d.context, d.isOfSeveral);
            }
        }
        if (hasDropped && write + HEAD + 32 <= room + RESERVE / 2) {
            putDropped(0, all);
            java.util.Arrays.fill(dropped, null);
            hasDropped = false;
        }
        if (write + HEAD + 8 <= room + RESERVE) {
            putNumbers(kind, 0, 0, number);
        }
    }

    /** Says in the stream which thread writes now. */
    void sayThreadBegins(String name) {
        int bytes = Math.min(utf8Length(name), 63);
        for (int at = 0; at < 64; at += 8) {
            file.putLong(64 + at, 0);
        }
        byte[] utf8 = name.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        for (int at = 0; at < bytes; at++) {
            file.put(64 + at, utf8[at]);
        }
        INT.setRelease(file, 36, (int) tid);
        int size = HEAD + 8 + padded(4 + bytes);
        if (fits(size)) {
            putLong(write + HEAD, tid);
            putText(write + HEAD + 8, name, bytes, utf8.length);
            publish(K_BEGIN, 0, 0, 0, size);
        }
        long[] clocks = process.clocks();
        if (fits(HEAD + 24)) {
            putNumbers(K_CLOCKS, 0, 0, clocks);
        }
    }

    /** The context of a logger together with that of the thread. */
    int combinedContext(int context) {
        if (scope == 0) {
            return context;
        }
        if (ofLogger != context || ofScope != scope) {
            combined = process.combine(context, scope);
            ofLogger = context;
            ofScope = scope;
        }
        return combined;
    }
}
