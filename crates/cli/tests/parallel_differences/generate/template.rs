//! Commands with replacement strings: of all kinds, by other names, quoted, computing.

use super::Line;
use super::input::FILE_NAMES;

/// Replacement strings of one value.
const PLAIN: &[&str] = &["{}", "{}", "{}", "{.}", "{/}", "{//}", "{/.}", "{#}"];

/// And those that `--plus` adds.
const PLUS: &[&str] = &[
    "{+/}", "{+.}", "{+..}", "{..}", "{...}", "{/..}", "{/...}", "{##}", "{:-none}", "{:1}",
    "{:1:2}", "{#a}", "{##a}", "{%b}", "{%%b}", "{/a/Z}", "{^a}", "{^^a}", "{,A}", "{,,A}",
];

impl Line<'_> {
    /// A replacement string that makes sense here, most of the time.
    pub(super) fn replacement(&mut self) -> String {
        if !self.names.is_empty() && self.random.percent(50) {
            let name = self.random.one_of(self.names);
            let part = self.random.one_of(&["", "", "", ".", "/"]);
            return format!("{{{name}{part}}}");
        }
        if self.plus && self.random.percent(60) {
            return self.random.one_of(PLUS).to_owned();
        }
        if self.width > 1 && self.random.percent(70) || self.random.percent(15) {
            let mut number = 1 + self.random.index(self.width) as i64;
            if self.random.percent(15) {
                number = -number;
            }
            let part = self.random.one_of(&["", "", "", "", ".", "/", "//", "/."]);
            return format!("{{{number}{part}}}");
        }
        if self.serial && self.random.percent(5) {
            return "{%}".to_owned();
        }
        self.random.one_of(PLAIN).to_owned()
    }

    /// A command with replacement strings, as one word or as several.
    pub(super) fn command(&mut self) {
        let (one, two) = (self.replacement(), self.replacement());
        let text = match self.random.index(16) {
            0..=3 => "echo".to_owned(),
            4 => format!("echo {one}"),
            5 => format!("echo {one} {two}"),
            6 => format!("echo pre{one}post-{two}"),
            7 => format!("printf '%s|' {one} {two}; echo"),
            8 => format!("echo \"{one}\""),
            9 => format!("echo {one} >&2; echo out {two}"),
            10 => format!("echo {one} | tr a-z A-Z"),
            11 => format!("printf %s {one}"),
            12 => format!("echo $PARALLEL_SEQ {one}"),
            13 => format!("test {one} = a && echo yes"),
            14 => format!("true {one}"),
            _ => format!("printf '%s\\n' {one} {two}; exit 3"),
        };
        // The shell that starts parallel would split a command without quotes just so.
        let can_split = !text.contains(['\'', '"', ';', '|', '&', '$', '\\']);
        if can_split && self.random.percent(60) {
            self.command = text.split(' ').map(str::to_owned).collect();
        } else {
            self.command = vec![text];
        }
    }

    /// The command itself quoted, and quoting asked for.
    pub(super) fn quoted(&mut self) {
        let values = self.values(4);
        match self.random.index(3) {
            0 => {
                self.option("-q");
                let words: &[&str] = match self.random.index(4) {
                    0 => &["printf", "%s;%s\\n", "{} x", "$HOME"],
                    1 => &["echo", "a  b", "{}", "*", "'"],
                    2 => &["sh", "-c", "echo \"$0\" '$1' $#", "{}"],
                    _ => &["echo", "it's {}", "`id`", "{#} {.}"],
                };
                self.command = words.iter().map(|word| (*word).to_owned()).collect();
            }
            1 => {
                self.option("--shellquote");
            }
            _ => {
                self.option("-q --dry-run");
                self.command = ["echo", "a b", "{}", "#"].map(str::to_owned).into();
            }
        }
        self.source(&[":::"]);
        self.source(&values);
    }

    /// Replacement strings and separators by other names.
    pub(super) fn renamed(&mut self) {
        let values = self.values(4);
        let mut separator = ":::";
        match self.random.index(6) {
            0 => {
                self.option("-I ,,");
                self.command = vec!["echo ,, {} ,,".to_owned()];
            }
            1 => {
                self.option("--er @@");
                self.command = vec!["echo @@ {.} {/}".to_owned()];
            }
            2 => {
                self.option("--bnr BB --dnr DD");
                self.command = vec!["echo BB DD {/} {//}".to_owned()];
            }
            3 => {
                self.option("--bner BE --seqreplace SS");
                self.command = vec!["echo BE SS {#} {/.}".to_owned()];
            }
            4 => {
                separator = "//";
                self.option("--arg-sep //");
                self.command = vec!["echo {} :::".to_owned()];
            }
            _ => {
                separator = "FILES";
                self.option("--arg-file-sep FILES");
                self.command = vec!["echo {} ::::".to_owned()];
            }
        }
        self.source(&[separator]);
        if separator == "FILES" {
            let name = self.random.one_of(FILE_NAMES);
            self.source(&[name]);
        } else {
            self.source(&values);
        }
        self.output();
    }

    /// Replacement strings that compute.
    pub(super) fn expressions(&mut self) {
        let expression = self.random.one_of(&[
            "{= s/a/Z/ =}",
            "{= s:/:_:g =}",
            "{= s/\\.[^.]*$// =}",
            "{= s/(.)(.)/$2$1/ =}",
            "{= tr/a-z/A-Z/ =}",
            "{= y/abc/123/ =}",
            "{= $_ = sprintf(\"%03d\", seq()) =}",
            "{= $_ = seq() * 2 + 1 =}",
            "{= $_++ =}",
            "{= uq() =}",
            "{= if($_ eq \"b\") { skip() } =}",
            "{=1 s/b/Y/ =}",
            "{= $_ = \"<$_>\" =}",
        ]);
        match self.random.index(6) {
            0 => {
                self.options.extend(["--rpl", "{x} s/.*a/A/"].map(str::to_owned));
                self.command = vec!["echo {x} {}".to_owned()];
            }
            1 => {
                self.option("--parens ,,,,");
                self.command = vec!["echo ,,s/a/Z/,, {}".to_owned()];
            }
            _ => self.command = vec![format!("echo {expression} {{}}")],
        }
        let values = self.values(5);
        self.source(&[":::"]);
        self.source(&values);
        self.output();
    }
}
