//! The interfaces of devices from run to run: MRTG's file of the same kind, which either reads.
//!
//! A line is `community@host`, the kind of text (`Name`, `Descr`, `Type`, `Ip`, `Eth`), the text and
//! the interface's number, with tabs between; the number is `Dup` if several interfaces have the
//! text.  Of a device's options the port and the version are kept, with `_` for each colon.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::PathBuf;
use text::byte_text;
use text::escape::file_line;
use whole_file::Replacement;

/// Names of the tables, in the order of `TABLES`.
const KINDS: [&str; 5] = ["Name", "Descr", "Type", "Ip", "Eth"];

/// What stands for the number if several interfaces have the text.
const SEVERAL: &str = "Dup";

/// The table, the text, and the interface's number; `None` if several have the text.
pub(super) type CachedInterface = (usize, Vec<u8>, Option<u32>);

/// Interfaces by device, kind and text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCache {
    hosts: BTreeMap<String, BTreeMap<(&'static str, String), Option<u32>>>,
}

impl InterfaceCache {
    /// Reads a file's text.  Lines that say nothing are left out, as by MRTG.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut cache = Self::default();
        for line in text.lines() {
            let mut parts = line.split('\t');
            let [Some(host), Some(kind), Some(text), Some(number)] =
                [parts.next(), parts.next(), parts.next(), parts.next()]
            else {
                continue;
            };
            let is_old = host.split_ascii_whitespace().next().is_some_and(|one| one.contains(':'));
            let kind = KINDS.iter().find(|known| **known == kind);
            let number = match number {
                SEVERAL => Some(None),
                digits => digits.parse().ok().map(Some),
            };
            if let (false, Some(kind), Some(number)) = (is_old, kind, number) {
                let of_host = cache.hosts.entry(host.to_owned()).or_default();
                of_host.insert((kind, text.trim_end_matches(|c| c <= ' ').to_owned()), number);
            }
        }
        cache
    }

    /// The file's text, sorted.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (host, entries) in &self.hosts {
            for ((kind, text), number) in entries {
                let number = number.map_or_else(|| SEVERAL.to_owned(), |one| one.to_string());
                out.push_str(&format!("{host}\t{kind}\t{text}\t{number}\n"));
            }
        }
        out
    }

    /// The lines of the file without communities, which may have an `@` too, for messages.
    pub fn shown(&self) -> Vec<String> {
        let shown = |line: &str| {
            let device = line.split('\t').next().unwrap_or_default();
            let host = device.rfind('@').map_or(0, |at| at + 1);
            file_line(&line[host..], 200)
        };
        self.text().lines().map(shown).collect()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// What is known of a device.
    pub(super) fn of(&self, device: &str) -> impl Iterator<Item = CachedInterface> {
        let entries = self.hosts.get(&host_key(device)).into_iter().flatten();
        entries.filter_map(|((kind, text), number)| {
            let table = KINDS.iter().position(|known| known == kind)?;
            Some((table, byte_text::encode(text).into_owned(), *number))
        })
    }

    /// Takes what a device has now, in place of what was known of the same tables.  Several devices may
    /// have one name here, as versions and times are not in it.
    pub(super) fn set(&mut self, device: &str, all: impl Iterator<Item = CachedInterface>) {
        let mut entries = BTreeMap::new();
        let mut kinds = [false; KINDS.len()];
        for (table, text, number) in all {
            // A tab or a line break would be read as another entry.
            let text = byte_text::decode(text).replace(|c| c < ' ', " ");
            entries.insert((KINDS[table], text), number);
            kinds[table] = true;
        }
        let known = self.hosts.entry(host_key(device)).or_default();
        let is_left = |kind: &str| KINDS.iter().zip(kinds).any(|(one, now)| *one == kind && !now);
        known.retain(|(kind, _), _| is_left(kind));
        known.append(&mut entries);
    }
}

/// The file of the interfaces, which is written when they are others than before.
#[derive(Debug)]
pub struct InterfaceCacheFile {
    path: PathBuf,
    text: String,
}

/// Bytes of a file that are read: some million interfaces.
const FILE_MAX: u64 = 256 << 20;

impl InterfaceCacheFile {
    /// Reads a file; one that is not there, or cannot be read, says nothing.
    #[must_use]
    pub fn open(path: PathBuf) -> (Self, InterfaceCache) {
        let mut bytes = Vec::new();
        if let Ok(file) = std::fs::File::open(&path) {
            // What cannot be read is found again by asking.
            let _ = file.take(FILE_MAX).read_to_end(&mut bytes);
        }
        let cache = InterfaceCache::parse(&byte_text::decode(bytes));
        (Self { path, text: cache.text() }, cache)
    }

    /// Writes the file if something has changed.  Its readers find the old or the new one; it has
    /// communities in it, so a new one is its owner's alone.
    ///
    /// # Errors
    /// If the file cannot be written; it is then as it was.
    pub fn keep(&mut self, cache: &InterfaceCache) -> io::Result<()> {
        let text = cache.text();
        if text == self.text {
            return Ok(());
        }
        Replacement::default().mode(0o600).write(&self.path, &byte_text::encode(&text))?;
        self.text = text;
        Ok(())
    }
}

/// `community@host` with the port and, if all five are written, the version.
fn host_key(device: &str) -> String {
    let is_digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = device.split(':').collect();
    let count = parts[1..].iter().rev().take_while(|part| is_digits(part)).count().min(5);
    let mut kept = parts[..parts.len() - count].to_vec();
    match &parts[parts.len() - count..] {
        [port, _, _, _, version] => kept.extend([port, version]),
        [port, ..] => kept.push(port),
        [] => {}
    }
    kept.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_devices_name_is_that_of_mrtg() {
        for (device, expected) in [
            ("public@host", "public@host"),
            ("public@host:161", "public@host_161"),
            ("public@host:161:2", "public@host_161"),
            ("public@host::::", "public@host_"),
            ("public@host:161:2:5:1:2", "public@host_161_2"),
            ("public@host:::::2", "public@host__2"),
            ("public@host:161:0.5:1:1:2", "public@host_161_0.5_1"),
            ("public@[fe80::1]:161::::3", "public@[fe80__1]_161_3"),
        ] {
            assert_eq!(host_key(device), expected, "{device}");
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let text = "c@h_161_2\tDescr\teth 0\t7\nc@h_161_2\tDescr\ttwice\tDup\n\
                    c@h_161_2\tIp\t10.0.0.1\t7\n";
        let cache = InterfaceCache::parse(text);
        assert_eq!(cache.text(), text);
        let found: Vec<_> = cache.of("c@h:161:1:1:1:2").collect();
        assert_eq!(found[0], (1, b"eth 0".to_vec(), Some(7)));
        assert_eq!(found[1].2, None);
        let damaged =
            format!("nothing\nc@h:161\tDescr\tx\t1\nc@h\tWhat\tx\t1\nc@h\tIp\tx\t\n{text}");
        assert_eq!(InterfaceCache::parse(&damaged), cache);
    }
}
