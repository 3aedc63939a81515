//! The clocks of servers and proxies: they wait, retry and measure ages.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, for waiting and ages.
pub fn now() -> Instant {
    Instant::now()
}

/// Now, in nanoseconds since 1970 (UTC).
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Now, in nanoseconds since this machine was booted: no step changes it.
pub fn since_boot_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

/// Now, as times of files are.
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// Time of CPUs that this process has used, in ns.
pub fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
