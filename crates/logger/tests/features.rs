//! The same calls in Rust, C and C++ make the same records, as every reader shows them: attributes,
//! scopes, traces, stop watches, limits and guards; and so do ACS's names for settings, which
//! docs/log.md lists.  In Rust each case is a child process of this test, with a role.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a test")]

use std::collections::BTreeSet;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::c_client::programs;
use crate::reading::{Found, Read, folder, read_folder};
use logger::{
    ContextScope, LEVEL_OFF, LogConfig, LogLevel, Logger, RepeatGuard, log_at, log_error, log_info,
    log_limited, stop_watch, trace_scope,
};
use logring::SiteRole;
use testkit::own_test;

const ROLE: &str = "WHIT_LOG_ROLE";
const FOLDER: &str = "WHIT_LOG_FOLDER";
const ACS: &str = "WHIT_LOG_ACS";

/// This test in a role.
fn own(role: &str, folder: &Path) -> Command {
    let mut command = own_test("features::child");
    command.env(ROLE, role).env(FOLDER, folder);
    command
}

/// The C program in a role, and the C++ one.
fn foreign(program: &Path, role: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(role).arg(folder).stdin(Stdio::null());
    command
}

fn run(mut command: Command) {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
}

/// Not a test of its own: what a child does.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut config = LogConfig::new(&folder, "host", "rust");
    config.rings.ring_bytes = 1 << 18;
    match role.as_str() {
        "features" => features(config),
        "acs" => {
            if let Some((name, value)) =
                std::env::var(ACS).ok().as_ref().and_then(|set| set.split_once('='))
            {
                config.set_acs(name, value).unwrap();
            }
            let _logging = logger::start(config).unwrap();
            let log = Logger::new("named").unwrap();
            (0..10).for_each(|number| log_info!(log, "{}", number));
            (0..2).for_each(|number| log_error!(log, "{}", number));
        }
        "environment" => {
            for refused in config.set_acs_environment() {
                eprintln!("{refused}");
            }
            println!("{}", shown(&config, "one refused"));
        }
        other => panic!("{other}"),
    }
}

fn spans(log: &Logger) {
    let _trace = trace_scope!(log);
    let _watch = stop_watch!(log, "reading");
    log_info!(log, "within");
}

fn guarded(log: &Logger, guard: &RepeatGuard, name: &str, calls: u32) {
    for call in 0..calls {
        if let Some(suppressed) = guard.check() {
            log_info!(log, "{} {} after {}", name, call, suppressed);
        }
    }
}

fn features(config: LogConfig) {
    let _logging = logger::start(config).unwrap();
    let logger = Logger::new("CONTROL/PM01").unwrap();
    let log = Logger::with_context("of/antenna", &[("Antenna", "DV01")]).unwrap();
    let (name, text) = ("n".repeat(300), "t".repeat(300_000));
    log_error!(
        logger,
        data: {"FullPath" => "/tmp/x", "StackLevel" => 2, "Ratio" => 2.5, "Is" => true, "" => 7u32},
        "cannot open {}: {}", "x", 5
    );
    log_at!(log, LogLevel::Notice, data: {&name => text}, "long");
    log_at!(logger, LogLevel::Trace, data: {"Never" => 1}, "never");
    let outer = ContextScope::enter(&[("Array", "A1")]);
    log_info!(log, "outer");
    let inner = ContextScope::enter(&[("Audience", "Operator"), ("Antenna", "DV02")]);
    log_at!(log, LogLevel::Warning, data: {"Uri" => "http://x"}, "inner {}", 1);
    drop(inner);
    log_info!(log, "outer again");
    drop(outer);
    log_info!(log, "out of scope");
    for (central, local) in [(2, 2), (1, 1), (4, 1), (4, LEVEL_OFF)] {
        logger.set_levels(central, local);
        spans(&logger);
    }
    for number in 0..10 {
        log_limited!(logger, LogLevel::Info, 3 per 3_600_000 ms, "limited {}", number);
    }
    guarded(&logger, &RepeatGuard::count(3), "count", 7);
    guarded(&logger, &RepeatGuard::interval(3_600_000), "time", 5);
    guarded(&logger, &RepeatGuard::both(2, 3_600_000), "both", 5);
    let either = RepeatGuard::either(3, 3_600_000);
    guarded(&logger, &either, "either", 7);
    either.reset();
    guarded(&logger, &either, "reset", 2);
}

