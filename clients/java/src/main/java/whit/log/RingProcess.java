package whit.log;

import static whit.log.Layout.*;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/** This process as readers of rings see it: its file, call sites, loggers and rings. */
final class RingProcess {
    /** A format by its identity, and the level and types of its values. */
    private record Form(String format, long signature) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Form && ((Form) other).format == format && ((Form) other).signature == signature;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(format) * 31 + Long.hashCode(signature);
        }
    }

    /** A ring that its thread has left for a larger one. */
    private record Left(ByteBuffer file, long written, long capacity) {}

    private static final int FIRST_BYTES = 16 << 10, SHARED = 8, IDLE_MAX = 16;
    /** Most texts without values, and formats, that the dictionary takes; further ones are stored in records. */
    private static final int TEXTS_MAX = 1024, TEXT_MAX = 256, FORMATS_MAX = 4096, FORMAT_MAX = 4096;

    /** The first logger: for records of those for which there is no room. */
    private static final byte[] OTHERS = {'j', 'a', 'v', 'a'};

    final Settings settings;
    private final Path folder;
    private final String host, name;
    private final Clock clock;
    private final byte[] id = new byte[16];
    private final long pid = ProcessHandle.current().pid();
    private final long startTicks;
    private final Object lock = new Object();
    private final ThreadLocal<Ring> rings = new ThreadLocal<>();
    private final ThreadLocal<int[]> scopes = ThreadLocal.withInitial(() -> new int[1]);
    private final ConcurrentHashMap<Form, Integer> forms = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<String, Integer> entries = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Place, String> placeFormats = new ConcurrentHashMap<>();
    private String stem;
    /** Open for as long as the process lives: its lock says that. */
    private FileChannel file;
    ByteBuffer page;
    private volatile boolean hasFailed;
    private long nextAttempt;
    /** Under the lock. */
    private int entryCount, loggerCount, nextRing = 1, textCount, formatCount;
    private long dictionaryLength, ringBytes;
    private final List<byte[]> contexts = new ArrayList<>();
    private final List<Ring> active = new ArrayList<>();
    private final List<Left> left = new ArrayList<>();
    private final Ring[] shared = new Ring[SHARED];

    RingProcess(Settings settings) throws IOException {
        this.settings = settings;
        folder = Folder.open(settings.directory);
        Folder.checkVersion(folder);
        host = settings.hostName != null ? settings.hostName : firstLine("/proc/sys/kernel/hostname");
        name = settings.processName != null ? settings.processName : programName();
        String stat = firstLine("/proc/self/stat");
        startTicks = Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19]);
        clock = new Clock(startTicks);
        new SecureRandom().nextBytes(id);
        makeFile();
        findLogger(OTHERS);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> INT.setRelease(page, ENDED, 1), "whit-log-end"));
    }

    static void say(String what) {
        System.err.println(programName() + ": " + what);
    }

    private static String firstLine(String path) throws IOException {
        return Files.readString(Path.of(path), StandardCharsets.ISO_8859_1).lines().findFirst().orElse("");
    }

    private static String programName() {
        String command = System.getProperty("sun.java.command", "java").split(" ", 2)[0];
        return command.isEmpty() ? "java" : command.substring(command.lastIndexOf('/') + 1);
    }

    private static void putText(ByteBuffer to, int at, int most, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        to.position(at).put(utf8, 0, Math.min(utf8.length, most));
    }

    private void makeFile() throws IOException {
        ByteBuffer head = ByteBuffer.allocate(PAGE).order(ByteOrder.LITTLE_ENDIAN);
        putText(head, 0, 8, "whitlogP");
        // No bit at 12: stamps are CLOCK_BOOTTIME, and nothing here wakes a reader.
        head.putInt(8, VERSION).putInt(16, (int) pid).putLong(24, startTicks).putLong(64, 1_000_000_000);
        head.position(32).put(HexFormat.of().parseHex(firstLine("/proc/sys/kernel/random/boot_id").replace("-", "")));
        head.position(48).put(id);
        putText(head, 128, 255, host);
        putText(head, 384, 255, name);
        head.putLong(PAIRS, 1);
        ByteBuffer pair = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN).putLong(1);
        for (long number : clock.pair()) {
            pair.putLong(number);
        }
        Path made = folder.resolve(pid + "-" + startTicks + "-" + HexFormat.of().formatHex(id, 0, 8) + ".new");
        file = Folder.create(made, LOGGERS);
        try {
            Folder.write(file, head.rewind(), 0);
            Folder.write(file, pair.flip(), CALIBRATION);
            page = file.map(FileChannel.MapMode.READ_WRITE, 0, DICTIONARY).order(ByteOrder.LITTLE_ENDIAN);
            for (int turn = 1; stem == null; turn++) {
                String free = pid + "-" + startTicks + (turn == 1 ? "" : "." + turn);
                try {
                    Folder.rename(made, folder.resolve(free + ".process"));
                    stem = free;
                } catch (FileAlreadyExistsException other) {
                    if (turn == 1000) {
                        throw other;
                    }
                }
            }
        } catch (IOException error) {
            Files.deleteIfExists(made);
            throw error;
        }
        // Never given back: the end of the process does.
        file.tryLock(0, 1, false);
    }

    long stamp() {
        return clock.boottime();
    }

    long[] clocks() {
        return clock.pair();
    }

    /** Says once that something failed; the program goes on, and what is lost is counted. */
    private void fail(Throwable why) {
        if (!hasFailed) {
            hasFailed = true;
            say("a log record is lost: " + why);
        }
    }

    private void countDropped(int level) {
        LONG.getAndAdd(page, DROPPED + 8 * (level & 15), 1L);
    }

    // ---- The dictionary, under the lock ----

    /** Publishes an entry, or finds the same; gives its number, 0: there is no room. */
    private int entry(int kind, byte[] payload) {
        String key = kind + new String(payload, StandardCharsets.ISO_8859_1);
        Integer known = entries.get(key);
        if (known != null) {
            return known;
        }
        int total = padded(16 + payload.length), number = entryCount + 1;
        if (total > 65536 || dictionaryLength + total > DICTIONARY_MAX) {
            return 0;
        }
        ByteBuffer bytes = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(0, total).putShort(8, (short) kind).putInt(12, number);
        bytes.position(16).put(payload);
        java.util.zip.CRC32C sum = new java.util.zip.CRC32C();
        sum.update(bytes.array(), 8, total - 8);
        bytes.putInt(4, (int) sum.getValue());
        try {
            Folder.write(file, bytes.rewind(), DICTIONARY + dictionaryLength);
        } catch (IOException error) {
            fail(error);
            return 0;
        }
        entryCount = number;
        dictionaryLength += total;
        LONG.setRelease(page, DICTIONARY_LENGTH, dictionaryLength);
        entries.put(key, number);
        while (contexts.size() <= number) {
            contexts.add(null);
        }
        contexts.set(number, kind == 2 ? payload : null);
        return number;
    }

    private static byte[] cut(String text, int most) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return utf8.length <= most ? utf8 : java.util.Arrays.copyOf(utf8, most);
    }

    private int addSite(Entry e, String format, int form, Place place) {
        byte[][] texts = {cut(place.file(), 12 << 10), cut(place.routine(), 12 << 10), cut(format, 12 << 10)};
        int length = 24 + e.arguments + texts[0].length + texts[1].length + texts[2].length;
        ByteBuffer to = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        to.putInt(place.line()).put((byte) e.level().number).put((byte) form).put((byte) e.arguments).put((byte) 0);
        to.putInt(texts[0].length).putInt(texts[1].length).putInt(texts[2].length).putInt(0).put(e.types, 0, e.arguments);
        to.put(texts[0]).put(texts[1]).put(texts[2]);
        synchronized (lock) {
            return entry(1, to.array());
        }
    }

    private int addContext(int logger, byte[] loggerName, String[] pairs) {
        java.io.ByteArrayOutputStream to = new java.io.ByteArrayOutputStream();
        int count = Math.min(pairs.length / 2, 64);
        put32(to, logger);
        put32(to, count);
        put32(to, loggerName.length);
        to.writeBytes(loggerName);
        for (int at = 0; at < count; at++) {
            byte[] pairName = cut(pairs[2 * at], 120), value = cut(pairs[2 * at + 1], 380);
            put32(to, pairName.length | value.length << 16);
            to.writeBytes(pairName);
            to.writeBytes(value);
        }
        return entry(2, to.toByteArray());
    }

    private static void put32(java.io.ByteArrayOutputStream to, int number) {
        to.write(number);
        to.write(number >> 8);
        to.write(number >> 16);
        to.write(number >> 24);
    }

    /** A context of pairs alone, for the scope of a thread. */
    int scope(String[] pairs, int within) {
        synchronized (lock) {
            int number = addContext(0, loggerCount > 0 ? loggerName(0) : new byte[0], pairs);
            return number == 0 || within == 0 ? number : combine(within, number);
        }
    }

    /** A context of the first's logger, and the pairs of the second before its own. */
    int combine(int context, int scope) {
        synchronized (lock) {
            byte[] one = contexts.get(context), other = contexts.get(scope);
            if (one == null || other == null) {
                return context;
            }
            ByteBuffer of = ByteBuffer.wrap(one).order(ByteOrder.LITTLE_ENDIAN);
            ByteBuffer and = ByteBuffer.wrap(other).order(ByteOrder.LITTLE_ENDIAN);
            int head = 12 + of.getInt(8), otherHead = 12 + and.getInt(8);
            java.io.ByteArrayOutputStream to = new java.io.ByteArrayOutputStream();
            put32(to, of.getInt(0));
            put32(to, of.getInt(4) + and.getInt(4));
            to.write(one, 8, head - 8);
            to.write(other, otherHead, other.length - otherHead);
            to.write(one, head, one.length - head);
            int number = entry(2, to.toByteArray());
            return number == 0 ? context : number;
        }
    }

    // ---- Loggers ----

    private byte[] loggerName(int index) {
        byte[] bytes = new byte[page.get(LOGGERS + index * LOGGER_BYTES + 3) & 0xFF];
        page.get(LOGGERS + index * LOGGER_BYTES + LOGGER_NAME, bytes);
        return bytes;
    }

    private int findLogger(byte[] wanted) throws IOException {
        for (int at = 0; at < loggerCount; at++) {
            if (java.util.Arrays.equals(loggerName(at), wanted)) {
                return at;
            }
        }
        if (loggerCount >= LOGGERS_MAX || wanted.length > LOGGER_NAME_MAX) {
            return -1;
        }
        int central = settings.levelCentral.number, local = settings.levelLocal.number;
        ByteBuffer bytes = ByteBuffer.allocate(LOGGER_BYTES);
        bytes.put((byte) Math.min(central, local)).put((byte) central).put((byte) local).put((byte) wanted.length);
        bytes.position(LOGGER_NAME).put(wanted);
        int index = loggerCount;
        Folder.write(file, bytes.rewind(), LOGGERS + (long) index * LOGGER_BYTES);
        loggerCount++;
        INT.setRelease(page, LOGGER_COUNT, loggerCount);
        new KeptLevels(folder, host, name).apply(this, index, new String(wanted, StandardCharsets.UTF_8));
        return index;
    }

    /** Finds or makes a logger; where there is no room for it, `java`, whose records have the name as data. */
    Logger logger(String wanted, String[] pairs) {
        synchronized (lock) {
            try {
                byte[] utf8 = wanted.getBytes(StandardCharsets.UTF_8);
                int index = findLogger(utf8);
                boolean isOther = index < 0;
                index = Math.max(index, 0);
                return new Logger(this, index, addContext(index, loggerName(index), pairs), isOther ? wanted : null);
            } catch (IOException error) {
                fail(error);
                return Logger.OFF;
            }
        }
    }

    void setLevels(int logger, int central, int local) {
        int at = LOGGERS + logger * LOGGER_BYTES;
        page.put(at + 1, (byte) central);
        page.put(at + 2, (byte) local);
        page.put(at, (byte) Math.min(central, local));
    }

    // ---- Rings ----

    /** A new file for a ring, which goes on there. */
    private void makeRing(Ring ring, long capacity, int predecessor) throws IOException {
        int number = nextRing;
        Path made = folder.resolve(stem + "-" + number + ".new");
        try (FileChannel channel = Folder.create(made, R_DATA + capacity)) {
            ByteBuffer head = ByteBuffer.allocate(R_DATA).order(ByteOrder.LITTLE_ENDIAN);
            putText(head, 0, 8, "whitlogR");
            head.putInt(8, VERSION).putInt(12, ring.isShared ? 1 : 0);
            head.position(16).put(id);
            head.putInt(32, (int) pid).putLong(40, startTicks).putInt(48, number).putInt(52, predecessor);
            head.putLong(56, capacity).putInt(R_SUCCESSOR, NO_RING);
            for (int tier = 0; tier < 3; tier++) {
                head.putLong(R_MARKS + tier * MARK_BYTES + 16, -1).putLong(R_MARKS + tier * MARK_BYTES + 24, -1);
            }
            Folder.write(channel, head.rewind(), 0);
            ByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, R_DATA + capacity);
            Folder.rename(made, folder.resolve(stem + "-" + number + ".ring"));
            ring.begin(mapped.order(ByteOrder.LITTLE_ENDIAN), number, capacity);
        } catch (IOException error) {
            Files.deleteIfExists(made);
            throw error;
        }
        nextRing++;
        ringBytes += capacity;
        INT.setRelease(page, RINGS, nextRing);
    }

    private void releaseLeft() {
        left.removeIf(one -> {
            boolean isRead = Ring.mark(one.file, 0) >= one.written;
            ringBytes -= isRead ? one.capacity : 0;
            return isRead;
        });
    }

    private void leave(Ring ring) {
        INT.setRelease(ring.file, R_ENDED, 1);
        left.add(new Left(ring.file, ring.write, ring.capacity));
    }

    /** Goes on in a larger ring, if the limits allow. */
    boolean grow(Ring ring, long size) {
        long most = settings.ringBytes, capacity = ring.capacity * 2;
        if (capacity * 2 <= most) {
            capacity *= 2;
        }
        while (capacity / 2 < size + RESERVE) {
            capacity *= 2;
        }
        if (settings.policy == Policy.GROW) {
            most = Math.max(most, settings.ringBytesMax);
        }
        if (capacity > most) {
            return false;
        }
        synchronized (lock) {
            releaseLeft();
            if (ringBytes + capacity > settings.processBytesMax) {
                return false;
            }
            ring.putLast(K_NEXT, nextRing);
            INT.setRelease(ring.file, R_SUCCESSOR, nextRing);
            ByteBuffer before = ring.file;
            long written = ring.write, bytes = ring.capacity;
            try {
                makeRing(ring, capacity, ring.number);
            } catch (IOException error) {
                INT.setRelease(before, R_SUCCESSOR, NO_RING);
                return false;
            }
            INT.setRelease(before, R_ENDED, 1);
            left.add(new Left(before, written, bytes));
        }
        if (!ring.isShared) {
            ring.sayThreadBegins(Thread.currentThread().getName());
        }
        return true;
    }

    private static boolean hasEnded(Ring ring) {
        Thread thread = ring.thread.get();
        return thread == null || !thread.isAlive();
    }

    /** The ring of a thread that has ended, with room; those that no thread needs are left. */
    private Ring idleRing() {
        Ring found = null;
        int idle = 0;
        for (Ring ring : List.copyOf(active)) {
            if (!hasEnded(ring)) {
                continue;
            }
            if (ring.tid != 0) {
                ring.putLast(K_END, ring.tid);
                ring.tid = 0;
            }
            if (found == null && ring.hasQuarter()) {
                found = ring;
            } else if (++idle > IDLE_MAX) {
                leave(ring);
                active.remove(ring);
            }
        }
        return found;
    }

    private static long threadId() {
        try {
            Path link = Files.readSymbolicLink(Path.of("/proc/thread-self"));
            return Long.parseLong(link.getFileName().toString());
        } catch (IOException | NumberFormatException none) {
            return ProcessHandle.current().pid();
        }
    }

    /** Virtual threads, of Java 21, are too many for rings of their own. */
    private static boolean isVirtual(Thread thread) {
        return IS_VIRTUAL != null && isVirtualBy(thread);
    }

    private static boolean isVirtualBy(Thread thread) {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable none) {
            return false;
        }
    }

    private static final java.lang.invoke.MethodHandle IS_VIRTUAL = virtualHandle();

    private static java.lang.invoke.MethodHandle virtualHandle() {
        try {
            return java.lang.invoke.MethodHandles.publicLookup()
                .findVirtual(Thread.class, "isVirtual", java.lang.invoke.MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException before21) {
            return null;
        }
    }

    /** The ring of this thread; null: there is no room for one. */
    Ring ring() {
        Ring ring = rings.get();
        return ring != null ? ring : attach();
    }

    private Ring attach() {
        Thread thread = Thread.currentThread();
        synchronized (lock) {
            if (nextAttempt != 0 && System.nanoTime() - nextAttempt < 0) {
                return null;
            }
            try {
                Ring ring = settings.sharedRings || isVirtual(thread) ? sharedRing(thread) : ownRing(thread);
                rings.set(ring);
                return ring;
            } catch (IOException error) {
                fail(error);
                nextAttempt = System.nanoTime() + 1_000_000_000L;
                return null;
            }
        }
    }

    private Ring sharedRing(Thread thread) throws IOException {
        int at = (int) (thread.getId() % SHARED);
        if (shared[at] == null) {
            Ring ring = new Ring(this, true);
            makeRing(ring, FIRST_BYTES, NO_RING);
            shared[at] = ring;
        }
        return shared[at];
    }

    private Ring ownRing(Thread thread) throws IOException {
        releaseLeft();
        Ring ring = idleRing();
        if (ring == null) {
            long capacity = Math.min(FIRST_BYTES, Long.highestOneBit(Math.max(settings.ringBytes, 4096)));
            ring = new Ring(this, false);
            makeRing(ring, capacity, NO_RING);
            active.add(ring);
        }
        ring.thread = new WeakReference<>(thread);
        ring.tid = threadId();
        ring.scope = 0;
        ring.entry.isBusy = false;
        ring.sayThreadBegins(thread.getName());
        return ring;
    }

    /** The context of this thread; gives the one before. */
    int setScope(int scope) {
        Ring ring = ring();
        if (ring == null) {
            return 0;
        }
        int before = scopeOf(ring);
        if (ring.isShared) {
            scopes.get()[0] = scope;
        } else {
            ring.scope = scope;
        }
        return before;
    }

    int scopeOf(Ring ring) {
        return ring.isShared ? scopes.get()[0] : ring.scope;
    }

    // ---- Records ----

    private static final String[] PLAIN = new String[Entry.ARGUMENTS_MAX + 2];

    static {
        PLAIN[1] = "{}";
        for (int at = 2; at < PLAIN.length; at++) {
            PLAIN[at] = (PLAIN[at - 1] + " [{}]").intern();
        }
    }

    private int siteOf(Ring ring, Entry e, Place place) {
        if (place != null) {
            e.insertFormat();
            // A string for each place: the cache goes by identity.
            String key = placeFormats.size() < FORMATS_MAX
                ? placeFormats.computeIfAbsent(place, one -> new String("{}")) : placeFormats.getOrDefault(place, PLAIN[1]);
            return cachedSite(ring, e, key, "{}", key == PLAIN[1] ? Place.NOWHERE : place);
        }
        int known = ring.isShared ? 0 : ring.knownSite(e.format(), e.signature());
        if (known != 0) {
            return known;
        }
        Form form = new Form(e.format(), e.signature());
        Integer found = forms.get(form);
        if (found == null && isForDictionary(e)) {
            int kind = e.arguments == 0 ? FORM_TEXT : FORM_BRACES;
            found = addSite(e, e.format(), kind, Place.caller());
            forms.put(form, found);
        }
        if (found == null || found == 0) {
            e.insertFormat();
            String plain = PLAIN[Math.min(e.arguments, PLAIN.length - 1)];
            return cachedSite(ring, e, plain, plain, Place.NOWHERE);
        }
        if (!ring.isShared) {
            ring.keepSite(e.format(), e.signature(), found);
        }
        return found;
    }

    private int cachedSite(Ring ring, Entry e, String key, String format, Place place) {
        long signature = e.level().number;
        for (int at = 0; at < e.arguments; at++) {
            signature = signature * 31 + e.types[at];
        }
        int known = ring.isShared ? 0 : ring.knownSite(key, signature);
        if (known == 0) {
            known = addSite(e, format, FORM_BRACES, place);
            if (known != 0 && !ring.isShared) {
                ring.keepSite(key, signature, known);
            }
        }
        return known;
    }

    private boolean isForDictionary(Entry e) {
        synchronized (lock) {
            if (e.arguments == 0) {
                return e.format().length() <= TEXT_MAX && textCount++ < TEXTS_MAX;
            }
            return e.format().length() <= FORMAT_MAX && formatCount++ < FORMATS_MAX;
        }
    }

    void write(Ring ring, Entry e, Place place) {
        int level = e.level().number;
        try {
            Logger logger = e.logger();
            if (logger.leftName != null) {
                e.data("logger", logger.leftName);
            }
            int head = level | (level < logger.centralLevel() ? LOCAL : 0);
            int site = siteOf(ring, e, place);
            if (site == 0) {
                countDropped(level);
                return;
            }
            head |= e.count > e.arguments ? ATTRIBUTES : 0;
            if (ring.isShared) {
                synchronized (ring) {
                    int scope = scopeOf(ring);
                    ring.put(e, site, scope == 0 ? logger.context : combine(logger.context, scope), head);
                }
            } else {
                ring.put(e, site, ring.combinedContext(logger.context), head);
            }
        } catch (RuntimeException | InternalError error) {
            // An InternalError is a page of a mapped file that is not there any more.
            fail(error);
        }
    }

    void countLost(Level level) {
        countDropped(level.number);
    }

    /** Waits until all that was logged is as safe as a tier says. */
    boolean flush(Tier tier, long timeoutNanos) {
        if (tier == Tier.RING) {
            return true;
        }
        List<Left> wanted = new ArrayList<>();
        synchronized (lock) {
            wanted.addAll(left);
            for (Ring ring : active) {
                wanted.add(new Left(ring.file, (long) LONG.getAcquire(ring.file, R_WRITE), 0));
            }
            for (Ring ring : shared) {
                if (ring != null) {
                    wanted.add(new Left(ring.file, (long) LONG.getAcquire(ring.file, R_WRITE), 0));
                }
            }
        }
        long end = System.nanoTime() + timeoutNanos;
        INT.setRelease(page, FLUSH, tier.ordinal());
        boolean isSafe = false;
        while (!isSafe) {
            wanted.removeIf(one -> Ring.mark(one.file, tier.ordinal() - 1) >= one.written);
            isSafe = wanted.isEmpty();
            if (!isSafe && end - System.nanoTime() <= 0) {
                break;
            }
            if (!isSafe) {
                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
            }
        }
        INT.setRelease(page, FLUSH, 0);
        return isSafe;
    }
}
