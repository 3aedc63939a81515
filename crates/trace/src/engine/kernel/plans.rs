//! What is copied in the kernel for each call: the table's captures as the program takes them.

use bpf::{CAPTURES_MAX, CaptureKind, CaptureLength, PIECE_BYTES};

use crate::engine::Wanted;
use crate::{CallId, Capture, Copied, Length, SLOTS, When, captures};

/// The captures of all wanted calls that have any, by place.
pub(super) fn plans(wanted: &Wanted, data_bytes: u32) -> Vec<(usize, Vec<bpf::MemoryCapture>)> {
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

fn extent(length: Length) -> CaptureLength {
    match length {
        Length::Fixed(count) => CaptureLength::Fixed(u16::try_from(count).unwrap_or(u16::MAX)),
        Length::Argument(index) => CaptureLength::Argument(index),
        Length::Result => CaptureLength::Result,
        Length::Behind(index) => CaptureLength::Behind(index),
    }
}

fn of(capture: &Capture, data_bytes: u32) -> bpf::MemoryCapture {
    let mut raw = bpf::MemoryCapture {
        argument: capture.argument,
        at_enter: capture.when != When::Exit,
        at_exit: capture.when != When::Enter,
        shape: CaptureKind::Text,
        count: CaptureLength::All,
        total: CaptureLength::All,
        size: 1,
        bytes_max: PIECE_BYTES,
    };
    match capture.what {
        Copied::Text => (),
        Copied::Texts => raw.shape = CaptureKind::Texts,
        Copied::Pointers => raw.shape = CaptureKind::Pointers,
        Copied::Bytes { count, size } => {
            (raw.shape, raw.count, raw.size) = (CaptureKind::Bytes, extent(count), size);
        }
        Copied::Data(bytes) => {
            (raw.shape, raw.count, raw.bytes_max) = (CaptureKind::Bytes, extent(bytes), data_bytes);
        }
        Copied::Vectors { count, total } => {
            (raw.shape, raw.count) = (CaptureKind::Vectors, extent(count));
            raw.total = total.map_or(CaptureLength::All, extent);
        }
        Copied::Message => raw.shape = CaptureKind::Message,
        Copied::Messages { count } => {
            (raw.shape, raw.count) = (CaptureKind::Messages, extent(count));
        }
        Copied::Mask => raw.shape = CaptureKind::Mask,
        Copied::CloneResults => raw.shape = CaptureKind::CloneResults,
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
