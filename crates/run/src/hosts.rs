//! Prepares the hosts of `-S` and `--sshloginfile`, before the first job and while jobs run.
//!
//! Hosts are queried for their number of CPU threads only if neither the login (`8/host`) nor `-j`
//! sets the number of slots; all hosts at the same time.  Base files are sent before the first job
//! and removed after the last one by separate commands.
//!
//! [`crate::remote`] makes the command lines; this module starts them and reads their answers.

mod answers;
mod control_masters;
mod filter;
mod joining;
mod logins;

use std::ffi::{CString, NulError, OsStr, OsString};
use std::fmt;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use template::{Syntax, Template, TemplateError};

use self::control_masters::ControlMasters;
use self::joining::{Connector, LoginFiles};
use self::logins::LoginSources;
use crate::engine::os::Waker;
use crate::engine::{JobHost, Remote, Rereading, SshDelay};
use crate::remote::files::{FilePath, PathError};
use crate::remote::{Connection, HostAddress, Hosts, Login, LoginError, Workdir, command};
use crate::schedule::{Jobs, JobsError, Machine, Swapped};
use crate::settings::{HostSettings, RunSettings};
use crate::units::{self, UnitError};

/// Most bytes that are read of a host's answer: a number, and what the login prints before it.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Why the hosts cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// A login is invalid.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// A number of jobs is invalid.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// A file name cannot be sent.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A replacement string in a file name is invalid.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A name contains a NUL.
    #[error(transparent)]
    Nul(#[from] NulError),
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A login file names another one.
    #[error("{0}: a login file cannot name another one")]
    NestedFile(String),
    /// `--ssh-delay` is no duration.
    #[error("--ssh-delay {text}: {error}")]
    Delay {
        /// The value as it was written.
        text: String,
        /// What is wrong with it.
        error: UnitError,
    },
    /// The user's login file is in the home folder, which is unknown.
    #[error("-S ..: HOME is not set")]
    NoHome,
    /// No host can be used.
    #[error("-S: none of the named hosts is left")]
    NoHost,
    /// The number of jobs may change.
    #[error("-S cannot be used with a -j that changes: give a number")]
    ChangingJobs,
    /// The directory for base files depends on the job.
    #[error("--basefile needs a --workdir that is the same for all jobs")]
    BaseFolder,
    /// Base files could not be sent.
    #[error("--basefile: cannot send to {0}")]
    BaseFiles(String),
    /// The command needs a shell.
    #[error("--ssh '{0}': give words separated by blanks, without shell syntax")]
    SshWords(String),
    /// The login program is not installed.
    #[error("-S {login}: there is no program {program}")]
    NoProgram {
        /// The login.
        login: String,
        /// The program's name.
        program: String,
    },
    /// A host joined after base files were sent.
    #[error("{0} joined after the files of --basefile were sent")]
    TooLate(String),
}

impl HostsError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| HostsError::System { what, error }
    }
}

/// Receives warnings of one line each; no warning ends the run.
#[derive(Clone)]
pub struct Warnings(Arc<dyn Fn(&str) + Send + Sync>);

impl Warnings {
    /// Calls `write` for each warning, from any thread.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Warnings(Arc::new(write))
    }

    /// Passes a warning on.
    pub fn warn(&self, text: &str) {
        (self.0)(text);
    }
}

impl fmt::Debug for Warnings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Warnings")
    }
}

/// Prepared hosts, and what is done after all jobs.
pub struct PreparedHosts {
    /// The hosts for the engine.
    pub remote: Remote,
    /// How many jobs run at once on all hosts.
    pub slots: u32,
    /// Cleans up after all jobs.
    pub after: AfterJobs,
}

/// Cleans up after all jobs, when it is dropped.
#[derive(Default)]
pub struct AfterJobs {
    /// Commands that remove the base files.
    base: Vec<Vec<Vec<u8>>>,
    warnings: Option<Warnings>,
    /// Connections that are closed after those commands.
    _control_masters: Option<ControlMasters>,
}

impl Drop for AfterJobs {
    fn drop(&mut self) {
        if let Some(warnings) = &self.warnings {
            remove_base(&self.base, warnings);
        }
    }
}

