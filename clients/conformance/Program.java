import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import whit.log.Level;
import whit.log.Logger;
import whit.log.Settings;
import whit.log.WhitLog;

/**
 * Writes the conformance list through the Java client: README.md defines the list.
 *
 * <p>Java has no fork: a child is this program, started again with a list of its lines alone. With a third word it
 * logs that way: {@code shared} into rings that threads share.
 */
public final class Program {
    private static final List<Logger> LOGGERS = new ArrayList<>();
    private static final List<String[]> SCOPES = new ArrayList<>(List.of(new String[][] {{}}));
    private static final Level[] LEVELS = new Level[12];

    private Program() {}

    private static String text(String field) {
        String[] parts = field.split("\\*", 2);
        byte[] bytes = java.util.HexFormat.of().parseHex(parts[1]);
        return new String(bytes, StandardCharsets.UTF_8).repeat(Integer.parseInt(parts[0]));
    }

    private static String[] pairs(String[] fields, int from) {
        String[] pairs = new String[2 * (fields.length - from)];
        for (int at = from; at < fields.length; at++) {
            String[] parts = fields[at].split("=");
            pairs[2 * (at - from)] = text(parts[0]);
            pairs[2 * (at - from) + 1] = text(parts[1]);
        }
        return pairs;
    }

    private static void log(Logger log, Level level, String[] fields) {
        long i = Long.parseLong(fields[5]), u = Long.parseUnsignedLong(fields[6]);
        double f = Double.longBitsToDouble(Long.parseUnsignedLong(fields[7]));
        boolean b = fields[8].equals("1");
        String t = text(fields[9]), s = text(fields[10]);
        switch (Integer.parseInt(fields[1])) {
            case 0 -> log.log(level, "constant text");
            case 1 -> log.log(level, "100% of {braces}");
            case 2 -> log.log(level, "signed {}", i);
            case 3 -> log.at(level, "unsigned {}").putUnsigned(u).write();
            case 4 -> log.log(level, "float {:.3f}", f);
            case 5 -> log.log(level, "text {}", t);
            case 6 -> log.at(level, "mixed {} {} {} {}").put(t).put(i).put((Object) s).putUnsigned(u).write();
            case 7 -> log.at(level, "data {}").put(i).data("Signed", i).dataUnsigned("Unsigned", u).data("Float", f)
                .data("Is", b).data("Text", t).write();
            case 8 -> log.at(level, "failed: {}").put(t).data("StackId", s).data("StackLevel", i)
                .data("exception.stacktrace", t).write();
            case 9 -> log.log(level, "many {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
            default -> log.log(level, t);
        }
    }

    private static void write(List<String> lines) {
        for (String line : lines) {
            String[] fields = line.split(" ");
            Logger log = LOGGERS.get(Integer.parseInt(fields[3]));
            Level level = LEVELS[Integer.parseInt(fields[2])];
            int scope = Integer.parseInt(fields[4]);
            if (scope == 0) {
                log(log, level, fields);
            } else {
                try (WhitLog.Scope in = WhitLog.scope(SCOPES.get(scope))) {
                    log(log, level, fields);
                }
            }
        }
    }

    private static void inThread(List<String> lines) throws InterruptedException {
        Throwable[] failed = new Throwable[1];
        Thread thread = new Thread(() -> write(lines));
        thread.setUncaughtExceptionHandler((one, error) -> failed[0] = error);
        thread.start();
        thread.join();
        if (failed[0] != null) {
            throw new IllegalStateException(failed[0]);
        }
    }

    private static void inProcess(List<String> all, List<String> lines, String[] words)
        throws IOException, InterruptedException {
        List<String> list = new ArrayList<>(all.stream().filter(line -> line.matches("(logger|scope) .*")).toList());
        list.addAll(lines);
        Path path = Files.createTempFile("list", "");
        Files.write(path, list);
        List<String> command = new ArrayList<>(List.of(
            ProcessHandle.current().info().command().orElseThrow(), "-Xshare:auto", "-XX:TieredStopAtLevel=1",
            "-cp", System.getProperty("java.class.path"), "Program", path.toString(), "0"));
        command.addAll(List.of(words).subList(2, words.length));
        int status = new ProcessBuilder(command).inheritIO().start().waitFor();
        Files.delete(path);
        if (status != 0) {
            throw new IllegalStateException("the child ended with " + status);
        }
    }

    /** Ends this process by SIGKILL, which Java itself does not send to it. */
    private static void kill() throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).start();
        Thread.sleep(Long.MAX_VALUE);
    }

    public static void main(String[] words) throws IOException, InterruptedException {
        for (Level level : Level.values()) {
            if (level != Level.OFF) {
                LEVELS[level.number] = level;
            }
        }
        Settings settings = new Settings();
        settings.sharedRings = words.length > 2 && words[2].equals("shared");
        settings.levelCentral = settings.levelLocal = Level.TRACE;
        WhitLog.start(settings);
        List<String> lines = Files.readAllLines(Path.of(words[0]), StandardCharsets.US_ASCII);
        for (String line : lines) {
            String[] fields = line.split(" ");
            if (fields[0].equals("logger")) {
                LOGGERS.add(WhitLog.logger(text(fields[1]), pairs(fields, 2)));
            } else if (fields[0].equals("scope")) {
                SCOPES.add(pairs(fields, 1));
            }
        }
        for (int at = Integer.parseInt(words[1]); at < lines.size(); at++) {
            String[] fields = lines.get(at).split(" ");
            int count = fields[0].equals("thread") || fields[0].equals("process") ? Integer.parseInt(fields[1]) : 0;
            List<String> part = lines.subList(at + 1, at + 1 + count);
            switch (fields[0]) {
                case "record" -> write(lines.subList(at, at + 1));
                case "thread" -> inThread(part);
                case "process" -> inProcess(lines, part, words);
                case "kill" -> kill();
                default -> { }
            }
            at += count;
        }
    }
}
