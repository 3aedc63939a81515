//! `env_parallel` and `parset`: functions for the user's shell, which call `whit run`.
//!
//! They set `PARALLEL_ENV`, which each job's shell reads before its command line (`setup/command.rs`),
//! to code that makes what their shell knows: so a program started by a shell learns of its aliases,
//! functions and arrays, which are in no environment.

/// A shell for which there are functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "arguments", derive(clap::ValueEnum))]
pub enum FunctionShell {
    /// Bash 4.4 and later.
    Bash,
    /// Dash and other shells of POSIX, which list no functions and have no arrays.
    #[cfg_attr(feature = "arguments", value(alias = "dash", alias = "ash"))]
    Sh,
    /// Zsh.
    Zsh,
    /// The shells of Korn: ksh93 and mksh.
    #[cfg_attr(feature = "arguments", value(alias = "ksh93", alias = "mksh"))]
    Ksh,
}

impl FunctionShell {
    /// The code that defines the functions.
    pub fn code(self) -> &'static str {
        match self {
            FunctionShell::Bash => include_str!("shell_functions/env_parallel.bash"),
            FunctionShell::Sh => include_str!("shell_functions/env_parallel.sh"),
            // Functions that are defined within `emulate` keep to it.
            FunctionShell::Zsh => concat!(
                "emulate sh -c \"$(cat <<'END_OF_POSIX'\n",
                include_str!("shell_functions/env_parallel.sh"),
                "END_OF_POSIX\n)\"\n",
                include_str!("shell_functions/env_parallel.zsh"),
            ),
            FunctionShell::Ksh => concat!(
                include_str!("shell_functions/env_parallel.sh"),
                include_str!("shell_functions/env_parallel.ksh"),
            ),
        }
    }
}
