//! `-D` and what belongs to it: the background, another user, a lower priority.
//!
//! The command that starts a daemon waits until the daemon has opened everything, and otherwise
//! reports its error, so an init script sees the true result.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, ensure};

/// Sent by a daemon when it is ready.
const READY: &[u8] = b"\0";

/// The pipe to the command that started a daemon.
pub(crate) struct Parent(File);

impl Parent {
    /// Lets the command that started us exit successfully.
    pub(crate) fn ready(self) {
        self.ready_saying("");
    }

    /// Says that the daemon is ready, with a message unless it is empty.
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

/// `--runas user[:group]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: Option<u32>,
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
pub(crate) fn id(name: &str, file: &str) -> Option<u32> {
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
}
