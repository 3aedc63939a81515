//! Polls: checks, becomes another user, opens configurations, and follows the schedule.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use poll::Config;
use poll::ask::{InterfaceCacheFile, MergingAsker};
use poll::debug::DebugTags;
use poll::lock::{LockError, LockFile};
use poll::round::{RoundReport, RoundSettings, Rounds};
use poll::share::ShareSettings;
use sample::Clock as _;
use watch::PidFile;

use super::arguments::PollCommand;
use super::messages::Messages;
use super::samples::Samples;
use super::{
    FAILURE, PollArguments, Polled, index, keep_databases_open, load, make, now_s, pages, schedule,
    share,
};
use crate::daemon::{User, leave};

/// Exit code when the configuration is being polled already.
const RUNNING: u8 = 17;
/// Exit codes when some targets, or all, are unknown.
const SOME_UNKNOWN: u8 = 91;
const ALL_UNKNOWN: u8 = 92;

/// The configuration that is read if none is named.
const DEFAULT_CONFIG: &str = "/etc/mrtg/mrtg.cfg";

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
    let is_file = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| !path.is_dir());
    let of_one = is_file(&arguments.lock_file) || is_file(&arguments.confcache_file);
    if arguments.configs.len() > 1 && of_one {
        bail!(
            "--lock-file and --confcache-file are for one configuration: name a folder for several"
        );
    }
    let sharing = arguments.share.settings()?;
    let places = RunFiles::of(&arguments, sharing.as_ref())?;
    become_user(&arguments)?;
    let messages = Messages::open(places.log.as_deref());
    let mut polled = Vec::new();
    for path in &arguments.configs {
        let lock = match LockFile::acquire(&places.lock_of(path), std::process::id(), now_s()) {
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
    share::check(sharing.as_ref(), rounds)?;
    let is_daemon = rounds.is_none() && !polled.iter().any(|one| one.config.global.is_attached);
    let samples = arguments.samples.samples(rounds, is_daemon, &messages)?;
    if is_daemon {
        return stay(polled, samples, sharing, &places, debug, &messages);
    }
    let held = rounds.is_none().then(|| PidFile::at(&places.pid)).transpose();
    let held = match held {
        Ok(held) => held,
        Err(error) => {
            messages.say(&text::error_text::with_causes(&error));
            return Ok(ExitCode::from(RUNNING));
        }
    };
    let total = poll_rounds(&mut polled, samples, sharing, rounds, debug, &messages)?;
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

/// Makes rounds, which also go to what samples go to.  What the latest of each configuration read.
fn poll_rounds(
    polled: &mut [Polled],
    mut samples: Samples,
    sharing: Option<ShareSettings>,
    rounds: Option<u64>,
    debug: DebugTags,
    messages: &Messages,
) -> anyhow::Result<RoundReport> {
    samples.open(polled)?;
    let mut share = share::join(sharing, &samples, polled, messages)?;
    let total = schedule::run(polled, &mut samples, rounds, debug, messages, &mut share);
    samples.close();
    Ok(total)
}

/// Polls for ever, in the background.
fn stay(
    mut polled: Vec<Polled>,
    mut samples: Samples,
    sharing: Option<ShareSettings>,
    places: &RunFiles,
    debug: DebugTags,
    messages: &Messages,
) -> anyhow::Result<ExitCode> {
    let parent = leave()?;
    let mut begin = || -> anyhow::Result<PidFile> {
        for one in &mut polled {
            one.lock.rewrite(std::process::id()).context("cannot write the lock file")?;
        }
        Ok(PidFile::at(&places.pid)?)
    };
    let held = match begin() {
        Ok(held) => held,
        Err(error) => {
            parent.failed(&error);
            return Ok(ExitCode::from(RUNNING));
        }
    };
    // After the fork: recordings know their writer by its process id, and threads do not survive it.
    let opened = samples.open(&polled);
    let opened = opened.and_then(|()| share::join(sharing, &samples, &polled, messages));
    let mut share = match opened {
        Ok(share) => share,
        Err(error) => {
            parent.failed(&error);
            return Ok(ExitCode::from(FAILURE));
        }
    };
    parent.ready();
    schedule::run(&mut polled, &mut samples, None, debug, messages, &mut share);
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

/// Reads a configuration that is to be polled; `None` if it is refused.
fn open(
    path: &Path,
    lock: LockFile,
    places: &RunFiles,
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

/// Where lock, pid, log and interface files are.
struct RunFiles {
    lock: Option<PathBuf>,
    pid: PathBuf,
    log: Option<PathBuf>,
    interfaces: Option<PathBuf>,
    /// The name of a poller that shares: the configuration may be in a folder of all of them.
    poller: Option<String>,
}

impl RunFiles {
    fn of(arguments: &PollArguments, sharing: Option<&ShareSettings>) -> anyhow::Result<Self> {
        let place = |given: &Option<PathBuf>, folder: &str, name: &str| {
            if given.is_some() || !arguments.fhs {
                return Ok(given.clone());
            }
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {folder}"))?;
            anyhow::Ok(Some(Path::new(folder).join(name)))
        };
        let poller = sharing.map(|sharing| sharing.name.clone());
        let first = arguments.configs.first().map(|path| own(path, poller.as_deref()));
        let first = first.unwrap_or_default();
        let pid = place(&arguments.pid_file, "/run/mrtg", "mrtg.pid")?;
        Ok(RunFiles {
            lock: place(&arguments.lock_file, "/var/lock/mrtg", "mrtg.lck")?,
            pid: pid.unwrap_or_else(|| first.with_extension("pid")),
            log: place(&arguments.logging, "/var/log/mrtg", "mrtg.log")?,
            interfaces: place(&arguments.confcache_file, "/var/lib/mrtg", "mrtg.ok")?,
            poller,
        })
    }

    fn lock_of(&self, config: &Path) -> PathBuf {
        beside(self.lock.as_deref(), &own(config, self.poller.as_deref()), |config| {
            let mut name = config.as_os_str().to_owned();
            name.push("_l");
            name.into()
        })
    }

    fn interfaces_of(&self, config: &Path) -> PathBuf {
        let config = own(config, self.poller.as_deref());
        beside(self.interfaces.as_deref(), &config, |config| config.with_extension("ok"))
    }
}

/// What names the files of a configuration: its own name, and with a poller `mrtg.cfg.NAME.cfg`.
fn own(config: &Path, poller: Option<&str>) -> PathBuf {
    let mut name = config.as_os_str().to_owned();
    poller.into_iter().for_each(|poller| name.push(format!(".{poller}.cfg")));
    name.into()
}

/// A file of a configuration: as given, else beside it, or in the folder that is given: by its whole
/// path, since two configurations may have one name.
fn beside(given: Option<&Path>, config: &Path, name: fn(&Path) -> PathBuf) -> PathBuf {
    match given {
        Some(folder) if folder.is_dir() => {
            folder.join(name(config).to_string_lossy().trim_start_matches('/').replace('/', "_"))
        }
        Some(file) => file.to_owned(),
        None => name(config),
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
