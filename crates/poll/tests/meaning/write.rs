//! Random configurations.

use std::path::PathBuf;

use testkit::Random;

/// Parts of targets; the first of each list is the plain one.
const INTERFACES: &[&str] = &[
    "2",
    "-3",
    "/10.0.0.1",
    "-/192.168.1.77",
    "\\eth0",
    "\\Gi0/1",
    "\\Gi0\\/1",
    "\\a\\ b",
    "\\a\\:b\\ ",
    "\\x\\&y\\@z",
    "\\Se1/0.1",
    "\\\\x",
    "#eth0",
    "#a\\ b\\:c",
    "#Port\\ 1",
    "#a.b",
    "!00-11-22-33-44-55",
    "!0-A-bc-1",
    "-!1-2",
    "%6",
    "%24",
    "4294967295",
    "07",
    "#1",
    "\\2",
    "\\a\\\\b",
    "#x[1]",
    "\\a(b)",
    "/1.2",
    "\\\"q\\\"",
    "#$x",
];
const OBJECTS: &[&str] = &[
    "ifInErrors.1",
    "ifOutErrors.1",
    "1.3.6.1.2.1.2.2.1.10.1",
    ".1.3.6.1.2.1.2.2.1.16.1",
    "PseudoZero",
    "PseudoOne",
    "ifInErrors#eth0",
    "ifOutErrors\\eth\\ 0",
    "ifInUcastPkts/10.0.0.1",
    "ifInOctets%6",
    "ifOutOctets!0-1-2-3-4-5",
    "sysUptime",
    "sysUpTime.0",
    "WaLK1.3.6.1.2.1.2.2.1.10",
    "WaLK2ifInOctets",
    "GeTNEXT1.3.6.1.2.1.2.2.1.10",
    "CnTWaLKifIndex",
    "WaLK.1.3.6.1.2.1.25",
    "1.3.6.1.4.IndexPOS.1/10.0.0.1",
    ".1.3.6.1.4.IndexPOS.1.5",
    "1.3.6.1.4.IndexPOS.7",
    "hrSystemUptime",
    "noSuchObject.1",
    "1.3.6.1.4.1.9.2.1.57.0",
    ".1.3.6.1.4.1.9.2.1.57",
    "ifHCInOctets.3",
    "enterprises.9.1",
    "1.3.6.1.2.1.2.2.1.10#eth0",
    "ifInDiscards.2",
    "frOutOctets.3.4",
    "ifAdminHack.2",
    "GeTNEXTifInOctets.1",
    "pseudozero",
    "1",
    "",
    "ifInErrors.x",
];
const COMMUNITIES: &[&str] = &[
    "public",
    "private",
    "a\\@b",
    "with\\ space",
    "x:y",
    "c0mm-un_ity",
    "p%41",
    "a/b",
    "semi;colon",
    "q'uote",
    "d\"q",
    "\\@",
    "a\\b",
    "$ecret",
    "(x)",
    "pub+lic",
    "été",
];
const HOSTS: &[&str] = &[
    "router",
    "localhost",
    "127.0.0.1",
    "a-b.c_d.example.org",
    "[::1]",
    "[fe80::1]",
    "[2001:DB8::a:0]",
    "r2",
    "10.0.0.1.",
    "host.",
    "[]",
];
const OPTIONS: &[&str] = &[
    "",
    ":161",
    ":1161:1:2:1:2",
    ":::::2",
    "::::",
    ":::::3",
    ":161!127.0.0.1!5000",
    ":161!127.0.0.1",
    ":161:0.5:1:1.5:1",
    ":::::2:v4only",
    ":161:::",
    ":1:2:3:4:1:6:7",
    "::2.5",
    ":::::1",
];
const CONVERSIONS: &[&str] = &["", "", "", "", "|double", "|nosuch", "|", "|2x"];
const COMMANDS: &[&str] = &[
    "`echo 1`",
    "`/bin/echo 1; echo \\`echo 2\\``",
    "`a | b`",
    "`a@b:c&d:e@f`",
    "`echo \"x\" 'y'`",
    "`\\``",
    "`x`y`",
    "`2:public@router`",
];
const OPERATORS: &[&str] = &[
    " + ", "+", " * ", " - ", "-", " / ", "/", " % ", " > ", " == ", " <=> ", " && ", " || ",
    " // ", " ? 3 : ", " and ", " xor ", " , ", " ; ", " & ", " | ", " . ", " x ", " << ", "  ",
];
const NUMBERS: &[&str] = &[
    "8", "1024", "0", "0x10", "010", "1_000", "2.5", ".5", "1e3", "08", "1.", "-4", "1.2.3",
    "0b11", "abc", "sqrt(16)", "int(7.5)", "abs(-3)", "max(1,2)", "sin(0)", "time", "!1", "not 0",
    "'7'", "\"8\"", "$x", "@y", "#z",
];

