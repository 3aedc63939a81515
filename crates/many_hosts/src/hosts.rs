//! Which hosts there are, and how each is reached: logins as `a,me@web[1-3]:22`, by `ssh` or what `--ssh` names.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::Command;

use run::remote::login::{choose, split};
use run::remote::{Connection, HostAddress, Login, LoginError};

/// Why hosts cannot be recorded or traced.
#[derive(Debug, thiserror::Error)]
pub enum RemoteHostsError {
    /// A login is none.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// There are none.
    #[error("--hosts '{0}': no host in it")]
    None(String),
    /// A part of a login that is of jobs.
    #[error("--hosts {0}: give [USER@]HOST[:PORT], as web[1-3]; -S of whit run takes more")]
    OfJobs(String),
    /// The system has no random numbers.
    #[error("cannot make a mark for the lines of traces")]
    Mark(#[source] io::Error),
    /// Lines cannot be written.
    #[error("cannot write what the hosts say")]
    Write(#[source] io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread for {0}")]
    Thread(String, #[source] io::Error),
}

/// Hosts that are reached by ssh.
#[derive(Clone)]
pub(crate) struct Hosts {
    logins: Vec<Login>,
    connection: Connection,
    /// Whether there is a terminal that ssh may put questions to.
    may_ask: bool,
}

/// With it ssh notices within a minute that a host has gone without a word: else it would wait for hours.
const ALIVE: &[u8] = b"-oServerAliveInterval=15";

/// What logs in where `--ssh` names nothing.
fn own_ssh() -> Vec<Vec<u8>> {
    vec![b"ssh".to_vec(), ALIVE.to_vec()]
}

impl Hosts {
    /// The hosts that a text names; `ssh` logs in (`ssh` if there is none).
    pub(crate) fn new((hosts, ssh): (&str, Option<&str>)) -> Result<Self, RemoteHostsError> {
        let logins = choose(split(hosts)?);
        let of_jobs =
            |login: &&Login| login.threads.is_some() || matches!(login.address, HostAddress::Local);
        if let Some(login) = logins.iter().find(of_jobs) {
            return Err(RemoteHostsError::OfJobs(login.name.clone()));
        }
        if logins.is_empty() {
            return Err(RemoteHostsError::None(hosts.to_owned()));
        }
        let mut connection = Connection { program: own_ssh(), control: None };
        let ssh = ssh.map(|ssh| ssh.split_whitespace().map(|word| word.as_bytes().to_vec()));
        let ssh = ssh.map(Iterator::collect::<Vec<_>>).filter(|words| !words.is_empty());
        if let Some(program) = ssh {
            connection.program = program;
        }
        let may_ask = std::fs::File::open("/dev/tty").is_ok();
        Ok(Hosts { logins, connection, may_ask })
    }

    /// Whether ssh may put questions to a terminal.
    pub(crate) fn may_ask(&self) -> bool {
        self.may_ask
    }

    /// The same, but ssh asks no questions: those of passwords and unknown keys would go to the terminal, on
    /// which something else is.  A program that `--ssh` named is left as it is.
    pub(crate) fn without_questions(mut self) -> Self {
        if self.connection.program == own_ssh() {
            self.connection.program.push(b"-oBatchMode=yes".to_vec());
        }
        self.may_ask = false;
        self
    }

    /// One of them alone, whose number is then 0.
    pub(crate) fn only(&self, number: usize) -> Self {
        let logins = self.logins.get(number).cloned().into_iter().collect();
        Hosts { logins, connection: self.connection.clone(), may_ask: self.may_ask }
    }

    /// Their names, as they were given; their places are their numbers.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.logins.iter().map(|login| login.name.as_str())
    }

    /// The name of a host.
    pub(crate) fn name(&self, number: usize) -> &str {
        &self.logins[number].name
    }

    /// What stands in front of the lines of a host: its name, as wide as the longest.
    pub(crate) fn prefix(&self, number: usize) -> String {
        let width = self.names().map(|name| name.chars().count()).max();
        format!("{:width$} ", self.name(number), width = width.unwrap_or(0))
    }

    /// The program that runs a command of a shell on a host, and its name for messages.
    pub(crate) fn ssh(&self, number: usize, command: &[u8]) -> (Command, String) {
        let mut words = match &self.logins[number].address {
            HostAddress::Remote(ssh) => self.connection.words(ssh),
            // There is none: `new` takes others alone.
            HostAddress::Local => Vec::new(),
        };
        words.push(command.to_vec());
        let mut words = words.into_iter().map(OsString::from_vec);
        let program = words.next().unwrap_or_default();
        let shown = layout::text::escape(program.as_bytes()).to_string();
        let mut command = Command::new(program);
        command.args(words);
        // Signals that whit waits for are blocked here, and would be there.
        spawn::unblock_in(&mut command);
        (command, shown)
    }
}

/// The words for a host: without those that say which hosts there are.
pub(crate) fn passed_on(words: &[OsString]) -> Vec<&OsStr> {
    let (mut passed, mut is_value) = (Vec::new(), false);
    for word in words {
        let text = word.as_bytes();
        let is_own = |name: &&[u8]| {
            text.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
        };
        let own = [b"--hosts".as_slice(), b"--ssh"].iter().any(is_own);
        if !own && !is_value {
            passed.push(word.as_os_str());
        }
        is_value = own && !text.contains(&b'=');
    }
    passed
}
