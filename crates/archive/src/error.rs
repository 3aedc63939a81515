//! Why a question has no answer.

use feed::FeedError;
use sample::SourceDef;

/// Why a question to an archive has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recording cannot be read.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// A database cannot be read.
    #[error("a database cannot be read: {0}: mend it (whit rrd check), or move it away")]
    Database(#[from] rrd::Error),
    /// No recording is of that machine.
    #[error("no recording is of host {asked}: there are {known}")]
    UnknownHost {
        /// The name asked for.
        asked: String,
        /// The hosts of the archive.
        known: String,
    },
    /// No recording of the machine has that source.
    #[error("no recording of {host} has the source {asked}: there are {known}")]
    UnknownSource {
        /// The machine.
        host: String,
        /// The name asked for.
        asked: String,
        /// The sources of its recordings.
        known: String,
    },
    /// The source has no such field.
    #[error("the source {source_name} has no field {asked}: there are {known}")]
    UnknownField {
        /// The source.
        source_name: String,
        /// The name asked for.
        asked: String,
        /// The fields of the source.
        known: String,
    },
    /// A side file whose checksums are right, and which makes no sense.
    #[error("{}: it is damaged: delete it, it will be made again", .0.display())]
    SideFile(std::path::PathBuf),
    /// The summary of a recording cannot be written.
    #[error("cannot write {}: ranges of long periods are slower without it", .path.display())]
    Summary {
        /// The summary.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Targets of a device have ranges and stored values alone.
    #[error(
        "{0} is a device that was polled: ask for ranges of its targets, or for the recordings of its \
         poller"
    )]
    OfDevice(String),
    /// The field is a text, which has no mean.
    #[error("{source_name}.{field} is a text: ask for a moment to see it")]
    Text {
        /// The source.
        source_name: String,
        /// The field.
        field: String,
    },
    /// The period ends before it begins, or its step is not above 0.
    #[error("the period from {from_ns} to {thru_ns} ns with a step of {step_ns} ns has no steps")]
    NoSteps {
        /// The start of the period.
        from_ns: i64,
        /// The end of the period.
        thru_ns: i64,
        /// The step.
        step_ns: i64,
    },
    /// Who asked wants no more.
    #[error("it was ended")]
    Ended,
    /// Nothing of that name can be ranked.
    #[error("{asked}: give one of {known}, or SOURCE.FIELD")]
    UnknownAmount {
        /// The name asked for.
        asked: String,
        /// The amounts of processes.
        known: String,
    },
    /// Processes are not gathered by that.
    #[error(
        "processes are not gathered by {asked}, but by {known}, or each is for itself: process"
    )]
    UnknownGrouping {
        /// The name asked for.
        asked: String,
        /// What they are gathered by.
        known: String,
    },
    /// Steps that do not begin at the same times of each day.
    #[error("a step of {} s: give seconds that divide a day (1 s to 12 h), or days", *.0 as f64 / 1e9)]
    StepLength(u64),
    /// The answer would be too large.
    #[error(
        "the answer has more than {limit} {what}: ask for a shorter period, a longer step or fewer instances"
    )]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl Error {
    /// A source has no such field; these are the ones that may be asked for.
    pub(crate) fn unknown_field<'a>(
        def: &SourceDef,
        asked: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        Error::UnknownField {
            source_name: def.name.to_string(),
            asked: asked.to_owned(),
            known: Error::list(known),
        }
    }

    /// A list of names in an error.
    pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
        let names: Vec<&str> = names.collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
