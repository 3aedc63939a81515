//! `whit rrdcached`: the caching daemon of round-robin databases.
//!
//! The daemon is in the crate `rrdcached`; here are rrdcached's options, sockets, the background,
//! the log and signals.  `-P`, `-s`, `-m` and `--ack` hold for the `-l` that follow them, so their
//! places on the command line matter.

mod machine;
mod sockets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{ArgMatches, Args, FromArgMatches};
use rrdcached::protocol::Permissions;
use rrdcached::{Acknowledge, CachingDaemon, DaemonSettings, Limits, PathRules, Server};

use crate::daemon::{User, leave};
use crate::end_signals::{self, End};
use crate::server_tls::ServerTlsArguments;
use connection::{ServerListener, ServerTls};
use sockets::Rights;
use watch::PidFile;

/// Exit code of every error, as rrdcached's.
pub(crate) const FAILURE: u8 = 1;

/// Where clients look without `-l`.
const DEFAULT_ADDRESS: &str = "unix:/tmp/rrdcached.sock";
/// The default of `-w` without a journal, and while memory is half full, in seconds.
const WRITE_SECONDS: i64 = 300;
/// The default of `-w` with a journal, in seconds: what waits is safe there, and every command shows
/// it, so a file need not be written for each of its rows.
const JOURNAL_WRITE_SECONDS: i64 = 3600;
/// The default of `-p`, unless the daemon stays in the foreground.
const DEFAULT_PID_FILE: &str = "/run/rrdcached.pid";

/// Options of `whit rrdcached`.
#[derive(Args)]
struct Options {
    /// Listen here: a socket file (`unix:/PATH` or `/PATH`), or HOST, HOST:PORT, [HOST]:PORT, :PORT;
    /// the last four also encrypted, with `tls:` in front
    #[arg(short = 'l', long = "listen", value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Listen on port 42217 of all interfaces
    #[arg(short = 'L', long)]
    listen_all: bool,
    /// Commands that the following -l take, with commas between: FLUSH,PENDING
    #[arg(short = 'P', long = "permit", value_name = "COMMAND,...")]
    permit: Vec<String>,
    /// Group that may use the following socket files (mode 0760)
    #[arg(short = 's', long = "socket-group", value_name = "GROUP")]
    socket_group: Vec<String>,
    /// Mode of the following socket files, in octal
    #[arg(short = 'm', long = "socket-mode", value_name = "MODE")]
    socket_mode: Vec<String>,
    /// When the following -l acknowledge an update: `none` (before it is in the journal), `os` (when
    /// it survives the end of the daemon) or `disk` (when it survives the end of the power)
    #[arg(long = "ack", value_name = "WHEN", value_parser = ["none", "os", "disk"])]
    acknowledge: Vec<String>,
    /// Write a file when its readings are this old (300, 5m).  Without it 5 minutes; with a journal
    /// an hour, or 5 minutes while more than half of --mem is used
    #[arg(short = 'w', long = "write", value_name = "TIME", value_parser = duration)]
    write: Option<i64>,
    /// Delay each write by up to this, at random
    #[arg(short = 'z', long = "delay", value_name = "TIME", default_value = "0", value_parser = duration)]
    delay: i64,
    /// How often to look for files that no reading comes for any more, and to begin a new segment of
    /// the journal
    #[arg(short = 'f', long = "scan", value_name = "TIME", default_value = "3600", value_parser = duration)]
    scan: i64,
    /// Threads that write files
    #[arg(short = 't', long = "writers", value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    writers: u16,
    /// Accepted, without effect: memory for readings needs no chunks
    #[arg(short = 'a', long = "alloc", value_name = "N")]
    alloc: Option<u32>,
    /// The folder that names are relative to
    #[arg(short = 'b', long = "base", value_name = "FOLDER", default_value = "/tmp")]
    base: PathBuf,
    /// Take only files in the folder of -b
    #[arg(short = 'B', long)]
    only_base: bool,
    /// Let CREATE make folders below -b; needs -B
    #[arg(short = 'R', long)]
    make_folders: bool,
    /// Let CREATE never replace a file
    #[arg(short = 'O', long)]
    keep_files: bool,
    /// Keep a journal in this folder; those of rrdcached are taken over
    #[arg(short = 'j', long = "journal", value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// Write all files at the end, also with a journal
    #[arg(short = 'F', long)]
    flush_at_end: bool,
    /// Stay in the foreground, and log to standard error
    #[arg(short = 'g', long)]
    foreground: bool,
    /// The pid file; without it /run/rrdcached.pid, or none with -g
    #[arg(short = 'p', long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// Become this user once sockets are open
    #[arg(short = 'U', long, value_name = "USER")]
    user: Option<String>,
    /// Become a member of this group once sockets are open
    #[arg(short = 'G', long, value_name = "GROUP")]
    group: Option<String>,
    /// Log messages up to this level: LOG_ERR, LOG_INFO, ...
    #[arg(short = 'V', long, value_name = "LEVEL", default_value = "LOG_ERR")]
    log_level: String,
    /// Log to this file instead of syslog
    #[arg(short = 'o', long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Memory for readings that are not written, in MiB; clients wait while it is full
    #[arg(long = "mem", value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    memory: u64,
    /// Serve counters here as an OpenMetrics page over HTTP: an address as of -l
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Most connections at once
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,
    /// Most connections at once of one client: an address of a network, a user of this machine
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    clients_each: u32,
    #[command(flatten)]
    tls: ServerTlsArguments,
}

