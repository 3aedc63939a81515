//! Jobs on other hosts: `-S` and its company, from the command line to what the engine takes.
//!
//! Hosts are asked for their CPU threads only where neither the login (`8/host`) nor `-j` says how
//! many jobs they get; all of them at the same time.  Base files are sent before the first job and
//! removed after the last by commands of their own.

mod answers;
mod filter;
mod logins;
mod masters;
mod newcomers;

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use run::engine::world::Waker;
use run::engine::{Observer as _, Reached, Remote, Rereading, SshDelay};
use run::remote::files::FilePath;
use run::remote::{Connection, Hosts, Login, Place, Workdir, command};
use run::schedule::{Jobs, Limit, Machine, Swapped};
use run::units;
use template::{Syntax, Template};

use self::logins::Sources;
use self::masters::Masters;
use self::newcomers::{Files, Newcomers};
use super::arguments::{JobArguments, RunArguments};
use super::notice::Notices;

/// What is read of a host's answer: a number, and what a talkative login says before it.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Where jobs run.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Hosts")]
pub(crate) struct HostArguments {
    /// Run jobs there: [@GROUP/][THREADS/][SSH ][USER@]HOST[:PORT],…; web[01-12] is twelve, : is
    /// here
    #[arg(short = 'S', long = "sshlogin", value_name = "LOGINS")]
    pub(crate) logins: Vec<String>,

    /// Logins from the lines of a file, read again when it has changed; - is standard input, .. ~/.parallel/sshloginfile
    #[arg(long = "sshloginfile", visible_alias = "slf", value_name = "FILE")]
    pub(crate) login_files: Vec<String>,

    /// The program that logs in, with its options [$PARALLEL_SSH, else ssh]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) ssh: Option<String>,

    /// A value x@GROUP+… is x, for hosts of these groups alone
    #[arg(long, visible_alias = "hgrp", conflicts_with_all = ["onall", "nonall"])]
    pub(crate) hostgroups: bool,

    /// Leave out hosts that let nobody in or have no shell
    #[arg(long)]
    pub(crate) filter_hosts: bool,

    /// Wait so long between two starts on other hosts
    #[arg(long, alias = "sshdelay", value_name = "DURATION")]
    pub(crate) ssh_delay: Option<String>,

    /// One connection to each host, which its jobs share; of OpenSSH's ssh alone
    #[arg(short = 'M', long)]
    pub(crate) controlmaster: bool,

    /// Run all jobs on each host, one at a time and in order, on -j hosts at once
    #[arg(long, conflicts_with = "nonall")]
    pub(crate) onall: bool,

    /// Run the command once on each host, without values
    #[arg(long)]
    pub(crate) nonall: bool,

    /// Send this file before its job, by tar; below the folder of the jobs if it is relative
    #[arg(long = "transferfile", visible_alias = "tf", value_name = "NAME")]
    pub(crate) send: Vec<OsString>,

    /// As --transferfile {}
    #[arg(long)]
    pub(crate) transfer: bool,

    /// Bring this file back after its job
    #[arg(long = "return", value_name = "NAME")]
    pub(crate) bring: Vec<OsString>,

    /// Remove there what was sent and brought back
    #[arg(long)]
    pub(crate) cleanup: bool,

    /// As --transfer --return NAME --cleanup
    #[arg(long, value_name = "NAME")]
    pub(crate) trc: Vec<OsString>,

    /// Send this file to each host before its first job
    #[arg(long = "basefile", visible_alias = "bf", value_name = "FILE")]
    pub(crate) base_files: Vec<OsString>,

    /// Variables and functions that jobs there get too: NAME,…
    #[arg(long = "env", value_name = "NAMES")]
    pub(crate) variables: Vec<String>,
}

impl HostArguments {
    /// Whether any host is named.
    pub(crate) fn is_used(&self) -> bool {
        !self.logins.is_empty()
            || !self.login_files.is_empty()
            || self.is_everywhere()
            || self.hostgroups
    }

    /// Whether every host runs all jobs.
    pub(crate) fn is_everywhere(&self) -> bool {
        self.onall || self.nonall
    }
}

