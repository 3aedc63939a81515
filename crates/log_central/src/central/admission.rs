//! Which records are new: a mark for each stream, moved when a frame is admitted, before the commit.
//!
//! Two connections may send the same (an old one that is half dead, and its successor), so marks
//! are compared under one lock.  What was admitted stays until it is committed: a commit that fails
//! is tried again.

use log_protocol::frame::Head;
use log_protocol::{DICTIONARY, GapReason, ProcessId, ProcessInfo, StreamId, StreamInfo, record};
use log_store::{DICTIONARY_BYTES_MAX, LostPart, RecordsPart};

use super::marks::Refusal;
use super::shared::{Inner, Shared};

impl Shared {
    /// The committed mark of a stream or dictionary.
    pub(super) fn committed(&self, stream: StreamId) -> u64 {
        self.lock().known.get(stream).committed
    }

    pub(super) fn add_process(&self, info: ProcessInfo) -> Result<(), Refusal> {
        let mut inner = self.lock();
        inner.known.add_process(info.id)?;
        inner.pending.batch.bytes += 256;
        inner.pending.batch.processes.push(info);
        Ok(())
    }

    pub(super) fn add_stream(&self, info: StreamInfo) -> Result<(), Refusal> {
        let mut inner = self.lock();
        inner.known.add_stream(info.id)?;
        inner.pending.batch.bytes += 256;
        inner.pending.batch.streams.push(info);
        Ok(())
    }

    /// Admits bytes of a dictionary.
    pub(super) fn add_dictionary(
        &self,
        peer: u64,
        head: &Head,
        body: &[u8],
    ) -> Result<(), Refusal> {
        let Some(mut inner) = self.wait_for_room() else { return Ok(()) };
        let stream = StreamId { process: head.stream.process, ring: DICTIONARY };
        let marks = inner.known.add_stream(stream)?;
        let end = head.first.saturating_add(body.len() as u64);
        if head.first > marks.admitted || end > DICTIONARY_BYTES_MAX {
            return Err(Refusal::Dictionary);
        }
        if end > marks.admitted {
            let skip = (marks.admitted - head.first) as usize;
            let offset = marks.admitted;
            marks.admitted = end;
            let bytes = body[skip..].to_vec();
            inner.pending.batch.bytes += bytes.len();
            inner.pending.batch.dictionaries.push((stream.process, offset, bytes));
        }
        inner.acknowledge(peer, stream);
        self.work.notify_one();
        Ok(())
    }

    /// Admits records; gives the body back if it is not kept.
    pub(super) fn add_records(
        &self,
        peer: u64,
        head: &Head,
        body: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        // Outside of the lock: a whole walk over the body.
        let mark = self.admitted(head.stream);
        let sound = record::check(&body, head.count, head.first, head.next, mark);
        let Some(mut inner) = self.wait_for_room() else { return Ok(Some(body)) };
        let inner = &mut *inner;
        let before = *inner.known.add_stream(head.stream)?;
        inner.acknowledge(peer, head.stream);
        self.work.notify_one();
        if head.next <= before.admitted {
            inner.counters.duplicates += u64::from(head.count);
            return Ok(Some(body));
        }
        // Another connection moved the mark meanwhile.
        let sound = match sound {
            Some(_) if before.admitted != mark => {
                record::check(&body, head.count, head.first, head.next, before.admitted)
            }
            sound => sound,
        };
        if head.first > before.admitted {
            inner.add_lost(head.stream, before.admitted, head.first, GapReason::Missing);
        }
        let first = head.first.max(before.admitted);
        let Some(sound) = sound else {
            inner.add_lost(head.stream, first, head.next, GapReason::Malformed);
            return Ok(Some(body));
        };
        inner.counters.duplicates += u64::from(sound.skip_count);
        let count = head.count - sound.skip_count;
        let absent = (head.next - first).saturating_sub(count.into());
        inner.pending.batch.bytes += body.len();
        inner.pending.batch.records.push(RecordsPart {
            stream: head.stream,
            body,
            skip_bytes: sound.skip_bytes,
            count,
            first,
            next: head.next,
            // A proxy that has read the ring again may have left out less; what is not here is one or
            // the other.
            left_out: head.left_out.min(absent.try_into().unwrap_or(u32::MAX)),
        });
        inner.known.admit(head.stream, head.next);
        Ok(None)
    }

    /// The mark of what was admitted of a stream.
    pub(super) fn admitted(&self, stream: StreamId) -> u64 {
        self.lock().known.get(stream).admitted
    }

    /// Notes what a proxy cannot deliver.
    pub(super) fn add_lost(
        &self,
        peer: u64,
        head: &Head,
        reason: GapReason,
    ) -> Result<(), Refusal> {
        let Some(mut inner) = self.wait_for_room() else { return Ok(()) };
        let admitted = inner.known.add_stream(head.stream)?.admitted;
        if head.first > admitted {
            inner.add_lost(head.stream, admitted, head.first, GapReason::Missing);
        }
        if head.next > admitted {
            inner.add_lost(head.stream, head.first.max(admitted), head.next, reason);
        }
        inner.acknowledge(peer, head.stream);
        self.work.notify_one();
        Ok(())
    }

    /// Forgets the processes of which a proxy says that nothing will come any more.
    pub(super) fn end(&self, processes: &[ProcessId]) {
        let mut inner = self.lock();
        inner.known.forget(processes);
        inner.pending.batch.ended.extend_from_slice(processes);
    }
}

impl Inner {
    fn add_lost(&mut self, stream: StreamId, first: u64, next: u64, reason: GapReason) {
        // Numbers that run backwards name nothing.
        if next <= first {
            return;
        }
        let lost = LostPart { stream, first, next, reason };
        if reason != GapReason::AnotherStore {
            self.counters.lost = self.counters.lost.saturating_add(next - first);
        }
        self.pending.batch.lost.push(lost);
        self.complaints.say_lost(&mut self.pending.batch, &lost);
        self.known.admit(stream, next);
    }
}
