//! Processes: how they are made and end, what they may use, how they are scheduled.

use super::{Bytes, Kind, Outcome, Scene, When, numbers, put, reads, signals};
use crate::flags::{Names, process as names};

const SET_TLS: u64 = 0x8_0000;
const PARENT_SET_TID: u64 = 0x10_0000;
const CHILD_CLEAR_TID: u64 = 0x20_0000;
const CHILD_SET_TID: u64 = 0x100_0000;
const PIDFD: u64 = 0x1000;

/// `clone` tells its stack first, though it is the second argument.
pub(crate) const CLONE_STACK: Kind = Kind::new(|scene, _| {
    scene.put("child_stack=");
    scene.pointer(scene.argument(1));
    Outcome::Done
});

/// What a new task shares, and the signal that tells of its end.
pub(crate) const CLONE_FLAGS: Kind = Kind::new(|scene, _| {
    let bits = scene.argument(0);
    scene.put("flags=");
    let (flags, signal) = (bits & !0xff, (bits & 0xff) as i32);
    if flags != 0 {
        names::CLONE.write(flags, scene.out);
    }
    if signal != 0 || flags == 0 {
        scene.put(if flags == 0 { "" } else { "|" });
        signals::signal(scene, signal);
    }
    Outcome::Done
});

/// The addresses that `clone` takes, as far as the flags say that it uses them.
pub(crate) const CLONE_REST: Kind = Kind::new(|scene, _| {
    let flags = scene.argument(0);
    if flags & (SET_TLS | PARENT_SET_TID | CHILD_CLEAR_TID | CHILD_SET_TID | PIDFD) == 0 {
        return Outcome::Skip;
    }
    if !scene.is_over() {
        return Outcome::Later;
    }
    let start = scene.out.len();
    if flags & (PARENT_SET_TID | PIDFD) != 0 {
        scene.put("parent_tid=");
        number_at(scene, 2);
    }
    let comma = |scene: &mut Scene<'_>| {
        if scene.out.len() > start {
            scene.put(", ");
        }
    };
    if flags & SET_TLS != 0 {
        comma(scene);
        scene.put("tls=");
        scene.pointer(scene.argument(4));
    }
    if flags & (CHILD_CLEAR_TID | CHILD_SET_TID) != 0 {
        comma(scene);
        scene.put("child_tidptr=");
        scene.pointer(scene.argument(3));
    }
    Outcome::Done
});

/// Where `clone` puts the new task's number, or a descriptor for it.
fn number_at(scene: &mut Scene<'_>, index: usize) {
    let address = scene.argument(index);
    if scene.has_failed() {
        scene.pointer(address);
    } else {
        let is_descriptor = scene.argument(0) & PIDFD != 0;
        scene.structure::<4>(address, |scene, bytes| {
            scene.put("[");
            if is_descriptor {
                scene.descriptor(bytes.i32(0));
            } else {
                put!(scene, "{}", bytes.i32(0));
            }
            scene.put("]");
        });
    }
}

/// What the captures of `clone` are read for: [`CLONE_REST`] reads them by their index.
pub(crate) const CLONE_NUMBER: Kind =
    Kind::new(|_, _| Outcome::Skip).reading(&[reads::fixed(When::Exit, 4)]).of_any_width();

/// `struct clone_args`; the next argument is its size.
pub(crate) const CLONE_ARGS: Kind = Kind::new(|scene, index| {
    let address = scene.argument(index);
    let Some(bytes) = scene.read::<64>(address).filter(|_| scene.argument(index + 1) >= 64) else {
        if scene.is_over() {
            return Outcome::Done;
        }
        scene.pointer(address);
        return Outcome::Done;
    };
    if !scene.is_over() {
        clone_args(scene, &bytes);
        return if bytes.u64(0) & (PARENT_SET_TID | PIDFD) == 0 {
            Outcome::Done
        } else {
            Outcome::More
        };
    }
    if !scene.has_failed() {
        clone_results(scene, &bytes);
    }
    Outcome::Done
})
.reading(&[
    reads::fixed(When::Both, 88),
    super::Reads { when: When::Exit, what: super::Copied::CloneResults },
]);

