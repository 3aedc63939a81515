//! Reads kernel files and parses their text: one module per kernel file.
//!
//! [`Host`] owns the descriptors: a file is opened once, kept open, and read with one `pread` a
//! tick, however many sources use it.  Parsers (`parse_x`) take bytes and return numbers; they
//! never panic or allocate, and skip lines that they do not know or cannot read.
//!
//! A `Host` reads the files of this machine (`/`), those below another root (`--root DIR`), or
//! files in memory, which is how collectl's recordings are played.
//!
//! Uses `sample`, for states of readings and the clock.
//! Begin with `loadavg.rs`, the shortest of the parsers, then `host.rs`.

pub mod buddyinfo;
pub mod cgroup;
mod clock;
mod cost;
pub mod diskstats;
mod host;
pub mod hwmon;
pub mod infiniband;
pub mod inode;
pub mod interrupts;
pub mod loadavg;
pub mod mountinfo;
pub mod net_dev;
pub mod node;
pub mod passwd;
pub mod pid;
pub mod pid_facts;
pub mod pressure;
mod probe;
pub mod rpc_nfs;
pub mod scan;
pub mod schedstat;
pub mod slabinfo;
pub mod snmp;
pub mod sockstat;
pub mod softirqs;
pub mod stat;
pub mod usage;
pub mod vmstat;
pub mod zram;

pub use clock::SystemClock;
pub use cost::Cost;
pub use host::{FileId, Host, ReadMode};
pub use probe::Touch;
