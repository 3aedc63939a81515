//! Options of lines, with strace's letters and long names, and what they mean.

use anyhow::{Context as _, bail, ensure};
use trace::{
    CallSet, Expression, LineOptions, Precision, Quiet, SignalSet, Stamp, Status, Statuses, Style,
};

/// Bytes of a text at most: above it a line is no line any more, and each is read from the task.
const TEXT_LIMIT_MAX: usize = 1 << 20;

/// Options that say how lines look stand together in the help.
const LINES: &str = "Lines (without -c)";

/// How tasks are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WayWanted {
    /// By programs in the kernel: the least weight; root
    Kernel,
    /// By ptrace at selected calls only: a command and its children, with -e trace= and -f
    Seccomp,
    /// By ptrace at every call
    Ptrace,
}

/// Options of lines.
#[derive(clap::Args, Debug)]
pub(crate) struct EventArguments {
    /// Lines, and the table of -c at the end
    #[arg(short = 'C', long, conflicts_with = "count", help_heading = LINES)]
    pub(crate) summary: bool,

    /// Only these: trace=, signal=, status=, raw=, abbrev=, quiet= and a list; see --help
    ///
    /// trace=open,read: calls by name; trace=%file: a class of them (file, desc, process, network,
    /// signal, ipc, memory, …); trace=/^get: names that match; trace=!futex: all but these.
    /// status=successful, failed, unfinished, detached; signal=CHLD,INT; raw=SET: arguments in
    /// hexadecimal; abbrev=SET: structures cut short for these only; quiet=attach, exit, ….
    #[arg(short = 'e', value_name = "EXPRESSION")]
    pub(crate) expressions: Vec<String>,

    /// As -e trace=SET
    #[arg(long, value_name = "SET", hide = true)]
    trace: Vec<String>,

    /// As -e signal=SET
    #[arg(long, alias = "signals", value_name = "SET", hide = true)]
    signal: Vec<String>,

    /// As -e status=SET
    #[arg(long, value_name = "SET", hide = true)]
    status: Vec<String>,

    /// As -e raw=SET
    #[arg(long, value_name = "SET", hide = true)]
    raw: Vec<String>,

    /// As -e abbrev=SET
    #[arg(long, value_name = "SET", hide = true)]
    abbrev: Vec<String>,

    /// Only calls that name this path, or use a descriptor of it
    #[arg(short = 'P', long = "trace-path", value_name = "PATH", help_heading = LINES)]
    paths: Vec<String>,

    /// Only calls that gave no error
    #[arg(short = 'z', long, overrides_with = "failed_only")]
    successful_only: bool,

    /// Time of the day before each line; -tt with microseconds, -ttt since 1970
    #[arg(short = 't', action = clap::ArgAction::Count, help_heading = LINES)]
    stamps: u8,

    /// As -t, with a format (time, unix, none) and a precision (s, ms, us, ns)
    #[arg(long, alias = "timestamps", value_name = "FORMAT,PRECISION", num_args = 0..=1,
          require_equals = true, default_missing_value = "time", help_heading = LINES)]
    absolute_timestamps: Option<String>,

    /// Time since the line before
    #[arg(short = 'r', help_heading = LINES)]
    relative: bool,

    /// As -r, with a precision (s, ms, us, ns)
    #[arg(long, value_name = "PRECISION", num_args = 0..=1, require_equals = true,
          default_missing_value = "us", help_heading = LINES)]
    relative_timestamps: Option<String>,

    /// Time in the call, behind each line
    #[arg(short = 'T', help_heading = LINES)]
    took: bool,

    /// As -T, with a precision (s, ms, us, ns)
    #[arg(long, value_name = "PRECISION", num_args = 0..=1, require_equals = true,
          default_missing_value = "us", help_heading = LINES)]
    syscall_times: Option<String>,

    /// What descriptors point to; -yy with addresses of sockets and numbers of devices
    #[arg(short = 'y', action = clap::ArgAction::Count, help_heading = LINES)]
    descriptors: u8,

    /// Bytes of a text that are shown
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 32, help_heading = LINES)]
    string_limit: usize,

    /// Structures whole
    #[arg(short = 'v', long = "no-abbrev", help_heading = LINES)]
    whole: bool,

    /// Texts in hexadecimal if not all of them is ASCII; -xx in any case
    #[arg(short = 'x', action = clap::ArgAction::Count, help_heading = LINES)]
    hex: u8,

    /// As -xx; or =non-ascii, =none
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", value_parser = ["all", "non-ascii", "none"], help_heading = LINES)]
    strings_in_hex: Option<String>,

    /// The number of the call before its name
    #[arg(short = 'n', long = "syscall-number", help_heading = LINES)]
    numbers: bool,

    /// The column of the result
    #[arg(long = "columns", value_name = "COLUMN", default_value_t = 40, help_heading = LINES)]
    column: usize,

    /// Leave unsaid: attach, exit, path-resolution, personality, thread-execve, all
    #[arg(long = "quiet", aliases = ["silent", "silence"], value_name = "WHAT", num_args = 0..=1,
          require_equals = true, default_missing_value = "attach,personality", help_heading = LINES)]
    pub(crate) quiet_words: Option<String>,

    /// How to watch: the best that is allowed, unless given
    #[arg(long, value_name = "WAY", conflicts_with = "seccomp")]
    way: Option<WayWanted>,

    /// As --way seccomp
    #[arg(long = "seccomp-bpf")]
    seccomp: bool,
}

