//! `-j`: how many jobs run at once, and which slot a job gets; `--load` has the same syntax.
//!
//! The number of threads is [`Machine::threads`]: those that this process may use.  The slot that
//! was freed last is used first, so that few slots are ever used.

use std::path::PathBuf;

use thiserror::Error;

use super::machine::Machine;
use crate::units;

/// Most jobs at once: a slot takes some hundred bytes, and no kernel has more processes than this
/// (`PID_MAX_LIMIT`, proc(5)).
const JOBS_MAX: f64 = 4_194_304.0;

/// Most bytes that are read of a `-j` file, which should have a few.
const FILE_BYTES_MAX: usize = 4096;

/// How many jobs at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    form: Form,
    /// `auto`: fewer while jobs fail.
    auto: bool,
}

/// The parsed number.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// `0`: as many as the machine allows.
    Most,
    /// A number or a percentage of the threads, alone or relative to the threads.
    Number {
        /// `+` or `-`: relative to the number of threads.
        sign: Sign,
        value: f64,
        /// `%`: a percentage of the threads.
        percent: bool,
    },
    /// A file that holds one of the above.
    File(PathBuf),
}

/// How a number is combined with the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Alone,
    Above,
    Below,
}

/// Why the text of a `-j` or a `--load` is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JobsError {
    /// It is neither a number nor a file.
    #[error("-j '{0}': neither a number (10, 0, +2, -1, 150%) nor a file that holds one")]
    Form(String),
    /// The file contains something else.
    #[error("-j {path}: the file holds '{text}', and not a number (10, 0, +2, -1, 150%)")]
    File {
        /// The file.
        path: String,
        /// What it holds.
        text: String,
    },
    /// The file cannot be read.
    #[error("-j {path}: {problem}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the kernel said.
        problem: String,
    },
    /// It stands for no job at all.
    #[error("-j '{0}': no job could ever run")]
    None(String),
}

/// `100%`: one for each thread.
const EACH_THREAD: Form = Form::Number { sign: Sign::Alone, value: 100.0, percent: true };

impl Default for Jobs {
    fn default() -> Self {
        Jobs { form: EACH_THREAD, auto: false }
    }
}

impl Jobs {
    /// This number of jobs.
    pub fn number(jobs: u32) -> Self {
        let value = f64::from(jobs.max(1));
        Jobs { form: Form::Number { sign: Sign::Alone, value, percent: false }, auto: false }
    }

    /// Parses `10`, `0`, `150%`, `+2`, `-1`, `+25%`, `12/2`, any of them with `auto`, or the name
    /// of a file that contains one.  [`Jobs::evaluate`] reads the file.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn parse(text: &str) -> Result<Self, JobsError> {
        let (number, auto) = match text.strip_suffix("auto") {
            Some(rest) if form(rest).is_some() => (rest, true),
            _ => (text, false),
        };
        match form(number) {
            Some(Form::Number { sign: Sign::Alone, value: 0.0, .. }) => {
                Err(JobsError::None(text.to_owned()))
            }
            Some(form) => Ok(Jobs { form, auto }),
            None if text.is_empty() || text.contains('\0') => Err(JobsError::Form(text.to_owned())),
            None => Ok(Jobs { form: Form::File(PathBuf::from(text)), auto: false }),
        }
    }

    /// The number of jobs now, at least one; a file is read again each time.
    ///
    /// # Errors
    /// If a file does not exist (then the text was no number either), or contains something else.
    pub fn evaluate(&self, machine: &mut dyn Machine) -> Result<u32, JobsError> {
        let Form::File(path) = &self.form else { return Ok(jobs(&self.form, machine)) };
        let name = || path.to_string_lossy().into_owned();
        let bytes = machine.file(path, FILE_BYTES_MAX).map_err(|problem| {
            if problem.kind() == std::io::ErrorKind::NotFound {
                JobsError::Form(name())
            } else {
                JobsError::Unreadable { path: name(), problem: problem.to_string() }
            }
        })?;
        let text = String::from_utf8_lossy(&bytes);
        match form(text.trim()) {
            Some(form) => Ok(jobs(&form, machine)),
            None => Err(JobsError::File { path: name(), text: text.trim().to_owned() }),
        }
    }

    /// Whether a file contains the number, so that it may change.
    pub fn is_file(&self) -> bool {
        matches!(self.form, Form::File(_))
    }

    /// Whether it is as many as the machine allows.
    pub fn is_most(&self) -> bool {
        self.form == Form::Most
    }

    /// Whether fewer jobs run at once while jobs fail.
    pub fn is_auto(&self) -> bool {
        self.auto
    }
}

