//! Frames through admission and commits, without connections: for fuzz targets.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::central::limits::AdmissionLimits;
use crate::central::recordings::{RecordingFolder, RecordingsTaken};
use crate::central::shared::Shared;
use crate::central::{CentralSettings, peer};
use log_protocol::StreamId;
use log_protocol::frame::{FrameKind, Head};
use log_store::OwnLog;
use log_store::audit::Audit;
use log_store::{Retention, Store, StoreSettings};

/// Frames between two commits.
const COMMIT_EVERY: usize = 3;
/// Any time.
const NOW_NS: u64 = 1_700_000_000_000_000_000;

/// Admits and commits what a proxy sends.
///
/// # Panics
/// If the store then has a record twice, is damaged, or forgets a mark.
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn admit(folder: &Path, frames: Vec<(Head, Vec<u8>)>) {
    let settings = StoreSettings { sync: false, segment_bytes: 4096, ..StoreSettings::default() };
    let (mut store, _) = Store::open(folder, settings.clone(), [7; 16]).expect("a store");
    let central = CentralSettings {
        secret: None,
        delay: Duration::ZERO,
        retention: Retention::default(),
        limits: AdmissionLimits { processes: 8, streams: 32, ..AdmissionLimits::default() },
        host: "central".to_owned(),
        acks_on_receipt: false,
        recordings: None,
    };
    let own = OwnLog::new([9; 16], "central".to_owned());
    let shared = Shared::new(&store, own, central, Arc::new(AtomicBool::new(false)), None);
    let mut may_repeat = false;
    for (number, (head, mut body)) in frames.into_iter().enumerate() {
        // Of a process that has ended, nothing is known any more.
        may_repeat |= head.kind == FrameKind::Held || head.stream.process.0 == [9; 16];
        if !matches!(peer::handle_frame(&shared, 0, &head, &mut body), Ok(peer::Served::Next)) {
            break;
        }
        if number % COMMIT_EVERY == COMMIT_EVERY - 1 {
            commit(&shared, &mut store);
        }
    }
    commit(&shared, &mut store);
    let marks = marks_of(&store);
    drop(store);
    let (store, recovery) = Store::open(folder, settings, [8; 16]).expect("the store again");
    assert!(recovery.damaged.is_empty() && recovery.cut_bytes == 0, "{recovery:?}");
    if !may_repeat {
        assert_eq!(marks, marks_of(&store));
    }
    let audit = Audit::of(folder, true).expect("an audit");
    assert!(audit.damaged.is_empty() && audit.missing_chunks.is_empty(), "{audit:?}");
    assert!(may_repeat || audit.total().duplicates == 0, "{audit:?}");
}

/// Takes what a recorder sends; the answers are dropped.  The recordings can be read then.
///
/// # Panics
/// If the folder cannot be opened.
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn take_recordings(folder: &Path, frames: &[(Head, Vec<u8>)]) {
    let taken = RecordingFolder::open(folder, false).expect("a folder");
    let mut sent = RecordingsTaken::new(&taken, (1, [5; 16]), &|_| {});
    for (head, body) in frames {
        if sent.handle_frame(head, body).is_err() {
            break;
        }
    }
}

#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
fn commit(shared: &Shared, store: &mut Store) {
    let pending = std::mem::take(&mut shared.lock().pending);
    if !pending.batch.is_empty() {
        store.write(&pending.batch, NOW_NS).expect("a commit");
        shared.note_written();
        shared.succeed(pending.batch.record_count(), pending.batch.bytes as u64);
    }
    shared.commit_marks(pending.marks(store));
    shared.give_back(pending.batch);
}

fn marks_of(store: &Store) -> Vec<(StreamId, u64)> {
    let mut marks: Vec<_> = store.marks().filter(|(_, next)| *next > 0).collect();
    marks.sort_unstable();
    marks
}
