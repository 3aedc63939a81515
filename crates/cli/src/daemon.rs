//! `-D` and what belongs to it: the background, the pid file, another user, a lower priority.
//!
//! The command that starts a daemon waits until the daemon has opened everything, and otherwise
//! reports its error, so an init script sees the true result.  The pid file is locked, so a stale
//! one is recognized, whatever process has its number now.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::fs::FlockOperation;

/// Sent by a daemon when it is ready.
const READY: &[u8] = b"\0";

/// The pipe to the command that started a daemon.
pub(crate) struct Parent(File);

impl Parent {
    /// Lets the command that started us exit successfully.
    pub(crate) fn ready(self) {
        self.ready_saying("");
    }

    /// The same; it shows a message, unless that is empty.
    pub(crate) fn ready_saying(mut self, message: &str) {
        // If it has exited, nobody waits.
        let _ = self.0.write_all(&[READY, message.as_bytes()].concat());
    }

    /// Lets it exit with our error.
    pub(crate) fn failed(mut self, error: &anyhow::Error) {
        let _ = self.0.write_all(format!("{error:#}").as_bytes());
    }
}

/// Goes to the background.  In the original process this does not return: it exits once the daemon
/// is ready or has failed.
pub(crate) fn leave() -> anyhow::Result<Parent> {
    let (read, write) = std::io::pipe().context("cannot make a pipe")?;
    // SAFETY: no other thread does anything but wait for this one (`stack.rs`), so the child may do
    // whatever the parent might have.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()).context("cannot start a daemon"),
        0 => {
            drop(read);
            rustix::process::setsid().context("cannot leave the terminal")?;
            let null = OpenOptions::new().read(true).write(true).open("/dev/null");
            let null = null.context("cannot open /dev/null")?;
            rustix::stdio::dup2_stdin(&null).context("cannot leave the terminal")?;
            rustix::stdio::dup2_stdout(&null).context("cannot leave the terminal")?;
            rustix::stdio::dup2_stderr(&null).context("cannot leave the terminal")?;
            Ok(Parent(File::from(OwnedFd::from(write))))
        }
        _ => {
            drop(write);
            let mut said = Vec::new();
            let _ = File::from(OwnedFd::from(read)).read_to_end(&mut said);
            if let Some(message) = said.strip_prefix(READY) {
                if !message.is_empty() {
                    crate::stderr::message(String::from_utf8_lossy(message));
                }
                std::process::exit(0);
            }
            let said = String::from_utf8_lossy(&said);
            crate::stderr::message(if said.is_empty() {
                "the daemon ended at once"
            } else {
                &said
            });
            std::process::exit(2);
        }
    }
}

/// A pid file, locked while this lives, then deleted.
pub(crate) struct PidFile {
    path: PathBuf,
    _file: File,
}

impl PidFile {
    /// Writes the pid file of `name` (`whit` or `whit-PNAME`): under `/run`, or in `own` if that is
    /// not writable or `prefer_own` is set (`--runas`).
    pub(crate) fn write(name: &str, own: Option<&Path>, prefer_own: bool) -> anyhow::Result<Self> {
        let run = Path::new("/run").to_owned();
        let places = if prefer_own { vec![own] } else { vec![Some(run.as_path()), own] };
        let mut last = None;
        for directory in places.into_iter().flatten() {
            let path = directory.join(format!("{name}.pid"));
            match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)
            {
                Ok(file) => return Self::hold(path, file),
                Err(error) => last = Some((path, error)),
            }
        }
        match last {
            Some((path, error)) => {
                Err(error).with_context(|| format!("cannot write the pid file {}", path.display()))
            }
            None => bail!("a daemon needs a directory for its pid file"),
        }
    }

    /// Writes the pid file at a place.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.with_context(|| format!("cannot write the pid file {}", path.display()))?;
        Self::hold(path.to_owned(), file)
    }

    fn hold(path: PathBuf, mut file: File) -> anyhow::Result<Self> {
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            bail!("already running with pid {}: {} is held", pid.trim(), path.display());
        }
        let write = || -> std::io::Result<()> {
            file.set_len(0)?;
            (&file).write_all(format!("{}\n", std::process::id()).as_bytes())
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(PidFile { path, _file: file })
    }

    /// Gives the file to another user, who must be able to delete it.
    pub(crate) fn give_to(&self, user: &User) {
        let _ = std::os::unix::fs::chown(&self.path, Some(user.uid), user.gid);
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// `--runas user[:group]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    uid: u32,
    gid: Option<u32>,
}

