//! Calls with many meanings: `fcntl`, `prctl`, `futex`, `keyctl` and their like.
//!
//! What the later arguments are depends on an earlier one.  For most it is enough to say how many
//! there are and how each is written; that stands in a pattern, a letter for each.

use super::{Bytes, Kind, Outcome, Scene, When, numbers, put, reads, signals, text};
use crate::flags::{Flags, Names, event, files, process as names};

/// Writes an argument as its letter in a pattern says; beyond the pattern there are none.
///
/// `d` a number, `u` one of 32 bits, `x` a word, `p` an address, `s` a text, `S` a signal.
fn by_letter(scene: &mut Scene<'_>, index: usize, pattern: &str, first: usize) -> Outcome {
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
    kind.write(scene, index)
}

fn lock(scene: &mut Scene<'_>, bytes: &Bytes<32>, has_pid: bool) {
    let kind = match bytes.u16(0) {
        0 => "F_RDLCK",
        1 => "F_WRLCK",
        2 => "F_UNLCK",
        _ => "0x3 /* F_??? */",
    };
    put!(scene, "{{l_type={kind}, l_whence=");
    files::SEEK.write(u64::from(bytes.u16(2)), scene.out);
    put!(scene, ", l_start={}, l_len={}", bytes.i64(8), bytes.i64(16));
    if has_pid {
        put!(scene, ", l_pid={}", bytes.i32(24));
    }
    scene.put("}");
}

fn owner(scene: &mut Scene<'_>, bytes: &Bytes<8>) {
    static OWNERS: Names = Names {
        unknown: "F_OWNER_???",
        names: &[(0, "F_OWNER_TID"), (1, "F_OWNER_PID"), (2, "F_OWNER_PGRP")],
    };
    scene.put("{type=");
    OWNERS.write(u64::from(bytes.u32(0)), scene.out);
    put!(scene, ", pid={}}}", bytes.i32(4));
}

/// The third argument of `fcntl`.
pub(crate) const FCNTL: Kind = Kind::new(|scene, index| {
    let value = scene.argument(index);
    match scene.argument(index - 1) as i32 {
        // GETFD, GETFL, GETOWN, GETSIG, GETLEASE, GETPIPE_SZ, GET_SEALS
        1 | 3 | 9 | 11 | 1025 | 1032 | 1034 => return Outcome::Skip,
        // DUPFD, SETOWN, DUPFD_CLOEXEC, SETPIPE_SZ
        0 | 8 | 1030 | 1031 => put!(scene, "{}", value as i32),
        2 => files::DESCRIPTOR.write(value & 0xffff_ffff, scene.out),
        4 => super::files::open_flags(scene, value & 0xffff_ffff),
        // GETLK and OFD_GETLK tell whom the lock belongs to.
        5 | 12 | 36 => return scene.filled(index, |scene, bytes| lock(scene, bytes, true)),
        6 | 7 | 13 | 14 | 37 | 38 => {
            scene.structure(value, |scene, bytes| lock(scene, bytes, false));
        }
        10 => signals::signal(scene, value as i32),
        15 => scene.structure(value, owner),
        16 => return scene.filled(index, owner),
        1024 => match value {
            0 => scene.put("F_RDLCK"),
            1 => scene.put("F_WRLCK"),
            2 => scene.put("F_UNLCK"),
            _ => put!(scene, "{value:#x} /* F_??? */"),
        },
        1026 => files::NOTIFY.write(value & 0xffff_ffff, scene.out),
        1033 => files::SEALS.write(value & 0xffff_ffff, scene.out),
        _ => scene.hex(value),
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Both, 32)]);

/// Options of `prctl` with something else than four words: how their arguments are written.
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
    (0x5356_4d41, "Vxxs"),
    (0x5961_6d61, "d"),
];

