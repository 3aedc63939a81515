//! Whit beside other loggers: bursts, and quill's paced method, with the least that is possible.
//!
//! Programs in C++ are compiled here, with the system's compiler; one in Rust is an example of this
//! crate, so that no other logger is in whit.  Each prints the nanoseconds of a call, a line a turn.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::scenario::{Server, run_load};
use super::timing::quantile;
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::process::text_of;
use crate::programs::{Programs, run_heard, run_quietly};

/// What calls are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// As the programs call it.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Whether many threads call.
    pub(super) has_threads: bool,
}

const fn case(name: &'static str, title: &'static str, has_threads: bool) -> Case {
    Case { name, title, has_threads }
}

/// The columns of bursts.
pub(super) const BURSTS: [Case; 4] = [
    case("three", "3 scalars", false),
    case("three", "threads", true),
    case("text", "40 bytes", false),
    case("disabled", "disabled", false),
];

/// The cases of the paced method.
pub(super) const PACED: [Case; 2] =
    [case("paced", "3 scalars", false), case("paced text", "40 bytes", false)];

/// The program that calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// A reading of the clock and nothing else.
    Clock,
    /// A record of a bare ring.
    Record,
    /// Whit's client in Rust.
    Rust,
    /// Whit's client in C++.
    Cpp(PathBuf),
    /// Another logger.
    Rival(&'static str, PathBuf),
}

impl Caller {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Caller::Clock => "floor: the clock",
            Caller::Record => "floor: a bare ring",
            Caller::Rust => "whit, Rust",
            Caller::Cpp(_) => "whit, C++",
            Caller::Rival(name, _) => name,
        }
    }

    /// The case as its program calls it; `None`: it has none.
    fn word(&self, case: Case) -> Option<&'static str> {
        Some(match (self, case.name) {
            (Caller::Clock, "three") if !case.has_threads => "clock",
            (Caller::Clock, "paced") => "paced clock",
            (Caller::Record, "three") if !case.has_threads => "record",
            (Caller::Record, "paced") => "paced record",
            (Caller::Clock | Caller::Record, _) => return None,
            (_, name) => name,
        })
    }
}

/// What a caller needed in a case.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) who: &'static str,
    pub(super) case: Case,
    /// For each round a value for each turn, sorted.
    pub(super) rounds: Vec<Vec<f64>>,
}

impl Measured {
    /// The median over the rounds of a part of the turns.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        median(self.rounds.iter().map(|turns| quantile(turns, part)).collect())
    }
}

/// The size of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) rounds: usize,
    pub(super) threads: u32,
    pub(super) calls: u32,
    pub(super) turns: u32,
}

/// The other programs of this machine.
pub(super) struct Callers<'a> {
    pub(super) programs: &'a Programs,
    pub(super) rings: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) callers: Vec<Caller>,
}

/// The client's sources, as they are in `clients/c`.
const CLIENT_FILES: [(&str, &str); 5] = [
    ("whit_log.h", include_str!("../../../../clients/c/include/whit_log.h")),
    ("whit_log.hpp", include_str!("../../../../clients/c/include/whit_log.hpp")),
    ("whit_log.c", include_str!("../../../../clients/c/src/whit_log.c")),
    ("contest.hpp", include_str!("programs/contest.hpp")),
    ("whit.cpp", include_str!("programs/whit.cpp")),
];

const SPDLOG: &str = include_str!("programs/spdlog.cpp");

/// Compiles a program.
fn compile(compiler: &Path, folder: &Path, words: &[&str]) -> Result<()> {
    let mut command = Command::new(compiler);
    command.args(["-O2", "-DNDEBUG", "-pthread"]).args(words).current_dir(folder);
    run_quietly(&mut command).with_context(|| text_of(&command))?;
    Ok(())
}

