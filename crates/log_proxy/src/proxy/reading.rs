//! From rings into the spool: frames of what was read, and of what is proved to be missing.
//!
//! Every number of a ring is accounted for: it is in a frame of records; or the writer says in the
//! stream that it dropped it; or a frame of kind `Lost` names it with the reason: overwritten by its
//! writer, damaged in the ring, lost with a part of the spool.

use logring::abi::kind;
use logring::{Batch as RingBatch, RingMark};
use service_account::{NOT_WRITTEN, WRITTEN_AGAIN};

use super::Proxy;
use super::host::{Ring, Source};
use super::report::Undelivered;
use crate::spool::SpoolError;
use log_protocol::GapReason;
use log_protocol::bytes::u64_at;
use log_protocol::frame::{self, FrameKind, HEAD_BYTES, Head};
use log_protocol::record::{RECORD_HEAD, RecordHead, extended};
use log_protocol::{DICTIONARY, StreamId};

/// Bytes of a ring that are read in a round.
const RING_BYTES: usize = 384 << 10;
/// Bytes of frames after which a round does not look at more rings.
const FRAMES_BYTES: usize = 2 << 20;
/// Longest dictionary frame.
const DICTIONARY_BYTES: usize = 256 << 10;

/// Records that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) stream: StreamId,
    pub(super) first: u64,
    pub(super) next: u64,
    pub(super) reason: GapReason,
}

impl Ring {
    /// Adds a frame that describes it; gives the frame's head.
    pub(super) fn describe_to(&self, frames: &mut Vec<u8>) -> Head {
        let mut text = Vec::new();
        self.info.encode(&mut text);
        frame::put(frames, Head::of(FrameKind::Stream, self.stream, 0, 0, 0), &text)
    }
}

impl Gap {
    /// Adds a frame that names it; gives the frame's head.
    pub(super) fn put(&self, frames: &mut Vec<u8>) -> Head {
        let head = Head::of(FrameKind::Lost, self.stream, self.first, self.next, 0);
        frame::put(frames, head, &(self.reason as u32).to_le_bytes())
    }

    fn undelivered(&self) -> Undelivered {
        use rustix::io::Errno;
        let errno = match self.reason {
            GapReason::Ring | GapReason::Malformed => Errno::BADMSG,
            GapReason::Overwritten => Errno::OVERFLOW,
            GapReason::Dropped => Errno::NOBUFS,
            GapReason::Missing | GapReason::Spool | GapReason::Store => Errno::IO,
            GapReason::LeftOut | GapReason::AnotherStore => Errno::CANCELED,
        };
        let Gap { stream, first, next, .. } = *self;
        Undelivered { stream, first, next, errno: errno.raw_os_error().unsigned_abs() }
    }
}

/// What was read of a ring and is not spooled yet.
pub(super) struct RingRead {
    /// Index of the ring.
    index: usize,
    /// Where the ring's reader and its gap were before.
    before: RingMark,
    gap_before: Option<GapReason>,
    end: RingMark,
    count: u64,
    /// Records that the writer says that it dropped.
    dropped: u64,
    /// What is missing before the records.
    gap: Option<Gap>,
}

/// What a walk over records found.
#[derive(Default)]
struct Walked {
    dropped: u64,
    ranges: Vec<(u64, u64)>,
    /// Records that are for local outputs alone.
    left_out: u32,
    /// The time of the last record.
    last_ns: u64,
}

impl Proxy {
    /// Reads every ring into the spool; whether there was anything.
    pub(super) fn read_rings(&mut self) -> bool {
        let mut rings = std::mem::take(&mut self.host.rings);
        let mut batch = std::mem::take(&mut self.batch);
        let mut any = false;
        if !self.outputs_take(&mut rings) {
            self.host.rings = rings;
            self.batch = batch;
            return false;
        }
        self.add_gaps(&mut rings);
        let mut waiting = Vec::new();
        for index in 0..rings.len() {
            if waits_for_predecessor(&mut rings, index) {
                waiting.push(index);
            } else if self.read_ring(index, &mut rings[index], &mut batch) {
                any = true;
                if self.is_full() {
                    break;
                }
            }
        }
        // What continues a ring that is read to its end by now may be older than what others had.
        let mut count = 0;
        while waiting.len() != std::mem::replace(&mut count, waiting.len()) {
            waiting.retain(|index| {
                let waits = self.is_full() || waits_for_predecessor(&mut rings, *index);
                any |= !waits && self.read_ring(*index, &mut rings[*index], &mut batch);
                waits
            });
        }
        // Bytes that hold no record make no frame, and give room back too.
        if !self.frames.is_empty() || !self.taken.is_empty() {
            self.spool_frames(&mut rings);
        }
        // The next round begins with another ring, so that none waits for ever.
        if any {
            rings.rotate_left(1);
        }
        self.host.rings = rings;
        self.batch = batch;
        // Without room there is nothing to do before acknowledgements come.
        any && self.refusal.is_none()
    }