/// Reads the logins, queries their CPU threads, sends base files.
///
/// # Errors
///
/// Why hosts cannot be used.
pub fn prepare(
    settings: &RunSettings,
    syntax: &Syntax,
    machine: &mut dyn Machine,
    waker: Waker,
    warnings: &Warnings,
) -> Result<Option<PreparedHosts>, HostsError> {
    let RunSettings { hosts: options, jobs, output, user, .. } = settings;
    let delay = ssh_delay(options)?;
    let on_all_hosts = options.on_all_hosts();
    let sources = LoginSources::of(options, user.config_folder.as_deref())?;
    let stamps = sources.stamps();
    let Some(logins) = logins(settings, &sources, warnings)? else { return Ok(None) };
    let is_far = is_far(&logins);
    let mut connection = connection(ssh_program(settings))?;
    let logins = match options.filter_hosts {
        true => filter::reachable(logins, &connection, warnings)?,
        false => logins,
    };
    if logins.is_empty() {
        return Err(HostsError::NoHost);
    }
    let keepalive = keepalive().map_err(HostsError::system("cannot make a pipe"))?;
    let shares = options.controlmaster && is_far && !jobs.dry_run;
    let _control_masters = match shares && control_masters::is_openssh(&connection) {
        true => Some(ControlMasters::make(&logins, &mut connection, &keepalive, warnings)?),
        false => None,
    };
    let each = Jobs::parse(settings.schedule.jobs.as_deref().unwrap_or("100%"))?;
    if each.is_file() || each.is_auto() {
        return Err(HostsError::ChangingJobs);
    }
    let limits = match on_all_hosts {
        true => vec![1; logins.len()],
        false => limits(&logins, &each, &connection, machine, warnings)?,
    };
    let counted = Hosts::new(&limits);
    let path = user.bytes("PATH");
    let slots = match on_all_hosts {
        true => each.evaluate(machine)?,
        false => counted.slots(),
    };
    let names = logins.iter().map(|login| login.name.clone());
    let known = names.zip(limits.iter().copied()).collect();
    let connector = Connector {
        jobs: each,
        connection: connection.clone(),
        needs_base: !options.base_files.is_empty(),
        path: path.clone(),
        warnings: warnings.clone(),
    };
    let rereading = (!stamps.is_empty() && !on_all_hosts).then(|| {
        let (connector, found) = (connector.clone(), Arc::default());
        let filters = options.filter_hosts;
        let files = LoginFiles { sources, connector, filters, known, stamps, waker, found };
        Rereading::new(Box::new(files))
    });
    let job_hosts = logins.into_iter().map(|login| reached(login, &connection, &path));
    let job_hosts: Vec<JobHost> = job_hosts.collect::<Result<_, _>>()?;
    let base = match !options.base_files.is_empty() && is_far && !jobs.dry_run {
        true => send_base(options, &job_hosts, &connection, &base_workdir(settings, syntax)?)?,
        false => Vec::new(),
    };
    let remote = Remote {
        job_hosts,
        hosts: counted,
        connection,
        delay: delay.map(SshDelay::new),
        shell: Arc::new(CString::from(c"/bin/sh")),
        send: sent(options, syntax)?,
        bring: templates(options.fetched(), syntax)?,
        cleanup: options.removes_files(),
        environment: [vec![own_pid()], environment(settings)].concat(),
        slot_variable: jobs.process_slot_var.clone().map(String::into_bytes),
        alive: keepalive,
        current: user.current_folder.as_os_str().as_bytes().to_vec(),
        home: user.bytes("HOME"),
        unique: unique(),
        rereading,
        added_hosts: options.hostgroups.then(|| Box::new(connector) as Box<_>),
        on_all_hosts,
        tags_host: on_all_hosts && output.tag && output.tagstring.is_none(),
    };
    let after = AfterJobs { base, warnings: Some(warnings.clone()), _control_masters };
    Ok(Some(PreparedHosts { remote, slots, after }))
}

