//! The processes that run here and on another host for one job.
//!
//! The host's login shell gets only `exec sh -c '…'`, because it may be any shell with Bourne
//! quoting. That `sh` makes the working directory, sets the environment and runs the command in the
//! user's shell there if that is a Bourne shell, otherwise by itself.
//!
//! A job without standard input can be tied to the connection ([`RemoteStdin::Alive`]): when the
//! ssh here ends, the job there gets TERM and a second later KILL.

use std::path::{Path, PathBuf};

use super::files::{self, FilePath};
use super::login::Ssh;
use super::shell_line::{for_any_shell, join_words};
use template::quote::{Shell, quote};

/// How to reach hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// `--ssh`: the program and its options.
    pub program: Vec<Vec<u8>>,
    /// `--controlmaster`: the directory for the sockets of shared connections; only with OpenSSH.
    pub control: Option<PathBuf>,
}

impl Default for Connection {
    fn default() -> Self {
        Connection { program: vec![b"ssh".to_vec()], control: None }
    }
}

impl Connection {
    /// The words that log in; the command for the host is the next word.
    pub fn words(&self, ssh: &Ssh) -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        let mut add = |word: &[u8]| words.push(word.to_vec());
        if ssh.program.is_empty() {
            self.program.iter().for_each(|word| add(word));
            if let Some(folder) = &self.control {
                // A job never becomes the master, which would have to outlive all others.
                add(b"-oControlMaster=no");
                add(&control_path(folder));
            }
        } else {
            ssh.program.iter().for_each(|word| add(word.as_bytes()));
        }
        if let Some(port) = ssh.port {
            add(b"-p");
            add(port.to_string().as_bytes());
        }
        if let Some(user) = &ssh.user {
            add(b"-l");
            add(user.as_bytes());
        }
        add(ssh.host.as_bytes());
        add(b"--");
        words
    }

    /// `--controlmaster`: the words that make the connection which all jobs of a host share, and
    /// the words that end it.  The first command writes a line once it is connected, and lives as
    /// long as its standard input is open.
    pub fn master(&self, ssh: &Ssh) -> Option<[Vec<Vec<u8>>; 2]> {
        let folder = self.control.as_ref().filter(|_| ssh.program.is_empty())?;
        let plain = Connection { program: Vec::new(), control: None };
        let mut make = self.program.clone();
        make.extend([b"-oControlMaster=yes".to_vec(), control_path(folder)]);
        let mut end = self.program.clone();
        end.extend([control_path(folder), b"-Oexit".to_vec()]);
        let host = plain.words(ssh);
        make.extend_from_slice(&host);
        end.extend_from_slice(&host[..host.len() - 1]);
        make.push(for_any_shell(b"echo; exec cat >/dev/null"));
        Some([make, end])
    }

    /// The words that query the number of CPU threads of a host, which writes a number.
    pub fn ask_threads(&self, ssh: &Ssh) -> Vec<Vec<u8>> {
        let mut words = self.words(ssh);
        words.push(for_any_shell(b"nproc 2>/dev/null || getconf _NPROCESSORS_ONLN || echo 1"));
        words
    }

    /// `--filter-hosts`: the words that log in and start the shell that jobs need, which writes
    /// [`ALIVE`].
    pub fn ask_alive(&self, ssh: &Ssh) -> Vec<Vec<u8>> {
        let mut words = self.words(ssh);
        words.push(for_any_shell(&[b"echo ", ALIVE].concat()));
        words
    }
}

/// The output of a host that has a shell.
pub const ALIVE: &[u8] = b"whit is let in";

/// The option of ssh for the path of its socket.
fn control_path(folder: &Path) -> Vec<u8> {
    [b"-oControlPath=", folder.join("%C").as_os_str().as_encoded_bytes()].concat()
}

/// The standard input of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteStdin {
    /// Empty (`/dev/null`).
    Nothing,
    /// The data of the job (`--pipe`).
    Data,
    /// A pipe that is held open and never written to: the job ends with the connection.
    Alive,
}

/// The directory in which a job runs on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Workdir {
    /// The directory of the login.
    #[default]
    Login,
    /// This directory, relative to that of the login.
    Folder(Vec<u8>),
    /// A directory for this job alone, removed by `--cleanup`.
    Own(Vec<u8>),
}

impl Workdir {
    /// Parses `--workdir`: `.` is the current directory, relative to the home directories of both
    /// hosts if it is below the one here; `...` is a directory for the job alone, with a name that
    /// no other job on any host has.
    pub fn parse(text: &[u8], current: &[u8], home: &[u8], unique: &[u8]) -> Self {
        match text {
            b"" => Workdir::Login,
            b"..." => Workdir::Own([b".parallel/tmp/", unique].concat()),
            b"." => {
                let below = current.strip_prefix(home).filter(|_| !home.is_empty());
                Workdir::Folder(match below {
                    Some(b"") => b".".to_vec(),
                    Some([b'/', below @ ..]) => below.to_vec(),
                    _ => current.to_vec(),
                })
            }
            folder => Workdir::Folder(folder.to_vec()),
        }
    }

    /// The directory as a path.
    fn path(&self) -> &[u8] {
        match self {
            Workdir::Login => b".",
            Workdir::Folder(folder) | Workdir::Own(folder) => folder,
        }
    }
}