    /// Whether a round that has read a ring reads no more: without room for all, there may be room for
    /// one.
    fn is_full(&self) -> bool {
        self.refusal.is_some() || self.frames.len() >= FRAMES_BYTES
    }

    /// Takes what a ring has; whether there was anything.
    fn read_ring(&mut self, index: usize, ring: &mut Ring, batch: &mut RingBatch) -> bool {
        let (before, gap_before) = (ring.reader.next(), ring.gap);
        if let Err(error) = ring.reader.read(batch, RING_BYTES) {
            ring.gap = Some(GapReason::Ring);
            if ring.complain() {
                self.messages.push(error.to_string());
            }
            *batch = RingBatch::default();
        }
        let mut is_left = false;
        if self.local.wants() && batch.count() > 0 {
            self.leave_later(ring, batch);
            is_left = batch.is_empty();
        }
        if batch.is_empty() {
            let source = self.host.sources.get(&ring.stream.process);
            ring.is_read_out |= source.is_some_and(|source| source.is_dead);
            return is_left;
        }
        if let Some(taken) = self.make_frames(index, ring, batch, before, gap_before) {
            self.taken.push(taken);
        }
        true
    }

    /// Makes frames of gaps that were found without reading.
    fn add_gaps(&mut self, rings: &mut [Ring]) {
        for at in 0..self.gaps.len() {
            let gap = self.gaps[at];
            let ring = rings.iter_mut().find(|ring| ring.stream == gap.stream);
            if let Some(ring) = ring {
                self.describe(ring, false);
            } else if let Some(one) = self.unreadable.iter().find(|one| one.stream() == gap.stream)
            {
                self.heads.extend(one.describe_to(&mut self.frames));
            }
            self.add_lost(gap);
        }
    }

    /// Makes gaps of rings that were found to be unreadable.
    pub(super) fn look_at_unreadable(&mut self) {
        for one in self.host.unreadable.drain(..) {
            let (stream, first, reason) = (one.stream(), one.lost(), GapReason::Ring);
            self.counters.lost += 1;
            self.gaps.push(Gap { stream, first, next: first + 1, reason });
            self.unreadable.push(one);
        }
    }

    fn add_lost(&mut self, gap: Gap) {
        self.heads.push(gap.put(&mut self.frames));
    }

    /// Describes a ring and its process, if this segment of the spool does not yet; and all of the
    /// dictionary, if it was not spooled, or if a record needs it.
    fn describe(&mut self, ring: &mut Ring, needs_dictionary: bool) {
        let segment = self.spool.segment_number();
        let Some(source) = self.host.sources.get_mut(&ring.stream.process) else { return };
        let (frames, heads) = (&mut self.frames, &mut self.heads);
        if source.described_in != Some(segment) {
            source.described_in = Some(segment);
            let stream = StreamId { process: source.info.id, ring: DICTIONARY };
            let mut text = Vec::new();
            source.info.encode(&mut text);
            heads.push(frame::put(frames, Head::of(FrameKind::Process, stream, 0, 0, 0), &text));
        }
        if ring.described_in != Some(segment) {
            ring.described_in = Some(segment);
            heads.push(ring.describe_to(frames));
        }
        if needs_dictionary || source.dictionary == 0 {
            add_dictionary(source, frames, heads, &mut self.messages);
        }
    }

    /// Describes rings again whose descriptions may have been in a damaged part of the spool.
    pub(super) fn describe_all(&mut self) {
        let mut rings = std::mem::take(&mut self.host.rings);
        rings.iter_mut().for_each(|ring| self.describe(ring, false));
        // What is spooled is taken for all that was to be.
        self.add_gaps(&mut rings);
        if !self.frames.is_empty() {
            self.spool_frames(&mut rings);
        }
        self.host.rings = rings;
    }

