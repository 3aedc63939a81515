//! Slabs that collectl read from `/sys/slab`: six values a cache, a line each.
//!
//! ```text
//! Slab :0000064 object_size 64        constants, in the first interval
//! Slab :0000064 slab_size 64
//! Slab :0000064 order 0
//! Slab :0000064 objs_per_slab 64
//! Slab :0000064 objects 512           in each interval
//! Slab :0000064 slabs 9
//! ```
//!
//! They become the lines of `/proc/slabinfo` that this kernel would print: `num_objs` is
//! `objs_per_slab` times `slabs`, and every slab is active.  The header names the caches
//! (`#:0000064 kmalloc-64 …`): the kernel merges similar caches under a generated name.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

/// The most caches; the largest machines have some ten thousand.
const SLABS_MAX: usize = 65_536;

/// The most bytes of a name, which is that of a directory.
const NAME_BYTES_MAX: usize = 255;

/// Larger than any page order that a kernel allocates.
const ORDER_MAX: u64 = 32;

#[derive(Default)]
struct Slab {
    object_bytes: Option<u64>,
    order: Option<u64>,
    per_slab: Option<u64>,
    objects: Option<u64>,
    slabs: Option<u64>,
}

/// The caches of a recording.
#[derive(Default)]
pub(super) struct Slub {
    /// The header's names for generated ones.
    names: HashMap<Vec<u8>, Vec<u8>>,
    /// By the name shown.
    slabs: BTreeMap<Vec<u8>, Slab>,
    seen: bool,
}

impl Slub {
    /// The caches that a header names, and no values yet.
    pub(super) fn new(header: &str) -> Self {
        let block = header.split_once("#SLUB DATA\n").map_or("", |(_, block)| block);
        let lines = block.lines().take_while(|line| !line.starts_with("##"));
        let names = lines.take(SLABS_MAX).filter_map(|line| {
            let mut words = line.strip_prefix('#')?.split_ascii_whitespace();
            let (slab, first) = (words.next()?, words.next()?);
            Some((slab.as_bytes().to_vec(), first.as_bytes().to_vec()))
        });
        Slub { names: names.collect(), ..Slub::default() }
    }

    /// Begins an interval: constants stay.
    pub(super) fn begin(&mut self) {
        self.seen = false;
        for slab in self.slabs.values_mut() {
            (slab.objects, slab.slabs) = (None, None);
        }
    }

    /// Whether the interval has slabs.
    pub(super) fn seen(&self) -> bool {
        self.seen
    }

    /// Takes `kmalloc-64 objects 512`.  Values that are not numbers are skipped.
    pub(super) fn add_line(&mut self, rest: &[u8]) {
        let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (Some(slab), Some(file), Some(value)) = (words.next(), words.next(), words.next())
        else {
            return;
        };
        let Some(value) = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok())
        else {
            return;
        };
        let name = self.names.get(slab).map_or(slab, Vec::as_slice);
        if !self.slabs.contains_key(name) {
            if self.slabs.len() >= SLABS_MAX || name.len() > NAME_BYTES_MAX {
                return;
            }
            self.slabs.insert(name.to_vec(), Slab::default());
        }
        let Some(slab) = self.slabs.get_mut(name) else { return };
        let field = match file {
            b"slab_size" => &mut slab.object_bytes,
            b"order" => &mut slab.order,
            b"objs_per_slab" => &mut slab.per_slab,
            b"objects" => &mut slab.objects,
            b"slabs" => &mut slab.slabs,
            _ => return,
        };
        *field = Some(value);
        self.seen = true;
    }

    /// Writes the lines of `/proc/slabinfo`, except for caches with missing values.
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        for (name, slab) in &self.slabs {
            let (Some(bytes), Some(order), Some(per_slab)) =
                (slab.object_bytes, slab.order, slab.per_slab)
            else {
                continue;
            };
            let (Some(objects), Some(slabs)) = (slab.objects, slab.slabs) else { continue };
            if order > ORDER_MAX {
                continue;
            }
            let (room, pages) = (per_slab.saturating_mul(slabs), 1u64 << order);
            out.extend_from_slice(name);
            // Writing into memory cannot fail.
            let _ = writeln!(
                out,
                " {objects} {room} {bytes} {per_slab} {pages} : tunables 0 0 0 : slabdata \
                 {slabs} {slabs} 0"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_lines_of_slabinfo() {
        let header = "# Host: x\n##\n#SLUB DATA\n#:0000064 kmalloc-64 pid\n#dentry dentry\n####\n";
        let mut slub = Slub::new(header);
        for line in [
            ":0000064 object_size 60",
            ":0000064 slab_size 64",
            ":0000064 order 1",
            ":0000064 objs_per_slab 128",
            ":0000064 objects 512 N0=512",
            ":0000064 slabs 9 N0=9",
            "dentry objects 5",
            "dentry slabs x",
            "cut",
            "",
        ] {
            slub.add_line(line.as_bytes());
        }
        let text = |slub: &Slub| {
            let mut out = Vec::new();
            slub.push(&mut out);
            String::from_utf8(out).unwrap()
        };
        let line = "kmalloc-64 512 1152 64 128 2 : tunables 0 0 0 : slabdata 9 9 0\n";
        assert_eq!(text(&slub), line, "what is not whole has no line");
        assert!(slub.seen());
        slub.begin();
        assert!(!slub.seen() && text(&slub).is_empty());
        slub.add_line(b":0000064 objects 18446744073709551615");
        slub.add_line(b":0000064 slabs 18446744073709551615");
        assert!(text(&slub).starts_with("kmalloc-64 18446744073709551615 18446744073709551615 "));
        slub.add_line(b":0000064 order 64");
        assert!(text(&slub).is_empty());
    }
}
