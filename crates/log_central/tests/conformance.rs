//! One list of records that every client writes (`clients/conformance`), and that the store then holds
//! alike, byte for byte: all types, levels and forms, texts of Unicode and of up to 600,000 bytes, contexts,
//! error traces, threads, children of fork, and kills.  A long run writes 10,000 records with each client and
//! kills it a hundred times, a short one writes 300.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folders, Running, central, drain, folders, in_role, proxy, pump_to_end};
use crate::python;
use log_format::{JsonFormat, RecordFormat as _};
use log_store::StoreReader;
use log_store::audit::Audit;
use log_store::query::Filter;
use logger::{ContextScope, LogConfig, LogLevel, Logger, log_at};
use testkit::Random;
use text::escape::push_json_string;

/// Bytes of a text that is alone in its record, if the record is as long as a record may be.
const LONGEST: usize = 524_228;

const LEVELS: [LogLevel; 10] = [
    LogLevel::Trace,
    LogLevel::Delouse,
    LogLevel::Debug,
    LogLevel::Info,
    LogLevel::Notice,
    LogLevel::Warning,
    LogLevel::Error,
    LogLevel::Critical,
    LogLevel::Alert,
    LogLevel::Emergency,
];

const LOGGERS: [(&str, &[(&str, &str)]); 4] = [
    ("CONTROL/PM01", &[]),
    ("Ärger/日本", &[("Antenna", "DV01")]),
    ("a.b.c", &[("Array", "A1"), ("Audience", "Operator \"x\"")]),
    ("100% {of} it", &[("Größe", "\u{202e}x\ty")]),
];

const SCOPES: [&[(&str, &str)]; 3] =
    [&[("Task", "7")], &[("Request", "r/1"), ("User", "Ü")], &[("Leer", "")]];

const TEXTS: [&str; 14] = [
    "",
    "x",
    "seven b",
    "eight by",
    "nine byte",
    "%s %d {} {0} {{ \\n",
    "two\nlines\r\n\tand a tab",
    "at a.B.c(B.java:7)\n\tat d.E.f(E.java:9)\nCaused by: x",
    "Grüße, 日本語, 🔭🛰\u{fe0f}",
    "e\u{301} is not \u{e9}; \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "\u{202e}right to left\u{2066}\u{2028}\u{85}",
    "\u{1}\u{1b}[31mred\u{7f}\u{9b}",
    "\u{feff}\u{fffd}\u{ffff}\u{10ffff}\u{e000}",
    "=1+1,\"quoted\";'x'<&>",
];

const NUMBERS: [i64; 8] = [0, -1, 1, i64::MIN, i64::MAX, 1 << 53, -(1 << 31), 42];
const FLOATS: [f64; 9] =
    [0.0, -0.0, 45.25, -1.5, 1e300, 5e-324, 0.0005, 1_234_567.890_625, f64::MAX];

/// A record of the list.
struct Row {
    form: usize,
    level: LogLevel,
    logger: usize,
    scope: usize,
    signed: i64,
    unsigned: u64,
    float: f64,
    is: bool,
    texts: [String; 2],
}

/// What the list says at a place.
enum Step {
    Record(Row),
    Thread(usize),
    Process(usize),
    Kill,
}

/// The text of a record of this number, from 0: every seventieth is long.
fn text_of(random: &mut Random, number: usize) -> String {
    match number % 280 {
        // Longer than a ring begins with; as long as a record may be; too long.
        0 => "0123456789".repeat(3_000),
        70 => "Ä".repeat(40_000),
        140 => "y".repeat(LONGEST),
        210 => "z".repeat(600_000),
        _ if random.percent(50) => format!("number {}", random.below(1_000_000)),
        _ => random.one_of(&TEXTS).to_owned(),
    }
}

fn row_of(random: &mut Random, number: usize) -> Row {
    let signed =
        if random.percent(50) { random.one_of(&NUMBERS) } else { random.bits().cast_signed() };
    let texts = [text_of(random, number), random.one_of(&TEXTS).to_owned()];
    // Where a text is not alone, all of the record is to fit.
    let is_long = texts[0].len() > 100_000;
    let form = if is_long { 10 } else { random.index(11) };
    Row {
        form,
        level: random.one_of(&LEVELS),
        logger: random.index(LOGGERS.len()),
        scope: if !is_long && random.percent(30) { 1 + random.index(SCOPES.len()) } else { 0 },
        signed,
        unsigned: random.one_of(&[0, 1, u64::MAX, 1 << 63, signed.unsigned_abs()]),
        float: random.one_of(&FLOATS),
        is: random.percent(50),
        texts,
    }
}

