//! Which configurations are accepted: as MRTG's own library decides, on random ones.
//!
//! Perl loads `MRTG_lib` once and reads all files; starting `mrtg --check` for each would take a
//! tenth of a second a file.  `mrtg --check` itself is asked about the samples in `testdata/mrtg`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use poll::{Config, LoadEnvironment};
use testkit::{Random, is_installed, seed, share, skip};

const SEED: u64 = 14;
/// In a long run; a short one has a tenth of them.
const CASES: usize = 1_500;

/// Reads each file as `mrtg --check` does; a line for each.
const HARNESS: &str = r"
use MRTG_lib;
open STDERR, '>', '/dev/null';
while (my $file = <STDIN>) {
    chomp $file;
    my (@routers, %cfg, %rcfg, @target);
    my $ok = eval {
        readcfg($file, \@routers, \%cfg, \%rcfg);
        cfgcheck(\@routers, \%cfg, \%rcfg, \@target, { check => 1 });
        1;
    };
    my $why = $@;
    $why =~ s/\s+/ /g;
    print $ok ? qq{ok\n} : qq{no $why\n};
}
";

/// Keywords and values of them, right and wrong.
const GLOBALS: &[(&str, &[&str])] = &[
    ("HtmlDir", &["/tmp", "/nonexistent", "0"]),
    ("ImageDir", &["/tmp", "/usr"]),
    ("LogDir", &["/tmp", "/nonexistent"]),
    ("Forks", &["4", "0", "x", "1.5", "-1"]),
    ("Refresh", &["300", "299", "600s", "abc", "1e3"]),
    ("EnableSnmpV3", &["yes", "No", "maybe", "1"]),
    ("EnableIPv6", &["YES", "no", "on"]),
    ("Interval", &["5", "0:30", "60", "61", "0", "0:00", "abc", "x7", "5:30", "60:01", "1:5x"]),
    ("WriteExpires", &["yes"]),
    ("NoMib2", &["yes"]),
    ("SingleRequest", &["yes"]),
    ("IconDir", &["/icons/", "0"]),
    ("Language", &["german", "klingon"]),
    ("LoadMIBs", &["/tmp/none.mib,/tmp/other.mib", "0"]),
    ("UseRRDTool", &["yes"]),
    ("LogFormat", &["rateup", "rrdtool", "RRDtool", "rrd"]),
    ("PathAdd", &["/usr/bin", "/nonexistent"]),
    ("LibAdd", &["/usr/lib", "/nonexistent"]),
    ("RunAsDaemon", &["Yes", "maybe"]),
    ("NoDetach", &["yes"]),
    ("MaxAge", &["100", "0", "1.5", "x", "00", "05"]),
    ("NoSpaceChar", &["~", "~~", "|", "*"]),
    (
        "SnmpOptions",
        &[
            "timeout => 3, retries => 2",
            "timeout =>",
            "username => 'me', authpassword => \"x y\"",
            "timeout => abc",
            "timeout 3",
            "'a', 1,",
            "a => 1 b => 2",
            "a => 'x",
            "a => undef",
            "a => 0x1f, b => -1.5e3",
            "lenient_source_port_matching => 1",
            "=> 1",
            ",,a=>1",
        ],
    ),
    (
        "SendToGraphite",
        &[
            "127.0.0.1,2003",
            "127.0.0.1",
            "127.0.0.1,0",
            "127.0.0.1,65536",
            "127.0.0.1,x",
            "127.0.0.1,1,2",
        ],
    ),
    ("ThreshDir", &["/tmp", "/nonexistent"]),
    ("ThreshHyst", &["0.2", ".2", "1.", "x", "0", "1e3"]),
    ("HWThreshHyst", &["0.2", "-1"]),
    ("ThreshMailServer", &["localhost", "127.0.0.1", "no.such.host.invalid"]),
    ("ThreshMailSender", &["me@here", "nobody", "a @ b", "@x", "x@ y"]),
    ("RRDCached", &["unix:/tmp/none", "localhost:42217"]),
    ("Bogus", &["1"]),
    ("Title", &["x"]),
    ("tool*thing", &["x"]),
    ("*thing", &["x"]),
    ("tool*", &["x"]),
];

