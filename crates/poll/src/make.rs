//! Making a configuration from what devices say about themselves, as `cfgmaker` does.
//!
//! [`facts()`] asks a device (through [`AgentReader`]) for its system group and its interfaces;
//! [`configuration`] writes a target for each interface.  Interfaces that make no sense to poll are
//! there too, commented out, with the reasons.  A filter decides instead of the built-in reasons, a
//! template writes other lines; both are [`Script`](crate::script::Script)s and get the variables
//! that cfgmaker gives them.

mod agent;
mod connection;
mod facts;
mod interface;
mod interface_type;
mod request;
mod reverse_name;
mod writer;

pub use agent::SnmpAgent;
pub use facts::{AgentReader, AgentValue, MadeDevice, MadeInterface, facts};
pub use interface_type::name as interface_type_name;
pub use request::{DeviceRequest, MakeRules};
pub use reverse_name::ReverseNames;
pub use writer::{MakeRequest, configuration};

use crate::script::{ScriptError, html_escape};

/// Why no configuration is made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// A device does not answer, or has no system group.
    #[error("{device}: no information could be retrieved: {reason}")]
    Silent {
        /// The device as written.
        device: String,
        /// What happened.
        reason: String,
    },
    /// An option's value has no meaning.
    #[error("--{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A filter or template cannot be run.
    #[error("--{option}: {source}")]
    Script {
        /// The option.
        option: &'static str,
        /// What is wrong.
        source: ScriptError,
    },
}
