//! Names of users by their numbers, from `/etc/passwd`.
//!
//! Looked at again every [`LOOK_NS`]: one `stat`, and a reading of the file only if it has changed.
//! Users of a directory service are not in the file and have their number for a name.

use std::path::{Path, PathBuf};

use procfs::Host;
use procfs::passwd::parse_passwd;

use super::roster::digits;

/// Time between two looks at the file.
const LOOK_NS: u64 = 10_000_000_000;

/// Users kept; a file of so many is 4 MB.
const USERS_MAX: usize = 65_536;

const PATH: &str = "/etc/passwd";

/// When a file was written, how long it is, and which it is.
type Stamp = (i64, i64, i64, u64);

/// The users of a host.
#[derive(Debug, Default)]
pub(super) struct Users {
    names: Vec<(u32, Vec<u8>)>,
    /// Grows when the file has changed, so that names are looked up again.
    generation: u64,
    looked_ns: Option<u64>,
    stamp: Option<Stamp>,
    text: Vec<u8>,
    /// Where the file is, put together once.
    place: Option<PathBuf>,
}

impl Users {
    /// Looks at the file if it is time to: that of the host, or another one of this machine.
    pub(super) fn refresh(&mut self, host: &mut Host, other: Option<&Path>) {
        let now_ns = host.now_ns();
        if self.looked_ns.is_some_and(|looked| now_ns.saturating_sub(looked) < LOOK_NS) {
            return;
        }
        self.looked_ns = Some(now_ns);
        if self.place.is_none() {
            let below_root = || host.root().map(|root| root.join(&PATH[1..]));
            self.place = other.map(Path::to_path_buf).or_else(below_root);
        }
        let text = match &self.place {
            Some(place) => {
                host.add_calls(1);
                let stamp = rustix::fs::stat(place).ok().map(|status| {
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
                std::fs::read(place).unwrap_or_default()
            }
            None => host.read_once(PATH).unwrap_or_default(),
        };
        if text == self.text && self.generation > 0 {
            return;
        }
        self.generation += 1;
        self.names.clear();
        let users = parse_passwd(&text).take(USERS_MAX);
        self.names.extend(users.map(|(uid, name)| (uid, name.to_vec())));
        // The first of several with one number is the one that the library finds.
        self.names.sort_by_key(|(uid, _)| *uid);
        self.names.dedup_by_key(|(uid, _)| *uid);
        self.text = text;
    }

    /// Which state of the file names come from.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Writes the name of a user, or the number if it has none, in the place of what is there.
    pub(super) fn name(&self, uid: u32, out: &mut Vec<u8>) {
        out.clear();
        match self.names.binary_search_by_key(&uid, |(uid, _)| *uid) {
            Ok(index) => out.extend_from_slice(&self.names[index].1),
            Err(_) => out.extend_from_slice(digits(uid.into(), &mut [0; 20])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        host.begin_tick_at(LOOK_NS + 2);
        users.refresh(&mut host, None);
        users.name(7, &mut name);
        assert_eq!(name, b"jane");
        assert_eq!(users.generation(), 2);
    }
}
