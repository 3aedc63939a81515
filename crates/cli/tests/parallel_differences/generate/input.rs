//! Where values come from: sources, columns, delimiters, and how many go into a job.

use super::Line;

/// The files that every command line finds in its folder.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("one", "a\nb\nc\n"),
    ("two", "1\n2\n3\n4\n"),
    ("short", "only\n"),
    ("empty", ""),
    ("no-end", "x\ny"),
    ("blank-lines", "p\n\nq\n \n"),
    ("names", "dir/file.txt\n/abs/x.tar.gz\n.hidden\ntrail/\nno-dot\ndir.d/f\n"),
    ("odd", "it's\n\"q\" x\n$HOME\n*\nback\\slash\n  lead and trail  \n`id`\na;b&c|d\n{}\n"),
    ("columns", "a\tb c\td\n1\t2\t3\nx\t\tz\n"),
    ("table", "first,second\nA,B\n \"C\" , D\nE\n"),
    ("csv", "n,v\n1,\"x, y\"\n2,\"he said \"\"hi\"\"\"\n"),
    ("stop", "1\n2\nEND\n3\n"),
    ("codes", "0\n3\n0\n1\n2\n"),
    ("commands", "echo one\nexit 3\necho two; echo err >&2\nfalse\nprintf %s no-newline\n"),
    (
        "log",
        "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
         1\t:\t1700000000.000\t     0.001\t0\t2\t0\t0\techo 1\n\
         2\t:\t1700000000.000\t     0.001\t0\t2\t1\t0\techo 2; false\n",
    ),
];

const VALUES: &[&str] = &[
    "a",
    "b",
    "c",
    "1",
    "2",
    "3",
    "0",
    "10",
    "b c",
    "",
    "a'b",
    "''",
    "a\"b",
    "$HOME",
    "*",
    "x.y",
    "dir/file.txt",
    "dir.d/f",
    "/abs/path/f.tar.gz",
    "/",
    "trail/",
    ".hidden",
    "a..b",
    "..",
    "-n",
    "--x",
    "\\",
    "a\\b",
    "a\tb",
    "two\nlines",
    "{}",
    "{1}",
    "{#}",
    "~",
    "~root",
    "a=b",
    "a;b",
    "a&b",
    "a|b",
    "<x",
    "`id`",
    "$(id)",
    "%s",
    "#x",
    "!x",
    "[a]",
    "{a,b}",
    "  pad ",
    "é",
    "^",
    ",",
    "a,b",
    "@",
    "+",
    ":",
    "x:y",
    "aa.b.c",
];

pub(super) const FILE_NAMES: &[&str] =
    &["one", "two", "short", "empty", "no-end", "blank-lines", "names", "odd", "codes"];

/// What a file holds.
pub(super) fn file(name: &str) -> &'static str {
    FILES.iter().find(|(other, _)| *other == name).map_or("", |(_, text)| text)
}

