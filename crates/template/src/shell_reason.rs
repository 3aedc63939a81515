//! Why a template needs a shell.

/// Why a template needs a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub enum ShellReason {
    /// There is no command: each record is a command line.
    #[default]
    #[error("each argument is a command line")]
    NoCommand,
    /// The program itself is made of a value, and not quoted.
    #[error("the command begins with a replacement string")]
    StartsWithValue,
    /// A value stands between quotes.
    #[error("a replacement string stands between quotes")]
    ValueInQuotes,
    /// A replacement string's text is for the shell to read: `{slot}`, `uq()`.
    #[error("a replacement string is not quoted")]
    Unquoted,
    /// A byte that is special to shells.
    #[error("{0:?} means something to a shell")]
    Special(char),
    /// The first word sets a variable.
    #[error("the command sets a variable")]
    Assignment,
    /// The first word is a part of the shell or one of its functions.
    #[error("{0} is a builtin, a keyword or a function of the shell")]
    Builtin(String),
    /// The shell's own rules are not known well enough to do without it.
    #[error("the shell is neither sh nor one like it")]
    OtherShell,
    /// The shell would read a file first that may define anything.
    #[error("the shell reads a file before each command")]
    StartupFile,
}
