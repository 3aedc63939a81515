//! Random command lines of GNU parallel, from the grammar that people use: sources of input,
//! replacement strings, quoting, packing, output, joblogs, halting.
//!
//! Only what has one right answer: several jobs at once only with `-k` and no halting, no times,
//! no process numbers, no names of temporary files.

/// The files that every command line finds in its folder.
pub(super) const FILES: &[(&str, &str)] = &[
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

/// A command line, and what it reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    pub(super) words: Vec<String>,
    pub(super) stdin: String,
}

/// Numbers from a seed: splitmix64, which has no weak seeds.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True in so many cases of a hundred.
    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

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

const CODES: &[&str] = &["0", "0", "1", "2", "3", "7", "101", "255"];

const FILE_NAMES: &[&str] =
    &["one", "two", "short", "empty", "no-end", "blank-lines", "names", "odd", "codes"];

/// Replacement strings of one value.
const PLAIN: &[&str] = &["{}", "{}", "{}", "{.}", "{/}", "{//}", "{/.}", "{#}"];

/// And those that `--plus` adds.
const PLUS: &[&str] = &[
    "{+/}", "{+.}", "{+..}", "{..}", "{...}", "{/..}", "{/...}", "{##}", "{:-none}", "{:1}",
    "{:1:2}", "{#a}", "{##a}", "{%b}", "{%%b}", "{/a/Z}", "{^a}", "{^^a}", "{,A}", "{,,A}",
];

/// What a line is built of.
struct Line<'a> {
    random: &'a mut Random,
    options: Vec<String>,
    command: Vec<String>,
    sources: Vec<String>,
    stdin: String,
    /// How many values a record has.
    width: usize,
    /// Names of a header.
    names: &'a [&'a str],
    /// One job at a time, so that everything has one order.
    serial: bool,
    plus: bool,
}

/// The command line of a seed.
pub(super) fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut line = Line {
        serial: random.percent(60),
        plus: random.percent(10),
        random: &mut random,
        options: Vec::new(),
        command: Vec::new(),
        sources: Vec::new(),
        stdin: String::new(),
        width: 1,
        names: &[],
    };
    match line.random.below(22) {
        21 => line.expressions(),
        20 => line.piped(),
        0 => line.commands_as_input(),
        1..=2 => line.columns(),
        3..=4 => line.packed(),
        5 => line.failing(),
        6 => line.going_on(),
        7 => line.quoted(),
        8 => line.renamed(),
        9 => line.delimited(),
        _ => line.ordinary(),
    }
    let mut case = line.finish();
    // Drawn last: what was drawn before is as it would be without.
    match random.below(60) {
        0 => wrong(&mut random, &mut case),
        1 => {
            case = of_words(&["-j1", "cat; echo {}", ":::", "1", "2"]);
            case.stdin = file("one").to_owned();
        }
        2 => {
            let words = ["-j2", "-k", "--timeout", "0.7", "--joblog", "joblog"];
            let jobs = ["sleep {}; echo {}", ":::", "0", "9", "0.01"];
            case = of_words(&[words.as_slice(), jobs.as_slice()].concat());
        }
        3 => {
            let missing = ["nonexistent-program", "/etc/passwd", "./one", "nonexistent-program;"];
            let program = random.pick(&missing);
            case = of_words(&["-j1", "--joblog", "joblog", program, ":::", "a b", "c"]);
        }
        _ => {}
    }
    case
}

fn of_words(words: &[&str]) -> Case {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Case { words, stdin: String::new() }
}

/// Something that cannot be done.
fn wrong(random: &mut Random, case: &mut Case) {
    let text = random.pick(&[
        "--halt bogus",
        "-a missing",
        "--joblog /nonexistent/x",
        "--timeout x",
        "--halt now,fail=x",
    ]);
    case.words.splice(0..0, text.split(' ').map(str::to_owned));
}

