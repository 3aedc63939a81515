//! Jobs on other hosts: which host a job gets, and which process runs here for it.
//!
//! A job on another host is a process here (ssh, or a shell that sends files, runs ssh and fetches
//! files), so signals, timeouts, output and exit codes work as for any other job. [`crate::remote`]
//! makes the command line of that process.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::remote::files::FilePath;
use crate::remote::{self, Connection, HostAddress, Hosts, Login, Workdir};

/// A host, and the program that reaches it.
#[derive(Debug)]
pub struct JobHost {
    /// The address of the host, and its name in the joblog.
    pub login: Login,
    /// The file of the login program; the user's shell for this machine.
    pub program: Arc<CString>,
    /// A value named it (`--hostgroups`), so it is in no login file.
    pub is_added: bool,
}

/// Where jobs run, unless all run here.
#[derive(Debug)]
pub struct Remote {
    /// The hosts, in the order of [`Remote::hosts`].
    pub job_hosts: Vec<JobHost>,
    /// How many jobs run on each.
    pub hosts: Hosts,
    /// How they are reached.
    pub connection: Connection,
    /// `--ssh-delay`: the time between two starts on other hosts.
    pub delay: Option<SshDelay>,
    /// The shell here that runs the commands that send and fetch files.
    pub shell: Arc<CString>,
    /// `--transferfile`.
    pub send: Vec<Template>,
    /// `--return`.
    pub bring: Vec<Template>,
    /// `--cleanup`.
    pub cleanup: bool,
    /// Environment variables of jobs on other hosts: `PARALLEL_PID`, `--env`.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// `--process-slot-var`.
    pub slot_variable: Option<Vec<u8>>,
    /// The reading end of a pipe without data: at its end-of-file jobs on other hosts end.
    pub alive: OwnedFd,
    /// Our working directory.
    pub current: Vec<u8>,
    /// The user's home directory.
    pub home: Vec<u8>,
    /// A text that is unique to this run on any host, for the names of its directories.
    pub unique: Vec<u8>,
    /// `--sshloginfile`: reads the login files again when they have changed.
    pub rereading: Option<Rereading>,
    /// `--hostgroups`: adds the hosts of groups that no host is in.
    pub added_hosts: Option<Box<dyn AddedHosts>>,
    /// `--onall`: every host runs all jobs.
    pub on_all_hosts: bool,
    /// `--onall --tag`: lines begin with the name of the host.
    pub tags_host: bool,
}

/// `--ssh-delay`.
#[derive(Clone, Copy, Debug)]
pub struct SshDelay {
    wait: Duration,
    /// No job starts on another host before this time.
    until: Option<Instant>,
}

impl SshDelay {
    /// Waits for this time after each start.
    pub fn new(wait: Duration) -> Self {
        SshDelay { wait, until: None }
    }
}

impl Remote {
    /// The host for a job, if one has room for it.
    fn pick(&self, job: &Job, now: Instant) -> Option<usize> {
        let allowed = |at: usize| match &job.groups {
            Some(groups) => self.job_hosts[at].is_in(groups),
            None => !self.on_all_hosts || at == job.host,
        };
        let host = self.hosts.pick(job.seq, allowed)?;
        if self.is_here(host) || self.delayed_until(now).is_none() {
            return Some(host);
        }
        // Hosts that need no ssh need no delay.
        let here = |at| allowed(at) && self.is_here(at) && !self.hosts.has_failed(job.seq, at);
        self.hosts.pick(job.seq, here)
    }

    fn is_here(&self, host: usize) -> bool {
        self.job_hosts.get(host).is_none_or(|reached| reached.login.address == HostAddress::Local)
    }

    /// The time before which no job starts on another host, if that is in the future.
    pub(super) fn delayed_until(&self, now: Instant) -> Option<Instant> {
        self.delay?.until.filter(|until| *until > now)
    }

    /// A job was started on this host.
    pub(super) fn started(&mut self, host: usize, now: Instant) {
        self.hosts.started(host);
        if !self.is_here(host)
            && let Some(delay) = &mut self.delay
        {
            delay.until = Some(now + delay.wait);
        }
    }
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// The host for a job, if one has room for it; 0 if all run here.
    pub(super) fn host_for(&self, job: &Job) -> Option<usize> {
        self.options.remote.as_ref().map_or(Some(0), |remote| remote.pick(job, self.os.now()))
    }

    /// The slot number that a job sees; with `--onall` each host has one slot.
    pub(super) fn slot_on_host(&self, job: &Job) -> u32 {
        if self.all_hosts.is_some() { 1 } else { job.slot }
    }

    /// How many jobs each host gets if all run on every host; otherwise how many there are.
    pub(super) fn total_on_host(&self) -> Option<u64> {
        let hosts = self.options.remote.as_ref().filter(|remote| remote.on_all_hosts);
        let hosts = hosts.map_or(1, |remote| remote.job_hosts.len().max(1) as u64);
        self.total.map(|total| total / hosts)
    }

