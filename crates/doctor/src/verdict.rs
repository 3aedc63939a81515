//! Fine, dear or too slow: the time of reading as a share of the time between two samples.
//!
//! A file is **dear** (expensive) from 0.1 % of the interval on and **too slow** from 1 %: the
//! 15 ms that `/proc/stat` took on 48 CPUs under Linux 2.6.32 are too slow every second, dear
//! every 10 s, and fine every minute.  All files together may take five times as much.

use std::fmt;

use sample::State;

use super::measure::{FileCost, Measured};

/// The smallest share of the interval at which one file is dear.
const DEAR_SHARE: f64 = 0.001;

/// The smallest share of the interval at which one file is too slow.
const SLOW_SHARE: f64 = 0.01;

/// Limit of all files together, as a multiple of that of one file.
const TOTAL_FACTOR: f64 = 5.0;

/// The interval to judge by if none is given (0).
const SECOND_NS: u64 = 1_000_000_000;

/// The verdict on the cost of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Below 0.1 % of the interval.
    Fine,
    /// From 0.1 % on.
    Dear,
    /// From 1 % on.
    TooSlow,
}

impl Verdict {
    /// The verdict in words.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Verdict::Fine => "fine",
            Verdict::Dear => "dear",
            Verdict::TooSlow => "too slow",
        }
    }

    fn of_share(share: f64) -> Self {
        match share {
            share if share >= SLOW_SHARE => Verdict::TooSlow,
            share if share >= DEAR_SHARE => Verdict::Dear,
            _ => Verdict::Fine,
        }
    }
}

/// The time of a reading as a share of the interval.
pub(crate) fn share(nanoseconds: u64, interval_ns: u64) -> f64 {
    let interval_ns = if interval_ns == 0 { SECOND_NS } else { interval_ns };
    nanoseconds as f64 / interval_ns as f64
}

/// The verdict on one file.
pub(crate) fn of_file(file: &FileCost, interval_ns: u64) -> Verdict {
    Verdict::of_share(share(file.median_ns, interval_ns))
}

/// The verdict on everything: the worse of those on the slowest file and on all files together.
pub(crate) fn of_all(measured: &Measured, interval_ns: u64) -> Verdict {
    let files = measured.files.iter().map(|file| of_file(file, interval_ns)).max();
    let total = Verdict::of_share(share(measured.total_ns(), interval_ns) / TOTAL_FACTOR);
    files.unwrap_or(Verdict::Fine).max(total)
}

/// A file, or all files together, whose verdict is not fine.
#[derive(Debug)]
pub struct Slow {
    /// The path or pattern; `all files` for the sum.
    pub(crate) path: String,
    pub(crate) verdict: Verdict,
    pub(crate) median_ns: u64,
    /// The letters of the subsystems that read it.
    pub(crate) letters: String,
    /// The interval at which it would be fine.
    pub(crate) fine_interval_seconds: u64,
}

/// The files that are not fine, the most expensive first.
pub(crate) fn slow(measured: &Measured, interval_ns: u64) -> Vec<Slow> {
    let read = measured.files.iter().filter(|file| file.state == State::Ok);
    let files = read.filter_map(|file| {
        let verdict = of_file(file, interval_ns);
        (verdict > Verdict::Fine).then(|| Slow {
            path: file.path.clone(),
            verdict,
            median_ns: file.median_ns,
            letters: file.letters.clone(),
            fine_interval_seconds: fine_interval_seconds(file.median_ns as f64),
        })
    });
    let mut slow: Vec<Slow> = files.collect();
    let total = measured.total_ns();
    let verdict = Verdict::of_share(share(total, interval_ns) / TOTAL_FACTOR);
    if slow.is_empty() && verdict > Verdict::Fine {
        slow.push(Slow {
            path: "all files".to_owned(),
            verdict,
            median_ns: total,
            letters: String::new(),
            fine_interval_seconds: fine_interval_seconds(total as f64 / TOTAL_FACTOR),
        });
    }
    slow
}

fn fine_interval_seconds(nanoseconds: f64) -> u64 {
    // 5 % more than the limit needs, so that the verdict is fine.
    (nanoseconds / (DEAR_SHARE * SECOND_NS as f64) * 1.05).ceil() as u64
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Slow { path, verdict, median_ns, letters, fine_interval_seconds } = self;
        let milliseconds = *median_ns as f64 / 1e6;
        let verb = if path == "all files" { "take" } else { "takes" };
        write!(f, "{path} {verb} {milliseconds:.1} ms each time it is read, which is ")?;
        write!(f, "{} at this interval; ", verdict.word())?;
        match letters.as_str() {
            "" => write!(f, "record fewer subsystems (-s)")?,
            letters => write!(f, "leave it out (-s-{letters})")?,
        }
        write!(f, " or sample every {fine_interval_seconds} s (-i{fine_interval_seconds})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, median_ns: u64) -> FileCost {
        FileCost {
            path: path.into(),
            files: 1,
            bytes: 1,
            calls: 1,
            median_ns,
            worst_ns: median_ns,
            state: State::Ok,
            sources: vec!["cpu"],
            letters: "c".into(),
        }
    }

    fn measured(files: Vec<FileCost>) -> Measured {
        Measured { files, sources: Vec::new(), reads: 1 }
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let of = |median_ns, interval_ns| of_file(&file("/x", median_ns), interval_ns);
        assert_eq!(of(999_999, SECOND_NS), Verdict::Fine);
        assert_eq!(of(1_000_000, SECOND_NS), Verdict::Dear);
        assert_eq!(of(10_000_000, SECOND_NS), Verdict::TooSlow);
        assert_eq!(of(10_000_000, 0), Verdict::TooSlow, "0 counts as a second");
        assert_eq!(of(10_000_000, 60 * SECOND_NS), Verdict::Fine);
    }

    #[test]
    fn many_files_are_dear_together() {
        let many = measured((0..8).map(|n| file(&format!("/{n}"), 900_000)).collect());
        assert_eq!(of_all(&many, SECOND_NS), Verdict::Dear);
        let slow = slow(&many, SECOND_NS);
        assert_eq!(slow.len(), 1);
        assert!(slow[0].to_string().starts_with("all files take 7.2 ms"), "{}", slow[0]);
        let fine = slow[0].fine_interval_seconds * SECOND_NS;
        assert_eq!(of_all(&many, fine), Verdict::Fine);
    }

    #[test]
    fn the_advice_makes_it_fine() {
        let one = measured(vec![file("/proc/stat", 15_000_000)]);
        let slow = slow(&one, SECOND_NS);
        assert_eq!(slow[0].fine_interval_seconds, 16);
        assert_eq!(of_all(&one, 16 * SECOND_NS), Verdict::Fine);
    }
}
