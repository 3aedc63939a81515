//! Signals, sets of signals, actions, and `siginfo_t`.

use text::integer::{push_hexadecimal, push_i64};

use super::{
    ArgumentKind, CapturePhase, ConstantStyle, DecodeContext, Outcome, StructBytes, ValueStyle,
    put, reads,
};
use crate::event::Signal;
use crate::flags::{errors, event as names, hex};

/// Names of the signals below the real-time ones, by number.
#[rustfmt::skip]
static SIGNALS: &[&str] = &[
    "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU",
    "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The number of signals.
const SIGNAL_COUNT: i32 = 64;

/// The name of a signal without `SIG`; `None` for a number that is no signal.
pub(crate) fn short_name(number: i32) -> Option<String> {
    match number {
        1..=31 => SIGNALS.get(number as usize).map(|name| (*name).to_owned()),
        32 => Some("RTMIN".to_owned()),
        33..=SIGNAL_COUNT => Some(format!("RT_{}", number - 32)),
        _ => None,
    }
}

/// The number of a signal, by name with or without `SIG`, or as a number.
pub(crate) fn by_name(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return (1..=SIGNAL_COUNT).contains(&number).then_some(number);
    }
    let upper = text.to_ascii_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    (1..=SIGNAL_COUNT).find(|number| short_name(*number).as_deref() == Some(short))
}

/// Writes a signal: `SIGCHLD`, `0`, `99`.
pub(crate) fn signal(context: &mut DecodeContext<'_>, number: i32) {
    write_styled(number, context.style.constants, context.out);
}

/// Writes a signal in this style.
fn write_styled(number: i32, style: ConstantStyle, out: &mut Vec<u8>) {
    let decimal = |out: &mut Vec<u8>| push_i64(out, number.into());
    style.write(out, decimal, |out| write_signal(number, out));
}

/// Writes the name of a signal.
pub(crate) fn write_signal(number: i32, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let _ = match short_name(number) {
        Some(name) => write!(out, "SIG{name}"),
        None => write!(out, "{number}"),
    };
}

/// Writes a set of signals: `[INT TERM]`, `~[KILL]` if most of them are in it.
pub(crate) fn set(context: &mut DecodeContext<'_>, bits: u64) {
    let is_inverted = bits.count_ones() as i32 >= SIGNAL_COUNT * 2 / 3;
    if is_inverted {
        context.put("~");
    }
    let shown = if is_inverted { !bits } else { bits };
    context.put("[");
    let members = (1..=SIGNAL_COUNT).filter(|number| shown >> (number - 1) & 1 != 0);
    for (index, number) in members.enumerate() {
        context.put(if index > 0 { " " } else { "" });
        context.named_decimal(number.into(), |context| {
            context.put(&short_name(number).unwrap_or_default());
        });
    }
    context.put("]");
}

/// Writes the set at an address; `size` is an argument, for which the kernel accepts only 8.
fn set_at(context: &mut DecodeContext<'_>, address: u64, size: u64) {
    if size == 8 {
        context.structure::<8>(address, |context, bytes| set(context, bytes.u64(0)));
    } else {
        context.pointer(address);
    }
}

/// A set that the kernel reads; its size is the next argument.
pub(crate) const SET_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    set_at(context, context.argument(index), context.argument(index + 1));
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)]);

/// A set that the kernel reads; its size is the argument after the next.
pub(crate) const SET_IN_2: ArgumentKind = ArgumentKind::new(|context, index| {
    set_at(context, context.argument(index), context.argument(index + 2));
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)]);

/// A set that the kernel reads; its size comes three arguments later.
pub(crate) const SET_IN_3: ArgumentKind = ArgumentKind::new(|context, index| {
    set_at(context, context.argument(index), context.argument(index + 3));
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)]);

/// The set of signals in the frame that `rt_sigreturn` returns from.  The call has no arguments;
/// engines put the address of the set in place of the first.
pub(crate) const FRAME_MASK: ArgumentKind = ArgumentKind::new(|context, index| {
    if let Some(bytes) = context.read::<8>(context.argument(index)) {
        context.put("{mask=");
        set(context, bytes.u64(0));
        context.put("}");
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)]);

/// A set that the kernel fills in; its size is the next argument.
pub(crate) const SET_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| {
        set_at(context, address, context.argument(index + 1));
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 8)]);

fn handler(context: &mut DecodeContext<'_>, address: u64) {
    context.named(address, |context| match address {
        0 => context.put("SIG_DFL"),
        1 => context.put("SIG_IGN"),
        u64::MAX => context.put("SIG_ERR"),
        _ => put!(context, "{address:#x}"),
    });
}

