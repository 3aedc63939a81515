//! The files of a folder.

use std::fs;
use std::io;
use std::path::Path;

use text::wildcard::Wildcards;

/// Names of the databases and folders in a folder, or, with `recursive`, of all databases below
/// it.  Otherwise the last names of the paths that match a shell's pattern, in order.
///
/// # Errors
/// If there is no such folder, or it cannot be read, or nothing matches.
pub fn list(folder: &Path, recursive: bool) -> io::Result<Vec<String>> {
    let error = match entries(folder, recursive, None) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !recursive => error,
        known => return known,
    };
    let pattern = folder.to_string_lossy();
    let found = match Wildcards::SHELL.are_in(&pattern) {
        true => Wildcards::SHELL.files(&pattern, usize::MAX),
        false => Vec::new(),
    };
    let names: Vec<String> = found.iter().filter_map(|path| last_name(path)).collect();
    if names.is_empty() { Err(error) } else { Ok(names) }
}

/// As [`list`], without patterns, and without links that lead out of a folder: `base`, whose name
/// has no links.
///
/// # Errors
/// If there is no such folder or database, or it cannot be read.
pub fn list_within(base: &Path, folder: &Path, recursive: bool) -> io::Result<Vec<String>> {
    let names = entries(folder, recursive, Some(base))?;
    match names.is_empty() && !fs::metadata(folder)?.is_dir() {
        true => Err(rustix::io::Errno::NOTDIR.into()),
        false => Ok(names),
    }
}

fn entries(folder: &Path, recursive: bool, base: Option<&Path>) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if fs::metadata(folder)?.is_dir() {
        Walk { recursive, base, names: &mut names }.folder(folder, "", 0)?;
        return Ok(names);
    }
    names.extend(last_name(folder).filter(|name| is_database(name)));
    Ok(names)
}

/// Deepest folder that is looked into; a link to a folder above would have no end.
const DEPTH_MAX: usize = 40;

/// A look into folders.
struct Walk<'a> {
    recursive: bool,
    /// Links that lead out of it are passed over.
    base: Option<&'a Path>,
    names: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if !self.stays(&entry, &path) {
                continue;
            }
            let shown = format!("{prefix}{name}");
            if metadata.is_dir() {
                match self.recursive && depth < DEPTH_MAX {
                    // A folder that cannot be read is passed over.
                    true => {
                        let _ = self.folder(&path, &format!("{shown}/"), depth + 1);
                    }
                    false if self.recursive => {}
                    false => self.names.push(shown),
                }
            } else if is_database(&name) || !metadata.is_file() {
                // RRDtool asks only files for their ending.
                self.names.push(shown);
            }
        }
        Ok(())
    }

    /// Whether an entry is where names may lead.
    fn stays(&self, entry: &fs::DirEntry, path: &Path) -> bool {
        let Some(base) = self.base else { return true };
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        !is_link || path.canonicalize().is_ok_and(|real| real.starts_with(base))
    }
}

fn is_database(name: &str) -> bool {
    name.ends_with(".rrd")
}

fn last_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}
