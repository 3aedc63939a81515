//! What tests share: fake kernel trees, a simulated clock, a counting allocator, numbers from a
//! seed, certificates, a port that refuses, programs to start and processes to end, collectd,
//! RRDtool's caching daemon, net-snmp's agent, Prometheus, a client for HTTP, a small disk, waiting, and the one way to skip a
//! test.
//!
//! Prints only skips.
//!
//! Uses `sample`.  Only a dev-dependency: no shipped program contains it.
//! Begin with `fake.rs`, the tree that tests write kernel files into, and `skip.rs`.

pub mod alloc;
mod answers;
mod atop;
mod cases;
mod certificates;
pub mod clock;
mod closed_port;
mod collectd;
mod engines;
pub mod fake;
mod html;
mod http;
mod journal_remote;
mod parallel;
mod program;
mod random;
mod rrdcached;
mod running;
mod skip;
mod small_disk;
mod snmpd;
pub mod trees;
mod wait;

pub use alloc::{Allocations, CountingAllocator, allocations_of, live_bytes};
pub use answers::compare_answers;
pub use atop::atop;
pub use cases::{is_long, seed, setting, share, share_of, side_by_side};
pub use certificates::{Authority, CertificateFiles};
pub use clock::{Event, SimClock};
pub use closed_port::ClosedPort;
pub use collectd::collectd;
pub use engines::{NatsServer, Prometheus, VictoriaMetrics};
pub use fake::{FakeHost, as_nobody};
pub use html::assert_plain_html;
pub use http::{HttpAnswer, http, http_over, http_raw};
pub use journal_remote::{JournalRemote, make_journal};
pub use parallel::{has_parallel, parallel};
pub use program::write_program;
pub use random::Random;
pub use rrdcached::Rrdcached;
pub use running::{Running, own_test, run_on};
pub use skip::{LEDGER, is_installed, skip, skip_refused};
pub use small_disk::SmallDisk;
pub use snmpd::Snmpd;
pub use wait::{Deadline, PATIENCE, connect, undisturbed, wait_for, wait_until};