    /// The hosts and the host of the job, if it does not run here.
    pub(super) fn remote_host(&self, job: &Job) -> Option<(&Remote, &JobHost)> {
        let remote = self.options.remote.as_ref()?;
        let reached = remote.job_hosts.get(job.host)?;
        (reached.login.address != HostAddress::Local).then_some((remote, reached))
    }

    /// The name of a job's host in the joblog.
    pub(super) fn host_name(&self, job: &Job) -> String {
        self.remote_host(job)
            .map_or_else(|| ":".to_owned(), |(_, reached)| reached.login.name.clone())
    }

    /// The name of the host that begins the job's lines instead of the tag.
    pub(super) fn host_tag(&self, job: &Job) -> Option<&str> {
        let remote = self.options.remote.as_ref().filter(|remote| remote.tags_host)?;
        remote.job_hosts.get(job.host).map(|reached| reached.login.name.as_str())
    }

    /// Fills in the program and its arguments for a job on another host; false for a job that runs
    /// here.
    pub(super) fn launch_remotely(
        &self,
        job: &mut Job,
        launch: &mut Launch,
    ) -> Result<bool, EngineError> {
        let Some((remote, reached)) = self.remote_host(job) else { return Ok(false) };
        let HostAddress::Remote(ssh) = &reached.login.address else { return Ok(false) };
        if memchr::memchr(0, &job.command).is_some() {
            return Err(RenderError::Nul { seq: job.seq }.into());
        }
        let mut text = Vec::new();
        self.bare(self.options.directory.as_ref(), job, &mut text)?;
        let unique = [&remote.unique, b"-".as_slice(), job.seq.to_string().as_bytes()].concat();
        let workdir = Workdir::parse(&text, &remote.current, &remote.home, &unique);
        let send = self.paths(&remote.send, job)?;
        let bring = self.paths(&remote.bring, job)?;
        let environment = self.remote_environment(remote, reached, job);
        // With --pipe a job reads its block up to end-of-file, and ends by itself.
        let data = job.sending.as_ref().and_then(|sending| sending.reader());
        let remote_job = remote::Job {
            command: &job.command,
            workdir: &workdir,
            environment: &environment,
            stdin: if data.is_some() {
                remote::RemoteStdin::Data
            } else {
                remote::RemoteStdin::Alive
            },
            send: &send,
            bring: &bring,
            cleanup: remote.cleanup,
        };
        let words = remote_job.words(&remote.connection, ssh);
        let is_shell = words.first().is_some_and(|word| word == b"sh");
        launch.program = Arc::clone(if is_shell { &remote.shell } else { &reached.program });
        let (seq, limit) = (job.seq, ARGUMENT_BYTES_MAX);
        launch.arguments.set(|list| {
            for word in &words {
                if word.len() > limit {
                    return Err(EngineError::TooLong { seq, bytes: word.len(), limit });
                }
                spawn::push_word(list, word);
            }
            Ok(())
        })?;
        launch.streams[0] = data.or(Some(remote.alive.as_raw_fd()));
        job.sent_bytes = send.iter().map(bytes_of).sum();
        job.bring = bring;
        Ok(true)
    }

    /// The paths that templates name for a job.
    fn paths(&self, templates: &[Template], job: &Job) -> Result<Vec<FilePath>, EngineError> {
        let mut paths = Vec::new();
        for template in templates {
            let mut text = Vec::new();
            self.bare(Some(template), job, &mut text)?;
            paths.push(FilePath::parse(&text)?);
        }
        Ok(paths)
    }

    /// The environment variables of a job on another host.
    fn remote_environment(
        &self,
        remote: &Remote,
        reached: &JobHost,
        job: &Job,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut all = remote.environment.clone();
        let mut add = |name: &[u8], value: String| all.push((name.to_vec(), value.into_bytes()));
        let slot = self.slot_on_host(job);
        add(b"PARALLEL_SEQ", job.number.to_string());
        add(b"PARALLEL_JOBSLOT", slot.to_string());
        add(b"PARALLEL_SSHLOGIN", reached.login.name.clone());
        add(b"PARALLEL_SSHHOST", reached.login.host().to_owned());
        if let Some([host, value]) = self.groups_of(job) {
            add(b"PARALLEL_HOSTGROUPS", host);
            add(b"PARALLEL_ARGHOSTGROUPS", value);
        }
        if let Some(name) = &remote.slot_variable {
            add(name, slot.saturating_sub(1).to_string());
        }
        all
    }
}

/// The size of a local file that was sent or returned; 0 if it does not exist.
pub(super) fn bytes_of(path: &FilePath) -> u64 {
    let base = Path::new(std::ffi::OsStr::from_bytes(&path.base));
    let file = base.join(std::ffi::OsStr::from_bytes(&path.name));
    std::fs::metadata(file).map_or(0, |file| if file.is_file() { file.len() } else { 0 })
}
