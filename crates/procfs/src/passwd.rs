//! `/etc/passwd` (passwd(5)): names of users by their numbers.
//!
//! Read when it is first needed and again when a number turns up that is not in it, but no more
//! often than every [`AGAIN_NS`].  A name costs a look into a hash map.
//!
//! Users that only a directory service knows keep their number: asking one could take for ever.

use std::collections::HashMap;

use crate::Host;
use crate::scan::{lines, number};

/// Time between two looks for a number that is not there.
const AGAIN_NS: u64 = 60_000_000_000;

/// Users kept; further ones show as numbers.
const USERS_MAX: usize = 65_536;

/// Bytes of a name that are kept: a kernel's own tools cut at 32, some directories make longer.
const NAME_BYTES_MAX: usize = 256;

/// Numbers and names of the file's lines, in its order.  Lines without either are passed over.
pub fn parse_passwd(text: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    lines(text).filter_map(|line| {
        let mut parts = line.split(|&byte| byte == b':');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let digits = parts.nth(1).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        Some((u32::try_from(number(digits)?).ok()?, name))
    })
}

/// Names of users, looked up while we record.
#[derive(Debug, Default)]
pub struct Users {
    names: HashMap<u32, Vec<u8>>,
    read_ns: Option<u64>,
}

impl Users {
    /// The name of a user, or the number as text, put together in `room`.
    pub fn name<'a>(&'a mut self, host: &mut Host, uid: u32, room: &'a mut Room) -> &'a [u8] {
        let due = self.read_ns.is_none_or(|read_ns| host.now_ns() >= read_ns + AGAIN_NS);
        if due && !self.names.contains_key(&uid) {
            self.read_ns = Some(host.now_ns());
            self.read(&host.read_once("/etc/passwd").unwrap_or_default());
        }
        match self.names.get(&uid) {
            Some(name) => name,
            None => room.digits(uid),
        }
    }

    /// Takes names and numbers from the file's text.
    pub fn read(&mut self, text: &[u8]) {
        self.names.clear();
        for (uid, name) in parse_passwd(text).take(USERS_MAX) {
            let kept = &name[..name.len().min(NAME_BYTES_MAX)];
            // As getpwuid(3): the first line with the number holds.
            self.names.entry(uid).or_insert_with(|| kept.to_vec());
        }
    }
}

/// Room for a number's digits.
#[derive(Debug, Default)]
pub struct Room([u8; 10]);

impl Room {
    fn digits(&mut self, mut value: u32) -> &[u8] {
        let mut at = self.0.len();
        loop {
            at -= 1;
            self.0[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                return &self.0[at..];
            }
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
    fn who_has_no_name_is_a_number_and_the_file_is_not_read_for_ever() {
        let mut host = Host::in_memory();
        host.put("/etc/passwd", Some(b"root:x:0:0::/:\ntoor:x:0:0::/:\n"));
        let mut users = Users::default();
        let mut name = |host: &mut Host, uid| users.name(host, uid, &mut Room::default()).to_vec();
        assert_eq!(name(&mut host, 0), b"root");
        assert_eq!(name(&mut host, 4_294_967_295), b"4294967295");
        host.put("/etc/passwd", Some(b"root:x:0:0::/:\nnew:x:7:7::/:\n"));
        host.begin_tick_at(AGAIN_NS - 1);
        assert_eq!(name(&mut host, 7), b"7");
        host.begin_tick_at(AGAIN_NS);
        assert_eq!(name(&mut host, 7), b"new");
    }
}
