//! Which calls, signals and results are selected: the expressions of `-e`, as in `strace`.
//!
//! ```text
//! trace=open,openat        these            trace=%file       a class
//! trace=!futex             all but these    trace=/^set       names that match
//! trace=?statx             if there is one  trace=read@64     of 64-bit programs only
//! ```

use regex::Regex;

use crate::decode::signals;
use crate::engine::{CallFilter, Tampering};
use crate::table::{self, Class};
use crate::{Abi, CallId, SLOTS, strace_options};

mod tamper;

pub use tamper::short_time_ns;

/// Why an expression cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SelectError {
    /// No call has this name.
    #[error("no system call is named {0:?}: `?{0}` asks for it where there is one")]
    Call(String),
    /// No class has this name.
    #[error("no class of system calls is named {0:?}: the classes are {names}", names = class_names())]
    Class(String),
    /// No table has this name.
    #[error("no table of system calls is named {0:?}: give @64 or @32")]
    Table(String),
    /// The regular expression is invalid, or too large.
    #[error("{pattern:?} is not a regular expression: {why}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// No signal has this name.
    #[error("no signal is named {0:?}")]
    Signal(String),
    /// A word that is not allowed here.
    #[error("{word:?} is not one of {words}")]
    Word {
        /// As it was given.
        word: String,
        /// The words that are allowed.
        words: &'static str,
    },
    /// What is to be done to calls is invalid.
    #[error("{text:?}: {why}")]
    Tampering {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// What should be the number of a descriptor is none.
    #[error("{0:?} is not the number of a descriptor")]
    Descriptor(String),
    /// strace has it, whit does not.
    #[error("-e {0}= is not supported: {1}")]
    Unsupported(String, &'static str),
    /// There is no such kind of expression.
    #[error(
        "-e {0}= is unknown: give trace, signal, status, raw, abbrev, verbose, quiet, \
             decode-fds, read, write, inject or fault"
    )]
    Unknown(String),
}

fn class_names() -> String {
    let names: Vec<_> = Class::ALL.iter().map(|(name, _)| *name).collect();
    names.join(" ")
}

/// A set of calls, of both tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSet([u64; SLOTS / 64]);

impl CallSet {
    /// No call.
    #[must_use]
    pub const fn none() -> Self {
        CallSet([0; SLOTS / 64])
    }

    /// Every call, and every number that is no call.
    #[must_use]
    pub const fn all() -> Self {
        CallSet([u64::MAX; SLOTS / 64])
    }

    /// Whether a call is in it.
    #[must_use]
    pub fn has(&self, call: CallId) -> bool {
        let slot = call.slot();
        self.0[slot / 64] >> (slot % 64) & 1 != 0
    }

    /// Whether every call is in it.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::all()
    }

    /// Whether no call is in it.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// Adds a call.
    pub fn add(&mut self, call: CallId) {
        let slot = call.slot();
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// The set as the BPF programs take it: a bit for each slot.
    #[must_use]
    pub fn bits(&self) -> [u64; SLOTS / 64] {
        self.0
    }

    /// The set as engines take it.
    #[must_use]
    pub fn wanted(&self) -> CallFilter {
        CallFilter::of(|call| self.has(call))
    }

    /// Parses an expression, without `trace=`.
    ///
    /// # Errors
    ///
    /// If no call has a name, unless `?` stands before it; if a regular expression is invalid.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let (is_inverted, list) = inverted(text);
        let mut set = match list {
            "all" => Self::all(),
            "none" => Self::none(),
            _ => {
                let mut set = Self::none();
                for word in list.split(',').filter(|word| !word.is_empty()) {
                    set.add_word(word)?;
                }
                set
            }
        };
        if is_inverted {
            set.0.iter_mut().for_each(|word| *word = !*word);
        }
        Ok(set)
    }

    fn add_word(&mut self, word: &str) -> Result<(), SelectError> {
        let (is_optional, word) = match word.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        let (name, abis) = match word.split_once('@') {
            Some((name, "64")) => (name, &[Abi::X86_64][..]),
            Some((name, "32")) => (name, &[Abi::I386][..]),
            Some((_, table)) => return Err(SelectError::Table(table.to_owned())),
            None => (word, &[Abi::X86_64, Abi::I386][..]),
        };
        let found = if let Some(pattern) = name.strip_prefix('/') {
            let regex = Regex::new(pattern).map_err(|error| SelectError::Pattern {
                pattern: pattern.to_owned(),
                why: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
            })?;
            self.add_all(abis, |call| regex.is_match(&call.name()))
        } else if let Ok(number) = name.parse::<u64>() {
            self.add_all(abis, |call| call.number == number)
        } else if let Some(class) = class_of(name)? {
            self.add_all(abis, |call| table::entry(call).classes.meets(class))
        } else {
            // 32-bit programs make these calls by `socketcall`, as they have no number of their
            // own.
            let name = if matches!(name, "send" | "recv") { "socketcall" } else { name };
            self.add_all(abis, |call| call.known_name() == Some(name))
        };
        if found || is_optional { Ok(()) } else { Err(SelectError::Call(name.to_owned())) }
    }

    /// Adds every wanted call of these tables; returns whether there was one.
    fn add_all(&mut self, abis: &[Abi], is_wanted: impl Fn(CallId) -> bool) -> bool {
        let mut found = false;
        for call in abis.iter().flat_map(|abi| CallId::all(*abi)).filter(|call| is_wanted(*call)) {
            self.add(call);
            found = true;
        }
        found
    }
}

