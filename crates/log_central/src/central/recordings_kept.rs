//! Deletes recordings of other hosts that are old, or too many of a host, as the recorder of a host does with
//! its own.
//!
//! What stays whatever its age and size: the recordings of this host and of others that nobody has sent, what is
//! being sent, the newest of each host, and what an engine still waits for to which this folder is sent
//! (`send::Unsent`).  For its size alone nothing goes that its sender may go on with: it would be sent again.
//!
//! A look at the folder costs a stat(2) of each recording; a recording is opened only before it is deleted.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use recorder::{Keep, recording_bytes, remove_recording};
use recording::Reader;
use send::Unsent;
use text::error_text::with_causes;

use super::recordings::{RecordingFolder, SentRecording};

/// Between two looks at the folder.
pub(super) const LOOK_WAIT: Duration = Duration::from_secs(600);

/// A recording that may be deleted.
struct Candidate {
    file_id: u64,
    path: PathBuf,
    modified: SystemTime,
    bytes: u64,
    is_being_sent: bool,
}

/// The time of the newest recording that was sent, in nanoseconds since the epoch.
pub(super) fn newest_ns(folder: &RecordingFolder) -> Option<i64> {
    let times =
        folder.sent().into_iter().filter_map(|one| one.path.metadata().ok()?.modified().ok());
    let since = times.max()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

/// Deletes what is kept no longer at `now_ns`, nanoseconds since the epoch; what is to be said of it.
pub(super) fn purge(folder: &RecordingFolder, keep: Keep, now_ns: i64) -> Vec<String> {
    let unsent = match Unsent::read(folder.path()) {
        Ok(unsent) => unsent,
        Err(error) => {
            let why = with_causes(&error);
            return vec![format!("recordings of other hosts are not deleted: {why}")];
        }
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(now_ns.max(0).unsigned_abs());
    let mut said = Vec::new();
    let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, candidates) in by_host(folder.sent()) {
        for (candidate, is_old) in no_longer_kept(&candidates, keep, now) {
            if let Some(engine) = unsent.engine_for(candidate.file_id, &candidate.path) {
                *waiting.entry(engine).or_default() += 1;
                continue;
            }
            if !is_old && !is_closed(candidate) {
                continue;
            }
            let path = candidate.path.display();
            match folder.remove(candidate.file_id, remove_recording) {
                Some(Ok(())) => said.push(format!("{path} is old and was deleted")),
                Some(Err(error)) => said.push(format!("cannot delete {path}: {error}")),
                // Its sender has come again.
                None => {}
            }
        }
    }
    said.extend(waiting.into_iter().map(|(engine, count)| {
        format!(
            "{count} recordings of other hosts are older or larger than is kept, but the engine {engine} has \
             not got all of them: if nothing is sent to it any more, remove .send-{engine}.json and \
             .send-{engine}.lock from the folder of recordings"
        )
    }));
    said
}

/// The recordings of each host, the oldest first.
fn by_host(sent: Vec<SentRecording>) -> BTreeMap<String, Vec<Candidate>> {
    let mut hosts: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for SentRecording { file_id, path, host, is_being_sent } in sent {
        let Ok(modified) = fs::metadata(&path).and_then(|facts| facts.modified()) else { continue };
        let bytes = recording_bytes(&path);
        let candidate = Candidate { file_id, path, modified, bytes, is_being_sent };
        hosts.entry(host).or_default().push(candidate);
    }
    for candidates in hosts.values_mut() {
        candidates
            .sort_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
    }
    hosts
}

/// Recordings of a host that are kept no longer, and whether each is so for its age.
fn no_longer_kept(
    candidates: &[Candidate],
    keep: Keep,
    now: SystemTime,
) -> impl Iterator<Item = (&Candidate, bool)> {
    let mut bytes: u64 = candidates.iter().map(|one| one.bytes).sum();
    let older = candidates.split_last().map_or(&[][..], |(_, older)| older);
    older.iter().filter(|one| !one.is_being_sent).filter_map(move |one| {
        let age = now.duration_since(one.modified).unwrap_or_default();
        let is_old = keep.age_ns.is_some_and(|age_ns| age.as_nanos() > u128::from(age_ns));
        let is_beyond = keep.size_bytes.is_some_and(|size| bytes > size);
        if is_old || is_beyond {
            bytes = bytes.saturating_sub(one.bytes);
        }
        (is_old || is_beyond).then_some((one, is_old))
    })
}

/// Whether its sender has said that it has no more samples.
fn is_closed(candidate: &Candidate) -> bool {
    // One that cannot be read can be nothing to go on with.
    Reader::open(&candidate.path, &[]).map_or(true, |reader| !reader.damage().not_closed)
}
