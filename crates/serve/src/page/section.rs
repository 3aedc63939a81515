//! What the page shows beside recordings: each section has a name, and answers questions below it.

use http_server::HttpAnswer;
use promql::QueryError;

use crate::memory::LooksForStop;
use crate::parameters::Parameters;

/// A section of the page.
pub(crate) trait PageSection: Send + Sync {
    /// The name of the section, which is its path below the interface: `NAME` and all of `NAME/…`.
    fn name(&self) -> &'static str;

    /// Whether there is anything to see now.
    fn is_offered(&self) -> bool {
        true
    }

    /// The answer to a question; it runs in a thread for queries.
    ///
    /// # Errors
    ///
    /// If the question is refused or fails, or if nobody waits for it any more.
    fn answer(&self, question: &SectionQuestion<'_>) -> Result<HttpAnswer, QueryError>;

    /// Ends what runs for readers.
    fn end(&self) {}
}

/// A question to a section.
pub(crate) struct SectionQuestion<'a> {
    /// The path behind the section's name; empty for the section itself.
    pub(crate) path: &'a str,
    /// What stands behind `?`.
    pub(crate) parameters: &'a Parameters,
    /// Why the question must end now, if it must.
    pub(crate) stop: &'a LooksForStop,
}
