//! What people type out of habit, with values drawn at random: counters and sets in expressions,
//! records, tags with escapes, more strings of `--plus`, several files in parts.

use super::Line;

/// Expressions whose variables keep their values from job to job, or that only Perl knows.
const EXPRESSIONS: &[&str] = &[
    "{= $_ = ++$n =}",
    "{= $n++; $_ = $n =}",
    "{= $_ = $n . $_; $n = $_ =}",
    "{= $_ = ++$h{$_} =}",
    "{= $seen{$_}++ and skip() =}{}",
    "{= $_ = $m{$_}++ ? 'again' : 'new' =}",
    "{= push @l, $_; $_ = @l =}",
    "{= $_ = join '-', map { ord } split // =}",
    "{= s/(.)/\\u$1/g =}",
    "{= s/^(.)/\\U$1\\E!/ =}",
    "{= $_ = \"\\Q$_\\E\" =}",
    "{= s/(.)(.)/\\2\\1/ =}",
    "{= $_ = \"\\x41\\101\\a\" . length =}",
    "{= my $x = $_; $_ = $x . $x =}",
    "{= $_ = ucfirst lc =}",
    "{= $_ = $arg[1] . seq() =}",
    "{= s/(?<=a)b/X/ =}",
];

/// Strings of `--plus` with patterns.
const PATTERNS: &[&str] = &[
    "{00#}",
    "{0#}",
    "{#a|b}",
    "{##a|b}",
    "{%b|c}",
    "{%%b|c}",
    "{##*/}",
    "{##.*/}",
    "{#.*/}",
    "{%\\..*}",
    "{%%\\..*}",
    "{^a|b}",
    "{^^a|b}",
    "{//a|b/Z}",
    "{/a|b/Z}",
    "{..}",
    "{/..}",
];

const TAGS: &[&str] = &[
    "\\t{}",
    "{#}\\t",
    "{1}\\n{.}",
    "\\033[1m{}",
    "a\\\\b\\x41\\r{/}",
    "\\101{#}",
    "{= $_ = ++$t =}",
];

/// Options that cut a stream into records, and the end of one.
const RECORDS: &[&[&str]] = &[
    &["--recstart", "line 1", "-N1"],
    &["--recstart", "line", "-N3"],
    &["--recend", "5\\n", "--block", "20"],
    &["--recend", "5\\n", "-N2"],
    &["--recstart", "line 2", "--recend", "\\n", "-N1"],
    &["--regexp", "--recstart", "line [27]", "-N1"],
    &["--regexp", "--recend", "[27]\\n", "-N2"],
    &["--regexp", "--recend", "[27]\\n", "--block", "30"],
    &["--recend", " ", "--rrs", "-N4"],
    &["--header", "2", "-N3"],
    &["--header", ".*\\n", "--block", "30"],
    &["-L7"],
    &["-l", "7"],
    &["-n", "7"],
];

const HALTS: &[&str] = &[
    "now,fail=1",
    "soon,fail=2",
    "now,success=2",
    "soon,done=3",
    "now,fail=40%",
    "soon,success=0.3",
    "now,done=0.5",
    "2",
    "1",
    "-1",
    "-2",
    "30%",
    "never",
];

impl Line<'_> {
    pub(super) fn habit(&mut self) {
        self.serial = true;
        let count = 1 + self.random.index(5);
        let values: Vec<&str> = (0..count)
            .map(|_| self.random.one_of(&["a", "b", "ab.c", "x/ab.tar.gz", "A b"]))
            .collect();
        match self.random.index(7) {
            0 | 1 => {
                // Which of two different expressions runs first is a hash's order in parallel.
                let one = self.random.one_of(EXPRESSIONS);
                let second = if self.random.percent(30) { one } else { "{#}" };
                self.command = vec![format!("echo {one} {second} {{}}")];
            }
            2 => {
                self.plus = true;
                let pattern = self.random.one_of(PATTERNS);
                self.command = vec!["echo".to_owned(), pattern.to_owned()];
            }
            3 => {
                let tag = self.random.one_of(TAGS);
                self.options.extend(["--tagstring", tag].map(str::to_owned));
                self.command = vec!["echo".to_owned()];
            }
            4 => return self.records(),
            5 => return self.parts_of_files(),
            _ => {
                let halt = self.random.one_of(HALTS);
                self.options.extend(["--joblog", "joblog", "--halt", halt].map(str::to_owned));
                self.command = vec!["echo {#}; case {} in a*) exit 3;; esac".to_owned()];
            }
        }
        self.source(&[":::"]);
        self.source(&values);
        if self.random.percent(30) {
            self.option("--joblog joblog");
        }
        if self.random.percent(20) {
            self.option("-v");
        }
    }

    fn records(&mut self) {
        self.stdin = (1..=30).map(|number| format!("line {number}\n")).collect();
        self.option("--pipe");
        let options = self.random.one_of(RECORDS);
        self.options.extend(options.iter().map(|word| (*word).to_owned()));
        self.command = vec!["cat; echo {#}".to_owned()];
    }

    /// Several files are cut into parts of one size.
    fn parts_of_files(&mut self) {
        self.option("--pipe-part");
        for _ in 0..1 + self.random.index(3) {
            let name = self.random.one_of(&["names", "two", "codes", "csv"]);
            self.option(&format!("-a {name}"));
        }
        let block = self.random.one_of(&["", "--block 7", "--block -1", "--block -3"]);
        if !block.is_empty() {
            self.option(block);
        }
        self.command = vec!["cat; echo {#}".to_owned()];
    }
}
