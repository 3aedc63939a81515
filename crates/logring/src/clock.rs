//! Clocks: what records are stamped with, and readings of all clocks at once.

use crate::calibration::ClockPair;

/// Attempts of a reading; the one that took the shortest time is used.
const ATTEMPTS: usize = 5;

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// `CLOCK_BOOTTIME`, in ns: never steps, and counts suspended time.
#[must_use]
pub fn boottime_ns() -> u64 {
    clock_ns(libc::CLOCK_BOOTTIME)
}

/// `CLOCK_REALTIME`, in ns since 1970.
#[must_use]
pub fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// The time-stamp counter; 0 where there is none.
#[inline(always)]
#[must_use]
pub fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction; a kernel that forbids it is noticed at the start.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// A stamp: TSC ticks, or nanoseconds.
#[inline(always)]
#[must_use]
pub(crate) fn stamp(has_tsc: bool) -> u64 {
    if has_tsc { tsc() } else { boottime_ns() }
}

/// A reading of all clocks at once, as exact as a few attempts make it.
#[must_use]
pub fn pair(has_tsc: bool) -> ClockPair {
    let mut best: Option<(u64, ClockPair)> = None;
    for _ in 0..ATTEMPTS {
        let before = stamp(has_tsc);
        let (realtime_ns, boottime_ns) = (realtime_ns(), boottime_ns());
        let took = stamp(has_tsc).wrapping_sub(before);
        let pair = ClockPair { stamp: before.wrapping_add(took / 2), realtime_ns, boottime_ns };
        if best.is_none_or(|(shortest, _)| took < shortest) {
            best = Some((took, pair));
        }
    }
    best.map(|(_, pair)| pair).unwrap_or_default()
}

/// Whether the TSC counts evenly, always, and alike on all CPUs: the processor says so
/// (`invariant`, CPUID 0x8000_0007) and the kernel, which compares them, uses it for its own clock.
#[must_use]
pub fn is_tsc_usable() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        let is_invariant =
            __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
        let source = std::fs::read_to_string(SOURCE).unwrap_or_default();
        is_invariant && source.trim() == "tsc"
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = SOURCE;
        false
    }
}

/// When a process was started: field 22 of `/proc/PID/stat`, in clock ticks since boot.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may contain anything.
    let rest = &text[text.iter().rposition(|byte| *byte == b')')? + 1..];
    let field = rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).nth(19)?;
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

/// The id of this boot.
#[must_use]
pub fn boot_id() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut id = [0; 16];
    let digits: Vec<u8> =
        text.bytes().filter_map(|b| (b as char).to_digit(16)).map(|d| d as u8).collect();
    for (slot, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *slot = pair[0] << 4 | pair[1];
    }
    id
}
