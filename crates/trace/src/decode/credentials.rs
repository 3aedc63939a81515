//! Users, groups and capabilities.

use super::{
    ArgumentKind, CapturePhase, ConstantStyle, DecodeContext, Outcome, StructBytes, numbers, put,
    reads,
};
use crate::flags::{Names, hex, process as names};

/// A user or group that the kernel fills in: `[0]`.
pub(crate) const ID_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<4>(index, |context, bytes| {
        context.put("[");
        numbers::id(context, bytes.u32(0));
        context.put("]");
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 4)])
.of_any_width();

fn groups(context: &mut DecodeContext<'_>, address: u64, count: u64) {
    context.array::<4>(address, count, |context, bytes| numbers::id(context, bytes.u32(0)));
}

/// Group ids that are set; the argument before is their number.
pub(crate) const GROUPS_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    // The kernel takes no more (`NGROUPS_MAX`), and reads nothing then.
    const GROUPS_MAX: u64 = 65_536;
    let (address, count) = (context.argument(index), context.argument(index - 1) & 0xffff_ffff);
    if count > GROUPS_MAX {
        context.pointer(address);
    } else {
        groups(context, address, count);
    }
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Enter, 255, 4)]);

/// Group ids that are returned; the result is their number.
pub(crate) const GROUPS_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| {
        groups(context, address, context.count());
    })
})
.reading(&[reads::resulting(4)]);

fn header(context: &mut DecodeContext<'_>, bytes: &StructBytes<8>) {
    static VERSIONS: Names = Names {
        unknown: "_LINUX_CAPABILITY_VERSION_???",
        names: crate::flags::names![
            (0x1998_0330, "_LINUX_CAPABILITY_VERSION_1"),
            (0x2007_1026, "_LINUX_CAPABILITY_VERSION_2"),
            (0x2008_0522, "_LINUX_CAPABILITY_VERSION_3"),
        ],
    };
    context.put("{version=");
    context.constant(&VERSIONS, bytes.u32(0).into());
    put!(context, ", pid={}}}", bytes.i32(4));
}

/// The process whose capabilities are meant, and the version of the layout.
pub(crate) const HEADER: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), header);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)])
.of_any_width();

/// Writes a set of capabilities: `1<<CAP_CHOWN|1<<CAP_KILL`; numbers are those of its halves.
fn set(context: &mut DecodeContext<'_>, bits: u64) {
    let halves = [bits & 0xffff_ffff, bits & !0xffff_ffff];
    if context.style.constants == ConstantStyle::Name || halves[1] == 0 {
        return half(context, bits, bits);
    }
    if halves[0] != 0 {
        half(context, halves[0], halves[0]);
        context.put("|");
    }
    half(context, halves[1], halves[1] >> 32);
}

/// Writes capabilities whose number is this one.
fn half(context: &mut DecodeContext<'_>, bits: u64, number: u64) {
    let hex = |out: &mut Vec<u8>| hex(number, out);
    match bits {
        0 => context.put("0"),
        _ => context.remarked(hex, |context| names_of(context, bits)),
    }
}

fn names_of(context: &mut DecodeContext<'_>, bits: u64) {
    let mut rest = bits;
    let mut bar = "";
    for (number, name) in names::CAPABILITY.names.iter() {
        if rest >> number & 1 != 0 {
            put!(context, "{bar}1<<{name}");
            rest &= !(1 << number);
            bar = "|";
        }
    }
    if rest != 0 {
        put!(context, "{bar}{rest:#x}");
    }
}

fn data(context: &mut DecodeContext<'_>, bytes: &StructBytes<24>) {
    let whole = |at: usize| u64::from(bytes.u32(at)) | u64::from(bytes.u32(at + 12)) << 32;
    for (name, at) in [("{effective=", 0), (", permitted=", 4), (", inheritable=", 8)] {
        context.put(name);
        set(context, whole(at));
    }
    context.put("}");
}

/// Capabilities that are set.
pub(crate) const DATA_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), data);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 24)])
.of_any_width();

/// Capabilities that are returned.
pub(crate) const DATA_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, data))
        .reading(&[reads::fixed(CapturePhase::Exit, 24)])
        .of_any_width();
