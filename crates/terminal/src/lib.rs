//! A terminal that a program draws on: raw mode and its end, signals, keys, a canvas, windows.
//!
//! `whit top` and `whit log view` share it.  [`TakenTerminal`] alone touches the terminal; [`Canvas`]
//! draws into ratatui's buffer, of which only what changed is sent; [`edit`] says what a key does to
//! a typed line; [`name()`] makes bytes of others harmless; [`Pager`] shows the long output of other verbs;
//! [`fitted_help`] lays out their help.
//!
//! Uses `text`; reads no environment: [`TerminalKind`] is handed in.  Begin with `taken.rs`.

mod canvas;
mod error;
mod help;
mod kept;
mod keys;
mod name;
mod output;
mod pager;
mod taken;
mod windows;

pub use canvas::{Canvas, Theme};
pub use error::TerminalError;
pub use help::fitted as fitted_help;
pub use kept::{user_file, write_kept};
pub use keys::{Edit, edit, pressed};
pub use name::name;
pub use output::Output;
pub use pager::{Pager, columns as pager_columns, shows};
pub use taken::{Screen, TakenTerminal, TerminalEvent, TerminalKind, wake};
pub use windows::{choice, keys_help, window};