    /// Makes frames of what was read of a ring.
    fn make_frames(
        &mut self,
        index: usize,
        ring: &mut Ring,
        batch: &RingBatch,
        before: RingMark,
        gap_before: Option<GapReason>,
    ) -> Option<RingRead> {
        let known = self.host.sources.get(&ring.stream.process)?.file.dictionary().count() as u32;
        self.describe(ring, names_max(batch.payload()) > known);
        if batch.begin().position > before.position {
            ring.gap.get_or_insert(GapReason::Overwritten);
        }
        let gap = gap_in_front(ring, batch, before);
        if let Some(gap) = gap {
            self.add_lost(gap);
        }
        let start = self.frames.len();
        let mut walked = Walked::default();
        if batch.count() > 0 {
            let frames = &mut self.frames;
            frames.resize(start + HEAD_BYTES, 0);
            frames.extend_from_slice(batch.payload());
            let source = self.host.sources.get_mut(&ring.stream.process)?;
            let seen = CountedRecords::of(ring, batch);
            walked = to_time(&mut frames[start + HEAD_BYTES..], source, seen, ring.not_before_ns);
            ring.last_ns = walked.last_ns;
            if self.local.wants() {
                self.local.add_records(
                    index,
                    &frames[start + HEAD_BYTES..],
                    batch.begin().sequence,
                    seen,
                );
            }
            ring.seen = ring.seen.max(batch.end().sequence);
            if walked.left_out > 0 {
                leave_out(frames, start + HEAD_BYTES);
            }
            let (first, next) = (gap.map_or(before.sequence, |gap| gap.next), batch.end().sequence);
            let count = batch.count() as u32 - walked.left_out;
            let head = Head::of(FrameKind::Records, ring.stream, first, next, count);
            let head = Head { left_out: walked.left_out, ..head };
            self.heads.push(frame::seal(frames, start, head));
        }
        if let Some((fault, bytes)) = batch.fault() {
            ring.gap = Some(GapReason::Ring);
            if ring.complain() {
                let path = ring.reader.path().display();
                self.messages.push(format!("{path}: {fault}: {bytes} bytes are left out"));
            }
        }
        let reason = GapReason::Dropped;
        self.said.extend(walked.ranges.iter().map(|(first, last)| {
            let (first, next) = (*first, last.saturating_add(1));
            Gap { stream: ring.stream, first, next, reason }.undelivered()
        }));
        self.said.extend(gap.map(|gap| gap.undelivered()));
        let (count, dropped, end) = (batch.count() as u64, walked.dropped, batch.end());
        Some(RingRead { index, before, gap_before, end, count, dropped, gap })
    }

    /// Appends the frames to the spool and gives the rings their room; without room in the spool
    /// the rings are read again later.
    fn spool_frames(&mut self, rings: &mut [Ring]) {
        self.give_to_outputs(rings);
        let done = self.spool.append(&self.frames, &self.heads);
        let taken = std::mem::take(&mut self.taken);
        match done {
            Ok(()) => {
                if self.refusal.take().is_some() {
                    self.messages.push(format!("{WRITTEN_AGAIN}: the spool takes records"));
                }
                for one in &taken {
                    self.note_spooled(&mut rings[one.index], one);
                }
                self.counters.bytes += self.frames.len() as u64;
                self.undelivered.extend(self.gaps.drain(..).map(|gap| gap.undelivered()));
                self.unreadable.clear();
                self.undelivered.append(&mut self.said);
            }
            Err(error) => {
                self.counters.refusals += 1;
                taken.iter().for_each(|one| Self::take_back(&mut rings[one.index], one));
                rings.iter_mut().for_each(|ring| ring.described_in = None);
                self.host.sources.values_mut().for_each(|source| source.described_in = None);
                for head in self.heads.iter().filter(|head| head.kind == FrameKind::Dictionary) {
                    if let Some(source) = self.host.sources.get_mut(&head.stream.process) {
                        source.dictionary = source.dictionary.min(head.first);
                    }
                }
                self.refuse(&error);
            }
        }
        self.taken = taken;
        self.taken.clear();
        self.frames.clear();
        self.heads.clear();
        self.said.clear();
    }

