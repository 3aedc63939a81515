//! Processes: how they are created and end, their limits, how they are scheduled.

use text::integer::push_u64;

use super::{
    ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, numbers, put, reads, signals,
};
use crate::flags::{Names, process as names};

const SET_TLS: u64 = 0x8_0000;
const PARENT_SET_TID: u64 = 0x10_0000;
const CHILD_CLEAR_TID: u64 = 0x20_0000;
const CHILD_SET_TID: u64 = 0x100_0000;
const PIDFD: u64 = 0x1000;
const INTO_CGROUP: u64 = 0x2_0000_0000;

/// `clone` shows its stack first, as `strace` does, although it is the second argument.
pub(crate) const CLONE_STACK: ArgumentKind = ArgumentKind::new(|context, _| {
    context.put("child_stack=");
    context.pointer(context.argument(1));
    Outcome::Done
});

/// What a new task shares, and the signal that is sent when it exits.
pub(crate) const CLONE_FLAGS: ArgumentKind = ArgumentKind::new(|context, _| {
    let bits = context.argument(0);
    context.put("flags=");
    let (flags, signal) = (bits & !0xff, (bits & 0xff) as i32);
    if flags != 0 {
        context.constant(&names::CLONE, flags);
    }
    if signal != 0 || flags == 0 {
        context.put(if flags == 0 { "" } else { "|" });
        signals::signal(context, signal);
    }
    Outcome::Done
});

/// The addresses that `clone` takes, as far as its flags use them.
pub(crate) const CLONE_REST: ArgumentKind = ArgumentKind::new(|context, _| {
    let flags = context.argument(0);
    if flags & (SET_TLS | PARENT_SET_TID | CHILD_CLEAR_TID | CHILD_SET_TID | PIDFD) == 0 {
        return Outcome::Skip;
    }
    if !context.is_over() {
        return Outcome::Later;
    }
    let start = context.out.len();
    if flags & (PARENT_SET_TID | PIDFD) != 0 {
        context.put("parent_tid=");
        number_at(context, 2);
    }
    let comma = |context: &mut DecodeContext<'_>| {
        if context.out.len() > start {
            context.put(", ");
        }
    };
    if flags & SET_TLS != 0 {
        comma(context);
        context.put("tls=");
        context.pointer(context.argument(4));
    }
    if flags & (CHILD_CLEAR_TID | CHILD_SET_TID) != 0 {
        comma(context);
        context.put("child_tidptr=");
        context.pointer(context.argument(3));
    }
    Outcome::Done
});

/// Where `clone` stores the new task's number, or a descriptor for it.
fn number_at(context: &mut DecodeContext<'_>, index: usize) {
    let address = context.argument(index);
    if context.has_failed() {
        context.pointer(address);
    } else {
        let is_descriptor = context.argument(0) & PIDFD != 0;
        context.structure::<4>(address, |context, bytes| {
            context.put("[");
            if is_descriptor {
                context.descriptor(bytes.i32(0));
            } else {
                put!(context, "{}", bytes.i32(0));
            }
            context.put("]");
        });
    }
}

/// Only the captures of arguments that [`CLONE_REST`] writes.
pub(crate) const CLONE_NUMBER: ArgumentKind = ArgumentKind::new(|_, _| Outcome::Skip)
    .reading(&[reads::fixed(CapturePhase::Exit, 4)])
    .of_any_width();

/// `struct clone_args`; the next argument is its size.
pub(crate) const CLONE_ARGS: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    let Some(bytes) = context.read::<64>(address).filter(|_| context.argument(index + 1) >= 64)
    else {
        if context.is_over() {
            return Outcome::Done;
        }
        context.pointer(address);
        return Outcome::Done;
    };
    if !context.is_over() {
        clone_args(context, &bytes, address, context.argument(index + 1));
        return if bytes.u64(0) & (PARENT_SET_TID | PIDFD) == 0 {
            Outcome::Done
        } else {
            Outcome::More
        };
    }
    if !context.has_failed() {
        clone_results(context, &bytes);
    }
    Outcome::Done
})
.reading(&[
    reads::counted(CapturePhase::Both, 1, 1),
    super::Reads { when: CapturePhase::Exit, what: super::CapturedData::CloneResults },
]);

