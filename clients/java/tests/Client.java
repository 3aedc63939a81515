import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.logging.LogManager;
import java.util.stream.Stream;
import whit.log.Level;
import whit.log.Logger;
import whit.log.Policy;
import whit.log.Settings;
import whit.log.WhitLog;

/** What the tests of the Java client run: a role, and its words. */
public final class Client {
    private Client() {}

    /** The levels that ACS has beside those of java.util.logging. */
    private static final class AcsLevel extends java.util.logging.Level {
        private static final long serialVersionUID = 1;

        AcsLevel(String name, int number) {
            super(name, number);
        }
    }

    /** Logs while it is logged. */
    private static final class Nested {
        private final Logger log;

        Nested(Logger log) {
            this.log = log;
        }

        @Override
        public String toString() {
            log.info("within {}", 1);
            return "nested";
        }
    }

    private static void everything() throws InterruptedException {
        java.util.logging.Logger jul = java.util.logging.Logger.getLogger("jul.a");
        LogManager.getLogManager().reset();
        jul.setLevel(java.util.logging.Level.ALL);
        jul.addHandler(new whit.log.Handler());
        jul.info("plain {0} and 100%");
        jul.log(java.util.logging.Level.WARNING, "with {0} and {1}", new Object[] {"ü", true});
        jul.log(java.util.logging.Level.SEVERE, "failed", new IllegalStateException("why"));
        jul.fine("fine");
        jul.finer("finer");
        jul.log(new AcsLevel("NOTICE", 801), "noticed");
        jul.log(new AcsLevel("EMERGENCY", 1000), "emergency");
        Logger log = WhitLog.logger("direct", "Antenna", "DV01");
        log.error("object {} and {}", List.of(1, 2), new Nested(log));
        log.at(Level.ERROR, "thrown").exception(new IOException("disk")).write();
        log.at(Level.INFO, "{} {} {} {} {}").put('x').put(2.5f).put((Object) null).put(true).put((Object) 7).write();
        for (int number = 0; number < 3000; number++) {
            log.info("dynamic " + number);
        }
        for (int number = 0; number < 1100; number++) {
            WhitLog.logger("many/" + number).info("of many");
        }
        Thread[] threads = new Thread[40];
        for (int at = 0; at < threads.length; at++) {
            int number = at;
            threads[at] = new Thread(() -> log.info("thread {}", number), "worker");
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("flushed " + WhitLog.flush(whit.log.Tier.CENTRAL, 60_000_000_000L));
    }

    /** Logs until it is killed, and says how far it is. */
    private static void endless(Path path) throws IOException {
        Logger log = WhitLog.logger("endless");
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            System.out.println("begun");
            for (long number = 0;; number++) {
                log.info("{}", number);
                if (number % 100 == 99) {
                    file.seek(0);
                    file.writeBytes(String.format("%20d", number + 1));
                }
            }
        }
    }

    /** Overwrites the rings and the process file meanwhile: the program must go on. */
    private static void hostile(Path folder) throws IOException {
        Settings settings = new Settings();
        settings.policy = Policy.DROP;
        WhitLog.start(settings);
        Logger log = WhitLog.logger("hostile");
        Random random = new Random(7);
        for (int round = 0; round < 300; round++) {
            try (Stream<Path> files = Files.list(folder)) {
                for (Path path : files.toList()) {
                    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                        for (int turn = 0; turn < 20; turn++) {
                            byte[] bytes = new byte[new int[] {1, 8, 64}[random.nextInt(3)]];
                            random.nextBytes(bytes);
                            file.seek(random.nextInt((int) Math.min(file.length(), 16384)));
                            file.write(bytes);
                        }
                    }
                }
            }
            for (int number = 0; number < 20; number++) {
                log.at(Level.ERROR, "number {} {}").put(number).put("text").data("data", number).write();
            }
        }
        System.out.println("went on");
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
            .getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    private static void call(Logger log, long number) {
        log.info("constant");
        log.info("number {}", number);
        log.info("antenna {} at {:.3f} degrees", number, 45.25);
        log.at(Level.INFO, "{} {} {}").put(number).put(true).put("text").data("Uri", "http://h/7").write();
    }

