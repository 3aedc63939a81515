//! The audit of a store: what each stream sent and what is here, what is missing, what is twice.
//!
//! By the tables alone: marks say what was sent, counts what is here.  With `deep`, every record is
//! read, and its number compared.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::store::StoreReader;
use log_format::{LogRecord, RecordOrigin};
use log_protocol::record::SEQUENCES_MAX;
use log_protocol::{GapReason, StreamId};

/// What was found of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamAudit {
    /// Host and process.
    pub host: String,
    /// Name of the process.
    pub process: String,
    /// The process id.
    pub pid: u32,
    /// The first sequence number that the store knows of.
    pub first: u64,
    /// One more than the last: what the writer sent, by its own numbers.
    pub next: u64,
    /// Records that are here.
    pub records: u64,
    /// Records that are here a second time.
    pub duplicates: u64,
    /// Numbers that the writer used up for records that it dropped, as its policy says.
    pub dropped: u64,
    /// Records that the proxy left out, because they were made for local outputs alone.
    pub left_out: u64,
    /// Records that another store has: the proxy went on with this one.
    pub elsewhere: u64,
    /// What is proved to be lost: first, one after the last, reason.
    pub lost: Vec<(u64, u64, GapReason)>,
    last_seen: Option<u64>,
}

impl StreamAudit {
    /// Whether its numbers are impossible: a damaged or made-up ring claims them, and they count
    /// nothing.
    #[must_use]
    pub fn is_impossible(&self) -> bool {
        self.next > SEQUENCES_MAX
    }

    /// Records that are lost.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        let lost = self.lost.iter().map(|(first, next, _)| next.saturating_sub(*first));
        lost.fold(0, u64::saturating_add)
    }
}

/// What was found of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// By stream.
    pub streams: BTreeMap<StreamId, StreamAudit>,
    /// Damaged parts of segments: file, first byte, byte after the last.
    pub damaged: Vec<(PathBuf, u64, u64)>,
    /// Records that are here with a text that its writer has cut: they would have been too long.
    pub cut: u64,
    /// Bytes that these texts lack, as far as their writers say; 0 unless every record was read.
    pub cut_bytes: u64,
    /// Chunks whose numbers are missing: first, one after the last.
    pub missing_chunks: Vec<(u64, u64)>,
}

impl Audit {
    /// Sums over all streams.
    #[must_use]
    pub fn total(&self) -> StreamAudit {
        let mut total = StreamAudit::default();
        for stream in self.streams.values() {
            total.records = total.records.saturating_add(stream.records);
            total.duplicates = total.duplicates.saturating_add(stream.duplicates);
            if stream.is_impossible() {
                // What is here was sent; more is not known.
                total.next = total.next.saturating_add(stream.records);
                continue;
            }
            // What tables of a damaged or hostile store claim may be any number.
            let sent = stream.next.saturating_sub(stream.first);
            total.next = total.next.saturating_add(sent);
            total.dropped = total.dropped.saturating_add(stream.dropped);
            total.left_out = total.left_out.saturating_add(stream.left_out);
            total.elsewhere = total.elsewhere.saturating_add(stream.elsewhere);
            total.lost.extend_from_slice(&stream.lost);
        }
        total
    }

    /// Whether nothing is lost, twice or damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty()
            && self.missing_chunks.is_empty()
            && self
                .streams
                .values()
                .all(|one| one.lost.is_empty() && one.duplicates == 0 && !one.is_impossible())
    }

    /// Audits a store.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(store: &Path, deep: bool) -> io::Result<Self> {
        if !crate::may_be_store(store) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut audit = Audit::default();
        let mut reader = StoreReader::open(store)?;
        let mut next_chunk = None;
        while let Some((chunk, at)) = reader.next_chunk()? {
            if let Some(expected) = next_chunk
                && chunk.number > expected
            {
                audit.missing_chunks.push((expected, chunk.number));
            }
            next_chunk = Some(chunk.number.saturating_add(1));
            let cut: u64 = chunk.blocks.iter().map(|block| u64::from(block.cut_count())).sum();
            audit.cut = audit.cut.saturating_add(cut);
            for part in &chunk.streams {
                let info = &chunk.processes[part.process as usize].info;
                let stream = audit.streams.entry(chunk.stream_id(part)).or_insert_with(|| {
                    let (host, process) = (info.host.clone(), info.name.clone());
                    let (first, next) = (part.first, part.first);
                    let pid = info.pid;
                    StreamAudit { host, process, pid, first, next, ..StreamAudit::default() }
                });
                if part.first > stream.next {
                    // A chunk that had it is gone.
                    stream.lost.push((stream.next, part.first, GapReason::Store));
                } else if part.first < stream.next {
                    let again = stream.next.min(part.next).saturating_sub(part.first);
                    stream.duplicates = stream.duplicates.saturating_add(again);
                }
                stream.next = stream.next.max(part.next);
                stream.records = stream.records.saturating_add(part.count.into());
            }
            // What a writer gave up, as its policy says, is in `dropped`.
            for gap in &chunk.gaps {
                let id = chunk.stream_id(&chunk.streams[gap.stream as usize]);
                let Some(stream) = audit.streams.get_mut(&id) else { continue };
                let more = gap.next.saturating_sub(gap.first);
                if gap.reason == GapReason::LeftOut {
                    stream.left_out = stream.left_out.saturating_add(more);
                } else if gap.reason == GapReason::AnotherStore {
                    stream.elsewhere = stream.elsewhere.saturating_add(more);
                } else if !gap.reason.is_policy() {
                    stream.lost.push((gap.first, gap.next, gap.reason));
                }
            }
            if deep {
                let (streams, cut_bytes) = (&mut audit.streams, &mut audit.cut_bytes);
                let flow = reader.visit_chunk(&chunk, at, &|_, _| true, &mut |item| {
                    let id = StreamId { process: item.process.id, ring: item.stream.ring };
                    if let Some(stream) = streams.get_mut(&id) {
                        stream.see(item.record.sequence);
                    }
                    let record = item.record;
                    let record =
                        LogRecord::new(record, item.dictionary, RecordOrigin::default(), 0);
                    *cut_bytes = cut_bytes.saturating_add(record.cut_bytes().unwrap_or(0));
                    ControlFlow::Continue(())
                });
                let _ = flow?;
            }
        }
        for stream in audit.streams.values_mut() {
            let here = stream.records.saturating_add(stream.lost_count());
            let here = here.saturating_add(stream.left_out).saturating_add(stream.elsewhere);
            stream.dropped = stream.next.saturating_sub(stream.first).saturating_sub(here);
        }
        audit.damaged = reader.damaged;
        Ok(audit)
    }
}

impl StreamAudit {
    fn see(&mut self, sequence: u64) {
        if self.last_seen.is_some_and(|last| sequence <= last) {
            self.duplicates += 1;
        }
        self.last_seen = self.last_seen.max(Some(sequence));
    }
}