/// Parses a number, without a file.
fn form(text: &str) -> Option<Form> {
    if text.bytes().all(|byte| byte == b'0') && !text.is_empty() {
        return Some(Form::Most);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (Sign::Above, &text[1..]),
        b'-' => (Sign::Below, &text[1..]),
        _ => (Sign::Alone, text),
    };
    let (rest, percent) = match rest.strip_suffix('%') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let is_sum = |byte: u8| byte.is_ascii_digit() || b"+-*/().".contains(&byte);
    if !rest.bytes().all(is_sum)
        || !rest.starts_with(|first: char| first.is_ascii_digit() || first == '(')
    {
        return None;
    }
    // A fraction alone is a mistake and not a term.
    if !percent && rest.contains('.') && !rest.contains(['+', '-', '*', '/']) {
        return None;
    }
    Some(Form::Number { sign, value: units::amount(rest).ok()?, percent })
}

/// The number of jobs on a machine.
fn jobs(form: &Form, machine: &mut dyn Machine) -> u32 {
    let jobs = match form {
        Form::Most => f64::from(machine.jobs_max()),
        form => amount(form, machine.threads()).ceil(),
    };
    jobs.clamp(1.0, JOBS_MAX) as u32
}

/// The value on a machine with this many threads.
fn amount(form: &Form, threads: u32) -> f64 {
    let Form::Number { sign, value, percent } = form else { return 0.0 };
    let threads = f64::from(threads);
    let value = if *percent { threads * value / 100.0 } else { *value };
    match sign {
        Sign::Alone => value,
        Sign::Above => threads + value,
        Sign::Below => threads - value,
    }
}

/// The least limit: no load is below 0.
const LOAD_MIN: f64 = 0.01;

/// `--load`: no job starts while this many threads run or wait for a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    form: Form,
}

impl Load {
    /// Parses the syntax of `-j`; `0` is almost nothing.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn parse(text: &str) -> Result<Self, JobsError> {
        match Jobs::parse(text) {
            Ok(Jobs { form, auto: false }) => Ok(Load { form }),
            Err(JobsError::None(_)) => Ok(Load { form: Form::Most }),
            _ => Err(JobsError::Form(text.to_owned())),
        }
    }

    /// The load below which a job may start.
    ///
    /// # Errors
    /// If a file does not exist, or contains something else.
    pub fn evaluate(&self, machine: &mut dyn Machine) -> Result<f64, JobsError> {
        match &self.form {
            Form::File(_) => {
                let file = Jobs { form: self.form.clone(), auto: false };
                file.evaluate(machine).map(f64::from)
            }
            Form::Most => Ok(LOAD_MIN),
            form => Ok(amount(form, machine.threads()).max(LOAD_MIN)),
        }
    }
}

/// Which slots are free.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// How many may be in use now.
    limit: u32,
    /// The most that may ever be in use.
    limit_max: u32,
    /// How many are in use.
    used: u32,
    /// Slots that were used and are free, the last freed at the end.
    free: Vec<u32>,
    /// The highest slot ever used.
    highest: u32,
}

impl Slots {
    pub(super) fn new(limit: u32, limit_max: Option<u32>) -> Self {
        let limit_max = limit_max.unwrap_or(u32::MAX);
        Slots { limit: limit.min(limit_max), limit_max, used: 0, free: Vec::new(), highest: 0 }
    }

    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    pub(super) fn set_limit(&mut self, limit: u32) {
        self.limit = limit.min(self.limit_max).max(1);
    }

    /// The slot that [`Slots::occupy`] would return.
    pub(super) fn next(&self) -> Option<u32> {
        (self.used < self.limit).then(|| self.free.last().copied().unwrap_or(self.highest + 1))
    }

    /// Takes the slot that [`Slots::next`] returned.
    pub(super) fn occupy(&mut self) -> u32 {
        self.used += 1;
        self.free.pop().unwrap_or_else(|| {
            self.highest += 1;
            self.highest
        })
    }