/// What the expressions of `-e` and its like come to.  Of each kind the last holds, as with strace.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) calls: CallSet,
    raw: CallSet,
    abbreviated: CallSet,
    signals: SignalSet,
    pub(crate) statuses: Statuses,
    pub(crate) quiet: Option<Quiet>,
}

impl EventArguments {
    /// Reads the expressions.
    pub(crate) fn selection(&self, failed_only: bool) -> anyhow::Result<Selection> {
        let mut selection = Selection {
            calls: CallSet::all(),
            raw: CallSet::none(),
            abbreviated: if self.whole { CallSet::none() } else { CallSet::all() },
            signals: SignalSet::all(),
            statuses: Statuses::all(),
            quiet: None,
        };
        if self.successful_only {
            selection.statuses = Statuses::only(Status::Successful);
        }
        if failed_only {
            selection.statuses = Statuses::only(Status::Failed);
        }
        let words = [
            ("trace", &self.trace),
            ("signal", &self.signal),
            ("status", &self.status),
            ("raw", &self.raw),
            ("abbrev", &self.abbrev),
        ];
        let long = words.into_iter().flat_map(|(word, sets)| {
            sets.iter().map(move |set| (format!("--{word}={set}"), format!("{word}={set}")))
        });
        let short = self.expressions.iter().map(|text| (format!("-e {text}"), text.clone()));
        for (given, text) in short.chain(long) {
            match Expression::parse(&text).with_context(|| given)? {
                Expression::Trace(set) => selection.calls = set,
                Expression::Raw(set) => selection.raw = set,
                Expression::Abbreviate(set) => selection.abbreviated = set,
                Expression::Signal(set) => selection.signals = set,
                Expression::Status(set) => selection.statuses = set,
                Expression::Quiet(set) => selection.quiet = Some(set),
            }
        }
        if let Some(words) = &self.quiet_words {
            let set = Quiet::parse(words).with_context(|| format!("--quiet={words}"))?;
            selection.quiet = Some(set);
        }
        Ok(selection)
    }

    /// Which way is asked for.
    pub(crate) fn way(&self) -> Option<WayWanted> {
        if self.seccomp { Some(WayWanted::Seccomp) } else { self.way }
    }

    /// A word of -e that was given and means nothing to a table alone.
    pub(crate) fn of_lines_selected(&self) -> Option<&'static str> {
        let words = self.expressions.iter().filter_map(|text| Some(text.split_once('=')?.0));
        let mut of_lines = words.filter_map(|word| match word {
            "signal" | "signals" | "s" => Some("signal="),
            "raw" | "x" => Some("raw="),
            "abbrev" | "a" => Some("abbrev="),
            "quiet" | "silent" | "silence" | "q" => Some("quiet="),
            _ => None,
        });
        let long = [(&self.signal, "signal="), (&self.raw, "raw="), (&self.abbrev, "abbrev=")];
        let mut long = long.into_iter().filter(|(sets, _)| !sets.is_empty());
        of_lines.next().or_else(|| long.next().map(|(_, word)| word))
    }

    /// Whether calls are selected by paths.
    pub(crate) fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// An option of lines that was given, which means nothing to a table alone.
    pub(crate) fn of_lines(&self) -> Option<&'static str> {
        let given = [
            (self.stamps > 0, "-t"),
            (self.absolute_timestamps.is_some(), "--absolute-timestamps"),
            (self.relative, "-r"),
            (self.relative_timestamps.is_some(), "--relative-timestamps"),
            (self.took, "-T"),
            (self.syscall_times.is_some(), "--syscall-times"),
            (self.descriptors > 0, "-y"),
            (self.whole, "-v"),
            (self.hex > 0, "-x"),
            (self.strings_in_hex.is_some(), "--strings-in-hex"),
            (self.numbers, "-n"),
            (self.quiet_words.is_some(), "--quiet="),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }

    /// How lines look, but for what depends on where they go.
    pub(crate) fn lines(&self, selection: &Selection) -> anyhow::Result<LineOptions> {
        let limit = self.string_limit;
        ensure!(limit <= TEXT_LIMIT_MAX, "-s {limit}: at most {TEXT_LIMIT_MAX}");
        Ok(LineOptions {
            calls: selection.calls.clone(),
            raw: selection.raw.clone(),
            abbreviated: selection.abbreviated.clone(),
            signals: selection.signals,
            statuses: selection.statuses,
            paths: self.paths(selection.quiet)?,
            stamp: self.stamp()?,
            relative: precision_of(self.relative, self.relative_timestamps.as_deref())
                .context("--relative-timestamps")?,
            took: precision_of(self.took, self.syscall_times.as_deref())
                .context("--syscall-times")?,
            numbers: self.numbers,
            column: self.column,
            style: Style {
                text_limit: limit,
                whole: self.whole,
                hex_texts: match self.strings_in_hex.as_deref() {
                    Some("all") => 2,
                    Some("non-ascii") => 1,
                    Some(_) => 0,
                    None => self.hex.min(2),
                },
                descriptors: self.descriptors.min(2),
                zone_s: offset_s(),
            },
            wall_offset_ns: wall_offset_ns(),
            ..LineOptions::default()
        })
    }

    /// The paths of `-P`, and what each is in truth.
    fn paths(&self, quiet: Option<Quiet>) -> anyhow::Result<Vec<Vec<u8>>> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut paths = Vec::new();
        for path in &self.paths {
            ensure!(!path.is_empty(), "-P: give a path");
            paths.push(path.clone().into_bytes());
            let Ok(truth) = std::fs::canonicalize(path) else { continue };
            if truth.as_os_str() != path.as_str() {
                if !quiet.is_some_and(Quiet::path_resolution) {
                    eprintln!("whit: requested path {path:?} resolved into {truth:?}");
                }
                paths.push(truth.as_os_str().as_bytes().to_vec());
            }
        }
        Ok(paths)
    }

    fn stamp(&self) -> anyhow::Result<Option<Stamp>> {
        let Some(text) = &self.absolute_timestamps else {
            return Ok(match self.stamps {
                0 => None,
                1 => Some(Stamp::OfDay(Precision::Seconds)),
                2 => Some(Stamp::OfDay(Precision::Microseconds)),
                _ => Some(Stamp::Unix(Precision::Microseconds)),
            });
        };
        stamp_of(text).with_context(|| format!("--absolute-timestamps={text}"))
    }
}

