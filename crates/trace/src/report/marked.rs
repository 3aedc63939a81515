//! A trace on another host, whose lines come back beside what the command says.
//!
//! A connection has two streams, and the command has both.  So each line of the trace goes to stderr with a
//! mark in front, a random word that the asking side has made; what has no mark is the command's.  A line is
//! written at once and has at most some KB, so a line of the command never stands within one, though a
//! beginning of one may stand before it.
//!
//! The first line says that the trace has begun: from then on the end of its stdin ends it.
//!
//! Counts are lines of words, a call, an error or an unfinished call each, since tables of several hosts are
//! added up before they are written:
//!
//! ```text
//! call 64 257 156 65 327000 210000 900 41000 12:30,13:126
//! error 64 257 2 65
//! unfinished 64 0 1
//! end 0
//! ```
//!
//! `call`: table, number, calls, errors, time from entry to exit in ns, of that on a CPU (`-`: unknown),
//! shortest, longest, histogram (step and count); `error`: table, number, errno, times; `unfinished`: table,
//! number, calls; `end`: calls that were lost.  What is read may be of a hostile host: it has bounds.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::OwnedFd;

use super::ReportError;
use super::signals::{TerminationSignals, block_signals};
use crate::{Abi, CallId, CallStats, CallTally, Histogram, SLOTS, STEPS};

/// The most calls that a line may say, and the longest time in ns, 36 years: sums of both do not overflow.
const COUNT_MAX: u64 = 1 << 40;
const TIME_NS_MAX: u64 = 1 << 60;

/// Lines of calls that are taken of a host: a tally has one for each slot, and some for numbers that are none.
const CALL_LINES_MAX: usize = 2 * SLOTS;

/// Kinds of errors that are kept of a host: calls have some 20 each at most.
const ERRORS_MAX: usize = 32 << 10;

/// The first line.
pub const BEGUN: &str = "begun\n";

/// Passes whole lines on to stderr, each with a mark in front.
pub(super) struct MarkedLines {
    mark: Vec<u8>,
    /// The line that has begun.
    line: Vec<u8>,
}

impl MarkedLines {
    pub(super) fn new(mark: &str) -> Self {
        MarkedLines { mark: mark.as_bytes().to_vec(), line: mark.as_bytes().to_vec() }
    }
}

impl Write for MarkedLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                io::stderr().write_all(&self.line)?;
                self.line.clone_from(&self.mark);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends this program as TERM does once its stdin has ended: then who has asked for the trace wants its end,
/// or is gone.  The command gets an empty stdin.  Says with this mark that it has begun.
///
/// # Errors
/// When `/dev/null` cannot be its stdin, there is no thread, or stderr takes nothing.
pub fn end_with_stdin(mark: &str) -> Result<(), ReportError> {
    // A program in the place of ssh starts this one with the signals of its parent, which waits for them.
    TerminationSignals::unblock();
    let failed = || ReportError::system("cannot watch stdin");
    let stdin = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let stdin = stdin.map_err(|error| failed()(error.into()))?;
    let nothing: OwnedFd = File::open("/dev/null").map_err(failed())?.into();
    rustix::stdio::dup2_stdin(&nothing).map_err(|error| failed()(error.into()))?;
    let watch = move || {
        block_signals();
        let (mut stdin, mut bytes) = (File::from(stdin), [0; 512]);
        while stdin.read(&mut bytes).is_ok_and(|count| count > 0) {}
        let own = rustix::process::getpid();
        // It cannot fail for this process.
        let _ = rustix::process::kill_process(own, rustix::process::Signal::TERM);
    };
    let thread = std::thread::Builder::new().name("stdin".to_owned());
    thread.spawn(watch).map(drop).map_err(failed())?;
    let said = io::stderr().write_all([mark, BEGUN].concat().as_bytes());
    said.map_err(ReportError::system("cannot write to stderr"))
}

/// Writes what was counted.
pub(super) fn write_counts(tally: &CallTally, to: &mut dyn Write) -> io::Result<()> {
    for (id, stats) in &tally.calls {
        let CallStats { calls, errors, wall_ns, shortest_ns, longest_ns, .. } = stats;
        let cpu = stats.cpu_ns.map_or_else(|| "-".to_owned(), |ns| ns.to_string());
        let steps =
            stats.histogram.iter().flat_map(|histogram| histogram.counts().iter().enumerate());
        let steps = steps.filter(|(_, count)| **count > 0);
        let steps: Vec<String> = steps.map(|(step, count)| format!("{step}:{count}")).collect();
        let (id, steps) = (words_of(*id), steps.join(","));
        writeln!(
            to,
            "call {id} {calls} {errors} {wall_ns} {cpu} {shortest_ns} {longest_ns} {steps}"
        )?;
    }
    for ((id, error), count) in &tally.errors {
        writeln!(to, "error {} {error} {count}", words_of(*id))?;
    }
    for (id, count) in &tally.unfinished {
        writeln!(to, "unfinished {} {count}", words_of(*id))?;
    }
    writeln!(to, "end {}", tally.lost)?;
    to.flush()
}

fn words_of(id: CallId) -> String {
    let table = if id.abi == Abi::X86_64 { 64 } else { 32 };
    format!("{table} {}", id.number)
}

