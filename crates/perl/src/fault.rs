//! Why a program ended without a result.

/// Why a program ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerlFault {
    /// The program makes a text longer than [`PerlEnvironment::text_bytes_max`](crate::PerlEnvironment::text_bytes_max).
    #[error("makes a text of too many bytes")]
    TooLong,
    /// The program died, or an operator has no result for its values: what is wrong.
    #[error("{0}")]
    Failed(String),
}

impl PerlFault {
    pub(crate) fn new(why: &str) -> Self {
        PerlFault::Failed(why.to_owned())
    }
}

/// Where and why a program ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RunError {
    /// The line of the statement, from 1.
    pub line: usize,
    /// Why.
    pub fault: PerlFault,
}