/// A record as a reader shows it, without what names the language, the place or the time.
fn line(record: &Read) -> String {
    let Read { level, logger, pairs, role, flags, .. } = record;
    let short = |text: &String| match text.len() {
        0..100 => text.clone(),
        length => format!("{length} bytes"),
    };
    let attributes: Vec<_> =
        record.attributes.iter().map(|(name, value)| (short(name), short(value))).collect();
    let is_span = matches!(role, SiteRole::Exit | SiteRole::StopWatch);
    // How long it took is another number in each run, and on a slow machine of another unit.
    let plain = |word: &str| match word.trim_end_matches(':') {
        number if is_span && number.parse::<f64>().is_ok() => String::new(),
        unit if is_span && ["us", "ms", "s"].contains(&unit) => word.replace(unit, "ns"),
        _ => word.to_owned(),
    };
    let message = record.message.split(' ').map(plain).collect::<Vec<_>>().join(" ");
    let flags = flags & !logring::abi::LEVEL_MASK;
    format!("{level:?} {logger} {pairs:?} {attributes:?} {role:?} {flags:#x} {message}")
}

fn lines(found: &Found) -> Vec<String> {
    assert!(found.faults.is_empty() && found.missing == 0, "{:?}", found.faults);
    found.records.iter().map(line).collect()
}

