//! `io_uring_setup`: what is asked of a ring, and how it is laid out.
//!
//! Reads `struct io_uring_params`: the first half at the entry, the rest, which the kernel fills in,
//! after the exit.

use super::structure::{Field, Form};
use super::{ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, put, reads};
use crate::flags::ring as names;

const SIZE: usize = 120;

static ASKED: [Field; 3] = [
    Field::new("flags", 8, Form::Flags(&names::SETUP)),
    Field::new("sq_thread_cpu", 12, Form::Hex),
    Field::new("sq_thread_idle", 16, Form::Unsigned),
];

static ANSWERED: [Field; 3] = [
    Field::new("sq_entries", 0, Form::Unsigned),
    Field::new("cq_entries", 4, Form::Unsigned),
    Field::new("features", 20, Form::Flags(&names::FEATURES)),
];

static SUBMISSION: [Field; 7] = [
    Field::new("head", 40, Form::Unsigned),
    Field::new("tail", 44, Form::Unsigned),
    Field::new("ring_mask", 48, Form::Unsigned),
    Field::new("ring_entries", 52, Form::Unsigned),
    Field::new("flags", 56, Form::Unsigned),
    Field::new("dropped", 60, Form::Unsigned),
    Field::new("array", 64, Form::Unsigned),
];

static COMPLETION: [Field; 7] = [
    Field::new("head", 80, Form::Unsigned),
    Field::new("tail", 84, Form::Unsigned),
    Field::new("ring_mask", 88, Form::Unsigned),
    Field::new("ring_entries", 92, Form::Unsigned),
    Field::new("overflow", 96, Form::Unsigned),
    Field::new("cqes", 100, Form::Unsigned),
    Field::new("flags", 104, Form::Unsigned),
];

/// The parameters of a ring.
pub(crate) const PARAMETERS: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    let bytes = context.read::<SIZE>(address);
    match bytes {
        None if context.is_over() => {}
        None => context.pointer(address),
        Some(bytes) if context.is_over() => {
            if !context.has_failed() {
                answer(context, &bytes);
            }
            context.put("}");
        }
        Some(bytes) => {
            context.put("{");
            context.fields(&bytes.0, &ASKED);
            extras(context, &bytes);
            return Outcome::More;
        }
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, SIZE as u32)])
.of_any_width();

/// Writes what only some rings have: another ring's threads, and words that should be zeros.
fn extras(context: &mut DecodeContext<'_>, bytes: &StructBytes<SIZE>) {
    const ATTACH: u32 = 1 << 5;
    if bytes.u32(8) & ATTACH != 0 {
        context.put(", wq_fd=");
        context.descriptor(bytes.i32(24));
    }
    let reserved = [28, 32, 36].map(|at| bytes.u32(at));
    if reserved != [0; 3] {
        let [first, second, third] = reserved;
        context.put(", resv=[");
        for (separator, number) in [("", first), (", ", second), (", ", third)] {
            context.put(separator);
            context.hex(number.into());
        }
        context.put("]");
    }
}

fn answer(context: &mut DecodeContext<'_>, bytes: &StructBytes<SIZE>) {
    context.put(", ");
    context.fields(&bytes.0, &ANSWERED);
    for (name, list, reserved) in [("sq", &SUBMISSION, 68), ("cq", &COMPLETION, 108)] {
        put!(context, ", {name}_off={{");
        context.fields(&bytes.0, list);
        if bytes.u32(reserved) != 0 {
            put!(context, ", resv1={:#x}", bytes.u32(reserved));
        }
        if bytes.u64(reserved + 4) != 0 {
            put!(context, ", resv2={:#x}", bytes.u64(reserved + 4));
        }
        context.put("}");
    }
}
