//! `whit run` beside GNU parallel: random command lines have the same output, joblog (times aside)
//! and exit code.
//!
//! ```text
//! WHIT_DIFFERENCES=2000            so many command lines, from a seed by the clock
//! WHIT_DIFFERENCES_SEED=17         those from this seed on: one each, counted up
//! WHIT_DIFFERENCES_CACHE=DIR       keep and use what parallel answered, for the next run
//! WHIT_DIFFERENCES_AGAIN=1         parallel beside itself: finds lines that have no one answer
//! ```
//!
//! Both are started by `sh`, in folders of the same files.  Skips, and says so, without parallel.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "all of it is tests, helpers too")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use regex::Regex;

mod generate;

use generate::{Case, FILES};

/// Command lines of a long run that asks for no number, and of a short one, and their seed: always the same ones, so that whoever changes something else is not told of an old
/// difference.
const FEW: [usize; 2] = [2000, 30];
const FEW_SEED: u64 = 1;

/// Command lines of a long and of a short run that pack many values, and their first seed.
const PACKED: [usize; 2] = [500, 12];
const PACKED_SEED: u64 = 9_000_000;

/// Each starts parallel, which takes a third of a second.
const THREADS: usize = 2;

/// Differences that are shown; all of them are written to a file.
const SHOWN: usize = 12;

/// Characters of a standard input that are shown.
const SHOWN_INPUT: usize = 60;

/// Seconds after which a command line is ended: it hangs.
const TIME_LIMIT_S: &str = "300";

/// What timeout(1) ends with then.
const TIMED_OUT: i32 = 124;

/// What a command line did.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    code: i32,
    output: String,
    /// Both files that may be joblogs.
    joblog: String,
    /// What it said on standard error: shown, not compared.
    errors: String,
}

/// One of the two programs that run a command line.
struct Runner {
    program: PathBuf,
    arguments: &'static [&'static str],
    folder: PathBuf,
}

impl Runner {
    fn answer(&self, case: &Case) -> Answer {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder).unwrap();
        for (name, text) in FILES {
            fs::write(self.folder.join(name), text).unwrap();
        }
        let input = self.folder.with_extension("input");
        fs::write(&input, &case.stdin).unwrap();
        // The shell that jobs get is that which started the runner: `sh` for both.  What follows
        // keeps the shell from becoming the runner.
        let mut command = Command::new("timeout");
        command.args([TIME_LIMIT_S, "sh", "-c", "\"$@\"; exit $?", "sh"]);
        command.arg(&self.program).args(self.arguments).args(&case.words);
        command.current_dir(&self.folder).stdin(Stdio::from(fs::File::open(&input).unwrap()));
        for name in ["PARALLEL", "PARALLEL_SHELL", "PARALLEL_HOME", "PARALLEL_ENV"] {
            command.env_remove(name);
        }
        // A home of their own, one for both as its name may be printed: settings of whoever runs
        // the test must not count.
        command.env("LC_ALL", "C").env("HOME", self.folder.with_file_name("home"));
        let output = command.output().unwrap();
        // Answers are kept for runs in other folders.
        let home = self.folder.with_file_name("home").display().to_string();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&home, "HOME");
        let has = |words: &[&str]| case.words.iter().any(|word| words.contains(&&**word));
        // Parallel counts a last line without an end twice.
        let received = |log: String| if has(&BY_LINES) { without_received(&log) } else { log };
        let logs = ["joblog", "log"].map(|name| {
            let log = fs::read(self.folder.join(name)).unwrap_or_default();
            received(without_times(&text(&log), !has(&ONE_AT_ONCE)))
        });
        Answer {
            code: output.status.code().unwrap_or(-1),
            output: match case.by_words {
                true => text(&output.stdout).split_whitespace().collect::<Vec<_>>().join("\n"),
                false => received(without_times(&text(&output.stdout), false)),
            },
            joblog: logs.concat(),
            errors: text(&output.stderr),
        }
    }
}

/// Words by which jobs run one after the other, so that their log has one order.
const ONE_AT_ONCE: [&str; 2] = ["-j1", "--jobs"];

/// Words by which output comes line by line.
const BY_LINES: [&str; 2] = ["--lb", "--line-buffer"];

/// A joblog, or an output with one in it, that [`without_times`] has come from, without the bytes
/// received.
fn without_received(log: &str) -> String {
    let received = Regex::new(r"(\t:\tSTART\tTIME\t\d+\t)\d+\t").unwrap();
    received.replace_all(log, "${1}RECEIVED\t").into_owned()
}