    pub(super) fn give_back(&mut self, slot: u32) {
        self.used = self.used.saturating_sub(1);
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fake::Fake;
    use super::*;

    /// What a text is on a machine of four threads.
    fn on_four(text: &str) -> Result<u32, JobsError> {
        let mut machine = Fake::new(4);
        Jobs::parse(text)?.evaluate(&mut machine)
    }

    #[test]
    fn every_form_is_a_number_of_jobs() {
        for (text, jobs) in [
            ("1", 1),
            ("10", 10),
            ("0", 1000),
            ("100%", 4),
            ("50%", 2),
            ("60%", 3),
            ("62.5%", 3),
            ("1%", 1),
            ("+0", 4),
            ("+3", 7),
            ("-1", 3),
            ("-4", 1),
            ("-9", 1),
            ("20auto", 20),
            ("+25%", 5),
            ("-25%", 3),
            ("12/2", 6),
            ("2*(1+2)", 6),
            ("2-9", 1),
            ("99999999999", 4 << 20),
        ] {
            assert_eq!(on_four(text), Ok(jobs), "-j {text}");
        }
        assert_eq!(Jobs::default().evaluate(&mut Fake::new(4)), Ok(4));
        assert_eq!(Jobs::number(0).evaluate(&mut Fake::new(4)), Ok(1));
    }

    #[test]
    fn what_is_no_number_is_a_file_or_an_error() {
        for text in
            ["", "x", "5x", "1.5", "+", "-", "%", "1e3%", "++1", "x auto", "12/0", "(2", "2k", ".5"]
        {
            assert_eq!(on_four(text), Err(JobsError::Form(text.to_owned())), "-j {text}");
        }
        assert_eq!(on_four("0%"), Err(JobsError::None("0%".into())));
    }

    #[test]
    fn a_file_is_read_again_each_time() {
        let mut machine = Fake::new(4);
        let jobs = Jobs::parse("procfile").unwrap_or_else(|error| panic!("{error}"));
        assert!(jobs.is_file());
        assert_eq!(jobs.evaluate(&mut machine), Err(JobsError::Form("procfile".into())));
        for (text, number) in [("3\n", 3), ("50%", 2), (" +1 \n\n", 5)] {
            machine.now(|says| {
                says.files.insert("procfile".into(), text.into());
            });
            assert_eq!(jobs.evaluate(&mut machine), Ok(number), "{text:?}");
        }
        machine.now(|says| {
            says.files.insert("procfile".into(), "procfile".into());
        });
        let wrong = JobsError::File { path: "procfile".into(), text: "procfile".into() };
        assert_eq!(jobs.evaluate(&mut machine), Err(wrong));
        machine.now(|says| says.broken = true);
        let broken = JobsError::Unreadable { path: "procfile".into(), problem: "broken".into() };
        assert_eq!(jobs.evaluate(&mut machine), Err(broken));
    }

    #[test]
    fn a_load_of_nothing_is_next_to_nothing() {
        let load = |text: &str| {
            let load = Load::parse(text).unwrap_or_else(|error| panic!("{error}"));
            load.evaluate(&mut Fake::new(4)).unwrap_or_else(|error| panic!("{error}"))
        };
        assert_eq!(load("0"), 0.01);
        assert_eq!(load("0%"), 0.01);
        assert_eq!(load("100%"), 4.0);
        assert_eq!(load("30%"), 1.2);
        assert_eq!(load("+2"), 6.0);
        assert_eq!(load("7"), 7.0);
        assert!(Load::parse("3auto").is_err());
        assert!(Load::parse("").is_err());
    }

    #[test]
    fn the_slot_freed_last_is_given_out_first() {
        let mut slots = Slots::new(3, Some(5));
        let taken: Vec<u32> = (0..3).map(|_| slots.occupy()).collect();
        assert_eq!(taken, [1, 2, 3]);
        assert_eq!(slots.next(), None);
        slots.give_back(1);
        slots.give_back(3);
        assert_eq!(slots.next(), Some(3));
        assert_eq!((slots.occupy(), slots.occupy()), (3, 1));
        slots.set_limit(2);
        slots.give_back(2);
        assert_eq!(slots.next(), None, "two run, and two may");
        slots.set_limit(9);
        assert_eq!((slots.occupy(), slots.occupy(), slots.occupy()), (2, 4, 5));
        assert_eq!(slots.next(), None);
    }
}
