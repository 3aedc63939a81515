//! `whit poll make` and rounds of devices all of whose texts are hostile: the configuration, its
//! cache, the log, messages, recordings and pages are read as their readers do, and no command of a
//! device and no community is in them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::time::Instant;

use serde_json::Value;
use snmp_simulator::{AgentThread, hostile_switch};

/// Devices of a long run, and of a short one.  Each has a dozen texts of the twenty hostile parts, and
/// every fifth has long ones.
const DEVICES: [u32; 2] = [100, 35];
const INTERFACES: u32 = 3;
/// The community of all devices, which is written into configurations only.
const SECRET: &str = "Tr0ub4dor";

fn now_ns() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn devices() -> u32 {
    DEVICES[usize::from(!testkit::is_long())]
}

struct Site {
    folder: tempfile::TempDir,
    agents: AgentThread,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = folder.path().join("mark").display().to_string();
        let agents =
            AgentThread::start_switches(devices(), INTERFACES, now_ns, |number, device| {
                *device = hostile_switch(number, INTERFACES, &mark);
                device.community = SECRET.as_bytes().to_vec();
            });
        let site = Site { folder, agents: agents.expect("a thread") };
        std::fs::create_dir(site.path("data")).expect("made");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn whit(&self, words: &[&str]) -> Output {
        crate::whit().args(words).current_dir(self.folder.path()).output().expect("whit runs")
    }

    /// Makes a configuration of all devices with such global lines.
    fn make(&self, globals: &[&str]) {
        let mut words: Vec<String> =
            ["poll", "make", "--output", "mrtg.cfg", "--noreversedns"].map(str::to_owned).to_vec();
        words.extend(["--nodefaultglobal", "--ifdesc=alias,descr,name"].map(str::to_owned));
        words.push(format!("--global=WorkDir: {}", self.path("data").display()));
        words.extend(globals.iter().map(|line| format!("--global={line}")));
        for number in 0..devices() {
            let ways = ["name", "descr", "nr"];
            words.push(format!("--ifref={},nr", ways[number as usize % 3]));
            let address = self.agents.address(number);
            words.push(format!("{SECRET}@{address}:20:::2"));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = self.whit(&words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_is_owners(&self.path("mrtg.cfg"));
        assert_harmless(&output.stderr, "messages of make");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_is_owners(path: &Path) {
    let mode = std::fs::metadata(path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", path.display());
}

/// Lines that no terminal and no shell acts on, without secrets.
fn assert_harmless(bytes: &[u8], case: &str) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
    for line in text.lines() {
        let is_bad = |c: char| c.is_control() && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}');
        assert!(!line.contains(is_bad) && !line.contains('`'), "{case}: {line:?}");
        assert!(!line.contains(SECRET), "{case}: {line}");
        assert!(line.len() < 100_000, "{case}: a line of {} bytes", line.len());
    }
}

/// Rows of CSV, as RFC 4180 has them: each has as many fields as the first.
fn assert_is_csv(text: &str) {
    let (mut fields, mut is_quoted, mut of_first) = (1, false, None);
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields += 1,
            '\n' if !is_quoted => {
                assert_eq!(*of_first.get_or_insert(fields), fields, "{text}");
                fields = 1;
            }
            _ => {}
        }
    }
    assert!(!is_quoted && of_first.is_some_and(|count| count > 1), "{of_first:?}");
}

#[test]
fn rounds_of_hostile_devices_are_harmless_everywhere() {
    let site = Site::new();
    site.make(&["LogFormat: rrdtool", "Interval: 0:01"]);
    let tags = "--debug=cfg,dir,base,tarp,snpo,coca,eval,log,time";
    let words =
        ["poll", "--count=2", tags, "--logging=log", "--sync=0", "--filename=rec/", "mrtg.cfg"];
    let output = site.whit(&words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_harmless(&output.stderr, "messages");
    let log = std::fs::read(site.path("log")).expect("a log");
    assert_harmless(&log, "the log");
    let log = text(&log);
    let is_ours = |line: &str| line.starts_with("20") && line.get(19..21) == Some(": ");
    assert!(log.lines().all(is_ours), "{:?}", log.lines().find(|line| !is_ours(line)));
    assert_eq!(log.matches("--log: ").count() as u32, 2 * devices() * INTERFACES);
    assert_is_owners(&site.path("mrtg.ok"));

    let output = site.whit(&["play", "rec", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_harmless(&output.stdout, "JSON");
    let lines = text(&output.stdout);
    let objects: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert!(!objects.is_empty());
    let output = site.whit(&["play", "rec", "--csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_harmless(&output.stdout, "CSV");
    assert_is_csv(&text(&output.stdout));
    for entry in std::fs::read_dir(site.path("rec")).expect("recordings").flatten() {
        let bytes = std::fs::read(entry.path()).expect("a recording");
        let has_secret = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!has_secret, "{}", entry.path().display());
    }
    if testkit::is_installed("hostile devices for mrtg", "mrtg") {
        let mut mrtg = Command::new("mrtg");
        mrtg.arg("--check").arg(site.path("mrtg.cfg")).env("LANG", "C").env("LC_ALL", "C");
        let output = mrtg.output().expect("mrtg runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(!site.path("mark").exists(), "a device ran a command");
}

#[test]
fn pages_of_hostile_devices_are_plain() {
    let site = Site::new();
    site.make(&[]);
    let output = site.whit(&["poll", "mrtg.cfg"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_harmless(&output.stderr, "messages");
    let mut files = Vec::new();
    for section in ["h1", "title", "name", "descr", "ifname", "portname"] {
        let index = format!("index-{section}.html");
        let words = ["poll", "index", "--output", &index, "--section", section, "mrtg.cfg"];
        let output = site.whit(&words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        files.push(site.path(&index));
    }
    let entries = std::fs::read_dir(site.path("data")).expect("pages").flatten();
    let pages = entries.map(|entry| entry.path());
    files.extend(pages.filter(|path| path.extension().is_some_and(|end| end == "html")));
    assert_eq!(files.len() as u32, 6 + devices() * INTERFACES);
    testkit::assert_plain_html(&files);
    for name in ["mrtg-l.png", "mrtg-m.png", "mrtg-r.png"] {
        let picture = std::fs::read(site.path("data").join(name)).expect(name);
        assert!(picture.starts_with(b"\x89PNG"), "{name}");
    }
    assert!(!site.path("mark").exists(), "a device ran a command");
}
