//! `whit poll`: polls devices by MRTG's configuration files, once or for ever.
//!
//! What is polled and where it goes is in the crate `poll`; here are the options, the background,
//! the log and the schedule.  Exit codes are MRTG's: 0 done, 2 a wrong configuration, 17
//! already running, 91 some targets are unknown, 92 all are.

mod index;
mod make;
mod messages;
mod pages;
mod round_recorder;
mod samples;
mod schedule;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use poll::ask::{InterfaceCacheFile, MergingAsker};
use poll::debug::{DebugTags, ShownAsker};
use poll::lock::{LockError, LockFile};
use poll::round::{RoundReport, RoundSettings, Rounds};
use poll::{Config, LoadEnvironment, Loading};
use sample::Clock as _;

use crate::record::daemon::{PidFile, User, leave};
use messages::Messages;
use samples::{SampleArguments, Samples};

/// Exit code of a wrong configuration, and of every other error.
pub(crate) const FAILURE: u8 = 2;
/// Exit code when the configuration is being polled already.
const RUNNING: u8 = 17;
/// Exit codes when some targets, or all, are unknown.
const SOME_UNKNOWN: u8 = 91;
const ALL_UNKNOWN: u8 = 92;

/// The configuration that is read if none is named.
const DEFAULT_CONFIG: &str = "/etc/mrtg/mrtg.cfg";

/// Options of `whit poll`.
#[derive(clap::Args)]
#[command(after_help = crate::help::POLL, args_conflicts_with_subcommands = true)]
pub(crate) struct PollArguments {
    #[command(subcommand)]
    command: Option<PollCommand>,
    /// MRTG's configuration files; without one /etc/mrtg/mrtg.cfg
    configs: Vec<PathBuf>,
    /// Check the configurations, print every problem with its file and line, and poll nothing
    #[arg(long)]
    check: bool,
    /// Poll until stopped, in the background (as RunAsDaemon: yes)
    #[arg(long)]
    daemon: bool,
    /// Make so many rounds in the foreground, an interval apart, then end
    #[arg(short = 'c', long, value_name = "N", conflicts_with = "daemon",
          value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Write readings only, no pages and pictures
    #[arg(long)]
    log_only: bool,
    /// The lock file; without it the configuration's name and _l
    #[arg(long, value_name = "FILE")]
    lock_file: Option<PathBuf>,
    /// The pid file of a daemon; without it the configuration's name with .pid
    #[arg(long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// The file of devices' interface numbers from run to run; without it the configuration's name
    /// with .ok
    #[arg(long, value_name = "FILE")]
    confcache_file: Option<PathBuf>,
    /// Append messages to this file instead of standard error
    #[arg(long, value_name = "FILE")]
    logging: Option<PathBuf>,
    /// Become this user before anything is read
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Become a member of this group before anything is read
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Keep lock, pid, log and interface files in /var/lock/mrtg, /run/mrtg, /var/log/mrtg and
    /// /var/lib/mrtg
    #[arg(long)]
    fhs: bool,
    /// Show what is done: cfg (files and targets), dir (folders), base (steps), tarp (queries), snpo
    /// (answers), coca (interfaces), eval (values), log (readings), time (rounds), with commas between
    #[arg(long, value_name = "TAG,...")]
    debug: Option<String>,
    #[command(flatten)]
    samples: SampleArguments,
}

/// What else there is to do with configurations.
#[derive(clap::Subcommand)]
enum PollCommand {
    /// Ask devices what they are, and write a configuration that polls them (cfgmaker)
    Make(Box<make::MakeArguments>),
    /// Write a page of all targets (indexmaker)
    Index(Box<index::IndexArguments>),
    /// Write the classic pages and pictures of targets, from logs or databases
    Pages(pages::PagesArguments),
}

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

