//! The benchmarks: the classic overhead tables, repeated on this machine beside the incumbents.
//!
//! - [`record`]: what recording costs, beside collectl, `sadc` and a loop of bare reads;
//! - [`processes`]: what reading processes costs, with up to ten thousand of them;
//! - [`proc`]: what reading the files costs that grow with the number of CPUs;
//! - [`trace`]: the additional cost of a system call while it is traced;
//! - [`spawn`]: what running a job costs, beside `xargs`, GNU parallel and a bare loop;
//! - [`rrd`]: round-robin databases: create, update, fetch and graph, beside RRDtool;
//! - [`rrdcached`]: the caching daemon: updates over a socket, an hour of MRTG, start with a journal;
//! - [`poll`]: devices asked by SNMP: MRTG's experiment, and thousands of devices;
//! - [`archive`]: questions to recordings: ranges in steps, a moment, the heaviest, beside Prometheus;
//! - [`log`]: what a log call costs: ACS's table, and beside spdlog and `tracing-appender`;
//! - [`watch`]: the whole service with every part on, beside netdata;
//! - [`send`]: handing samples over, beside node_exporter and collectd that are scraped;
//! - [`seeds`]: the five published measurements that this project began with, in one report.
//!
//! Whit is the program that the caller names, started as a user would start it, so all numbers
//! include its start, its options and its output.  All contestants take turns, round after round,
//! and are compared by medians; cases that whit loses stay in the tables.  Each benchmark returns a
//! [`Report`], and prints nothing.
//!
//! Uses: `source`, `procfs`, `recording` and `bpf`, for the floors: the lowest possible cost of
//! reading the same files, or of programs at the same tracepoints; `logger`, as a program that logs.
//! Begin with `contest.rs`, which lets contestants take turns, and `table.rs`, then `record.rs`.

use std::path::PathBuf;

/// Defines an enum whose values have names on the command line.
macro_rules! named {
    ($(#[$head:meta])* $kind:ident { $($(#[doc = $about:literal])+ $value:ident = $name:literal,)+ }) => {
        $(#[$head])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $($(#[doc = $about])+ $value,)+
        }

        impl $kind {
            /// Every value, in the order of the tables.
            pub const ALL: [$kind; [$($name),+].len()] = [$($kind::$value),+];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $name,)+
                }
            }

            /// What it is, for the help.
            pub fn about(self) -> &'static str {
                match self {
                    $($kind::$value => concat!($($about),+).trim_ascii(),)+
                }
            }
        }
    };
}

pub mod archive;
#[cfg(feature = "arguments")]
pub mod arguments;
mod contest;
mod error;
mod folder;
mod http;
pub mod log;
mod measure;
pub mod poll;
pub mod proc;
mod process;
pub mod processes;
mod programs;
pub mod record;
mod report;
pub mod rrd;
pub mod rrdcached;
pub mod seeds;
pub mod send;
pub mod spawn;
mod table;
pub mod trace;
pub mod watch;

pub use error::Error;
pub use programs::Programs;
pub use report::Report;

/// The folders in which programs are searched: those of `$PATH`.
#[derive(Clone, Debug, Default)]
pub struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    /// Looks in these folders, in this order.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        SearchPath(folders.into_iter().collect())
    }

    /// Where the shell would find a program.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        self.find_all(name).next()
    }

    /// All files that the shell could mean, the first one first.
    pub(crate) fn find_all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(move |folder| folder.join(name)).filter(|file| file.is_file())
    }
}

/// Shows a waiting person what is being measured; an empty text when it is done.
pub struct Progress<'a>(&'a dyn Fn(&str));

impl<'a> Progress<'a> {
    /// Calls `show` with each text.
    pub fn new(show: &'a dyn Fn(&str)) -> Self {
        Progress(show)
    }

    pub(crate) fn show(&self, text: &str) {
        (self.0)(text);
    }

    pub(crate) fn done(&self) {
        self.show("");
    }
}

/// The smallest difference that counts, as a part of what is subtracted.  The same work costs a
/// tenth more or less from one turn to the next, so a smaller difference means nothing.
const PART_THAT_COUNTS: f64 = 0.1;

/// `whole` less `rest`; `None` if the difference is within the variation of `rest` itself: it would
/// be noise, or negative.
pub(crate) fn beyond(whole: f64, rest: f64) -> Option<f64> {
    let left = whole - rest;
    (left > 0.0 && left >= rest * PART_THAT_COUNTS).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::beyond;

    /// The folders in which these tests search programs.
    pub(crate) fn search_path() -> super::SearchPath {
        super::SearchPath::new(std::env::split_paths(&std::env::var_os("PATH").unwrap()))
    }

    #[test]
    fn noise_is_no_cost() {
        assert_eq!(beyond(30.0, 10.0), Some(20.0));
        assert_eq!(beyond(5.0, 0.0), Some(5.0));
        for (whole, rest) in [(9.0, 10.0), (10.0, 10.0), (10.5, 10.0), (0.0, 0.0)] {
            assert_eq!(beyond(whole, rest), None, "{whole} {rest}");
        }
    }
}
