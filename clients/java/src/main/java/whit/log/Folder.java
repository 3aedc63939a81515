package whit.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The folder of rings: where it is, and what may be in it. The rule is that of crates/logring/src/folder.rs. */
final class Folder {
    private Folder() {}

    private static final FileAttribute<?> OWN_FILE =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final FileAttribute<?> OWN_FOLDER =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private static Map<String, Object> facts(Path path) throws IOException {
        return Files.readAttributes(path, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
    }

    static int user() throws IOException {
        return (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    /** Why a folder is not safe for this user; null: it is. */
    private static String fault(Path path) throws IOException {
        Map<String, Object> facts = facts(path);
        int mode = (Integer) facts.get("mode");
        if ((mode & 0170000) == 0120000) {
            return "it is a symbolic link";
        } else if ((mode & 0170000) != 0040000) {
            return "it is not a folder";
        } else if ((Integer) facts.get("uid") != user()) {
            return "it belongs to another user";
        }
        return (mode & 022) != 0 ? "others may write in it" : null;
    }

    private static void make(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            try {
                Files.createDirectory(path, OWN_FOLDER);
            } catch (java.nio.file.FileAlreadyExistsException another) {
                // Another process was first; it is looked at like any.
            }
        }
        String fault = fault(path);
        if (fault != null) {
            throw new IOException(fault);
        }
    }

    private static List<Path> candidates() throws IOException {
        List<Path> all = new ArrayList<>();
        Path shared = Path.of("/run/whit/log");
        if (Files.isDirectory(shared, LinkOption.NOFOLLOW_LINKS)) {
            Map<String, Object> facts = facts(shared);
            int owner = (Integer) facts.get("uid"), mode = (Integer) facts.get("mode");
            if ((owner == 0 || owner == user()) && ((mode & 022) == 0 || (mode & 01000) != 0)) {
                all.add(shared.resolve(Integer.toString(user())));
            }
        }
        String runtime = System.getenv("XDG_RUNTIME_DIR");
        if (runtime != null && runtime.startsWith("/") && Files.isDirectory(Path.of(runtime)) && fault(Path.of(runtime)) == null) {
            all.add(Path.of(runtime, "whit-log"));
        }
        all.add(Path.of("/dev/shm/whit-log-" + user()));
        return all;
    }

    /** The folder to log into, made if it is not there; what is refused on the way is said. */
    static Path open(Path named) throws IOException {
        String variable = System.getenv("WHIT_LOG_DIRECTORY");
        if (named == null && variable != null && !variable.isEmpty()) {
            named = Path.of(variable);
        }
        if (named != null) {
            try {
                make(named);
                return named;
            } catch (IOException why) {
                throw new IOException(named + ": " + reason(why), why);
            }
        }
        String last = "there is no folder for rings";
        for (Path path : candidates()) {
            try {
                make(path);
                return path;
            } catch (IOException why) {
                last = path + ": " + reason(why);
                RingProcess.say(path + ": refused as a folder of log records: " + reason(why));
            }
        }
        throw new IOException(last);
    }

    static String reason(Throwable why) {
        return why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
    }

    /** Refuses a folder whose reader is of another version. */
    static void checkVersion(Path folder) throws IOException {
        ByteBuffer versions = ByteBuffer.allocate(4).order(java.nio.ByteOrder.LITTLE_ENDIAN);
        try (FileChannel file = FileChannel.open(folder.resolve("doorbell"), StandardOpenOption.READ)) {
            if (file.read(versions, 8) < 4) {
                return;
            }
        } catch (NoSuchFileException none) {
            return;
        }
        int oldest = versions.getShort(0) & 0xFFFF, newest = versions.getShort(2) & 0xFFFF;
        if (newest != 0 && (oldest > Layout.VERSION || newest < Layout.VERSION)) {
            throw new IOException(folder + ": its reader reads versions " + oldest + " to " + newest
                + " of rings, this program writes " + Layout.VERSION);
        }
    }

    /** A new file of so many zeros, which are really there: a full tmpfs is an error here, and no signal later. */
    static FileChannel create(Path path, long length) throws IOException {
        FileChannel file = FileChannel.open(
            path, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE), OWN_FILE);
        try {
            ByteBuffer zeros = ByteBuffer.allocate((int) Math.min(length, 1 << 16));
            for (long at = 0; at < length; at += zeros.capacity()) {
                write(file, zeros.clear().limit((int) Math.min(zeros.capacity(), length - at)), at);
            }
            return file;
        } catch (IOException error) {
            file.close();
            Files.deleteIfExists(path);
            throw error;
        }
    }

    static void write(FileChannel file, ByteBuffer bytes, long at) throws IOException {
        while (bytes.hasRemaining()) {
            at += file.write(bytes, at);
        }
    }

    /** Gives a file its name; fails if there is one of that name. */
    static void rename(Path from, Path to) throws IOException {
        Files.createLink(to, from);
        Files.delete(from);
    }
}