fn clone_args(scene: &mut Scene<'_>, bytes: &Bytes<64>) {
    let flags = bytes.u64(0);
    scene.put("{flags=");
    names::CLONE.write(flags, scene.out);
    for (bit, name, at) in [
        (PIDFD, "pidfd", 8),
        (CHILD_SET_TID | CHILD_CLEAR_TID, "child_tid", 16),
        (PARENT_SET_TID, "parent_tid", 24),
    ] {
        if flags & bit != 0 {
            put!(scene, ", {name}=");
            scene.pointer(bytes.u64(at));
        }
    }
    scene.put(", exit_signal=");
    signals::signal(scene, bytes.u64(32) as i32);
    scene.put(", stack=");
    scene.pointer(bytes.u64(40));
    scene.put(", stack_size=");
    scene.hex(bytes.u64(48));
    if flags & SET_TLS != 0 {
        scene.put(", tls=");
        scene.pointer(bytes.u64(56));
    }
    scene.put("}");
}

fn clone_results(scene: &mut Scene<'_>, bytes: &Bytes<64>) {
    let flags = bytes.u64(0);
    let mut comma = " => {";
    for (bit, name, at) in [(PIDFD, "pidfd", 8), (PARENT_SET_TID, "parent_tid", 24)] {
        if flags & bit != 0
            && let Some(number) = scene.read::<4>(bytes.u64(at))
        {
            put!(scene, "{comma}{name}=[");
            if bit == PIDFD {
                scene.descriptor(number.i32(0));
            } else {
                put!(scene, "{}", number.i32(0));
            }
            scene.put("]");
            comma = ", ";
        }
    }
    if comma == ", " {
        scene.put("}");
    }
}

/// How a child ended: `[{WIFEXITED(s) && WEXITSTATUS(s) == 0}]`.
pub(crate) const STATUS_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let address = scene.argument(index);
    if scene.has_failed() || scene.count() == 0 {
        scene.pointer(address);
    } else {
        scene.structure::<4>(address, |scene, bytes| {
            scene.put("[");
            status(scene, bytes.u32(0));
            scene.put("]");
        });
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Exit, 4)])
.of_any_width();

/// Writes how a child ended.
fn status(scene: &mut Scene<'_>, status: u32) {
    let signal = (status & 0x7f) as i32;
    let mut rest = status & !0xffff;
    if status == 0xffff {
        scene.put("{WIFCONTINUED(s)");
    } else if signal == 0x7f {
        scene.put("{WIFSTOPPED(s) && WSTOPSIG(s) == ");
        let stop = (status >> 8 & 0xff) as i32;
        signals::signal(scene, stop & 0x7f);
        if stop & 0x80 != 0 {
            scene.put(" | 0x80");
        }
    } else if signal == 0 {
        put!(scene, "{{WIFEXITED(s) && WEXITSTATUS(s) == {}", status >> 8 & 0xff);
    } else {
        scene.put("{WIFSIGNALED(s) && WTERMSIG(s) == ");
        signals::signal(scene, signal);
        if status & 0x80 != 0 {
            scene.put(" && WCOREDUMP(s)");
        }
        rest |= status & 0xff00;
    }
    scene.put("}");
    if rest != 0 {
        put!(scene, " | {rest:#x}");
    }
}

fn usage(scene: &mut Scene<'_>, bytes: &Bytes<144>) {
    let mut comma = "{";
    for (name, at) in [("utime", 0), ("stime", 16)] {
        put!(scene, "{comma}ru_{name}={{tv_sec={}", bytes.i64(at));
        put!(scene, ", tv_usec={}}}", bytes.u64(at + 8));
        comma = ", ";
    }
    if scene.style.whole {
        const REST: [&str; 14] = [
            "maxrss", "ixrss", "idrss", "isrss", "minflt", "majflt", "nswap", "inblock", "oublock",
            "msgsnd", "msgrcv", "nsignals", "nvcsw", "nivcsw",
        ];
        for (index, name) in REST.iter().enumerate() {
            put!(scene, ", ru_{name}={}", bytes.u64(32 + index * 8));
        }
        scene.put("}");
    } else {
        scene.put(", ...}");
    }
}

