//! Recordings and log records handed over to engines, through faults, ends and lost acknowledgements.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// Tests count what their own thread holds.
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;

mod clickhouse;
mod dashboard;
mod deliveries;
mod gone_on;
mod graphite;
mod jetstream;
mod journal;
mod log_read;
mod logs;
mod memory;
mod otlp;
mod proxy;
mod read_back;
mod receiver;
#[path = "../../serve/tests/recorded.rs"]
mod recorded;
mod remote_write;
mod thinned;