fn clone_args(context: &mut DecodeContext<'_>, bytes: &StructBytes<64>, address: u64, size: u64) {
    let flags = bytes.u64(0);
    context.put("{flags=");
    context.constant(&names::CLONE_ARGS, flags);
    for (bit, name, at) in [
        (PIDFD, "pidfd", 8),
        (CHILD_SET_TID | CHILD_CLEAR_TID, "child_tid", 16),
        (PARENT_SET_TID, "parent_tid", 24),
    ] {
        if flags & bit != 0 {
            put!(context, ", {name}=");
            context.pointer(bytes.u64(at));
        }
    }
    context.put(", exit_signal=");
    signals::signal(context, bytes.u64(32) as i32);
    context.put(", stack=");
    context.pointer(bytes.u64(40));
    context.put(", stack_size=");
    context.hex(bytes.u64(48));
    if flags & SET_TLS != 0 {
        context.put(", tls=");
        context.pointer(bytes.u64(56));
    }
    // Two releases of the kernel have added fields: the ids to use, and a control group.
    if let Some(rest) = context.read::<16>(address.wrapping_add(64)).filter(|_| size >= 80) {
        let count = rest.u64(8);
        if rest.u64(0) != 0 || count != 0 {
            context.put(", set_tid=");
            let ids = rest.u64(0);
            context.array::<4>(ids, count, |context, id| put!(context, "{}", id.i32(0)));
            put!(context, ", set_tid_size={count}");
        }
    }
    if let Some(rest) = context.read::<8>(address.wrapping_add(80)).filter(|_| size >= 88)
        && (flags & INTO_CGROUP != 0 || rest.u64(0) != 0)
    {
        put!(context, ", cgroup={}", rest.u64(0));
    }
    context.unknown_bytes(address, 88, size);
    context.put("}");
}

fn clone_results(context: &mut DecodeContext<'_>, bytes: &StructBytes<64>) {
    let flags = bytes.u64(0);
    let mut comma = " => {";
    for (bit, name, at) in [(PIDFD, "pidfd", 8), (PARENT_SET_TID, "parent_tid", 24)] {
        if flags & bit != 0
            && let Some(number) = context.read::<4>(bytes.u64(at))
        {
            put!(context, "{comma}{name}=[");
            if bit == PIDFD {
                context.descriptor(number.i32(0));
            } else {
                put!(context, "{}", number.i32(0));
            }
            context.put("]");
            comma = ", ";
        }
    }
    if comma == ", " {
        context.put("}");
    }
}

/// A wait status: `[{WIFEXITED(s) && WEXITSTATUS(s) == 0}]`.
pub(crate) const STATUS_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    let address = context.argument(index);
    if context.has_failed() || context.count() == 0 {
        context.pointer(address);
    } else {
        context.structure::<4>(address, |context, bytes| {
            context.put("[");
            status(context, bytes.u32(0));
            context.put("]");
        });
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Exit, 4)])
.of_any_width();

/// Writes a wait status.
fn status(context: &mut DecodeContext<'_>, status: u32) {
    let signal = (status & 0x7f) as i32;
    let mut rest = status & !0xffff;
    if status == 0xffff {
        context.put("{WIFCONTINUED(s)");
    } else if signal == 0x7f {
        context.put("{WIFSTOPPED(s) && WSTOPSIG(s) == ");
        let stop = (status >> 8 & 0xff) as i32;
        signals::write_signal(stop & 0x7f, context.out);
        if stop & 0x80 != 0 {
            context.put(" | 0x80");
        }
    } else if signal == 0 {
        put!(context, "{{WIFEXITED(s) && WEXITSTATUS(s) == {}", status >> 8 & 0xff);
    } else {
        context.put("{WIFSIGNALED(s) && WTERMSIG(s) == ");
        signals::write_signal(signal, context.out);
        if status & 0x80 != 0 {
            context.put(" && WCOREDUMP(s)");
        }
        rest |= status & 0xff00;
    }
    context.put("}");
    if rest != 0 {
        put!(context, " | {rest:#x}");
    }
}

