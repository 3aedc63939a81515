//! Which shell runs a job, and whether one is needed at all.
//!
//! A shell costs 50 system calls and an exec for each job (dash), or 83 (bash).  It is needed only
//! where the template has something for it to do; the values never have, as they are quoted.  So
//! this is decided once, when the template is known.

use std::path::{Path, PathBuf};

use crate::quote::Shell;
use crate::template::Template;

/// What the user wants (`--shell`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// A shell where the template needs one.
    #[default]
    Auto,
    /// No shell: a template that needs one is refused.
    Never,
    /// Always this one, by name or path.
    Named(PathBuf),
}

impl Choice {
    /// `auto`, `never`, or the name of a shell.
    pub fn parse(text: &str) -> Self {
        match text {
            "auto" => Choice::Auto,
            "never" => Choice::Never,
            name => Choice::Named(name.into()),
        }
    }
}

/// Why a template needs a shell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// There is no command: each record is a command line.
    #[error("each argument is a command line")]
    NoCommand,
}

/// What the user's surroundings make of plain words.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The language of the shell that would run the command.
    pub shell: Shell,
    /// It reads a file before each command, which may define anything: `$BASH_ENV`, `.zshenv`,
    /// `.cshrc`, fish's configuration.
    pub reads_startup_file: bool,
    /// Functions that it would find in the environment (`BASH_FUNC_name%%`).
    pub functions: Vec<Vec<u8>>,
}

/// Why `template` needs a shell, or `None` when [`Template::render_words`] makes the same
/// arguments.
pub fn needed(_template: &Template, _surroundings: &Surroundings) -> Option<Reason> {
    Some(Reason::NoCommand)
}

/// The program that `name` means: itself when it has a slash, else the first executable regular
/// file of this name in the folders of `path` (`$PATH`; an empty part is the current folder).
pub fn find(_name: &[u8], _path: &[u8]) -> Option<PathBuf> {
    let _ = Path::new("");
    None
}
