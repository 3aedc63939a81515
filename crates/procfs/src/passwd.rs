//! `/etc/passwd` (passwd(5)): user names by user id.
//!
//! Every [`CHECK_NS`] one `stat` checks whether the file has changed; only then it is read again.
//! Looking up a name is a binary search among the ids.
//!
//! Users that only a directory service knows are shown by id: a query could block forever.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::Host;
use crate::scan::{lines, number};

/// Time between two checks of the file.
const CHECK_NS: u64 = 10_000_000_000;

/// Users kept, a file of about 4 MB; further ones are shown by id.
const USERS_MAX: usize = 65_536;

/// Bytes kept of a name.  Linux tools allow 32; some directory services allow more.
const NAME_BYTES_MAX: usize = 256;

const PATH: &str = "/etc/passwd";

/// Modification time (seconds, nanoseconds), size and inode of a file, to notice a change.
type Stamp = (i64, i64, i64, u64);

/// User ids and names, in the file's order.  Lines without either are skipped.
pub fn parse_passwd(text: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    lines(text).filter_map(|line| {
        let mut parts = line.split(|&byte| byte == b':');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let digits = parts.nth(1).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        Some((u32::try_from(number(digits)?).ok()?, name))
    })
}

/// The users of a host.
#[derive(Debug, Default)]
pub struct Users {
    names: Vec<(u32, Vec<u8>)>,
    /// Incremented when the file has changed, so that callers look names up again.
    generation: u64,
    looked_ns: Option<u64>,
    stamp: Option<Stamp>,
    text: Vec<u8>,
    /// The file's path, built once.
    path: Option<PathBuf>,
}

impl Users {
    /// Checks the file if [`CHECK_NS`] have passed: that of the host, or `other` on this machine.
    pub fn refresh(&mut self, host: &mut Host, other: Option<&Path>) {
        let now_ns = host.now_ns();
        if self.looked_ns.is_some_and(|looked| now_ns.saturating_sub(looked) < CHECK_NS) {
            return;
        }
        self.looked_ns = Some(now_ns);
        if self.path.is_none() {
            let below_root = || host.root().map(|root| root.join(&PATH[1..]));
            self.path = other.map(Path::to_path_buf).or_else(below_root);
        }
        let text = match &self.path {
            Some(path) => {
                host.add_calls(1);
                let stamp = rustix::fs::stat(path).ok().map(|status| {
                    #[allow(clippy::useless_conversion, reason = "types differ between machines")]
                    (
                        status.st_mtime.into(),
                        status.st_mtime_nsec as i64,
                        status.st_size,
                        status.st_ino,
                    )
                });
                if stamp == self.stamp && self.generation > 0 {
                    return;
                }
                self.stamp = stamp;
                std::fs::read(path).unwrap_or_default()
            }
            None => host.read_once(PATH).unwrap_or_default(),
        };
        if text == self.text && self.generation > 0 {
            return;
        }
        self.generation += 1;
        self.names.clear();
        let users = parse_passwd(&text).take(USERS_MAX);
        let kept = |name: &[u8]| name[..name.len().min(NAME_BYTES_MAX)].to_vec();
        self.names.extend(users.map(|(uid, name)| (uid, kept(name))));
        // Of several names with one id the C library finds the first.
        self.names.sort_by_key(|(uid, _)| *uid);
        self.names.dedup_by_key(|(uid, _)| *uid);
        self.text = text;
    }

    /// The number of times that the text had changed; when it grows, names may differ.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Replaces `out` by the name of a user, or by the id if the user has no name.
    pub fn name(&self, uid: u32, out: &mut Vec<u8>) {
        out.clear();
        match self.names.binary_search_by_key(&uid, |(uid, _)| *uid) {
            Ok(index) => out.extend_from_slice(&self.names[index].1),
            // Writing to a vector cannot fail.
            Err(_) => write!(out, "{uid}").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_of_whole_lines() {
        let text = b"root:x:0:0:root:/root:/bin/bash\n# a:b\n\n+::::::\nbin:x:2x:2::/:\n\
            daemon:*:1:1::/:/bin/false\ntoor:x:0:0::/root:\nlast:x:4294967295";
        let users: Vec<(u32, &[u8])> = parse_passwd(text).collect();
        let expected: [(u32, &[u8]); 4] =
            [(0, b"root"), (1, b"daemon"), (0, b"toor"), (u32::MAX, b"last")];
        assert_eq!(users, expected);
    }

    #[test]
    fn a_changed_file_is_read_again_and_unknown_users_are_numbers() {
        let mut host = Host::in_memory();
        let mut users = Users::default();
        let mut name = Vec::new();
        host.put(PATH, Some(b"joe:x:7:7:\nroot:x:0:0:\ntoor:x:0:0:\n"));
        host.begin_tick_at(1);
        users.refresh(&mut host, None);
        users.name(0, &mut name);
        assert_eq!(name, b"root");
        users.name(4_294_967_295, &mut name);
        assert_eq!(name, b"4294967295");
        host.put(PATH, Some(b"jane:x:7:7:\n"));
        host.begin_tick_at(2);
        users.refresh(&mut host, None);
        users.name(7, &mut name);
        assert_eq!(name, b"joe", "too early to look again");
        host.begin_tick_at(CHECK_NS + 2);
        users.refresh(&mut host, None);
        users.name(7, &mut name);
        assert_eq!(name, b"jane");
        assert_eq!(users.generation(), 2);
    }
}
