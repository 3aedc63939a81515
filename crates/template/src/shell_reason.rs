//! Why a template needs a shell.

/// Why a template needs a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub enum ShellReason {
    /// There is no command: each record is a command line.
    #[default]
    #[error("each argument is a command line")]
    NoCommand,
    /// A value is part of the program name, and not quoted.
    #[error("the command begins with a replacement string")]
    StartsWithValue,
    /// A value is between quotes.
    #[error("a replacement string is between quotes")]
    ValueInQuotes,
    /// The text of a replacement string is code for the shell: `{slot}`, `uq()`.
    #[error("a replacement string is not quoted")]
    Unquoted,
    /// A byte that is special to shells.
    #[error("{0:?} is special to a shell")]
    Special(char),
    /// The first word sets a variable.
    #[error("the command sets a variable")]
    Assignment,
    /// The first word is a keyword, builtin or function of the shell.
    #[error("{0} is a builtin, a keyword or a function of the shell")]
    Builtin(String),
    /// The rules of this shell are not implemented.
    #[error("the shell is not a Bourne shell")]
    OtherShell,
    /// The shell first reads text that may define anything: a file, or PARALLEL_ENV.
    #[error("the shell reads other text before each command")]
    StartupFile,
}
