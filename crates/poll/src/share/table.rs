//! The table of the pollers that share devices: who they are, and which of the slots each has.
//!
//! It is the value of one key of a bucket, a JSON object of about 1.3 KB:
//!
//! ```text
//! {"version":1,"owners":"aab.…","pollers":[{"name":"east","session":"17f0…","beat":7,"lease_ms":150000,"targets":"9a…"},…]}
//! ```
//!
//! A device has one of [`SLOTS`] slots, by a hash of its name; `owners` has a letter for each slot: the
//! first poller is `a`, nobody is `.`.  `silent` has the names of pollers that were taken out since they were
//! silent and have not come again; without any it is left out.  A slot belongs to the poller with the
//! highest weight for it (rendezvous hashing): when a poller goes, its slots alone move.  The hash is part
//! of the format.

use serde_json::{Value, json};

/// Slots: with three pollers and a thousand devices a poller has 333 ± 6 %.
pub(super) const SLOTS: usize = 1024;

/// A letter for each poller; so many there may be.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The letter of a slot that nobody has.
const NOBODY: u8 = b'.';

/// Bytes of a table that is read: 62 pollers with long names need a fourth of it.
const BYTES_MAX: usize = 64 << 10;

/// Bytes of the name of a poller.
pub(super) const NAME_BYTES_MAX: usize = 200;

/// The longest lease that is believed, in ms: a day.
const LEASE_MS_MAX: u64 = 86_400_000;

/// A poller of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The name of the poller, which decides what slots it gets.
    pub(super) name: String,
    /// A random number of the running program: another run is another session.
    pub(super) session: u64,
    /// Counts what it wrote: a poller whose beat stands still is silent.
    pub(super) beat: u64,
    /// How long it may be silent, in ms.
    pub(super) lease_ms: u64,
    /// A hash of its targets, which should be everyone's.
    pub(super) targets: u64,
}

/// Who has which slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) members: Vec<Member>,
    /// For each slot the place of its owner among the members.
    owners: Vec<Option<u8>>,
    /// Pollers that were taken out since they were silent, the latest last.
    silent: Vec<String>,
}

impl Table {
    /// A table of nobody.
    #[cfg(test)]
    fn empty() -> Self {
        Table { members: Vec::new(), owners: vec![None; SLOTS], silent: Vec::new() }
    }

    /// A table whose slots one member has.
    pub(super) fn of_one(member: Member) -> Self {
        Table { members: vec![member], owners: vec![Some(0); SLOTS], silent: Vec::new() }
    }

    /// Reads a table; `None` if the text is none.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let table: Value = serde_json::from_slice(text).ok()?;
        if table["version"] != 1 {
            return None;
        }
        let members: Option<Vec<Member>> =
            table["pollers"].as_array()?.iter().map(member).collect();
        let members = members?;
        let is_twice = |at: usize, one: &Member| {
            members[..at].iter().any(|other| other.name == one.name || other.session == one.session)
        };
        if members.len() > LETTERS.len()
            || members.iter().enumerate().any(|(at, one)| is_twice(at, one))
        {
            return None;
        }
        let owner = |letter: u8| match LETTERS.iter().position(|known| *known == letter) {
            None if letter == NOBODY => Some(None),
            Some(place) if place < members.len() => Some(u8::try_from(place).ok()),
            _ => None,
        };
        let owners: Option<Vec<_>> = table["owners"].as_str()?.bytes().map(owner).collect();
        let owners = owners.filter(|owners| owners.len() == SLOTS)?;
        let silent = table["silent"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let silent = silent.filter(|name| name.len() <= NAME_BYTES_MAX).map(str::to_owned);
        let silent = silent.take(LETTERS.len()).collect();
        Some(Table { members, owners, silent })
    }

    /// The text of the table.
    pub(super) fn text(&self) -> Vec<u8> {
        let members = self.members.iter().map(|one| {
            let [session, targets] =
                [one.session, one.targets].map(|number| format!("{number:016x}"));
            json!({
                "name": one.name, "session": session, "beat": one.beat,
                "lease_ms": one.lease_ms, "targets": targets,
            })
        });
        let members: Vec<Value> = members.collect();
        let letter = |owner: &Option<u8>| owner.map_or(NOBODY, |place| LETTERS[usize::from(place)]);
        let owners: String = self.owners.iter().map(|owner| char::from(letter(owner))).collect();
        let mut table = json!({ "version": 1, "owners": owners, "pollers": members });
        if !self.silent.is_empty() {
            table["silent"] = json!(self.silent);
        }
        table.to_string().into_bytes()
    }