/// Hosts that are ready, and what is to be done around all jobs.
pub(crate) struct Prepared {
    /// What the engine takes; none if all jobs run here.
    pub(crate) remote: Remote,
    /// How many jobs run at once on all hosts.
    pub(crate) slots: u32,
    /// What is to be done after all jobs.
    pub(crate) after: After,
}

/// What is done after all jobs, when this is dropped.
#[derive(Default)]
pub(crate) struct After {
    /// Commands that remove the base files.
    base: Vec<Vec<Vec<u8>>>,
    /// Connections that are ended, later than those commands.
    _masters: Option<Masters>,
}

impl Drop for After {
    fn drop(&mut self) {
        clean(&self.base);
    }
}

/// Refuses what cannot be had on other hosts.
pub(crate) fn check(arguments: &RunArguments) -> anyhow::Result<()> {
    let RunArguments { hosts, schedule, jobs, .. } = arguments;
    if !hosts.is_used() {
        return Ok(());
    }
    if hosts.is_everywhere() {
        check_everywhere(arguments)?;
    }
    if hosts.variables.iter().any(|names| names.split(',').any(|name| name == "_")) {
        bail!("--env _: there is no record of an earlier environment; name the variables");
    }
    let limit = schedule.limit.as_ref().and_then(|text| Limit::parse(text.as_bytes()).ok());
    let is_rule = limit.is_some_and(|limit| !matches!(limit, Limit::Command(_)));
    for (is_given, option) in [
        (jobs.tty, "--tty: jobs there have no terminal"),
        (jobs.nice != 0, "--nice: write nice(1) into the command"),
        (schedule.load.is_some(), "--load: it is this machine's"),
        (schedule.memfree.is_some(), "--memfree: it is this machine's"),
        (schedule.memsuspend.is_some(), "--memsuspend: it is this machine's"),
        (schedule.noswap, "--noswap: it is this machine's"),
        (is_rule, "--limit of load, mem or io: they are this machine's; a command can ask hosts"),
    ] {
        if is_given {
            bail!("-S cannot be had with {option}");
        }
    }
    Ok(())
}

/// Refuses what cannot be had where every host runs all jobs.
fn check_everywhere(arguments: &RunArguments) -> anyhow::Result<()> {
    let RunArguments { hosts, pipe, output, .. } = arguments;
    let name = if hosts.onall { "--onall" } else { "--nonall" };
    let is_tree = output.results.as_ref().is_some_and(|name| {
        let name = name.as_bytes();
        ![&b".csv"[..], b".tsv", b".json"].iter().any(|ending| name.ends_with(ending))
    });
    for (is_given, what) in [
        (output.resume, "--resume: the joblog has a job 1 of each host"),
        (output.resume_failed, "--resume-failed: the joblog has a job 1 of each host"),
        (output.retry_failed, "--retry-failed: the joblog has a job 1 of each host"),
        (
            is_tree,
            "--results of files: those of one host would replace those of another; a table (.csv) has all",
        ),
        (pipe.pipe || pipe.pipe_part, "--pipe: a block is read once"),
    ] {
        if is_given {
            bail!("{name} cannot be had with {what}");
        }
    }
    Ok(())
}