impl User {
    /// Looks the names up; numbers need no entry.
    pub(crate) fn parse(text: &str, passwd: &str, group: &str) -> anyhow::Result<Self> {
        let (user, of) = text.split_once(':').map_or((text, None), |(u, g)| (u, Some(g)));
        let uid = id(user, passwd).with_context(|| {
            format!("--runas {text}: no user '{user}' in /etc/passwd; a number works without")
        })?;
        let gid = of.filter(|group| !group.is_empty()).map(|name| {
            id(name, group).with_context(|| {
                format!("--runas {text}: no group '{name}' in /etc/group; a number works without")
            })
        });
        Ok(User { uid, gid: gid.transpose()? })
    }

    /// Refuses a directory that the user does not own: files could not be made there later.
    pub(crate) fn check_owns(&self, directory: &Path) -> anyhow::Result<()> {
        let metadata = directory
            .metadata()
            .with_context(|| format!("cannot look at {}", directory.display()))?;
        let owns = metadata.uid() == self.uid && self.gid.is_none_or(|gid| gid == metadata.gid());
        ensure!(
            owns,
            "{} belongs to {}:{}, not to the user of --runas; chown it first",
            directory.display(),
            metadata.uid(),
            metadata.gid()
        );
        Ok(())
    }

    /// Becomes the user, for good.
    pub(crate) fn become_it(&self) -> anyhow::Result<()> {
        let failed = || format!("cannot become user {}; only root can", self.uid);
        let check = |result: libc::c_int| {
            if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        let gid = self.gid.unwrap_or(self.uid);
        // SAFETY: plain calls with numbers, and an empty list of length 0.  The groups come first,
        // because they cannot be changed after the user.
        unsafe {
            check(libc::setgroups(0, std::ptr::null())).with_context(failed)?;
            check(libc::setgid(gid)).with_context(failed)?;
            check(libc::setuid(self.uid)).with_context(failed)?;
        }
        Ok(())
    }
}

/// The number of a name in a file of `name:password:number:…` lines.
fn id(name: &str, file: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let line = file.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(2)?.parse().ok()
}

/// `-N`: sets a nice value of 10, as collectl documents.  A higher one is kept, because 10 would
/// raise the priority.
pub(crate) fn be_nice() -> anyhow::Result<()> {
    if rustix::process::getpriority_process(None).is_ok_and(|nice| nice >= 10) {
        return Ok(());
    }
    rustix::process::setpriority_process(None, 10).context("cannot lower the priority")
}

/// `--umask`: an octal mask for new files.
pub(crate) fn set_umask(text: &str) -> anyhow::Result<()> {
    let mask = u32::from_str_radix(text, 8).ok().filter(|&mask| mask <= 0o777);
    let mask = mask.with_context(|| format!("--umask: '{text}' is not an octal mask (022)"))?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask));
    Ok(())
}

/// `--pname`: what `ps` shows.
pub(crate) fn set_name(name: &str) -> anyhow::Result<()> {
    ensure!(
        !name.is_empty() && !name.contains('/') && !name.contains('\0'),
        "--pname: '{name}' cannot be part of a file name"
    );
    let full = CString::new(format!("whit-{name}")).context("--pname")?;
    rustix::thread::set_name(&full).context("--pname")
}

/// Whether a descriptor is a terminal.
pub(crate) fn is_terminal(fd: impl AsFd) -> bool {
    // SAFETY: the descriptor is open for as long as it is borrowed.
    unsafe { libc::isatty(fd.as_fd().as_raw_fd()) == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_by_name_and_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nmonitor:x:77:88::/:/bin/false\n";
        let group = "root:x:0:\nadm:x:4:monitor\n";
        let parse = |text| User::parse(text, passwd, group);
        assert_eq!(parse("monitor").unwrap(), User { uid: 77, gid: None });
        assert_eq!(parse("monitor:adm").unwrap(), User { uid: 77, gid: Some(4) });
        assert_eq!(parse("1000:1001").unwrap(), User { uid: 1000, gid: Some(1001) });
        assert!(parse("nobody").is_err() && parse("root:wheel").is_err() && parse("").is_err());
    }

    #[test]
    fn a_held_pid_file_names_its_holder_and_a_stale_one_is_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("whit-test.pid");
        std::fs::write(&path, "999999\n").unwrap();
        let held = PidFile::write("whit-test", Some(directory.path()), true).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim(), std::process::id().to_string());
        let refused = PidFile::write("whit-test", Some(directory.path()), true).err().unwrap();
        assert!(refused.to_string().contains(text.trim()), "{refused}");
        drop(held);
        assert!(!path.exists());
    }
}