/// Characters that typos put in.
const OTHERS: &[&str] = &[
    "a", "Z", "0", "9", ":", "[", "]", "_", " ", "#", ",", "-", "*", "@", "\\", "&", "`", "(", ")",
    "/", "!", "%", "|", ".", "$", "\"", "'", "{", "}", "+", ";", "=", "<", ">", "~", "?", "^",
];

const OF_TARGET: &[(&str, &[&str])] = &[
    (
        "Title",
        &["x y", "a: b", "[z]", "x\\ny", "#1", "100% \"q\" 'a' `b` $c @d", "été", "x]: y", "0"],
    ),
    ("PageTop", &["<H1>x</H1>", "<h1>a\\nb</h1>", "\\\\n", "x"]),
    ("PageFoot", &["x\\ny", "  z"]),
    ("AddHead", &["<meta name=\"x\">"]),
    ("BodyTag", &["<body bgcolor=red>"]),
    ("Extension", &["html", "shtml", ".php"]),
    ("Directory", &["sub", "a//b/", "/", "0", ""]),
    ("MaxBytes1", &["10", "007", "123456789"]),
    ("MaxBytes2", &["20"]),
    ("AbsMax", &["99999999", "0"]),
    ("Unscaled", &["ymwd", "d", "nw", "D"]),
    ("WithPeak", &["wmy", "n", "Y"]),
    ("Suppress", &["y", "dw"]),
    ("Supress", &["m"]),
    ("XSize", &["30", "599.9", "400px"]),
    ("YSize", &["30", "1000"]),
    ("YTics", &["1", "7.9"]),
    ("YTicsFactor", &["0.5", "e", "-"]),
    ("Factor", &["8", "abcf", "1.5x"]),
    ("XZoom", &["1.0", "2.5"]),
    ("YZoom", &["2"]),
    ("XScale", &["1.5"]),
    ("YScale", &["0.25"]),
    (
        "Options",
        &[
            "growright, bits",
            "GAUGE",
            "noinfo,noi  noo",
            "dorelpercent",
            "pngdate, integer",
            "absolute,",
        ],
    ),
    (
        "Colours",
        &[
            "GREEN#00eb0c,BLUE#1000ff,DARK GREEN#006600,VIOLET#ff00ff",
            "a#00eb0c , b#1000ff ,c#006600, d#ff00ff,e#123456",
            "A#00EB0C,b#1000ff,c#006600,d#ff00ffzz,e#000001",
        ],
    ),
    ("Colors", &["a#00eb0c,b#1000ff,c#006600,d#ff00ff,e#123456"]),
    ("Background", &["#a0a0a0", "#000000", "#A0a0a0zz", "#7f7f7f"]),
    ("TextColor", &["#a0a0a0", "#A0A0A0 x"]),
    ("kilo", &["1024", "0", "010"]),
    ("kMG", &[",k,M,G", "n , u, ,", ""]),
    ("PNGTitle", &["x", "a\\nb"]),
    ("YLegend", &["bits per second", ""]),
    ("ShortLegend", &["b/s", "&nbsp;"]),
    ("Legend1", &["one"]),
    ("Legend2", &["two"]),
    ("Legend5", &["five", ""]),
    ("LegendI", &["", "in:"]),
    ("LegendO", &["out", ""]),
    ("Timezone", &["Europe/Berlin", "0"]),
    ("Weekformat", &["V", "W", "xU"]),
    ("TimeStrPos", &["LU", "rl", "no"]),
    ("TimeStrFmt", &["%H:%M", ""]),
    ("ThreshMinI", &["10%", "x"]),
    ("ThreshMaxO", &["10", "1.5"]),
    ("ThreshDesc", &["x y"]),
    ("ThreshProgI", &["/bin/true"]),
    ("HWThreshMaxI", &["1"]),
    ("HWThreshProgOKO", &["/bin/false"]),
    ("noHC", &["yes", "no"]),
    ("IPv4Only", &["yes", "no"]),
    ("RRDRowCount", &["100"]),
    ("14all*Columns", &["2"]),
    ("routers.cgi*Icon", &["x"]),
];