fn usage(context: &mut DecodeContext<'_>, bytes: &StructBytes<144>) {
    let mut comma = "{";
    for (name, at) in [("utime", 0), ("stime", 16)] {
        put!(context, "{comma}ru_{name}={{tv_sec={}", bytes.i64(at));
        put!(context, ", tv_usec={}}}", bytes.u64(at + 8));
        comma = ", ";
    }
    if context.style.whole {
        const REST: [&str; 14] = [
            "maxrss", "ixrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock", "oublock",
            "msgsnd", "msgrcv", "nsignals", "nvcsw", "nivcsw",
        ];
        for (index, name) in REST.iter().enumerate() {
            put!(context, ", ru_{name}={}", bytes.u64(32 + index * 8));
        }
        context.put("}");
    } else {
        context.put(", ...}");
    }
}

/// Resource usage that the kernel fills in.
pub(crate) const USAGE_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, usage))
        .reading(&[reads::fixed(CapturePhase::Exit, 144)]);

/// As [`USAGE_OUT`], for `wait4`, which does not fill it in when it found no child.
pub(crate) const WAIT_USAGE_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.is_over() && !context.has_failed() && context.count() == 0 {
        context.pointer(context.argument(index));
        return Outcome::Done;
    }
    USAGE_OUT.write(context, index)
})
.reading(&[reads::fixed(CapturePhase::Exit, 144)]);

fn limit(context: &mut DecodeContext<'_>, bytes: &StructBytes<16>) {
    for (name, at) in [("{rlim_cur=", 0), (", rlim_max=", 8)] {
        context.put(name);
        let value = bytes.u64(at);
        let number = |out: &mut Vec<u8>| push_u64(out, value);
        match value {
            u64::MAX => context.named_as(number, |context| context.put("RLIM64_INFINITY")),
            _ if value > 1024 && value.is_multiple_of(1024) => {
                context.remarked(number, |context| put!(context, "{}*1024", value / 1024));
            }
            _ => context.number(value),
        }
    }
    context.put("}");
}

fn old_limit(context: &mut DecodeContext<'_>, bytes: &StructBytes<16>) {
    let start = context.out.len();
    limit(context, bytes);
    // The older calls have other names for the same number.
    let text = String::from_utf8_lossy(&context.out[start..]).replace("RLIM64_", "RLIM_");
    context.out.truncate(start);
    context.put(&text);
}

/// A limit that is set.
pub(crate) const LIMIT_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), limit);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)])
.of_any_width();

/// A limit that is returned.
pub(crate) const LIMIT_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, limit))
        .reading(&[reads::fixed(CapturePhase::Exit, 16)])
        .of_any_width();

/// As [`LIMIT_IN`], for the older calls.
pub(crate) const OLD_LIMIT_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), old_limit);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)]);
/// As [`LIMIT_OUT`], for the older calls.
pub(crate) const OLD_LIMIT_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, old_limit))
        .reading(&[reads::fixed(CapturePhase::Exit, 16)]);

/// `struct utsname`: `{sysname="Linux", nodename="host", ...}`.
pub(crate) const UTSNAME: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<390>(index, |context, bytes| {
        let shown = if context.style.whole { 6 } else { 2 };
        let fields = ["sysname", "nodename", "release", "version", "machine", "domainname"];
        let mut comma = "{";
        for (number, name) in fields.iter().enumerate().take(shown) {
            put!(context, "{comma}{name}=");
            let field = &bytes.0[number * 65..(number + 1) * 65];
            let end = field.iter().position(|&byte| byte == 0).unwrap_or(65);
            context.quoted(&field[..end], false);
            comma = ", ";
        }
        context.put(if context.style.whole { "}" } else { ", ...}" });
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 390)])
.of_any_width();

