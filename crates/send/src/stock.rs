//! What a sender hands over, whatever it is: a stock behind a cursor, and the engine that takes it.

use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use crate::SendError;
use crate::backlog::Backlog;
use crate::batch::{Batch, SampleEnd, points_of};
use crate::cursor::SendCursor;
use crate::engine::{MetricEngine, SendOutcome};
use crate::recording_files::FolderContents;

/// Samples or records of a folder, and the engine that they are handed over to.
pub(crate) trait SendStock: Send {
    /// What they are called, in the plural.
    fn what(&self) -> &'static str;

    /// Looks what there is: what is new will be read, what is gone is told.
    fn look(&mut self, cursor: &mut SendCursor) -> Result<FolderContents, SendError>;

    /// How long ago something was written last, by the clock of the files; `None` if nobody knows.
    fn age(&self) -> Option<Duration> {
        None
    }

    /// Looks what has come while the engine takes nothing, so that what is then deleted is counted; gives
    /// what is to be told.
    fn count(&mut self, _cursor: &mut SendCursor) -> Result<Vec<String>, SendError> {
        Ok(Vec::new())
    }

    /// Reads the next ones: until there are that many points, or as many were read as are read at once.
    /// Says whether there may be more to read.
    fn fill(&mut self, cursor: &SendCursor, points_max: usize) -> Result<bool, SendError>;

    /// Where each that was read ends.
    fn ends(&self) -> &[SampleEnd];

    /// Whether some of those that were read need not be handed over.
    fn is_nothing(&self, some: Range<usize>) -> bool {
        points_of(self.ends(), some).is_empty()
    }

    /// Hands some of those that were read over and waits for what the engine says.
    fn hand_over(&mut self, some: Range<usize>) -> SendOutcome;

    /// How many of these, from the first one on, the engine has; `None` if it does not say.
    fn held(&mut self, _some: Range<usize>) -> Option<usize> {
        None
    }

    /// What is listed of one that is refused for good, of the file of a name.
    fn refusal(&self, end: &SampleEnd, name: &str) -> Value;

    /// Notes what was acknowledged; gives what is to be told.
    fn settle(&mut self, cursor: &mut SendCursor) -> Vec<String>;

    /// Goes back to the cursor: what was read since is read again.
    fn rewind(&mut self);
}

/// The samples of a folder of recordings.
pub(crate) struct SampleStock {
    pub(crate) backlog: Backlog,
    pub(crate) batch: Batch,
    pub(crate) engine: Box<dyn MetricEngine>,
}

impl SendStock for SampleStock {
    fn what(&self) -> &'static str {
        "samples"
    }

    fn look(&mut self, cursor: &mut SendCursor) -> Result<FolderContents, SendError> {
        self.backlog.look(cursor)
    }

    fn age(&self) -> Option<Duration> {
        self.backlog.age()
    }

    fn fill(&mut self, _: &SendCursor, points_max: usize) -> Result<bool, SendError> {
        self.backlog.fill(&mut self.batch, points_max)
    }

    fn ends(&self) -> &[SampleEnd] {
        &self.batch.ends
    }

    fn hand_over(&mut self, some: Range<usize>) -> SendOutcome {
        self.engine.hand_over(&self.backlog.series, &self.batch, some)
    }

    fn held(&mut self, some: Range<usize>) -> Option<usize> {
        self.engine.held(&self.backlog.series, &self.batch, some)
    }

    fn refusal(&self, end: &SampleEnd, name: &str) -> Value {
        refused_sample(end, name)
    }

    fn settle(&mut self, cursor: &mut SendCursor) -> Vec<String> {
        self.backlog.settle(cursor)
    }

    fn rewind(&mut self) {
        self.backlog.rewind();
    }
}

/// What is listed of a sample that is refused for good.
pub(crate) fn refused_sample(end: &SampleEnd, name: &str) -> Value {
    json!({
        "recording": name,
        "file_id": format!("{:016x}", end.file_id),
        "sample": end.next.saturating_sub(1),
        "realtime_ns": end.realtime_ns,
    })
}