    /// What was read of a ring is spooled.
    fn note_spooled(&mut self, ring: &mut Ring, one: &RingRead) {
        match (self.is_local(), self.local.is_stuck()) {
            (false, _) => ring.spooled(one.end),
            (true, false) => ring.delivered(one.end),
            // What an output keeps in memory is not safe yet.
            (true, true) => ring.owed = Some(one.end),
        }
        ring.dropped_said = ring.dropped_said.saturating_add(one.dropped);
        let missing = one.end.sequence - one.before.sequence - one.count;
        let lost = one.gap.map_or(0, |gap| gap.next - gap.first);
        if one.gap.is_some_and(|gap| gap.reason == GapReason::Overwritten) {
            ring.overwritten += lost;
            self.counters.dropped += missing;
        } else {
            self.counters.dropped += missing - lost;
            self.counters.lost += lost;
        }
        self.counters.records += one.count;
        self.host.note_moved(ring.stream.process);
    }

    /// What was read of a ring found no room: it is read again, and not counted again.
    fn take_back(ring: &mut Ring, one: &RingRead) {
        ring.reader.seek(one.before);
        ring.gap = one.gap_before;
    }

    fn refuse(&mut self, error: &SpoolError) {
        let refusal = Some((error.errno(), error.to_string()));
        if self.refusal != refusal {
            self.messages.push(format!("{NOT_WRITTEN}{error}"));
        }
        self.refusal = refusal;
    }

    /// Names what rings that are at their end do not name themselves: records behind damage, and
    /// those that the writer dropped and could not say so any more.
    pub(super) fn close_rings(&mut self) {
        for ring in self.host.rings.iter_mut().filter(|ring| !ring.is_closed) {
            if !ring.reader.is_finished() && !ring.is_read_out {
                continue;
            }
            ring.is_closed = true;
            let first = ring.reader.next().sequence;
            let said = ring.dropped_said.saturating_add(ring.overwritten);
            let counted = ring.dropped_now();
            if counted.is_none() {
                let path = ring.reader.path().display();
                self.messages.push(format!("{path}: the count of dropped records is damaged"));
            }
            let dropped = counted.map_or(0, |count| count.saturating_sub(said));
            // Of damaged bytes nobody knows how many records they were.
            let is_damaged = ring.gap == Some(GapReason::Ring) || counted.is_none();
            let lost = u64::from(is_damaged);
            let reason = if lost > 0 { GapReason::Ring } else { GapReason::Dropped };
            if dropped + lost > 0 {
                let next = first.saturating_add(dropped + lost);
                self.gaps.push(Gap { stream: ring.stream, first, next, reason });
                self.counters.dropped += dropped;
                self.counters.lost += lost;
            }
        }
    }
}

/// What is missing in front of a batch, if its first record shows it.
fn gap_in_front(ring: &mut Ring, batch: &RingBatch, before: RingMark) -> Option<Gap> {
    let reason = ring.gap?;
    let next = batch.records().next()?.ok()?.sequence;
    ring.gap = None;
    let first = before.sequence;
    (next > first).then_some(Gap { stream: ring.stream, first, next, reason })
}

/// The highest number of a call site or context in some records.
fn names_max(payload: &[u8]) -> u32 {
    let (mut at, mut most) = (0, 0);
    while let Some(head) = RecordHead::at(payload, at) {
        most = most.max(head.context).max(head.site);
        at += head.bytes;
    }
    most
}

/// The part of a batch that was read before, and found no room in the spool.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedRecords {
    /// The number that the first record has at least.
    first: u64,
    /// Records before this number were counted and given to local outputs.
    until: u64,
}

impl CountedRecords {
    fn of(ring: &Ring, batch: &RingBatch) -> Self {
        CountedRecords { first: batch.begin().sequence, until: ring.seen }
    }

    /// Whether the next record of the batch was; to be asked for each.
    #[inline]
    pub(super) fn next(&mut self, head: &RecordHead) -> bool {
        if self.first >= self.until {
            return false;
        }
        let sequence = extended(self.first, head.sequence).unwrap_or(self.first);
        self.first = sequence + 1;
        sequence < self.until
    }
}

/// Removes records that are for local outputs alone from the end of some frames.
fn leave_out(frames: &mut Vec<u8>, start: usize) {
    let (mut at, mut to) = (start, start);
    while let Some(head) = RecordHead::at(frames, at) {
        if !is_left_out(&head) {
            frames.copy_within(at..at + head.bytes, to);
            to += head.bytes;
        }
        at += head.bytes;
    }
    frames.truncate(to);
}