    /// Pollers that were taken out since they were silent, and have not come again.
    pub(super) fn silent(&self) -> &[String] {
        &self.silent
    }

    /// Notes that a poller was taken out since it was silent.
    pub(super) fn note_silent(&mut self, name: &str) {
        self.note_there(name);
        self.silent.push(name.to_owned());
        let more = self.silent.len().saturating_sub(LETTERS.len());
        self.silent.drain(..more);
    }

    /// Notes that a poller is there.
    pub(super) fn note_there(&mut self, name: &str) {
        self.silent.retain(|silent| silent != name);
    }

    /// The name of the poller that has a slot.
    pub(super) fn owner(&self, slot: usize) -> Option<&str> {
        let place = usize::from(self.owners.get(slot).copied()??);
        self.members.get(place).map(|one| one.name.as_str())
    }

    /// The place of a session among the members.
    pub(super) fn place(&self, session: u64) -> Option<usize> {
        self.members.iter().position(|one| one.session == session)
    }

    /// Adds a member without slots; false if there are too many.
    pub(super) fn add(&mut self, member: Member) -> bool {
        let has_place = self.members.len() < LETTERS.len();
        if has_place {
            self.members.push(member);
        }
        has_place
    }

    /// Takes a member out; nobody has its slots.
    pub(super) fn remove(&mut self, session: u64) {
        let Some(gone) = self.place(session) else { return };
        self.members.remove(gone);
        for owner in &mut self.owners {
            *owner = owner.and_then(|place| match usize::from(place).cmp(&gone) {
                std::cmp::Ordering::Less => Some(place),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some(place - 1),
            });
        }
    }

    /// Whether a slot is of the member at this place.
    pub(super) fn is_of(&self, slot: usize, place: usize) -> bool {
        self.owners[slot].is_some_and(|owner| usize::from(owner) == place)
    }

    /// Gives each slot that nobody has, and with `giver` those of that place, to whom it belongs.
    pub(super) fn settle(&mut self, giver: Option<usize>) {
        for slot in 0..SLOTS {
            let is_moved =
                self.owners[slot].is_none() || giver.is_some_and(|place| self.is_of(slot, place));
            if is_moved {
                self.owners[slot] = self.chosen(slot).and_then(|place| u8::try_from(place).ok());
            }
        }
    }

    /// Whether the member at this place has a slot that belongs to another.
    pub(super) fn has_to_give(&self, place: usize) -> bool {
        (0..SLOTS).any(|slot| self.is_of(slot, place) && self.chosen(slot) != Some(place))
    }

    /// The place of the member that a slot belongs to.
    fn chosen(&self, slot: usize) -> Option<usize> {
        let weight = |one: &Member| mixed(hash(one.name.as_bytes()) ^ mixed(slot as u64));
        let all = self.members.iter().enumerate();
        let best = all.max_by_key(|(_, one)| (weight(one), one.name.as_str()));
        best.map(|(place, _)| place)
    }
}

/// For fuzz targets: reads a table, and does with it what a poller does; what is written is read as the same.
///
/// # Panics
/// If it is not, or a slot is left over.
#[doc(hidden)]
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn fuzz_table(text: &[u8]) {
    let Some(mut table) = Table::parse(text) else { return };
    assert_eq!(Table::parse(&table.text()).as_ref(), Some(&table));
    let giver = (0..table.members.len()).find(|place| table.has_to_give(*place));
    table.settle(giver);
    if let Some(one) = table.members.first().map(|one| one.session) {
        table.remove(one);
        table.settle(None);
    }
    let again = Table::parse(&table.text()).expect("a table that was written");
    let is_whole = (0..SLOTS).all(|slot| again.owners[slot].is_some());
    assert_eq!(is_whole, !again.members.is_empty());
}

fn member(value: &Value) -> Option<Member> {
    let number = |name: &str| u64::from_str_radix(value[name].as_str()?, 16).ok();
    let name = value["name"].as_str().filter(|name| name.len() <= NAME_BYTES_MAX)?;
    Some(Member {
        name: name.to_owned(),
        session: number("session")?,
        beat: value["beat"].as_u64()?,
        lease_ms: value["lease_ms"].as_u64().filter(|ms| (1..=LEASE_MS_MAX).contains(ms))?,
        targets: number("targets")?,
    })
}

/// The slot of a device, or of a target without one.
pub(super) fn slot_of(key: &str) -> usize {
    (mixed(hash(key.as_bytes())) % SLOTS as u64) as usize
}