/// The class that a word names; the seven oldest may come without `%`.
fn class_of(word: &str) -> Result<Option<Class>, SelectError> {
    const OLD: [&str; 7] = ["file", "desc", "process", "network", "signal", "ipc", "memory"];
    if word.starts_with('%') {
        let class = Class::by_name(word).ok_or_else(|| SelectError::Class(word.to_owned()))?;
        return Ok(Some(class));
    }
    // i386 also has calls `signal` and `ipc`; as in strace the class is meant.
    Ok(OLD.contains(&word).then(|| Class::by_name(&format!("%{word}"))).flatten())
}

fn inverted(text: &str) -> (bool, &str) {
    match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

/// A set of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalSet(u64);

impl SignalSet {
    /// No signal.
    #[must_use]
    pub const fn none() -> Self {
        SignalSet(0)
    }

    /// Every signal.
    #[must_use]
    pub const fn all() -> Self {
        SignalSet(u64::MAX)
    }

    /// Whether a signal is in it.  A number that is no signal is in every set that is not empty.
    #[must_use]
    pub fn has(self, signal: i32) -> bool {
        match signal {
            1..=64 => self.0 >> (signal - 1) & 1 != 0,
            _ => self.0 != 0,
        }
    }

    /// Parses an expression, without `signal=`.
    ///
    /// # Errors
    ///
    /// If no signal has a name.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let (is_inverted, list) = inverted(text);
        let mut bits = 0;
        match list {
            "all" => bits = u64::MAX,
            "none" => {}
            _ => {
                for word in list.split(',').filter(|word| !word.is_empty()) {
                    let number = signals::by_name(word)
                        .ok_or_else(|| SelectError::Signal(word.to_owned()))?;
                    bits |= 1 << (number - 1);
                }
            }
        }
        Ok(SignalSet(if is_inverted { !bits } else { bits }))
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// It returned no error.
    Successful,
    /// It returned an error.
    Failed,
    /// The task exited within the call.
    Unfinished,
    /// The result could not be read.
    Unavailable,
    /// The task was detached within the call.
    Detached,
}

/// A set of [`CallStatus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallStatuses(u8);

const STATUS_WORDS: [(&str, CallStatus); 5] = [
    ("successful", CallStatus::Successful),
    ("failed", CallStatus::Failed),
    ("unfinished", CallStatus::Unfinished),
    ("unavailable", CallStatus::Unavailable),
    ("detached", CallStatus::Detached),
];

impl CallStatuses {
    /// However a call ended.
    #[must_use]
    pub const fn all() -> Self {
        CallStatuses(0b1_1111)
    }

    /// Only this.
    #[must_use]
    pub const fn only(status: CallStatus) -> Self {
        CallStatuses(1 << status as u8)
    }

    /// Whether a call that ended like this is in the set.
    #[must_use]
    pub const fn has(self, status: CallStatus) -> bool {
        self.0 >> status as u8 & 1 != 0
    }

    /// Whether every status is in the set.
    #[must_use]
    pub const fn is_all(self) -> bool {
        self.0 == Self::all().0
    }

    /// Parses an expression, without `status=`.
    ///
    /// # Errors
    ///
    /// If it contains another word.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let words = "all, none, successful, failed, unfinished, unavailable and detached";
        let bits =
            words_of(text, &STATUS_WORDS.map(|(word, status)| (word, 1 << status as u8)), words)?;
        Ok(CallStatuses(bits))
    }
}

/// Messages that are left out: those about tasks, beside their calls and signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quiet(u8);

const QUIET_WORDS: [(&str, u8); 5] =
    [("attach", 1), ("exit", 2), ("path-resolution", 4), ("personality", 8), ("thread-execve", 16)];