/// Reads the logins, asks hosts how large they are, sends base files.
pub(crate) fn prepare(
    arguments: &RunArguments,
    syntax: &Syntax,
    machine: &mut dyn Machine,
    waker: Waker,
) -> anyhow::Result<Option<Prepared>> {
    let RunArguments { hosts, schedule, jobs, output, .. } = arguments;
    let sources = Sources::of(hosts)?;
    let stamps = sources.stamps();
    let Some(logins) = logins(arguments, &sources)? else { return Ok(None) };
    let is_far = is_far(&logins);
    let mut connection = connection(hosts)?;
    let logins = match hosts.filter_hosts {
        true => filter::reachable(logins, &connection)?,
        false => logins,
    };
    if logins.is_empty() {
        bail!("-S: no host is left of those that are named");
    }
    let alive = alive()?;
    let shares = hosts.controlmaster && is_far && !jobs.dry_run;
    let _masters = match shares && masters::is_openssh(&connection) {
        true => Some(Masters::make(&logins, &mut connection, &alive)?),
        false => None,
    };
    let each = Jobs::parse(schedule.jobs.as_deref().unwrap_or("100%"))?;
    if each.is_file() || each.is_auto() {
        bail!("-S cannot be had with a -j that changes: give a number");
    }
    let limits = match hosts.is_everywhere() {
        true => vec![1; logins.len()],
        false => limits(&logins, &each, &connection, machine)?,
    };
    let counted = Hosts::new(&limits);
    let slots = match hosts.is_everywhere() {
        true => each.evaluate(machine)?,
        false => counted.slots(),
    };
    let current = std::env::current_dir().unwrap_or_default().into_os_string().into_vec();
    let home = std::env::var_os("HOME").unwrap_or_default().into_vec();
    let names = logins.iter().map(|login| login.name.clone());
    let known = names.zip(limits.iter().copied()).collect();
    let newcomers = Newcomers {
        jobs: each,
        connection: connection.clone(),
        needs_base: !hosts.base_files.is_empty(),
    };
    let rereading = (!stamps.is_empty() && !hosts.is_everywhere()).then(|| {
        let (newcomers, found) = (newcomers.clone(), Arc::default());
        let filters = hosts.filter_hosts;
        let files = Files { sources, newcomers, filters, known, stamps, waker, found };
        Rereading::new(Box::new(files))
    });
    let places = logins.into_iter().map(|login| reached(login, &connection));
    let places: Vec<Reached> = places.collect::<anyhow::Result<_>>()?;
    let base = match !hosts.base_files.is_empty() && is_far && !jobs.dry_run {
        true => {
            let workdir = base_workdir(jobs, syntax, &current, &home)?;
            send_base(hosts, &places, &connection, &workdir)?
        }
        false => Vec::new(),
    };
    let host = rustix::system::uname().nodename().to_bytes().to_vec();
    let remote = Remote {
        places,
        hosts: counted,
        connection,
        delay: ssh_delay(hosts)?,
        shell: Arc::new(CString::from(c"/bin/sh")),
        send: sent(hosts, syntax)?,
        bring: templates(hosts.bring.iter().chain(&hosts.trc), syntax)?,
        cleanup: hosts.cleanup || !hosts.trc.is_empty(),
        environment: environment(hosts),
        slot_variable: jobs.process_slot_var.as_ref().map(|name| name.clone().into_bytes()),
        alive,
        current,
        home,
        unique: [&host, b"-".as_slice(), std::process::id().to_string().as_bytes()].concat(),
        rereading,
        newcomers: hosts.hostgroups.then(|| Box::new(newcomers) as Box<_>),
        is_everywhere: hosts.is_everywhere(),
        tags_host: hosts.is_everywhere() && output.tag && output.tagstring.is_none(),
    };
    Ok(Some(Prepared { remote, slots, after: After { base, _masters } }))
}

/// The logins that are named; none where jobs run here without any.
fn logins(arguments: &RunArguments, sources: &Sources) -> anyhow::Result<Option<Vec<Login>>> {
    let RunArguments { hosts, jobs, .. } = arguments;
    let logins = if hosts.is_used() { sources.read()? } else { Vec::new() };
    if !is_far(&logins) {
        warn_of_idle(hosts);
    }
    let is_here = logins.is_empty() || logins.iter().any(|login| login.place == Place::Here);
    if is_here && jobs.workdir.as_deref().is_some_and(|folder| folder == "...") {
        bail!("--workdir ...: only jobs on other hosts have folders of their own");
    }
    Ok(hosts.is_used().then_some(logins))
}

/// Whether any of them is not this machine.
fn is_far(logins: &[Login]) -> bool {
    logins.iter().any(|login| login.place != Place::Here)
}

/// Where base files go: the folder that all jobs share.
fn base_workdir(
    jobs: &JobArguments,
    syntax: &Syntax,
    current: &[u8],
    home: &[u8],
) -> anyhow::Result<Workdir> {
    let text = jobs.workdir.as_deref().unwrap_or_default().as_bytes();
    if text == b"..." || Template::parse(&[text.to_vec()], syntax)?.has_values() {
        bail!("--basefile needs a --workdir that is the same for all jobs");
    }
    Ok(Workdir::parse(text, current, home, b""))
}

