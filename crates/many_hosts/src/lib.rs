//! Recorders on other hosts: each is started by ssh and writes its samples to its standard output, as a
//! stream of recorded frames (`recording::SampleEncoder`).
//!
//! A host costs a thread that reads and decodes, one for what ssh says, and an ssh.  A host that fails is
//! told and tried again after a pause, for as long as the others go on.  What comes from a host may be
//! hostile: it has the limits of recordings, and what it says is shown without control characters.
//!
//! Uses `run` (how logins are written, `--ssh`), `recording`, `recorder` and `sink`; prints nothing.  Begin with
//! `recorders.rs`; `outputs.rs` gives samples to files and views, `prefix.rs` puts the name of a host in front of lines.
#![forbid(unsafe_code)]

mod outputs;
mod prefix;
mod recorders;

pub use outputs::{HostOpener, HostOutputs};
pub use prefix::prefixed;
pub use recorders::{HostEvent, HostsRecorded, HostsStop, RemoteRecordError};
