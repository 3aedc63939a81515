//! System V and POSIX shared memory, semaphores and message queues.

use super::structure::{Field, Form, u32_at};
use super::{
    ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, numbers, numbers::Mode, put,
    reads,
};
use crate::flags::{Flags, Names, files, memory as names};

/// A key: `IPC_PRIVATE`, `0x1234`.
pub(crate) const KEY: ArgumentKind = ArgumentKind::new(|context, index| {
    match context.argument(index) & 0xffff_ffff {
        0 => context.named(0, |context| context.put("IPC_PRIVATE")),
        key => put!(context, "{key:#x}"),
    }
    Outcome::Done
});

fn get_flags(context: &mut DecodeContext<'_>, bits: u64, set: &'static Flags, shift: Option<&str>) {
    const MODE: u64 = 0o777;
    const SIZE: u64 = 0xfc00_0000;
    let size = if shift.is_some() { bits & SIZE } else { 0 };
    let flags = bits & !MODE & !size;
    if flags != 0 {
        context.more_flags(set, flags);
        context.put("|");
    }
    if let Some(name) = shift
        && size != 0
    {
        put!(context, "{}<<", size >> 26);
        context.named_decimal(26, |context| context.put(name));
        context.put("|");
    }
    put!(context, "{}", Mode((bits & MODE) as u16));
}

/// The flags of `msgget` and `semget`.
pub(crate) const GET: ArgumentKind = ArgumentKind::new(|context, index| {
    get_flags(context, context.argument(index) & 0xffff_ffff, &names::IPC_GET, None);
    Outcome::Done
});

/// The flags of `shmget`.
pub(crate) const SHARED_GET: ArgumentKind = ArgumentKind::new(|context, index| {
    let bits = context.argument(index) & 0xffff_ffff;
    get_flags(context, bits, &names::SHARED_GET, Some("SHM_HUGE_SHIFT"));
    Outcome::Done
});

fn command(context: &mut DecodeContext<'_>, index: usize, list: &'static Names) {
    const VERSION: u64 = 0x100;
    let value = context.argument(index) & 0xffff_ffff;
    if value & VERSION != 0 {
        context.named(VERSION, |context| context.put("IPC_64"));
        context.put("|");
    }
    context.constant(list, value & !VERSION);
}

/// The operation of `shmctl`.
pub(crate) const SHARED_CONTROL: ArgumentKind = ArgumentKind::new(|context, index| {
    command(context, index, &names::SHARED_CONTROL);
    Outcome::Done
});

/// The operation of `msgctl`.
pub(crate) const MESSAGE_CONTROL: ArgumentKind = ArgumentKind::new(|context, index| {
    command(context, index, &names::MESSAGE_CONTROL);
    Outcome::Done
});

/// The operation of `semctl`.
pub(crate) const SEMAPHORE_CONTROL: ArgumentKind = ArgumentKind::new(|context, index| {
    command(context, index, &names::SEMAPHORE_CONTROL);
    Outcome::Done
});

/// Changes the owner and the mode; 1 to 3 mean the same to `shmctl`, `msgctl` and `semctl`.
const SET: u64 = 1;
/// Asks for what there is of one.
const STATUS: u64 = 2;
/// Asks for the limits.
const LIMITS: u64 = 3;

fn mode(context: &mut DecodeContext<'_>, bytes: &[u8]) {
    put!(context, "{}", Mode(u32_at(bytes, 20) as u16));
}

/// The owner and the mode, which can be changed.
static PERMISSION_SET: [Field; 3] = [
    Field::new("uid", 4, Form::Unsigned),
    Field::new("gid", 8, Form::Unsigned),
    Field::new("mode", 20, Form::By(mode)),
];

/// `struct ipc64_perm`.
static PERMISSION: [Field; 6] = [
    Field::new("uid", 4, Form::Unsigned),
    Field::new("gid", 8, Form::Unsigned),
    Field::new("mode", 20, Form::By(mode)),
    Field::new("key", 0, Form::Signed),
    Field::new("cuid", 12, Form::Unsigned),
    Field::new("cgid", 16, Form::Unsigned),
];

static SHARED: [Field; 7] = [
    Field::new("shm_segsz", 48, Form::UnsignedLong),
    Field::new("shm_cpid", 80, Form::Signed),
    Field::new("shm_lpid", 84, Form::Signed),
    Field::new("shm_nattch", 88, Form::UnsignedLong),
    Field::new("shm_atime", 56, Form::Long),
    Field::new("shm_dtime", 64, Form::Long),
    Field::new("shm_ctime", 72, Form::Long),
];

static SHARED_LIMITS: [Field; 5] = [
    Field::new("shmmax", 0, Form::UnsignedLong),
    Field::new("shmmin", 8, Form::UnsignedLong),
    Field::new("shmmni", 16, Form::UnsignedLong),
    Field::new("shmseg", 24, Form::UnsignedLong),
    Field::new("shmall", 32, Form::UnsignedLong),
];

