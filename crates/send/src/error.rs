//! What ends a sender.

use std::io;
use std::path::PathBuf;

use connection::AddressError;
use feed::FeedError;
use http_client::UrlError;

/// Why nothing more is sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The folder or a recording cannot be read.
    #[error("the recordings cannot be read")]
    Feed(#[from] FeedError),
    /// A recording cannot be read.
    #[error("the recording cannot be read")]
    Recording(#[from] recording::Error),
    /// There is nothing to send from.
    #[error(
        "{} is no folder: give that of recordings (whit record -f) or of a store of log records \
         (whit log central --store)", .0.display()
    )]
    NoFolder(PathBuf),
    /// The store of log records cannot be read.
    #[error("cannot read the store {}", path.display())]
    Store {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of the cursor cannot be read or written.
    #[error("cannot {action} the cursor {}", path.display())]
    Cursor {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of the cursor is none, or another version's.
    #[error(
        "{} is no cursor that this program knows: {why}; without it everything is sent again", path.display()
    )]
    NoCursor {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another process sends from the folder to the same engine.
    #[error("another process sends from here under the name {name}")]
    Busy {
        /// The name of the engine.
        name: String,
    },
    /// What `--to` says.
    #[error("'{text}' is no engine: write KIND=ADDRESS, with one of {known} as KIND")]
    NoEngine {
        /// The text.
        text: String,
        /// All kinds.
        known: String,
    },
    /// The address.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The address of an engine that is not asked by HTTP.
    #[error("'{text}': {error}")]
    Address {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: AddressError,
    },
    /// An address that begins otherwise than those of its kind.
    #[error("'{text}': write {scheme}HOST:PORT, or with TLS {tls_scheme}HOST:PORT")]
    Scheme {
        /// The text.
        text: String,
        /// What it begins with.
        scheme: &'static str,
        /// What it begins with if TLS is spoken.
        tls_scheme: &'static str,
    },
    /// A token for an engine whose protocol has no place for one.
    #[error("{kind} takes no token: leave --token-file out, or send to it by a command of its own")]
    NoToken {
        /// The kind of the engine.
        kind: &'static str,
    },
    /// An engine that takes no log records.
    #[error("{kind} takes no log records: {known} do")]
    NoLogs {
        /// The kind of the engine.
        kind: &'static str,
        /// The kinds that do.
        known: String,
    },
    /// An engine that takes recordings as they are.
    #[error("{kind} gets recordings as they are: leave sources, processes and steps out")]
    WholeRecordings {
        /// The kind of the engine.
        kind: &'static str,
    },
    /// The file with the number of the folder.
    #[error("cannot use {}", path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An engine that takes nothing else.
    #[error(
        "{kind} takes log records alone: give the folder of a store of them (whit log central)"
    )]
    LogsAlone {
        /// The kind of the engine.
        kind: &'static str,
    },
    /// An engine whose log records cannot be read.
    #[error("the log records of {kind} cannot be read: those of {known} can")]
    NoLogReader {
        /// The kind of the engine.
        kind: &'static str,
        /// The kinds that can.
        known: String,
    },
    /// An engine has more log records than are put in order at once.
    #[error(
        "{server} has more log records that are wanted than fit in 256 MiB: ask for fewer, by time, level, host or text"
    )]
    TooManyLogs {
        /// The engine.
        server: String,
    },
    /// There is no cursor of that name.
    #[error("nothing was sent from here under the name {name}: whit send --status lists the names")]
    NothingSent {
        /// The name.
        name: String,
    },
    /// An engine that cannot be asked what it has.
    #[error(
        "{kind} answers no questions: only what was sent by remote-write or clickhouse can be verified"
    )]
    NoQuestions {
        /// The kind of the engine.
        kind: &'static str,
    },
    /// An address of which nobody knows where it answers questions.
    #[error(
        "{url}: its path does not end in /api/v1/write or /api/v1/push, so it is not known where it answers questions"
    )]
    NoQueryPath {
        /// The address.
        url: String,
    },
    /// The engine does not say what it has.
    #[error("{server} does not say what it has: {why}")]
    NoAnswer {
        /// The engine.
        server: String,
        /// Why.
        why: String,
    },
    /// What `--sources` says.
    #[error("there is no source {0}; whit sources lists them")]
    NoSource(String),
    /// What `--processes-by` says.
    #[error("--processes-by {text}: {why}")]
    Processes {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// What is to be read back has no end.
    #[error("{0}: say from when on: an engine may have years (--from -1h)")]
    NoStart(String),
    /// An engine has nothing of whit in a period.
    #[error("{0} has nothing that whit sent in this time")]
    NothingThere(String),
    /// An engine has more than is read at once.
    #[error("{server} has over {points} points in this time: ask for a shorter one")]
    TooMuch {
        /// The engine.
        server: String,
        /// How many are read.
        points: u64,
    },
    /// What was read back cannot be written.
    #[error("cannot write the recording in memory")]
    Written(#[from] recording::WriteError),
    /// The authorities by which servers are checked.
    #[error("the authorities of this system cannot be used")]
    Authorities(#[from] connection::TlsFileError),
    /// The authorities that were named.
    #[error(transparent)]
    AuthorityFile(connection::TlsFileError),
    /// The file of a token.
    #[error("--token-file {}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        source: io::Error,
    },
    /// A recording cannot be kept in memory.
    #[error("cannot make a recording in memory")]
    Memory(#[source] io::Error),
    /// What `--step` says.
    #[error("a step is longer than nothing and at most a day")]
    Step,
    /// What `--every` says.
    #[error("a sender looks for what is new once in 1 second to 1 hour")]
    Every,
    /// The system gives no resources for a client.
    #[error("cannot make a client")]
    Client(#[source] io::Error),
    /// A name that is a part of a file's name.
    #[error("'{0}' is no name of an engine: letters, digits, - and _ are")]
    Name(String),
}