/// An argument of `prctl`, which depends on the first.
pub(crate) const PRCTL: Kind = Kind::new(|scene, index| {
    let option = scene.argument(0) & 0xffff_ffff;
    let pattern =
        PRCTL_PATTERNS.iter().find(|(number, _)| *number == option).map_or("xxxx", |entry| entry.1);
    let Some(letter) = pattern.as_bytes().get(index - 1) else {
        return Outcome::Skip;
    };
    let value = scene.argument(index);
    match letter {
        b'D' => match value {
            0 => scene.put("SUID_DUMP_DISABLE"),
            1 => scene.put("SUID_DUMP_USER"),
            2 => scene.put("SUID_DUMP_ROOT"),
            _ => put!(scene, "{value:#x} /* SUID_DUMP_??? */"),
        },
        b'M' => names::SECCOMP_MODE.write(value, scene.out),
        b'f' if scene.argument(1) == 2 => filter(scene, value),
        b'C' => names::CAPABILITY.write(value, scene.out),
        b'A' if matches!(scene.argument(1), 1..=3) => names::CAPABILITY.write(value, scene.out),
        b't' => names::TSC.write(value, scene.out),
        b'b' => secure_bits(scene, value),
        b'k' => names::MCE.write(value, scene.out),
        b'm' => names::SET_MM.write(value, scene.out),
        b'a' => names::AMBIENT.write(value, scene.out),
        b'e' => names::SPECULATION.write(value, scene.out),
        b'V' if value == 0 => scene.put("PR_SET_VMA_ANON_NAME"),
        b'V' => put!(scene, "{value:#x} /* PR_SET_VMA_??? */"),
        b'n' => scene.text(value, 15.min(scene.style.text_limit)),
        b'N' if !scene.is_over() => return Outcome::Later,
        b'N' if scene.has_failed() => scene.pointer(value),
        b'N' => scene.text(value, 15.min(scene.style.text_limit)),
        b'o' => return number_out(scene, index),
        b'T' => return timestamp_out(scene, index),
        b'P' => return address_out(scene, index),
        _ => return by_letter(scene, index, pattern, 1),
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Both, 16), reads::TEXT]);

fn number_out(scene: &mut Scene<'_>, index: usize) -> Outcome {
    let is_signal = scene.argument(0) == 2;
    scene.filled::<4>(index, |scene, bytes| {
        scene.put("[");
        if is_signal {
            signals::signal(scene, bytes.i32(0));
        } else {
            put!(scene, "{}", bytes.i32(0));
        }
        scene.put("]");
    })
}

fn timestamp_out(scene: &mut Scene<'_>, index: usize) -> Outcome {
    scene.filled::<4>(index, |scene, bytes| {
        scene.put("[");
        names::TSC.write(u64::from(bytes.u32(0)), scene.out);
        scene.put("]");
    })
}

fn address_out(scene: &mut Scene<'_>, index: usize) -> Outcome {
    scene.filled::<8>(index, |scene, bytes| {
        scene.put("[");
        scene.pointer(bytes.u64(0));
        scene.put("]");
    })
}