/// The reading end of a pipe whose other end is open until we end, however that comes: then
/// whatever reads it there ends too.
fn alive() -> anyhow::Result<OwnedFd> {
    let (alive, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    std::mem::forget(writer);
    Ok(rustix::io::fcntl_dupfd_cloexec(&alive, 3)?)
}

/// The time between two starts on other hosts.
fn ssh_delay(hosts: &HostArguments) -> anyhow::Result<Option<SshDelay>> {
    let Some(text) = &hosts.ssh_delay else { return Ok(None) };
    let wait = units::duration(text).with_context(|| format!("--ssh-delay {text}"))?;
    Ok(Some(SshDelay::new(wait)))
}

/// Tells of options that do nothing, as no job runs on another host.
fn warn_of_idle(hosts: &HostArguments) {
    for (is_given, name) in [
        (!hosts.send.is_empty(), "--transferfile"),
        (hosts.transfer, "--transfer"),
        (!hosts.bring.is_empty(), "--return"),
        (!hosts.trc.is_empty(), "--trc"),
        (hosts.cleanup, "--cleanup"),
        (!hosts.base_files.is_empty(), "--basefile"),
    ] {
        if is_given {
            Notices.tell(format!("{name} does nothing: no job runs on another host").as_bytes());
        }
    }
}

fn connection(hosts: &HostArguments) -> anyhow::Result<Connection> {
    let asked = hosts.ssh.clone().or_else(|| std::env::var("PARALLEL_SSH").ok());
    let Some(text) = asked.filter(|text| !text.trim().is_empty()) else {
        return Ok(Connection::default());
    };
    if text.contains(['\'', '"', '\\', '$', '`']) {
        bail!("--ssh '{text}': it is words with blanks between them, and no shell reads it");
    }
    let program = text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
    Ok(Connection { program, control: None })
}

fn reached(login: Login, connection: &Connection) -> anyhow::Result<Reached> {
    let program = match &login.place {
        Place::Here => PathBuf::from("/bin/sh"),
        Place::There(ssh) => {
            let words = connection.words(ssh);
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = words.first().and_then(|name| spawn::find_program(name, path.as_bytes()));
            found.with_context(|| {
                let name = words.first().map(|name| String::from_utf8_lossy(name).into_owned());
                format!("-S {}: there is no program {}", login.name, name.unwrap_or_default())
            })?
        }
    };
    let program = Arc::new(CString::new(program.into_os_string().into_vec())?);
    Ok(Reached { login, program, is_newcomer: false })
}

fn templates<'a>(
    texts: impl Iterator<Item = &'a OsString>,
    syntax: &Syntax,
) -> anyhow::Result<Vec<Template>> {
    let parse = |text: &OsString| Ok(Template::parse(&[text.as_bytes().to_vec()], syntax)?);
    texts.map(parse).collect()
}

/// What is sent before each job.
fn sent(hosts: &HostArguments, syntax: &Syntax) -> anyhow::Result<Vec<Template>> {
    let value = syntax.renames.value.clone().unwrap_or_else(|| b"{}".to_vec());
    let value = OsString::from_vec(value);
    let all = (hosts.transfer || !hosts.trc.is_empty()).then_some(&value);
    templates(hosts.send.iter().chain(all), syntax)
}

/// What jobs there have in their environment.
fn environment(hosts: &HostArguments) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pid = std::process::id().to_string().into_bytes();
    let mut all = vec![(b"PARALLEL_PID".to_vec(), pid)];
    for name in hosts.variables.iter().flat_map(|names| names.split(',')) {
        for name in [name.to_owned(), format!("BASH_FUNC_{name}%%")] {
            if let Some(value) = std::env::var_os(&name).filter(|_| !name.is_empty()) {
                all.push((name.into_bytes(), value.into_vec()));
            }
        }
    }
    all
}