/// `struct sysinfo`: `{uptime=…, loads=[…], …}`.
pub(crate) const SYSINFO: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<112>(index, |context, bytes| {
        put!(context, "{{uptime={}", bytes.i64(0));
        put!(context, ", loads=[{}, {}, {}]", bytes.u64(8), bytes.u64(16), bytes.u64(24));
        for (name, at) in [
            ("totalram", 32),
            ("freeram", 40),
            ("sharedram", 48),
            ("bufferram", 56),
            ("totalswap", 64),
            ("freeswap", 72),
        ] {
            put!(context, ", {name}={}", bytes.u64(at));
        }
        put!(context, ", procs={}", bytes.u16(80));
        put!(context, ", totalhigh={}, freehigh={}", bytes.u64(88), bytes.u64(96));
        put!(context, ", mem_unit={}}}", bytes.u32(104));
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 112)]);

/// `struct tms`: times in clock ticks.
pub(crate) const TIMES: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<32>(index, |context, bytes| {
        let mut comma = "{";
        for (name, at) in [("utime", 0), ("stime", 8), ("cutime", 16), ("cstime", 24)] {
            let ticks = bytes.i64(at);
            put!(context, "{comma}tms_{name}={}", super::time::Ticks(ticks));
            comma = ", ";
        }
        context.put("}");
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 32)]);

fn parameter(context: &mut DecodeContext<'_>, bytes: &StructBytes<4>) {
    put!(context, "[{}]", bytes.i32(0));
}

/// A priority that is set: `[0]`.
pub(crate) const PARAMETER_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), parameter);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 4)])
.of_any_width();

/// A priority that is returned.
pub(crate) const PARAMETER_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, parameter))
        .reading(&[reads::fixed(CapturePhase::Exit, 4)])
        .of_any_width();

fn scheduling(context: &mut DecodeContext<'_>, bytes: &StructBytes<48>) {
    put!(context, "{{size={}, sched_policy=", bytes.u32(0));
    context.constant(&names::SCHEDULER, u64::from(bytes.u32(4)));
    context.put(", sched_flags=");
    static FLAGS: crate::flags::Flags = crate::flags::Flags {
        unknown: "SCHED_FLAG_???",
        names: crate::flags::names![
            (1, "SCHED_FLAG_RESET_ON_FORK"),
            (2, "SCHED_FLAG_RECLAIM"),
            (4, "SCHED_FLAG_DL_OVERRUN"),
            (8, "SCHED_FLAG_KEEP_POLICY"),
            (0x10, "SCHED_FLAG_KEEP_PARAMS"),
            (0x20, "SCHED_FLAG_UTIL_CLAMP_MIN"),
            (0x40, "SCHED_FLAG_UTIL_CLAMP_MAX"),
        ],
    };
    context.constant(&FLAGS, bytes.u64(8));
    put!(context, ", sched_nice={}, sched_priority={}", bytes.i32(16), bytes.u32(20));
    put!(context, ", sched_runtime={}, sched_deadline={}", bytes.u64(24), bytes.u64(32));
    put!(context, ", sched_period={}", bytes.u64(40));
    context.put(if bytes.u32(0) > 48 { ", ...}" } else { "}" });
}

/// `struct sched_attr` that is set.
pub(crate) const SCHEDULING_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), scheduling);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 48)])
.of_any_width();

/// `struct sched_attr` that is returned.
pub(crate) const SCHEDULING_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, scheduling))
        .reading(&[reads::fixed(CapturePhase::Exit, 48)])
        .of_any_width();

fn processors(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    // 8192 CPUs are the most that a kernel can be built for.
    let bytes = context.read_some(address, length.min(1024) as usize);
    if bytes.is_empty() {
        context.pointer(address);
        return;
    }
    context.put("[");
    let mut is_first = true;
    for number in 0..bytes.len() * 8 {
        if bytes[number / 8] >> (number % 8) & 1 != 0 {
            put!(context, "{}{number}", if is_first { "" } else { " " });
            is_first = false;
        }
    }
    context.put("]");
}

/// CPUs that a thread may use; the argument before is the size.
pub(crate) const PROCESSORS_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    processors(context, context.argument(index), context.argument(index - 1) & 0xffff_ffff);
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Enter, 255, 1)])
.of_any_width();

/// CPUs that a thread may use; the result is the size.
pub(crate) const PROCESSORS_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    if context.has_failed() {
        context.pointer(context.argument(index));
    } else {
        processors(context, context.argument(index), context.count());
    }
    Outcome::Done
})
.reading(&[reads::resulting(1)])
.of_any_width();