const OF_TARGET: &[(&str, &[&str])] = &[
    ("noHC", &["yes", "NO", "x", ""]),
    ("MaxBytes1", &["10", "0", "x", "1.5", "00", "", "18446744073709551616"]),
    ("MaxBytes2", &["10", "-1", "007"]),
    ("AbsMax", &["10", "0", "x", "", "1000000"]),
    ("IPv4Only", &["yes", "no", "perhaps"]),
    ("Directory", &["sub", "", "a//b/"]),
    ("Clonedirectory", &["other", "other,", "other,name", "other name", ", "]),
    ("PageTop", &["<H1>x</H1>", "a\n  b\n  c"]),
    ("PageFoot", &["x\\ny"]),
    ("AddHead", &["<meta>"]),
    ("BodyTag", &["<body bgcolor=red>"]),
    ("RRDRowCount", &["100", "x"]),
    ("RRDRowCount30m", &["100"]),
    (
        "RRDHWRRAs",
        &[
            "RRA:HWPREDICT:1:0.1:0.1:1",
            "RRA:FAILURES:x RRA:SEASONAL:y",
            "RRA:AVERAGE:0.5:1:1",
            "x",
            "RRA:FAILURES:",
        ],
    ),
    ("Extension", &["html", "shtml"]),
    ("Unscaled", &["ymwd", "n", "xyz", "x", "D"]),
    ("WithPeak", &["wmy", "q", "N"]),
    ("Suppress", &["y", "", "k"]),
    ("Supress", &["y", "k"]),
    ("Weekformat", &["V", "W", "x", "xU"]),
    ("XSize", &["30", "600", "601", "29", "400px", "x", "1e2", "599.9", "600.9"]),
    ("YSize", &["30", "29", "1000", "x"]),
    ("YTics", &["1", "0", "4"]),
    ("YTicsFactor", &["0.5", "x", "e", "-"]),
    ("Factor", &["8", "abc", "hij"]),
    ("Step", &["0", "-1", "300", "-0.5"]),
    ("Timezone", &["Europe/Berlin"]),
    (
        "Options",
        &[
            "growright, bits",
            "gauge",
            "bits nosuch",
            "",
            ", bits",
            "bits,",
            "derive",
            "dorelpercent",
            "GROWRIGHT,,bits",
            "unknaszero  withzeroes noborder noarrow noi noo nobanner nolegend logscale secondmean pngdate printrouter expscale",
            "absolute perhour perminute transparent avgpeak integer nopercent noinfo",
        ],
    ),
    (
        "Colours",
        &[
            "GREEN#00eb0c,BLUE#1000ff,DARK GREEN#006600,VIOLET#ff00ff",
            "a#00eb0c,b#1000ff",
            "a#00eb0c , b#1000ff ,c#006600, d#ff00ff,e#123456",
            "GREEN#00eb0,BLUE#1000ff,X#006600,Y#ff00ff",
            "#00eb0c,#1000ff,#006600,#ff00ff",
            "a#00EB0C,b#1000fg,c#006600,d#ff00ff",
            "a#00eb0c,b#1000ff,c#006600,d#ff00ffzz",
        ],
    ),
    ("Colors", &["a#00eb0c,b#1000ff,c#006600,d#ff00ff", "x"]),
    ("Background", &["#a0a0a0", "red", "#a0a0a0zz", "#a0a0a"]),
    ("TextColor", &["#a0a0a0", "red", "#A0A0A0 x"]),
    ("kilo", &["1024", "x", "0", "1e3", ""]),
    ("kMG", &[",k,M,G", "n , u", ""]),
    ("PNGTitle", &["x"]),
    ("YLegend", &["x", ""]),
    ("ShortLegend", &["x"]),
    ("Legend1", &["x"]),
    ("LegendI", &["", "in"]),
    ("LegendO", &["out"]),
    (
        "SetEnv",
        &[
            "A=\"x\"",
            "A=\"x\" B=\"y z\"",
            "A=x",
            "A=\"x",
            "A=\"x\"B=\"y\"",
            "=\"x\"",
            "A-B_1=\"\" ",
        ],
    ),
    ("XZoom", &["1.0", "1", ".5", "1.", "x"]),
    ("YZoom", &["2.0", "-1"]),
    ("XScale", &["1.5", "a1"]),
    ("YScale", &["1.5", ""]),
    ("ThreshMinI", &["10%", "x"]),
    ("ThreshMaxO", &["10"]),
    ("ThreshDesc", &["x"]),
    ("ThreshProgI", &["/bin/true", "/nonexistent", "0"]),
    ("ThreshProgOKO", &["/bin/true -x", "/bin/true"]),
    ("ThreshMailAddress", &["a@b", "nobody"]),
    ("HWThreshMinI", &["10"]),
    ("HWThreshProgO", &["/nonexistent"]),
    ("HWThreshMailAddress", &["a@b", "b"]),
    ("TimeStrPos", &["LU", "rl", "no", "xx", "lur"]),
    ("TimeStrFmt", &["%H"]),
    ("RouterUptime", &["public@localhost", "1.3.6.1.2.1.1.3.0:public@localhost"]),
    ("RouterName", &["sysName", "x:y"]),
    ("SnmpOptions", &["timeout => 1", "x", "x => 'y'", ""]),
    ("Bogus", &["x"]),
    ("WorkDir", &["/tmp"]),
    ("UseRRDTool", &["x"]),
    ("routers.cgi*Icon", &["x"]),
    ("14all*Columns", &["2"]),
];