/// A job on another host.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The command for a shell.
    pub command: &'a [u8],
    /// The directory in which it runs.
    pub workdir: &'a Workdir,
    /// Added to its environment; an exported bash function makes its shell bash.
    pub environment: &'a [(Vec<u8>, Vec<u8>)],
    /// The standard input of the job.
    pub stdin: RemoteStdin,
    /// `--transferfile`: files that are sent before it.
    pub send: &'a [FilePath],
    /// `--return`: files that are fetched after it.
    pub bring: &'a [FilePath],
    /// `--cleanup`: remove all of these files there, and its own directory.
    pub cleanup: bool,
}

impl Job<'_> {
    /// The words to run here: the login itself, or a shell if files are transferred.
    ///
    /// The exit code is that of the job; 1 if that is 0 and a file could not be fetched.
    pub fn words(&self, connection: &Connection, ssh: &Ssh) -> Vec<Vec<u8>> {
        let login = connection.words(ssh);
        let mut words = login.clone();
        words.push(for_any_shell(&self.there()));
        let own = matches!(self.workdir, Workdir::Own(_)) && self.cleanup;
        if self.send.is_empty() && self.bring.is_empty() && !own {
            return words;
        }
        let workdir = self.workdir.path();
        // Sending files must not read the job's standard input.
        let mut text = b"{ ".to_vec();
        files::send(&login, workdir, self.send, &mut text);
        text.extend_from_slice(b"; } </dev/null && ");
        text.extend_from_slice(&join_words(&words));
        text.extend_from_slice(b"; code=$?\n");
        if !self.bring.is_empty() {
            text.extend_from_slice(b"{ ");
            files::bring(&login, workdir, self.bring, &mut text);
            text.extend_from_slice(b"; } || [ $code != 0 ] || code=1\n");
        }
        if self.cleanup {
            let mut remove = files::remove(workdir, self.send);
            remove.extend(files::remove(workdir, self.bring));
            if let Workdir::Own(folder) = self.workdir {
                remove.extend_from_slice(b"rm -rf -- ");
                quote(Shell::Bourne, folder, &mut remove);
            } else {
                remove.push(b':');
            }
            let mut words = login;
            words.push(for_any_shell(&remove));
            text.extend_from_slice(&join_words(&words));
            text.extend_from_slice(b" </dev/null\n");
        }
        text.extend_from_slice(b"exit $code");
        vec![b"sh".to_vec(), b"-c".to_vec(), text]
    }

    /// The commands for a POSIX shell on the host.
    fn there(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if *self.workdir != Workdir::Login {
            text.extend_from_slice(b"{ ");
            text.extend(files::enter(self.workdir.path()));
            text.extend_from_slice(b"; } || exit 255\n");
        }
        let functions = self.environment.iter().any(|(name, _)| name.starts_with(b"BASH_FUNC_"));
        text.extend_from_slice(if functions { b"SHELL=bash\n" } else { OWN_SHELL });
        let mut run = b"env".to_vec();
        for (name, value) in self.environment {
            run.push(b' ');
            quote(Shell::Bourne, &[name.as_slice(), b"=", value].concat(), &mut run);
        }
        run.extend_from_slice(b" \"$SHELL\" -c ");
        quote(Shell::Bourne, self.command, &mut run);
        if self.stdin == RemoteStdin::Alive {
            text.extend_from_slice(b"exec 3<&0 </dev/null\ntrap : TERM\n");
            text.extend_from_slice(&run);
            text.extend_from_slice(TIED);
        } else {
            text.extend_from_slice(b"exec ");
            text.extend_from_slice(&run);
        }
        text
    }
}

/// `--basefile`: the words to run here that send files to a host before its first job.
pub fn send_base(
    connection: &Connection,
    ssh: &Ssh,
    workdir: &Workdir,
    paths: &[FilePath],
) -> Vec<Vec<u8>> {
    let mut text = Vec::new();
    files::send(&connection.words(ssh), workdir.path(), paths, &mut text);
    vec![b"sh".to_vec(), b"-c".to_vec(), text]
}

/// `--basefile` with `--cleanup`: the words that remove the files after its last job.
pub fn remove_base(
    connection: &Connection,
    ssh: &Ssh,
    workdir: &Workdir,
    paths: &[FilePath],
) -> Vec<Vec<u8>> {
    let mut words = connection.words(ssh);
    let mut remove = files::remove(workdir.path(), paths);
    remove.push(b':');
    words.push(for_any_shell(&remove));
    words
}

/// The user's own shell, if it has Bourne quoting.
const OWN_SHELL: &[u8] = b"case ${SHELL##*/} in \
    sh|ash|bash|dash|ksh|ksh93|mksh|zsh) ;; *) SHELL=sh ;; esac\n";

/// Follows a command that is tied to the connection: a second process waits for end-of-file on
/// standard input, which comes when the connection ends, and then kills the process group that sshd
/// started.  The signal interrupts `wait`, so that is repeated while the job exists.
const TIED: &[u8] = b" 3<&- & job=$!\n\
    { trap : TERM; while read -r line <&3; do :; done; \
    kill -TERM 0; sleep 1; kill -KILL 0; } >/dev/null 2>&1 & tie=$!\n\
    exec 3<&-\n\
    while :; do wait $job; code=$?; kill -0 $job 2>/dev/null || break; done\n\
    kill -KILL $tie 2>/dev/null\n\
    exit $code";
