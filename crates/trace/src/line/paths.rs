//! Calls that concern a path (`-P`): they name it, or use a descriptor that points to it.

use super::printer::EventPrinter;
use crate::decode::{DecodeContext, Named, SavedWords};
use crate::event::Call;
use crate::table;

/// Whether a call concerns one of the paths.
pub(super) fn names_any(printing: &EventPrinter<'_>, call: &Call) -> bool {
    let paths = &printing.printer.options.paths;
    let entry = table::entry(call.id);
    entry.arguments.iter().zip(call.arguments).any(|(kind, value)| match kind.names {
        Named::Nothing => false,
        Named::Path => text_at(printing, call, value).is_some_and(|text| paths.contains(&text)),
        Named::Descriptor => {
            let (tracker, process) = (&printing.printer.tracker, printing.event.process);
            tracker
                .target(printing.descriptors, process, value as i32, false)
                .is_some_and(|target| paths.contains(&target.path))
        }
    })
}

fn text_at(printing: &EventPrinter<'_>, call: &Call, address: u64) -> Option<Vec<u8>> {
    let context = DecodeContext {
        call: *call,
        result: None,
        style: printing.printer.options.style,
        saved: &mut SavedWords::default(),
        out: &mut Vec::new(),
        memory: printing.memory,
        is_blind: false,
        lookup: &(),
    };
    context.read_text(address, crate::decode::PATH_MAX).map(|(text, _)| text)
}