pub(crate) struct Writer {
    random: Random,
    folder: PathBuf,
    text: String,
    files: usize,
}

impl Writer {
    pub(crate) fn new(random: Random, folder: PathBuf) -> Self {
        Self { random, folder, text: String::new(), files: 0 }
    }

    /// Writes the file, and gives the numbers back.
    pub(crate) fn finish(self) -> Random {
        std::fs::write(self.folder.join("mrtg.cfg"), &self.text).unwrap();
        self.random
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    /// The plain one, or any.
    fn any(&mut self, list: &[&'static str], percent: u64) -> &'static str {
        if self.chance(percent) { self.random.one_of(list) } else { list[0] }
    }

    fn place(&mut self) -> String {
        let community = self.any(COMMUNITIES, 30);
        let host = self.any(HOSTS, 40);
        let options = self.any(OPTIONS, 50);
        let conversion = self.random.one_of(CONVERSIONS);
        format!("{community}@{host}{options}{conversion}")
    }

    fn query(&mut self) -> String {
        match self.random.below(8) {
            0 => self.random.one_of(COMMANDS).to_owned(),
            1..=3 => {
                let [one, other] = [0; 2].map(|_| self.random.one_of(OBJECTS));
                format!("{one}&{other}:{}", self.place())
            }
            _ => format!("{}:{}", self.any(INTERFACES, 60), self.place()),
        }
    }

    fn expression(&mut self, depth: u64) -> String {
        match self.random.below(10) {
            0 if depth > 0 => format!("({})", self.expression(depth - 1)),
            1 if depth > 0 => format!("( {} )", self.expression(depth - 1)),
            2..=4 if depth > 0 => {
                let (one, other) = (self.expression(depth - 1), self.expression(depth - 1));
                let operator = self.any(OPERATORS, 50);
                format!("{one}{operator}{other}")
            }
            5 => self.any(NUMBERS, 60).to_owned(),
            _ => self.query(),
        }
    }

    fn begin(&mut self) {
        self.text.push_str("WorkDir: /tmp\nLogFormat: rrdtool\n");
        if self.chance(40) {
            let value = self.random.one_of(&["yes", "no", "Yes"]);
            self.text.push_str(&format!("EnableIPv6: {value}\n"));
        }
        if self.chance(70) {
            let code = "sub double { my $x = shift; return $x * 2; }\n";
            let path = self.folder.join("code.pl");
            std::fs::write(&path, code).unwrap();
            self.text.push_str(&format!("ConversionCode: {}\n", path.display()));
        }
    }

    fn target(&mut self, name: &str, definition: &str) {
        self.text.push_str(&format!(
            "Target[{name}]: {definition}\nTitle[{name}]: x\nMaxBytes[{name}]: 9\n"
        ));
        if self.chance(10) {
            self.text.push_str(&format!("noHC[{name}]: yes\n"));
        }
        if self.chance(10) {
            self.text.push_str(&format!("IPv4Only[{name}]: yes\n"));
        }
    }

    /// Targets of every form.
    pub(crate) fn targets(&mut self) {
        self.begin();
        for number in 0..4 {
            let definition = self.expression(3);
            self.target(&format!("t{number}"), &definition);
        }
    }

    /// Targets with a typo or two.
    pub(crate) fn mistyped_targets(&mut self) {
        self.begin();
        for number in 0..4 {
            let expression = self.expression(1);
            let definition = self.random.mistyped(&expression, OTHERS);
            self.target(&format!("t{number}"), &definition);
        }
    }

    fn key(&mut self, key: &str) -> String {
        match self.random.below(3) {
            0 => key.to_lowercase(),
            1 => key.to_uppercase(),
            _ => key.to_owned(),
        }
    }

    /// A line of a target, a default, a prefix or a postfix, and perhaps lines that continue it.
    fn line(&mut self, bracket: &str, key: &str, value: &str) -> String {
        let key = self.key(key);
        let between = self.any(&[": ", " : ", ":", ":  ", " \t: ", ":\t"], 20);
        let end = self.any(&["", " ", "\t", "\r", " \r", "  \t"], 15);
        let mut text = format!("{key}[{bracket}]{between}{value}{end}\n");
        while self.chance(12) {
            let indent = self.any(&[" ", "   ", "\t", " \t "], 50);
            let more = self.any(&["and more", "x: y", "z[a]: b", "- 1", "]", "é", "~", "#no"], 60);
            text.push_str(&format!("{indent}{more}{end}\n"));
            if self.chance(10) {
                text.push_str(self.any(&["\n", "# a comment\n", "  # another\n", "   \n"], 80));
            }
        }
        text
    }

    /// Lines in any order: of targets, for all targets, in files that include files.
    pub(crate) fn lines(&mut self) {
        self.begin();
        let mut lines = Vec::new();
        if self.chance(40) {
            let mark = self.random.one_of(&["~", "|", "."]);
            lines.push(format!("NoSpaceChar: {mark}\n"));
        }
        for bracket in ["_", "^", "$"] {
            for _ in 0..self.random.below(4) {
                let (key, values) = OF_TARGET[self.random.below(OF_TARGET.len() as u64) as usize];
                // With an end that NoSpaceChar may name, or without.
                let mut value = self.any(values, 40).to_owned();
                if bracket != "_" {
                    let any = ["Title", "PageTop", "YLegend", "LegendI", "PNGTitle", "Legend1"];
                    let key = self.random.one_of(&any);
                    value.push_str(self.any(&["", "~", "|", "."], 50));
                    lines.push(self.line(bracket, key, &value));
                } else {
                    lines.push(self.line(bracket, key, &value));
                }
                if self.chance(15) {
                    lines.push(self.line(bracket, key, ""));
                }
            }
        }
        for number in 0..2 + self.random.below(2) {
            let name = ["a", "Router.1", "b_0", "x[1]"][number as usize];
            for (key, value) in [("Target", "2:public@router"), ("Title", "t"), ("MaxBytes", "9")] {
                lines.push(self.line(name, key, value).lines().next().unwrap().to_owned() + "\n");
            }
            let mut used = vec!["Title"];
            for _ in 0..self.random.below(6) {
                let (key, values) = OF_TARGET[self.random.below(OF_TARGET.len() as u64) as usize];
                if used.contains(&key) && !self.chance(3) {
                    continue;
                }
                used.push(key);
                let value = self.any(values, 50);
                lines.push(self.line(name, key, value));
            }
        }
        for _ in 0..self.random.below(8) {
            let count = lines.len() as u64;
            let [one, other] = [0; 2].map(|_| self.random.below(count) as usize);
            lines.swap(one, other);
        }
        let text = self.folded(lines, 2);
        self.text.push_str(&text);
    }

    /// Puts some of the lines into files of their own.
    fn folded(&mut self, lines: Vec<String>, depth: u64) -> String {
        let mut text = String::new();
        let mut rest = lines.into_iter().peekable();
        while rest.peek().is_some() {
            if depth == 0 || !self.chance(15) {
                text.extend(rest.next());
                continue;
            }
            let count = 1 + self.random.below(5) as usize;
            let part: Vec<String> = rest.by_ref().take(count).collect();
            let part = self.folded(part, depth - 1);
            self.files += 1;
            let name = format!("part{}.inc", self.files);
            let is_several = self.chance(25);
            let (name, pattern) = match is_several {
                true => {
                    (format!("several{}-1.inc", self.files), format!("several{}-*.inc", self.files))
                }
                false => (name.clone(), name),
            };
            // The last line of a file may have no end.
            let part = if self.chance(20) { part.trim_end_matches('\n').to_owned() } else { part };
            std::fs::write(self.folder.join(&name), part).unwrap();
            if is_several {
                let other = self.line("_", "Legend3", "other");
                std::fs::write(self.folder.join(name.replace("-1.", "-2.")), other).unwrap();
            }
            let pattern = match self.chance(50) {
                true => self.folder.join(pattern).display().to_string(),
                false => pattern,
            };
            let word = self.any(&["Include: ", "include:", "INCLUDE:\t", "Include:   "], 50);
            let end = self.any(&["", " ", "\r"], 20);
            text.push_str(&format!("{word}{pattern}{end}\n"));
        }
        text
    }
}
