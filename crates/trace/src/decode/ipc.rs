//! System V and POSIX shared memory, semaphores and message queues.

use super::{
    ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, numbers::Mode, put, reads,
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
