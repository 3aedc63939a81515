//! Why a query has no answer, in the four kinds of Prometheus's interface.

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The request cannot be understood, or asks for what is not offered.
    #[error("{0}")]
    BadData(String),
    /// The query could not be evaluated over this data.
    #[error("{0}")]
    Execution(String),
    /// The query took too long.
    #[error("query timed out in expression evaluation")]
    TimedOut,
    /// The client went away, or the server ends.
    #[error("query was canceled in expression evaluation")]
    Cancelled,
}

impl QueryError {
    /// The name of the kind in Prometheus's interface: `bad_data`, `execution`, `timeout` or `canceled`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            QueryError::BadData(_) => "bad_data",
            QueryError::Execution(_) => "execution",
            QueryError::TimedOut => "timeout",
            QueryError::Cancelled => "canceled",
        }
    }
}

/// A query that fails while it is evaluated.
pub(crate) fn failed<T>(message: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Execution(message.into()))
}

/// A query that is refused.
pub(crate) fn refused<T>(message: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::BadData(message.into()))
}
