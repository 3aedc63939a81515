//! The machine's clocks.  Reading both costs about 50 ns and no system call (vDSO).

use rustix::time::{ClockId, Timespec};
use sample::{Clock, Moment, Wake};

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
        let request = Timespec {
            tv_sec: i64::try_from(monotonic_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (monotonic_ns % 1_000_000_000).cast_signed(),
        };
        match rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Boottime, &request)
        {
            Ok(()) => Wake::Due,
            Err(_) => Wake::Interrupted,
        }
    }
}

fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
