//! Calls with many meanings: `fcntl`, `prctl`, `futex`, `keyctl` and their like.
//!
//! The meaning of the later arguments depends on an earlier one.  For most calls a pattern says how
//! many arguments there are and, with a letter for each, how it is written.

use super::{
    ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, numbers, put, reads, signals,
    text,
};
use crate::flags::{Flags, Names, event, files, process as names};

/// Writes an argument as its letter in a pattern says; there are none beyond the pattern.
///
/// `d` a number, `u` one of 32 bits, `x` a word, `p` an address, `s` a string, `S` a signal.
fn by_letter(
    context: &mut DecodeContext<'_>,
    index: usize,
    pattern: &str,
    first: usize,
) -> Outcome {
    let Some(letter) = index.checked_sub(first).and_then(|at| pattern.as_bytes().get(at)) else {
        return Outcome::Skip;
    };
    let kind = match letter {
        b'd' => numbers::INT,
        b'u' => numbers::UINT,
        b'p' => numbers::POINTER,
        b's' => text::NAME,
        b'S' => numbers::SIGNAL,
        _ => numbers::HEX,
    };
    kind.write(context, index)
}

/// Kinds of locks, and of leases.
static LOCKS: Names = Names {
    unknown: "F_???",
    names: crate::flags::names![(0, "F_RDLCK"), (1, "F_WRLCK"), (2, "F_UNLCK")],
};

fn lock(context: &mut DecodeContext<'_>, bytes: &StructBytes<32>, has_pid: bool) {
    context.put("{l_type=");
    context.constant(&LOCKS, bytes.u16(0).into());
    context.put(", l_whence=");
    context.constant(&files::SEEK, u64::from(bytes.u16(2)));
    put!(context, ", l_start={}, l_len={}", bytes.i64(8), bytes.i64(16));
    if has_pid {
        put!(context, ", l_pid={}", bytes.i32(24));
    }
    context.put("}");
}

fn owner(context: &mut DecodeContext<'_>, bytes: &StructBytes<8>) {
    static OWNERS: Names = Names {
        unknown: "F_OWNER_???",
        names: crate::flags::names![(0, "F_OWNER_TID"), (1, "F_OWNER_PID"), (2, "F_OWNER_PGRP")],
    };
    context.put("{type=");
    context.constant(&OWNERS, u64::from(bytes.u32(0)));
    put!(context, ", pid={}}}", bytes.i32(4));
}

/// The third argument of `fcntl`.
pub(crate) const FCNTL: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index);
    match context.argument(index - 1) as i32 {
        // GETFD, GETFL, GETOWN, GETSIG, GETLEASE, GETPIPE_SZ, GET_SEALS
        1 | 3 | 9 | 11 | 1025 | 1032 | 1034 => return Outcome::Skip,
        // DUPFD, SETOWN, DUPFD_CLOEXEC, SETPIPE_SZ
        0 | 8 | 1030 | 1031 => put!(context, "{}", value as i32),
        2 => context.constant(&files::DESCRIPTOR, value & 0xffff_ffff),
        4 => super::files::open_flags(context, value & 0xffff_ffff),
        // GETLK and OFD_GETLK report the owner of the lock.
        5 | 12 | 36 => return context.filled(index, |context, bytes| lock(context, bytes, true)),
        6 | 7 | 13 | 14 | 37 | 38 => {
            context.structure(value, |context, bytes| lock(context, bytes, false));
        }
        10 => signals::signal(context, value as i32),
        15 => context.structure(value, owner),
        16 => return context.filled(index, owner),
        1024 => context.constant(&LOCKS, value),
        1026 => context.constant(&files::NOTIFY, value & 0xffff_ffff),
        1033 => context.constant(&files::SEALS, value & 0xffff_ffff),
        _ => context.hex(value),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 32)]);

/// Options of `prctl` whose arguments are not four words: how the arguments are written.
static PRCTL_PATTERNS: &[(u64, &str)] = &[
    (1, "S"),
    (2, "o"),
    (3, ""),
    (4, "D"),
    (5, "o"),
    (7, ""),
    (8, "d"),
    (9, "o"),
    (10, "d"),
    (11, "o"),
    (12, "d"),
    (13, ""),
    (14, "d"),
    (15, "n"),
    (16, "N"),
    (19, "o"),
    (20, "d"),
    (21, ""),
    (22, "Mfxx"),
    (23, "C"),
    (24, "C"),
    (25, "T"),
    (26, "t"),
    (27, ""),
    (28, "b"),
    (29, "d"),
    (30, ""),
    (31, ""),
    (32, ""),
    (33, "kxxx"),
    (35, "mxxx"),
    (36, "d"),
    (37, "o"),
    (38, "dxxx"),
    (40, "P"),
    (41, "dxxx"),
    (46, ""),
    (47, "aAxx"),
    (50, "x"),
    (51, ""),
    (52, "e"),
    (53, "ex"),
    (57, "dxxx"),
    (63, "x"),
    (64, ""),
    (0x5356_4d41, "VwLv"),
    (0x5961_6d61, "d"),
];