static SHARED_USE: [Field; 6] = [
    Field::new("used_ids", 0, Form::Signed),
    Field::new("shm_tot", 8, Form::UnsignedLong),
    Field::new("shm_rss", 16, Form::UnsignedLong),
    Field::new("shm_swp", 24, Form::UnsignedLong),
    Field::new("swap_attempts", 32, Form::UnsignedLong),
    Field::new("swap_successes", 40, Form::UnsignedLong),
];

static QUEUE: [Field; 7] = [
    Field::new("msg_stime", 48, Form::Long),
    Field::new("msg_rtime", 56, Form::Long),
    Field::new("msg_ctime", 64, Form::Long),
    Field::new("msg_qnum", 80, Form::UnsignedLong),
    Field::new("msg_qbytes", 88, Form::UnsignedLong),
    Field::new("msg_lspid", 96, Form::Signed),
    Field::new("msg_lrpid", 100, Form::Signed),
];

static QUEUE_SET: [Field; 1] = [Field::new("msg_qbytes", 88, Form::UnsignedLong)];

static QUEUE_LIMITS: [Field; 8] = [
    Field::new("msgpool", 0, Form::Signed),
    Field::new("msgmap", 4, Form::Signed),
    Field::new("msgmax", 8, Form::Signed),
    Field::new("msgmnb", 12, Form::Signed),
    Field::new("msgmni", 16, Form::Signed),
    Field::new("msgssz", 20, Form::Signed),
    Field::new("msgtql", 24, Form::Signed),
    Field::new(
        "msgseg",
        28,
        Form::By(|context, bytes| context.number(u64::from(u32_at(bytes, 28) & 0xffff))),
    ),
];

static SEMAPHORES: [Field; 3] = [
    Field::new("sem_otime", 48, Form::Long),
    Field::new("sem_ctime", 64, Form::Long),
    Field::new("sem_nsems", 80, Form::UnsignedLong),
];

static SEMAPHORE_LIMITS: [Field; 10] = [
    Field::new("semmap", 0, Form::Signed),
    Field::new("semmni", 4, Form::Signed),
    Field::new("semmns", 8, Form::Signed),
    Field::new("semmnu", 12, Form::Signed),
    Field::new("semmsl", 16, Form::Signed),
    Field::new("semopm", 20, Form::Signed),
    Field::new("semume", 24, Form::Signed),
    Field::new("semusz", 28, Form::Signed),
    Field::new("semvmx", 32, Form::Signed),
    Field::new("semaem", 36, Form::Signed),
];

/// Writes an object: its permission, called `name`, and its own fields.
fn object<const N: usize>(
    context: &mut DecodeContext<'_>,
    address: u64,
    name: &str,
    permission: &[Field],
    list: &[Field],
) {
    context.structure::<N>(address, |context, bytes| {
        put!(context, "{{{name}={{");
        context.fields(&bytes.0, permission);
        context.put("}");
        if !list.is_empty() {
            context.put(", ");
            context.fields(&bytes.0, list);
        }
        context.put("}");
    });
}

/// The structure of `shmctl`; the argument before is the operation.
pub(crate) const SHARED_DATA: ArgumentKind = ArgumentKind::new(|context, index| {
    const SIZE: usize = 112;
    match context.argument(index - 1) & 0xffff_ffff {
        SET => object::<SIZE>(context, context.argument(index), "shm_perm", &PERMISSION_SET, &[]),
        STATUS | 13 | 15 => {
            return context.at_exit(index, |context, address| {
                object::<SIZE>(context, address, "shm_perm", &PERMISSION, &SHARED);
            });
        }
        LIMITS => {
            return context.at_exit(index, |context, at| context.record::<72>(at, &SHARED_LIMITS));
        }
        14 => return context.at_exit(index, |context, at| context.record::<48>(at, &SHARED_USE)),
        _ => return numbers::POINTER_OUT.write(context, index),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 112)]);

/// The structure of `msgctl`; the argument before is the operation.
pub(crate) const QUEUE_DATA: ArgumentKind = ArgumentKind::new(|context, index| {
    const SIZE: usize = 120;
    let address = context.argument(index);
    match context.argument(index - 1) & 0xffff_ffff {
        SET => object::<SIZE>(context, address, "msg_perm", &PERMISSION_SET, &QUEUE_SET),
        STATUS | 11 | 13 => {
            return context.at_exit(index, |context, address| {
                object::<SIZE>(context, address, "msg_perm", &PERMISSION, &QUEUE);
            });
        }
        LIMITS | 12 => {
            return context.at_exit(index, |context, at| context.record::<32>(at, &QUEUE_LIMITS));
        }
        _ => return numbers::POINTER_OUT.write(context, index),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 120)]);