impl<'a> Callers<'a> {
    /// Finds and compiles what there is; says what there is not.
    pub(super) fn prepare(
        programs: &'a Programs,
        rings: &'a Path,
        folder: &'a Path,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let mut callers = vec![Caller::Clock, Caller::Record, Caller::Rust];
        for (name, text) in CLIENT_FILES {
            std::fs::write(folder.join(name), text)?;
        }
        std::fs::write(folder.join("spdlog.cpp"), SPDLOG)?;
        match (programs.path.find("cc"), programs.path.find("c++")) {
            (Some(c), Some(cpp)) => {
                compile(&c, folder, &["-std=gnu11", "-c", "whit_log.c"])?;
                compile(&cpp, folder, &["-std=c++17", "whit.cpp", "whit_log.o", "-o", "whit-cpp"])?;
                callers.push(Caller::Cpp(folder.join("whit-cpp")));
                let words =
                    ["-std=c++17", "spdlog.cpp", "-lspdlog", "-lfmt", "-o", "spdlog-contest"];
                match compile(&cpp, folder, &words) {
                    Ok(()) => callers
                        .push(Caller::Rival("spdlog, async", folder.join("spdlog-contest"))),
                    Err(error) => notes.push(format!(
                        "spdlog is not installed (Debian: libspdlog-dev), so its lines are missing: {}",
                        error.line()
                    )),
                }
            }
            _ => notes.push("no C++ compiler: the lines of C++ and of spdlog are missing".into()),
        }
        let example = programs.whit.with_file_name("examples").join("tracing_appender");
        match example.is_file() {
            true => callers.push(Caller::Rival("tracing-appender", example)),
            false => notes.push(
                "no tracing-appender, so its lines are missing: build it in whit's sources by `cargo \
                 build --release -p bench --example tracing_appender`"
                    .into(),
            ),
        }
        Ok(Callers { programs, rings, folder, callers })
    }

    /// Lets all take turns in a case.
    pub(super) fn measure(
        &self,
        case: Case,
        size: Size,
        mut progress: impl FnMut(&str, usize),
    ) -> Result<Vec<Measured>> {
        let takes_part = |caller: &&Caller| caller.word(case).is_some();
        let callers: Vec<&Caller> = self.callers.iter().filter(takes_part).collect();
        let mut all: Vec<Measured> = callers
            .iter()
            .map(|caller| Measured { who: caller.name(), case, rounds: Vec::new() })
            .collect();
        for round in 0..size.rounds {
            for (caller, measured) in callers.iter().zip(&mut all) {
                progress(caller.name(), round);
                let turns = self.turn(caller, case, size).with_context(|| caller.name())?;
                measured.rounds.push(turns);
            }
        }
        Ok(all)
    }

    /// One run of a program: the turns, sorted.
    fn turn(&self, caller: &Caller, case: Case, size: Size) -> Result<Vec<f64>> {
        let rings = tempfile::tempdir_in(self.rings)?;
        let folder = tempfile::tempdir_in(self.folder)?;
        let word = caller.word(case).unwrap_or_default();
        let threads = if case.has_threads { size.threads } else { 1 };
        let mut proxy = None;
        let text = match caller {
            Caller::Clock | Caller::Record | Caller::Rust => {
                let load = json!({
                    "case": word, "threads": threads, "calls": size.calls, "turns": size.turns,
                    "rings": rings.path().to_string_lossy(),
                    "file": folder.path().join("output").to_string_lossy(),
                });
                run_load(&self.programs.bench, &load)?
            }
            Caller::Cpp(program) | Caller::Rival(_, program) => {
                let is_whit = matches!(caller, Caller::Cpp(_));
                if is_whit {
                    let mut command = Command::new(&self.programs.whit);
                    command.args(["log", "proxy", "--central", "./none", "--spool", "spool"]);
                    command.arg("--directory").arg(rings.path());
                    proxy = Some(Server::start(&mut command, folder.path(), "proxy", "spool")?);
                }
                let mut command = Command::new(program);
                let numbers = [threads, size.calls, size.turns].map(|number| number.to_string());
                let place = if is_whit { rings.path() } else { folder.path() };
                command.arg(word).args(numbers).arg(place);
                run_heard(&mut command, Stdio::null())?.1
            }
        };
        if let Some(proxy) = proxy {
            proxy.stop()?;
        }
        let mut turns = Vec::new();
        for line in text.lines() {
            turns.push(line.trim().parse::<f64>().map_err(std::io::Error::other)?);
        }
        ensure!(!turns.is_empty(), "{} printed nothing", caller.name());
        turns.sort_by(f64::total_cmp);
        Ok(turns)
    }
}
