//! The machine's clocks.  Reading both costs about 50 ns and no system call (vDSO).

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use sample::{Clock, DESCRIPTORS_MAX, Moment, Wake};

/// The real clocks: `CLOCK_BOOTTIME` and `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&mut self) -> Moment {
        let monotonic = rustix::time::clock_gettime(ClockId::Boottime);
        let realtime = rustix::time::clock_gettime(ClockId::Realtime);
        Moment {
            monotonic_ns: u64::try_from(nanoseconds(monotonic)).unwrap_or(0),
            realtime_ns: nanoseconds(realtime),
        }
    }

    fn sleep_until(&mut self, monotonic_ns: u64) -> Wake {
        let request = timespec(monotonic_ns);
        match rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Boottime, &request)
        {
            Ok(()) => Wake::Due,
            Err(_) => Wake::Interrupted,
        }
    }

    fn sleep_until_readable(&mut self, monotonic_ns: u64, descriptors: &[BorrowedFd<'_>]) -> Wake {
        let waited = TIMER.with(|timer| {
            let timer = timer.as_ref()?;
            Some(wait(timer, monotonic_ns, descriptors))
        });
        // Without a timer only the time can end the sleep; descriptors are served at the tick.
        waited.unwrap_or_else(|| self.sleep_until(monotonic_ns))
    }
}

thread_local! {
    /// Created once per thread.  A timeout of `poll` would not count suspended time.
    static TIMER: Option<OwnedFd> =
        timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).ok();
}

/// Two system calls; a plain sleep is one.
fn wait(timer: &OwnedFd, monotonic_ns: u64, descriptors: &[BorrowedFd<'_>]) -> Wake {
    // A time of 0 would stop the timer.
    let it_value = timespec(monotonic_ns.max(1));
    let setting = Itimerspec { it_interval: timespec(0), it_value };
    if timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &setting).is_err() {
        return Wake::Interrupted;
    }
    // The timer, then the descriptors; `poll` ignores the rest of the array.
    let count = descriptors.len().min(DESCRIPTORS_MAX);
    let mut watched: [PollFd<'_>; DESCRIPTORS_MAX + 1] =
        std::array::from_fn(|index| match descriptors.get(index.wrapping_sub(1)) {
            Some(&descriptor) => PollFd::from_borrowed_fd(descriptor, PollFlags::IN),
            None => PollFd::new(timer, PollFlags::IN),
        });
    match poll(&mut watched[..=count], None) {
        Ok(_) if !watched[0].revents().is_empty() => Wake::Due,
        _ => Wake::Interrupted,
    }
}

fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
    }
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_sleep_ends_on_time_or_when_there_is_something_to_read() {
        let mut clock = SystemClock;
        let (reader, mut writer) = std::io::pipe().unwrap();
        for _ in 0..3 {
            let target = clock.now().monotonic_ns + 20_000_000;
            assert_eq!(clock.sleep_until_readable(target, &[reader.as_fd()]), Wake::Due);
            assert!(clock.now().monotonic_ns >= target);
        }
        writer.write_all(b"x").unwrap();
        let target = clock.now().monotonic_ns + 60_000_000_000;
        assert_eq!(clock.sleep_until_readable(target, &[reader.as_fd()]), Wake::Interrupted);
        // Each of several descriptors ends the sleep, at any index.
        let (other, _kept_open) = std::io::pipe().unwrap();
        for both in [[reader.as_fd(), other.as_fd()], [other.as_fd(), reader.as_fd()]] {
            assert_eq!(clock.sleep_until_readable(target, &both), Wake::Interrupted);
        }
        let past = clock.now().monotonic_ns - 1;
        assert_eq!(clock.sleep_until_readable(past, &[reader.as_fd()]), Wake::Due);
        assert_eq!(clock.sleep_until_readable(0, &[reader.as_fd()]), Wake::Due);
    }
}