/// What `prctl(PR_SET_VMA)` sets.
static MEMORY_NAMES: Names =
    Names { unknown: "PR_SET_VMA_???", names: crate::flags::names![(0, "PR_SET_VMA_ANON_NAME")] };

/// An argument of `prctl`, which depends on the first.
pub(crate) const PRCTL: ArgumentKind = ArgumentKind::new(|context, index| {
    let option = context.argument(0) & 0xffff_ffff;
    let pattern =
        PRCTL_PATTERNS.iter().find(|(number, _)| *number == option).map_or("xxxx", |entry| entry.1);
    let Some(letter) = pattern.as_bytes().get(index - 1) else {
        return Outcome::Skip;
    };
    let value = context.argument(index);
    match letter {
        b'D' => context.constant(&names::DUMPABLE, value),
        b'M' => context.constant(&names::SECCOMP_MODE, value),
        b'f' if context.argument(1) == 2 => filter(context, value),
        // A filter is all that a mode has.
        b'x' if option == 22 && context.argument(1) == 2 => return Outcome::Skip,
        b'C' => context.constant(&names::CAPABILITY, value),
        b'A' if matches!(context.argument(1), 1..=3) => context.constant(&names::CAPABILITY, value),
        b't' => context.constant(&names::TSC, value),
        b'b' => secure_bits(context, value),
        b'k' => context.constant(&names::MCE, value),
        b'm' => context.constant(&names::SET_MM, value),
        b'a' => context.constant(&names::AMBIENT, value),
        b'e' => context.constant(&names::SPECULATION, value),
        b'V' => context.constant(&MEMORY_NAMES, value),
        // The kernel takes 15 bytes; whether one follows is not looked at.
        b'n' => name(context, value),
        b'w' if context.argument(1) == 0 => context.pointer(value),
        b'L' if context.argument(1) == 0 => context.number(value),
        b'w' | b'L' => context.hex(value),
        b'v' if context.argument(1) == 0 => context.text(value, context.style.text_limit),
        b'v' => context.pointer(value),
        b'N' if !context.is_over() => return Outcome::Later,
        b'N' if context.has_failed() => context.pointer(value),
        b'N' => context.text(value, 15.min(context.style.text_limit)),
        b'o' => return number_out(context, index),
        b'T' => return timestamp_out(context, index),
        b'P' => return address_out(context, index),
        _ => return by_letter(context, index, pattern, 1),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 16), reads::TEXT]);

/// Writes a task's name, which is truncated unless it ends within 15 bytes.
fn name(context: &mut DecodeContext<'_>, address: u64) {
    const LENGTH: usize = 15;
    let limit = LENGTH.min(context.style.text_limit);
    match context.read::<LENGTH>(address).filter(|bytes| !bytes.0.contains(&0)) {
        Some(bytes) => context.quoted(&bytes.0[..limit], true),
        None => context.text(address, limit),
    }
}

fn number_out(context: &mut DecodeContext<'_>, index: usize) -> Outcome {
    let is_signal = context.argument(0) == 2;
    context.filled::<4>(index, |context, bytes| {
        context.put("[");
        if is_signal {
            signals::signal(context, bytes.i32(0));
        } else {
            put!(context, "{}", bytes.i32(0));
        }
        context.put("]");
    })
}

fn timestamp_out(context: &mut DecodeContext<'_>, index: usize) -> Outcome {
    context.filled::<4>(index, |context, bytes| {
        context.put("[");
        context.constant(&names::TSC, u64::from(bytes.u32(0)));
        context.put("]");
    })
}

fn address_out(context: &mut DecodeContext<'_>, index: usize) -> Outcome {
    context.filled::<8>(index, |context, bytes| {
        context.put("[");
        context.pointer(bytes.u64(0));
        context.put("]");
    })
}

