//! The service: one configuration, and the parts that it starts and starts again.
//!
//! A part is a verb of whit with its own options, in a process of its own.  A part that panics, leaks
//! memory or is killed ends alone, and the recorder's tick waits for no other part; in one process a panic
//! would end all of them.  `process.rs` forks it from the service, whose pages it shares.  `keys.rs` has every key of the configuration: its kind, its default, its help,
//! and the option that it becomes.  [`Configuration::read`] checks a file and reports every error with its
//! line; [`Service`] starts the parts, and starts those that fail again after pauses that grow.
//!
//! Uses `recorder`, `alert`, `log_format`, `connection` and `send` to check values, `service_account` for
//! what the service tells of itself.  Begin with `keys.rs`, then
//! `configuration.rs`, `parts.rs` and `service.rs`.

mod alerts;
mod configuration;
mod data;
mod default_file;
mod given;
mod key_kinds;
mod keys;
mod notify;
mod part;
mod parts;
mod pid_file;
mod places;
mod process;
mod service;
mod signals;
mod status;
mod toml;
mod unit;

pub use alerts::ConfiguredAlerts;
pub use configuration::{Configuration, ConfigurationError};
pub use data::{DataKind, ServiceDataError, central_of};
pub use default_file::default_file;
pub use given::{given_socket, given_sockets};
pub use notify::ServiceManager;
pub use pid_file::{PidFile, PidFileError};
pub use places::ServicePlaces;
pub use process::SERVICE_VARIABLES;
pub use service::{Service, ServiceEnd, ServiceError};
pub use status::{ServiceStatus, StatusError};
pub use unit::unit_drop_in;
