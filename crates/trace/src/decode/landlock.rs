//! Landlock: the accesses that a set of rules handles, and the rules.

use super::structure::{Field, Form};
use super::{ArgumentKind, CapturePhase, Outcome, numbers, reads};
use crate::flags::process as names;

static RULESET: [Field; 1] =
    [Field::new("handled_access_fs", 0, Form::LongFlags(&names::LANDLOCK_ACCESS))];

static PATH_BENEATH: [Field; 2] = [
    Field::new("allowed_access", 0, Form::LongFlags(&names::LANDLOCK_ACCESS)),
    Field::new("parent_fd", 8, Form::Descriptor),
];

/// The attributes of a set of rules; the next arguments are their size and flags, which ask for
/// something else.
pub(crate) const ATTRIBUTES: ArgumentKind = ArgumentKind::new(|context, index| {
    const SIZE: usize = 8;
    let (address, size) = (context.argument(index), context.argument(index + 1));
    let flags = context.argument(index + 2) & 0xffff_ffff;
    match context.read::<SIZE>(address) {
        Some(bytes) if size >= SIZE as u64 && flags == 0 => {
            context.put("{");
            context.fields(&bytes.0, &RULESET);
            context.put(if size > SIZE as u64 { ", ...}" } else { "}" });
        }
        _ => context.pointer(address),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)])
.of_any_width();

/// A rule; the argument before says its kind.
pub(crate) const RULE: ArgumentKind = ArgumentKind::new(|context, index| {
    const BENEATH: u64 = 1;
    if context.argument(index - 1) & 0xffff_ffff != BENEATH {
        return numbers::POINTER.write(context, index);
    }
    context.record::<12>(context.argument(index), &PATH_BENEATH);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 12)])
.of_any_width();