/// Writes which rules of privileges are off.
pub(crate) fn secure_bits(scene: &mut Scene<'_>, bits: u64) {
    static BITS: Flags = Flags {
        unknown: "SECBIT_???",
        names: &[
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
    BITS.write(bits, scene.out);
}

/// Writes a filter of system calls: how long it is, and where.
fn filter(scene: &mut Scene<'_>, address: u64) {
    scene.structure::<16>(address, |scene, bytes| {
        put!(scene, "{{len={}, filter=", bytes.u16(0));
        scene.pointer(bytes.u64(8));
        scene.put("}");
    });
}

/// The flags of `seccomp`, which depend on what it is asked for.
pub(crate) const SECCOMP_FLAGS: Kind = Kind::new(|scene, index| {
    let value = scene.argument(index) & 0xffff_ffff;
    if scene.argument(0) as u32 == 1 {
        names::SECCOMP_FILTER.write(value, scene.out);
    } else {
        scene.hex(value);
    }
    Outcome::Done
});

/// The data of `seccomp`.
pub(crate) const SECCOMP_DATA: Kind = Kind::new(|scene, index| {
    let value = scene.argument(index);
    match scene.argument(0) as u32 {
        1 => filter(scene, value),
        _ => scene.pointer(value),
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 16)]);

const CLOCK_REALTIME: u64 = 0x100;
const PRIVATE: u64 = 0x80;
const FUTEX_COMMAND: u64 = 0x7f;

/// What is done with a futex.
pub(crate) const FUTEX: Kind = Kind::new(|scene, index| {
    let value = scene.argument(index) & 0xffff_ffff;
    let is_known = |value| event::FUTEX.get(value).is_some();
    match event::FUTEX.get(value & !CLOCK_REALTIME) {
        Some(name) if value & CLOCK_REALTIME != 0 => put!(scene, "{name}|FUTEX_CLOCK_REALTIME"),
        _ => match event::FUTEX.get(value & !PRIVATE) {
            Some(name) if value == value & !CLOCK_REALTIME && !is_known(value) => {
                put!(scene, "{name}|FUTEX_PRIVATE_FLAG");
            }
            _ => event::FUTEX.write(value, scene.out),
        },
    }
    Outcome::Done
});

/// The later arguments of `futex`: of each command, from the third on.
///
/// `u` a number, `t` a time, `p` an address, `b` a set of bits, `w` an operation, `-` none.
static FUTEX_PATTERNS: [&str; 14] = [
    "ut--", "u---", "u---", "uup-", "uupu", "uupw", "-t--", "----", "----", "ut-b", "u--b", "utp-",
    "uupu", "-t--",
];

/// An argument of `futex`, which depends on the second.
pub(crate) const FUTEX_ARGUMENT: Kind = Kind::new(|scene, index| {
    let command = scene.argument(1) & FUTEX_COMMAND;
    let pattern = FUTEX_PATTERNS.get(command as usize).unwrap_or(&"uxxb");
    let value = scene.argument(index);
    match pattern.as_bytes().get(index - 2) {
        Some(b'u') => put!(scene, "{}", value as u32),
        Some(b't') => return super::time::TIMESPEC_IN.write(scene, index),
        Some(b'p') => scene.pointer(value),
        Some(b'x') => scene.hex(value),
        Some(b'b') if value & 0xffff_ffff == 0xffff_ffff && command < 14 => {
            scene.put("FUTEX_BITSET_MATCH_ANY");
        }
        Some(b'b') => scene.hex(value & 0xffff_ffff),
        Some(b'w') => wake_operation(scene, value as u32),
        _ => return Outcome::Skip,
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 16)]);

fn wake_operation(scene: &mut Scene<'_>, value: u32) {
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
        scene.put("FUTEX_OP_OPARG_SHIFT<<28|");
    }
    match OPERATIONS.get((value >> 28 & 7) as usize) {
        Some(name) => put!(scene, "{name}<<28|"),
        None => put!(scene, "{:#x}<<28 /* FUTEX_OP_??? */|", value >> 28 & 7),
    }
    scene.hex(u64::from(value >> 12 & 0xfff));
    scene.put("<<12|");
    match COMPARISONS.get((value >> 24 & 15) as usize) {
        Some(name) => put!(scene, "{name}<<24|"),
        None => put!(scene, "{:#x}<<24 /* FUTEX_OP_CMP_??? */|", value >> 24 & 15),
    }
    scene.hex(u64::from(value & 0xfff));
}

/// How the arguments of `keyctl` are written, by what it is asked for.
static KEYCTL_PATTERNS: &[&str] = &[
    "kd", "s", "kxu", "k", "kdd", "kx", "kxu", "k", "kk", "kk", "kssk", "kxu", "kxuk", "kuk", "d",
    "ku", "k", "kxu", "", "kuuk", "kxuk", "k", "dk", "xxux", "ksxx", "xxxx", "xxxx", "xxxx",
    "xxxx", "kss", "kkkx", "xu",
];

/// An argument of `keyctl`, which depends on the first.
pub(crate) const KEYCTL: Kind = Kind::new(|scene, index| {
    let command = scene.argument(0) & 0xffff_ffff;
    let pattern = KEYCTL_PATTERNS.get(command as usize).unwrap_or(&"xxxx");
    if pattern.as_bytes().get(index - 1) == Some(&b'k') {
        key(scene, scene.argument(index) as i32);
        return Outcome::Done;
    }
    by_letter(scene, index, pattern, 1)
})
.reading(&[reads::TEXT])
.of_any_width();

fn key(scene: &mut Scene<'_>, number: i32) {
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
        Some(name) => scene.put(name),
        None => put!(scene, "{number}"),
    }
}

/// A ring of keys.
pub(crate) const KEY: Kind = Kind::new(|scene, index| {
    key(scene, scene.argument(index) as i32);
    Outcome::Done
});

/// The later arguments of `kcmp`, which depend on the third.
pub(crate) const KCMP: Kind = Kind::new(|scene, index| match scene.argument(2) & 0xffff_ffff {
    0 => numbers::FD.write(scene, index),
    1..=6 => Outcome::Skip,
    7 if index == 3 => numbers::FD.write(scene, index),
    _ => numbers::HEX.write(scene, index),
});