impl Line<'_> {
    fn option(&mut self, text: &str) {
        self.options.extend(text.split(' ').map(str::to_owned));
    }

    fn source(&mut self, words: &[&str]) {
        self.sources.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn values(&mut self, most: usize) -> Vec<&'static str> {
        let count = 1 + self.random.below(most);
        (0..count).map(|_| self.random.pick(VALUES)).collect()
    }

    /// Up to three sources of any kind.
    fn sources(&mut self) {
        let count = [1, 1, 1, 2, 2, 3][self.random.below(6)];
        let mut from_stdin = false;
        for number in 0..count {
            let linked = number > 0 && self.random.percent(25);
            match self.random.below(10) {
                0..=5 => {
                    self.source(&[if linked { ":::+" } else { ":::" }]);
                    let values = self.values(if count == 3 { 2 } else { 4 });
                    self.source(&values);
                }
                6..=8 => {
                    self.source(&[if linked { "::::+" } else { "::::" }]);
                    let name = self.random.pick(FILE_NAMES);
                    self.source(&[name]);
                }
                _ if number == 0 && count == 1 && !from_stdin => {
                    let name = self.random.pick(FILE_NAMES);
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
            let option = self.random.pick(&["--link", "--xapply"]);
            self.option(option);
        }
    }

    /// A replacement string that makes sense here, most of the time.
    fn replacement(&mut self) -> String {
        if !self.names.is_empty() && self.random.percent(50) {
            let name = self.random.pick(self.names);
            let part = self.random.pick(&["", "", "", ".", "/"]);
            return format!("{{{name}{part}}}");
        }
        if self.plus && self.random.percent(60) {
            return self.random.pick(PLUS).to_owned();
        }
        if self.width > 1 && self.random.percent(70) || self.random.percent(15) {
            let mut number = 1 + self.random.below(self.width) as i64;
            if self.random.percent(15) {
                number = -number;
            }
            let part = self.random.pick(&["", "", "", "", ".", "/", "//", "/."]);
            return format!("{{{number}{part}}}");
        }
        if self.serial && self.random.percent(5) {
            return "{%}".to_owned();
        }
        self.random.pick(PLAIN).to_owned()
    }

    /// A command with replacement strings, as one word or as several.
    fn command(&mut self) {
        let (one, two) = (self.replacement(), self.replacement());
        let text = match self.random.below(16) {
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

    /// How output is shown.
    fn output(&mut self) {
        match self.random.below(14) {
            0 => self.option("--tag"),
            1 => {
                let text = self.replacement();
                self.options.extend(["--tagstring".to_owned(), format!("<{text}>")]);
            }
            2 => self.option("--dry-run"),
            3 => self.option("-v"),
            4 if self.serial => self.option("-u"),
            5 if self.serial => self.option("--lb"),
            6 => self.option("--group"),
            7 => self.option("-t"),
            _ => {}
        }
        match self.random.below(10) {
            0..=2 => self.option("--joblog joblog"),
            3 if self.serial => self.option("--joblog -"),
            _ => {}
        }
    }

    /// What changes nothing to be seen, but has to be understood.
    fn harmless(&mut self) {
        if self.random.percent(12) {
            let text = self.random.pick(&[
                "--delay 0.001",
                "--timeout 20",
                "--nice 1",
                "--retries 1",
                "--no-notice",
                "--will-cite",
                "--halt never",
                "--noswap",
                "--term-seq TERM,50,KILL,25",
                "--shuf-not",
            ]);
            if text != "--shuf-not" {
                self.option(text);
            }
        }
        if self.random.percent(8) {
            let text = self.random.pick(&["--trim l", "--trim r", "--trim lr", "--trim n"]);
            self.option(text);
        }
        if self.random.percent(5) {
            self.option("-r");
        }
    }

    fn ordinary(&mut self) {
        self.sources();
        self.command();
        self.output();
        self.harmless();
    }

    /// Every line is a command.
    fn commands_as_input(&mut self) {
        match self.random.below(3) {
            0 => self.stdin = file("commands").to_owned(),
            1 => self.source(&["::::", "commands"]),
            _ => {
                self.source(&[":::", "echo a", "exit 2", "echo b | cat", "printf x"]);
            }
        }
        self.output();
    }

    /// Lines that are split into columns, with names or without.
    fn columns(&mut self) {
        self.width = 3;
        match self.random.below(5) {
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
                self.option("--csv --header :");
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

    /// Several arguments for one job.
    fn packed(&mut self) {
        self.serial = true;
        let number = 1 + self.random.below(3);
        let option = match self.random.below(9) {
            0..=2 => format!("-N {number}"),
            3..=4 => format!("-n {number}"),
            5 => format!("-L {number}"),
            6 => "-X".to_owned(),
            7 => "-m".to_owned(),
            _ => "--xargs".to_owned(),
        };
        self.option(&option);
        if self.random.percent(10) {
            let text = self.random.pick(&["-s 30", "-s 60", "-s 1000"]);
            self.option(text);
        }
        if self.random.percent(60) {
            let values = self.values(7);
            self.source(&[":::"]);
            self.source(&values);
        } else {
            let name = self.random.pick(FILE_NAMES);
            self.source(&["::::", name]);
        }
        self.width = if option.starts_with("-N") { number } else { 1 };
        self.command();
        self.output();
    }

    /// Jobs that fail, and what becomes of the others.
    fn failing(&mut self) {
        self.serial = true;
        let values: Vec<&str> =
            (0..2 + self.random.below(5)).map(|_| self.random.pick(CODES)).collect();
        self.source(&[":::"]);
        self.source(&values);
        let text = self.random.pick(&[
            "exit {}",
            "echo {}; exit {}",
            "test {} = 0",
            "if [ {} = 3 ]; then kill -9 $$; fi; echo {}",
            "if [ {} = 2 ]; then kill -TERM $$; fi; exit {}",
            "sh -c 'exit {}'",
            "false",
        ]);
        self.command = vec![text.to_owned()];
        if self.random.percent(75) {
            let when = self.random.pick(&["now", "soon"]);
            let what = self.random.pick(&["fail", "success", "done"]);
            let limit = self.random.pick(&["1", "2", "3", "30%", "50%", "100%"]);
            let halt = format!("{when},{what}={limit}");
            let old = self.random.pick(&["0", "1", "2", "-1", "-2", "40%"]);
            let text = if self.random.percent(20) { old.to_owned() } else { halt };
            self.options.extend(["--halt".to_owned(), text]);
        }
        if self.random.percent(20) {
            let option = self.random.pick(&["--retries 2", "--retries 3"]);
            self.option(option);
        }
        self.output();
    }

    /// Going on after a joblog.
    fn going_on(&mut self) {
        self.serial = true;
        let option =
            self.random.pick(&["--resume", "--resume-failed", "--retry-failed", "--joblog +log"]);
        self.option(option);
        if option != "--joblog +log" {
            self.option("--joblog log");
        }
        self.source(&[":::", "1", "2", "3", "4"]);
        let text = self.random.pick(&["echo {}", "exit {}", "echo", "echo {} {#}"]);
        self.command = vec![text.to_owned()];
    }

    /// The command itself quoted, and quoting asked for.
    fn quoted(&mut self) {
        let values = self.values(4);
        match self.random.below(3) {
            0 => {
                self.option("-q");
                let words: &[&str] = match self.random.below(4) {
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
    fn renamed(&mut self) {
        let values = self.values(4);
        let mut separator = ":::";
        match self.random.below(6) {
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
            let name = self.random.pick(FILE_NAMES);
            self.source(&[name]);
        } else {
            self.source(&values);
        }
        self.output();
    }

    /// Input with other delimiters, other ends.
    fn delimited(&mut self) {
        match self.random.below(7) {
            0 => {
                let option = self.random.pick(&["-0", "--null"]);
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
                let option = self.random.pick(&["-d \\072", "-d \\054", "-d ::"]);
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
                let option = self.random.pick(&["-r", "--no-run-if-empty"]);
                self.option(option);
                self.stdin = file("blank-lines").to_owned();
            }
        }
        self.command();
        self.output();
    }

    /// Replacement strings that compute.
    fn expressions(&mut self) {
        let expression = self.random.pick(&[
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
        match self.random.below(6) {
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

    /// Input in blocks.
    fn piped(&mut self) {
        self.stdin = file(self.random.pick(FILE_NAMES)).to_owned();
        if self.random.percent(40) {
            self.stdin = (1..=30).map(|number| format!("line {number}\n")).collect();
        }
        self.option("--pipe");
        let text = self.random.pick(&[
            "--block 10",
            "--block 50",
            "--block 1k",
            "-N 1",
            "-N 3",
            "-N 2 --block 20",
            "--block 1M",
            "--recend ; --block 30",
            "--recstart line --block 40",
            "--rrs -N 2",
            "-L 2 --block 40",
        ]);
        self.option(text);
        let command = self.random.pick(&["cat", "wc", "echo {#}; cat", "tr a-z A-Z", "wc -l"]);
        self.command = vec![command.to_owned()];
        self.output();
    }

    /// Everything in the order in which people type it.
    fn finish(mut self) -> Case {
        let at_once = match (self.serial, self.random.below(4)) {
            (true, 0) => "--jobs 1",
            (true, _) => "-j1",
            (false, 0) => "-k",
            (false, 1) => "-j2 -k",
            (false, 2) => "-j 4 --keep-order",
            (false, _) => "-k -j200%",
        };
        let mut words: Vec<String> = at_once.split(' ').map(str::to_owned).collect();
        if self.plus {
            words.push("--plus".to_owned());
        }
        words.append(&mut self.options);
        words.append(&mut self.command);
        words.append(&mut self.sources);
        Case { words, stdin: self.stdin }
    }
}

fn file(name: &str) -> &'static str {
    FILES.iter().find(|(other, _)| *other == name).map_or("", |(_, text)| text)
}
