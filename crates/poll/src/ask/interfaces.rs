//! Interfaces of a device by what selects them: walked once, kept, checked with each answer.
//!
//! As MRTG does: an interface that two others share a description with is not selected by it.

use std::collections::HashMap;
use text::byte_text;
use text::encoding::hex_with;

use snmp::{Oid, OidRef, SnmpValue};

use super::cache::{CachedInterface, InterfaceCache};
use crate::target::InterfaceSelector;

/// Columns that are walked, in MRTG's order: some agents give sensible answers in this one only.
pub(super) const TABLES: [&[u32]; 5] = [
    &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1],
    &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2],
    &[1, 3, 6, 1, 2, 1, 2, 2, 1, 3],
    &[1, 3, 6, 1, 2, 1, 4, 20, 1, 2],
    &[1, 3, 6, 1, 2, 1, 2, 2, 1, 6],
];

/// Most entries of a table: numbers of interfaces seen are far below.
pub(super) const ENTRIES_MAX: usize = 100_000;

/// Interface numbers by table and text; `None` if several have the text.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    by_text: HashMap<(usize, Vec<u8>), Option<u32>>,
    pub(super) is_walked: bool,
}

/// The table that a selector is looked up in, and the text to look for.
fn key(selector: &InterfaceSelector) -> Option<(usize, Vec<u8>)> {
    Some(match selector {
        InterfaceSelector::Name(text) => (0, clean(&byte_text::encode(text))),
        InterfaceSelector::Description(text) => (1, clean(&byte_text::encode(text))),
        InterfaceSelector::Type(text) => (2, clean(&byte_text::encode(text))),
        InterfaceSelector::Address(text) => (3, text.clone().into_bytes()),
        InterfaceSelector::Ethernet(text) => (4, text.to_ascii_lowercase().into_bytes()),
        InterfaceSelector::None | InterfaceSelector::Number(_) => return None,
    })
}

/// Blanks at the end are left out, control characters are blanks.
fn clean(text: &[u8]) -> Vec<u8> {
    let length = text.iter().rposition(|byte| *byte > b' ').map_or(0, |at| at + 1);
    text[..length].iter().map(|byte| if *byte <= b' ' { b' ' } else { *byte }).collect()
}

/// The text of a value in a table.
fn text_of(table: usize, value: &SnmpValue<'_>) -> Vec<u8> {
    match (table, value) {
        (4, SnmpValue::OctetString(bytes)) => hex_with(bytes, "-").to_string().into_bytes(),
        (_, SnmpValue::OctetString(bytes)) => clean(bytes),
        (_, value) => value.to_string().into_bytes(),
    }
}

impl Interfaces {
    /// Forgets all before a walk.
    pub(super) fn begin_walk(&mut self) {
        self.by_text.clear();
        self.is_walked = true;
    }

    /// Takes an entry of a walk.
    pub(super) fn add(&mut self, table: usize, index: OidRef<'_>, value: &SnmpValue<'_>) {
        let Some(root) = Oid::new(TABLES[table]).ok() else { return };
        let Some(numbers) = index.after(root.as_ref()) else { return };
        let numbers: Vec<u32> = numbers.collect();
        let (text, number) = match (table, value.as_integer()) {
            (3, Some(number)) => {
                let parts: Vec<String> = numbers.iter().map(u32::to_string).collect();
                (parts.join(".").into_bytes(), u32::try_from(number).ok())
            }
            _ => (text_of(table, value), numbers.first().copied()),
        };
        if number.is_some() {
            let entry = self.by_text.entry((table, text));
            entry
                .and_modify(|known| *known = known.filter(|one| Some(*one) == number))
                .or_insert(number);
        }
    }

    /// Takes what an earlier run found.
    pub(super) fn load(&mut self, cache: &InterfaceCache, host: &str) {
        for (table, text, number) in cache.of(host) {
            self.is_walked = true;
            self.by_text.insert((table, text), number);
        }
    }