/// Whether the central server is not to have a record.
#[inline]
fn is_left_out(head: &RecordHead) -> bool {
    head.is_local && matches!(head.kind, kind::LOG | kind::SUPPRESSED)
}

/// By how much two readings of the clocks may differ about a stamp.
const CALIBRATION_NS: u64 = 10_000_000;

/// Whether a ring continues another one that was not read to its end: a thread's records stay in order.
/// Once it was, its last time is the least of this ring.
fn waits_for_predecessor(rings: &mut [Ring], index: usize) -> bool {
    let Some(predecessor) = rings[index].predecessor else { return false };
    let found = rings.iter().find(|ring| ring.stream == predecessor);
    // Behind damage there may be no end.
    let may_have_more =
        |ring: &Ring| !ring.reader.is_finished() && !ring.is_read_out && ring.gap.is_none();
    if found.is_some_and(may_have_more) {
        return true;
    }
    let not_before_ns = found.map_or(0, |ring| ring.last_ns.saturating_add(1));
    let ring = &mut rings[index];
    (ring.predecessor, ring.not_before_ns) = (None, not_before_ns);
    false
}

/// Replaces the stamps of records by times, and counts them.  The clocks were perhaps read again since
/// the last record of the ring before this one, whose time the first records must not precede; a clock
/// that was set back is believed.
fn to_time(
    records: &mut [u8],
    source: &mut Source,
    mut seen: CountedRecords,
    not_before_ns: u64,
) -> Walked {
    let Source { line, tally, file, .. } = source;
    let (calibration, dictionary) = (file.calibration(), file.dictionary());
    let (mut at, mut walked) = (0, Walked::default());
    while let Some(head) = RecordHead::at(records, at) {
        if !seen.next(&head) {
            tally.add(&head, records, at, dictionary);
        }
        walked.left_out += u32::from(is_left_out(&head));
        if head.kind == kind::DROPPED && head.bytes >= RECORD_HEAD + 24 {
            let word = |number: usize| u64_at(records, at + RECORD_HEAD + number * 8);
            walked.dropped = walked.dropped.saturating_add(word(0));
            walked.ranges.push((word(1), word(2)));
        }
        let mut time = line.time_ns(head.stamp, calibration);
        if time < not_before_ns && not_before_ns - time < CALIBRATION_NS {
            time = not_before_ns;
        }
        walked.last_ns = time;
        records[at + 8..at + 16].copy_from_slice(&time.to_le_bytes());
        at += head.bytes;
    }
    walked
}

impl Source {
    /// Frames of who it is and of its dictionary from an offset on, if there is more.
    pub(super) fn put_definitions(&self, from: u64, frames: &mut Vec<u8>) {
        // Without the bytes the server refuses later ones, and says so.
        let bytes = self.file.read_dictionary_bytes(from).unwrap_or_default();
        let stream = StreamId { process: self.info.id, ring: DICTIONARY };
        if !bytes.is_empty() {
            let mut text = Vec::new();
            self.info.encode(&mut text);
            frame::put(frames, Head::of(FrameKind::Process, stream, 0, 0, 0), &text);
        }
        let mut first = from;
        for piece in bytes.chunks(DICTIONARY_BYTES) {
            let next = first + piece.len() as u64;
            frame::put(frames, Head::of(FrameKind::Dictionary, stream, first, next, 0), piece);
            first = next;
        }
    }
}

/// Adds what is new in a dictionary to the frames.
fn add_dictionary(
    source: &mut Source,
    frames: &mut Vec<u8>,
    heads: &mut Vec<Head>,
    messages: &mut Vec<String>,
) {
    let refreshed = source.file.refresh();
    let bytes = refreshed.and_then(|()| source.file.read_dictionary_bytes(source.dictionary));
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => return messages.push(error.to_string()),
    };
    let stream = StreamId { process: source.info.id, ring: DICTIONARY };
    for piece in bytes.chunks(DICTIONARY_BYTES) {
        let next = source.dictionary + piece.len() as u64;
        let head = Head::of(FrameKind::Dictionary, stream, source.dictionary, next, 0);
        heads.push(frame::put(frames, head, piece));
        source.dictionary = next;
    }
}
