//! `whit poll`: polls devices by MRTG's configuration files, once or for ever.
//!
//! What is polled and where it goes is in the crate `poll`; here are the options, the background,
//! the log and the schedule.  Exit codes are MRTG's: 0 done, 2 a wrong configuration, 17
//! already running, 91 some targets are unknown, 92 all are.

mod arguments;
mod index;
mod make;
mod messages;
mod pages;
mod round_recorder;
mod run;
mod samples;
mod schedule;
mod share;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use poll::ask::{InterfaceCacheFile, MergingAsker};
use poll::debug::{DebugTags, ShownAsker};
use poll::lock::LockFile;
use poll::round::{RoundReport, Rounds};
use poll::share::Turn;
use poll::{Config, LoadEnvironment, Loading};
use sample::Clock as _;
use text::byte_text;

pub(crate) use self::arguments::PollArguments;
use self::messages::Messages;
pub(crate) use self::run::run;

/// Exit code of a wrong configuration, and of every other error.
pub(crate) const FAILURE: u8 = 2;

/// A configuration that is polled, and what it has from round to round.
struct Polled {
    path: PathBuf,
    config: Config,
    rounds: Rounds,
    asker: MergingAsker,
    interfaces: InterfaceCacheFile,
    watched: schedule::WatchedFiles,
    lock: LockFile,
}

impl Polled {
    /// Makes a round.
    fn round(&mut self, debug: DebugTags, messages: &Messages, turn: Option<Turn>) -> RoundReport {
        self.asker.set_turn(turn.clone());
        self.rounds.set_turn(turn);
        let mut say = |text: String| match text.starts_with("--") {
            true => messages.say(&text),
            false => messages.say(&format!("WARNING: {text}")),
        };
        let (path, config) = (self.path.display(), &self.config);
        let wall_ns = || procfs::SystemClock.now().realtime_ns;
        if debug.base {
            say(format!("--base: {path}: a round of {} targets", config.targets.len()));
        }
        let report = match debug.snpo {
            true => {
                let mut asker = ShownAsker(&mut self.asker);
                self.rounds.round(config, &mut asker, &wall_ns, &mut say)
            }
            false => self.rounds.round(config, &mut self.asker, &wall_ns, &mut say),
        };
        let interfaces = self.asker.interfaces();
        if debug.coca {
            interfaces.shown().iter().for_each(|line| say(format!("--coca: {line}")));
        }
        if let Err(error) = self.interfaces.keep(interfaces) {
            say(format!("cannot write the interfaces of devices: {error}"));
        }
        debug.of_readings(config, &report.readings).into_iter().for_each(&mut say);
        if debug.base {
            let (known, unknown) = (report.known_count, report.unknown_count);
            say(format!("--base: {path}: {known} targets are known, {unknown} are not"));
        }
        report
    }
}

/// Lets databases stay open between rounds, or until the process ends.
fn keep_databases_open(polled: &mut [Polled], stays: bool) {
    let all = polled.iter_mut().map(|one| (&one.config, &mut one.rounds));
    poll::round::keep_databases_open(all, stays);
}

/// Reads a configuration, with the address of a caching daemon from the environment.
fn load(path: &Path) -> Loading {
    let rrdcached_address = std::env::var("RRDCACHED_ADDRESS").ok().filter(|name| !name.is_empty());
    Config::load(path, &LoadEnvironment { rrdcached_address })
}

/// A configuration that is only read; its problems are printed.
fn loaded(path: &Path) -> anyhow::Result<Config> {
    let loading = load(path);
    for problem in &loading.problems {
        crate::stderr::line(problem);
    }
    loading.config.with_context(|| format!("{} is refused", path.display()))
}

/// The command line, for comments in files that are made: `name` and the words after the verb.
fn command_line(name: &str) -> String {
    let mut line = name.to_owned();
    let skipped = name.split(' ').count();
    let words = crate::compat::command_line(crate::words::given());
    for word in words.iter().skip(skipped) {
        let word = word.to_string_lossy();
        let is_plain =
            !word.contains([' ', '[', ']', '*', '{', '}', ';', '>', '<', '&', '|', '(', ')']);
        line.push_str(&if is_plain { format!(" {word}") } else { format!(" \"{word}\"") });
    }
    line.replace(['\n', '\r'], " ")
}

/// The users who may read a file that is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// As the umask says.
    All,
    /// The owner alone: it has communities or passwords in it.
    Owner,
}

/// Writes a text that was made to a file, or to standard output.
fn write_text(path: Option<&Path>, text: &str, readers: Readers) -> anyhow::Result<()> {
    use std::io::Write as _;
    match path {
        Some(path) => write_file(path, &byte_text::encode(text), readers)
            .with_context(|| format!("cannot write {}", path.display())),
        None => {
            let written = std::io::stdout().write_all(&byte_text::encode(text));
            written.context("cannot write standard output")
        }
    }
}

fn write_file(path: &Path, bytes: &[u8], readers: Readers) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if readers == Readers::Owner {
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    // One that was there before keeps its mode otherwise; a terminal or a pipe keeps it.
    if readers == Readers::Owner && file.metadata()?.is_file() {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    file.write_all(bytes)
}

/// Seconds since 1970.
fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}
