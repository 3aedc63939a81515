//! `/etc/passwd` (passwd(5)): names of users by their numbers.
//!
//! Looked at again every [`LOOK_NS`]: one `stat`, and a reading of the file only if it has changed.
//! A name costs a search among sorted numbers.
//!
//! Users that only a directory service knows keep their number: asking one could take for ever.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::Host;
use crate::scan::{lines, number};

/// Time between two looks at the file.
const LOOK_NS: u64 = 10_000_000_000;

/// Users kept, a file of 4 MB; further ones show as numbers.
const USERS_MAX: usize = 65_536;

/// Bytes of a name that are kept: a kernel's own tools cut at 32, some directories make longer.
const NAME_BYTES_MAX: usize = 256;

const PATH: &str = "/etc/passwd";

/// When a file was written, how long it is, and which it is.
type Stamp = (i64, i64, i64, u64);

/// Numbers and names of the file's lines, in its order.  Lines without either are passed over.
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
    pub fn refresh(&mut self, host: &mut Host, other: Option<&Path>) {
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
        let kept = |name: &[u8]| name[..name.len().min(NAME_BYTES_MAX)].to_vec();
        self.names.extend(users.map(|(uid, name)| (uid, kept(name))));
        // The first of several with one number is the one that the library finds.
        self.names.sort_by_key(|(uid, _)| *uid);
        self.names.dedup_by_key(|(uid, _)| *uid);
        self.text = text;
    }

    /// Which state of the file names come from.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Writes the name of a user, or the number if it has none, in the place of what is there.
    pub fn name(&self, uid: u32, out: &mut Vec<u8>) {
        out.clear();
        match self.names.binary_search_by_key(&uid, |(uid, _)| *uid) {
            Ok(index) => out.extend_from_slice(&self.names[index].1),
            // A vector takes all that is written.
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
        host.begin_tick_at(LOOK_NS + 2);
        users.refresh(&mut host, None);
        users.name(7, &mut name);
        assert_eq!(name, b"jane");
        assert_eq!(users.generation(), 2);
    }
}