    /// Whether a selector's text is in no table.
    pub(super) fn lacks(&self, selector: &InterfaceSelector) -> bool {
        key(selector).is_some_and(|key| !self.by_text.contains_key(&key))
    }

    /// All that is known.
    pub(super) fn entries(&self) -> impl Iterator<Item = CachedInterface> {
        self.by_text.iter().map(|((table, text), number)| (*table, text.clone(), *number))
    }

    /// The interface that a selector means.
    pub(super) fn find(&self, selector: &InterfaceSelector) -> Result<Option<u32>, &'static str> {
        match selector {
            InterfaceSelector::None => return Ok(None),
            InterfaceSelector::Number(number) => return Ok(Some(*number)),
            _ => {}
        }
        let found = key(selector).and_then(|key| self.by_text.get(&key));
        match found {
            Some(Some(number)) => Ok(Some(*number)),
            Some(None) => Err("several interfaces are selected"),
            None => Err("there is no such interface"),
        }
    }
}

/// The table that a selector needs, a place in [`TABLES`].
pub(super) fn table_of(selector: &InterfaceSelector) -> Option<usize> {
    Some(match selector {
        InterfaceSelector::Name(_) => 0,
        InterfaceSelector::Description(_) => 1,
        InterfaceSelector::Type(_) => 2,
        InterfaceSelector::Address(_) => 3,
        InterfaceSelector::Ethernet(_) => 4,
        InterfaceSelector::None | InterfaceSelector::Number(_) => return None,
    })
}

/// The object that shows whether the interface is still the one selected.
pub(super) fn check_oid(selector: &InterfaceSelector, number: u32) -> Option<Oid> {
    let (table, text) = key(selector)?;
    let root = Oid::new(TABLES[table]).ok()?;
    if table == 3 {
        let text = String::from_utf8(text).ok()?;
        let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        return root.child(&parts?).ok();
    }
    root.child(&[number]).ok()
}

/// Whether the value of [`check_oid`] is that of the interface.
pub(super) fn is_same(selector: &InterfaceSelector, number: u32, value: &SnmpValue<'_>) -> bool {
    match key(selector) {
        Some((3, _)) => value.as_integer() == Some(number.into()),
        Some((table, text)) => text_of(table, value) == text,
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_found_by_each_text_unless_it_is_of_several() {
        let mut interfaces = Interfaces::default();
        let mut add = |table: usize, index: &[u32], value: SnmpValue<'_>| {
            let oid = Oid::new(TABLES[table]).unwrap().child(index).unwrap();
            interfaces.add(table, oid.as_ref(), &value);
        };
        add(1, &[7], SnmpValue::OctetString(b"port\tseven \0"));
        add(1, &[8], SnmpValue::OctetString(b"twice"));
        add(1, &[9], SnmpValue::OctetString(b"twice"));
        add(2, &[7], SnmpValue::Integer(6));
        add(3, &[192, 0, 2, 1], SnmpValue::Integer(7));
        add(4, &[7], SnmpValue::OctetString(&[0, 0xab, 1, 2, 3, 4]));
        let find = |selector: InterfaceSelector| interfaces.find(&selector);
        assert_eq!(find(InterfaceSelector::Description("port seven".into())), Ok(Some(7)));
        assert_eq!(find(InterfaceSelector::Address("192.0.2.1".into())), Ok(Some(7)));
        assert_eq!(find(InterfaceSelector::Ethernet("00-AB-01-02-03-04".into())), Ok(Some(7)));
        assert_eq!(find(InterfaceSelector::Type("6".into())), Ok(Some(7)));
        assert!(find(InterfaceSelector::Description("twice".into())).is_err());
        assert!(find(InterfaceSelector::Name("x".into())).is_err());
        let address = InterfaceSelector::Address("192.0.2.1".into());
        let check = check_oid(&address, 7).unwrap().to_string();
        assert_eq!(check, "1.3.6.1.2.1.4.20.1.2.192.0.2.1");
        assert!(is_same(&address, 7, &SnmpValue::Integer(7)));
        assert!(!is_same(&address, 7, &SnmpValue::Integer(8)));
    }
}
