//! Results: numbers, addresses, descriptors, and names for some of them.
//!
//! A result has a kind as arguments have; it is written after the exit.  Errors (`-1 ENOENT (No
//! such file or directory)`) and the results that make the kernel restart a call are the same for
//! all.

use super::{ArgumentKind, ConstantStyle, DecodeContext, Outcome, Write, numbers, put};
use crate::event::error_of;
use crate::flags::{Flags, errors, event, files, process};

/// Writes a result after `= `.
pub(crate) fn write(kind: &ArgumentKind, context: &mut DecodeContext<'_>, result: i64) {
    match error_of(result) {
        Some(number) => failure(context, number),
        None => match kind.write {
            Write::By(write) => {
                write(context, 0);
            }
            Write::Remark(write) => {
                context.signed_number(result);
                write(context);
            }
            Write::Flags(_) | Write::WideFlags(_) | Write::Names(_) => {
                context.signed_number(result);
            }
        },
    }
}

fn failure(context: &mut DecodeContext<'_>, number: i32) {
    if let Some((name, meaning)) = errors::restart(number) {
        put!(context, "? {name} ({meaning})");
        return;
    }
    match errors::name(number) {
        Some(name) => {
            for text in ["-1 ", name, " (", errors::text(number), ")"] {
                context.put(text);
            }
        }
        None => put!(context, "-1 (errno {number})"),
    }
}

fn value(context: &DecodeContext<'_>) -> i64 {
    context.result.unwrap_or(0)
}

/// A number.
pub(crate) const DECIMAL: ArgumentKind = ArgumentKind::new(|context, _| {
    context.signed_number(value(context));
    Outcome::Done
});

/// The number of a process or a thread.
pub(crate) const TASK: ArgumentKind = ArgumentKind::new(|context, _| {
    context.task(value(context) as i32);
    Outcome::Done
});

/// An address.
pub(crate) const ADDRESS: ArgumentKind = ArgumentKind::new(|context, _| {
    context.hex(value(context) as u64);
    Outcome::Done
});

/// A mode: `022`.
pub(crate) const MODE: ArgumentKind = ArgumentKind::new(|context, _| {
    put!(context, "{}", numbers::Mode(value(context) as u16));
    Outcome::Done
});

/// A descriptor.
pub(crate) const DESCRIPTOR: ArgumentKind = ArgumentKind::new(|context, _| {
    context.descriptor(value(context) as i32);
    Outcome::Done
});