impl Quiet {
    /// What `-q` leaves out when given `count` times.
    #[must_use]
    pub const fn times(count: u8) -> Self {
        Quiet(match count {
            0 => 0,
            1 => 1 | 8,
            2 => 1 | 2 | 8,
            _ => 31,
        })
    }

    /// Messages about tasks that are attached or detached.
    #[must_use]
    pub const fn attach(self) -> bool {
        self.0 & 1 != 0
    }

    /// Messages about tasks that exit.
    #[must_use]
    pub const fn exit(self) -> bool {
        self.0 & 2 != 0
    }

    /// Messages about the resolved paths of `-P`.
    #[must_use]
    pub const fn path_resolution(self) -> bool {
        self.0 & 4 != 0
    }

    /// Messages about a thread that replaces its process by `execve`.
    #[must_use]
    pub const fn thread_execve(self) -> bool {
        self.0 & 16 != 0
    }

    /// Parses an expression, without `quiet=`.
    ///
    /// # Errors
    ///
    /// If it contains another word.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let words = "all, none, attach, exit, path-resolution, personality and thread-execve";
        Ok(Quiet(words_of(text, &QUIET_WORDS, words)?))
    }
}

fn words_of(text: &str, known: &[(&str, u8)], words: &'static str) -> Result<u8, SelectError> {
    let all = known.iter().fold(0, |bits, (_, bit)| bits | bit);
    let (is_inverted, list) = inverted(text);
    let mut bits = 0;
    for word in list.split(',').filter(|word| !word.is_empty()) {
        bits |= match (word, known.iter().find(|(name, _)| *name == word)) {
            ("all", _) => all,
            ("none", _) => 0,
            (_, Some((_, bit))) => *bit,
            (_, None) => return Err(SelectError::Word { word: word.to_owned(), words }),
        };
    }
    Ok(if is_inverted { all & !bits } else { bits })
}

/// A set of descriptors, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescriptorSet {
    numbers: Vec<i32>,
    /// All but these.
    is_inverted: bool,
}

impl DescriptorSet {
    /// Whether a descriptor is in it.
    #[must_use]
    pub fn has(&self, descriptor: i32) -> bool {
        self.numbers.contains(&descriptor) != self.is_inverted
    }

    /// Whether no descriptor is in it.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.numbers.is_empty() && !self.is_inverted
    }

    /// Parses an expression, without `read=` or `write=`.
    ///
    /// # Errors
    ///
    /// If a word is not the number of a descriptor.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let (is_inverted, list) = inverted(text);
        let mut set = DescriptorSet { numbers: Vec::new(), is_inverted };
        match list {
            "all" => set.is_inverted = !is_inverted,
            "none" => {}
            _ => {
                for word in list.split(',').filter(|word| !word.is_empty()) {
                    let number = word.parse().ok().filter(|number| *number >= 0);
                    let wrong = || SelectError::Descriptor(word.to_owned());
                    set.numbers.push(number.ok_or_else(wrong)?);
                }
            }
        }
        Ok(set)
    }
}

/// Descriptors whose data is dumped after the lines of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dumps {
    /// When it was read.
    pub read: DescriptorSet,
    /// When it was written.
    pub write: DescriptorSet,
}

impl Dumps {
    /// Whether nothing is dumped.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.read.is_none() && self.write.is_none()
    }
}

/// An expression of `-e`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// `trace=`, or without a word: calls that are shown.
    Trace(CallSet),
    /// `raw=`: calls whose arguments are shown as plain words.
    Raw(CallSet),
    /// `abbrev=`: calls whose structures are abbreviated.
    Abbreviate(CallSet),
    /// `signal=`: signals that are shown.
    Signal(SignalSet),
    /// `status=`: how calls must end to be shown.
    Status(CallStatuses),
    /// `quiet=`: messages that are left out.
    Quiet(Quiet),
    /// `decode-fds=`: how much is shown of descriptors, as the number of `-y`.
    Descriptors(u8),
    /// `verbose=`: calls whose structures are decoded.
    Verbose(CallSet),
    /// `read=`: descriptors whose data is dumped when it was read.
    Read(DescriptorSet),
    /// `write=`: descriptors whose data is dumped when it was written.
    Write(DescriptorSet),
    /// `decode-pids=`: whether numbers of processes are followed by their names.
    Commands(bool),
    /// `inject=` and `fault=`: what is done to calls.
    Tamper(Tampering),
}

/// Words of `decode-fds=`.
const DESCRIPTOR_WORDS: [(&str, u8); 4] = [("path", 1), ("dev", 2), ("pidfd", 2), ("socket", 2)];

