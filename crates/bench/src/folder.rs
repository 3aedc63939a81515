//! Folders of a benchmark: temporary ones, emptied ones, and what is in them.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Context, Result, ensure};

/// Makes a temporary folder below the given one, or where the system has them.
///
/// # Errors
/// If it cannot be made.
pub(crate) fn temporary(base: Option<&Path>) -> Result<TempDir> {
    match base {
        Some(base) => tempfile::tempdir_in(base).with_context(|| base.display().to_string()),
        None => Ok(tempfile::tempdir()?),
    }
}

/// Makes a folder, or makes it again without its files.
pub(crate) fn renew(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir(folder)
}

/// Writes everything that was written on the file system of a folder to its disk.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(std::fs::File::open(folder)?)?)
}

/// The size of all files in a folder together.
pub(crate) fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// The only file in a folder whose name ends with `ending`.
pub(crate) fn file_in(folder: &Path, ending: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    ensure!(found.len() == 1, "{}: {} files end in {ending}", folder.display(), found.len());
    Ok(found.swap_remove(0))
}