/// What was counted on a host, line by line.
#[derive(Debug, Default)]
pub struct CountReader {
    tally: CallTally,
    call_lines: usize,
    is_whole: bool,
}

impl CountReader {
    /// Reads a line, without its mark; false if it is none of counts.
    pub fn read(&mut self, line: &str) -> bool {
        self.line(line.trim_end_matches(['\n', '\r'])).is_some()
    }

    /// What was counted; `None` unless the last line has come.
    #[must_use]
    pub fn counts(self) -> Option<CallTally> {
        self.is_whole.then_some(self.tally)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        if kind == "end" {
            self.tally.lost = count(words.next())?;
            self.is_whole = true;
            return Some(());
        }
        let abi = match words.next()? {
            "64" => Abi::X86_64,
            "32" => Abi::I386,
            _ => return None,
        };
        // Numbers that are no calls are one, so that there are no more than slots.
        let call = CallId { abi, number: words.next()?.parse().ok()? };
        let call = if call.known_name().is_some() { call } else { CallId::of_slot(call.slot()) };
        match kind {
            "call" if self.call_lines == CALL_LINES_MAX => return None,
            "call" => {
                let stats = stats(&mut words)?;
                self.call_lines += 1;
                self.tally.calls.entry(call).or_default().merge(&stats);
            }
            "error" => {
                let key = (call, words.next()?.parse().ok()?);
                let count = count(words.next())?;
                let has_room = self.tally.errors.len() < ERRORS_MAX;
                if has_room || self.tally.errors.contains_key(&key) {
                    let known = self.tally.errors.entry(key).or_default();
                    *known = (*known + count).min(COUNT_MAX);
                }
            }
            "unfinished" => {
                let known = self.tally.unfinished.entry(call).or_default();
                *known = (*known + count(words.next())?).min(COUNT_MAX);
            }
            _ => return None,
        }
        Some(())
    }
}

fn stats<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<CallStats> {
    let (calls, errors, wall_ns) =
        (count(words.next())?, count(words.next())?, time(words.next())?);
    let cpu_ns = match words.next()? {
        "-" => None,
        word => Some(time(Some(word))?),
    };
    let (shortest_ns, longest_ns) = (time(words.next())?, time(words.next())?);
    if shortest_ns > longest_ns {
        return None;
    }
    let mut histogram = Histogram::default();
    let steps = words.next()?.split(',').filter(|step| !step.is_empty());
    for (step, of_step) in steps.take(STEPS).filter_map(|step| step.split_once(':')) {
        histogram.add_step(step.parse().ok()?, count(Some(of_step))?);
    }
    let histogram = Some(histogram);
    Some(CallStats { calls, errors, wall_ns, cpu_ns, shortest_ns, longest_ns, histogram })
}

fn count(word: Option<&str>) -> Option<u64> {
    word?.parse().ok().filter(|count| *count <= COUNT_MAX)
}

fn time(word: Option<&str>) -> Option<u64> {
    word?.parse().ok().filter(|time_ns| *time_ns <= TIME_NS_MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn read(text: &str) -> Option<CallTally> {
        let mut reader = CountReader::default();
        text.lines().for_each(|line| assert!(reader.read(line), "{line}"));
        reader.counts()
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        let mut tally = CallTally::default();
        tally.add(CallId::native(257), -2, 3_000, Some(900));
        tally.add(CallId::native(257), 3, 5_000_000_000, Some(7));
        tally.add(CallId { abi: Abi::I386, number: 5 }, 0, 1, None);
        tally.unfinished.insert(CallId::native(0), 2);
        tally.lost = 4;
        let mut text = Vec::new();
        write_counts(&tally, &mut text).unwrap();
        assert_eq!(read(std::str::from_utf8(&text).unwrap()), Some(tally));
        let cut = &text[..text.len() - "end 4\n".len()];
        assert_eq!(read(std::str::from_utf8(cut).unwrap()), None);
    }

    #[test]
    fn lines_that_are_none_change_nothing_and_numbers_have_bounds() {
        let wrong = [
            "",
            "call",
            "call 64 0 1 0 5 - 5 5",
            "call 65 0 1 0 5 - 5 5 3:1",
            "call 64 0 1 0 5 - 6 5 3:1",
            "call 64 0 1 0 5 - 5 5 x:1",
            "call 64 0 18446744073709551615 0 5 - 5 5 3:1",
            "error 64 0 x 1",
            "end",
            "end -1",
            "else 64 0 1",
        ];
        let mut reader = CountReader::default();
        assert!(wrong.iter().all(|line| !reader.read(line)));
        assert_eq!(reader.tally, CallTally::default());
        for number in 0..3_000_u64 {
            assert!(reader.read(&format!("unfinished 64 {} 1", number * 7)));
            let is_taken = reader.read("call 32 99999 1 0 5 - 5 5 999:1");
            assert_eq!(is_taken, number < CALL_LINES_MAX as u64);
        }
        assert!(reader.tally.unfinished.len() <= SLOTS);
        assert_eq!(reader.tally.total().calls, CALL_LINES_MAX as u64);
    }
}