const DEFINITIONS: &[&str] = &[
    "2:public@localhost",
    "-2:public@localhost:161",
    "/127.0.0.1:public@localhost:161:1:1:1:2",
    "\\eth\\ 0:public@localhost",
    "#eth0:public@localhost",
    "!00-11-22-33-44-55:public@localhost",
    "%6:public@localhost",
    "1.3.6.1.2.1.2.2.1.10.1&1.3.6.1.2.1.2.2.1.16.1:public@localhost",
    "ifInErrors.1&ifOutErrors.1:public@localhost + ifInErrors.2&ifOutErrors.2:public@localhost",
    "PseudoZero&PseudoOne:public@localhost",
    "`/bin/echo 1; /bin/echo \\`echo 2\\``",
    "`a` + `b` * 2",
    "2:public@[::1]:161::::2",
    "nonsense",
    "",
];

/// Odd lines.
const LINES: &[&str] = &[
    "# a comment",
    "",
    "   # an indented comment",
    "nonsense",
    "Key without colon",
    "WorkDir:",
    " indented: at the beginning",
    "Title [a]: x",
    "Title[a b]: x",
    "Title[]: x",
    "Title[0]: x",
    "Title[a]:x:y",
    "Title[a]b]: x",
    "Title[x]y: z",
    "Include: /nonexistent.cfg",
    "Include: /nonexistent*.cfg",
    "Include: /nonexistent*.cfg missing.cfg",
    "Title[a] : spaced",
    "a:b: c",
    "Tit-le[a]: x",
];

struct Writer {
    random: Random,
    text: String,
}

impl Writer {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    /// A keyword with one of its values, mostly a right one: the first of each list is right.
    fn pick(
        &mut self,
        all: &'static [(&'static str, &'static [&'static str])],
    ) -> (&'static str, &'static str) {
        let (key, values) = all[self.random.below(all.len() as u64) as usize];
        let value = if self.chance(60) { values[0] } else { self.random.one_of(values) };
        (key, value)
    }

    fn key(&mut self, key: &str) -> String {
        match self.random.below(3) {
            0 => key.to_lowercase(),
            1 => key.to_uppercase(),
            _ => key.to_owned(),
        }
    }

    fn line(&mut self, text: &str) {
        let end = self.random.one_of(&["", "", "", " ", "\t", "\r"]);
        writeln!(self.text, "{text}{end}").expect("a string");
    }

    fn config(&mut self) {
        if self.chance(97) {
            self.line("WorkDir: /tmp");
        }
        for _ in 0..self.random.below(3) {
            let (key, value) = self.pick(GLOBALS);
            let key = self.key(key);
            self.line(&format!("{key}: {value}"));
        }
        let targets = self.random.below(3);
        for number in 0..targets {
            let name = ["a", "Router.1", "b_0"][number as usize];
            for special in ["_", "^", "$"] {
                if self.chance(20) {
                    let (key, value) = self.pick(OF_TARGET);
                    self.line(&format!("{key}[{special}]: {value}"));
                    if self.chance(20) {
                        self.line("   and more");
                    }
                }
            }
            let definition = self.random.one_of(DEFINITIONS);
            for (key, value) in [("Target", definition), ("Title", "x y"), ("MaxBytes", "1250000")]
            {
                if self.chance(98) {
                    let key = self.key(key);
                    self.line(&format!("{key}[{name}]: {value}"));
                }
            }
            for _ in 0..self.random.below(4) {
                let (key, value) = self.pick(OF_TARGET);
                let key = self.key(key);
                self.line(&format!("{key}[{name}]: {value}"));
                if self.chance(8) {
                    self.line("  continued");
                }
            }
        }
        if self.chance(10) {
            let line = self.random.one_of(LINES);
            self.line(line);
        }
    }
}