/// Runs the verb.
pub(crate) fn run(mut arguments: PollArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        None => {}
        Some(PollCommand::Make(arguments)) => return make::run(arguments),
        Some(PollCommand::Index(arguments)) => return index::run(arguments),
        Some(PollCommand::Pages(arguments)) => return pages::run(arguments),
    }
    if arguments.configs.is_empty() {
        if !Path::new(DEFAULT_CONFIG).exists() {
            bail!("no configuration: whit poll FILE polls one, and whit poll --help says more");
        }
        arguments.configs.push(DEFAULT_CONFIG.into());
    }
    let debug = DebugTags::parse(arguments.debug.as_deref().unwrap_or_default());
    let debug = debug.map_err(anyhow::Error::msg)?;
    if arguments.check {
        return check(&arguments.configs, debug);
    }
    let of_one = arguments.lock_file.is_some() || arguments.confcache_file.is_some();
    if arguments.configs.len() > 1 && of_one {
        bail!("--lock-file and --confcache-file are for one configuration");
    }
    let places = Places::of(&arguments)?;
    become_user(&arguments)?;
    let messages = Messages::open(places.log.as_deref());
    let mut polled = Vec::new();
    for path in &arguments.configs {
        let lock = match LockFile::take(&places.lock_of(path), std::process::id(), now_s()) {
            Ok(lock) => lock,
            Err(LockError::Running(text)) => {
                messages.say(&text);
                return Ok(ExitCode::from(RUNNING));
            }
            Err(error) => return Err(error.into()),
        };
        match open(path, lock, &places, &arguments, debug, &messages)? {
            Some(one) => polled.push(one),
            None => return Ok(ExitCode::from(FAILURE)),
        }
    }
    let stays = arguments.daemon || polled.iter().any(|one| one.config.global.runs_as_daemon);
    let rounds = arguments.count.or((!stays).then_some(1));
    keep_databases_open(&mut polled, rounds != Some(1));
    let is_daemon = rounds.is_none() && !polled.iter().any(|one| one.config.global.is_attached);
    let samples = arguments.samples.samples(rounds, is_daemon, &messages)?;
    if is_daemon {
        return stay(polled, samples, &places, debug, &messages);
    }
    let held = rounds.is_none().then(|| PidFile::at(&places.pid)).transpose();
    let held = match held {
        Ok(held) => held,
        Err(error) => {
            messages.say(&format!("{error:#}"));
            return Ok(ExitCode::from(RUNNING));
        }
    };
    let total = poll_rounds(&mut polled, samples, rounds, debug, &messages)?;
    drop(held);
    for Polled { lock, config, mut rounds, .. } in polled {
        rounds.finish(&mut |text| messages.say(&format!("WARNING: {text}")));
        drop(lock);
        // The process ends: the kernel closes and frees all of it at once, which costs less.
        std::mem::forget((config, rounds));
    }
    Ok(ExitCode::from(match (rounds, total.known_count, total.unknown_count) {
        (None, ..) => 0,
        _ if total.failed_count > 0 => FAILURE,
        (_, _, 0) => 0,
        (_, 0, _) => ALL_UNKNOWN,
        _ => SOME_UNKNOWN,
    }))
}

/// Lets databases stay open between rounds, or until the process ends.
fn keep_databases_open(polled: &mut [Polled], stays: bool) {
    let all = polled.iter_mut().map(|one| (&one.config, &mut one.rounds));
    poll::round::keep_databases_open(all, stays);
}

/// Makes rounds, which also go to what samples go to.  What the latest of each configuration read.
fn poll_rounds(
    polled: &mut [Polled],
    mut samples: Samples,
    rounds: Option<u64>,
    debug: DebugTags,
    messages: &Messages,
) -> anyhow::Result<RoundReport> {
    samples.open(polled)?;
    let total = schedule::run(polled, &mut samples, rounds, debug, messages);
    samples.close();
    Ok(total)
}

/// Polls for ever, in the background.
fn stay(
    mut polled: Vec<Polled>,
    mut samples: Samples,
    places: &Places,
    debug: DebugTags,
    messages: &Messages,
) -> anyhow::Result<ExitCode> {
    let parent = leave()?;
    let mut begin = || -> anyhow::Result<PidFile> {
        for one in &mut polled {
            one.lock.rewrite(std::process::id()).context("cannot write the lock file")?;
        }
        PidFile::at(&places.pid)
    };
    let held = match begin() {
        Ok(held) => held,
        Err(error) => {
            parent.failed(&error);
            return Ok(ExitCode::from(RUNNING));
        }
    };
    // After the fork: recordings know their writer by its process id.
    if let Err(error) = samples.open(&polled) {
        parent.failed(&error);
        return Ok(ExitCode::from(FAILURE));
    }
    parent.ready();
    schedule::run(&mut polled, &mut samples, None, debug, messages);
    samples.close();
    drop(held);
    Ok(ExitCode::SUCCESS)
}

/// `--check`: every problem in a line, on standard error.
fn check(configs: &[PathBuf], debug: DebugTags) -> anyhow::Result<ExitCode> {
    let mut is_refused = false;
    for path in configs {
        let loading = load(path);
        for problem in &loading.problems {
            crate::stderr::line(problem);
        }
        match &loading.config {
            Some(config) => crate::stderr::print(&debug.of_config(config))?,
            None => is_refused = true,
        }
    }
    Ok(if is_refused { ExitCode::from(FAILURE) } else { ExitCode::SUCCESS })
}

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
    let words = crate::compat::command_line(std::env::args_os().collect());
    for word in words.iter().skip(skipped) {
        let word = word.to_string_lossy();
        let is_plain =
            !word.contains([' ', '[', ']', '*', '{', '}', ';', '>', '<', '&', '|', '(', ')']);
        line.push_str(&if is_plain { format!(" {word}") } else { format!(" \"{word}\"") });
    }
    line.replace(['\n', '\r'], " ")
}

/// Writes a text that was made to a file, or to standard output.
fn write_text(path: Option<&Path>, text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    match path {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        }
        None => {
            let written = std::io::stdout().write_all(text.as_bytes());
            written.context("cannot write standard output")
        }
    }
}

