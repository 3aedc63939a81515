//! What a server does and may use.

use std::time::Duration;

use http_server::HttpSettings;
use promql::QueryLimits;

use crate::memory::SMALL_BYTES;

/// The stack of a thread that evaluates queries: the tree of a query has 150 levels at most.
const STACK_BYTES: usize = 4 << 20;

/// What one large query may hold.  With it, another query and answers that are being sent
/// (`memory.rs`), a server with a month of recordings open stays below 20 MiB.
const QUERY_BYTES_MAX: usize = 6 << 20;

/// What a server does, and its limits.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Who may ask, and what a connection may use.
    pub http: HttpSettings,
    /// What a query may use.
    pub limits: QueryLimits,
    /// How long a query may take.
    pub query_time_max: Duration,
    /// Queries that are evaluated at the same time; others wait.
    pub queries_max: usize,
    /// Bytes of an answer.
    pub answer_bytes_max: usize,
}

impl Default for ServeSettings {
    /// The usual limits.
    fn default() -> Self {
        ServeSettings {
            http: HttpSettings { thread_stack_bytes: STACK_BYTES, ..HttpSettings::default() },
            limits: QueryLimits {
                memory_max: QUERY_BYTES_MAX,
                small_bytes: SMALL_BYTES,
                ..QueryLimits::default()
            },
            query_time_max: Duration::from_secs(120),
            queries_max: 2,
            answer_bytes_max: 64 << 20,
        }
    }
}