    /** Reads the rings of a folder as a proxy would, and throws everything away. */
    private static void drain(Path folder) throws IOException {
        List<Path> rings;
        try (Stream<Path> files = Files.list(folder)) {
            rings = files.filter(path -> path.toString().endsWith(".ring")).toList();
        }
        for (Path path : rings) {
            try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                file.seek(256);
                long written = Long.reverseBytes(file.readLong());
                ByteBuffer mark = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
                mark.putLong(written).putLong(0).putLong(~written).putLong(-1);
                file.seek(512);
                file.write(mark.array());
            }
        }
    }

    private static void startDrain(Path folder) {
        Thread thread = new Thread(() -> {
            while (true) {
                try {
                    drain(folder);
                    Thread.sleep(1);
                } catch (IOException | InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** Says how many bytes a million calls have allocated, beyond what measuring does. */
    private static void allocations(Path folder) {
        // A ring that grows takes memory: this one does not.
        Settings settings = new Settings();
        settings.policy = Policy.BLOCK;
        settings.ringBytes = 1 << 14;
        settings.blockTimeoutNanos = Long.MAX_VALUE / 2;
        WhitLog.start(settings);
        startDrain(folder);
        Logger log = WhitLog.logger("allocations");
        for (int number = 0; number < 50_000; number++) {
            call(log, number);
        }
        allocated();
        long before = allocated(), own = allocated() - before;
        before = allocated();
        for (int number = 0; number < 250_000; number++) {
            call(log, number);
        }
        System.out.println("allocated " + (allocated() - before - own));
    }

    private interface Call {
        void of(long number);
    }

    /** The mean of a call in ns: the median of bursts of 10,000. */
    private static double mean(Path folder, Call call) throws IOException {
        double[] means = new double[41];
        for (int burst = 0; burst < means.length; burst++) {
            drain(folder);
            long begin = System.nanoTime();
            for (int number = 0; number < 10_000; number++) {
                call.of(number);
            }
            means[burst] = (System.nanoTime() - begin) / 10_000.0;
        }
        double[] last = Arrays.copyOfRange(means, 20, means.length);
        Arrays.sort(last);
        return last[last.length / 2];
    }

    /** Says what calls cost beside java.util.logging's own handler. */
    private static void cost(Path folder) throws IOException {
        Logger log = WhitLog.logger("cost");
        java.util.logging.Logger jul = java.util.logging.Logger.getLogger("cost");
        jul.setUseParentHandlers(false);
        System.out.printf("clock %.0f%n", mean(folder, number -> System.nanoTime()));
        System.out.printf("constant %.0f%n", mean(folder, number -> log.info("constant")));
        System.out.printf("two numbers %.0f%n", mean(folder, number -> log.info("{} {:.3f}", number, 45.25)));
        System.out.printf("text %.0f%n", mean(folder, number -> log.at(Level.INFO, "{}").put("forty bytes, which are copied as they are").write()));
        jul.addHandler(new whit.log.Handler());
        System.out.printf("JUL, whit %.0f%n", mean(folder, number -> jul.info("constant")));
        jul.removeHandler(jul.getHandlers()[0]);
        jul.addHandler(new java.util.logging.StreamHandler(java.io.OutputStream.nullOutputStream(),
            new java.util.logging.SimpleFormatter()));
        System.out.printf("JUL, its own to nowhere %.0f%n", mean(folder, number -> jul.info("constant")));
        jul.removeHandler(jul.getHandlers()[0]);
        jul.addHandler(new java.util.logging.FileHandler(folder.resolve("own.log").toString()));
        System.out.printf("JUL, its own to a file %.0f%n", mean(folder, number -> jul.info("constant")));
    }

    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "everything" -> everything();
            case "endless" -> endless(Path.of(words[1]));
            case "hostile" -> hostile(Path.of(System.getenv("WHIT_LOG_DIRECTORY")));
            case "allocations" -> allocations(Path.of(System.getenv("WHIT_LOG_DIRECTORY")));
            case "cost" -> cost(Path.of(System.getenv("WHIT_LOG_DIRECTORY")));
            default -> throw new IllegalArgumentException(words[0]);
        }
    }
}