#[test]
fn the_three_languages_make_the_same_records() {
    let Some((c, cpp)) = programs() else { return };
    let made = |command: &dyn Fn(&Path) -> Command| {
        let folder = folder();
        run(command(folder.path()));
        lines(&read_folder(folder.path()))
    };
    let rust = made(&|folder| own("features", folder));
    assert_eq!(made(&|folder| foreign(c, "features", folder)), rust);
    assert_eq!(made(&|folder| foreign(cpp, "features", folder)), rust);
    let has = |text: &str| rust.iter().filter(|line| line.contains(text)).count();
    // TRACE is made with levels 1 and 1, and 4 and 1 for local outputs; DEBUG too and with 2 and 2.
    let counts = [
        ("0x0 Entering", 1),
        ("0x80 Entering", 1),
        ("Exiting after  ns", 2),
        ("Elapsed  ns: reading", 3),
        ("within", 4),
    ];
    assert_eq!(counts.map(|(text, _)| (text, has(text))), counts);
    let counts =
        [("limited", 3), ("count", 3), ("time", 1), ("both", 1), ("either", 3), ("reset", 1)];
    assert_eq!(counts.map(|(text, _)| (text, has(&format!("0x0 {text} ")))), counts, "{rust:#?}");
    assert!(rust[0].contains(r#"[("FullPath", "/tmp/x"), ("StackLevel", "2"), ("Ratio", "2.5")"#));
    let inner = rust.iter().find(|line| line.ends_with("inner 1")).unwrap();
    assert!(inner.contains(r#"[("Audience", "Operator"), ("Antenna", "DV02"), ("Array", "A1"), "#));
}

/// What a limit suppressed is said with the next record after its interval.
#[test]
fn a_limit_says_what_it_has_suppressed_in_c() {
    let Some((c, _)) = programs() else { return };
    let folder = folder();
    run(foreign(c, "limited", folder.path()));
    let found = read_folder(folder.path());
    assert_eq!(found.records.len() as u64 + found.suppressed, 1001);
    assert!(found.suppressed > 0 && found.records.last().unwrap().message == "limited 1000");
}

/// Rings of the doorbell, by a program that logs ten times INFO and twice ERROR.
fn wakes(set: &str, program: Option<&Path>) -> u32 {
    let folder = folder();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let doorbell = folder.path().join("doorbell");
    let mut page = vec![0; logring::abi::doorbell::BYTES];
    page[logring::abi::doorbell::SLEEPERS] = 1;
    std::fs::write(&doorbell, page).unwrap();
    let command = match program {
        Some(program) => foreign(program, "acs", folder.path()),
        None => own("acs", folder.path()),
    };
    let mut command = command;
    command.env(ACS, set);
    run(command);
    let mut word = [0; 4];
    std::fs::File::open(doorbell).unwrap().read_exact_at(&mut word, 0).unwrap();
    assert_eq!(read_folder(folder.path()).records.len(), 12);
    u32::from_le_bytes(word)
}

#[test]
fn the_level_and_the_packet_that_wake_the_reader_are_as_set() {
    let Some((c, _)) = programs() else { return };
    for (set, expected) in [
        ("", 2),
        ("immediateDispatchLevel=INFO", 12),
        ("immediateDispatchLevel=NOTICE", 2),
        ("immediateDispatchLevel=ALERT", 0),
        ("immediateDispatchLevel=OFF", 0),
        ("dispatchPacketSize=0", 12),
        ("dispatchPacketSize=1", 12),
        // Two records of the thread's begin count, and each error wakes.
        ("dispatchPacketSize=5", 4),
        ("dispatchPacketSize=100", 2),
    ] {
        assert_eq!((wakes(set, None), wakes(set, Some(c))), (expected, expected), "{set}");
    }
}

/// A row of the table of ACS's names.
struct AcsRow {
    names: Vec<String>,
    what: String,
    taken: Vec<String>,
    refused: Vec<String>,
}

/// The table in docs/log.md.
fn acs_table() -> Vec<AcsRow> {
    let page = include_str!("../../../docs/log.md");
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let rows = page.lines().skip_while(|line| !line.starts_with("| name of ACS"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [names, what, taken, refused] = cells[..] else { panic!("{row}") };
        let what = what.replace('`', "");
        AcsRow { names: quoted(names), what, taken: quoted(taken), refused: quoted(refused) }
    })
    .collect()
}

/// What became of a configuration, as the C program prints it.
fn shown(config: &LogConfig, said: &str) -> String {
    let rings = &config.rings;
    let most = rings.records_per_second_max.map_or(-1, i64::from);
    let mut text = format!(
        "{said} {} {} {} {} {most}",
        rings.level_central, rings.level_local, rings.wake_level, rings.packet_records
    );
    for one in &config.loggers {
        let [central, local] = [one.central, one.local].map(|level| level.unwrap_or(255));
        text += &format!(" {} {central} {local}", one.name);
    }
    text
}

#[test]
fn names_of_acs_do_what_the_page_says_in_rust_and_c() {
    let rows = acs_table();
    let (mut input, mut expected) = (String::new(), Vec::new());
    let default = shown(&LogConfig::new("", "", ""), "");
    for AcsRow { names, what, taken, refused } in &rows {
        for name in names {
            for (value, is_taken) in
                taken.iter().map(|one| (one, true)).chain(refused.iter().map(|one| (one, false)))
            {
                let mut config = LogConfig::new("", "", "");
                let said = config.set_acs(name, value);
                assert_eq!(said.is_ok(), is_taken, "{name}={value}");
                let why = said.err().map_or("taken", |error| error.why);
                assert!(
                    !taken.is_empty() || what.strip_prefix("refused: ") == Some(why),
                    "{name}: {why}"
                );
                let shown = shown(&config, why);
                assert!(
                    shown.ends_with(&default) != is_taken || is_default(name, value),
                    "{shown}"
                );
                input += &format!("{name}={value}\n");
                expected.push(shown);
            }
        }
    }
    let named: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.names).map(String::as_str).collect();
    // What the schema of LoggingConfig has, and ACS's variables.
    let all = [
        "minLogLevel",
        "minLogLevelLocal",
        "NAME:minLogLevel",
        "NAME:minLogLevelLocal",
        "dispatchPacketSize",
        "immediateDispatchLevel",
        "flushPeriodSeconds",
        "maxLogQueueSize",
        "maxLogsPerSecond",
        "centralizedLogger",
        "ACS_LOG_STDOUT",
        "ACS_LOG_CENTRAL",
        "ACS_LOG_FILE",
        "ACS_LOG_SYSLOG",
        "ACS_LOG_BIN",
        "LOG_SERVICE_USE_EXTENSIONS",
    ];
    assert_eq!(named, all.into_iter().collect());
    for (name, value) in [("minLogLevl", "4"), ("x:minLogLevl", "4"), ("", "")] {
        let mut config = LogConfig::new("", "", "");
        let why = config.set_acs(name, value).unwrap_err().why;
        input += &format!("{name}={value}\n");
        expected.push(shown(&config, why));
    }
    let Some((c, _)) = programs() else { return };
    let folder = folder();
    std::fs::write(folder.path().join("input"), input).unwrap();
    let mut command = foreign(c, "acs-names", folder.path());
    command.stdin(std::fs::File::open(folder.path().join("input")).unwrap());
    let done = command.output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(said.lines().take(expected.len()).collect::<Vec<_>>(), expected);
}

/// Values that are what a configuration has by itself.
fn is_default(name: &str, value: &str) -> bool {
    name == "maxLogsPerSecond" && value.starts_with('-')
}

#[test]
fn variables_of_the_environment_are_taken_and_what_is_refused_is_said() {
    let set = |command: &mut Command| {
        command.envs([
            ("ACS_LOG_STDOUT", "7"),
            ("ACS_LOG_CENTRAL", "error"),
            ("ACS_LOG_FILE", "/x"),
        ]);
    };
    let folder = folder();
    let mut rust = own("environment", folder.path());
    set(&mut rust);
    let done = rust.output().unwrap();
    let (shown, said) =
        (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(shown.contains("one refused 8 7 8 0 -1\n"), "{shown}");
    let line =
        said.lines().find(|line| line.starts_with("ACS_LOG_FILE=/x: nothing needs it")).unwrap();
    let Some((c, _)) = programs() else { return };
    let mut command = foreign(c, "acs-names", folder.path());
    set(&mut command);
    let done = command.output().unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "one refused 8 7 8 0 -1\n");
    assert_eq!(String::from_utf8(done.stderr).unwrap(), format!("c: {line}\n"));
}