/// Records of a part of the list at most.
const PART_MAX: usize = 100;
/// Kills of a client in a long run at least.
const LONG_KILLS: usize = 100;

/// The list: a few threads, children and kills; in a long run many kills.
fn steps(records: usize) -> Vec<Step> {
    let (mut random, mut steps) = (Random::from_seed(20_261_127), Vec::new());
    let mut left = records;
    // Of ten parts.
    let after_kills = if testkit::is_long() { 6 } else { 1 };
    while left > 0 {
        let count = (1 + random.index((records / 20 + 1).min(PART_MAX))).min(left);
        match random.below(10) {
            0 | 1 => steps.push(Step::Thread(count)),
            2 | 3 => steps.push(Step::Process(count)),
            choice if choice < 4 + after_kills && steps.len() > 1 => steps.push(Step::Kill),
            _ => {}
        }
        let first = records - left;
        steps
            .extend((first..first + count).map(|number| Step::Record(row_of(&mut random, number))));
        left -= count;
    }
    for wanted in [0, 1, 2] {
        let is_wanted = |step: &Step| match step {
            Step::Thread(_) => wanted == 0,
            Step::Process(_) => wanted == 1,
            Step::Kill => wanted == 2,
            Step::Record(_) => false,
        };
        assert!(steps.iter().any(is_wanted), "the list has all kinds of lines");
    }
    steps
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// `COUNT*HEX`.
fn field(text: &str) -> String {
    let first = text.chars().next().map_or("", |first| &text[..first.len_utf8()]);
    if !first.is_empty() && text.len() > 1000 && text.replace(first, "").is_empty() {
        return format!("{}*{}", text.len() / first.len(), hex(first));
    }
    format!("1*{}", hex(text))
}

fn pair_fields(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!(" {}={}", field(name), field(value))).collect()
}

/// The lines of the list.
fn lines(steps: &[Step]) -> Vec<String> {
    let loggers =
        LOGGERS.iter().map(|(name, pairs)| format!("logger {}{}", field(name), pair_fields(pairs)));
    let scopes = SCOPES.iter().map(|pairs| format!("scope{}", pair_fields(pairs)));
    let steps = steps.iter().map(|step| match step {
        Step::Thread(count) => format!("thread {count}"),
        Step::Process(count) => format!("process {count}"),
        Step::Kill => "kill".to_owned(),
        Step::Record(row) => {
            let Row { form, logger, scope, signed, unsigned, .. } = row;
            let [text, other] = row.texts.each_ref().map(|text| field(text));
            let (level, float, is) = (row.level.number(), row.float.to_bits(), u8::from(row.is));
            format!(
                "record {form} {level} {logger} {scope} {signed} {unsigned} {float} {is} {text} {other}"
            )
        }
    });
    loggers.chain(scopes).chain(steps).collect()
}

/// What is said of a thread's scope: it is part of the context, or data of the record.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ScopeIs {
    Context,
    Data,
}

fn json(text: &str) -> String {
    let mut out = Vec::new();
    push_json_string(&mut out, text.as_bytes());
    String::from_utf8(out).unwrap()
}

fn message(row: &Row) -> String {
    let Row { signed, unsigned, float, texts: [text, other], .. } = row;
    match row.form {
        0 => "constant text".to_owned(),
        1 => "100% of {braces}".to_owned(),
        2 => format!("signed {signed}"),
        3 => format!("unsigned {unsigned}"),
        4 => format!("float {float:.3}"),
        5 => format!("text {text}"),
        6 => format!("mixed {text} {signed} {other} {unsigned}"),
        7 => format!("data {signed}"),
        8 => format!("failed: {text}"),
        9 => format!("many{}", format!(" {signed}").repeat(16)),
        _ if text.len() > LONGEST => {
            let left_out = text.len() - LONGEST;
            format!(
                "{} [a text was cut: the record would have been too long: {left_out} bytes are left out]",
                &text[..LONGEST]
            )
        }
        _ => text.clone(),
    }
}

