//! System V and POSIX shared memory, semaphores and message queues.

use super::{Bytes, Kind, Outcome, Scene, When, numbers::Mode, put, reads};
use crate::flags::{Flags, Names, files, memory as names};

/// A key: `IPC_PRIVATE`, `0x1234`.
pub(crate) const KEY: Kind = Kind::new(|scene, index| {
    match scene.argument(index) & 0xffff_ffff {
        0 => scene.put("IPC_PRIVATE"),
        key => put!(scene, "{key:#x}"),
    }
    Outcome::Done
});

fn get_flags(scene: &mut Scene<'_>, bits: u64, set: &'static Flags, shift: Option<&str>) {
    const MODE: u64 = 0o777;
    const SIZE: u64 = 0xfc00_0000;
    let size = if shift.is_some() { bits & SIZE } else { 0 };
    let flags = bits & !MODE & !size;
    if flags != 0 {
        set.write_rest(flags, scene.out);
        scene.put("|");
    }
    if let Some(name) = shift
        && size != 0
    {
        put!(scene, "{}<<{name}|", size >> 26);
    }
    put!(scene, "{}", Mode((bits & MODE) as u16));
}

/// How a queue or a set of semaphores is made.
pub(crate) const GET: Kind = Kind::new(|scene, index| {
    get_flags(scene, scene.argument(index) & 0xffff_ffff, &names::IPC_GET, None);
    Outcome::Done
});

/// How shared memory is made.
pub(crate) const SHARED_GET: Kind = Kind::new(|scene, index| {
    let bits = scene.argument(index) & 0xffff_ffff;
    get_flags(scene, bits, &names::SHARED_GET, Some("SHM_HUGE_SHIFT"));
    Outcome::Done
});

fn command(scene: &mut Scene<'_>, index: usize, list: &'static Names) {
    const VERSION: u64 = 0x100;
    let value = scene.argument(index) & 0xffff_ffff;
    if value & VERSION != 0 {
        scene.put("IPC_64|");
    }
    list.write(value & !VERSION, scene.out);
}

/// What is done with shared memory.
pub(crate) const SHARED_CONTROL: Kind = Kind::new(|scene, index| {
    command(scene, index, &names::SHARED_CONTROL);
    Outcome::Done
});

/// What is done with a queue.
pub(crate) const MESSAGE_CONTROL: Kind = Kind::new(|scene, index| {
    command(scene, index, &names::MESSAGE_CONTROL);
    Outcome::Done
});

/// What is done with semaphores.
pub(crate) const SEMAPHORE_CONTROL: Kind = Kind::new(|scene, index| {
    command(scene, index, &names::SEMAPHORE_CONTROL);
    Outcome::Done
});

fn operation(scene: &mut Scene<'_>, bytes: &Bytes<6>) {
    static FLAGS: Flags =
        Flags { unknown: "SEM_???", names: &[(0x1000, "SEM_UNDO"), (0x800, "IPC_NOWAIT")] };
    put!(scene, "{{sem_num={}, sem_op={}, sem_flg=", bytes.u16(0), bytes.u16(2) as i16);
    FLAGS.write(u64::from(bytes.u16(4)), scene.out);
    scene.put("}");
}

/// Operations on semaphores; the next argument is their number.
pub(crate) const OPERATIONS: Kind = Kind::new(|scene, index| {
    let count = scene.argument(index + 1) & 0xffff_ffff;
    scene.array(scene.argument(index), count, operation);
    Outcome::Done
})
.reading(&[reads::counted(When::Enter, 1, 6)])
.of_any_width();

fn message(scene: &mut Scene<'_>, address: u64, length: u64) {
    scene.structure::<8>(address, |scene, bytes| {
        put!(scene, "{{mtype={}, mtext=", bytes.i64(0));
        scene.data(address.wrapping_add(8), length);
        scene.put("}");
    });
}

/// A message that is sent; the next argument is the length of its text.
pub(crate) const MESSAGE_IN: Kind = Kind::new(|scene, index| {
    message(scene, scene.argument(index), scene.argument(index + 1));
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 8 + 256)]);

/// A message that is received; the result is the length of its text.
pub(crate) const MESSAGE_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    if scene.has_failed() {
        scene.pointer(scene.argument(index));
    } else {
        message(scene, scene.argument(index), scene.count());
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Exit, 8 + 256)]);

fn attributes(scene: &mut Scene<'_>, bytes: &Bytes<64>) {
    scene.put("{mq_flags=");
    files::OPEN.write(bytes.u64(0), scene.out);
    put!(scene, ", mq_maxmsg={}, mq_msgsize={}", bytes.i64(8), bytes.i64(16));
    put!(scene, ", mq_curmsgs={}}}", bytes.i64(24));
}

/// Attributes of a queue that are set.
pub(crate) const ATTRIBUTES_IN: Kind = Kind::new(|scene, index| {
    scene.structure(scene.argument(index), attributes);
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 64)]);

/// Attributes that a queue is made with; without `O_CREAT` they are not looked at.
pub(crate) const ATTRIBUTES_NEW: Kind = Kind::new(|scene, index| {
    const CREATE: u64 = 0x40;
    if scene.argument(1) & CREATE == 0 {
        return Outcome::Skip;
    }
    ATTRIBUTES_IN.write(scene, index)
})
.reading(&[reads::fixed(When::Enter, 64)]);

/// Attributes of a queue that are asked for.
pub(crate) const ATTRIBUTES_OUT: Kind = Kind::new(|scene, index| scene.filled(index, attributes))
    .reading(&[reads::fixed(When::Exit, 64)]);

/// How to tell that an event came: `{sigev_value=…, sigev_signo=SIGALRM, sigev_notify=SIGEV_SIGNAL}`.
pub(crate) const EVENT: Kind = Kind::new(|scene, index| {
    scene.structure::<24>(scene.argument(index), |scene, bytes| {
        static NOTIFY: Names = Names {
            unknown: "SIGEV_???",
            names: &[
                (0, "SIGEV_SIGNAL"),
                (1, "SIGEV_NONE"),
                (2, "SIGEV_THREAD"),
                (4, "SIGEV_THREAD_ID"),
            ],
        };
        scene.put("{");
        if bytes.u64(0) != 0 {
            put!(scene, "sigev_value={{sival_int={}, sival_ptr=", bytes.i32(0));
            scene.pointer(bytes.u64(0));
            scene.put("}, ");
        }
        scene.put("sigev_signo=");
        super::signals::signal(scene, bytes.i32(8));
        scene.put(", sigev_notify=");
        NOTIFY.write(u64::from(bytes.u32(12)), scene.out);
        if bytes.u32(12) == 4 {
            put!(scene, ", sigev_notify_thread_id={}", bytes.i32(16));
        }
        scene.put("}");
    });
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 24)]);
