//! What a job of tests writes, read while it runs; and the end of the processes that it left behind.
//!
//! A process that outlives its test holds the test's pipes, and who reads them to their end waits as
//! long as that process lives.  So the wait is short, and who holds the pipe then is named and ended:
//! `/proc/PID/fd` shows the number of each pipe (proc(5)).

use std::io::Read;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long the processes of a test may need to end after it.
const LATE_END_MAX: Duration = Duration::from_secs(10);

/// A pipe that a job writes to.
pub(super) struct PipeText {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    /// What `/proc` calls the pipe: `pipe:[NUMBER]`.
    name: PathBuf,
}

impl PipeText {
    /// Begins to read.
    pub(super) fn read(pipe: impl Into<OwnedFd>) -> Self {
        let pipe = std::fs::File::from(pipe.into());
        let link = format!("/proc/self/fd/{}", pipe.as_raw_fd());
        let name = std::fs::read_link(link).unwrap_or_default();
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let shared = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let (mut pipe, mut piece) = (pipe, [0; 4096]);
            // Not by lines: the name of a test that hangs may stand in one that is not ended.
            while let Ok(count @ 1..) = pipe.read(&mut piece)
                && let Ok(mut bytes) = shared.lock()
            {
                bytes.extend(piece.iter().take(count));
            }
        });
        PipeText { bytes, reader, name }
    }

    /// What has come so far.
    pub(super) fn so_far(&self) -> String {
        self.bytes
            .lock()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Waits a little for those who hold the pipe, then ends them; gives the ids and command lines of
    /// those ended.
    pub(super) fn end_holders(&self) -> Vec<String> {
        let start = Instant::now();
        while !self.reader.is_finished() && start.elapsed() < LATE_END_MAX {
            std::thread::sleep(Duration::from_millis(2));
        }
        if self.reader.is_finished() { Vec::new() } else { self.kill_holders() }
    }

    /// Ends all who hold the pipe; gives their ids and command lines.
    pub(super) fn kill_holders(&self) -> Vec<String> {
        let holders = holders(&self.name);
        let own = i32::try_from(std::process::id()).ok();
        let mut ended = Vec::new();
        for pid in holders.into_iter().filter(|pid| Some(*pid) != own) {
            let Some(id) = Pid::from_raw(pid) else { continue };
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> =
                command.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
            if kill_process(id, Signal::KILL).is_ok() {
                ended.push(format!("{pid}: {}", words.join(" ").trim_end()));
            }
        }
        ended
    }
}

/// The ids of the processes with a descriptor of a pipe, as far as they can be looked at.
fn holders(name: &Path) -> Vec<i32> {
    let entries = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries("/proc".into())
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let mut links = entries(format!("/proc/{pid}/fd").into());
            links.any(|link| std::fs::read_link(link.path()).is_ok_and(|to| to == name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn who_outlives_its_test_is_named_and_ended() {
        let mut shell = Command::new("sh")
            .args(["-c", "echo before; sleep 1000 & echo after"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let text = PipeText::read(shell.stdout.take().unwrap());
        shell.wait().unwrap();
        while text.so_far() != "before\nafter\n" {
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = text.kill_holders();
        assert!(matches!(ended.as_slice(), [one] if one.ends_with(": sleep 1000")), "{ended:?}");
        assert!(text.end_holders().is_empty());
    }
}
