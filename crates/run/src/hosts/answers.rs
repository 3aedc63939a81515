//! The output of several child processes, read with one poll(2) and no thread: a thread that starts
//! before signals are blocked could later take signals of the engine.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Most bytes that are kept of a stream: one or two lines are expected.
const KEPT_BYTES_MAX: usize = 4096;

/// An output stream of a child, and what was read from it.
pub(super) struct Answer {
    file: Option<File>,
    pub(super) text: Vec<u8>,
    /// The first byte is enough.
    is_short: bool,
}

impl Answer {
    /// Reads to end-of-file, or only until something comes.
    pub(super) fn of(stream: Option<impl Into<OwnedFd>>, is_short: bool) -> Self {
        let file = stream.map(|stream| File::from(stream.into()));
        Answer { file, text: Vec::new(), is_short }
    }

    /// Whether everything that is waited for was read.
    pub(super) fn is_over(&self) -> bool {
        self.file.is_none()
    }

    fn read(&mut self) {
        let Some(file) = &mut self.file else { return };
        let mut piece = [0; KEPT_BYTES_MAX];
        let count = file.read(&mut piece).unwrap_or_default();
        let room = KEPT_BYTES_MAX - self.text.len();
        self.text.extend_from_slice(&piece[..count.min(room)]);
        if count == 0 || self.is_short {
            self.file = None;
        }
    }
}

/// Reads all streams until each is done, or until the deadline.
pub(super) fn read_all(answers: &mut [Answer], until: Instant) {
    loop {
        let mut waiting: Vec<usize> = Vec::new();
        let mut fds = Vec::new();
        for (at, answer) in answers.iter().enumerate() {
            if let Some(file) = &answer.file {
                waiting.push(at);
                fds.push(PollFd::new(file, PollFlags::IN));
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        if fds.is_empty() || left.is_zero() {
            return;
        }
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (at, _) in waiting.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            answers[at].read();
        }
    }
}
