package whit.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * CLOCK_BOOTTIME, which Java does not have: {@code System.nanoTime()}, and how long the machine was suspended, as
 * {@code /proc/uptime} says to a hundredth of a second. It looks once a second, while it is asked.
 */
final class Clock {
    private static final long STEP = 50_000_000, SECOND = 1_000_000_000;

    private final FileChannel uptime;
    private final ByteBuffer text = ByteBuffer.allocateDirect(64);
    private final AtomicBoolean isBusy = new AtomicBoolean();
    private volatile long offset;
    private volatile long next;

    /** {@code startTicks}: when this process began. A container's own uptime is shorter, and says nothing. */
    Clock(long startTicks) {
        FileChannel file = null;
        try {
            file = FileChannel.open(Path.of("/proc/uptime"), StandardOpenOption.READ);
        } catch (IOException none) {
            // Without it the two clocks count as the same.
        }
        uptime = file;
        isTrusted = file != null && read() + STEP >= startTicks * 10_000_000;
        next = System.nanoTime();
    }

    private final boolean isTrusted;

    /** The uptime in ns; 0: unknown. */
    private long read() {
        try {
            text.clear();
            uptime.read(text, 0);
        } catch (IOException none) {
            return 0;
        }
        long hundredths = 0;
        for (int at = 0; at < text.position() && text.get(at) != ' '; at++) {
            int digit = text.get(at) - '0';
            hundredths = digit >= 0 && digit <= 9 ? hundredths * 10 + digit : hundredths;
        }
        return hundredths * 10_000_000;
    }

    private void look(long now) {
        if (isTrusted && isBusy.compareAndSet(false, true)) {
            long known = read();
            if (known > 0 && Math.abs(known - now - offset) > STEP) {
                offset = known - now;
            }
            isBusy.set(false);
        }
        next = now + SECOND;
    }

    long boottime() {
        long now = System.nanoTime();
        if (now - next >= 0) {
            look(now);
        }
        return now + offset;
    }

    /** stamp, CLOCK_REALTIME, CLOCK_BOOTTIME: the reading that took the shortest time. */
    long[] pair() {
        long[] best = new long[3];
        long shortest = Long.MAX_VALUE;
        for (int turn = 0; turn < 5; turn++) {
            long before = boottime();
            Instant now = Instant.now();
            long took = boottime() - before;
            if (took < shortest) {
                shortest = took;
                best[0] = best[2] = before + took / 2;
                best[1] = now.getEpochSecond() * SECOND + now.getNano();
            }
        }
        return best;
    }
}
