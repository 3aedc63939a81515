//! The user's shell according to the environment.

use std::ffi::OsString;
use std::path::PathBuf;

/// The user's shell: `$PARALLEL_SHELL`, else the nearest ancestor that is a shell, else `$SHELL`,
/// else `/bin/sh`.
pub(crate) fn of_the_user() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let asked = set("PARALLEL_SHELL").map(PathBuf::from);
    asked
        .or_else(run::shell::of_an_ancestor)
        .or_else(|| set("SHELL").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