/// Writes `struct kernel_sigaction`.
fn action(context: &mut DecodeContext<'_>, bytes: &StructBytes<32>) {
    const RESTORER: u64 = 0x0400_0000;
    context.put("{sa_handler=");
    handler(context, bytes.u64(0));
    context.put(", sa_mask=");
    set(context, bytes.u64(24));
    context.put(", sa_flags=");
    context.constant(&names::ACTION, bytes.u64(8));
    if bytes.u64(8) & RESTORER != 0 {
        context.put(", sa_restorer=");
        context.pointer(bytes.u64(16));
    }
    context.put("}");
}

/// The new action of a signal.
pub(crate) const ACTION_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), action);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 32)]);

/// The old action of a signal.
pub(crate) const ACTION_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, action))
        .reading(&[reads::fixed(CapturePhase::Exit, 32)]);

fn stack(context: &mut DecodeContext<'_>, bytes: &StructBytes<24>) {
    context.put("{ss_sp=");
    context.pointer(bytes.u64(0));
    context.put(", ss_flags=");
    context.constant(&names::STACK, u64::from(bytes.u32(8)));
    put!(context, ", ss_size={}}}", bytes.u64(16));
}

/// A new alternate signal stack.
pub(crate) const STACK_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), stack);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 24)]);

/// The old alternate signal stack.
pub(crate) const STACK_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, stack))
        .reading(&[reads::fixed(CapturePhase::Exit, 24)]);

/// `siginfo_t` that a program sends.
pub(crate) const SIGINFO_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<128>(context.argument(index), |context, bytes| {
        siginfo(&Signal::from_siginfo(&bytes.0), None, &context.style, context.out);
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 128)]);

/// `siginfo_t` that the kernel fills in.
pub(crate) const SIGINFO_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<128>(index, |context, bytes| {
        siginfo(&Signal::from_siginfo(&bytes.0), None, &context.style, context.out);
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 128)]);

/// Codes that any signal can have.
static CODES: &[(i32, &str)] = &[
    (0, "SI_USER"),
    (0x80, "SI_KERNEL"),
    (-1, "SI_QUEUE"),
    (-2, "SI_TIMER"),
    (-3, "SI_MESGQ"),
    (-4, "SI_ASYNCIO"),
    (-5, "SI_SIGIO"),
    (-6, "SI_TKILL"),
    (-7, "SI_DETHREAD"),
    (-60, "SI_ASYNCNL"),
];

/// Codes of the signals that have their own, from 1 on.
static CODES_OF: &[(i32, &[&str])] = &[
    (
        libc::SIGILL,
        &[
            "ILL_ILLOPC",
            "ILL_ILLOPN",
            "ILL_ILLADR",
            "ILL_ILLTRP",
            "ILL_PRVOPC",
            "ILL_PRVREG",
            "ILL_COPROC",
            "ILL_BADSTK",
            "ILL_BADIADDR",
        ],
    ),
    (
        libc::SIGFPE,
        &[
            "FPE_INTDIV",
            "FPE_INTOVF",
            "FPE_FLTDIV",
            "FPE_FLTOVF",
            "FPE_FLTUND",
            "FPE_FLTRES",
            "FPE_FLTINV",
            "FPE_FLTSUB",
        ],
    ),
    (libc::SIGSEGV, &["SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR", "SEGV_ACCADI"]),
    (libc::SIGBUS, &["BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"]),
    (libc::SIGTRAP, &["TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK"]),
    (
        libc::SIGCHLD,
        &["CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"],
    ),
    (libc::SIGPOLL, &["POLL_IN", "POLL_OUT", "POLL_MSG", "POLL_ERR", "POLL_PRI", "POLL_HUP"]),
    (libc::SIGSYS, &["SYS_SECCOMP", "SYS_USER_DISPATCH"]),
];

fn code_name(signal: &Signal) -> Option<&'static str> {
    let own = CODES_OF.iter().find(|(number, _)| *number == signal.number);
    let index = usize::try_from(signal.code).ok().and_then(|code| code.checked_sub(1));
    own.and_then(|(_, codes)| codes.get(index?))
        .copied()
        .or_else(|| CODES.iter().find(|(code, _)| *code == signal.code).map(|(_, name)| *name))
}

/// Writes a `siginfo_t`: `{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12, …}`, perhaps with the name
/// of the process that sent it.
pub(crate) fn siginfo(
    signal: &Signal,
    sender: Option<&[u8]>,
    style: &ValueStyle,
    out: &mut Vec<u8>,
) {
    if signal.number == 0 {
        out.extend_from_slice(b"{}");
        return;
    }
    out.extend_from_slice(b"{si_signo=");
    write_styled(signal.number, style.constants, out);
    out.extend_from_slice(b", si_code=");
    let code = |out: &mut Vec<u8>| hex(u64::from(signal.code as u32), out);
    style.constants.write(out, code, |out| match code_name(signal) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => push_hexadecimal(out, u64::from(signal.code as u32)),
    });
    if signal.error != 0 {
        out.extend_from_slice(b", si_errno=");
        let number = |out: &mut Vec<u8>| push_i64(out, signal.error.into());
        style.constants.write(out, number, |out| match errors::name(signal.error) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => number(out),
        });
    }
    siginfo_rest(signal, sender, style, out);
    out.push(b'}');
}