/// Reads a configuration that is to be polled; `None` if it is refused.
fn open(
    path: &Path,
    lock: LockFile,
    places: &Places,
    arguments: &PollArguments,
    debug: DebugTags,
    messages: &Messages,
) -> anyhow::Result<Option<Polled>> {
    let loading = load(path);
    messages.problems(&loading.problems);
    let Some(config) = loading.config else { return Ok(None) };
    crate::stderr::print(&debug.of_config(&config))?;
    let (interfaces, known) = InterfaceCacheFile::open(places.interfaces_of(path));
    let mut asker = asker();
    asker.set_interfaces(known);
    Ok(Some(Polled {
        path: path.to_owned(),
        rounds: Rounds::new(round_settings(path, &config, arguments.log_only)),
        asker,
        interfaces,
        watched: schedule::WatchedFiles::of(&loading.files),
        config,
        lock,
    }))
}

fn round_settings(path: &Path, config: &Config, is_log_only: bool) -> RoundSettings {
    use std::os::unix::ffi::OsStrExt as _;
    let mut environment: Vec<Vec<u8>> = Vec::new();
    for (name, value) in std::env::vars_os() {
        let mut variable = [name.as_bytes(), b"="].concat();
        if let (Some(added), "PATH") = (&config.global.path_add, name.to_string_lossy().as_ref()) {
            variable.extend_from_slice(format!("{added}:").as_bytes());
        }
        variable.extend_from_slice(value.as_bytes());
        environment.push(variable);
    }
    let own_name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    RoundSettings {
        environment,
        config_name: path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        is_log_only,
        time_zone: crate::zone::local(),
        own_name,
    }
}

fn asker() -> MergingAsker {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = now.map_or(0, |now| u64::from(now.subsec_nanos()) ^ now.as_secs());
    let seed = seed ^ u64::from(std::process::id()) << 32;
    MergingAsker::new(seed, || procfs::SystemClock.now().monotonic_ns)
}

/// Seconds since 1970.
fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

impl Polled {
    /// Makes a round.
    fn round(&mut self, debug: DebugTags, messages: &Messages) -> RoundReport {
        let mut say = |text: String| match text.starts_with("--") {
            true => messages.say(&text),
            false => messages.say(&format!("WARNING: {text}")),
        };
        let (path, config) = (self.path.display(), &self.config);
        if debug.base {
            say(format!("--base: {path}: a round of {} targets", config.targets.len()));
        }
        let report = match debug.snpo {
            true => {
                let mut asker = ShownAsker(&mut self.asker);
                self.rounds.round(config, &mut asker, &now_s, &mut say)
            }
            false => self.rounds.round(config, &mut self.asker, &now_s, &mut say),
        };
        let interfaces = self.asker.interfaces();
        if debug.coca {
            interfaces
                .text()
                .lines()
                .for_each(|line| say(format!("--coca: {}", line.replace('\t', " "))));
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

/// Where lock, pid, log and interface files are.
struct Places {
    lock: Option<PathBuf>,
    pid: PathBuf,
    log: Option<PathBuf>,
    interfaces: Option<PathBuf>,
}

impl Places {
    fn of(arguments: &PollArguments) -> anyhow::Result<Self> {
        let place = |given: &Option<PathBuf>, folder: &str, name: &str| {
            if given.is_some() || !arguments.fhs {
                return Ok(given.clone());
            }
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {folder}"))?;
            anyhow::Ok(Some(Path::new(folder).join(name)))
        };
        let first = arguments.configs.first().cloned().unwrap_or_default();
        let pid = place(&arguments.pid_file, "/run/mrtg", "mrtg.pid")?;
        Ok(Places {
            lock: place(&arguments.lock_file, "/var/lock/mrtg", "mrtg.lck")?,
            pid: pid.unwrap_or_else(|| first.with_extension("pid")),
            log: place(&arguments.logging, "/var/log/mrtg", "mrtg.log")?,
            interfaces: place(&arguments.confcache_file, "/var/lib/mrtg", "mrtg.ok")?,
        })
    }

    fn lock_of(&self, config: &Path) -> PathBuf {
        self.lock.clone().unwrap_or_else(|| {
            let mut name = config.as_os_str().to_owned();
            name.push("_l");
            name.into()
        })
    }

    fn interfaces_of(&self, config: &Path) -> PathBuf {
        self.interfaces.clone().unwrap_or_else(|| config.with_extension("ok"))
    }
}

fn become_user(arguments: &PollArguments) -> anyhow::Result<()> {
    if arguments.user.is_none() && arguments.group.is_none() {
        return Ok(());
    }
    let own = rustix::process::getuid().as_raw().to_string();
    let user = arguments.user.as_deref().unwrap_or(&own);
    let text = format!("{user}:{}", arguments.group.as_deref().unwrap_or_default());
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let group = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let found = User::parse(text.trim_end_matches(':'), &passwd, &group);
    let found = found.map_err(|error| {
        anyhow::anyhow!("{}", format!("{error:#}").replace("--runas ", "--user, --group: "))
    })?;
    found.become_it()
}
