//! What is copied in the kernel for each call: the table's captures as the program takes them.

use bpf::{CAPTURES_MAX, Extent, PIECE_BYTES, Shape};

use crate::engine::Wanted;
use crate::{CallId, Capture, Copied, Length, SLOTS, When, captures};

/// The captures of all wanted calls that have any, by place.
pub(super) fn plans(wanted: &Wanted, data_bytes: u32) -> Vec<(usize, Vec<bpf::Capture>)> {
    (0..SLOTS)
        .map(|slot| (slot, CallId::of_slot(slot)))
        .filter(|(_, call)| wanted.has(*call))
        .map(|(slot, call)| (slot, captures(call)))
        .filter(|(_, captures)| !captures.is_empty())
        .map(|(slot, captures)| {
            let plan = captures.iter().take(CAPTURES_MAX).map(|capture| of(capture, data_bytes));
            (slot, plan.collect())
        })
        .collect()
}

fn extent(length: Length) -> Extent {
    match length {
        Length::Fixed(count) => Extent::Fixed(u16::try_from(count).unwrap_or(u16::MAX)),
        Length::Argument(index) => Extent::Argument(index),
        Length::Result => Extent::Result,
        Length::Behind(index) => Extent::Behind(index),
    }
}

fn of(capture: &Capture, data_bytes: u32) -> bpf::Capture {
    let mut raw = bpf::Capture {
        argument: capture.argument,
        at_enter: capture.when != When::Exit,
        at_exit: capture.when != When::Enter,
        shape: Shape::Text,
        count: Extent::All,
        total: Extent::All,
        size: 1,
        bytes_max: PIECE_BYTES,
    };
    match capture.what {
        Copied::Text => (),
        Copied::Texts => raw.shape = Shape::Texts,
        Copied::Pointers => raw.shape = Shape::Pointers,
        Copied::Bytes { count, size } => {
            (raw.shape, raw.count, raw.size) = (Shape::Bytes, extent(count), size);
        }
        Copied::Data(bytes) => {
            (raw.shape, raw.count, raw.bytes_max) = (Shape::Bytes, extent(bytes), data_bytes);
        }
        Copied::Vectors { count, total } => {
            (raw.shape, raw.count) = (Shape::Vectors, extent(count));
            raw.total = total.map_or(Extent::All, extent);
        }
        Copied::Message => raw.shape = Shape::Message,
        Copied::Messages { count } => (raw.shape, raw.count) = (Shape::Messages, extent(count)),
        Copied::Mask => raw.shape = Shape::Mask,
        Copied::CloneResults => raw.shape = Shape::CloneResults,
    }
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capture_has_its_place() {
        let all = plans(&Wanted::all(), 32);
        assert!(all.len() > 200, "{}", all.len());
        for slot in 0..SLOTS {
            let captures = captures(CallId::of_slot(slot));
            assert!(captures.len() <= CAPTURES_MAX, "{}", CallId::of_slot(slot).name());
            for capture in captures {
                if let Copied::Bytes { size, .. } = capture.what {
                    assert!(size <= PIECE_BYTES, "{capture:?}");
                }
            }
        }
        let none = plans(&Wanted::of(|call| call.known_name() == Some("getppid")), 32);
        assert_eq!(none, []);
    }
}
