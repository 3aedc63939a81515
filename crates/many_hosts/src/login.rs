//! The programs that log in, ssh or what is in its place: how they are ended and waited for.
//!
//! Each leads a process group of its own where ssh has nothing to ask, so that a script which starts ssh ends
//! with it.  A question for a password is put to the terminal, from which only the group in its foreground
//! reads: then the programs stay in the group of whit, and a terminal's INT comes to them, too.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// The logins that run, each with the number of its host.
#[derive(Default)]
pub(crate) struct Logins(Vec<Login>);

struct Login {
    number: usize,
    child: Child,
    leads_group: bool,
}

impl Logins {
    /// Starts a program; `leads_group` if it asks nothing.
    pub(crate) fn start(
        &mut self,
        number: usize,
        (command, leads_group): (&mut Command, bool),
    ) -> io::Result<&mut Child> {
        if leads_group {
            command.process_group(0);
        }
        let child = command.spawn()?;
        self.0.push(Login { number, child, leads_group });
        Ok(&mut self.0.last_mut().ok_or(io::ErrorKind::NotFound)?.child)
    }

    /// Sends a signal to that of a host, or to all.
    pub(crate) fn signal(&self, number: Option<usize>, signal: Signal) {
        for login in self.0.iter().filter(|login| number.is_none_or(|own| own == login.number)) {
            let pid = Pid::from_child(&login.child);
            // It may have ended by itself.
            let _ = match login.leads_group {
                true => rustix::process::kill_process_group(pid, signal),
                false => rustix::process::kill_process(pid, signal),
            };
        }
    }

    /// The process of a host.
    pub(crate) fn pid(&self, number: usize) -> Option<Pid> {
        let login = self.0.iter().find(|login| login.number == number)?;
        Some(Pid::from_child(&login.child))
    }

    /// Takes that of a host, which has ended.
    pub(crate) fn reap(&mut self, number: usize) -> io::Result<ExitStatus> {
        let at = self.0.iter().position(|login| login.number == number);
        let at = at.ok_or(io::ErrorKind::NotFound)?;
        self.0.swap_remove(at).child.wait()
    }
}

/// Waits until a program has ended, which stays to be taken: until then its number is its own.
pub(crate) fn wait_for_end(pid: Option<Pid>) {
    let Some(pid) = pid else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
}
