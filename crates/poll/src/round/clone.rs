//! `Clonedirectory`: the files of a target copied to a second folder after each round, perhaps under
//! another name, as MRTG does.
//!
//! What is copied is below the folder of logs: `TARGET.*` and `TARGET-*`.  In a page the target's name
//! and its folder are replaced, once a line.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::config::Global;
use crate::options::CloneFolder;
use crate::path_of;
use crate::target::PollTarget;
use text::byte_text;

/// A file that was not cloned.
#[derive(Debug, thiserror::Error)]
pub(super) enum CloneError {
    /// The folder is the target's own.
    #[error("Clonedirectory is the target's own folder")]
    SameFolder,
    /// There is no such folder.
    #[error("Clonedirectory: {path} is no folder")]
    NoFolder { path: PathBuf },
    /// A file cannot be read or written.
    #[error("Clonedirectory: cannot copy to {path}")]
    Copy { path: PathBuf, source: io::Error },
}

/// Copies the files of a target, if it has a `Clonedirectory`.
pub(super) fn copy(global: &Global, target: &PollTarget) -> Result<(), CloneError> {
    let Some(clone) = &target.clone_folder else { return Ok(()) };
    // MRTG compares the folders as they are written, with the slash that `Directory` gets.
    if target.directory == clone.folder {
        return Err(CloneError::SameFolder);
    }
    let from = path_of(&format!("{}{}", global.log_dir, target.directory));
    let to = path_of(&format!("{}{}", global.log_dir, clone.folder));
    if !to.is_dir() {
        return Err(CloneError::NoFolder { path: to });
    }
    let entries = fs::read_dir(&from);
    for entry in entries.map_err(|source| failed(&from, source))?.flatten() {
        let name = byte_text::decode(entry.file_name().into_vec());
        let is_of_target = name
            .strip_prefix(target.name.as_str())
            .is_some_and(|rest| rest.starts_with(['.', '-']));
        if is_of_target {
            copy_file(&entry.path(), &to, &name, target, clone)?;
        }
    }
    Ok(())
}

fn failed(path: &Path, source: io::Error) -> CloneError {
    CloneError::Copy { path: path.to_owned(), source }
}

/// Copies a file beside its new place and renames it, so that a reader finds a whole one.
fn copy_file(
    from: &Path,
    to: &Path,
    name: &str,
    target: &PollTarget,
    clone: &CloneFolder,
) -> Result<(), CloneError> {
    let rest = &name[target.name.len()..];
    let new = format!("{}{rest}", clone.name.as_deref().unwrap_or(&target.name));
    let new = to.join(path_of(&new));
    let temporary = to.join(path_of(&format!(".{name}.tmp")));
    let copied = match name.to_ascii_lowercase().contains(".html") {
        true => {
            fs::read(from).and_then(|page| fs::write(&temporary, page_of(&page, target, clone)))
        }
        false => fs::copy(from, &temporary).map(drop),
    };
    let placed = copied.and_then(|()| fs::rename(&temporary, &new));
    placed.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        failed(&new, source)
    })
}

/// A page with the clone's name and folder.
fn page_of(page: &[u8], target: &PollTarget, clone: &CloneFolder) -> Vec<u8> {
    let text = String::from_utf8_lossy(page);
    // As MRTG counts: a level for each slash that is written.
    let up = "../".repeat(clone.folder.matches('/').count());
    let folder = format!("{}/", clone.folder.trim_end_matches('/'));
    let lines = text.split_inclusive('\n').map(|line| {
        let mut line = line.to_owned();
        if let Some(name) = &clone.name {
            line = replace_first(&line, &target.name, name);
        }
        let has_link = !target.directory.is_empty() && line.contains(&target.directory);
        if has_link && line.to_ascii_lowercase().contains("src=") {
            line = replace_ups(&line, &up).replacen(&target.directory, &folder, 1);
        }
        line
    });
    lines.collect::<String>().into_bytes()
}

/// Replaces the first occurrence, upper and lower case alike.
fn replace_first(line: &str, wanted: &str, new: &str) -> String {
    match line.to_ascii_lowercase().find(wanted) {
        Some(at) => format!("{}{new}{}", &line[..at], &line[at + wanted.len()..]),
        None => line.to_owned(),
    }
}

/// Replaces the first row of `../`.
fn replace_ups(line: &str, up: &str) -> String {
    let Some(begin) = line.find("../") else { return line.to_owned() };
    let mut end = begin;
    while line[end..].starts_with("../") {
        end += 3;
    }
    format!("{}{up}{}", &line[..begin], &line[end..])
}
