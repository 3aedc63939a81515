//! Queries in threads of their own: how many at once, how long, and until when anybody waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_server::in_background;
use hyper::StatusCode;
use promql::{QueryError, Stop};
use tokio::sync::Semaphore;

use crate::clock::Deadline;
use crate::memory::{LooksForStop, QueryMemory};
use crate::settings::ServeSettings;

/// What all queries of a server share.
pub(crate) struct Evaluation {
    pub(crate) settings: ServeSettings,
    pub(crate) memory: Arc<QueryMemory>,
    queries: Semaphore,
    ends: AtomicBool,
}

impl Evaluation {
    /// With as many queries at once as the settings say.
    pub(crate) fn new(settings: ServeSettings) -> Self {
        let queries = Semaphore::new(settings.queries_max.max(1));
        Evaluation { settings, memory: Arc::default(), queries, ends: AtomicBool::new(false) }
    }

    /// Ends all queries.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// Says that nobody waits any more, when the connection is dropped with its request.
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `evaluate` makes in a thread for queries, in at most this time.
pub(crate) async fn run<T: Send + 'static>(
    evaluation: &Arc<Evaluation>,
    longest: Duration,
    evaluate: impl FnOnce(&LooksForStop) -> Result<T, QueryError> + Send + 'static,
) -> Result<T, QueryError> {
    let is_gone = Arc::new(AtomicBool::new(false));
    let waits = Waits(is_gone.clone());
    let deadline = Deadline::after(longest);
    let turn = tokio::time::timeout(longest, evaluation.queries.acquire()).await;
    let Ok(Ok(turn)) = turn else { return Err(QueryError::TimedOut) };
    let looking = evaluation.clone();
    let evaluate = move || {
        let stop: LooksForStop = Arc::new(move || match () {
            () if is_gone.load(Ordering::Relaxed) => Some(Stop::Cancelled),
            () if looking.ends.load(Ordering::Relaxed) => Some(Stop::Cancelled),
            () if deadline.has_passed() => Some(Stop::TimedOut),
            () => None,
        });
        evaluate(&stop)
    };
    // Only a panic ends it without a result; the thread and the server go on.
    let result = in_background(evaluate).await;
    drop((turn, waits));
    result.unwrap_or_else(|| Err(QueryError::Execution("the query failed".to_owned())))
}

/// The status of an error.
pub(crate) fn status(error: &QueryError) -> StatusCode {
    match error {
        QueryError::BadData(_) => StatusCode::BAD_REQUEST,
        QueryError::Execution(_) => StatusCode::UNPROCESSABLE_ENTITY,
        QueryError::TimedOut | QueryError::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
    }
}
