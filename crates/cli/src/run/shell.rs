//! Which shell runs the jobs: the one that started us.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Programs that are shells, by the name of their file.
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

/// How many ancestors are looked at.
const ANCESTORS_MAX: usize = 64;

/// The user's shell: `$PARALLEL_SHELL`, else the nearest ancestor that is a shell, else `$SHELL`,
/// else `/bin/sh`.
pub(crate) fn of_the_user() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let asked = set("PARALLEL_SHELL").map(PathBuf::from);
    asked
        .or_else(of_an_ancestor)
        .or_else(|| set("SHELL").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

fn of_an_ancestor() -> Option<PathBuf> {
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

/// Whether a file's name is a shell's.
pub(crate) fn is_shell(program: &Path) -> bool {
    let name = program.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    SHELLS.iter().any(|shell| shell.as_bytes() == name)
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // A name may hold anything, blanks and parentheses too; nothing behind it does.
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let text = std::str::from_utf8(&stat[end + 1..]).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// The functions that a shell finds in the environment (`BASH_FUNC_name%%`).
pub(crate) fn functions() -> Vec<Vec<u8>> {
    std::env::vars_os()
        .filter_map(|(name, _)| {
            let name = name.into_vec();
            let name = name.strip_prefix(b"BASH_FUNC_")?.strip_suffix(b"%%")?;
            Some(name.to_vec())
        })
        .collect()
}
