//! Files in which a user's choices are kept.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use whole_file::Replacement;

/// A file of the user's for whit, by what the environment says: `~/.config/whit/NAME`, or below
/// `$XDG_CONFIG_HOME`.
#[must_use]
pub fn user_file(environment: &dyn Fn(&str) -> Option<OsString>, name: &str) -> PathBuf {
    let set = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").unwrap_or_default().join(".config");
    set("XDG_CONFIG_HOME").unwrap_or_else(home).join("whit").join(name)
}

/// Writes such a file as a whole, with its folder; a reader finds the old text or the new one, and no other user can read it.
///
/// # Errors
/// If it cannot be written.
pub fn write_kept(path: &Path, text: &str) -> io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    Replacement::default().mode(0o600).durable(true).write(path, text.as_bytes())
}