/// Options and the sockets that they describe.
pub(crate) struct RrdcachedArguments {
    options: Options,
    sockets: Vec<(String, Rights)>,
    /// What was set after the last `-l`, for sockets that systemd gives.
    last: Rights,
}

impl Args for RrdcachedArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        Options::augment_args(command).after_help(crate::help::RRDCACHED)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RrdcachedArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let options = Options::from_arg_matches(matches)?;
        let refused =
            |text: String| clap::Error::raw(clap::error::ErrorKind::ValueValidation, text);
        let mut words: Vec<(usize, &str, &str)> = Vec::new();
        for id in ["listen", "permit", "socket_group", "socket_mode", "acknowledge"] {
            let values = matches.get_many::<String>(id).into_iter().flatten();
            let places = matches.indices_of(id).into_iter().flatten();
            words.extend(places.zip(values).map(|(place, value)| (place, id, value.as_str())));
        }
        if options.listen_all {
            let place = matches.indices_of("listen_all").into_iter().flatten().next();
            words.push((place.unwrap_or(0), "listen", ""));
        }
        words.sort_unstable();
        let mut last = Rights::default();
        let mut sockets = Vec::new();
        for (_, id, value) in words {
            if id == "listen" {
                sockets.push((value.to_owned(), last.clone()));
            } else {
                last.set(id, value).map_err(refused)?;
            }
        }
        Ok(Self { options, sockets, last })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn duration(text: &str) -> Result<i64, String> {
    if text == "0" {
        return Ok(0);
    }
    let seconds = rrd::number::scaled_duration(text, 1).map_err(str::to_owned)?;
    i64::try_from(seconds).map_err(|_| "too long".to_owned())
}