/// Writes which privileges of root are disabled (`SECBIT_*`).
pub(crate) fn secure_bits(context: &mut DecodeContext<'_>, bits: u64) {
    static BITS: Flags = Flags {
        unknown: "SECBIT_???",
        names: crate::flags::names![
            (1, "SECBIT_NOROOT"),
            (2, "SECBIT_NOROOT_LOCKED"),
            (4, "SECBIT_NO_SETUID_FIXUP"),
            (8, "SECBIT_NO_SETUID_FIXUP_LOCKED"),
            (0x10, "SECBIT_KEEP_CAPS"),
            (0x20, "SECBIT_KEEP_CAPS_LOCKED"),
            (0x40, "SECBIT_NO_CAP_AMBIENT_RAISE"),
            (0x80, "SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED"),
        ],
    };
    context.constant(&BITS, bits);
}

/// Writes a seccomp filter: its length and its address.
fn filter(context: &mut DecodeContext<'_>, address: u64) {
    context.structure::<16>(address, |context, bytes| {
        put!(context, "{{len={}, filter=", bytes.u16(0));
        context.pointer(bytes.u64(8));
        context.put("}");
    });
}

/// The flags of `seccomp`, which depend on the operation.
pub(crate) const SECCOMP_FLAGS: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index) & 0xffff_ffff;
    if context.argument(0) as u32 == 1 {
        context.constant(&names::SECCOMP_FILTER, value);
    } else {
        context.hex(value);
    }
    Outcome::Done
});

/// The data of `seccomp`.
pub(crate) const SECCOMP_DATA: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index);
    match context.argument(0) as u32 {
        1 => filter(context, value),
        _ => context.pointer(value),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)]);

const CLOCK_REALTIME: u64 = 0x100;
const PRIVATE: u64 = 0x80;
const FUTEX_COMMAND: u64 = 0x7f;

/// The operation of a `futex` call.
pub(crate) const FUTEX: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index) & 0xffff_ffff;
    let is_known = |value| event::FUTEX.get(value).is_some();
    context.named(value, |context| match event::FUTEX.get(value & !CLOCK_REALTIME) {
        Some(name) if value & CLOCK_REALTIME != 0 => put!(context, "{name}|FUTEX_CLOCK_REALTIME"),
        _ => match event::FUTEX.get(value & !PRIVATE) {
            Some(name) if value == value & !CLOCK_REALTIME && !is_known(value) => {
                put!(context, "{name}|FUTEX_PRIVATE_FLAG");
            }
            _ => context.constant(&event::FUTEX, value),
        },
    });
    Outcome::Done
});

/// The later arguments of `futex` for each operation, from the third on.
///
/// `u` a number, `t` a time, `p` an address, `b` a set of bits, `w` an operation, `-` none.
static FUTEX_PATTERNS: [&str; 14] = [
    "ut--", "u---", "u---", "uup-", "uupu", "uupw", "-t--", "----", "----", "ut-b", "u--b", "utp-",
    "uupu", "-t--",
];

/// An argument of `futex`, which depends on the operation.
pub(crate) const FUTEX_ARGUMENT: ArgumentKind = ArgumentKind::new(|context, index| {
    let command = context.argument(1) & FUTEX_COMMAND;
    let pattern = FUTEX_PATTERNS.get(command as usize).unwrap_or(&"uxxb");
    let value = context.argument(index);
    match pattern.as_bytes().get(index - 2) {
        Some(b'u') => put!(context, "{}", value as u32),
        Some(b't') => return super::time::TIMESPEC_IN.write(context, index),
        Some(b'p') => context.pointer(value),
        Some(b'x') => context.hex(value),
        Some(b'b') if value & 0xffff_ffff == 0xffff_ffff && command < 14 => {
            context.named(u32::MAX.into(), |context| context.put("FUTEX_BITSET_MATCH_ANY"));
        }
        Some(b'b') => context.hex(value & 0xffff_ffff),
        Some(b'w') => wake_operation(context, value as u32),
        _ => return Outcome::Skip,
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)]);