/// A number, and what a function adds after it.
pub(crate) const fn with(write: fn(&mut DecodeContext<'_>)) -> ArgumentKind {
    ArgumentKind { write: Write::Remark(write), ..DECIMAL }
}

/// Writes flags with names: `0x1 (flags FD_CLOEXEC)`.
fn flags(context: &mut DecodeContext<'_>, set: &'static Flags) {
    let bits = value(context) as u64;
    context.hex(bits);
    context.put(" (flags ");
    context.constant(set, bits);
    context.put(")");
}

/// `fcntl(F_GETSIG)`, which not every C library names.
const F_GETSIG: i32 = 11;

/// The result of `fcntl`, which depends on the command.
pub(crate) const CONTROL: ArgumentKind = ArgumentKind::new(|context, _| {
    let bits = value(context) as u64;
    match context.argument(1) as i32 {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => context.descriptor(bits as i32),
        libc::F_GETFD if bits != 0 => flags(context, &files::DESCRIPTOR),
        libc::F_GETFL => {
            context.hex(bits);
            context.put(" (flags ");
            context.style.constants = ConstantStyle::Name;
            super::files::open_flags(context, bits);
            context.put(")");
        }
        libc::F_GET_SEALS if bits != 0 => {
            context.hex(bits);
            context.put(" (seals ");
            context.constant(&files::SEALS, bits);
            context.put(")");
        }
        F_GETSIG | libc::F_GETLEASE if bits != 0 => {
            put!(context, "{bits}");
            if context.argument(1) as i32 == F_GETSIG {
                context.put(" (");
                super::signals::write_signal(bits as i32, context.out);
                context.put(")");
            } else {
                let name = match bits as i32 {
                    libc::F_WRLCK => " (F_WRLCK)",
                    libc::F_UNLCK => " (F_UNLCK)",
                    _ => "",
                };
                context.put(name);
            }
        }
        _ => context.signed_number(value(context)),
    }
    Outcome::Done
});

/// A scheduling policy: `0 (SCHED_OTHER)`.
pub(crate) const SCHEDULER: ArgumentKind = ArgumentKind::new(|context, _| {
    const RESET: u64 = 0x4000_0000;
    let number = value(context) as u64;
    put!(context, "{number} (");
    process::SCHEDULER.write(number & !RESET, context.out);
    if number & RESET != 0 {
        context.put("|SCHED_RESET_ON_FORK");
    }
    context.put(")");
    Outcome::Done
});

/// The state of a clock: `5 (TIME_ERROR)`.
pub(crate) const CLOCK_STATE: ArgumentKind = ArgumentKind::new(|context, _| {
    context.signed_number(value(context));
    if let Some(name) = event::CLOCK_RESULT.get(value(context) as u64) {
        put!(context, " ({name})");
    }
    Outcome::Done
});

/// A personality: `0 (PER_LINUX)`.
pub(crate) const PERSONALITY: ArgumentKind = ArgumentKind::new(|context, _| {
    let number = value(context) as u64;
    context.hex(number);
    context.put(" (");
    super::process::personality(context, number);
    context.put(")");
    Outcome::Done
});

/// An I/O priority: `16388 (IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4))`.
pub(crate) const IO_PRIORITY: ArgumentKind = ArgumentKind::new(|context, _| {
    put!(context, "{}", value(context));
    if context.style.constants == ConstantStyle::Number {
        return Outcome::Done;
    }
    context.put(" (");
    super::process::io_priority(context, value(context) as u64);
    context.put(")");
    Outcome::Done
});

/// The commands that `membarrier` supports, for `MEMBARRIER_CMD_QUERY`.
pub(crate) const BARRIERS: ArgumentKind = ArgumentKind::new(|context, _| {
    const QUERY: u64 = 0;
    let bits = value(context) as u64;
    if context.argument(0) & 0xffff_ffff != QUERY || bits == 0 {
        put!(context, "{bits}");
        return Outcome::Done;
    }
    put!(context, "{bits:#x} (");
    context.named(bits, |context| {
        let mut rest = bits;
        let mut bar = "";
        for (bit, name) in process::MEMBARRIER.names.iter().filter(|(bit, _)| *bit != 0) {
            if rest & bit != 0 {
                put!(context, "{bar}{name}");
                rest &= !bit;
                bar = "|";
            }
        }
        if rest != 0 {
            put!(context, "{bar}{rest:#x}");
        }
    });
    context.put(")");
    Outcome::Done
});

/// A signal that was waited for: `17 (SIGCHLD)`.
pub(crate) const SIGNAL: ArgumentKind = ArgumentKind::new(|context, _| {
    put!(context, "{} (", value(context));
    super::signals::write_signal(value(context) as i32, context.out);
    context.put(")");
    Outcome::Done
});

/// A date in seconds: `1700000000 (2023-11-14T22:13:20+0000)`.
pub(crate) const TIME: ArgumentKind = ArgumentKind::new(|context, _| {
    context.signed_number(value(context));
    let start = context.out.len();
    super::time::remark(context, value(context), None);
    if let Some(date) = context.out.get(start + 4..context.out.len().saturating_sub(3)) {
        let date = String::from_utf8_lossy(date).into_owned();
        context.out.truncate(start);
        put!(context, " ({date})");
    }
    Outcome::Done
});

/// The result of `prctl` for some operations.
pub(crate) const PRCTL: ArgumentKind = ArgumentKind::new(|context, _| {
    let number = value(context);
    let name = match context.argument(0) {
        // PR_CAPBSET_READ, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_SECCOMP
        21 => process::SECCOMP_MODE.get(number as u64),
        3 => process::DUMPABLE.get(number as u64),
        _ => None,
    };
    match (context.argument(0), name) {
        (_, Some(name)) => put!(context, "{number} ({name})"),
        (27, None) if number != 0 => {
            context.hex(number as u64);
            context.put(" (");
            super::control::secure_bits(context, number as u64);
            context.put(")");
        }
        _ => context.signed_number(number),
    }
    Outcome::Done
});
