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
    /// Turns its arguments (without the name) into whit's (without `whit`).
    pub(crate) translate: fn(Vec<OsString>) -> Vec<OsString>,
    /// The exit code for errors.
    pub(crate) failure: u8,
}

/// Every incumbent.
pub(crate) static ALL: &[Incumbent] = &[
    Incumbent { name: "collectl", translate: collectl::translate, failure: 2 },
    Incumbent { name: "cfgmaker", translate: makers::translate_make, failure: 2 },
    Incumbent { name: "indexmaker", translate: makers::translate_index, failure: 2 },
    Incumbent { name: "mrtg", translate: mrtg::translate, failure: 2 },
    Incumbent { name: "parallel", translate: parallel::translate, failure: 255 },
    Incumbent { name: "sem", translate: parallel::translate_sem, failure: 255 },
    Incumbent { name: "rrdtool", translate: |words| with(&["rrd"], words), failure: 1 },
    Incumbent { name: "rrdupdate", translate: |words| with(&["rrd", "update"], words), failure: 1 },
    Incumbent { name: "rrdcreate", translate: |words| with(&["rrd", "create"], words), failure: 1 },
    Incumbent { name: "rrdinfo", translate: |words| with(&["rrd", "info"], words), failure: 1 },
    Incumbent { name: "rrdcached", translate: |words| with(&["rrdcached"], words), failure: 1 },
    Incumbent { name: "free", translate: |words| with(&["sysstat", "free"], words), failure: 1 },
    Incumbent {
        name: "iostat",
        translate: |words| with(&["sysstat", "iostat"], words),
        failure: 1,
    },
    Incumbent {
        name: "mpstat",
        translate: |words| with(&["sysstat", "mpstat"], words),
        failure: 1,
    },
    Incumbent {
        name: "pidstat",
        translate: |words| with(&["sysstat", "pidstat"], words),
        failure: 1,
    },
    Incumbent { name: "sar", translate: |words| with(&["sysstat", "sar"], words), failure: 1 },
    Incumbent {
        name: "uptime",
        translate: |words| with(&["sysstat", "uptime"], words),
        failure: 1,
    },
    Incumbent {
        name: "vmstat",
        translate: |words| with(&["sysstat", "vmstat"], words),
        failure: 1,
    },
    Incumbent { name: "strace", translate: trace::strace_options::translate, failure: 1 },
];

/// The incumbent under whose name a command line calls us.
pub(crate) fn incumbent(arguments: &[OsString]) -> Option<&'static Incumbent> {
    let called = arguments.first().and_then(|first| Path::new(first).file_name())?;
    ALL.iter().find(|incumbent| called == incumbent.name)
}

/// The command line to run: the given one, or its translation when called under an incumbent's
/// name.
pub(crate) fn command_line(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(incumbent) = incumbent(&arguments) else { return arguments };
    let rest = arguments.split_off(1);
    let mut line = vec![OsString::from("whit")];
    line.extend((incumbent.translate)(rest));
    line
}

/// A command line whose words are those of a verb as they are.
fn with(verb: &[&str], words: Vec<OsString>) -> Vec<OsString> {
    verb.iter().map(OsString::from).chain(words).collect()
}
