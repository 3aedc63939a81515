//! Programs that get a message: on their standard input and in variables, in a bounded time.
//!
//! A program gets no arguments, and no shell is between: nothing in a message can be a command.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::clock;
use crate::delivery::DeliveryError;
use crate::message::{AlertMessage, shown};

/// Bytes of a variable: the kernel takes 128 KiB.
const VARIABLE_BYTES_MAX: usize = 32 << 10;
/// Bytes of what a program says that are kept.
const SAID_BYTES_MAX: usize = 1024;
/// How often a program is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a program; after the time it is killed with what it has started.
pub(crate) fn run(
    path: &Path,
    message: &AlertMessage,
    time: Duration,
) -> Result<(), DeliveryError> {
    let until = clock::after(time);
    let failed = |what: &str| DeliveryError::io(format!("cannot {what} {}", path.display()));
    let (mut child, mut stderr) = start(path, message).map_err(failed("start"))?;
    let mut said = Vec::new();
    loop {
        let ended = child.try_wait().map_err(failed("wait for"))?;
        // It may say more than is kept, for ever.
        let mut bytes = [0; 4096];
        if let Ok(count) = stderr.read(&mut bytes) {
            let room = SAID_BYTES_MAX.saturating_sub(said.len());
            said.extend_from_slice(&bytes[..count.min(room)]);
        }
        match ended {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let said = shown(String::from_utf8_lossy(&said).trim_end());
                let what = format!("{} failed with {status}: {said}", path.display());
                return Err(DeliveryError::Program(what));
            }
            None if clock::has_passed(until) => {
                kill(&mut child);
                let what = format!("{} did not end within {} s", path.display(), time.as_secs());
                return Err(DeliveryError::Program(what));
            }
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Starts the program in a group of its own, with the message as a file in memory: it may read it or not.
fn start(path: &Path, message: &AlertMessage) -> io::Result<(Child, ChildStderr)> {
    let mut input = File::from(memfd_create("message", MemfdFlags::CLOEXEC)?);
    input.write_all(message.text.as_bytes())?;
    input.rewind()?;
    let mut command = Command::new(path);
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    command.env("WHIT_ALERT_NAME", variable(&message.rule));
    command.env("WHIT_ALERT_STATE", variable(&message.state));
    command.env("WHIT_ALERT_SUBJECT", variable(&message.subject));
    command.env("WHIT_ALERT_TIME", message.at_ms.div_euclid(1000).to_string());
    command.env("WHIT_ALERT_JSON", variable(&message.details.to_string()));
    let mut child = command.spawn()?;
    let stderr = child.stderr.take().ok_or_else(|| io::Error::other("it has no standard error"))?;
    rustix::io::ioctl_fionbio(&stderr, true)?;
    Ok((child, stderr))
}

fn kill(child: &mut Child) {
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

/// A value of a variable: without a zero byte, and not longer than the kernel takes.
fn variable(text: &str) -> String {
    let text = text.replace('\0', "\\0");
    text[..text.floor_char_boundary(VARIABLE_BYTES_MAX)].to_owned()
}