/// A text with the times of a joblog taken out: of lines, and of what follows an output that has
/// no end of line.
fn without_times(text: &str, sorted: bool) -> String {
    // Their widths are part of the format.
    let times = Regex::new(r"\t:\t\d{10,}\.\d{3}\t( {5}\d| {4}\d\d)\.\d{3}\t").unwrap();
    let text = times.replace_all(text, "\t:\tSTART\tTIME\t");
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if sorted {
        lines.sort_unstable();
    }
    lines.concat()
}

/// Where answers are kept from run to run, if that is asked for.
struct Cache(Option<PathBuf>);

impl Cache {
    fn path(&self, case: &Case) -> Option<PathBuf> {
        // FNV-1a, of all that the answer depends on.
        let text = format!("{case:?} {FILES:?}");
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Some(self.0.as_ref()?.join(format!("{hash:016x}")))
    }

    fn answer(&self, case: &Case, runner: &Runner) -> Answer {
        let path = self.path(case);
        let kept = path.as_ref().and_then(|path| fs::read_to_string(path).ok());
        if let Some(answer) = kept.and_then(|text| unpack(&text)) {
            return answer;
        }
        let answer = runner.answer(case);
        if let Some(path) = path {
            let Answer { code, output, joblog, errors } = &answer;
            fs::write(path, format!("{code}\0\u{1}{output}\0\u{1}{joblog}\0\u{1}{errors}"))
                .unwrap();
        }
        answer
    }
}

fn unpack(text: &str) -> Option<Answer> {
    let mut parts = text.split("\0\u{1}").map(str::to_owned);
    let code = parts.next()?.parse().ok()?;
    let (output, joblog, errors) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Answer { code, output, joblog, errors })
}

/// A command line as a shell would read it.
fn typed(case: &Case) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=%+,@".contains(&byte);
    let quoted = |word: &String| {
        let plain = !word.is_empty() && word.bytes().all(is_plain);
        if plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\"'\"'")) }
    };
    let words = case.words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    if case.stdin.is_empty() {
        return words;
    }
    let start: String = case.stdin.chars().take(SHOWN_INPUT).collect();
    let rest = if start.len() < case.stdin.len() { " …" } else { "" };
    format!("{words} <<< {start:?}{rest}")
}

/// Why parallel has no answer, if it has none: it hung, a part of it is missing, or it failed in its
/// own code (as with `--link` and a source of no values).
fn why_no_answer(answer: &Answer) -> Option<&'static str> {
    let failures = ["module Text::CSV is not installed", "Can't call method"];
    let failed = failures.into_iter().find(|text| answer.errors.contains(text));
    failed.or((answer.code == TIMED_OUT).then_some("it hung"))
}

/// What differs, for people; `None` where nothing does.
fn difference(seed: u64, case: &Case, ours: &Answer, theirs: &Answer) -> Option<String> {
    let same =
        ours.code == theirs.code && ours.output == theirs.output && ours.joblog == theirs.joblog;
    if same {
        return None;
    }
    let mut text = format!("seed {seed}: {}\n", typed(case));
    for (who, answer) in [("parallel", theirs), ("whit", ours)] {
        let _ = writeln!(text, "  {who}: exit code {}", answer.code);
        for (what, lines, compared) in [
            ("", &answer.output, ours.output != theirs.output),
            ("joblog ", &answer.joblog, ours.joblog != theirs.joblog),
            ("stderr ", &answer.errors, true),
        ] {
            for line in lines.lines().take(if compared { 12 } else { 0 }) {
                let _ = writeln!(text, "    {what}{line:?}");
            }
        }
    }
    Some(text)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// The one that is measured against, if it is here.
fn parallel() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("parallel")).find(|file| file.is_file())
}

fn runners(folder: &Path, thread: usize, parallel: &Path) -> [Runner; 2] {
    let runner = |name: &str, program: &Path, arguments| Runner {
        program: program.to_owned(),
        arguments,
        folder: folder.join(format!("{name}-{thread}")),
    };
    let again = std::env::var_os("WHIT_DIFFERENCES_AGAIN").is_some();
    let whit = Path::new(crate::WHIT);
    let ours = if again { runner("ours", parallel, &[]) } else { runner("ours", whit, &["run"]) };
    [ours, runner("theirs", parallel, &[])]
}

#[test]
fn random_command_lines_answer_alike() {
    answer_alike(FEW, FEW_SEED, generate::case);
}

#[test]
fn random_numbers_of_values_are_packed_alike() {
    answer_alike(PACKED, PACKED_SEED, generate::packed);
}

