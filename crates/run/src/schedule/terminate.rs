//! `--term-seq`: the signals that end a job, and the times between them.
//!
//! `TERM,200,TERM,100,TERM,50,KILL,25` sends TERM, waits 200 ms, sends TERM again and so on.  A job
//! that ends meanwhile gets no more signals.  Nothing happens after the last wait.

use std::time::{Duration, Instant};

use thiserror::Error;

/// Most steps of a sequence: far more than is useful.
const STEPS_MAX: usize = 64;

/// How a job is ended: signals, and the time after each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermSequence {
    steps: Vec<Step>,
}

/// A signal, and the time after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    signal: i32,
    wait: Duration,
}

/// Why the text of a `--term-seq` is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TermSequenceError {
    /// No signal of that name.
    #[error("--term-seq: no signal is named '{0}'")]
    Signal(String),
    /// A wait is not a number of milliseconds.
    #[error("--term-seq: '{0}' is not a number of milliseconds")]
    Wait(String),
    /// There are too many signals.
    #[error("--term-seq: more than {STEPS_MAX} signals")]
    Long,
}

impl Default for TermSequence {
    fn default() -> Self {
        let step = |signal, wait_ms| Step { signal, wait: Duration::from_millis(wait_ms) };
        TermSequence {
            steps: vec![
                step(libc::SIGTERM, 200),
                step(libc::SIGTERM, 100),
                step(libc::SIGTERM, 50),
                step(libc::SIGKILL, 25),
            ],
        }
    }
}

impl TermSequence {
    /// Parses `TERM,200,KILL,25`: names with or without `SIG`, or numbers; an empty text is the
    /// default sequence.
    ///
    /// # Errors
    /// The first word that is neither.
    pub fn parse(text: &str) -> Result<Self, TermSequenceError> {
        let text = text.trim_end_matches(',');
        if text.is_empty() {
            return Ok(TermSequence::default());
        }
        let mut steps = Vec::new();
        let mut words = text.split(',');
        while let Some(name) = words.next() {
            let signal = signal_number(name.trim())
                .ok_or_else(|| TermSequenceError::Signal(name.to_owned()))?;
            let wait = match words.next() {
                Some(wait) => milliseconds(wait.trim())
                    .ok_or_else(|| TermSequenceError::Wait(wait.to_owned()))?,
                None => Duration::ZERO,
            };
            if steps.len() == STEPS_MAX {
                return Err(TermSequenceError::Long);
            }
            steps.push(Step { signal, wait });
        }
        Ok(TermSequence { steps })
    }

    /// The duration of the whole sequence.
    pub fn length(&self) -> Duration {
        self.steps.iter().map(|step| step.wait).sum()
    }

    /// The signal of a step and the time of the next, if there is one.
    pub(super) fn step(&self, number: usize, now: Instant) -> Option<(i32, Option<Instant>)> {
        let step = self.steps.get(number)?;
        let next = (number + 1 < self.steps.len()).then(|| now + step.wait);
        Some((step.signal, next))
    }
}

/// Parses milliseconds, with a fraction; at most a day.
fn milliseconds(text: &str) -> Option<Duration> {
    let value: f64 = text.parse().ok()?;
    (0.0..=86_400_000.0).contains(&value).then(|| Duration::from_secs_f64(value / 1000.0))
}

/// The number of a signal, from its name or digits.
pub(super) fn signal_number(name: &str) -> Option<i32> {
    if let Ok(number) = name.parse::<i32>() {
        return (1..=libc::SIGRTMAX()).contains(&number).then_some(number);
    }
    let name = name.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The names of signal(7).
const SIGNALS: [(&str, i32); 31] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("IOT", libc::SIGIOT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals of a sequence and when they are sent, in milliseconds.
    fn played(sequence: &TermSequence) -> Vec<(i32, u128)> {
        let begin = Instant::now();
        let mut now = begin;
        let mut signals = Vec::new();
        for number in 0.. {
            let Some((signal, next)) = sequence.step(number, now) else { break };
            signals.push((signal, now.duration_since(begin).as_millis()));
            let Some(next) = next else { break };
            now = next;
        }
        signals
    }

    #[test]
    fn the_usual_sequence_ends_with_a_kill_after_350_ms() {
        let usual = TermSequence::default();
        assert_eq!(played(&usual), [(15, 0), (15, 200), (15, 300), (9, 350)]);
        assert_eq!(usual.length(), Duration::from_millis(375));
        assert_eq!(TermSequence::parse("TERM,200,TERM,100,TERM,50,KILL,25"), Ok(usual.clone()));
        assert_eq!(TermSequence::parse(""), Ok(usual));
    }

    #[test]
    fn names_and_numbers_are_signals() {
        let parsed = |text| played(&TermSequence::parse(text).unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(parsed("INT"), [(2, 0)]);
        assert_eq!(parsed("sigint,10,15,0,9"), [(2, 0), (15, 10), (9, 10)]);
        assert_eq!(parsed("TERM,100,,"), [(15, 0)]);
        assert_eq!(parsed("USR1,0.5,KILL,1"), [(10, 0), (9, 0)]);
    }

    #[test]
    fn what_is_neither_is_named() {
        let signal = |text, name: &str| {
            assert_eq!(TermSequence::parse(text), Err(TermSequenceError::Signal(name.into())));
        };
        signal("X", "X");
        signal("TERM,1,X", "X");
        signal("0,1", "0");
        signal("-9,1", "-9");
        signal("99,1", "99");
        let wait = |text, word: &str| {
            assert_eq!(TermSequence::parse(text), Err(TermSequenceError::Wait(word.into())));
        };
        wait("KILL,abc", "abc");
        wait("KILL,-1", "-1");
        wait("KILL,inf", "inf");
        let long = "TERM,1,".repeat(STEPS_MAX + 1);
        assert_eq!(TermSequence::parse(&long), Err(TermSequenceError::Long));
    }
}
