//! What a server does and may use, and what its connections share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use promql::{QueryLimits, SeriesStorage};
use tokio::sync::{Notify, Semaphore};

/// What a server does, and its limits.
#[derive(Clone, Debug)]
pub struct ServeSettings {
    /// Where to listen: an address of the loopback; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What a query may use.
    pub limits: QueryLimits,
    /// How long a query may take.
    pub query_time_max: Duration,
    /// Queries that are evaluated at the same time; others wait.
    pub queries_max: usize,
    /// Connections at the same time; one more is closed at once, and counted.
    pub connections_max: usize,
    /// How long a client may take for the head of a request, for its body, and to take a part of the
    /// answer; also how long a connection may be idle.
    pub client_time_max: Duration,
    /// Bytes of an answer.
    pub answer_bytes_max: usize,
}

impl ServeSettings {
    /// The usual limits.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        ServeSettings {
            listen,
            limits: QueryLimits::default(),
            query_time_max: Duration::from_secs(120),
            queries_max: 2,
            connections_max: 512,
            client_time_max: Duration::from_secs(30),
            answer_bytes_max: 64 << 20,
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) settings: ServeSettings,
    pub(crate) storage: Arc<dyn SeriesStorage>,
    pub(crate) queries: Semaphore,
    pub(crate) ends: AtomicBool,
    pub(crate) refused: AtomicU64,
    pub(crate) end: Notify,
}