/// The command lines that `make` draws from so many seeds, from this one on, answer alike.
fn answer_alike([long, short]: [usize; 2], few_seed: u64, make: fn(u64) -> Case) {
    let Some(parallel) = parallel() else {
        testkit::skip("GNU parallel", "not installed");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("home")).unwrap();
    let one =
        Case { words: ["-j1", "echo", ":::", "1"].map(str::to_owned).into(), ..Case::default() };
    let [ours, theirs] = runners(folder.path(), 0, &parallel);
    if theirs.answer(&one).output != "1\n" {
        testkit::skip("GNU parallel", &format!("{} is another program", parallel.display()));
        return;
    }
    let answer = ours.answer(&one);
    assert_eq!(answer.output, "1\n", "{answer:?}");
    let count = number("WHIT_DIFFERENCES");
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let by_clock = count.map(|_| clock.as_secs() * 1_000_000);
    let seed = number("WHIT_DIFFERENCES_SEED").or(by_clock).unwrap_or(few_seed);
    let count = count.unwrap_or(if testkit::is_long() { long } else { short } as u64);
    eprintln!("{count} command lines from seed {seed}");
    let cache = Cache(std::env::var_os("WHIT_DIFFERENCES_CACHE").map(PathBuf::from));
    if let Some(folder) = &cache.0 {
        fs::create_dir_all(folder).unwrap();
    }
    let next = AtomicU64::new(0);
    let unanswered = Mutex::new(BTreeMap::<&str, u64>::new());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let [ours, theirs] = runners(folder.path(), thread, &parallel);
            let (next, found, cache, unanswered) = (&next, &found, &cache, &unanswered);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let case = make(seed + number);
                    let (their, our) = (cache.answer(&case, &theirs), ours.answer(&case));
                    if let Some(why) = why_no_answer(&their) {
                        *unanswered.lock().unwrap().entry(why).or_default() += 1;
                        continue;
                    }
                    found.lock().unwrap().extend(difference(seed + number, &case, &our, &their));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    let reasons = unanswered.into_inner().unwrap();
    let unanswered: u64 = reasons.values().sum();
    eprintln!("parallel had no answer to {unanswered} of {count}");
    for (why, number) in reasons {
        eprintln!("  {number}: {why}");
    }
    assert!(unanswered * 10 < count, "{unanswered} of {count} compare nothing");
    if found.is_empty() {
        return;
    }
    let shown: String = found.iter().take(SHOWN).map(String::as_str).collect();
    let mut all = tempfile::Builder::new();
    let all = all.prefix("parallel_differences-").suffix(".txt").tempfile().unwrap();
    let (_, all) = all.keep().unwrap();
    fs::write(&all, found.concat()).unwrap();
    panic!("{} of {count} differ, see {}\n{shown}", found.len(), all.display());
}

#[test]
fn times_of_joblogs_do_not_count() {
    let line = "x1\t:\t1795286811.189\t     0.001\t0\t2\t0\t0\techo a\n";
    assert_eq!(without_times(line, false), "x1\t:\tSTART\tTIME\t0\t2\t0\t0\techo a\n");
    let log = without_received(&without_times(line, false));
    assert_eq!(log, "x1\t:\tSTART\tTIME\t0\tRECEIVED\t0\t0\techo a\n");
    let narrow = line.replace("     0", "0");
    assert_eq!(without_times(&narrow, false), narrow);
    assert_eq!(without_times("b\na", true), "ab\n");
    assert_eq!(without_times("a\tb\tc", false), "a\tb\tc");
    let answer = |code, output: &str| Answer {
        code,
        output: output.to_owned(),
        joblog: String::new(),
        errors: String::new(),
    };
    let case = generate::case(7);
    assert_eq!(difference(7, &case, &answer(0, "x"), &answer(0, "x")), None);
    let text = difference(7, &case, &answer(1, "x"), &answer(0, "y")).unwrap();
    assert!(text.contains("whit: exit code 1\n    \"x\""), "{text}");
    assert_eq!(unpack("3\0\u{1}a\0\u{1}b\0\u{1}c").map(|answer| answer.code), Some(3));
}

#[test]
fn the_same_seed_makes_the_same_line_and_seeds_differ() {
    let lines: std::collections::BTreeSet<String> =
        (0..500).map(|seed| typed(&generate::case(seed))).collect();
    assert!(lines.len() > 400, "{}", lines.len());
    assert_eq!(typed(&generate::case(3)), typed(&generate::case(3)));
}
