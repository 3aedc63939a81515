//! Errors of feeds, with messages for the user.

use std::io;
use std::path::PathBuf;

use recording::WriteError;
use recording::atop::AtopError;
use recording::collectl::CollectlError;
use recording::sadc::SadcError;
use source::RenameError;

use crate::period::TimeError;

/// Why a feed has no samples.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The operating system refused.
    #[error("{}", match .what { Some(what) => format!("cannot {what} {}", .path.display()), None => .path.display().to_string() })]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried (`open`, `read`), where the system's reason does not say it.
        what: Option<&'static str>,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A folder where a file is wanted.
    #[error("{} is a folder; name the recordings in it", .0.display())]
    Folder(PathBuf),
    /// Neither a file nor a folder: to read it might wait for ever.
    #[error("{} is a pipe, a socket or a device: only files can be played", .0.display())]
    NotAFile(PathBuf),
    /// Nothing in it.
    #[error("{} is empty", .0.display())]
    Empty(PathBuf),
    /// Another kind of file.
    #[error("{}: no recording of whit or collectl, no daily file of sysstat, and no raw log of atop", .0.display())]
    NotARecording(PathBuf),
    /// A recording whose growth cannot be seen as it happens.
    #[error(
        "--follow: {} is compressed, and collectl writes it in lumps; a plain one (collectl -oz) \
         can be followed",
        .0.display()
    )]
    CompressedFollow(PathBuf),
    /// A file of sysstat or atop, to which whole records are added at long intervals.
    #[error("--follow: {} is a file of sysstat or atop; only recordings of whit and collectl can be followed", .0.display())]
    ImportedFollow(PathBuf),
    /// No samples in it.
    #[error("{}: it has no samples", .0.display())]
    NoSamples(PathBuf),
    /// A recording of whit's cannot be read.
    #[error(transparent)]
    Whit(#[from] recording::Error),
    /// A recording of collectl's cannot be read.
    #[error(transparent)]
    Collectl(#[from] CollectlError),
    /// A daily file of sysstat cannot be read.
    #[error(transparent)]
    Sadc(#[from] SadcError),
    /// A raw log of atop cannot be read.
    #[error(transparent)]
    Atop(#[from] AtopError),
    /// An invalid time or period.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// An invalid rule for names.
    #[error(transparent)]
    Rename(#[from] RenameError),
    /// No recording was named.
    #[error("name recordings to play: files, folders, or -p PATTERN")]
    NothingNamed,
    /// A pattern that matches nothing.
    #[error("-p {0}: no such file")]
    NoMatch(String),
    /// A pattern that matches other files only.
    #[error("-p {0}: no recordings among these files")]
    NoRecordingMatches(String),
    /// A folder without recordings.
    #[error("{}: no recordings in this folder", .0.display())]
    NoRecordings(PathBuf),
    /// No file could be used.
    #[error("{0}")]
    NoneUsable(String),
    /// Nothing of the selection is in any recording.
    #[error("nothing to show: none of {asked} is recorded (recorded: {recorded})")]
    NotRecorded {
        /// The letters asked for, in quotes.
        asked: String,
        /// The letters of what each recording has, in quotes.
        recorded: String,
    },
}

/// Why a part of a recording cannot be copied, or searched for text.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// Several recordings for one new file.
    #[error("--extract {}: one file can take one recording only", .0.display())]
    SeveralIntoOne(PathBuf),
    /// No period.
    #[error("--extract needs --from or --thru: the period to cut out")]
    NoPeriod,
    /// The folder for the new files cannot be made.
    #[error("--extract: cannot create the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The new file exists already.
    #[error("--extract: {} exists already; it was not changed", .0.display())]
    Exists(PathBuf),
    /// A path that ends in no name.
    #[error("{}: no file name", .0.display())]
    NoName(PathBuf),
    /// A file of sysstat or atop, which is only converted.
    #[error("--extract: {} is a file of sysstat or atop; name the new recording: --extract NAME.whit", .0.display())]
    ImportedCopy(PathBuf),
    /// Nothing to copy.
    #[error("--extract: {} has no samples in this period", .0.display())]
    NoSamples(PathBuf),
    /// The copy of collectl's text failed.
    #[error("--extract to {}", path.display())]
    Copy {
        /// The new file.
        path: PathBuf,
        /// Why.
        #[source]
        source: CollectlError,
    },
    /// A new file that cannot be removed again.
    #[error(transparent)]
    Remove(io::Error),
    /// The new recording cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] FeedError),
    /// Text is searched for in numbers.
    #[error("--grep: {} holds numbers, not text; it needs a collectl recording", .0.display())]
    NoText(PathBuf),
    /// The lines found cannot be written.
    #[error(transparent)]
    Output(io::Error),
}