/// What processes used; of a wait that found nothing it is not filled in.
pub(crate) const USAGE_OUT: Kind =
    Kind::new(|scene, index| scene.filled(index, usage)).reading(&[reads::fixed(When::Exit, 144)]);

/// The same for `wait4`.
pub(crate) const WAIT_USAGE_OUT: Kind = Kind::new(|scene, index| {
    if scene.is_over() && !scene.has_failed() && scene.count() == 0 {
        scene.pointer(scene.argument(index));
        return Outcome::Done;
    }
    USAGE_OUT.write(scene, index)
})
.reading(&[reads::fixed(When::Exit, 144)]);

fn limit(scene: &mut Scene<'_>, bytes: &Bytes<16>) {
    for (name, at) in [("{rlim_cur=", 0), (", rlim_max=", 8)] {
        scene.put(name);
        match bytes.u64(at) {
            u64::MAX => scene.put("RLIM64_INFINITY"),
            value if value > 1024 && value % 1024 == 0 => put!(scene, "{}*1024", value / 1024),
            value => put!(scene, "{value}"),
        }
    }
    scene.put("}");
}

fn old_limit(scene: &mut Scene<'_>, bytes: &Bytes<16>) {
    let start = scene.out.len();
    limit(scene, bytes);
    // The older calls name the same number otherwise.
    let text = String::from_utf8_lossy(&scene.out[start..]).replace("RLIM64_", "RLIM_");
    scene.out.truncate(start);
    scene.put(&text);
}

/// A limit that is set.
pub(crate) const LIMIT_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), limit);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 16)])
.of_any_width();

/// A limit that is asked for.
pub(crate) const LIMIT_OUT: Kind = Kind::new(|scene, index| scene.filled(index, limit))
    .reading(&[reads::fixed(When::Exit, 16)])
    .of_any_width();

/// The same in the older calls.
pub(crate) const OLD_LIMIT_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), old_limit);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 16)]);
/// The same in the older calls.
pub(crate) const OLD_LIMIT_OUT: Kind = Kind::new(|scene, index| scene.filled(index, old_limit))
    .reading(&[reads::fixed(When::Exit, 16)]);

/// Names of the kernel: `{sysname="Linux", nodename="host", ...}`.
pub(crate) const UTSNAME: Kind = Kind::new(|scene, index| {
    scene.filled::<390>(index, |scene, bytes| {
        let shown = if scene.style.whole { 6 } else { 2 };
        let fields = ["sysname", "nodename", "release", "version", "machine", "domainname"];
        let mut comma = "{";
        for (number, name) in fields.iter().enumerate().take(shown) {
            put!(scene, "{comma}{name}=");
            let field = &bytes.0[number * 65..(number + 1) * 65];
            let end = field.iter().position(|&byte| byte == 0).unwrap_or(65);
            scene.quoted(&field[..end], false);
            comma = ", ";
        }
        scene.put(if scene.style.whole { "}" } else { ", ...}" });
    })
})
.reading(&[reads::fixed(When::Exit, 390)])
.of_any_width();

/// What the machine has: `{uptime=…, loads=[…], …}`.
pub(crate) const SYSINFO: Kind = Kind::new(|scene, index| {
    scene.filled::<112>(index, |scene, bytes| {
        put!(scene, "{{uptime={}", bytes.i64(0));
        put!(scene, ", loads=[{}, {}, {}]", bytes.u64(8), bytes.u64(16), bytes.u64(24));
        for (name, at) in [
            ("totalram", 32),
            ("freeram", 40),
            ("sharedram", 48),
            ("bufferram", 56),
            ("totalswap", 64),
            ("freeswap", 72),
        ] {
            put!(scene, ", {name}={}", bytes.u64(at));
        }
        put!(scene, ", procs={}", bytes.u16(80));
        put!(scene, ", totalhigh={}, freehigh={}", bytes.u64(88), bytes.u64(96));
        put!(scene, ", mem_unit={}}}", bytes.u32(104));
    })
})
.reading(&[reads::fixed(When::Exit, 112)]);