fn wake_operation(context: &mut DecodeContext<'_>, value: u32) {
    const OPERATIONS: [&str; 5] =
        ["FUTEX_OP_SET", "FUTEX_OP_ADD", "FUTEX_OP_OR", "FUTEX_OP_ANDN", "FUTEX_OP_XOR"];
    const COMPARISONS: [&str; 6] = [
        "FUTEX_OP_CMP_EQ",
        "FUTEX_OP_CMP_NE",
        "FUTEX_OP_CMP_LT",
        "FUTEX_OP_CMP_LE",
        "FUTEX_OP_CMP_GT",
        "FUTEX_OP_CMP_GE",
    ];
    if value >> 31 != 0 {
        context.put("FUTEX_OP_OPARG_SHIFT<<28|");
    }
    match OPERATIONS.get((value >> 28 & 7) as usize) {
        Some(name) => put!(context, "{name}<<28|"),
        None => put!(context, "{:#x}<<28 /* FUTEX_OP_??? */|", value >> 28 & 7),
    }
    context.hex(u64::from(value >> 12 & 0xfff));
    context.put("<<12|");
    match COMPARISONS.get((value >> 24 & 15) as usize) {
        Some(name) => put!(context, "{name}<<24|"),
        None => put!(context, "{:#x}<<24 /* FUTEX_OP_CMP_??? */|", value >> 24 & 15),
    }
    context.hex(u64::from(value & 0xfff));
}

/// How the arguments of `keyctl` are written, by operation.
static KEYCTL_PATTERNS: &[&str] = &[
    "kd", "s", "kxu", "k", "kdd", "kx", "kxu", "k", "kk", "kk", "kssk", "kxu", "kxuk", "kuk", "d",
    "ku", "k", "kxu", "", "kuuk", "kxuk", "k", "dk", "xxux", "ksxx", "xxxx", "xxxx", "xxxx",
    "xxxx", "kss", "kkkx", "xu",
];

/// An argument of `keyctl`, which depends on the first.
pub(crate) const KEYCTL: ArgumentKind = ArgumentKind::new(|context, index| {
    let command = context.argument(0) & 0xffff_ffff;
    let pattern = KEYCTL_PATTERNS.get(command as usize).unwrap_or(&"xxxx");
    if pattern.as_bytes().get(index - 1) == Some(&b'k') {
        key(context, context.argument(index) as i32);
        return Outcome::Done;
    }
    by_letter(context, index, pattern, 1)
})
.reading(&[reads::TEXT])
.of_any_width();

fn key(context: &mut DecodeContext<'_>, number: i32) {
    const RINGS: [&str; 8] = [
        "KEY_SPEC_THREAD_KEYRING",
        "KEY_SPEC_PROCESS_KEYRING",
        "KEY_SPEC_SESSION_KEYRING",
        "KEY_SPEC_USER_KEYRING",
        "KEY_SPEC_USER_SESSION_KEYRING",
        "KEY_SPEC_GROUP_KEYRING",
        "KEY_SPEC_REQKEY_AUTH_KEY",
        "KEY_SPEC_REQUESTOR_KEYRING",
    ];
    match number.checked_neg().and_then(|number| RINGS.get((number as usize).wrapping_sub(1))) {
        Some(name) => context.named_decimal(number.into(), |context| context.put(name)),
        None => put!(context, "{number}"),
    }
}

/// A key or keyring.
pub(crate) const KEY: ArgumentKind = ArgumentKind::new(|context, index| {
    key(context, context.argument(index) as i32);
    Outcome::Done
});

/// The later arguments of `kcmp`, which depend on the third.
pub(crate) const KCMP: ArgumentKind =
    ArgumentKind::new(|context, index| match context.argument(2) & 0xffff_ffff {
        0 => numbers::FD.write(context, index),
        1..=6 => Outcome::Skip,
        7 if index == 3 => numbers::FD.write(context, index),
        _ => numbers::HEX.write(context, index),
    });

/// The second argument of `arch_prctl`, which depends on the first.
pub(crate) const ARCH: ArgumentKind =
    ArgumentKind::new(|context, index| match context.argument(0) {
        0x1011 => Outcome::Skip,
        0x1003 | 0x1004 => context.filled::<8>(index, |context, bytes| {
            context.put("[");
            context.hex(bytes.u64(0));
            context.put("]");
        }),
        0x1012 => numbers::LONG.write(context, index),
        _ => numbers::HEX.write(context, index),
    })
    .reading(&[reads::fixed(CapturePhase::Exit, 8)]);

/// The CPU of `membarrier`, if its flags say that there is one.
pub(crate) const MEMBARRIER_CPU: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.argument(1) & 1 == 0 { Outcome::Skip } else { numbers::INT.write(context, index) }
});

/// The operation of `syslog`, as a number with its name.
pub(crate) const SYSLOG: ArgumentKind = ArgumentKind::new(|context, index| {
    let value = context.argument(index) as i32;
    let name = names::SYSLOG.get(value as u64).unwrap_or(names::SYSLOG.unknown);
    put!(context, "{value} /* {name} */");
    Outcome::Done
});

