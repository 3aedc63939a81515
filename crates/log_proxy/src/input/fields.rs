//! What several inputs need: waiting, levels of syslog's severities, fields.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use logring::{LogLevel, LogValue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PATIENCE;
use super::frames::InputFrame;
use super::output::Field;

/// The attribute that says how many bytes of a text are left out.
pub(super) const LEFT_OUT: &str = "LeftOut";

/// Datagrams, or pieces of a connection, that are taken in a row.
pub(super) const ROUND: usize = 64;

/// Waits until one can be read, for a fraction of a second; gives which can.
pub(super) fn wait_for(files: &[BorrowedFd<'_>]) -> io::Result<Vec<bool>> {
    wait_at_most(files, PATIENCE)
}

/// Waits until one can be read, for less than a second; gives which can.
pub(super) fn wait_at_most(files: &[BorrowedFd<'_>], patience: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> =
        files.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
    match poll(&mut polled, Some(&patience)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(polled.iter().map(|one| !one.revents().is_empty()).collect())
}

/// The level of a severity of syslog.
pub(super) fn level_of(severity: u8) -> LogLevel {
    match severity {
        0 => LogLevel::Emergency,
        1 => LogLevel::Alert,
        2 => LogLevel::Critical,
        3 => LogLevel::Error,
        4 => LogLevel::Warning,
        5 => LogLevel::Notice,
        6 => LogLevel::Info,
        _ => LogLevel::Debug,
    }
}

/// The field that says what of a frame is left out, if something is.
pub(super) fn left_out<'a>(frame: &InputFrame<'_>) -> Option<Field<'a>> {
    (frame.left_out > 0).then_some((LEFT_OUT, LogValue::Unsigned(frame.left_out)))
}