/// The structure of `semctl`, or a number; the argument before is the operation.
pub(crate) const SEMAPHORE_DATA: ArgumentKind = ArgumentKind::new(|context, index| {
    const SIZE: usize = 104;
    match context.argument(index - 1) & 0xffff_ffff {
        SET => object::<SIZE>(context, context.argument(index), "sem_perm", &PERMISSION_SET, &[]),
        STATUS | 18 | 20 => {
            return context.at_exit(index, |context, address| {
                object::<SIZE>(context, address, "sem_perm", &PERMISSION, &SEMAPHORES);
            });
        }
        LIMITS | 19 => {
            return context
                .at_exit(index, |context, at| context.record::<40>(at, &SEMAPHORE_LIMITS));
        }
        _ => return numbers::POINTER.write(context, index),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 104)]);

fn operation(context: &mut DecodeContext<'_>, bytes: &StructBytes<6>) {
    static FLAGS: Flags = Flags {
        unknown: "SEM_???",
        names: crate::flags::names![(0x1000, "SEM_UNDO"), (0x800, "IPC_NOWAIT")],
    };
    put!(context, "{{sem_num={}, sem_op={}, sem_flg=", bytes.u16(0), bytes.u16(2) as i16);
    context.constant(&FLAGS, u64::from(bytes.u16(4)));
    context.put("}");
}

/// Operations on semaphores; the next argument is their number.
pub(crate) const OPERATIONS: ArgumentKind = ArgumentKind::new(|context, index| {
    let count = context.argument(index + 1) & 0xffff_ffff;
    context.array(context.argument(index), count, operation);
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Enter, 1, 6)])
.of_any_width();

fn message(context: &mut DecodeContext<'_>, address: u64, length: u64) {
    context.structure::<8>(address, |context, bytes| {
        put!(context, "{{mtype={}, mtext=", bytes.i64(0));
        context.data(address.wrapping_add(8), length);
        context.put("}");
    });
}

/// A message that is sent; the next argument is the length of its text.
pub(crate) const MESSAGE_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    message(context, context.argument(index), context.argument(index + 1));
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8 + 256)]);

/// A message that is received; the result is the length of its text.
pub(crate) const MESSAGE_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    if context.has_failed() {
        context.pointer(context.argument(index));
    } else {
        message(context, context.argument(index), context.count());
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Exit, 8 + 256)]);

fn attributes(context: &mut DecodeContext<'_>, bytes: &StructBytes<64>) {
    context.put("{mq_flags=");
    context.constant(&files::OPEN, bytes.u64(0));
    put!(context, ", mq_maxmsg={}, mq_msgsize={}", bytes.i64(8), bytes.i64(16));
    put!(context, ", mq_curmsgs={}}}", bytes.i64(24));
}

/// Attributes of a queue that are set.
pub(crate) const ATTRIBUTES_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), attributes);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 64)]);

/// Attributes of a queue that is created; without `O_CREAT` they are ignored.
pub(crate) const ATTRIBUTES_NEW: ArgumentKind = ArgumentKind::new(|context, index| {
    const CREATE: u64 = 0x40;
    if context.argument(1) & CREATE == 0 {
        return Outcome::Skip;
    }
    ATTRIBUTES_IN.write(context, index)
})
.reading(&[reads::fixed(CapturePhase::Enter, 64)]);

/// Attributes of a queue that are returned.
pub(crate) const ATTRIBUTES_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, attributes))
        .reading(&[reads::fixed(CapturePhase::Exit, 64)]);

/// How an event is signalled: `{sigev_value=…, sigev_signo=SIGALRM, sigev_notify=SIGEV_SIGNAL}`.
pub(crate) const EVENT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<32>(context.argument(index), |context, bytes| {
        const SIGNAL: u32 = 0;
        const THREAD: u32 = 2;
        const THREAD_ID: u32 = 4;
        static NOTIFY: Names = Names {
            unknown: "SIGEV_???",
            names: crate::flags::names![
                (0, "SIGEV_SIGNAL"),
                (1, "SIGEV_NONE"),
                (2, "SIGEV_THREAD"),
                (4, "SIGEV_THREAD_ID"),
            ],
        };
        context.put("{");
        if bytes.u64(0) != 0 {
            put!(context, "sigev_value={{sival_int={}, sival_ptr=", bytes.i32(0));
            context.pointer(bytes.u64(0));
            context.put("}, ");
        }
        context.put("sigev_signo=");
        let (number, notify) = (bytes.u32(8), bytes.u32(12));
        if matches!(notify, SIGNAL | THREAD | THREAD_ID) {
            super::signals::signal(context, number as i32);
        } else {
            // No signal is sent.
            put!(context, "{number}");
        }
        context.put(", sigev_notify=");
        context.constant(&NOTIFY, u64::from(notify));
        if notify == THREAD_ID {
            put!(context, ", sigev_notify_thread_id={}", bytes.i32(16));
        } else if notify == THREAD {
            context.put(", sigev_notify_function=");
            context.pointer(bytes.u64(16));
            context.put(", sigev_notify_attributes=");
            context.pointer(bytes.u64(24));
        }
        context.put("}");
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 32)]);
