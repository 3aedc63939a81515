//! The clock as a trait, so that tests of the recorder run whole days in milliseconds.

use std::os::fd::BorrowedFd;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// `CLOCK_BOOTTIME`: never steps, counts suspended time.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`: since the epoch, and may step.
    pub realtime_ns: i64,
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The time was reached.
    Due,
    /// A signal or a readable descriptor came first.
    Interrupted,
}

/// The most descriptors that a clock watches while it sleeps: a fixed array, so that a sleep
/// allocates nothing.  Two sources have one, and a recorder's control may have one.
pub const DESCRIPTORS_MAX: usize = 8;

/// The only way to learn the time below `cli`.
pub trait Clock {
    /// Both clocks, read together.
    fn now(&mut self) -> Moment;

    /// Sleeps until `CLOCK_BOOTTIME` reaches `monotonic_ns`; returns at once if it has.
    fn sleep_until(&mut self, monotonic_ns: u64) -> Wake;

    /// Like [`sleep_until`](Self::sleep_until), but also returns [`Wake::Interrupted`] when one of
    /// the first [`DESCRIPTORS_MAX`] `descriptors` is readable.  The default ignores descriptors.
    fn sleep_until_readable(&mut self, monotonic_ns: u64, _descriptors: &[BorrowedFd<'_>]) -> Wake {
        self.sleep_until(monotonic_ns)
    }
}
