//! The length of a command line on its way to another host: it is quoted for the shells between,
//! and follows the words that log in.

use crate::engine::Remote;
use crate::remote::files::FilePath;
use crate::remote::{self, HostAddress, RemoteStdin, Workdir};
use template::quote::{Shell, quote};
use template::{Context, RenderError, Template, Values};

/// Shells that read a command: that of the login and the one that it starts; one here if files are
/// transferred.
const SHELLS: usize = 2;

/// How often the path of a file that is sent, returned and removed stands in a command at most.
const PATHS: usize = 8;

/// Room for numbers (`PARALLEL_SEQ`, the job's own directory).
const NUMBER_BYTES: usize = 128;

/// What is added to the command line of a job on another host.
pub struct RemoteLength {
    /// Bytes around any command.
    around: usize,
    /// Templates whose text is in the command: directory and files.
    beside: Vec<Template>,
    shells: usize,
}

impl RemoteLength {
    /// For jobs on these hosts, with the template of `--workdir`; `None` if all run here.
    pub fn of(remote: &Remote, directory: Option<&Template>) -> Option<Self> {
        let files = remote.send.iter().chain(&remote.bring);
        let path = |_| FilePath { base: b".".to_vec(), name: b"./".to_vec(), absolute: false };
        let (send, bring): (Vec<_>, Vec<_>) =
            (remote.send.iter().map(path).collect(), remote.bring.iter().map(path).collect());
        let around = |ssh, login: &[u8]| {
            let own: &[&[u8]] =
                &[b"PARALLEL_SSHLOGIN", b"PARALLEL_HOSTGROUPS", b"PARALLEL_SSHHOST"];
            let mut environment = remote.environment.clone();
            environment.extend(own.iter().map(|name| (name.to_vec(), login.to_vec())));
            let job = remote::Job {
                command: b"",
                workdir: &Workdir::Own(
                    [&remote.home, &remote.current, remote.unique.as_slice()].concat(),
                ),
                environment: &environment,
                stdin: RemoteStdin::Alive,
                send: &send,
                bring: &bring,
                cleanup: remote.cleanup,
            };
            let words = job.words(&remote.connection, ssh);
            words.iter().map(Vec::len).max().unwrap_or(0) + NUMBER_BYTES
        };
        let hosts = remote.job_hosts.iter();
        let around = hosts.filter_map(|host| match &host.login.address {
            HostAddress::Local => None,
            HostAddress::Remote(ssh) => Some(around(ssh, host.login.name.as_bytes())),
        });
        let has_files = remote.cleanup || files.clone().next().is_some();
        Some(RemoteLength {
            around: around.max()?,
            beside: files.chain(directory).cloned().collect(),
            shells: SHELLS + usize::from(has_files),
        })
    }

    /// The longest word that carries this command line, in bytes, or a little more.
    pub fn length(&self, line: &[u8], context: &Context<'_>) -> Result<usize, RenderError> {
        let mut length = self.around + self.quoted(line);
        for template in &self.beside {
            length +=
                PATHS * template.with_rendered(context, Values::Bare, |path| self.quoted(path))?;
        }
        Ok(length)
    }

    fn quoted(&self, text: &[u8]) -> usize {
        let mut text = text.to_vec();
        for _ in 0..self.shells {
            let mut quoted = Vec::with_capacity(text.len() * 2);
            quote(Shell::Bourne, &text, &mut quoted);
            text = quoted;
        }
        text.len()
    }
}