/// The second argument of `arch_prctl`, which depends on the first.
pub(crate) const ARCH: Kind = Kind::new(|scene, index| match scene.argument(0) {
    0x1011 => Outcome::Skip,
    0x1003 | 0x1004 => scene.filled::<8>(index, |scene, bytes| {
        scene.put("[");
        scene.hex(bytes.u64(0));
        scene.put("]");
    }),
    0x1012 => numbers::LONG.write(scene, index),
    _ => numbers::HEX.write(scene, index),
})
.reading(&[reads::fixed(When::Exit, 8)]);

/// The CPU of `membarrier`, if its flags say that there is one.
pub(crate) const MEMBARRIER_CPU: Kind = Kind::new(|scene, index| {
    if scene.argument(1) & 1 == 0 { Outcome::Skip } else { numbers::INT.write(scene, index) }
});

/// What the kernel's log is asked for, as a number with a remark.
pub(crate) const SYSLOG: Kind = Kind::new(|scene, index| {
    let value = scene.argument(index) as i32;
    let name = names::SYSLOG.get(value as u64).unwrap_or(names::SYSLOG.unknown);
    put!(scene, "{value} /* {name} */");
    Outcome::Done
});

/// Where the kernel's log goes; most requests have no such argument.
pub(crate) const SYSLOG_BUFFER: Kind = Kind::new(|scene, index| match scene.argument(0) as i32 {
    0 | 1 | 5 | 6 | 7 | 9 | 10 => Outcome::Skip,
    2..=4 => text::BYTES_OUT.write(scene, index),
    _ => numbers::POINTER.write(scene, index),
})
.reading(&[reads::resulting(1)])
.of_any_width();

/// How long that is.
pub(crate) const SYSLOG_LENGTH: Kind = Kind::new(|scene, index| match scene.argument(0) as i32 {
    0 | 1 | 5 | 6 | 7 | 9 | 10 => Outcome::Skip,
    _ => numbers::INT.write(scene, index),
});

/// A number that `reboot` takes for safety.
pub(crate) const REBOOT_MAGIC: Kind = Kind::new(|scene, index| {
    match scene.argument(index) as u32 {
        0xfee1_dead => scene.put("LINUX_REBOOT_MAGIC1"),
        0x2812_1969 => scene.put("LINUX_REBOOT_MAGIC2"),
        0x0512_1996 => scene.put("LINUX_REBOOT_MAGIC2A"),
        0x1604_1998 => scene.put("LINUX_REBOOT_MAGIC2B"),
        0x2011_2000 => scene.put("LINUX_REBOOT_MAGIC2C"),
        value => {
            scene.hex(u64::from(value));
            scene.put(" /* LINUX_REBOOT_MAGIC_??? */");
        }
    }
    Outcome::Done
});

/// What `reboot` shall begin; only one command has this.
pub(crate) const REBOOT_TEXT: Kind = Kind::new(|scene, index| {
    if scene.argument(2) & 0xffff_ffff == 0xa1b2_c3d4 {
        text::NAME.write(scene, index)
    } else {
        Outcome::Skip
    }
})
.reading(&[reads::TEXT]);

/// What `quotactl` does, and for whom: `QCMD(Q_SYNC, USRQUOTA)`.
pub(crate) const QUOTA: Kind = Kind::new(|scene, index| {
    static COMMANDS: Names = Names {
        unknown: "Q_???",
        names: &[
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
    static KINDS: Names =
        Names { unknown: "???QUOTA", names: &[(0, "USRQUOTA"), (1, "GRPQUOTA"), (2, "PRJQUOTA")] };
    let value = scene.argument(index) & 0xffff_ffff;
    scene.put("QCMD(");
    COMMANDS.write(value >> 8, scene.out);
    scene.put(", ");
    KINDS.write(value & 0xff, scene.out);
    scene.put(")");
    Outcome::Done
});

/// How a kernel is loaded to be begun later: for which machine, and when.
pub(crate) const KEXEC: Kind = Kind::new(|scene, index| {
    const MACHINE: u64 = 0xffff_0000;
    static MACHINES: Names = Names {
        unknown: "KEXEC_ARCH_???",
        names: &[
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
        names: &[(1, "KEXEC_ON_CRASH"), (2, "KEXEC_PRESERVE_CONTEXT")],
    };
    let value = scene.argument(index);
    MACHINES.write(value & MACHINE, scene.out);
    if value & !MACHINE != 0 {
        scene.put("|");
        FLAGS.write(value & !MACHINE, scene.out);
    }
    Outcome::Done
});
