//! The files of a folder.

use std::fs;
use std::io;
use std::path::Path;

/// Names of the databases and folders in a folder, or, with `recursive`, of all databases below
/// it.  Hidden names are left out.
///
/// # Errors
/// If the folder cannot be read.
pub fn list(folder: &Path, recursive: bool) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if fs::metadata(folder)?.is_dir() {
        walk(folder, "", recursive, 0, &mut names)?;
    } else if let Some(name) = folder.file_name().filter(|_| is_database(folder)) {
        names.push(name.to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Deepest folder that is looked into; a link to a folder above would have no end.
const DEPTH_MAX: usize = 40;

fn walk(
    folder: &Path,
    prefix: &str,
    recursive: bool,
    depth: usize,
    names: &mut Vec<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if name.starts_with('.') {
            continue;
        }
        let shown = format!("{prefix}{name}");
        if metadata.is_dir() {
            match recursive && depth < DEPTH_MAX {
                // A folder that cannot be read is passed over.
                true => {
                    let _ = walk(&path, &format!("{shown}/"), true, depth + 1, names);
                }
                false if recursive => {}
                false => names.push(shown),
            }
        } else if is_database(&path) || !metadata.is_file() {
            // RRDtool asks only files for their ending.
            names.push(shown);
        }
    }
    Ok(())
}

fn is_database(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rrd")
}