/// The logins that the options name; none if jobs run here without any.
fn logins(
    settings: &RunSettings,
    sources: &LoginSources,
    warnings: &Warnings,
) -> Result<Option<Vec<Login>>, HostsError> {
    let options = &settings.hosts;
    let logins = if options.is_used() { sources.read()? } else { Vec::new() };
    if !is_far(&logins) {
        for name in options.remote_only() {
            warnings.warn(&format!("{name} has no effect: no job runs on another host"));
        }
    }
    Ok(options.is_used().then_some(logins))
}

/// A name that no other runner on any host has.
pub(crate) fn unique() -> Vec<u8> {
    let system = rustix::system::uname();
    let process = std::process::id().to_string();
    [system.nodename().to_bytes(), b"-", process.as_bytes()].concat()
}

/// Whether any login is for another machine.
fn is_far(logins: &[Login]) -> bool {
    logins.iter().any(|login| login.address != HostAddress::Local)
}

/// The directory for base files, which all jobs must share.
fn base_workdir(settings: &RunSettings, syntax: &Syntax) -> Result<Workdir, HostsError> {
    let text = settings.jobs.workdir.as_deref().unwrap_or_default().as_bytes();
    if text == b"..." || Template::parse(&[text.to_vec()], syntax)?.has_values() {
        return Err(HostsError::BaseFolder);
    }
    let current = settings.user.current_folder.as_os_str().as_bytes();
    Ok(Workdir::parse(text, current, &settings.user.bytes("HOME"), b""))
}

/// The reading end of a pipe whose writing end stays open until this process ends, however it ends:
/// a process on another host that reads it ends then too.
fn keepalive() -> io::Result<OwnedFd> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    std::mem::forget(writer);
    Ok(rustix::io::fcntl_dupfd_cloexec(&reader, 3)?)
}

/// The login program from the words of `--ssh`.
fn connection(ssh: Option<&str>) -> Result<Connection, HostsError> {
    let Some(text) = ssh.filter(|text| !text.trim().is_empty()) else {
        return Ok(Connection::default());
    };
    if text.contains(['\'', '"', '\\', '$', '`']) {
        return Err(HostsError::SshWords(text.to_owned()));
    }
    let program = text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
    Ok(Connection { program, control: None })
}

fn reached(login: Login, connection: &Connection, path: &[u8]) -> Result<JobHost, HostsError> {
    let program = match &login.address {
        HostAddress::Local => PathBuf::from("/bin/sh"),
        HostAddress::Remote(ssh) => {
            let words = connection.words(ssh);
            let found = words.first().and_then(|name| spawn::find_program(name, path));
            found.ok_or_else(|| {
                let name = words.first().map(|name| String::from_utf8_lossy(name).into_owned());
                let program = name.unwrap_or_default();
                HostsError::NoProgram { login: login.name.clone(), program }
            })?
        }
    };
    let program = Arc::new(CString::new(program.into_os_string().into_vec())?);
    Ok(JobHost { login, program, is_added: false })
}

fn templates<'a>(
    texts: impl Iterator<Item = &'a OsString>,
    syntax: &Syntax,
) -> Result<Vec<Template>, HostsError> {
    let parse = |text: &OsString| Ok(Template::parse(&[text.as_bytes().to_vec()], syntax)?);
    texts.map(parse).collect()
}

/// The time between two starts on other hosts (`--ssh-delay`).
pub(crate) fn ssh_delay(options: &HostSettings) -> Result<Option<Duration>, HostsError> {
    let parse = |text: &String| {
        let delay = units::duration(text);
        delay.map_err(|error| HostsError::Delay { text: text.clone(), error })
    };
    options.ssh_delay.as_ref().map(parse).transpose()
}

/// The program that logs in, with its options; `None`: ssh.
fn ssh_program(settings: &RunSettings) -> Option<&str> {
    let of_environment = || settings.user.variable("PARALLEL_SSH")?.to_str();
    settings.hosts.ssh.as_deref().or_else(of_environment)
}

/// The variables of `--env` and the shell functions of these names, for jobs on other hosts.
fn environment(settings: &RunSettings) -> Vec<(Vec<u8>, Vec<u8>)> {
    let names = settings.hosts.variable_names().filter(|name| !name.is_empty());
    let names = names.flat_map(|name| [name.to_owned(), format!("BASH_FUNC_{name}%%")]);
    let set = |name: String| {
        let value = settings.user.variable(&name)?.as_bytes().to_vec();
        Some((name.into_bytes(), value))
    };
    names.filter_map(set).collect()
}

