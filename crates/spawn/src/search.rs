//! The search for a program's file through `PATH`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Finds the program `name`: itself if it contains a slash, otherwise the first executable regular
/// file of this name in the folders of `path` (`$PATH`; an empty part is the working directory).
pub fn find_program(name: &[u8], path: &[u8]) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains(&b'/') {
        return Some(PathBuf::from(OsStr::from_bytes(name)));
    }
    path.split(|byte| *byte == b':').find_map(|folder| {
        let folder = if folder.is_empty() { b"." } else { folder };
        let file = Path::new(OsStr::from_bytes(folder)).join(OsStr::from_bytes(name));
        let is_file = std::fs::metadata(&file).is_ok_and(|found| found.is_file());
        let may_run = || rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok();
        (is_file && may_run()).then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sh")).unwrap();
        std::fs::write(folder.path().join("cat"), "").unwrap();
        let path = [folder.path().as_os_str().as_bytes(), b"::/bin"].concat();
        assert_eq!(
            find_program(b"sh", &path),
            Some(PathBuf::from("/bin/sh")),
            "a folder is no program"
        );
        assert_eq!(
            find_program(b"cat", &path),
            Some(PathBuf::from("/bin/cat")),
            "nor a file without x"
        );
        assert_eq!(find_program(b"a/b", &path), Some(PathBuf::from("a/b")));
        assert_eq!(find_program(b"no-such-program", &path), None);
        assert_eq!(find_program(b"", &path), None);
    }
}
