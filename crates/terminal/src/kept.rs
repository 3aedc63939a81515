//! Files in which a user's choices are kept.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file of the user's for whit, by what the environment says: `~/.config/whit/NAME`, or below
/// `$XDG_CONFIG_HOME`.
#[must_use]
pub fn user_file(environment: &dyn Fn(&str) -> Option<OsString>, name: &str) -> PathBuf {
    let set = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").unwrap_or_default().join(".config");
    set("XDG_CONFIG_HOME").unwrap_or_else(home).join("whit").join(name)
}

/// Writes such a file as a whole, with its folder; a reader finds the old text or the new one.
///
/// # Errors
/// If it cannot be written.
pub fn write_kept(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
