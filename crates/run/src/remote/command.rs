//! The processes that run here and on another host for one job.
//!
//! The host's login shell gets `exec sh -c '…'` and nothing else, as it may be any shell that reads
//! Bourne quotes.  That `sh` makes the working folder, sets the environment and executes the user's
//! shell there with the command, if that shell is a Bourne shell, or runs the command itself.
//!
//! A job without standard input can be tied to the connection ([`RemoteStdin::Alive`]): when the ssh
//! here ends, the job there gets a TERM and a second later a KILL.

use std::path::{Path, PathBuf};

use super::files::{self, FilePath};
use super::login::Ssh;
use super::shell_line::{for_any_shell, join_words};
use template::quote::{Shell, quote};

/// How hosts are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// `--ssh`: the program and its options.
    pub program: Vec<Vec<u8>>,
    /// `--controlmaster`: the folder for the sockets of connections that are kept; only of a
    /// program that is OpenSSH's.
    pub control: Option<PathBuf>,
}

impl Default for Connection {
    fn default() -> Self {
        Connection { program: vec![b"ssh".to_vec()], control: None }
    }
}

impl Connection {
    /// The words that log in; the command for the host is the word that follows.
    pub fn words(&self, ssh: &Ssh) -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        let mut add = |word: &[u8]| words.push(word.to_vec());
        if ssh.program.is_empty() {
            self.program.iter().for_each(|word| add(word));
            if let Some(folder) = &self.control {
                // A job never becomes the master: it would not end before all others.
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
    /// the words that end it.  It writes a line when it stands, and lives as long as its standard
    /// input is open.
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

    /// The words that ask a host for its CPU threads: it writes a number.
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

/// What a host writes that has a shell.
pub const ALIVE: &[u8] = b"whit is let in";

/// The option of ssh that says where its socket is.
fn control_path(folder: &Path) -> Vec<u8> {
    [b"-oControlPath=", folder.join("%C").as_os_str().as_encoded_bytes()].concat()
}

/// What a job's standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteStdin {
    /// Nothing (`/dev/null`).
    Nothing,
    /// What it is to read (`--pipe`).
    Data,
    /// A pipe that is held open and never written to: the job ends with the connection.
    Alive,
}

/// The folder there in which a job runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Workdir {
    /// Where a login begins.
    #[default]
    Login,
    /// This one; a relative one is below that where a login begins.
    Folder(Vec<u8>),
    /// The job's own, removed by `--cleanup`.
    Own(Vec<u8>),
}

impl Workdir {
    /// Reads `--workdir`: `.` is the current folder, below the home folder on both sides if it is
    /// here; `...` is a folder for the job alone, of this name (which no other job of any host may
    /// have).
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

    /// The folder as a path.
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
    /// The command, as a shell reads it.
    pub command: &'a [u8],
    /// The folder in which it runs.
    pub workdir: &'a Workdir,
    /// What is added to its environment; a function of bash's makes its shell bash.
    pub environment: &'a [(Vec<u8>, Vec<u8>)],
    /// What its standard input is.
    pub stdin: RemoteStdin,
    /// `--transferfile`: what is sent before it.
    pub send: &'a [FilePath],
    /// `--return`: what is brought back after it.
    pub bring: &'a [FilePath],
    /// `--cleanup`: whether all of these are removed there, and its own folder.
    pub cleanup: bool,
}

impl Job<'_> {
    /// The words to be run here: the login itself, or a shell if files go either way.
    ///
    /// The exit code is the job's; if that is 0 and a file could not be brought back, 1.
    pub fn words(&self, connection: &Connection, ssh: &Ssh) -> Vec<Vec<u8>> {
        let login = connection.words(ssh);
        let mut words = login.clone();
        words.push(for_any_shell(&self.there()));
        let own = matches!(self.workdir, Workdir::Own(_)) && self.cleanup;
        if self.send.is_empty() && self.bring.is_empty() && !own {
            return words;
        }
        let workdir = self.workdir.path();
        // Sending reads nothing of the job's standard input.
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

    /// The commands for a POSIX shell there.
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

/// `--basefile`: the words, for here, that send files to a host before its first job.
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

/// `--basefile` with `--cleanup`: the words that remove them after its last job.
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

/// The user's own shell, if it reads Bourne quotes.
const OWN_SHELL: &[u8] = b"case ${SHELL##*/} in \
    sh|ash|bash|dash|ksh|ksh93|mksh|zsh) ;; *) SHELL=sh ;; esac\n";

/// What follows a command that is tied to the connection: a second process waits for the end of
/// standard input, which comes when the connection ends, and then ends all of the session's first
/// process group, which is what sshd started.  The signal interrupts `wait`, which is why that is
/// repeated while the job is there.
const TIED: &[u8] = b" 3<&- & job=$!\n\
    { trap : TERM; while read -r line <&3; do :; done; \
    kill -TERM 0; sleep 1; kill -KILL 0; } >/dev/null 2>&1 & tie=$!\n\
    exec 3<&-\n\
    while :; do wait $job; code=$?; kill -0 $job 2>/dev/null || break; done\n\
    kill -KILL $tie 2>/dev/null\n\
    exit $code";
