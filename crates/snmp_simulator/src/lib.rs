//! A simulator of SNMP devices: one agent that answers for many of them, to test and measure pollers.
//!
//! One socket and one thread answer for every address of 127.0.0.0/8: the socket is bound to all
//! addresses, and the kernel says with each datagram which one was meant.  A device has the objects
//! of a [`Mib`], which many devices share, and may have faults: datagrams get lost or take time,
//! answers are too big, come from elsewhere or are of others.
//!
//! Uses `snmp`.  Nothing that ships is an agent: tests and benchmarks start it.  Begin with
//! `mib.rs`, then `device.rs` (what is answered) and `server.rs` (the loop).

mod device;
mod hostile;
mod mib;
mod server;
mod socket;
mod user;
mod walk;

pub use device::{AgentDevice, AgentFaults};
pub use hostile::hostile_switch;
pub use mib::{Mib, MibObject, MibValue};
pub use server::{Agent, AgentClock, AgentCounts, AgentThread};
pub use walk::WalkError;
