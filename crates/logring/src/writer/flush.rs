//! Waiting until records are safe, and what the consumer says of itself.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::process::{Process, has_consumer, page_of, ring_positions};
use crate::abi::{process, status};
use crate::clock;
use crate::process_file::{ConsumerCost, ConsumerState, UndeliverableRange};
use crate::reader::Tier;
use crate::system::timespec;

/// Longest single wait: marks are looked at again after it.
const WAIT_NS_MAX: u64 = 2_000_000;

/// A consumer that has not looked for so long is lost: it looks about once a second.
const SILENCE_NS_MAX: u64 = 10_000_000_000;

/// What a flush found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushResult {
    /// Whether all that was written before is as safe as was asked.
    pub is_safe: bool,
    /// Bytes of records that are not.
    pub remaining_bytes: u64,
}

/// Waits until everything that any thread had written before is as safe as a tier says, or for
/// `timeout_ns`.
#[must_use]
pub fn flush(tier: Tier, timeout_ns: u64) -> FlushResult {
    let done = FlushResult { is_safe: true, remaining_bytes: 0 };
    let Some(process) = Process::get() else { return done };
    let Some(mark) = (tier as usize).checked_sub(1) else { return done };
    let mut wanted = Vec::new();
    ring_positions(process, |number, written, _| wanted.push((number, written)));
    let asked = u32_at(process, process::FLUSH_WANTED);
    asked.fetch_max((tier as u32).to_le(), Ordering::AcqRel);
    process.wake_consumers();
    let begin = clock::boottime_ns();
    let result = loop {
        let sequence = u32_at(process, process::STATUS + status::SEQUENCE).load(Ordering::Acquire);
        let mut remaining_bytes = 0;
        ring_positions(process, |number, _, slot| {
            let Some((_, written)) = wanted.iter().find(|(other, _)| *other == number) else {
                return;
            };
            remaining_bytes += written.saturating_sub(slot.mark(mark).unwrap_or(0));
        });
        let waited = clock::boottime_ns().saturating_sub(begin);
        if remaining_bytes == 0 || waited >= timeout_ns {
            break FlushResult { is_safe: remaining_bytes == 0, remaining_bytes };
        }
        wait(process, sequence, (timeout_ns - waited).min(WAIT_NS_MAX));
    };
    asked.store(0, Ordering::Release);
    result
}

fn u32_at(process: &Process, offset: usize) -> &AtomicU32 {
    // SAFETY: the offset is of a field of the header or of the status page.
    unsafe { &*page_of(process).add(offset).cast() }
}

fn word(process: &Process, offset: usize) -> u64 {
    // SAFETY: as of `u32_at`.
    u64::from_le(
        unsafe { &*page_of(process).add(offset).cast::<AtomicU64>() }.load(Ordering::Acquire),
    )
}

/// Waits on the status page's number.
fn wait(process: &Process, sequence: u32, timeout_ns: u64) {
    let futex = u32_at(process, process::STATUS + status::SEQUENCE);
    let time = timespec(timeout_ns);
    // SAFETY: the word and the time outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, futex, libc::FUTEX_WAIT, sequence, &time) };
}

/// What the consumer of this process's rings says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerStatus {
    /// Changes with everything else here.
    pub sequence: u32,
    /// What it does with the records.
    pub state: ConsumerState,
    /// `errno`, or 0.
    pub failure: u32,
    /// The process id of the consumer; 0: none.
    pub consumer_pid: u32,
    /// `CLOCK_BOOTTIME` when it last looked.
    pub heartbeat_ns: u64,
    /// Why, in words.
    pub message: String,
    /// Ranges that could not be delivered, ever.
    pub range_count: u64,
    /// The latest of them.
    pub ranges: Vec<UndeliverableRange>,
    /// What the consumer itself costs.
    pub cost: ConsumerCost,
}

/// The consumer's state now; `None` before the start.  A consumer that was killed or hangs is
/// [`ConsumerState::Lost`].
#[must_use]
pub fn consumer_status() -> Option<ConsumerStatus> {
    let process = Process::get()?;
    let number = |offset: usize| {
        u32::from_le(u32_at(process, process::STATUS + offset).load(Ordering::Acquire))
    };
    let sequence = number(status::SEQUENCE);
    let mut message = Vec::new();
    for at in 0..status::MESSAGE_BYTES / 8 {
        message.extend(word(process, process::STATUS + status::MESSAGE + at * 8).to_le_bytes());
    }
    let range_count = word(process, process::STATUS + status::RANGE_COUNT);
    let kept = status::RANGES_KEPT as u64;
    let ranges = (range_count.saturating_sub(kept)..range_count).filter_map(|at| {
        #[allow(clippy::cast_possible_truncation, reason = "below 16")]
        let offset = status::RANGES + (at % kept) as usize * status::RANGE_BYTES;
        let word = |offset| word(process, process::STATUS + offset);
        let range = UndeliverableRange {
            ring: number(offset),
            reason: number(offset + 4),
            first_sequence: word(offset + 8),
            last_sequence: word(offset + 16),
            number: word(offset + 24),
        };
        (range.number == at).then_some(range)
    });
    let mut found = ConsumerStatus {
        sequence,
        state: ConsumerState::from_number(number(status::STATE)).unwrap_or(ConsumerState::Degraded),
        failure: number(status::FAILURE),
        consumer_pid: number(status::CONSUMER_PID),
        heartbeat_ns: word(process, process::STATUS + status::HEARTBEAT),
        message: crate::bytes::text_at(&message, 0, status::MESSAGE_BYTES),
        range_count,
        ranges: ranges.collect(),
        cost: ConsumerCost::from_words(|at| word(process, process::STATUS + at)),
    };
    if let Some(why) = lost(process, &found) {
        (found.state, found.message) = (ConsumerState::Lost, why);
    }
    Some(found)
}

/// Why a consumer that says it reads does not: its lock is free, or it has not looked for long.
fn lost(process: &Process, status: &ConsumerStatus) -> Option<String> {
    if matches!(status.state, ConsumerState::None | ConsumerState::Ended) {
        return None;
    }
    let pid = status.consumer_pid;
    if !has_consumer(process) {
        return Some(format!("the consumer (process {pid}) is gone"));
    }
    let silence = clock::boottime_ns().saturating_sub(status.heartbeat_ns);
    let is_silent = status.heartbeat_ns != 0 && silence > SILENCE_NS_MAX;
    is_silent.then(|| {
        let seconds = silence / 1_000_000_000;
        format!("the consumer (process {pid}) has not looked for {seconds} s")
    })
}

/// Ends the waits of all that wait for a status.
pub fn wake_status_waiters() {
    if let Some(process) = Process::get() {
        let futex = u32_at(process, process::STATUS + status::SEQUENCE);
        // SAFETY: the word outlives the call.
        unsafe { libc::syscall(libc::SYS_futex, futex, libc::FUTEX_WAKE, i32::MAX) };
    }
}

/// Waits until the status has another number than `sequence`, or for `timeout_ns`.
pub fn wait_for_status(sequence: u32, timeout_ns: u64) {
    if let Some(process) = Process::get() {
        wait(process, sequence.to_le(), timeout_ns);
    }
}
