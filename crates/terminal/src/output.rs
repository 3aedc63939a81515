//! The terminal's output: writes that a signal can end.
//!
//! A terminal that nobody reads takes only what fits into the kernel's buffer; a blocking write(2)
//! would then wait for ever, whatever signal comes.  So the terminal is opened once more, not to
//! block: `O_NONBLOCK` on the inherited descriptor would be in force for the shell too.  One write for
//! each screen, as before; only a full buffer costs a poll(2) more.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

/// How long a write waits until it looks again whether the program is to end.  A signal also ends the
/// wait, unless it comes right before.
const LOOK_NS: i64 = 100_000_000;

/// Waits of that length in which the last bytes may still find room.
const LAST_LOOKS: u32 = 3;

/// The terminal, for writing.
#[derive(Debug)]
pub struct Output {
    /// A description of our own; without one, writes block.
    own: Option<File>,
    /// Whether a signal has come that ends the program.
    is_ending: fn() -> bool,
}

impl Output {
    /// The terminal of the standard output.
    pub(crate) fn open(is_ending: fn() -> bool) -> Self {
        // A terminal of another user, as after su(1), may not be opened.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let own = open("/proc/self/fd/1", flags, Mode::empty()).ok().map(File::from);
        Output { own, is_ending }
    }

    /// Writes `bytes`, the last ones.  Where there is no room soon, what nobody has read is dropped.
    pub(crate) fn write_last(&self, mut bytes: &[u8]) {
        let stdout = io::stdout();
        let terminal = self.own.as_ref().map_or(stdout.as_fd(), |own| own.as_fd());
        let mut looks = 0;
        while !bytes.is_empty() {
            match rustix::io::write(terminal, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if looks < LAST_LOOKS => {
                    looks += 1;
                    wait_for_room(terminal);
                    if looks == LAST_LOOKS {
                        let _ = tcflush(terminal, QueueSelector::OFlush);
                    }
                }
                Err(_) => return,
            }
        }
    }
}

fn wait_for_room(terminal: BorrowedFd<'_>) {
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
    // An error shows at the next write.
    let _ = poll(&mut [PollFd::new(&terminal, PollFlags::OUT)], Some(&look));
}

impl Write for Output {
    /// Writes what there is room for; waits for some.  When the program is to end, `bytes` are dropped.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stdout = io::stdout();
        let terminal = self.own.as_ref().map_or(stdout.as_fd(), |own| own.as_fd());
        loop {
            if (self.is_ending)() {
                return Ok(bytes.len());
            }
            match rustix::io::write(terminal, bytes) {
                Err(Errno::AGAIN) => wait_for_room(terminal),
                Err(Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
