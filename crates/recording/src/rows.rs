//! Edits: the difference between a list of rows and the next one.
//!
//! ```text
//! edit = varint runs, for each: varint, whose low two bits are the operation, the others the
//!        number of rows: 0 keep, 1 remove, 2 insert; for each inserted row a varint: the next new
//!        slot minus its slot
//! ```
//!
//! Rows after the last run are removed.  When instances come and go (processes, sockets), an edit
//! costs a few bytes instead of the whole list.

use varint::{Bytes, Corrupt, put};

const STAY: u64 = 0;
const GO: u64 = 1;
pub(crate) const COME: u64 = 2;

/// Calls `each` for the runs from `old` to `new`: operation, number of rows, index in `new`.
fn runs(old: &[u32], new: &[u32], mark: &mut [u32], mut each: impl FnMut(u64, usize, usize)) {
    // 1: the slot is in the new list and was not processed yet.
    for &slot in new {
        mark[slot as usize] = 1;
    }
    let (mut at, mut from) = (0, 0);
    let mut run = (STAY, 0, 0);
    while at < new.len() {
        let what = match old.get(from) {
            Some(&slot) if slot == new[at] => STAY,
            Some(&slot) if mark[slot as usize] == 0 => GO,
            _ => COME,
        };
        if what != run.0 {
            if run.1 > 0 {
                each(run.0, run.1, run.2);
            }
            run = (what, 0, at);
        }
        run.1 += 1;
        from += usize::from(what != COME);
        if what != GO {
            mark[new[at] as usize] = 0;
            at += 1;
        }
    }
    if run.1 > 0 {
        each(run.0, run.1, run.2);
    }
}

/// Appends the edit from `old` to `new`.  `next` slots were used before; `named` appends the name
/// of a new slot; `mark` is working memory.
pub(crate) fn put_edit(
    out: &mut Vec<u8>,
    old: &[u32],
    new: &[u32],
    mut next: usize,
    mark: &mut Vec<u32>,
    mut named: impl FnMut(&mut Vec<u8>, usize),
) {
    mark.clear();
    mark.resize(next + new.len(), 0);
    let mut count = 0_u64;
    runs(old, new, mark, |_, _, _| count += 1);
    put(out, count);
    runs(old, new, mark, |what, length, at| {
        put(out, (length as u64) << 2 | what);
        if what == COME {
            for &slot in &new[at..at + length] {
                put(out, (next - slot as usize) as u64);
                if slot as usize == next {
                    named(out, next);
                    next += 1;
                }
            }
        }
    });
}

/// Reads an edit and applies it to `rows`, which then has at most `rows_max`.  `next` slots were
/// used before; `named` reads the name of a new slot; `old` is working memory.
pub(crate) fn read_edit(
    bytes: &mut Bytes<'_>,
    rows: &mut Vec<u32>,
    old: &mut Vec<u32>,
    next: &mut usize,
    rows_max: usize,
    mut named: impl FnMut(&mut Bytes<'_>) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    const TOO_MANY: Corrupt = Corrupt("a reading has too many rows");
    // Copied, not swapped, so that each list keeps its memory.
    old.clone_from(rows);
    rows.clear();
    let mut from = 0_usize;
    for _ in 0..bytes.count()? {
        let run = bytes.varint()?;
        let length = usize::try_from(run >> 2).unwrap_or(usize::MAX);
        if run & 3 == COME {
            if length > bytes.left() || rows.len() + length > rows_max {
                return Err(TOO_MANY);
            }
            for _ in 0..length {
                let slot = (*next as u64).checked_sub(bytes.varint()?);
                let slot = slot.ok_or(Corrupt("a row has no instance"))?;
                if slot == *next as u64 {
                    named(bytes)?;
                    *next += 1;
                }
                rows.push(slot as u32);
            }
            continue;
        }
        let end = from.checked_add(length).filter(|&end| end <= old.len());
        let end = end.ok_or(Corrupt("an edit keeps more rows than there are"))?;
        if run & 3 == STAY {
            rows.extend_from_slice(&old[from..end]);
        }
        from = end;
        if rows.len() > rows_max {
            return Err(TOO_MANY);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_that_comes_and_one_that_goes_cost_a_few_bytes() {
        let old: Vec<u32> = (0..1_000).collect();
        let new: Vec<u32> = (0..1_001).filter(|&slot| slot != 500).collect();
        let mut out = Vec::new();
        put_edit(&mut out, &old, &new, 1_000, &mut Vec::new(), |_, _| {});
        assert!(out.len() <= 8, "{out:?}");
    }

    proptest! {
        #[test]
        fn any_list_follows_any_other(lists in proptest::collection::vec(
            proptest::collection::vec(0_usize..20, 0..20), 1..6)) {
            let (mut next, mut old) = (0, Vec::new());
            let (mut read_next, mut rows, mut memory) = (0, Vec::new(), Vec::new());
            for list in &lists {
                // New slots are numbered in the order of their first appearance.
                let (mut new, mut known) = (Vec::new(), next);
                for &wanted in list {
                    let slot = wanted.min(known);
                    known += usize::from(slot == known);
                    if !new.contains(&(slot as u32)) {
                        new.push(slot as u32);
                    }
                }
                let mut out = Vec::new();
                put_edit(&mut out, &old, &new, next, &mut Vec::new(), |_, _| {});
                let mut bytes = Bytes::new(&out);
                read_edit(&mut bytes, &mut rows, &mut memory, &mut read_next, 99, |_| Ok(()))
                    .unwrap();
                prop_assert_eq!(bytes.left(), 0);
                prop_assert_eq!(&rows, &new);
                prop_assert_eq!(read_next, known);
                (next, old) = (known, new);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(out: Vec<u8>, old in 0_u32..50) {
            let (mut rows, mut next) = ((0..old).collect(), old as usize);
            let mut bytes = Bytes::new(&out);
            let _ = read_edit(&mut bytes, &mut rows, &mut Vec::new(), &mut next, 99, |_| Ok(()));
            prop_assert!(rows.iter().all(|&slot| (slot as usize) < next));
        }
    }
}