/// The buffer of `syslog`; most operations have none.
pub(crate) const SYSLOG_BUFFER: ArgumentKind =
    ArgumentKind::new(|context, index| match context.argument(0) as i32 {
        0 | 1 | 5 | 6 | 7 | 9 | 10 => Outcome::Skip,
        2..=4 => text::BYTES_OUT.write(context, index),
        _ => numbers::POINTER.write(context, index),
    })
    .reading(&[reads::resulting(1)])
    .of_any_width();

/// The length of that buffer.
pub(crate) const SYSLOG_LENGTH: ArgumentKind =
    ArgumentKind::new(|context, index| match context.argument(0) as i32 {
        0 | 1 | 5 | 6 | 7 | 9 | 10 => Outcome::Skip,
        _ => numbers::INT.write(context, index),
    });

/// A magic number of `reboot`.
pub(crate) const REBOOT_MAGIC: ArgumentKind = ArgumentKind::new(|context, index| {
    static MAGICS: Names = Names {
        unknown: "LINUX_REBOOT_MAGIC_???",
        names: crate::flags::names![
            (0xfee1_dead, "LINUX_REBOOT_MAGIC1"),
            (0x2812_1969, "LINUX_REBOOT_MAGIC2"),
            (0x0512_1996, "LINUX_REBOOT_MAGIC2A"),
            (0x1604_1998, "LINUX_REBOOT_MAGIC2B"),
            (0x2011_2000, "LINUX_REBOOT_MAGIC2C"),
        ],
    };
    context.constant(&MAGICS, context.argument(index) & 0xffff_ffff);
    Outcome::Done
});

/// The string argument of `reboot`; only one command has it.
pub(crate) const REBOOT_TEXT: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.argument(2) & 0xffff_ffff == 0xa1b2_c3d4 {
        text::NAME.write(context, index)
    } else {
        Outcome::Skip
    }
})
.reading(&[reads::TEXT]);

/// The operation of `quotactl`, and the kind of quota: `QCMD(Q_SYNC, USRQUOTA)`.
pub(crate) const QUOTA: ArgumentKind = ArgumentKind::new(|context, index| {
    static COMMANDS: Names = Names {
        unknown: "Q_???",
        names: crate::flags::names![
            (0x80_0001, "Q_SYNC"),
            (0x80_0002, "Q_QUOTAON"),
            (0x80_0003, "Q_QUOTAOFF"),
            (0x80_0004, "Q_GETFMT"),
            (0x80_0005, "Q_GETINFO"),
            (0x80_0006, "Q_SETINFO"),
            (0x80_0007, "Q_GETQUOTA"),
            (0x80_0008, "Q_SETQUOTA"),
            (0x80_0009, "Q_GETNEXTQUOTA"),
        ],
    };
    static KINDS: Names = Names {
        unknown: "???QUOTA",
        names: crate::flags::names![(0, "USRQUOTA"), (1, "GRPQUOTA"), (2, "PRJQUOTA")],
    };
    let value = context.argument(index) & 0xffff_ffff;
    context.named_decimal(value as i64, |context| {
        context.put("QCMD(");
        context.constant(&COMMANDS, value >> 8);
        context.put(", ");
        context.constant(&KINDS, value & 0xff);
        context.put(")");
    });
    Outcome::Done
});

/// The flags of `kexec_load`, with the architecture.
pub(crate) const KEXEC: ArgumentKind = ArgumentKind::new(|context, index| {
    const MACHINE: u64 = 0xffff_0000;
    static MACHINES: Names = Names {
        unknown: "KEXEC_ARCH_???",
        names: crate::flags::names![
            (0, "KEXEC_ARCH_DEFAULT"),
            (3 << 16, "KEXEC_ARCH_386"),
            (4 << 16, "KEXEC_ARCH_68K"),
            (8 << 16, "KEXEC_ARCH_MIPS_LE"),
            (20 << 16, "KEXEC_ARCH_PPC"),
            (21 << 16, "KEXEC_ARCH_PPC64"),
            (62 << 16, "KEXEC_ARCH_X86_64"),
        ],
    };
    static FLAGS: Flags = Flags {
        unknown: "KEXEC_???",
        names: crate::flags::names![(1, "KEXEC_ON_CRASH"), (2, "KEXEC_PRESERVE_CONTEXT")],
    };
    let value = context.argument(index);
    context.constant(&MACHINES, value & MACHINE);
    if value & !MACHINE != 0 {
        context.put("|");
        context.constant(&FLAGS, value & !MACHINE);
    }
    Outcome::Done
});