fn data(row: &Row) -> Vec<String> {
    let Row { signed, unsigned, float, is, texts: [text, other], .. } = row;
    match row.form {
        7 => vec![
            format!("\"Signed\":{signed}"),
            format!("\"Unsigned\":{unsigned}"),
            format!("\"Float\":{float:?}"),
            format!("\"Is\":{is}"),
            format!("\"Text\":{}", json(text)),
        ],
        8 => vec![
            format!("\"StackId\":{}", json(other)),
            format!("\"StackLevel\":{signed}"),
            format!("\"exception.stacktrace\":{}", json(text)),
        ],
        _ => Vec::new(),
    }
}

/// A record as the store must have it, without what says when and by whom it was made.
fn expected(row: &Row, scope_is: ScopeIs) -> String {
    let (name, own) = LOGGERS[row.logger];
    let scope = if row.scope > 0 { SCOPES[row.scope - 1] } else { &[] };
    let pair = |(name, value): &(&str, &str)| format!("{}:{}", json(name), json(value));
    let (mut context, mut data) = (Vec::new(), data(row));
    match scope_is {
        ScopeIs::Context => context.extend(scope.iter().map(pair)),
        ScopeIs::Data => data.extend(scope.iter().map(pair)),
    }
    context.extend(own.iter().map(pair));
    let is_cut = row.form == 10 && row.texts[0].len() > LONGEST;
    if is_cut {
        data.push(format!("\"CutBytes\":{}", row.texts[0].len() - LONGEST));
    }
    let object = |name: &str, pairs: Vec<String>| match pairs.as_slice() {
        [] => String::new(),
        pairs => format!(",\"{name}\":{{{}}}", pairs.join(",")),
    };
    format!(
        "\"level\":\"{}\",\"logger\":{},\"message\":{}{}{}{}}}",
        row.level.name(),
        json(name),
        json(&message(row)),
        if is_cut { ",\"cut\":true" } else { "" },
        object("context", context),
        object("data", data)
    )
}

/// Log records of a store as JSON, as `expected` has them.
pub(crate) fn held(store: &Path) -> Vec<String> {
    let (mut format, mut scratch, mut lines) = (JsonFormat::default(), Vec::new(), Vec::new());
    let filter = Filter::default();
    let mut reader = StoreReader::open(store).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| {
        let wanted = filter.wanted(item, &mut scratch);
        if let Some(record) = wanted.filter(|_| item.process.name != "whit log central") {
            let mut text = Vec::new();
            format.put(&mut text, &record);
            let text = String::from_utf8(text).unwrap();
            let (level, host) = (text.find("\"level\""), text.find(",\"host\""));
            let head = &text[level.unwrap()..host.unwrap()];
            let rest = &text[text.find(",\"message\"").unwrap()..];
            lines.push(format!("{head}{}", rest.trim_end_matches('\n')));
        }
        ControlFlow::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    lines
}

/// The first lines that only one of two sorted lists has, as far as they are short.
fn difference(expected: &[String], got: &[String]) -> String {
    let only = |these: &[String], others: &[String]| {
        let missing = these.iter().filter(|line| others.binary_search(line).is_err());
        missing.take(3).map(|line| line.chars().take(300).collect()).collect::<Vec<String>>()
    };
    format!("not there: {:#?}\nnot expected: {:#?}", only(expected, got), only(got, expected))
}

/// A folder whose reader is of another version: the client says so once, logs nowhere, and goes on.
fn refuse(client: &str, start: &dyn Fn(&Path, usize, &Folders) -> Command) {
    let folders = folders();
    let mut records = steps(100);
    records.retain(|step| matches!(step, Step::Record(_)));
    let list = folders.all.path().join("list");
    std::fs::write(&list, lines(&records).join("\n") + "\n").unwrap();
    drop(logring::Doorbell::open(&folders.rings).unwrap());
    let doorbell = folders.rings.join("doorbell");
    let mut bytes = std::fs::read(&doorbell).unwrap();
    let next = u16::try_from(logring::abi::VERSION + 1).unwrap().to_le_bytes();
    bytes[8..12].copy_from_slice(&[next[0], next[1], next[0], next[1]]);
    std::fs::write(&doorbell, bytes).unwrap();
    let done = start(&list, 0, &folders).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success() && said.matches("nothing is logged").count() == 1,
        "{client}: {said}"
    );
    let left = std::fs::read_dir(&folders.rings).unwrap().count();
    assert_eq!(left, 1, "{client}: the doorbell alone");
}