/// How many jobs each host gets.
fn limits(
    logins: &[Login],
    jobs: &Jobs,
    connection: &Connection,
    machine: &mut dyn Machine,
) -> anyhow::Result<Vec<u32>> {
    let mut sized = Sized { machine, threads: None, was_asked: false };
    jobs.evaluate(&mut sized)?;
    let ask = sized.was_asked;
    let asked: Vec<Option<io::Result<Child>>> = logins
        .iter()
        .map(|login| match &login.place {
            Place::There(ssh) if ask && login.threads.is_none() => {
                let mut command = words(&connection.ask_threads(ssh));
                Some(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn())
            }
            _ => None,
        })
        .collect();
    let mut limits = Vec::new();
    for (login, asked) in logins.iter().zip(asked) {
        sized.threads = login.threads.or_else(|| {
            let text = asked?.ok().and_then(answer);
            let number = text.and_then(|text| text.trim().parse().ok()).filter(|&n: &u32| n > 0);
            if number.is_none() {
                let text = format!("{} does not tell its CPU threads: it gets 1", login.name);
                Notices.tell(text.as_bytes());
            }
            Some(number.unwrap_or(1))
        });
        limits.push(jobs.evaluate(&mut sized)?);
    }
    Ok(limits)
}

/// What a child writes.  It may be the engine that waits for its end.
fn answer(mut child: Child) -> Option<String> {
    let mut bytes = Vec::new();
    child.stdout.take()?.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let _ = child.wait();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sends the base files to all hosts at the same time; the commands that remove them again.
fn send_base(
    hosts: &HostArguments,
    places: &[Reached],
    connection: &Connection,
    workdir: &Workdir,
) -> anyhow::Result<Vec<Vec<Vec<u8>>>> {
    let paths = hosts.base_files.iter().map(|file| FilePath::parse(file.as_bytes()));
    let paths: Vec<FilePath> = paths.collect::<Result<_, _>>()?;
    let mut sending = Vec::new();
    let mut after = Vec::new();
    for Reached { login, .. } in places {
        let Place::There(ssh) = &login.place else { continue };
        let line = command::send_base(connection, ssh, workdir, &paths);
        let child = words(&line).stdin(Stdio::null()).spawn();
        sending.push((login, child.context("cannot send base files")?));
        if hosts.cleanup || !hosts.trc.is_empty() {
            after.push(command::remove_base(connection, ssh, workdir, &paths));
        }
    }
    let mut failed = Vec::new();
    for (login, mut child) in sending {
        if !child.wait().is_ok_and(|status| status.success()) {
            failed.push(login.name.as_str());
        }
    }
    if !failed.is_empty() {
        clean(&after);
        bail!("--basefile: cannot send to {}", failed.join(", "));
    }
    Ok(after)
}

/// Runs what comes after all jobs.
fn clean(commands: &[Vec<Vec<u8>>]) {
    let start = |line: &Vec<Vec<u8>>| words(line).stdin(Stdio::null()).spawn();
    let children: Vec<io::Result<Child>> = commands.iter().map(start).collect();
    for child in children {
        if !child.and_then(|mut child| child.wait()).is_ok_and(|status| status.success()) {
            Notices.tell(b"--cleanup: base files may be left on a host");
        }
    }
}

fn words(line: &[Vec<u8>]) -> Command {
    let mut words = line.iter().map(|word| OsStr::from_bytes(word));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// A machine of another number of threads; remembers whether it was asked for it.
struct Sized<'a> {
    machine: &'a mut dyn Machine,
    threads: Option<u32>,
    was_asked: bool,
}

impl Machine for Sized<'_> {
    fn threads(&mut self) -> u32 {
        self.was_asked = true;
        self.threads.unwrap_or_else(|| self.machine.threads())
    }

    fn jobs_max(&mut self) -> u32 {
        self.machine.jobs_max()
    }

    fn busy_threads(&mut self) -> io::Result<u32> {
        self.machine.busy_threads()
    }

    fn memory_available_bytes(&mut self) -> io::Result<u64> {
        self.machine.memory_available_bytes()
    }

    fn swapped(&mut self) -> io::Result<Swapped> {
        self.machine.swapped()
    }

    fn disks_busy_ms(&mut self) -> io::Result<Vec<u64>> {
        self.machine.disks_busy_ms()
    }

    fn file(&mut self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        self.machine.file(path, bytes_max)
    }
}
