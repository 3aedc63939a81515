//! Memory: how it is mapped, and advice about it.

use super::{ArgumentKind, Outcome, numbers, put};
use crate::flags::{hex, memory as names};

/// The bits that hold the size of huge pages, as a power of two.
const HUGE: u64 = 0xfc00_0000;

/// The flags of `mmap`: `MAP_PRIVATE|MAP_ANONYMOUS`.
pub(crate) const FLAGS: ArgumentKind = ArgumentKind::new(|context, index| {
    const KIND: u64 = 0xf;
    let number = context.argument(index);
    let bits = number & 0xffff_ffff;
    context.remarked(
        |out| hex(number, out),
        |context| {
            context.constant(&names::MAP_KIND, bits & KIND);
            let rest = bits & !KIND & !HUGE;
            if rest != 0 {
                context.put("|");
                context.more_flags(&names::MAP, rest);
            }
            if bits & HUGE != 0 {
                put!(context, "|{}<<MAP_HUGE_SHIFT", bits >> 26);
            }
        },
    );
    Outcome::Done
});

/// The new address of `mremap`; without `MREMAP_FIXED` or `MREMAP_DONTUNMAP` it is ignored.
pub(crate) const NEW_ADDRESS: ArgumentKind = ArgumentKind::new(|context, index| {
    const FIXED: u64 = 2;
    if context.argument(index - 1) & FIXED == 0 {
        return Outcome::Skip;
    }
    numbers::POINTER.write(context, index)
});

/// The vector of `mincore`: which pages are resident.
pub(crate) const RESIDENT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    let address = context.argument(index);
    let pages = context.argument(1).div_ceil(4096);
    let shown = pages.min(context.elements_shown());
    let bytes = context.read_some(address, shown as usize);
    if context.has_failed() || bytes.len() < shown as usize || address == 0 {
        context.pointer(address);
        return Outcome::Done;
    }
    context.put("[");
    for (number, byte) in bytes.iter().enumerate() {
        put!(context, "{}{}", if number > 0 { ", " } else { "" }, byte & 1);
    }
    context.put(if shown < pages { ", ...]" } else { "]" });
    Outcome::Done
})
.reading(&[super::reads::counted(super::CapturePhase::Exit, 255, 1)])
.of_any_width();

/// The flags of `memfd_create`.
pub(crate) const MEMFD: ArgumentKind = ArgumentKind::new(|context, index| {
    let bits = context.argument(index) & 0xffff_ffff;
    context.named(bits, |context| {
        let rest = bits & !HUGE;
        if rest != 0 || bits == 0 {
            context.constant(&names::MEMFD, rest);
        }
        if bits & HUGE != 0 {
            put!(context, "{}{}<<MFD_HUGE_SHIFT", if rest != 0 { "|" } else { "" }, bits >> 26);
        }
    });
    Outcome::Done
});

/// A memory policy: on which NUMA nodes memory is placed.
pub(crate) const POLICY: ArgumentKind = ArgumentKind::new(|context, index| {
    const FLAGS: [(u64, &str); 3] = [
        (0x8000, "MPOL_F_STATIC_NODES"),
        (0x4000, "MPOL_F_RELATIVE_NODES"),
        (0x2000, "MPOL_F_NUMA_BALANCING"),
    ];
    // `set_mempolicy` takes an `int`, `mbind` a word.
    let mask = if index == 0 { 0xffff_ffff } else { u64::MAX };
    let bits = context.argument(index) & mask;
    let mode = bits & !0xe000;
    let known = names::POLICY.get(mode);
    if bits & 0xe000 == 0 {
        context.constant(&names::POLICY, mode);
        return Outcome::Done;
    }
    context.named(bits, |context| {
        let mut bar = "";
        if let Some(name) = known {
            context.put(name);
            bar = "|";
        }
        for (bit, name) in FLAGS {
            if bits & bit != 0 {
                put!(context, "{bar}{name}");
                bar = "|";
            }
        }
        if known.is_none() {
            put!(context, "|{mode:#x}");
        }
    });
    Outcome::Done
});