/// Records of the list.
fn records() -> usize {
    if testkit::is_long() { 10_000 } else { 300 }
}

/// Lets a client write the list, and compares.
pub(crate) fn conform(
    client: &str,
    scope_is: ScopeIs,
    start: &dyn Fn(&Path, usize, &Folders) -> Command,
) {
    refuse(client, start);
    let steps = steps(records());
    let kills = steps.iter().filter(|step| matches!(step, Step::Kill)).count();
    assert!(kills >= LONG_KILLS || !testkit::is_long(), "{kills}");
    let lines = lines(&steps);
    let folders = folders();
    let list = folders.all.path().join("list");
    std::fs::write(&list, lines.join("\n") + "\n").unwrap();
    let central = central(&folders.store, &folders.socket);
    let mut proxy = proxy(&folders.rings, &folders.spool, &folders.socket);
    let mut first = 0;
    loop {
        let next = lines.iter().skip(first).position(|line| line == "kill");
        let mut writer = Running::start(&mut start(&list, first, &folders));
        pump_to_end(&mut proxy, &mut writer);
        let status = writer.wait().unwrap();
        let Some(next) = next else {
            assert!(status.success(), "{client}: {status}");
            break;
        };
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{client}");
        first += next + 1;
    }
    drain(&mut proxy, &folders.rings);
    central.stop();
    let audit = Audit::of(&folders.store, true).unwrap();
    assert!(audit.is_whole() && audit.total().dropped == 0, "{client}: {audit:?}");
    let records = steps.iter().filter_map(|step| match step {
        Step::Record(row) => Some(expected(row, scope_is)),
        _ => None,
    });
    let (mut wanted, mut got) = (records.collect::<Vec<String>>(), held(&folders.store));
    wanted.sort_unstable();
    got.sort_unstable();
    assert_eq!(got.len(), wanted.len(), "{client}: {}", difference(&wanted, &got));
    assert!(got == wanted, "{client}: {}", difference(&wanted, &got));
}

pub(crate) fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients")
}

fn compiled(compiler: &str, standard: &str, program: &str) -> Option<PathBuf> {
    if !testkit::is_installed("the C and C++ clients", compiler) {
        return None;
    }
    let name = format!("conformance-{program}-{}", std::process::id());
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let object = to.with_extension("o");
    let run = |compiler: &str, arguments: &[&str], to: &Path| {
        let mut command = Command::new(compiler);
        command.args(["-O0", "-Wall", "-Wextra", "-Werror", "-pthread", "-Ic/include"]);
        command.args(arguments).arg("-o").arg(to).current_dir(clients());
        assert!(command.status().unwrap().success(), "{program}");
    };
    run("cc", &["-std=c11", "-c", "c/src/whit_log.c"], &object);
    let source = format!("conformance/{program}");
    run(compiler, &[standard, &source, object.to_str().unwrap()], &to);
    Some(to)
}

fn conform_compiled(compiler: &str, standard: &str, source: &str) {
    let Some(program) = compiled(compiler, standard, source) else { return };
    conform(source, ScopeIs::Context, &|list, first, folders| {
        let mut command = Command::new(&program);
        command.arg(list).arg(first.to_string()).env("WHIT_LOG_DIRECTORY", &folders.rings);
        command
    });
}

#[test]
fn the_store_has_the_list_as_c_writes_it() {
    conform_compiled("cc", "-std=c11", "program.c");
}

#[test]
fn the_store_has_the_list_as_cpp_writes_it() {
    conform_compiled("c++", "-std=c++17", "program.cpp");
}

#[test]
fn the_store_has_the_list_as_python_writes_it() {
    let Some(installed) = python::installed() else { return };
    conform("Python", ScopeIs::Data, &|list, first, folders| {
        let mut command =
            installed.command(&clients().join("conformance/program.py"), &folders.rings);
        command.arg(list).arg(first.to_string());
        command
    });
}

#[test]
fn the_store_has_the_list_as_rust_writes_it() {
    conform("Rust", ScopeIs::Context, &|list, first, folders| {
        in_role(&format!("conformance|{}|{}|{first}", folders.rings.display(), list.display()))
    });
}

