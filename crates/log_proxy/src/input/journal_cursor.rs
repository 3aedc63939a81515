//! How far a journal is read: journald's cursors, and what a record says of one.
//!
//! Each record says the place behind it.  Of a cursor of some 130 bytes half are the ids of its sequence and
//! its boot, which hardly ever change: they are left out where the place that was saved before the record
//! has the same, so that `Cursor` takes fewer bytes in the rings, the spool and the store.

use std::cmp::Ordering;

use text::escape::hex_digits;

use super::cursor::{Saved, WrittenPlace};

/// The cursor of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JournalCursor {
    /// As this version of journald makes them.
    Entry(EntryPlace),
    /// A cursor of another form, which `journalctl` may know; empty: that of no entry.
    Text(Vec<u8>),
}

impl JournalCursor {
    /// The cursor of no entry: everything is to be read.
    pub(super) const NONE: Self = JournalCursor::Text(Vec::new());

    pub(super) fn parse(text: &[u8]) -> Self {
        EntryPlace::parse(text)
            .map_or_else(|| JournalCursor::Text(text.to_vec()), JournalCursor::Entry)
    }

    /// The last one that the saved place and the records behind it say.
    pub(super) fn of(saved: Saved) -> Self {
        let place = Self::parse(&saved.place);
        let WrittenPlace::Text(said) = saved.written else { return place };
        match place {
            JournalCursor::Entry(place) if said.starts_with(b"i=") => {
                let (mut whole, has_ids) = (said, true);
                whole.push(b';');
                // Of parts that are there twice the first one holds.
                place.put(&mut whole, has_ids);
                Self::parse(&whole)
            }
            _ => Self::parse(&said),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// The whole cursor.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.put_behind(&Self::NONE, &mut text);
        text
    }

    /// Appends what a record says of it that is written behind a saved place.
    pub(super) fn put_behind(&self, saved: &Self, out: &mut Vec<u8>) {
        match (self, saved) {
            (JournalCursor::Entry(own), JournalCursor::Entry(saved)) => {
                own.put(out, !own.has_ids_of(saved));
            }
            (JournalCursor::Entry(own), JournalCursor::Text(_)) => own.put(out, true),
            (JournalCursor::Text(text), _) => out.extend_from_slice(text),
        }
    }
}

/// Where an entry stands among all, as journald's cursors say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryPlace {
    /// Which sequence it is numbered in, and its number there.
    pub(super) seqnum_id: u128,
    pub(super) seqnum: u64,
    pub(super) boot_id: u128,
    pub(super) monotonic_us: u64,
    pub(super) realtime_us: u64,
    pub(super) xor_hash: u64,
}

impl EntryPlace {
    /// Reads a cursor; `None`: it is none, or lacks something.
    pub(super) fn parse(cursor: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(cursor).ok()?;
        let part = |name: &str| {
            let mut parts = text.split(';').filter_map(|part| part.split_once('='));
            parts.find(|(one, _)| *one == name).map(|(_, value)| value)
        };
        let id = |name| u128::from_str_radix(part(name)?, 16).ok();
        let number = |name| u64::from_str_radix(part(name)?, 16).ok();
        Some(EntryPlace {
            seqnum_id: id("s")?,
            seqnum: number("i")?,
            boot_id: id("b")?,
            monotonic_us: number("m")?,
            realtime_us: number("t")?,
            xor_hash: number("x")?,
        })
    }

    /// Appends the cursor, with the ids of sequence and boot or without.
    fn put(&self, out: &mut Vec<u8>, has_ids: bool) {
        let is_number = true;
        if has_ids {
            put_digits(out, b"s=", self.seqnum_id.to_be_bytes(), !is_number);
            out.push(b';');
        }
        put_digits(out, b"i=", self.seqnum.to_be_bytes(), is_number);
        if has_ids {
            put_digits(out, b";b=", self.boot_id.to_be_bytes(), !is_number);
        }
        put_digits(out, b";m=", self.monotonic_us.to_be_bytes(), is_number);
        put_digits(out, b";t=", self.realtime_us.to_be_bytes(), is_number);
        put_digits(out, b";x=", self.xor_hash.to_be_bytes(), is_number);
    }

    fn has_ids_of(&self, other: &Self) -> bool {
        self.seqnum_id == other.seqnum_id && self.boot_id == other.boot_id
    }

    /// journald's order: by number within a sequence, by the boot's clock within a boot, else by time.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let same = |is: bool, order: Ordering| if is { order } else { Ordering::Equal };
        same(self.seqnum_id == other.seqnum_id, self.seqnum.cmp(&other.seqnum))
            .then(same(self.boot_id == other.boot_id, self.monotonic_us.cmp(&other.monotonic_us)))
            .then(self.realtime_us.cmp(&other.realtime_us))
            .then(self.xor_hash.cmp(&other.xor_hash))
    }
}

/// Appends hexadecimal digits; of a number without zeros in front.
fn put_digits<const N: usize>(out: &mut Vec<u8>, name: &[u8], bytes: [u8; N], is_number: bool) {
    let digits = bytes.map(hex_digits);
    let digits = digits.as_flattened();
    let zeros = digits[..digits.len() - 1].iter().take_while(|digit| **digit == b'0');
    out.extend_from_slice(name);
    out.extend_from_slice(&digits[if is_number { zeros.count() } else { 0 }..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURSOR: &str = "s=0123456789abcdef0123456789abcdef;i=1f;b=00000000000000000000000000000001;\
                          m=0;t=664eeafac7000;x=9f0e";

    #[test]
    fn a_cursor_is_that_of_journald() {
        let cursor = JournalCursor::parse(CURSOR.as_bytes());
        assert!(matches!(cursor, JournalCursor::Entry(_)));
        assert_eq!(String::from_utf8(cursor.text()).unwrap(), CURSOR);
        for other in ["s=1;i=2;b=3;m=4;t=5", "s=1;i=2;b=3;m=4;t=5;x=g", "of another form", ""] {
            let cursor = JournalCursor::parse(other.as_bytes());
            assert_eq!(cursor, JournalCursor::Text(other.as_bytes().to_vec()));
            assert_eq!(cursor.text(), other.as_bytes());
        }
        assert!(JournalCursor::parse(b"").is_none());
    }

    #[test]
    fn what_a_record_says_is_the_cursor_with_the_saved_place() {
        let next = CURSOR.replace("i=1f", "i=20").replace("x=9f0e", "x=ffffffffffffffff");
        let other_boot = next.replace("1;m=", "2;m=");
        let other_form = "k=5;i=3";
        let all = ["", CURSOR, &next, &other_boot, other_form];
        for (place, own) in all.iter().flat_map(|place| all.map(|own| (place, own))) {
            let saved = JournalCursor::parse(place.as_bytes());
            let cursor = JournalCursor::parse(own.as_bytes());
            let mut said = Vec::new();
            cursor.put_behind(&saved, &mut said);
            let boot = |text: &str| text.starts_with("s=").then(|| text.contains("2;m="));
            let is_short = boot(own).is_some() && boot(own) == boot(place);
            assert_eq!(said.len(), own.len() - if is_short { 70 } else { 0 }, "{place} {own}");
            let place = place.as_bytes().to_vec();
            let found = JournalCursor::of(Saved { place, written: WrittenPlace::Text(said) });
            assert_eq!(found, cursor);
            let found =
                JournalCursor::of(Saved { place: saved.text(), written: WrittenPlace::Nothing });
            assert_eq!(found, saved);
        }
    }
}