/// The variable that gives jobs the process number of the runner.
fn own_pid() -> (Vec<u8>, Vec<u8>) {
    (b"PARALLEL_PID".to_vec(), std::process::id().to_string().into_bytes())
}

/// The templates of files that are sent before each job.
fn sent(options: &HostSettings, syntax: &Syntax) -> Result<Vec<Template>, HostsError> {
    let value = syntax.renames.value.clone().unwrap_or_else(|| b"{}".to_vec());
    let value = OsString::from_vec(value);
    templates(options.send.iter().chain(options.sends_value().then_some(&value)), syntax)
}

/// The number of slots of each host.
fn limits(
    logins: &[Login],
    jobs: &Jobs,
    connection: &Connection,
    machine: &mut dyn Machine,
    warnings: &Warnings,
) -> Result<Vec<u32>, HostsError> {
    let mut sized = WithThreads { machine, threads: None, was_asked: false };
    jobs.evaluate(&mut sized)?;
    let ask = sized.was_asked;
    let asked: Vec<Option<io::Result<Child>>> = logins
        .iter()
        .map(|login| match &login.address {
            HostAddress::Remote(ssh) if ask && login.threads.is_none() => {
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
                warnings.warn(&format!(
                    "{} does not report its CPU threads: it gets 1 slot",
                    login.name
                ));
            }
            Some(number.unwrap_or(1))
        });
        limits.push(jobs.evaluate(&mut sized)?);
    }
    Ok(limits)
}

/// The output of a child.  The engine may already have waited for the child.
fn answer(mut child: Child) -> Option<String> {
    let mut bytes = Vec::new();
    child.stdout.take()?.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let _ = child.wait();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Sends the base files to all hosts at the same time; returns the commands that remove them.
fn send_base(
    options: &HostSettings,
    job_hosts: &[JobHost],
    connection: &Connection,
    workdir: &Workdir,
) -> Result<Vec<Vec<Vec<u8>>>, HostsError> {
    let paths = options.base_files.iter().map(|file| FilePath::parse(file.as_bytes()));
    let paths: Vec<FilePath> = paths.collect::<Result<_, _>>()?;
    let mut sending = Vec::new();
    let mut after = Vec::new();
    for JobHost { login, .. } in job_hosts {
        let HostAddress::Remote(ssh) = &login.address else { continue };
        let line = command::send_base(connection, ssh, workdir, &paths);
        let child = words(&line).stdin(Stdio::null()).spawn();
        sending.push((login, child.map_err(HostsError::system("cannot send base files"))?));
        if options.removes_files() {
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
        start_and_wait(&after);
        return Err(HostsError::BaseFiles(failed.join(", ")));
    }
    Ok(after)
}

/// Removes the base files, and warns if that failed.
fn remove_base(commands: &[Vec<Vec<u8>>], warnings: &Warnings) {
    for _ in 0..start_and_wait(commands) {
        warnings.warn("--cleanup: base files may be left on a host");
    }
}

/// Runs commands at the same time; returns how many failed.
fn start_and_wait(commands: &[Vec<Vec<u8>>]) -> usize {
    let start = |line: &Vec<Vec<u8>>| words(line).stdin(Stdio::null()).spawn();
    let children: Vec<io::Result<Child>> = commands.iter().map(start).collect();
    let succeeds = |child: io::Result<Child>| {
        child.and_then(|mut child| child.wait()).is_ok_and(|status| status.success())
    };
    children.into_iter().map(succeeds).filter(|succeeds| !succeeds).count()
}

fn words(line: &[Vec<u8>]) -> Command {
    let mut words = line.iter().map(|word| OsStr::from_bytes(word));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// A machine with another number of threads; remembers whether that was used.
struct WithThreads<'a> {
    machine: &'a mut dyn Machine,
    threads: Option<u32>,
    was_asked: bool,
}

impl Machine for WithThreads<'_> {
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
