//! Which shell runs the jobs (`--shell`).

use std::path::PathBuf;

/// What the user wants (`--shell`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShellChoice {
    /// A shell where the template needs one.
    #[default]
    Auto,
    /// No shell: a template that needs one is refused.
    Never,
    /// Always this one, by name or path.
    Named(PathBuf),
}

impl ShellChoice {
    /// `auto`, `never`, or the name of a shell.
    pub fn parse(text: &str) -> Self {
        match text {
            "auto" => ShellChoice::Auto,
            "never" => ShellChoice::Never,
            name => ShellChoice::Named(name.into()),
        }
    }
}