/// A number that the kernel fills in: `[3]`, `NULL`.
pub(crate) const NUMBER_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<4>(index, |context, bytes| put!(context, "[{}]", bytes.i32(0)))
})
.reading(&[reads::fixed(CapturePhase::Exit, 4)])
.of_any_width();

/// Writes a personality: `PER_LINUX|ADDR_NO_RANDOMIZE`.
pub(crate) fn personality(context: &mut DecodeContext<'_>, bits: u64) {
    context.constant(&names::PERSONALITY, bits & 0xff);
    if bits & !0xff != 0 {
        context.put("|");
        context.more_flags(&names::PERSONALITY_FLAGS, bits & !0xff);
    }
}

/// A personality; `0xffffffff` only queries it.
pub(crate) const PERSONALITY: ArgumentKind = ArgumentKind::new(|context, index| {
    match context.argument(index) & 0xffff_ffff {
        0xffff_ffff => context.put("0xffffffff"),
        bits => personality(context, bits),
    }
    Outcome::Done
});

/// An I/O priority, class and level: `IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)`.
pub(crate) const IO_PRIORITY: ArgumentKind = ArgumentKind::new(|context, index| {
    let (value, style) = (context.argument(index) as u32, context.style.constants);
    context.named_decimal(i64::from(value as i32), |context| {
        // The class within has its number, too.
        context.style.constants = style;
        io_priority(context, value.into());
    });
    Outcome::Done
});

/// Writes the class and the level of an I/O priority.
pub(crate) fn io_priority(context: &mut DecodeContext<'_>, value: u64) {
    static CLASSES: Names = Names {
        unknown: "IOPRIO_CLASS_???",
        names: crate::flags::names![
            (0, "IOPRIO_CLASS_NONE"),
            (1, "IOPRIO_CLASS_RT"),
            (2, "IOPRIO_CLASS_BE"),
            (3, "IOPRIO_CLASS_IDLE"),
        ],
    };
    context.put("IOPRIO_PRIO_VALUE(");
    context.constant(&CLASSES, value >> 13);
    put!(context, ", {})", value & 0x1fff);
}

/// The request of `ptrace`; some requests have fewer arguments.
pub(crate) const PTRACE: ArgumentKind = ArgumentKind::new(|context, index| {
    context.constant(&names::PTRACE, context.argument(index));
    Outcome::Done
});

/// The process that `ptrace` is about.
pub(crate) const PTRACE_PID: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.argument(0) == 0 { Outcome::Skip } else { numbers::TASK.write(context, index) }
});

/// An address in that process.
pub(crate) const PTRACE_ADDRESS: ArgumentKind = ArgumentKind::new(|context, index| {
    if context.argument(0) == 0 { Outcome::Skip } else { numbers::POINTER.write(context, index) }
});

/// The data of `ptrace`: a value, an address, or the signal to deliver.
pub(crate) const PTRACE_DATA: ArgumentKind = ArgumentKind::new(|context, index| {
    match context.argument(0) {
        0 => Outcome::Skip,
        // CONT, SINGLESTEP, DETACH, SYSCALL, SYSEMU, SYSEMU_SINGLESTEP, SINGLEBLOCK
        7 | 9 | 17 | 24 | 31 | 32 | 33 => {
            signals::signal(context, context.argument(index) as i32);
            Outcome::Done
        }
        // The kernel writes to this address: shown after the exit.
        1 | 2 | 3 | 0x4201 => {
            if context.is_over() {
                context.structure_or_pointer(index);
                Outcome::Done
            } else {
                Outcome::Later
            }
        }
        _ => numbers::POINTER.write(context, index),
    }
})
.reading(&[reads::fixed(CapturePhase::Exit, 8)]);

impl DecodeContext<'_> {
    fn structure_or_pointer(&mut self, index: usize) {
        let address = self.argument(index);
        if self.has_failed() {
            self.pointer(address);
        } else {
            self.structure::<8>(address, |context, bytes| {
                context.put("[");
                context.hex(bytes.u64(0));
                context.put("]");
            });
        }
    }
}