/// Words of `decode-pids=`.
const TASK_WORDS: [(&str, u8); 2] = [("comm", 1), ("pidns", 2)];

/// Parses what is to be shown of descriptors: 0 nothing, 1 their paths, 2 all.
fn descriptor_detail(text: &str) -> Result<u8, SelectError> {
    let words = "all, none, path, dev, pidfd and socket";
    Ok(match words_of(text, &DESCRIPTOR_WORDS, words)? {
        detail @ (0 | 1) => detail,
        _ => 2,
    })
}

impl Expression {
    /// Parses the argument of `-e`.
    ///
    /// # Errors
    ///
    /// If it is invalid, or a feature of strace that whit does not have.
    pub fn parse(text: &str) -> Result<Self, SelectError> {
        let Some((word, list)) = text.split_once('=') else {
            return CallSet::parse(text).map(Expression::Trace);
        };
        let refuse = |option| {
            let (_, why) = strace_options::refusal(option).unwrap_or_default();
            Err(SelectError::Unsupported(word.to_owned(), why))
        };
        match word {
            "trace" | "t" => CallSet::parse(list).map(Expression::Trace),
            "raw" | "x" => CallSet::parse(list).map(Expression::Raw),
            "abbrev" | "a" => CallSet::parse(list).map(Expression::Abbreviate),
            "signal" | "signals" | "s" => SignalSet::parse(list).map(Expression::Signal),
            "status" => CallStatuses::parse(list).map(Expression::Status),
            "quiet" | "silent" | "silence" | "q" => Quiet::parse(list).map(Expression::Quiet),
            "decode-fds" | "decode-fd" => descriptor_detail(list).map(Expression::Descriptors),
            "verbose" | "v" => CallSet::parse(list).map(Expression::Verbose),
            "inject" => Tampering::parse(list, false).map(Expression::Tamper),
            "fault" => Tampering::parse(list, true).map(Expression::Tamper),
            "read" | "reads" | "r" => DescriptorSet::parse(list).map(Expression::Read),
            "write" | "writes" | "w" => DescriptorSet::parse(list).map(Expression::Write),
            "kvm" => refuse("--kvm"),
            "decode-pids" | "decode-pid" => match words_of(list, &TASK_WORDS, "none and comm")? {
                bits if bits & 2 != 0 => Err(SelectError::Unsupported(
                    word.to_owned(),
                    "pidns: numbers in other PID namespaces are not shown",
                )),
                bits => Ok(Expression::Commands(bits != 0)),
            },
            _ => Err(SelectError::Unknown(word.to_owned())),
        }
    }
}

/// The calls, signals and messages that all expressions together select.  Of each kind the last one
/// counts, as in strace.
#[derive(Clone, Debug)]
pub struct EventSelection {
    /// Calls that are traced.
    pub calls: CallSet,
    /// Calls whose arguments are shown as plain words.
    pub raw: CallSet,
    /// Calls whose structures are abbreviated.
    pub abbreviated: CallSet,
    /// Signals that are shown.
    pub signals: SignalSet,
    /// How calls must end to be shown.
    pub statuses: CallStatuses,
    /// Messages that are left out; `None` if no expression sets them.
    pub quiet: Option<Quiet>,
    /// How much is shown of descriptors, as the number of `-y`.
    pub descriptors: u8,
    /// Whether numbers of processes are followed by their names.
    pub commands: bool,
    /// Calls whose structures are decoded.
    pub verbose: CallSet,
    /// Descriptors whose data is dumped.
    pub dumps: Dumps,
    /// What is done to calls, in the order in which it was given.
    pub tampering: Vec<Tampering>,
}

impl Default for EventSelection {
    fn default() -> Self {
        EventSelection {
            calls: CallSet::all(),
            raw: CallSet::none(),
            abbreviated: CallSet::all(),
            signals: SignalSet::all(),
            statuses: CallStatuses::all(),
            quiet: None,
            descriptors: 0,
            commands: false,
            verbose: CallSet::all(),
            dumps: Dumps::default(),
            tampering: Vec::new(),
        }
    }
}