/// FNV-1a: the same in every version and on every machine.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Spreads a number over all bits (the last step of SplitMix64): FNV's upper bits alone do not depend on
/// the last letters.
pub(super) fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(in crate::share) fn member(name: &str, session: u64) -> Member {
        Member { name: name.to_owned(), session, beat: 3, lease_ms: 5_000, targets: 9 }
    }

    /// A settled table of so many pollers.
    fn of(count: u64) -> Table {
        let mut table = Table::empty();
        (0..count).for_each(|number| assert!(table.add(member(&format!("p{number}"), number))));
        table.settle(None);
        table
    }

    fn shares(table: &Table) -> Vec<usize> {
        let count = |place: usize| (0..SLOTS).filter(|&slot| table.is_of(slot, place)).count();
        (0..table.members.len()).map(count).collect()
    }

    #[test]
    fn slots_are_balanced_and_only_those_of_the_dead_move() {
        for count in [1_u64, 2, 3, 10] {
            let table = of(count);
            let even = SLOTS / usize::try_from(count).unwrap();
            let shares = shares(&table);
            assert!(shares.iter().all(|share| share.abs_diff(even) <= even / 4), "{shares:?}");
        }
        let (before, mut after) = (of(5), of(5));
        after.remove(2);
        after.settle(None);
        let session = |table: &Table, slot: usize| {
            let place = (0..table.members.len()).find(|&place| table.is_of(slot, place)).unwrap();
            table.members[place].session
        };
        let moved = |slot: &usize| session(&before, *slot) != session(&after, *slot);
        assert!((0..SLOTS).filter(moved).all(|slot| session(&before, slot) == 2));
        // Who comes takes from each of the others, and from nobody else than by their giving.
        let mut grown = after.clone();
        assert!(grown.add(member("p2", 2)));
        grown.settle(None);
        assert_eq!(shares(&grown)[4], 0);
        (0..4).for_each(|place| grown.settle(Some(place)));
        assert!((0..SLOTS).all(|slot| session(&grown, slot) == session(&before, slot)));
        assert!((0..5).all(|place| !grown.has_to_give(place)));
    }

    #[test]
    fn devices_are_spread_over_slots() {
        let mut counts = vec![0_usize; SLOTS];
        (0..20_000)
            .for_each(|n| counts[slot_of(&format!("10.0.{}.{}:161", n / 250, n % 250))] += 1);
        // 20 in each: five times the deviation of a random share.
        assert!(counts.iter().all(|count| (1..43).contains(count)), "{counts:?}");
        // Part of the format: another version must agree.
        assert_eq!([slot_of("router:161"), slot_of("10.0.0.1:161"), slot_of("")], [841, 768, 155]);
    }

    #[test]
    fn tables_are_read_as_they_are_written_and_others_are_refused() {
        let mut table = of(3);
        table.remove(1);
        assert_eq!(Table::parse(&table.text()), Some(table.clone()));
        assert_eq!(Table::parse(&Table::empty().text()), Some(Table::empty()));
        let mut silent = table.clone();
        ["x", "p1", "x"].iter().for_each(|name| silent.note_silent(name));
        assert_eq!(silent.silent(), ["p1", "x"]);
        assert_eq!(Table::parse(&silent.text()), Some(silent.clone()));
        (0..99).for_each(|number| silent.note_silent(&format!("s{number}")));
        assert_eq!(Table::parse(&silent.text()).map(|read| read.silent.len()), Some(62));
        let text = String::from_utf8(table.text()).unwrap();
        for (from, to) in [
            ("\"version\":1", "\"version\":2"),
            ("\"lease_ms\":5000", "\"lease_ms\":0"),
            ("\"lease_ms\":5000", "\"lease_ms\":99999999999"),
            ("\"name\":\"p2\"", "\"name\":\"p0\""),
            ("\"owners\":\"", "\"owners\":\"a"),
            ("\"owners\":\"", "\"owners\":1,\"x\":\""),
            ("\"pollers\":[", "\"pollers\":[7,"),
            ("{", ""),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert_eq!(Table::parse(changed.as_bytes()), None, "{from}");
        }
        // A slot of a member that is not there.
        let owners = text.find("owners\":\"").unwrap() + 9;
        let mut strange = text.clone().into_bytes();
        strange[owners] = b'Z';
        assert_eq!(Table::parse(&strange), None);
        let mut full = of(62);
        assert!(!full.add(member("one more", 99)));
        assert!(full.text().len() < BYTES_MAX);
    }
}
