//! `/proc/slabinfo` (slabinfo(5), kernel `mm/slab_common.c`), versions 1.1 and 2.x:
//!
//! ```text
//! slabinfo - version: 2.1
//! # name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables …
//! dentry             90958  91203    192   21    1 : tunables 0 0 0 : slabdata   4343   4343      0
//! ```
//!
//! A cache's name may contain blanks, so the columns are counted back from the first colon.

use crate::scan::{Lines, lines, number, take_number, take_word};

/// One cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slab<'a> {
    /// The name of the cache.
    pub name: &'a [u8],
    /// Objects in use.
    pub objects_active: u64,
    /// Allocated objects, used or free.
    pub objects: u64,
    /// Size of an object in bytes, including padding.
    pub object_bytes: u64,
    /// Objects per slab; `None` in version 1.1.
    pub objects_per_slab: Option<u64>,
    /// Pages per slab.
    pub pages_per_slab: u64,
    /// Slabs with objects in use.
    pub slabs_active: u64,
    /// Slabs.
    pub slabs: u64,
}

/// An iterator over the caches of the file.
pub struct Slabinfo<'a> {
    is_first_version: bool,
    lines: Lines<'a>,
}

/// Begins to parse the file; `None` if its first line does not name a known version.
pub fn parse_slabinfo(text: &[u8]) -> Option<Slabinfo<'_>> {
    let mut lines = lines(text);
    let version = lines.next()?.strip_prefix(b"slabinfo - version: ")?;
    match version {
        [b'1', b'.', b'1', ..] => Some(Slabinfo { is_first_version: true, lines }),
        [b'2', b'.', ..] => Some(Slabinfo { is_first_version: false, lines }),
        _ => None,
    }
}

impl<'a> Iterator for Slabinfo<'a> {
    type Item = Slab<'a>;

    /// The next cache; malformed lines are skipped.
    fn next(&mut self) -> Option<Slab<'a>> {
        loop {
            let line = self.lines.next()?;
            let slab =
                if self.is_first_version { first_version(line) } else { second_version(line) };
            if slab.is_some() {
                return slab;
            }
        }
    }
}

fn second_version(line: &[u8]) -> Option<Slab<'_>> {
    let (name, columns, rest) = columns_forward(line).or_else(|| columns_backward(line))?;
    let [objects_active, objects, object_bytes, objects_per_slab, pages_per_slab] = columns;
    let mut data = &rest[memchr::memchr(b':', rest)? + 1..];
    if take_word(&mut data) != b"slabdata" {
        return None;
    }
    Some(Slab {
        name,
        objects_active,
        objects,
        object_bytes,
        objects_per_slab: Some(objects_per_slab),
        pages_per_slab,
        slabs_active: take_number(&mut data)?,
        slabs: take_number(&mut data)?,
    })
}

fn first_version(line: &[u8]) -> Option<Slab<'_>> {
    // On machines with several CPUs, limits follow after a colon.
    let (name, columns, _) = columns_forward(line).or_else(|| columns_backward(line))?;
    let [objects_active, objects, object_bytes, slabs_active, slabs, pages_per_slab] = columns;
    Some(Slab {
        name,
        objects_active,
        objects,
        object_bytes,
        objects_per_slab: None,
        pages_per_slab,
        slabs_active,
        slabs,
    })
}

/// A name, its columns and the rest of the line.
type Columns<'a, const N: usize> = (&'a [u8], [u64; N], &'a [u8]);

/// The usual line: a name without blanks, `N` numbers, and a colon or the end.
#[inline]
fn columns_forward<const N: usize>(line: &[u8]) -> Option<Columns<'_, N>> {
    let mut rest = line;
    let name = take_word(&mut rest);
    let mut columns = [0; N];
    for column in &mut columns {
        *column = take_number(&mut rest)?;
    }
    let ends = rest.trim_ascii_start().is_empty() || rest.starts_with(b" : ");
    (ends && !name.is_empty() && name[0] != b'#')
        .then(|| (name, columns, rest.get(3..).unwrap_or_default()))
}

/// A line whose name has blanks: the `N` numbers before the first separate colon.
#[cold]
fn columns_backward<const N: usize>(line: &[u8]) -> Option<Columns<'_, N>> {
    let (before, rest) = split_at_colon(line).unwrap_or((line, &[]));
    let (name, columns) = take_columns(before)?;
    Some((name, columns, rest))
}

/// The text before and after the first ` : `.
fn split_at_colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memmem::find(line, b" : ")?;
    Some((&line[..at], &line[at + 3..]))
}

/// The name and the `N` numbers that end a line.
fn take_columns<const N: usize>(mut line: &[u8]) -> Option<(&[u8], [u64; N])> {
    let mut columns = [0; N];
    for column in columns.iter_mut().rev() {
        line = line.trim_ascii_end();
        let word = line.iter().rposition(|&byte| byte == b' ').map_or(0, |at| at + 1);
        if !line[word..].iter().all(u8::is_ascii_digit) {
            return None;
        }
        *column = number(&line[word..])?;
        line = &line[..word];
    }
    let name = line.trim_ascii_end();
    (!name.is_empty() && name[0] != b'#').then_some((name, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_version() {
        let text = b"slabinfo - version: 2.1\n# name            <active_objs> <num_objs>\n\
            bio-312               12     13    320   14    2 : tunables    0    0    0 : slabdata      \
            1      3      0\nfat cache 1 2 3 4 5 : tunables 0 0 0 : slabdata 6 7 0\nbroken 1 2 3\n\
            short 1 2 3 4 : tunables 0 0 0 : slabdata 6 7 0\nx 1 2 3 4 5 : tunables 0 : slabdata 6\n\
            y 1 2 3 4 -5 : tunables 0 0 0 : slabdata 6 7 0\n";
        let slabs: Vec<Slab<'_>> = parse_slabinfo(text).unwrap().collect();
        let names: Vec<&[u8]> = slabs.iter().map(|slab| slab.name).collect();
        assert_eq!(names, [&b"bio-312"[..], b"fat cache"]);
        let first = Slab {
            name: b"bio-312",
            objects_active: 12,
            objects: 13,
            object_bytes: 320,
            objects_per_slab: Some(14),
            pages_per_slab: 2,
            slabs_active: 1,
            slabs: 3,
        };
        assert_eq!(slabs[0], first);
        assert_eq!((slabs[1].pages_per_slab, slabs[1].slabs), (5, 7));
    }

    #[test]
    fn the_version_of_linux_2_4() {
        let text = b"slabinfo - version: 1.1 (SMP)\n\
            kmem_cache            80     81    244    5    6    1 :  252  126\n";
        let slabs: Vec<Slab<'_>> = parse_slabinfo(text).unwrap().collect();
        assert_eq!(slabs.len(), 1);
        assert_eq!((slabs[0].object_bytes, slabs[0].slabs_active, slabs[0].slabs), (244, 5, 6));
        assert_eq!((slabs[0].pages_per_slab, slabs[0].objects_per_slab), (1, None));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(parse_slabinfo(b"").is_none());
        assert!(parse_slabinfo(b"slabinfo - version: 3.0\n").is_none());
        assert!(parse_slabinfo(b"dentry 1 2 3\n").is_none());
    }
}
