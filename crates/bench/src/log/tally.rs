//! The audit: each call has a number, and each number must arrive once.

use log_format::LogRecord;
use logring::LogValue;

/// What stands before the numbers of a call in every message.
pub(super) const MARK: &str = "call ";

/// What arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// By thread and number.
    seen: Vec<bool>,
    calls: u64,
    /// Records that arrived.
    pub(super) received: u64,
    /// Records that had arrived before.
    pub(super) duplicates: u64,
    /// Records that nobody has sent.
    pub(super) strangers: u64,
}

impl Tally {
    /// Expects calls 0, 1, … of each thread.
    pub(super) fn new(threads: u64, calls: u64) -> Self {
        let seen = vec![false; usize::try_from(threads * calls).unwrap_or(0)];
        Tally { seen, calls, ..Self::default() }
    }

    fn add(&mut self, thread: u64, number: u64) {
        self.received += 1;
        let at = thread.checked_mul(self.calls).and_then(|at| at.checked_add(number));
        let at = at.filter(|_| number < self.calls).and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| self.seen.get_mut(at)) {
            Some(seen) => self.duplicates += u64::from(std::mem::replace(seen, true)),
            None => self.strangers += 1,
        }
    }

    /// Takes a record.
    pub(super) fn add_record(&mut self, record: &LogRecord<'_>) {
        let Ok(arguments) = record.record.arguments(record.types()) else { return };
        if let [LogValue::Unsigned(thread), LogValue::Unsigned(number), ..] = *arguments.as_slice()
        {
            self.add(thread, number);
        }
    }

    /// Takes lines of text, in any format that has the message.
    pub(super) fn add_lines(&mut self, text: &str) {
        for line in text.lines() {
            let Some((_, rest)) = line.split_once(MARK) else { continue };
            let mut numbers = rest.split(' ').map(str::parse::<u64>);
            match (numbers.next(), numbers.next()) {
                (Some(Ok(thread)), Some(Ok(number))) => self.add(thread, number),
                _ => {
                    self.received += 1;
                    self.strangers += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_and_what_nobody_sent_is_counted() {
        let mut tally = Tally::new(2, 3);
        tally.add_lines("x INFO call 0 0 0.5\ncall 1 2 1\nother\ncall 0 0 0.5\n");
        assert_eq!((tally.received, tally.duplicates, tally.strangers), (3, 1, 0));
        tally.add_lines("call 0 3 1\ncall 2 0 1\ncall x\ncall 18446744073709551615 1 1");
        assert_eq!((tally.received, tally.duplicates, tally.strangers), (7, 1, 4));
    }
}