impl Line<'_> {
    pub(super) fn values(&mut self, most: usize) -> Vec<&'static str> {
        let count = 1 + self.random.index(most);
        (0..count).map(|_| self.random.one_of(VALUES)).collect()
    }

    /// Up to three sources of any kind.
    pub(super) fn sources(&mut self) {
        let count = [1, 1, 1, 2, 2, 3][self.random.index(6)];
        let mut from_stdin = false;
        for number in 0..count {
            let linked = number > 0 && self.random.percent(25);
            match self.random.index(10) {
                0..=5 => {
                    self.source(&[if linked { ":::+" } else { ":::" }]);
                    let values = self.values(if count == 3 { 2 } else { 4 });
                    self.source(&values);
                }
                6..=8 => {
                    self.source(&[if linked { "::::+" } else { "::::" }]);
                    let name = self.random.one_of(FILE_NAMES);
                    self.source(&[name]);
                }
                _ if number == 0 && count == 1 && !from_stdin => {
                    let name = self.random.one_of(FILE_NAMES);
                    if self.random.percent(50) {
                        self.option(&format!("-a {name}"));
                    } else {
                        from_stdin = true;
                        self.stdin = file(name).to_owned();
                    }
                }
                _ => {
                    self.source(&[":::"]);
                    let values = self.values(2);
                    self.source(&values);
                }
            }
        }
        self.width = count;
        if count > 1 && self.random.percent(15) {
            let option = self.random.one_of(&["--link", "--xapply"]);
            self.option(option);
        }
    }

    /// Every line is a command.
    pub(super) fn commands_as_input(&mut self) {
        match self.random.index(3) {
            0 => self.stdin = file("commands").to_owned(),
            1 => self.source(&["::::", "commands"]),
            _ => {
                self.source(&[":::", "echo a", "exit 2", "echo b | cat", "printf x"]);
            }
        }
        self.output();
    }

    /// Lines that are split into columns, with names or without.
    pub(super) fn columns(&mut self) {
        self.width = 3;
        match self.random.index(5) {
            0 => {
                self.option("--colsep \\t");
                self.source(&["::::", "columns"]);
            }
            1 => {
                self.option("-C , --header :");
                self.source(&["::::", "table"]);
                self.names = &["first", "second"];
                self.width = 2;
            }
            2 => {
                // Debian's parallel lacks the module that --csv needs: only a few of them.
                let is_csv = self.random.percent(10);
                self.option(if is_csv { "--csv --header :" } else { "--colsep , --header :" });
                self.source(&["::::", "csv"]);
                self.names = &["n", "v"];
                self.width = 2;
            }
            3 => {
                self.options.extend(["--colsep".to_owned(), "[ ,]".to_owned()]);
                self.source(&[":::", "a b,c", "d,e f", "x", "one two"]);
            }
            _ => {
                self.option("--header :");
                self.source(&[":::", "h1", "a", "b", ":::", "h2", "1", "2"]);
                self.names = &["h1", "h2"];
                self.width = 2;
            }
        }
        self.command();
        self.output();
    }

    /// Input with other delimiters, other ends.
    pub(super) fn delimited(&mut self) {
        match self.random.index(7) {
            0 => {
                let option = self.random.one_of(&["-0", "--null"]);
                self.option(option);
                self.stdin = "a\nb\0c d\0\0e".to_owned();
            }
            1 => {
                self.option("-d ,");
                self.stdin = "a,b c,,d\n".to_owned();
            }
            2 => {
                self.option("-d \\t");
                self.stdin = "a\tb\n\tc".to_owned();
            }
            3 => {
                // Hexadecimal ones, which its page promises, parallel takes for no delimiter.
                let option = self.random.one_of(&["-d \\072", "-d \\054", "-d ::"]);
                self.option(option);
                self.stdin = "x,y::z,\n".to_owned();
            }
            4 => {
                self.option("-E END");
                self.source(&["::::", "stop"]);
            }
            5 => {
                self.option("--skip-first-line");
                self.stdin = file("table").to_owned();
            }
            _ => {
                let option = self.random.one_of(&["-r", "--no-run-if-empty"]);
                self.option(option);
                self.stdin = file("blank-lines").to_owned();
            }
        }
        self.command();
        self.output();
    }

    /// Several arguments for one job.
    pub(super) fn packed(&mut self) {
        self.serial = true;
        let number = 1 + self.random.index(3);
        let option = match self.random.index(10) {
            0..=2 => format!("-N {number}"),
            3..=4 => format!("-n {number}"),
            5 => format!("-L {number}"),
            6 => format!("-l{number}"),
            7 => "-X".to_owned(),
            8 => "-m".to_owned(),
            _ => "--xargs".to_owned(),
        };
        self.option(&option);
        if self.random.percent(20) {
            let text = self.random.one_of(&["-X", "-m", "--xargs", "-n 2", "-N 2", "-L 2", "-l3"]);
            self.option(text);
        }
        if self.random.percent(20) {
            let text = self
                .random
                .one_of(&["-s 20", "-s 30", "-s 40", "-s 50", "-s 60", "-s 80", "-s 1000"]);
            self.option(text);
        }
        if self.random.percent(60) {
            let values = self.values(7);
            self.source(&[":::"]);
            self.source(&values);
        } else {
            let name = self.random.one_of(FILE_NAMES);
            self.source(&["::::", name]);
        }
        self.width = if option.starts_with("-N") { number } else { 1 };
        if self.random.percent(15) {
            self.width = 2;
            self.source(&[":::"]);
            let values = self.values(2);
            self.source(&values);
        }
        if self.random.percent(15) {
            let text =
                self.random.one_of(&["--colsep ,", "--link", "--header :", "-r", "--trim lr"]);
            self.option(text);
        }
        if self.random.percent(10) {
            self.option("-q");
            let (one, two) = (self.replacement(), self.replacement());
            let program = self.random.one_of(&["echo", "printf", "printf %s"]).split(' ');
            self.command = program.map(str::to_owned).collect();
            self.command.extend([format!("pre {one}post-{two}"), "$x".to_owned(), two]);
        } else {
            self.command();
        }
        self.output();
        // Where command lines are filled parallel takes the number of values for that of jobs.
        if self.options.iter().any(|option| ["-X", "-m", "--xargs", "-s"].contains(&&**option)) {
            for word in self.options.iter_mut().chain(&mut self.command) {
                *word = word.replace("{##}", "{..}");
            }
        }
    }
}
