//! Incumbents' names: called as `collectl` or `strace`, the binary takes that program's command line.
//!
//! Each name is a function from that program's arguments to whit's own.  `whit link DIR` makes the
//! links.

use std::ffi::OsString;
use std::path::Path;

mod collectl;
mod makers;
mod mrtg;
mod parallel;

/// A program whose command line we take when called under its name.
pub(crate) struct Incumbent {
    /// The name of the link.
    pub(crate) name: &'static str,
    /// How its arguments become whit's.
    translation: Translation,
    /// The exit code for errors.
    pub(crate) failure: u8,
}

/// How the arguments of a program (without its name) become whit's (without `whit`).
enum Translation {
    /// By a function.
    Function(fn(Vec<OsString>) -> Vec<OsString>),
    /// They stay as they are, behind these words.
    Behind(&'static [&'static str]),
}

impl Incumbent {
    const fn translated(
        name: &'static str,
        function: fn(Vec<OsString>) -> Vec<OsString>,
        failure: u8,
    ) -> Self {
        Incumbent { name, translation: Translation::Function(function), failure }
    }

    /// A program whose command line is that of a verb; its errors exit with 1.
    const fn verb(name: &'static str, words: &'static [&'static str]) -> Self {
        Incumbent { name, translation: Translation::Behind(words), failure: 1 }
    }
}

/// Every incumbent.
pub(crate) static ALL: &[Incumbent] = &[
    Incumbent::translated("collectl", collectl::translate, 2),
    Incumbent::translated("cfgmaker", makers::translate_make, 2),
    Incumbent::translated("indexmaker", makers::translate_index, 2),
    Incumbent::translated("mrtg", mrtg::translate, 2),
    Incumbent::translated("parallel", parallel::translate, 255),
    Incumbent::translated("sem", parallel::translate_sem, 255),
    Incumbent::verb("rrdtool", &["rrd"]),
    Incumbent::verb("rrdupdate", &["rrd", "update"]),
    Incumbent::verb("rrdcreate", &["rrd", "create"]),
    Incumbent::verb("rrdinfo", &["rrd", "info"]),
    Incumbent::verb("rrdcached", &["rrdcached"]),
    Incumbent::verb("free", &["sysstat", "free"]),
    Incumbent::verb("iostat", &["sysstat", "iostat"]),
    Incumbent::verb("mpstat", &["sysstat", "mpstat"]),
    Incumbent::verb("pidstat", &["sysstat", "pidstat"]),
    Incumbent::verb("sadf", &["sysstat", "sadf"]),
    Incumbent::verb("sar", &["sysstat", "sar"]),
    Incumbent::verb("uptime", &["sysstat", "uptime"]),
    Incumbent::verb("vmstat", &["sysstat", "vmstat"]),
    Incumbent::translated("strace", trace::strace_options::translate, 1),
];

/// The incumbent under whose name a command line calls us.
pub(crate) fn incumbent(arguments: &[OsString]) -> Option<&'static Incumbent> {
    let called = arguments.first().and_then(|first| Path::new(first).file_name())?;
    ALL.iter().find(|incumbent| called == incumbent.name)
}

/// Whether this program was called under the name of an incumbent.
pub(crate) fn is_called(name: &str) -> bool {
    incumbent(&crate::words::given()).is_some_and(|incumbent| incumbent.name == name)
}

/// The command line to run: the given one, or its translation when called under an incumbent's
/// name.
pub(crate) fn command_line(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(incumbent) = incumbent(&arguments) else { return arguments };
    let rest = arguments.split_off(1);
    let mut line = vec![OsString::from("whit")];
    match incumbent.translation {
        Translation::Function(function) => line.extend(function(rest)),
        Translation::Behind(words) => line.extend(words.iter().map(OsString::from).chain(rest)),
    }
    line
}