/// Times in ticks.
pub(crate) const TIMES: Kind = Kind::new(|scene, index| {
    scene.filled::<32>(index, |scene, bytes| {
        let mut comma = "{";
        for (name, at) in [("utime", 0), ("stime", 8), ("cutime", 16), ("cstime", 24)] {
            let ticks = bytes.i64(at);
            put!(scene, "{comma}tms_{name}={}", super::time::Ticks(ticks));
            comma = ", ";
        }
        scene.put("}");
    })
})
.reading(&[reads::fixed(When::Exit, 32)]);

fn parameter(scene: &mut Scene<'_>, bytes: &Bytes<4>) {
    put!(scene, "[{}]", bytes.i32(0));
}

/// A priority that is set: `[0]`.
pub(crate) const PARAMETER_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), parameter);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 4)])
.of_any_width();

/// A priority that is asked for.
pub(crate) const PARAMETER_OUT: Kind = Kind::new(|scene, index| scene.filled(index, parameter))
    .reading(&[reads::fixed(When::Exit, 4)])
    .of_any_width();

fn scheduling(scene: &mut Scene<'_>, bytes: &Bytes<48>) {
    put!(scene, "{{size={}, sched_policy=", bytes.u32(0));
    names::SCHEDULER.write(u64::from(bytes.u32(4)), scene.out);
    scene.put(", sched_flags=");
    static FLAGS: crate::flags::Flags = crate::flags::Flags {
        unknown: "SCHED_FLAG_???",
        names: &[
            (1, "SCHED_FLAG_RESET_ON_FORK"),
            (2, "SCHED_FLAG_RECLAIM"),
            (4, "SCHED_FLAG_DL_OVERRUN"),
            (8, "SCHED_FLAG_KEEP_POLICY"),
            (0x10, "SCHED_FLAG_KEEP_PARAMS"),
            (0x20, "SCHED_FLAG_UTIL_CLAMP_MIN"),
            (0x40, "SCHED_FLAG_UTIL_CLAMP_MAX"),
        ],
    };
    FLAGS.write(bytes.u64(8), scene.out);
    put!(scene, ", sched_nice={}, sched_priority={}", bytes.i32(16), bytes.u32(20));
    put!(scene, ", sched_runtime={}, sched_deadline={}", bytes.u64(24), bytes.u64(32));
    put!(scene, ", sched_period={}", bytes.u64(40));
    scene.put(if bytes.u32(0) > 48 { ", ...}" } else { "}" });
}

/// `struct sched_attr` that is set.
pub(crate) const SCHEDULING_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), scheduling);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 48)])
.of_any_width();

/// `struct sched_attr` that is asked for.
pub(crate) const SCHEDULING_OUT: Kind = Kind::new(|scene, index| scene.filled(index, scheduling))
    .reading(&[reads::fixed(When::Exit, 48)])
    .of_any_width();

fn processors(scene: &mut Scene<'_>, address: u64, length: u64) {
    // 8192 CPUs are the most that a kernel can be built for.
    let bytes = scene.read_some(address, length.min(1024) as usize);
    if bytes.is_empty() {
        scene.pointer(address);
        return;
    }
    scene.put("[");
    let mut is_first = true;
    for number in 0..bytes.len() * 8 {
        if bytes[number / 8] >> (number % 8) & 1 != 0 {
            put!(scene, "{}{number}", if is_first { "" } else { " " });
            is_first = false;
        }
    }
    scene.put("]");
}

/// CPUs that a thread may use; the argument before is the size.
pub(crate) const PROCESSORS_IN: Kind = Kind::new(|scene, index| {
    processors(scene, scene.argument(index), scene.argument(index - 1) & 0xffff_ffff);
    Outcome::Done
})
.reading(&[reads::counted(When::Enter, 255, 1)])
.of_any_width();

