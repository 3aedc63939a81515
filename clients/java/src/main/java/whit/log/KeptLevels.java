package whit.log;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Levels that were set at run time and are to last: the file {@code levels} of the folder. */
final class KeptLevels {
    private static final int LINES_MAX = 256, BYTES_MAX = 256 << 10;

    private final Path path;
    private final String host, process;

    KeptLevels(Path folder, String host, String process) {
        path = folder.resolve("levels");
        this.host = host;
        this.process = process;
    }

    private static boolean fits(String pattern, String name) {
        StringBuilder regex = new StringBuilder();
        for (String part : pattern.split("\\*", -1)) {
            regex.append(regex.length() == 0 ? "" : ".*").append(Pattern.quote(part));
        }
        return pattern.isEmpty() || Pattern.compile(regex.toString(), Pattern.DOTALL).matcher(name).matches();
    }

    /** A level; -1: as it is; -2: none. */
    private static int level(String text) {
        if (text.equals("-")) {
            return -1;
        }
        int number = text.matches("[0-9]{1,2}") ? Integer.parseInt(text) : 100;
        return number <= 11 || number == 99 ? number : -2;
    }

    void apply(RingProcess to, int index, String logger) {
        List<String> lines;
        try {
            if (!Files.isRegularFile(path) || Files.size(path) > BYTES_MAX) {
                return;
            }
            lines = Files.readString(path, StandardCharsets.UTF_8).lines().limit(LINES_MAX).toList();
        } catch (IOException unreadable) {
            return;
        }
        int at = Layout.LOGGERS + index * Layout.LOGGER_BYTES;
        int central = to.page.get(at + 1), local = to.page.get(at + 2);
        for (String line : lines) {
            String[] fields = line.split("\t", -1);
            if (fields.length != 5 || !fits(fields[0], logger) || !fits(fields[1], host) || !fits(fields[2], process)) {
                continue;
            }
            int ofCentral = level(fields[3]), ofLocal = level(fields[4]);
            if (ofCentral == -2 || ofLocal == -2) {
                continue;
            }
            central = ofCentral == -1 ? central : ofCentral;
            local = ofLocal == -1 ? local : ofLocal;
        }
        to.setLevels(index, central, local);
    }
}
