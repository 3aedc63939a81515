//! Results: numbers, addresses, descriptors, and what some calls tell by them.
//!
//! A result is a kind as arguments are: it is written once the call is over.  `-1 ENOENT (No such
//! file or directory)` and the results by which the kernel begins a call anew are the same for all.

use super::{Kind, Outcome, Scene, Write, numbers, put};
use crate::flags::{Flags, errors, files, process};
use crate::tally::error_of;

/// Writes a result after `= `.
pub(crate) fn write(kind: &Kind, scene: &mut Scene<'_>, result: i64) {
    match error_of(result) {
        Some(number) => failure(scene, number),
        None => match kind.write {
            Write::By(write) => {
                write(scene, 0);
            }
            Write::Remark(write) => {
                scene.signed_number(result);
                write(scene);
            }
            Write::Flags(_) | Write::WideFlags(_) | Write::Names(_) => scene.signed_number(result),
        },
    }
}

fn failure(scene: &mut Scene<'_>, number: i32) {
    if let Some((name, meaning)) = errors::restart(number) {
        put!(scene, "? {name} ({meaning})");
        return;
    }
    match errors::name(number) {
        Some(name) => {
            for text in ["-1 ", name, " (", errors::text(number), ")"] {
                scene.put(text);
            }
        }
        None => put!(scene, "-1 (errno {number})"),
    }
}

fn value(scene: &Scene<'_>) -> i64 {
    scene.result.unwrap_or(0)
}

/// A number.
pub(crate) const DECIMAL: Kind = Kind::new(|scene, _| {
    scene.signed_number(value(scene));
    Outcome::Done
});

/// An address.
pub(crate) const ADDRESS: Kind = Kind::new(|scene, _| {
    scene.hex(value(scene) as u64);
    Outcome::Done
});

/// A mode: `022`.
pub(crate) const MODE: Kind = Kind::new(|scene, _| {
    put!(scene, "{}", numbers::Mode(value(scene) as u16));
    Outcome::Done
});

/// A descriptor.
pub(crate) const DESCRIPTOR: Kind = Kind::new(|scene, _| {
    scene.descriptor(value(scene) as i32);
    Outcome::Done
});

/// A number and a remark.
pub(crate) const fn with(write: fn(&mut Scene<'_>)) -> Kind {
    Kind { write: Write::Remark(write), ..DECIMAL }
}

/// Writes bits with names: `0x1 (flags FD_CLOEXEC)`.
fn flags(scene: &mut Scene<'_>, set: &'static Flags) {
    let bits = value(scene) as u64;
    scene.hex(bits);
    scene.put(" (flags ");
    set.write(bits, scene.out);
    scene.put(")");
}

/// `fcntl(F_GETSIG)`, which not every C library names.
const F_GETSIG: i32 = 11;

/// What `fcntl` gives, which depends on what it is asked for.
pub(crate) const CONTROL: Kind = Kind::new(|scene, _| {
    let bits = value(scene) as u64;
    match scene.argument(1) as i32 {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => scene.descriptor(bits as i32),
        libc::F_GETFD if bits != 0 => flags(scene, &files::DESCRIPTOR),
        libc::F_GETFL => {
            scene.hex(bits);
            scene.put(" (flags ");
            super::files::open_flags(scene, bits);
            scene.put(")");
        }
        libc::F_GET_SEALS if bits != 0 => {
            scene.hex(bits);
            scene.put(" (seals ");
            files::SEALS.write(bits, scene.out);
            scene.put(")");
        }
        F_GETSIG | libc::F_GETLEASE if bits != 0 => {
            put!(scene, "{bits}");
            if scene.argument(1) as i32 == F_GETSIG {
                scene.put(" (");
                super::signals::signal(scene, bits as i32);
                scene.put(")");
            } else {
                let name = match bits as i32 {
                    libc::F_WRLCK => " (F_WRLCK)",
                    libc::F_UNLCK => " (F_UNLCK)",
                    _ => "",
                };
                scene.put(name);
            }
        }
        _ => scene.signed_number(value(scene)),
    }
    Outcome::Done
});

/// How a thread is scheduled: `0 (SCHED_OTHER)`.
pub(crate) const SCHEDULER: Kind = Kind::new(|scene, _| {
    const RESET: u64 = 0x4000_0000;
    let number = value(scene) as u64;
    put!(scene, "{number} (");
    process::SCHEDULER.write(number & !RESET, scene.out);
    if number & RESET != 0 {
        scene.put("|SCHED_RESET_ON_FORK");
    }
    scene.put(")");
    Outcome::Done
});

/// A personality: `0 (PER_LINUX)`.
pub(crate) const PERSONALITY: Kind = Kind::new(|scene, _| {
    let number = value(scene) as u64;
    scene.hex(number);
    scene.put(" (");
    super::process::personality(scene, number);
    scene.put(")");
    Outcome::Done
});

/// How urgent input and output is: `16388 (IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4))`.
pub(crate) const IO_PRIORITY: Kind = Kind::new(|scene, _| {
    put!(scene, "{} (", value(scene));
    super::process::io_priority(scene, value(scene) as u64);
    scene.put(")");
    Outcome::Done
});

/// What `membarrier` can do, if that was asked for.
pub(crate) const BARRIERS: Kind = Kind::new(|scene, _| {
    const QUERY: u64 = 0;
    let bits = value(scene) as u64;
    if scene.argument(0) & 0xffff_ffff != QUERY || bits == 0 {
        put!(scene, "{bits}");
        return Outcome::Done;
    }
    put!(scene, "{bits:#x} (");
    let mut rest = bits;
    let mut bar = "";
    for (bit, name) in process::MEMBARRIER.names.iter().filter(|(bit, _)| *bit != 0) {
        if rest & bit != 0 {
            put!(scene, "{bar}{name}");
            rest &= !bit;
            bar = "|";
        }
    }
    if rest != 0 {
        put!(scene, "{bar}{rest:#x}");
    }
    scene.put(")");
    Outcome::Done
});

/// A wait for a signal: `17 (SIGCHLD)`.
pub(crate) const SIGNAL: Kind = Kind::new(|scene, _| {
    put!(scene, "{} (", value(scene));
    super::signals::signal(scene, value(scene) as i32);
    scene.put(")");
    Outcome::Done
});

/// A date in seconds: `1700000000 (2023-11-14T22:13:20+0000)`.
pub(crate) const TIME: Kind = Kind::new(|scene, _| {
    scene.signed_number(value(scene));
    let start = scene.out.len();
    super::time::remark(scene, value(scene), None);
    if let Some(date) = scene.out.get(start + 4..scene.out.len().saturating_sub(3)) {
        let date = String::from_utf8_lossy(date).into_owned();
        scene.out.truncate(start);
        put!(scene, " ({date})");
    }
    Outcome::Done
});

/// What `prctl` gives for some questions.
pub(crate) const PRCTL: Kind = Kind::new(|scene, _| {
    let number = value(scene);
    let name = match scene.argument(0) {
        // PR_CAPBSET_READ, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_SECCOMP
        21 => process::SECCOMP_MODE.get(number as u64),
        3 => {
            ["SUID_DUMP_DISABLE", "SUID_DUMP_USER", "SUID_DUMP_ROOT"].get(number as usize).copied()
        }
        _ => None,
    };
    match (scene.argument(0), name) {
        (_, Some(name)) => put!(scene, "{number} ({name})"),
        (27, None) if number != 0 => {
            scene.hex(number as u64);
            scene.put(" (");
            super::control::secure_bits(scene, number as u64);
            scene.put(")");
        }
        _ => scene.signed_number(number),
    }
    Outcome::Done
});
