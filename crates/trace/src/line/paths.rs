//! Calls that have to do with a path (`-P`): they name it, or use a descriptor of it.

use super::Desk;
use crate::decode::{Memo, Named, Scene};
use crate::event::Call;
use crate::table;

/// Whether a call names one of the paths that are asked for.
pub(super) fn names_any(desk: &Desk<'_>, call: &Call) -> bool {
    let paths = &desk.printer.options.paths;
    let entry = table::entry(call.id);
    entry.arguments.iter().zip(call.arguments).any(|(kind, value)| match kind.names {
        Named::Nothing => false,
        Named::Path => text_at(desk, call, value).is_some_and(|text| paths.contains(&text)),
        Named::Descriptor => {
            let (tracker, process) = (&desk.printer.tracker, desk.event.process);
            tracker
                .target(desk.descriptors, process, value as i32, false)
                .is_some_and(|target| paths.contains(&target.path))
        }
    })
}

fn text_at(desk: &Desk<'_>, call: &Call, address: u64) -> Option<Vec<u8>> {
    let scene = Scene {
        call: *call,
        result: None,
        style: desk.printer.options.style,
        memo: &mut Memo::default(),
        out: &mut Vec::new(),
        memory: desk.memory,
        is_blind: false,
        lookup: &(),
    };
    scene.read_text(address, crate::decode::PATH_MAX).map(|(text, _)| text)
}
