//! `whit top`: processes on a terminal, of this host, of a recording at any moment, or of one of many hosts.
//!
//! `app` holds the state and handles keys; it does not use the terminal.  Samples come from `feed`,
//! `list` arranges them in lines, `screen` draws these into a buffer, `keys` maps keys to actions,
//! `show` is the loop, and only the crate `terminal` uses the terminal.  `hosts` has a line for each of
//! many hosts.
//!
//! May use `sample`, `layout`, `procfs`, `source`, `feed`, `many_hosts`, `terminal`.  The environment (`TERM`, the locale)
//! is handed in as [`terminal::TerminalKind`].  Begin reading with `app`.
//!
//! Cost: one pass over the tasks per tick, a number for each process to sort by, text for the lines
//! on the screen, and as many bytes to the terminal as changed.
#![forbid(unsafe_code)]

mod app;
mod beside;
mod clock;
mod columns;
mod detail;
mod ended;
mod error;
mod fields;
mod format;
mod hosts;
mod keys;
mod kill;
mod list;
mod machine;
mod mouse;
mod panes;
mod remote;
mod screen;
mod setup;
mod show;
mod signals;
#[cfg(test)]
mod tests;
mod traffic;
mod values;
mod watched;

pub use app::interval;
pub use columns::Column;
pub use error::TopError;
pub use hosts::{HostColumn, HostsScreen, HostsSettings};
pub use list::ListSettings;
#[doc(hidden)]
pub use setup::fuzz_columns;
pub use setup::kept_columns;
pub use show::TopScreen;
pub use values::GroupBy;
