//! What users are called: `--passwd`, a file in the form of passwd(5), for a recording from another
//! machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Names of users by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserList {
    /// The file that was asked for; `None` where none was, and a recording has numbers alone.
    pub(super) path: Option<PathBuf>,
    names: HashMap<u32, Vec<u8>>,
}

/// A list of users that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("--passwd: cannot read the file {}", path.display())]
pub struct UserListError {
    path: PathBuf,
    source: std::io::Error,
}

impl UserList {
    /// The users of a file.
    pub(super) fn read(path: &Path) -> Result<Self, UserListError> {
        let text = std::fs::read(path)
            .map_err(|source| UserListError { path: path.to_owned(), source })?;
        Ok(UserList { path: Some(path.to_owned()), names: parse_users(&text) })
    }

    /// The users of this machine, for the recordings of collectl, which have numbers alone.
    pub(super) fn of_this_machine() -> Option<Self> {
        let users = Self::read(Path::new("/etc/passwd")).ok()?;
        Some(UserList { path: None, ..users })
    }

    /// The name of a user; `None` if it has none here.
    pub(crate) fn name(&self, uid: u32) -> Option<&[u8]> {
        self.names.get(&uid).map(Vec::as_slice)
    }
}

/// Names by number.  The last of several stands, as in collectl.
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