/// What `--absolute-timestamps` says: a format and a precision, in any order, each with its name
/// before it if wanted.
fn stamp_of(text: &str) -> anyhow::Result<Option<Stamp>> {
    let mut format = "time";
    let mut precision = Precision::Seconds;
    for word in text.split(',') {
        let value = word.split_once(':').map_or(word, |(_, value)| value);
        match (word.split_once(':').map(|(name, _)| name), value) {
            (None | Some("format"), "none" | "time" | "unix") => format = value,
            (None | Some("precision"), _) => precision = precision_named(value)?,
            _ => bail!("give a format (time, unix, none) and a precision (s, ms, us, ns)"),
        }
    }
    Ok(match format {
        "none" => None,
        "unix" => Some(Stamp::Unix(precision)),
        _ => Some(Stamp::OfDay(precision)),
    })
}

fn precision_of(is_wanted: bool, named: Option<&str>) -> anyhow::Result<Option<Precision>> {
    match named {
        Some(name) => precision_named(name.strip_prefix("precision:").unwrap_or(name)).map(Some),
        None => Ok(is_wanted.then_some(Precision::Microseconds)),
    }
}

fn precision_named(name: &str) -> anyhow::Result<Precision> {
    Ok(match name {
        "s" => Precision::Seconds,
        "ms" => Precision::Milliseconds,
        "us" => Precision::Microseconds,
        "ns" => Precision::Nanoseconds,
        _ => bail!("{name:?} is no precision: s, ms, us and ns are"),
    })
}

/// Seconds east of Greenwich, now.
fn offset_s() -> i32 {
    crate::zone::local().to_offset(jiff::Timestamp::now()).seconds()
}

/// What the time since 1970 is ahead of the monotonic clock.
fn wall_offset_ns() -> i64 {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    let nanoseconds = |time: Timespec| time.tv_sec * 1_000_000_000 + time.tv_nsec;
    nanoseconds(clock_gettime(ClockId::Realtime)) - nanoseconds(clock_gettime(ClockId::Monotonic))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn times_are_asked_for_as_of_strace() {
        let stamp = |text| stamp_of(text).unwrap();
        assert_eq!(stamp("time"), Some(Stamp::OfDay(Precision::Seconds)));
        assert_eq!(stamp("ns"), Some(Stamp::OfDay(Precision::Nanoseconds)));
        assert_eq!(stamp("unix,ms"), Some(Stamp::Unix(Precision::Milliseconds)));
        let full = "precision:us,format:unix";
        assert_eq!(stamp(full), Some(Stamp::Unix(Precision::Microseconds)));
        assert_eq!(stamp("none"), None);
        for wrong in ["", "day", "format:us", "unix,x", "time;us"] {
            assert!(stamp_of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(precision_of(true, None).unwrap(), Some(Precision::Microseconds));
        assert_eq!(precision_of(false, Some("ns")).unwrap(), Some(Precision::Nanoseconds));
        assert_eq!(precision_of(false, None).unwrap(), None);
    }
}
