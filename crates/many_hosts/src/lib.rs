//! Recorders on other hosts: each is started by ssh and writes its samples to its standard output, as a
//! stream of recorded frames (`recording::SampleEncoder`).
//!
//! A host costs a thread that reads and decodes, one for what ssh says, and an ssh.  A host that fails is
//! told and tried again after a pause, for as long as the others go on.  What comes from a host may be
//! hostile: it has the limits of recordings, and what it says is shown without control characters.
//!
//! Commands are traced on other hosts in the same way, but by lines: `traced.rs`.
//!
//! Uses `run` (how logins are written, `--ssh`), `connection` (random numbers), `recording`, `recorder`,
//! `trace` and `sink`; prints nothing.  Begin with `recorders.rs`; `hosts.rs` says which hosts there are,
//! `login.rs` ends what logs in, `outputs.rs` gives samples to files and views, `prefix.rs` puts the name
//! of a host in front of lines.
#![forbid(unsafe_code)]

mod hosts;
mod login;
mod outputs;
mod prefix;
mod recorders;
mod traced;

pub use hosts::RemoteHostsError;
pub use outputs::{HostOpener, HostOutputs};
pub use prefix::prefixed;
#[doc(hidden)]
pub use recorders::fuzz_stream;
pub use recorders::{HostEvent, HostsRecorded, HostsStop};
pub use traced::{HostsEnd, HostsTraced, TracedOutputs, TracesStop};