impl Writer {
    /// A typo or two: a character too many, missing, doubled, another, or two exchanged.
    fn mistype(&mut self) {
        const OTHERS: &[&str] =
            &["a", "Z", "0", "9", ":", "[", "]", "_", " ", "\n", "#", ",", "-", "*"];
        self.text = self.random.mistyped(&self.text, OTHERS);
    }
}

/// Whether a configuration is accepted, and why not.
fn ours(path: &Path) -> Result<(), String> {
    let loading = Config::load(path, &LoadEnvironment::default());
    let errors = loading.problems.iter().filter(|problem| problem.is_error);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    assert_eq!(loading.config.is_some(), errors.is_empty());
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

/// Whether an error is one that MRTG does not have when it reads a configuration.
fn is_stricter(error: &str) -> bool {
    const ERRORS: [&str; 13] = [
        // Its first round fails, or Perl takes what is misspelt for something else.
        "the authentication password has less than 8 characters",
        "the format is `name => number",
        "has no meaning",
        "is no number above 0",
        "give no picture",
        "is no count of rows",
        "is above 18446744073709551615",
        "cannot be used in a target",
        "is smaller than MaxBytes",
        "is no port",
        "is no local address",
        "is no number",
        "there is no version",
    ];
    ERRORS.iter().any(|part| error.contains(part))
}

/// Compares ours with MRTG's decision on random configurations.
fn compare(seed: u64, change: impl Fn(&mut Writer)) {
    let perl = |code: &str| {
        let mut command = Command::new("perl");
        command
            .args(["-e", code])
            .env("LANG", "C")
            .env("LC_ALL", "C")
            .env_remove("RRDCACHED_ADDRESS");
        command
    };
    if !perl("use MRTG_lib; use RRDs;").output().is_ok_and(|output| output.status.success()) {
        skip("mrtg", "its library for Perl is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random::from_seed(seed);
    let (mut files, cases) = (Vec::new(), share(CASES));
    for case in 0..cases {
        let mut writer = Writer { random, text: String::new() };
        writer.config();
        change(&mut writer);
        random = writer.random;
        let path = folder.path().join(format!("{case}.cfg"));
        std::fs::write(&path, &writer.text).expect("written");
        files.push(path);
    }
    let list = folder.path().join("list");
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    std::fs::write(&list, names.join("\n")).expect("written");
    let output = perl(HARNESS).stdin(std::fs::File::open(&list).expect("a list")).output();
    let output = output.expect("perl runs");
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(theirs.lines().count(), cases, "{}", String::from_utf8_lossy(&output.stderr));
    let (mut accepted, mut wrong) = (0, Vec::new());
    for (file, theirs) in files.iter().zip(theirs.lines()) {
        let ours = ours(file);
        accepted += usize::from(ours.is_ok());
        // Perl that is more than arithmetic is refused by name, by a typo too; what MRTG fails at
        // in its first round, or takes for something else, is refused at once.
        let is_stricter = ours.as_ref().is_err_and(|why| why.split("; ").all(is_stricter));
        if ours.is_ok() != (theirs == "ok") && !is_stricter {
            let text = std::fs::read_to_string(file).expect("a file");
            wrong.push(format!("--- seed {seed}\n{text}ours: {ours:?}\nMRTG: {theirs}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(8)].join("\n")
    );
    // The test means something only if both outcomes are common.
    assert!((cases / 15..cases * 7 / 8).contains(&accepted), "{accepted} of {cases} are accepted");
}

#[test]
fn random_configurations_are_accepted_as_by_mrtg() {
    compare(seed(SEED), |_| {});
}

#[test]
fn typos_are_accepted_or_refused_as_by_mrtg() {
    compare(seed(SEED) + 1, Writer::mistype);
}

/// What would poll another port, with another version or without protection is said before it does.
#[test]
fn what_cannot_be_meant_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.cfg");
    let user = "username=>'me',authpassword=>'long enough'";
    for (target, options, wanted) in [
        ("host:99999", "", "host:99999: `99999` is no port from 1 to 65535"),
        ("host:0", "", "host:0: `0` is no port from 1 to 65535"),
        ("host:161!1.2.3", "", "host:161!1.2.3: `1.2.3` is no local address"),
        ("host::1.2.3", "", "host::1.2.3: `1.2.3` is no number"),
        ("host:::::7", "", "host:::::7: there is no version 7 of SNMP: 1, 2 or 3"),
        ("host:::::3", "", "host:::::3: version 3 needs a user: SnmpOptions has no username"),
        ("host", "timeout=>'x'", "snmpoptions: the timeout is no number"),
        ("host", "privprotocol=>'rot13'", "snmpoptions: unknown privacy protocol `rot13`"),
        ("host", "authprotocol=>'x'", "snmpoptions: unknown authentication protocol `x`"),
        (
            "host",
            "username=>'me',authpassword=>'x'",
            "snmpoptions: the authentication password has less than 8 characters",
        ),
        ("host", "privpassword=>'long enough'", "snmpoptions: privacy needs authentication"),
        ("host:161:0", "", "host:161:0: `0` is no number above 0"),
        ("host:161::0", "", "host:161::0: `0` is no number above 0"),
        ("host:161::1.5", "", "host:161::1.5: `1.5` is no whole number"),
        ("host:161:::0", "", "host:161:::0: `0` is no number above 0"),
        ("host:161::::2:9", "", "host:161::::2:9: `9` after the version has no meaning"),
        ("host:16.1", "", "host:16.1: `16.1` is no port from 1 to 65535"),
        ("host:161!!0", "", "host:161!!0: `0` is no port from 1 to 65535"),
        ("host:161!!7!8", "", "host:161!!7!8: `8` after the local port has no meaning"),
        ("host", "timeout=>0", "snmpoptions: the timeout is no number above 0"),
        ("host", "timeout=>'nan'", "snmpoptions: the timeout is no number above 0"),
        ("host", "retries=>'1.5'", "snmpoptions: the retries is no whole number"),
        ("host", "backoff=>-1", "snmpoptions: the backoff is no number above 0"),
        (
            "host",
            "default_max_repetitions=>100000",
            "snmpoptions: the default_max_repetitions is above 65535",
        ),
    ] {
        let options =
            if options.is_empty() { "#".to_owned() } else { format!("SnmpOptions[a]: {options}") };
        let text = format!(
            "WorkDir: /tmp\nEnableSnmpV3: yes\nTitle[a]: x\nMaxBytes[a]: 9\n\
             Target[a]: 1:secret@{target}\n{options}\n"
        );
        std::fs::write(&path, text).expect("written");
        let line = if options == "#" { 5 } else { 6 };
        let error = ours(&path).expect_err(wanted);
        assert_eq!(error, format!("{}:{line}: {wanted}", path.display()));
    }
    let text = format!(
        "WorkDir: /tmp\nEnableSnmpV3: yes\nTitle[a]: x\nMaxBytes[a]: 9\nAbsMax[a]: 9\n\
         Target[a]: 1:secret@host:::::3\nSnmpOptions[a]: {user}\n"
    );
    std::fs::write(&path, &text).expect("written");
    assert_eq!(ours(&path), Ok(()));
    std::fs::write(&path, text.replace("AbsMax[a]: 9", "AbsMax[a]: 8")).expect("written");
    let wanted = format!("{}:5: AbsMax[a]: 8 is smaller than MaxBytes 9", path.display());
    assert_eq!(ours(&path), Err(wanted));
}

/// Numbers of every keyword that takes one: too large, negative, empty, with a fraction, with more
/// text.  An error, or a warning that says what counts; none is taken for another without a word.
#[test]
fn no_number_is_taken_for_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.cfg");
    let said = |line: &str| {
        let text = format!("WorkDir: /tmp\nTitle[a]: x\nTarget[a]: 1:public@host\n{line}\n");
        let more = if line.starts_with("MaxBytes[") { "" } else { "MaxBytes[a]: 9\n" };
        std::fs::write(&path, text + more).expect("written");
        let problems = Config::load(&path, &LoadEnvironment::default()).problems;
        let lines = problems.iter().map(ToString::to_string);
        lines.map(|line| line.replace(&path.display().to_string(), "")).collect::<Vec<_>>()
    };
    for (line, expected) in [
        ("XSize[a]: x", ":4: xsize[a]: `x` is not between 30 and 600"),
        ("XSize[a]: 100x", ":4: warning: xsize[a]: of `100x` only 100 counts, as in MRTG"),
        ("YSize[a]: -30", ":4: ysize[a]: `-30` is below 30"),
        ("YTics[a]: 1,5", ":4: warning: ytics[a]: of `1,5` only 1 counts, as in MRTG"),
        ("Factor[a]: e", ":4: factor[a]: `e` is no number"),
        ("YTicsFactor[a]: -", ":4: yticsfactor[a]: `-` is no number"),
        ("Refresh: 400s", ":4: warning: refresh: of `400s` only 400 counts, as in MRTG"),
        ("MaxBytes[a]: 1e9", ":4: maxbytes[a]: `1e9` is no whole number above 0"),
        ("MaxBytes[a]: -1", ":4: maxbytes[a]: `-1` is no whole number above 0"),
        (
            "MaxBytes[a]: 99999999999999999999",
            ":4: maxbytes[a]: `99999999999999999999` is above 18446744073709551615",
        ),
        ("Kilo[a]: 1024.0", ":4: kilo[a]: `1024.0` is no whole number"),
        ("XScale[a]: 1.5x", ":4: xscale[a]: `1.5x` is no number like 1.5"),
        (
            "YScale[a]: 100000000",
            ":2: ysize[a]: XSize, YSize and their scales give no picture: 400 × 10000000000 pixels",
        ),
        (
            "XScale[a]: 0",
            ":2: ysize[a]: XSize, YSize and their scales give no picture: 0 × 100 pixels",
        ),
        ("RRDRowCount[a]: many", ":4: rrdrowcount[a]: `many` is no count of rows"),
        (
            "Timezone[a]: Europe/Belin",
            ":4: warning: timezone[a]: there is no time zone `Europe/Belin`: the machine's holds",
        ),
        (
            "ThreshMaxI[a]: 10 %x",
            ":4: warning: threshmaxi[a]: `10 %x` is neither a number nor one with %: 10 counts",
        ),
    ] {
        assert_eq!(said(line), [expected], "{line}");
    }
    for line in ["Timezone[a]: EST5EDT", "ThreshMaxI[a]: 10%", "Factor[a]: -1.5e3", "XSize[a]: 600"]
    {
        assert_eq!(said(line), [""; 0], "{line}");
    }
}

#[test]
fn the_samples_are_accepted_by_both() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/mrtg");
    let has_mrtg = is_installed("mrtg", "mrtg");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("samples").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "cfg") {
            continue;
        }
        count += 1;
        assert_eq!(ours(&path), Ok(()), "{}", path.display());
        if has_mrtg {
            // It writes a lock and pictures beside the file and in the work folder.
            let copy = tempfile::tempdir().expect("a folder");
            for other in std::fs::read_dir(&folder).expect("samples").flatten() {
                let _ = std::fs::copy(other.path(), copy.path().join(other.file_name()));
            }
            let copied = copy.path().join(entry.file_name());
            let output = Command::new("mrtg")
                .args(["--check".as_ref(), copied.as_os_str()])
                .env("LANG", "C")
                .env("LC_ALL", "C")
                .output()
                .expect("mrtg runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {said}", path.display());
        }
    }
    assert!(count > 0, "no samples");
}
