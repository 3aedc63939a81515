//! `whit top`: processes on a terminal, of this host or of a recording at any moment.
//!
//! `app` holds the state and does what a key asks for; it knows no terminal.  Samples come from
//! `feed`, `list` orders them into lines, `screen` draws them into a buffer, `keys` says what each
//! key means, `show` is the loop, and `terminal` alone talks to the terminal.
//!
//! May use `sample`, `layout`, `procfs`, `source`, `feed`.  The environment (`TERM`, the locale)
//! is handed in as [`TerminalKind`].  Begin reading with `app`.
//!
//! Cost: one pass over the tasks a tick, one number a process to sort by, text for the lines on
//! the screen, and as many bytes to the terminal as changed.

mod app;
mod columns;
mod ended;
mod error;
mod fields;
mod format;
mod keys;
mod kill;
mod list;
mod machine;
mod screen;
mod show;
mod terminal;
#[cfg(test)]
mod tests;
mod values;

pub use app::interval;
pub use columns::Column;
pub use error::TopError;
pub use list::ListSettings;
pub use show::TopScreen;
pub use terminal::TerminalKind;
pub use values::GroupBy;