/// Runs the verb.
pub(crate) fn run(arguments: RrdcachedArguments) -> anyhow::Result<ExitCode> {
    let RrdcachedArguments { mut options, mut sockets, last } = arguments;
    // Read before the daemon becomes another user.
    let tls = options.tls.load()?;
    let given = sockets::activated(&sockets, &last, tls.as_ref())?;
    if sockets.is_empty() && given.is_empty() {
        sockets.push((DEFAULT_ADDRESS.to_owned(), last));
    }
    warn(&options);
    // The folder of the process changes.
    options.base = std::path::absolute(&options.base)?;
    let paths = [&mut options.journal, &mut options.pid_file, &mut options.log];
    for path in paths.into_iter().flatten() {
        *path = std::path::absolute(&*path)?;
    }
    let parent = if options.foreground { None } else { Some(leave()?) };
    match begin(&options, &sockets, given, tls.as_ref()) {
        Ok((server, held)) => {
            if let Some(parent) = parent {
                parent.ready();
            }
            heap::return_unused();
            let end = end_signals::wait()?;
            server.stop(match end {
                End::Term => options.flush_at_end,
                End::Flush => true,
                End::Quick => false,
            });
            drop(held);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => match parent {
            Some(parent) => {
                parent.failed(&error);
                Ok(ExitCode::from(FAILURE))
            }
            None => Err(error),
        },
    }
}

fn warn(options: &Options) {
    let write = options.write.unwrap_or(WRITE_SECONDS);
    if options.scan < write.saturating_mul(2) {
        crate::stderr::message(
            "-f should be twice -w at least, so that files are looked at in time",
        );
    }
    if options.delay > write {
        crate::stderr::message("-z should not be above -w");
    }
    if options.make_folders && !options.only_base {
        crate::stderr::message("-R has no effect without -B");
    }
}

/// Opens everything and starts the daemon.
fn begin(
    options: &Options,
    sockets: &[(String, Rights)],
    given: Vec<rrdcached::Listener>,
    tls: Option<&ServerTls>,
) -> anyhow::Result<(Server, Option<PidFile>)> {
    end_signals::block()?;
    let (mut listeners, mut metrics) = (given, Vec::new());
    let paths = PathRules::new(&options.base, options.only_base, options.make_folders)?;
    let user = user(options)?;
    // Sockets that systemd gives replace those of -l.
    if listeners.is_empty() {
        for (address, rights) in sockets {
            listeners.extend(sockets::listen(&sockets::parse(address)?, rights, tls)?);
        }
    }
    if let Some(address) = &options.metrics {
        let opened = sockets::listen(&sockets::parse(address)?, &Rights::default(), tls)?;
        let listener =
            |opened: rrdcached::Listener| ServerListener { socket: opened.socket, tls: opened.tls };
        metrics.extend(opened.into_iter().map(listener));
    }
    if listeners.is_empty() {
        bail!("no socket to listen on");
    }
    let held = match &options.pid_file {
        Some(path) => Some(PidFile::at(path)?),
        None if options.foreground => None,
        None => Some(PidFile::at(Path::new(DEFAULT_PID_FILE))?),
    };
    let machine =
        machine::LocalMachine::new(&options.log_level, options.log.as_deref(), options.foreground)?;
    if let Some(user) = &user {
        if let Some(held) = &held {
            held.give_to(user.uid, user.gid);
        }
        user.become_it()?;
    }
    std::env::set_current_dir(paths.base())
        .with_context(|| format!("cannot go to {}", paths.base().display()))?;
    let settings = DaemonSettings {
        paths,
        write_seconds: options.write.unwrap_or(match options.journal {
            Some(_) => JOURNAL_WRITE_SECONDS,
            None => WRITE_SECONDS,
        }),
        crowded_write_seconds: options.write.unwrap_or(WRITE_SECONDS),
        delay_seconds: options.delay,
        scan_seconds: options.scan.max(1),
        writers: usize::from(options.writers),
        journal: options.journal.clone(),
        keeps_files: options.keep_files,
        limits: Limits {
            memory_bytes: options.memory << 20,
            connections: usize::try_from(options.clients)?,
            connections_of_a_client: usize::try_from(options.clients_each)?,
            ..Limits::default()
        },
    };
    let daemon = CachingDaemon::new(settings, Box::new(machine))?;
    Ok((Server::start(daemon, listeners, metrics).context("cannot start threads")?, held))
}

/// The user that the daemon becomes.
fn user(options: &Options) -> anyhow::Result<Option<User>> {
    let text = match (&options.user, &options.group) {
        (None, None) => return Ok(None),
        (Some(user), None) => user.clone(),
        (Some(user), Some(group)) => format!("{user}:{group}"),
        (None, Some(group)) => format!("{}:{group}", rustix::process::geteuid().as_raw()),
    };
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let group = std::fs::read_to_string("/etc/group").unwrap_or_default();
    User::parse(&text, &passwd, &group).map(Some)
}

/// What `-P` and `--ack` say.
fn permissions(list: &str) -> Result<Permissions, String> {
    Permissions::read(list).map_err(|word| format!("-P: there is no command '{word}'"))
}

fn acknowledge(text: &str) -> Acknowledge {
    match text {
        "none" => Acknowledge::None,
        "disk" => Acknowledge::Disk,
        _ => Acknowledge::Os,
    }
}
