//! Which shell runs the jobs (`--shell`); by default the one that started this process.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The user's choice (`--shell`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShellChoice {
    /// A shell if the template needs one.
    #[default]
    Auto,
    /// No shell: a template that needs one is rejected.
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

/// File names of shells.
const SHELLS: &[&str] = &[
    "ash",
    "bash",
    "csh",
    "dash",
    "fish",
    "fizsh",
    "ksh",
    "ksh93",
    "mksh",
    "pdksh",
    "posh",
    "rbash",
    "rc",
    "rksh",
    "rush",
    "rzsh",
    "sash",
    "sh",
    "static-sh",
    "tcsh",
    "yash",
    "zsh",
];

/// Most ancestors that are checked.
const ANCESTORS_MAX: usize = 64;

/// The nearest ancestor of this process that is a shell.
pub fn of_an_ancestor() -> Option<PathBuf> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..ANCESTORS_MAX {
        if pid <= 1 {
            return None;
        }
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        if let Some(program) = program.filter(|program| is_shell(program)) {
            return Some(program);
        }
        pid = parent_of(pid)?;
    }
    None
}

/// Whether a file name is that of a shell.
pub fn is_shell(program: &Path) -> bool {
    let name = program.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    SHELLS.iter().any(|shell| shell.as_bytes() == name)
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything, also blanks and parentheses; the fields after it do not.
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