/// CPUs that a thread may use; the result is the size.
pub(crate) const PROCESSORS_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    if scene.has_failed() {
        scene.pointer(scene.argument(index));
    } else {
        processors(scene, scene.argument(index), scene.count());
    }
    Outcome::Done
})
.reading(&[reads::resulting(1)])
.of_any_width();

/// A number that the kernel fills in: `[3]`, `NULL`.
pub(crate) const NUMBER_OUT: Kind = Kind::new(|scene, index| {
    scene.filled::<4>(index, |scene, bytes| put!(scene, "[{}]", bytes.i32(0)))
})
.reading(&[reads::fixed(When::Exit, 4)])
.of_any_width();

/// Writes a personality: `PER_LINUX|ADDR_NO_RANDOMIZE`.
pub(crate) fn personality(scene: &mut Scene<'_>, bits: u64) {
    names::PERSONALITY.write(bits & 0xff, scene.out);
    if bits & !0xff != 0 {
        scene.put("|");
        names::PERSONALITY_FLAGS.write_rest(bits & !0xff, scene.out);
    }
}

/// A personality; all ones only ask for it.
pub(crate) const PERSONALITY: Kind = Kind::new(|scene, index| {
    match scene.argument(index) & 0xffff_ffff {
        0xffff_ffff => scene.put("0xffffffff"),
        bits => personality(scene, bits),
    }
    Outcome::Done
});

/// A class of input and output, and how urgent: `IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)`.
pub(crate) const IO_PRIORITY: Kind = Kind::new(|scene, index| {
    io_priority(scene, scene.argument(index) & 0xffff_ffff);
    Outcome::Done
});

/// Writes a class of input and output.
pub(crate) fn io_priority(scene: &mut Scene<'_>, value: u64) {
    static CLASSES: Names = Names {
        unknown: "IOPRIO_CLASS_???",
        names: &[
            (0, "IOPRIO_CLASS_NONE"),
            (1, "IOPRIO_CLASS_RT"),
            (2, "IOPRIO_CLASS_BE"),
            (3, "IOPRIO_CLASS_IDLE"),
        ],
    };
    scene.put("IOPRIO_PRIO_VALUE(");
    CLASSES.write(value >> 13, scene.out);
    put!(scene, ", {})", value & 0x1fff);
}

/// What `ptrace` is asked for; some requests have fewer arguments.
pub(crate) const PTRACE: Kind = Kind::new(|scene, index| {
    names::PTRACE.write(scene.argument(index), scene.out);
    Outcome::Done
});

/// The process that `ptrace` is about.
pub(crate) const PTRACE_PID: Kind = Kind::new(|scene, index| {
    if scene.argument(0) == 0 { Outcome::Skip } else { numbers::INT.write(scene, index) }
});

/// An address in that process.
pub(crate) const PTRACE_ADDRESS: Kind = Kind::new(|scene, index| {
    if scene.argument(0) == 0 { Outcome::Skip } else { numbers::POINTER.write(scene, index) }
});

/// What is put there, what is asked for, or the signal to go on with.
pub(crate) const PTRACE_DATA: Kind = Kind::new(|scene, index| {
    match scene.argument(0) {
        0 => Outcome::Skip,
        // CONT, SINGLESTEP, DETACH, SYSCALL, SYSEMU, SYSEMU_SINGLESTEP, SINGLEBLOCK
        7 | 9 | 17 | 24 | 31 | 32 | 33 => {
            signals::signal(scene, scene.argument(index) as i32);
            Outcome::Done
        }
        // What the kernel writes there is told when the call is over.
        1 | 2 | 3 | 0x4201 => {
            if scene.is_over() {
                scene.structure_or_pointer(index);
                Outcome::Done
            } else {
                Outcome::Later
            }
        }
        _ => numbers::POINTER.write(scene, index),
    }
})
.reading(&[reads::fixed(When::Exit, 8)]);

impl Scene<'_> {
    fn structure_or_pointer(&mut self, index: usize) {
        let address = self.argument(index);
        if self.has_failed() {
            self.pointer(address);
        } else {
            self.structure::<8>(address, |scene, bytes| {
                scene.put("[");
                scene.hex(bytes.u64(0));
                scene.put("]");
            });
        }
    }
}