impl EventSelection {
    /// Applies an expression.
    pub fn apply(&mut self, expression: Expression) {
        match expression {
            Expression::Trace(set) => self.calls = set,
            Expression::Raw(set) => self.raw = set,
            Expression::Abbreviate(set) => self.abbreviated = set,
            Expression::Signal(set) => self.signals = set,
            Expression::Status(set) => self.statuses = set,
            Expression::Quiet(set) => self.quiet = Some(set),
            Expression::Descriptors(detail) => self.descriptors = detail,
            Expression::Commands(are_shown) => self.commands = are_shown,
            Expression::Verbose(set) => self.verbose = set,
            Expression::Read(set) => self.dumps.read = set,
            Expression::Write(set) => self.dumps.write = set,
            Expression::Tamper(tampering) => self.tampering.push(tampering),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn names(text: &str) -> Vec<String> {
        let set = CallSet::parse(text).unwrap();
        let calls = CallId::all(Abi::X86_64).filter(|call| set.has(*call));
        calls.map(|call| call.name().into_owned()).collect()
    }

    #[test]
    fn sets_as_strace_has_them() {
        assert_eq!(names("read,write"), ["read", "write"]);
        assert_eq!(names("?nothing,read"), ["read"]);
        assert_eq!(names("/^p?read64$"), ["pread64"]);
        assert_eq!(names("%pure").len(), 8);
        assert_eq!(names("39"), ["getpid"]);
        assert_eq!(names("send,recv,sendto"), ["sendto"]);
        assert_eq!(names("file"), names("%file"));
        assert!(names("!read").len() > 300 && !names("!read").contains(&"read".to_owned()));
        assert!(names("none").is_empty() && names("!all").is_empty());
        assert!(CallSet::parse("all").unwrap().is_all());
        assert!(CallSet::parse("!none").unwrap().is_all());
        assert!(names("%file,%network").contains(&"connect".to_owned()));
        assert_eq!(CallSet::parse("raed"), Err(SelectError::Call("raed".into())));
        assert_eq!(CallSet::parse("%flie"), Err(SelectError::Class("%flie".into())));
        assert!(matches!(CallSet::parse("/("), Err(SelectError::Pattern { .. })));
        assert!(matches!(CallSet::parse("read@x32"), Err(SelectError::Table(_))));
    }

    #[test]
    fn a_table_can_be_named() {
        let read = |abi| CallId::by_name(abi, "read").unwrap();
        let set = CallSet::parse("read@32").unwrap();
        assert!(set.has(read(Abi::I386)) && !set.has(read(Abi::X86_64)));
        assert!(CallSet::parse("stat64").is_ok(), "of 32-bit programs alone");
        assert!(CallSet::parse("stat64@64").is_err());
    }

    #[test]
    fn signals_statuses_and_what_is_not_said() {
        let set = SignalSet::parse("!SIGCHLD,segv").unwrap();
        assert!(!set.has(libc::SIGCHLD) && !set.has(libc::SIGSEGV) && set.has(libc::SIGTERM));
        assert!(SignalSet::parse("SIGNONE").is_err());
        let set = CallStatuses::parse("failed,unfinished").unwrap();
        assert!(set.has(CallStatus::Failed) && !set.has(CallStatus::Successful));
        assert!(CallStatuses::parse("!none").unwrap().is_all());
        assert!(CallStatuses::parse("good").is_err());
        assert!(Quiet::times(2).exit() && !Quiet::times(1).exit());
        assert_eq!(Quiet::parse("all"), Ok(Quiet::times(3)));
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        assert!(matches!(Expression::parse("read"), Ok(Expression::Trace(_))));
        assert!(matches!(Expression::parse("trace=read"), Ok(Expression::Trace(_))));
        assert!(matches!(Expression::parse("raw=all"), Ok(Expression::Raw(_))));
        let error = Expression::parse("kvm=vcpu").unwrap_err();
        assert!(matches!(error, SelectError::Unsupported(..)), "{error}");
        assert!(matches!(Expression::parse("inject=all:error=EIO"), Ok(Expression::Tamper(_))));
        let set = |text| DescriptorSet::parse(text).unwrap();
        assert!(set("3,5").has(5) && !set("3,5").has(4) && set("!3").has(4) && set("all").has(9));
        assert!(!set("!all").has(1) && set("none").is_none() && set("!all").is_none());
        assert!(DescriptorSet::parse("x").is_err() && DescriptorSet::parse("-1").is_err());
        assert_eq!(Expression::parse("decode-fds=path"), Ok(Expression::Descriptors(1)));
        assert_eq!(Expression::parse("decode-fds=path,dev"), Ok(Expression::Descriptors(2)));
        assert_eq!(Expression::parse("decode-fds=none"), Ok(Expression::Descriptors(0)));
        assert!(matches!(Expression::parse("verbose=none"), Ok(Expression::Verbose(_))));
        assert!(matches!(Expression::parse("thing=1"), Err(SelectError::Unknown(_))));
    }
}
