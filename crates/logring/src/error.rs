//! What can be wrong with a file of records, or with making one.

/// An error that names the file or the field.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, and on which file.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is none of ours.
    #[error("{what}: not a {expected} file")]
    Magic {
        /// The file.
        what: String,
        /// `process` or `ring`.
        expected: &'static str,
    },
    /// The file was written by a later version.
    #[error("{what}: version {version}, this program reads version 1: use a newer whit")]
    Version {
        /// The file.
        what: String,
        /// The version of its format.
        version: u32,
    },
    /// A field has a value that no writer writes.
    #[error("{what}: {field} is {value}: {why}")]
    Field {
        /// The file.
        what: String,
        /// The field.
        field: &'static str,
        /// The value of the field.
        value: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A name or text that is too long, or a table that is full.
    #[error("{what}: at most {most}")]
    Limit {
        /// What was to be added.
        what: String,
        /// The limit.
        most: usize,
    },
}

impl Error {
    /// Whether the same may succeed later: the system refused it, and the file itself is not at fault.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Error::Io { .. })
    }

    /// Whether the file holds what no writer writes: nobody can ever read it.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::Magic { .. } | Error::Field { .. })
    }

    /// An error of the system.
    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Error::Io { what: what.into(), source }
    }
}

/// What is wrong with a record or a dictionary entry, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why} at byte {position}")]
pub struct Fault {
    /// Position in the ring, or in the dictionary.
    pub position: u64,
    /// What is wrong.
    pub why: &'static str,
}
