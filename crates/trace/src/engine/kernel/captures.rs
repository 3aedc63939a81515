//! What the programs copy for each call: the captures of the table, in the form that they take.

use bpf::{CAPTURES_MAX, CaptureKind, CaptureLength, PIECE_BYTES};

use crate::engine::CallFilter;
use crate::{CallId, Capture, CaptureCount, CapturePhase, CapturedData, SLOTS, captures};

/// The captures of all wanted calls that have any, by slot.
pub(super) fn plans(wanted: &CallFilter, data_bytes: u32) -> Vec<(usize, Vec<bpf::MemoryCapture>)> {
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

fn extent(length: CaptureCount) -> CaptureLength {
    match length {
        CaptureCount::Fixed(count) => {
            CaptureLength::Fixed(u16::try_from(count).unwrap_or(u16::MAX))
        }
        CaptureCount::Argument(index) => CaptureLength::Argument(index),
        CaptureCount::Result => CaptureLength::Result,
        CaptureCount::Behind(index) => CaptureLength::Behind(index),
    }
}

fn of(capture: &Capture, data_bytes: u32) -> bpf::MemoryCapture {
    let mut raw = bpf::MemoryCapture {
        argument: capture.argument,
        at_enter: capture.when != CapturePhase::Exit,
        at_exit: capture.when != CapturePhase::Enter,
        shape: CaptureKind::Text,
        count: CaptureLength::All,
        total: CaptureLength::All,
        size: 1,
        bytes_max: PIECE_BYTES,
    };
    match capture.what {
        CapturedData::Text => (),
        CapturedData::Texts => raw.shape = CaptureKind::Texts,
        CapturedData::Pointers => raw.shape = CaptureKind::Pointers,
        CapturedData::Bytes { count, size } => {
            (raw.shape, raw.count, raw.size) = (CaptureKind::Bytes, extent(count), size);
        }
        CapturedData::Data(bytes) => {
            (raw.shape, raw.count, raw.bytes_max) = (CaptureKind::Bytes, extent(bytes), data_bytes);
        }
        CapturedData::Vectors { count, total } => {
            (raw.shape, raw.count) = (CaptureKind::Vectors, extent(count));
            raw.total = total.map_or(CaptureLength::All, extent);
        }
        CapturedData::Message => raw.shape = CaptureKind::Message,
        CapturedData::Messages { count } => {
            (raw.shape, raw.count) = (CaptureKind::Messages, extent(count));
        }
        CapturedData::Mask => raw.shape = CaptureKind::Mask,
        CapturedData::CloneResults => raw.shape = CaptureKind::CloneResults,
    }
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capture_has_its_place() {
        let all = plans(&CallFilter::all(), 32);
        assert!(all.len() > 200, "{}", all.len());
        for slot in 0..SLOTS {
            let captures = captures(CallId::of_slot(slot));
            assert!(captures.len() <= CAPTURES_MAX, "{}", CallId::of_slot(slot).name());
            for capture in captures {
                if let CapturedData::Bytes { size, .. } = capture.what {
                    assert!(size <= PIECE_BYTES, "{capture:?}");
                }
            }
        }
        let none = plans(&CallFilter::of(|call| call.known_name() == Some("getppid")), 32);
        assert_eq!(none, []);
    }
}
