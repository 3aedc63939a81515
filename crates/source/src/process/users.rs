//! Names of users: `--passwd`, a file in the format of passwd(5), for a recording from another
//! machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Names of users by user id.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserList {
    /// The file of `--passwd`; `None` without it, for a recording that has ids only.
    pub(super) path: Option<PathBuf>,
    names: HashMap<u32, Vec<u8>>,
}

/// A file with users that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("--passwd: cannot read the file {}", path.display())]
pub struct UserListError {
    path: PathBuf,
    source: std::io::Error,
}

impl UserList {
    /// Reads the users of a file.
    pub(super) fn read(path: &Path) -> Result<Self, UserListError> {
        let text = std::fs::read(path)
            .map_err(|source| UserListError { path: path.to_owned(), source })?;
        Ok(UserList { path: Some(path.to_owned()), names: parse_users(&text) })
    }

    /// The users of this machine, for collectl recordings, which have ids only.
    pub(super) fn of_this_machine() -> Option<Self> {
        let users = Self::read(Path::new("/etc/passwd")).ok()?;
        Some(UserList { path: None, ..users })
    }

    /// The name of a user, if the file has it.
    pub(crate) fn name(&self, uid: u32) -> Option<&[u8]> {
        self.names.get(&uid).map(Vec::as_slice)
    }
}

/// Names by user id.  If an id occurs several times, the last name counts, as in collectl.
fn parse_users(text: &[u8]) -> HashMap<u32, Vec<u8>> {
    let mut names = HashMap::new();
    for line in text.split(|&byte| byte == b'\n').filter(|line| line.first() != Some(&b'+')) {
        let mut parts = line.split(|&byte| byte == b':');
        let (Some(name), Some(uid)) = (parts.next(), parts.nth(1)) else { continue };
        if let Some(uid) = std::str::from_utf8(uid).ok().and_then(|uid| uid.parse().ok()) {
            names.insert(uid, name.to_vec());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        let names = parse_users(b"root:x:0:0::/:/bin/sh\n+nis\n\nbad:x\na:x:7:7:::\nb:x:7:7:::\n");
        assert_eq!(names.get(&0).map(Vec::as_slice), Some(&b"root"[..]));
        assert_eq!(names.get(&7).map(Vec::as_slice), Some(&b"b"[..]));
        assert_eq!(names.len(), 2);
    }
}
