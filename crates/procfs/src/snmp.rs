//! `/proc/net/snmp` and `/proc/net/netstat` (kernel `net/ipv4/proc.c`): pairs of lines, names and
//! then values.
//!
//! ```text
//! Udp: InDatagrams NoPorts InErrors OutDatagrams
//! Udp: 48 0 0 49
//! ```
//!
//! Columns and their order differ between kernels, so a column is found by its name.  The names
//! do not change while a kernel runs: [`ColumnIndex`] parses them once.

use crate::scan::{lines, take_number, take_word};

/// One protocol's names and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The word before the colon.
    pub protocol: &'a [u8],
    /// The rest of the first line.
    pub names: &'a [u8],
    /// The rest of the second line.
    pub values: &'a [u8],
}

/// The pairs of the file.  A line without its partner is skipped.
pub fn parse_pairs(text: &[u8]) -> impl Iterator<Item = Pair<'_>> {
    let mut names: Option<(&[u8], &[u8])> = None;
    lines(text).filter_map(move |line| {
        let colon = line.iter().position(|&b| b == b':')?;
        let (protocol, rest) = (&line[..colon], &line[colon + 1..]);
        let is_values =
            matches!(rest.trim_ascii_start().first(), Some(first) if b"-0123456789".contains(first));
        if !is_values {
            names = Some((protocol, rest));
            return None;
        }
        let (_, names) = names.take().filter(|(named, _)| *named == protocol)?;
        Some(Pair { protocol, names, values: rest })
    })
}

/// The field of each column of one protocol.
#[derive(Debug, Default)]
pub struct ColumnIndex {
    names: Vec<u8>,
    fields: Vec<Option<usize>>,
}

impl ColumnIndex {
    /// Calls `found` with the field and the value of each column for whose name `field_of`
    /// returns a field; a negative value as the bits of an `i64`.  Calls `field_of` only when the
    /// names have changed.  Columns whose value is not a number are skipped.
    #[inline]
    pub fn scan(
        &mut self,
        pair: &Pair<'_>,
        field_of: impl FnMut(&[u8]) -> Option<usize>,
        mut found: impl FnMut(usize, u64),
    ) {
        if self.names != pair.names {
            self.learn(pair.names, field_of);
        }
        let mut values = pair.values;
        for &field in &self.fields {
            let value = take_value(&mut values);
            if let (Some(field), Some(value)) = (field, value) {
                found(field, value);
            }
        }
    }

    #[cold]
    fn learn(&mut self, names: &[u8], mut field_of: impl FnMut(&[u8]) -> Option<usize>) {
        self.names.clear();
        self.names.extend_from_slice(names);
        self.fields.clear();
        let mut rest = names;
        loop {
            let name = take_word(&mut rest);
            if name.is_empty() {
                break;
            }
            self.fields.push(field_of(name));
        }
    }
}

/// Takes the next word off `text`; `Some` if it is a number.
#[inline]
fn take_value(text: &mut &[u8]) -> Option<u64> {
    while let [b' ' | b'\t', rest @ ..] = *text {
        *text = rest;
    }
    let negative = text.first() == Some(&b'-');
    if negative {
        *text = &text[1..];
    }
    let size = take_number(text);
    // Skip the rest of a word that is not a number.
    if !matches!(text.first(), None | Some(b' ' | b'\t')) {
        take_word(text);
        return None;
    }
    if negative { i64::try_from(size?).ok().map(|size| (-size).cast_unsigned()) } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] =
        b"Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens\nTcp: 1 200 120000 -1 23\n\
        IcmpMsg: InType3\nIcmpMsg: 1\nUdp: InDatagrams NoPorts InErrors\nUdp: 48 0 7\n";

    fn scan(index: &mut ColumnIndex, pair: &Pair<'_>) -> Vec<(usize, i64)> {
        let names: [&[u8]; 3] = [b"MaxConn", b"ActiveOpens", b"InErrors"];
        let mut out = Vec::new();
        let field_of = |name: &[u8]| names.iter().position(|known| *known == name);
        index.scan(pair, field_of, |field, value| out.push((field, value.cast_signed())));
        out
    }

    #[test]
    fn columns_are_found_by_name() {
        let pairs: Vec<Pair<'_>> = parse_pairs(FILE).collect();
        let protocols: Vec<&[u8]> = pairs.iter().map(|pair| pair.protocol).collect();
        assert_eq!(protocols, [&b"Tcp"[..], b"IcmpMsg", b"Udp"]);
        let mut index = ColumnIndex::default();
        assert_eq!(scan(&mut index, &pairs[0]), [(0, -1), (1, 23)]);
        assert_eq!(scan(&mut index, &pairs[0]), [(0, -1), (1, 23)]);
        assert_eq!(scan(&mut index, &pairs[2]), [(2, 7)]);
    }

    #[test]
    fn halves_and_broken_values() {
        let text =
            b"Ip: 1 2\nTcp: A ActiveOpens InErrors\nUdp: InErrors MaxConn\nUdp: x7 9\n\n:\nTcp: 3";
        let pairs: Vec<Pair<'_>> = parse_pairs(text).collect();
        assert!(pairs.is_empty(), "{pairs:?}");
        let text = b"Tcp: A ActiveOpens InErrors\nTcp: 1 5x6 7";
        let pair = parse_pairs(text).next().unwrap();
        assert_eq!(scan(&mut ColumnIndex::default(), &pair), [(2, 7)]);
        let short = parse_pairs(b"Tcp: ActiveOpens InErrors\nTcp: 4").next().unwrap();
        assert_eq!(scan(&mut ColumnIndex::default(), &short), [(1, 4)]);
        let big = parse_pairs(b"Tcp: MaxConn\nTcp: 99999999999999999999").next().unwrap();
        assert_eq!(scan(&mut ColumnIndex::default(), &big), []);
    }
}
