//! The types of the kernel's BTF to which programs are attached, with the numbers that the kernel
//! knows them by: `btf_trace_*` of each tracepoint, `bpf_iter_*` of each iterator.
//!
//! A kernel has 130,000 types, and parsing them all takes 40 ms; of these some 2,000 are needed for
//! attaching.  So this makes BTF in which every other type is a pointer without a name, which
//! takes a tenth of that to parse.  Relocation needs the others, but it has them parsed by itself.
//!
//! The format: `Documentation/bpf/btf.rst`.

/// The header: magic number, version and flags, lengths and offsets.
const HEADER_BYTES: usize = 24;
const MAGIC: u16 = 0xeb9f;

/// The name, the kind with the number of members, and a size or a type.
const TYPE_BYTES: usize = 12;

const POINTER: u32 = 2;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;

/// The BTF with the types of attachment alone; `None` if it is not valid, or of a newer format.
pub(crate) fn reduced(btf: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u32::from_ne_bytes(*btf.get(at..)?.first_chunk()?));
    if u16::from_ne_bytes(*btf.first_chunk()?) != MAGIC {
        return None;
    }
    let header = word(4)? as usize;
    let section = |offset: usize, length: usize| {
        let start = header.checked_add(word(offset)? as usize)?;
        btf.get(start..start.checked_add(word(length)? as usize)?)
    };
    let (types, strings) = (section(8, 12)?, section(16, 20)?);
    let mut reduced = vec![0; HEADER_BYTES];
    let mut rest = types;
    while !rest.is_empty() {
        let (head, _) = rest.split_first_chunk::<TYPE_BYTES>()?;
        let (words, _) = head.as_chunks::<4>();
        let [name, info, _] = *words else { return None };
        let (name, info) = (u32::from_ne_bytes(name), u32::from_ne_bytes(info));
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let name = strings.get(name as usize..)?;
        let is_wanted = match kind {
            TYPEDEF => name.starts_with(b"btf_trace_"),
            FUNCTION => name.starts_with(b"bpf_iter_"),
            _ => false,
        };
        if is_wanted {
            reduced.extend_from_slice(head);
        } else {
            reduced.extend([0, POINTER << 24, 0].map(u32::to_ne_bytes).as_flattened());
        }
        rest = rest.get(TYPE_BYTES + bytes_after(kind, members)?..)?;
    }
    let types_bytes = u32::try_from(reduced.len() - HEADER_BYTES).ok()?;
    let strings_bytes = u32::try_from(strings.len()).ok()?;
    reduced.extend_from_slice(strings);
    // The lengths and offsets of the two sections.
    let words = [HEADER_BYTES as u32, 0, types_bytes, types_bytes, strings_bytes];
    reduced[..4].copy_from_slice(&btf[..4]);
    reduced[4..HEADER_BYTES].copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
    Some(reduced)
}

/// Bytes that follow the head of a type.
fn bytes_after(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // Integer, variable, tag of a declaration.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        // Structure, union, section, 64-bit enumeration.
        4 | 5 | 15 | 19 => 12 * members,
        // Enumeration, prototype of a function.
        6 | 13 => 8 * members,
        // Pointer, declaration, typedef, const, volatile, restrict, function, float, tag of a type.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reduced_types_are_valid_and_as_many() {
        let Ok(whole) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return testkit::skip("BTF of the kernel", "no /sys/kernel/btf/vmlinux");
        };
        let reduced = reduced(&whole).unwrap();
        aya::Btf::parse(&reduced, aya::Endianness::default()).unwrap();
        let heads = reduced[HEADER_BYTES..].chunks_exact(TYPE_BYTES);
        let kinds: Vec<u8> = heads.map(|head| head[7]).collect();
        // Every head is a type now, so numbers are those of the kernel.  At least these are kept.
        assert!(kinds.iter().filter(|&&kind| u32::from(kind) == TYPEDEF).count() > 100);
        assert!(kinds.iter().filter(|&&kind| u32::from(kind) == FUNCTION).count() > 1);
    }

    #[test]
    fn what_is_cut_off_or_foreign_is_refused() {
        let Ok(whole) = std::fs::read("/sys/kernel/btf/vmlinux") else { return };
        assert!(reduced(b"").is_none() && reduced(&[0; 64]).is_none());
        for length in [10, 24, 1000, whole.len() / 2] {
            assert!(reduced(&whole[..length]).is_none());
        }
    }
}
