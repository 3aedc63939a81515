//! MRTG's own database: `NAME.log`, a text file of fixed length with the rates of two years.
//!
//! Line 1 is `TIME IN OUT`: the counters of the last update, `-1` where one was missing.  Every
//! other line is `TIME IN OUT MAX_IN MAX_OUT`, newest first: rates over the time back to the next
//! line's time.  After the newest update come four tables: 600 lines of 5 minutes, 600 of 30
//! minutes, 600 of 2 hours, 732 of a day; between two tables a line of what is left of a step.
//!
//! An update reads the file, moves every line to the steps as they lie now, and writes the file
//! anew (48 kB), as `rateup` does, and with its numbers: `rate.rs` says how two counters
//! become a rate, `history.rs` how lines move.  It starts no program, and its buffers serve for all
//! targets.
//!
//! The new file is written under another name and then exchanged with the old one
//! (`RENAME_EXCHANGE`), and the old one becomes `NAME.old`.  So there is a whole `NAME.log` at any
//! time, whichever call a killed process has come to; `rateup` leaves a moment without one.  Writing
//! in place was not chosen: a line's length changes with its numbers, so that most updates write
//! every byte anyway, and a process that is killed would leave half of each.  Nothing is synced to
//! the disk; after a power cut an empty or torn `NAME.log` is recognised and `NAME.old` is read.

mod history;
mod number;
mod rate;
mod store;

pub use history::{DAY, LogHistory, LogLine, LogTable, MONTH, Steps, WEEK, YEAR};
pub use rate::{Counting, LastCounter, LogReading};
pub use store::{LogFiles, LogProblem, Updated};

/// Why a log file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The new file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: std::path::PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The file exists and cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: std::path::PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// Neither `NAME.log` nor `NAME.old` has lines in the order of their times.
    #[error(
        "{path} and the backup beside it are damaged: their lines are not in the order of time"
    )]
    Damaged {
        /// `NAME.log`.
        path: std::path::PathBuf,
    },
    /// The file's last update is later than this one.  The file is left as it is.
    #[error("{path}: its last update, at {last}, is later than this one, at {now}")]
    TimeWentBack {
        /// `NAME.log`.
        path: std::path::PathBuf,
        /// Time of the file's first line, seconds since 1970.
        last: i64,
        /// Time of the update, seconds since 1970.
        now: i64,
    },
    /// There is no such file, and nothing is to be written.
    #[error("{path} does not exist")]
    Missing {
        /// `NAME.log`.
        path: std::path::PathBuf,
    },
}