/// Plays the client in Rust, which makes the list itself.
pub(crate) fn play(role: &[&str]) -> bool {
    let ["conformance", folder, list, first] = role else { return false };
    let logging = logger::start(LogConfig::new(folder, "host", "conformance")).unwrap();
    let loggers = LOGGERS.map(|(name, pairs)| {
        let log = Logger::with_context(name, pairs).unwrap();
        log.set_levels(LogLevel::Trace.number(), LogLevel::Trace.number());
        log
    });
    let mut steps = steps(records());
    if !std::fs::read_to_string(list).unwrap().contains("\nkill\n") {
        steps.retain(|step| matches!(step, Step::Record(_)));
    }
    let first: usize = first.parse().unwrap();
    let mut at = first.saturating_sub(LOGGERS.len() + SCOPES.len());
    while at < steps.len() {
        let part = |count: usize| &steps[at + 1..=at + count];
        at += 1 + match &steps[at] {
            Step::Record(row) => {
                log_row(&loggers[row.logger], row);
                0
            }
            Step::Thread(count) => {
                let part = part(*count);
                std::thread::scope(|scope| {
                    scope.spawn(|| log_rows(&loggers, part)).join().unwrap();
                });
                *count
            }
            Step::Process(count) => {
                in_child(|| log_rows(&loggers, part(*count)));
                *count
            }
            Step::Kill => {
                use rustix::process::{Signal, getpid, kill_process};
                kill_process(getpid(), Signal::KILL).unwrap();
                unreachable!("it is dead")
            }
        };
    }
    drop(logging);
    true
}

/// Does something in a child of fork, to its end.
fn in_child(work: impl FnOnce()) {
    // SAFETY: the child logs, which needs no lock that another thread of the parent may hold, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        work();
        // SAFETY: it ends the process.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the child is this process's own.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((ended, status), (child, 0));
}

fn log_rows(loggers: &[Logger], steps: &[Step]) {
    for step in steps {
        let Step::Record(row) = step else { continue };
        log_row(&loggers[row.logger], row);
    }
}

/// The forms at a level: a call site knows its own.
macro_rules! log_form {
    ($level:expr, $log:ident, $row:ident) => {{
        let Row { signed, unsigned, float, is, texts: [text, other], .. } = $row;
        let (text, i) = (text.as_str(), *signed);
        match $row.form {
            0 => log_at!($log, $level, "constant text"),
            1 => log_at!($log, $level, "100% of {{braces}}"),
            2 => log_at!($log, $level, "signed {}", i),
            3 => log_at!($log, $level, "unsigned {}", *unsigned),
            4 => log_at!($log, $level, "float {:.3}", *float),
            5 => log_at!($log, $level, "text {}", text),
            6 => log_at!($log, $level, "mixed {} {} {} {}", text, i, other.as_str(), *unsigned),
            7 => log_at!(
                $log, $level,
                data: {"Signed" => i, "Unsigned" => *unsigned, "Float" => *float, "Is" => *is, "Text" => text},
                "data {}", i
            ),
            8 => log_at!(
                $log, $level,
                data: {"StackId" => other.as_str(), "StackLevel" => i, "exception.stacktrace" => text},
                "failed: {}", text
            ),
            9 => log_at!(
                $log, $level, "many {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i
            ),
            _ => log_at!($log, $level, "{}", text),
        }
    }};
}

fn log_row(log: &Logger, row: &Row) {
    let _scope = (row.scope > 0).then(|| ContextScope::enter(SCOPES[row.scope - 1]));
    match row.level {
        LogLevel::Trace => log_form!(LogLevel::Trace, log, row),
        LogLevel::Delouse => log_form!(LogLevel::Delouse, log, row),
        LogLevel::Debug => log_form!(LogLevel::Debug, log, row),
        LogLevel::Info => log_form!(LogLevel::Info, log, row),
        LogLevel::Notice => log_form!(LogLevel::Notice, log, row),
        LogLevel::Warning => log_form!(LogLevel::Warning, log, row),
        LogLevel::Error => log_form!(LogLevel::Error, log, row),
        LogLevel::Critical => log_form!(LogLevel::Critical, log, row),
        LogLevel::Alert => log_form!(LogLevel::Alert, log, row),
        LogLevel::Emergency => log_form!(LogLevel::Emergency, log, row),
    }
}