/// The remaining fields, which depend on the sender.
fn siginfo_rest(signal: &Signal, sender: Option<&[u8]>, style: &ValueStyle, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let written = |out: &mut Vec<u8>| {
        let _ = write!(out, ", si_pid={}", signal.pid);
        if let Some(name) = sender {
            super::text::angled(name, style, out);
        }
        let _ = write!(out, ", si_uid={}", signal.uid);
    };
    let value = |out: &mut Vec<u8>| {
        let (int, pointer) = (signal.status as i32, signal.status as u64);
        let _ = write!(out, ", si_int={int}, si_ptr=");
        let _ = match pointer {
            0 => write!(out, "NULL"),
            _ => write!(out, "{pointer:#x}"),
        };
    };
    let address = |name: &str, out: &mut Vec<u8>| {
        let _ = match signal.address {
            0 => write!(out, ", {name}=NULL"),
            address => write!(out, ", {name}={address:#x}"),
        };
    };
    match (signal.number, signal.code) {
        (_, 0 | -6) => {
            written(out);
            if signal.status != 0 {
                value(out);
            }
        }
        (_, -2) => {
            let _ = write!(out, ", si_timerid={}, si_overrun={}", signal.pid, signal.uid);
            value(out);
        }
        (_, code) if code < 0 => {
            written(out);
            value(out);
        }
        (libc::SIGCHLD, code) => {
            written(out);
            out.extend_from_slice(b", si_status=");
            if code == 1 {
                let _ = write!(out, "{}", signal.status as i32);
            } else {
                write_styled(signal.status as i32, style.constants, out);
            }
            let (user, system) = (signal.user_ticks, signal.system_ticks);
            for (name, ticks) in [("utime", user), ("stime", system)] {
                let _ = write!(out, ", si_{name}={}", super::time::Ticks(ticks));
            }
        }
        (libc::SIGILL | libc::SIGFPE | libc::SIGSEGV | libc::SIGBUS | libc::SIGTRAP, _) => {
            address("si_addr", out);
        }
        (libc::SIGPOLL, _) => {
            let _ = write!(out, ", si_band={}, si_fd={}", signal.address, signal.status as i32);
        }
        (libc::SIGSYS, _) => {
            address("si_call_addr", out);
            let number = signal.status as u32;
            let table = (signal.status >> 32) as u32;
            let (abi, name) = match table {
                0x4000_0003 => (crate::Abi::I386, "AUDIT_ARCH_I386"),
                _ => (crate::Abi::X86_64, "AUDIT_ARCH_X86_64"),
            };
            let call = crate::CallId { abi, number: u64::from(number) };
            let _ = match call.known_name() {
                Some(call) => write!(out, ", si_syscall=__NR_{call}, si_arch={name}"),
                None => write!(out, ", si_syscall={number:#x}, si_arch={name}"),
            };
        }
        (_, 0x80) if signal.pid == 0 && signal.uid == 0 && signal.status == 0 => {}
        _ => {
            written(out);
            if signal.status != 0 {
                value(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn signals_are_known_by_all_their_names() {
        assert_eq!(by_name("SIGCHLD"), Some(17));
        assert_eq!(by_name("chld"), Some(17));
        assert_eq!(by_name("64"), Some(64));
        assert_eq!(by_name("rt_32"), Some(64));
        assert_eq!(by_name("65"), None);
        assert_eq!(by_name("SIGNONE"), None);
        assert_eq!(short_name(32).unwrap(), "RTMIN");
    }

    #[test]
    fn what_came_with_a_signal() {
        let text = |signal: &Signal| {
            let mut out = Vec::new();
            siginfo(signal, None, &ValueStyle::default(), &mut out);
            String::from_utf8(out).unwrap()
        };
        let child = Signal {
            number: libc::SIGCHLD,
            code: 1,
            pid: 7,
            status: 3,
            user_ticks: 2,
            ..Signal::default()
        };
        assert_eq!(
            text(&child),
            "{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7, si_uid=0, si_status=3, si_utime=2 /* \
             0.02 s */, si_stime=0}"
        );
        let fault = Signal { number: libc::SIGSEGV, code: 1, ..Signal::default() };
        assert_eq!(text(&fault), "{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}");
        let kill = Signal { number: libc::SIGTERM, pid: 1, ..Signal::default() };
        assert_eq!(text(&kill), "{si_signo=SIGTERM, si_code=SI_USER, si_pid=1, si_uid=0}");
    }
}
