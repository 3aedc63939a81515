//! Recordings of other hosts: what is sent of them becomes recordings in a folder.
//!
//! A recording is known by its number (the file id), here as there, and its samples have the numbers that
//! they have there.  So what is in the file is all that a server has to remember: it says which number it
//! wants next, passes over what it has, and acknowledges what it has written (`--ack disk`: what is on
//! the disk).  A kill at any moment, of either side, doubles no sample and loses none.
//!
//! A sample is decoded and written by the writer of recordings, so what a client sends never goes to the
//! disk as it is, and a recording here keeps all promises of one that was made here.  That costs about
//! as much as recording, without reading the kernel.
//!
//! A host is of the sender that sent it first: the file `.senders` in the folder has a line for each, its
//! number and the host.  Whoever knows the secret cannot add to the recordings of another host, nor to
//! those that are the folder's own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use connection::{Quota, QuotaPlace};
use log_protocol::bytes::ByteCursor;
use log_protocol::frame::{self, FrameKind, Head, StreamMark};
use log_protocol::parts::Parts;
use log_protocol::record::SEQUENCES_MAX;
use log_protocol::{ProcessId, StreamId};
use recording::{Reader, SampleDecoder, Writer, WriterOptions};
use sample::Snapshot;
use text::error_text::with_causes;

/// Recordings that are open at once: each has a writer, of a MiB.
const OPEN_MAX: usize = 2048;

/// Bytes of a head or of samples that come at once, from which on few connections may send at a time.
const LARGE_BYTES: usize = 1 << 20;

/// How many may.
const LARGE_AT_ONCE: usize = 4;

/// The most bytes that come at once: a sample of a machine with a hundred thousand processes.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Cells of all decoders together: half a GiB, of which 1,000 machines with 100 processes each use a
/// fifth.
const CELLS_MAX: usize = 64 << 20;

/// Bytes of a host's name: RFC 1035.
const HOST_BYTES_MAX: usize = 253;

/// Bytes of the name of a recording, without what is added if it is there.
const NAME_BYTES_MAX: usize = 200;

/// Hosts of one sender: a relay of a large site.  Whoever knows the secret could else fill the disk with names.
const HOSTS_OF_SENDER_MAX: usize = 4096;

/// Hosts of all senders: the file that names them has a MiB then.
const HOSTS_MAX: usize = 16_384;

/// Which host is of which sender.
const SENDERS: &str = ".senders";

/// The folder that recordings of other hosts are written to.
pub(super) struct RecordingFolder {
    folder: PathBuf,
    /// Whether samples are on the disk when they are acknowledged.
    syncs: bool,
    known: Mutex<KnownRecordings>,
    large: Quota,
    open: Quota,
    cells: AtomicUsize,
}

/// A recording that was sent.
pub(super) struct SentRecording {
    pub(super) file_id: u64,
    pub(super) path: PathBuf,
    pub(super) host: String,
    /// Whether a connection has it.
    pub(super) is_being_sent: bool,
}

struct KnownRecordings {
    /// Where the recording of a number is, and of which host.
    paths: BTreeMap<u64, (PathBuf, String)>,
    /// The connection that sends the recording of a number.
    sending: BTreeMap<u64, u64>,
    /// The sender of each host.
    senders: BTreeMap<String, ProcessId>,
    /// Hosts of which the folder had recordings that nobody had sent.
    own: Vec<String>,
}

impl RecordingFolder {
    /// Finds out which recordings a folder has, and from whom.
    ///
    /// # Errors
    /// If it cannot be read or made, or `.senders` is damaged.
    pub(super) fn open(folder: &Path, syncs: bool) -> io::Result<Self> {
        let failed = |error: io::Error| {
            let what = format!("the folder of recordings {}: {error}", folder.display());
            io::Error::new(error.kind(), what)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let senders = read_senders(&folder.join(SENDERS))?;
        let (mut paths, mut own) = (BTreeMap::new(), Vec::new());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "whit") {
                continue;
            }
            // One that cannot be read is of nobody.
            let Ok(reader) = Reader::open(&path, &[]) else { continue };
            let host = reader.meta().host().to_owned();
            paths.insert(reader.file_id(), (path, host.clone()));
            if !senders.contains_key(&host) && !own.contains(&host) {
                own.push(host);
            }
        }
        let known = Mutex::new(KnownRecordings { paths, sending: BTreeMap::new(), senders, own });
        let (large, open) = (Quota::new(LARGE_AT_ONCE), Quota::new(OPEN_MAX));
        let (folder, cells) = (folder.to_owned(), AtomicUsize::new(0));
        Ok(RecordingFolder { folder, syncs, known, large, open, cells })
    }

    /// Lets a sender send a host, if no other one does.
    fn claim(&self, host: &str, sender: ProcessId) -> Result<(), String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.senders.get(host) {
            Some(first) if *first == sender => return Ok(()),
            Some(_) => {
                return Err(format!(
                    "the recordings of {host} come from another folder or machine: if it has moved, \
                     remove its line from {SENDERS} in the server's folder of recordings"
                ));
            }
            None => {}
        }
        let of_sender = known.senders.values().filter(|known| **known == sender).count();
        if of_sender >= HOSTS_OF_SENDER_MAX || known.senders.len() >= HOSTS_MAX {
            return Err(format!(
                "{host} would be one host too many: the server takes {HOSTS_OF_SENDER_MAX} of one sender and \
                 {HOSTS_MAX} of all; remove lines of hosts that are gone from {SENDERS} in the server's folder \
                 of recordings, and start it again"
            ));
        }
        if known.own.iter().any(|own| own == host) {
            return Err(format!("the server has recordings of {host} that nobody has sent"));
        }
        let mut senders = known.senders.clone();
        senders.insert(host.to_owned(), sender);
        let lines = senders.iter().map(|(host, sender)| format!("{sender} {host}\n"));
        let written = whole_file::replace(&self.folder.join(SENDERS), lines.collect::<String>());
        written.map_err(|error| format!("cannot write {SENDERS}: {error}"))?;
        known.senders = senders;
        Ok(())
    }

    /// Notes that a connection sends a recording.  Gives the number of another one that does so
    /// already, which then keeps it.
    fn sending(&self, file_id: u64, connection: u64) -> Option<u64> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = *known.sending.entry(file_id).or_insert(connection);
        (now != connection).then_some(now)
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// The recordings of hosts that were sent.
    pub(super) fn sent(&self) -> Vec<SentRecording> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = known.paths.iter().filter(|(_, (_, host))| known.senders.contains_key(host));
        let sent = sent.map(|(&file_id, (path, host))| SentRecording {
            file_id,
            path: path.clone(),
            host: host.clone(),
            is_being_sent: known.sending.contains_key(&file_id),
        });
        sent.collect()
    }

    /// Removes a recording by `remove`, unless somebody sends it now.
    pub(super) fn remove<T>(
        &self,
        file_id: u64,
        remove: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Option<io::Result<T>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.sending.contains_key(&file_id) {
            return None;
        }
        let (path, _) = known.paths.get(&file_id)?;
        let done = remove(path);
        if done.is_ok() {
            known.paths.remove(&file_id);
        }
        Some(done)
    }

    /// Where the recording of a number is, or is to be, and whether it is there.
    fn place(&self, file_id: u64, host: &str, name: &str) -> (PathBuf, bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((path, _)) = known.paths.get(&file_id).filter(|(path, _)| path.exists()) {
            return (path.clone(), true);
        }
        let stem = name.strip_suffix(".whit").unwrap_or(name);
        let short = plain(host.split('.').next().unwrap_or(host));
        let stem = match plain(stem) {
            stem if stem.contains(&short) => stem,
            stem => format!("{short}-{stem}"),
        };
        let mut path = self.folder.join(format!("{stem}.whit"));
        // An empty file is of a server that was killed before it had written the head of this one or of
        // another: who begins a recording writes over it.
        let is_taken = path.metadata().is_ok_and(|status| status.len() > 0)
            || known.paths.iter().any(|(id, (other, _))| *id != file_id && *other == path);
        if is_taken {
            path = self.folder.join(format!("{stem}-{file_id:016x}.whit"));
        }
        known.paths.insert(file_id, (path.clone(), host.to_owned()));
        (path, false)
    }
}

fn damaged(error: recording::Corrupt) -> String {
    format!("what was sent is damaged: {}", error.0)
}

/// A name of a file: other characters than those of names of recordings are replaced, and it is not hidden.
fn plain(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(keep).take(NAME_BYTES_MAX).collect();
    match name.trim_start_matches('.') {
        "" => "recording".to_owned(),
        name => name.to_owned(),
    }
}

fn is_host(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !host.is_empty()
        && host.len() <= HOST_BYTES_MAX
        && !host.starts_with('.')
        && host.bytes().all(is_plain)
}

fn read_senders(path: &Path) -> io::Result<BTreeMap<String, ProcessId>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        read => read?,
    };
    let wrong = |line: &str| {
        let what = format!("{}: a line is not NUMBER HOST: {line:?}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    let read = |line: &str| {
        let (sender, host) = line.split_once(' ').ok_or_else(|| wrong(line))?;
        Ok((host.to_owned(), ProcessId::parse(sender).ok_or_else(|| wrong(line))?))
    };
    text.lines().map(read).collect()
}

/// What a connection sends.
pub(super) struct RecordingsTaken<'a> {
    folder: &'a RecordingFolder,
    sender: ProcessId,
    /// The number of the connection.
    number: u64,
    /// Ends another connection.
    end_other: &'a dyn Fn(u64),
    parts: Parts,
    large: Option<QuotaPlace>,
    open: BTreeMap<u64, ReceivedRecording>,
    /// Cells of the decoders, as they were counted.
    cells: usize,
}

/// A recording that is being taken.
struct ReceivedRecording {
    decoder: SampleDecoder,
    snapshot: Snapshot,
    path: PathBuf,
    /// None of one that is closed.
    writer: Option<Writer>,
    next: u64,
    _open: QuotaPlace,
}

impl<'a> RecordingsTaken<'a> {
    /// For a connection of this number and sender.
    pub(super) fn new(
        folder: &'a RecordingFolder,
        (number, sender): (u64, [u8; 16]),
        end_other: &'a dyn Fn(u64),
    ) -> Self {
        let (parts, open, sender) = (Parts::default(), BTreeMap::new(), ProcessId(sender));
        RecordingsTaken { folder, sender, number, end_other, parts, large: None, open, cells: 0 }
    }

    /// Takes a frame; gives the answer, if it is the last part of something.
    ///
    /// # Errors
    /// Why the client is sent away: it may try again.
    pub(super) fn handle_frame(
        &mut self,
        head: &Head,
        body: &[u8],
    ) -> Result<Option<(Head, Vec<u8>)>, String> {
        let file_id = head.stream.recording().ok_or("a frame is of no recording")?;
        if head.next > SEQUENCES_MAX || head.first > head.next {
            return Err("numbers of samples that no recording has".to_owned());
        }
        if self.parts.length_with(head) > LARGE_BYTES && self.large.is_none() {
            self.large = Some(self.place_of_large()?);
        }
        let whole = self.parts.add(head, body, MESSAGE_BYTES_MAX);
        let Some(whole) = whole.map_err(|error| error.to_string())? else { return Ok(None) };
        let (kind, next) = match head.kind {
            FrameKind::Recording => (FrameKind::Marks, self.begin(file_id, &whole)?),
            FrameKind::Samples => (FrameKind::Ack, self.samples(file_id, head, &whole)?),
            FrameKind::RecordingEnd => (FrameKind::Ack, self.end(file_id)?),
            _ => return Err("it sends recordings and nothing else".to_owned()),
        };
        self.large = None;
        let mut mark = Vec::with_capacity(frame::MARK_BYTES);
        frame::put_mark(&mut mark, StreamMark { stream: StreamId::of_recording(file_id), next });
        Ok(Some((Head::plain(kind), mark)))
    }

    fn place_of_large(&self) -> Result<QuotaPlace, String> {
        let place = self.folder.large.acquire();
        place.ok_or_else(|| "others send as much at once as may be: try again".to_owned())
    }

    /// Begins or goes on with a recording; gives the number of the sample that it lacks.
    fn begin(&mut self, file_id: u64, body: &[u8]) -> Result<u64, String> {
        self.open.remove(&file_id);
        self.count_cells()?;
        let open = self.folder.open.acquire();
        let open = open.ok_or("as many recordings are sent at once as may be: try again later")?;
        let mut from = ByteCursor::new(body);
        let name = from.short_text().ok_or("a recording without a name")?;
        let decoder = SampleDecoder::new(from.rest(), &[]).map_err(|error| with_causes(&error))?;
        if decoder.file_id() != file_id {
            return Err("the head is of another recording".to_owned());
        }
        let host = decoder.meta().host();
        if !is_host(host) {
            return Err(format!("{host:?} is no name of a host"));
        }
        self.folder.claim(host, self.sender)?;
        let (path, is_there) = self.folder.place(file_id, host, &name);
        if is_there {
            let known = Reader::open(&path, &[]).map_err(|error| with_causes(&error))?;
            let known = known.meta().host();
            if known != host {
                return Err(format!("the server has it as a recording of {known}"));
            }
        }
        let other = self.folder.sending(file_id, self.number);
        if let Some(other) = other {
            // Its sender has come again, so nobody writes to it any more.
            (self.end_other)(other);
            return Err("another connection of this sender has it: that is ended, try again".into());
        }
        let taken = ReceivedRecording::open(decoder, (path, is_there), self.folder.syncs, open);
        let taken = taken.map_err(|error| with_causes(&error))?;
        let next = taken.next;
        self.open.insert(file_id, taken);
        Ok(next)
    }

    /// Writes samples; gives the number after them.
    fn samples(&mut self, file_id: u64, head: &Head, packed: &[u8]) -> Result<u64, String> {
        let length = recording::unpacked_length(packed).map_err(damaged)?;
        if length > LARGE_BYTES && self.large.is_none() {
            self.large = Some(self.place_of_large()?);
        }
        let syncs = self.folder.syncs;
        let taken = self.open.get_mut(&file_id).ok_or("samples of a recording not begun")?;
        let frames = recording::unpack_samples(packed).map_err(damaged)?;
        taken.write(head, &frames, syncs)?;
        let next = taken.next;
        self.count_cells()?;
        Ok(next)
    }

    /// Closes a recording; gives the number after its samples.
    fn end(&mut self, file_id: u64) -> Result<u64, String> {
        let taken = self.open.remove(&file_id).ok_or("the end of a recording not begun")?;
        if let Some(writer) = taken.writer {
            writer.close().map_err(|error| with_causes(&error))?;
        }
        Ok(taken.next)
    }

    /// Counts what the decoders keep, of all connections together.
    fn count_cells(&mut self) -> Result<(), String> {
        let now: usize = self.open.values().map(|taken| taken.decoder.cells()).sum();
        let all = &self.folder.cells;
        all.fetch_add(now, Ordering::Relaxed);
        let before = std::mem::replace(&mut self.cells, now);
        let all = all.fetch_sub(before, Ordering::Relaxed).saturating_sub(before);
        match now > before && all > CELLS_MAX {
            true => Err("recordings have as many instances as this server can keep".to_owned()),
            false => Ok(()),
        }
    }
}

impl Drop for RecordingsTaken<'_> {
    fn drop(&mut self) {
        // Their files are free before others may have them.
        self.open.clear();
        let mut known = self.folder.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.sending.retain(|_, connection| *connection != self.number);
        self.folder.cells.fetch_sub(self.cells, Ordering::Relaxed);
    }
}

impl ReceivedRecording {
    /// A recording at its end, as far as it is there.
    fn open(
        decoder: SampleDecoder,
        (path, is_there): (PathBuf, bool),
        syncs: bool,
        open: QuotaPlace,
    ) -> Result<Self, recording::Error> {
        let snapshot = Snapshot::new(&decoder.defs());
        let mut taken =
            ReceivedRecording { decoder, snapshot, path, writer: None, next: 0, _open: open };
        if is_there {
            let reader = Reader::open(&taken.path, &[])?;
            if !reader.damage().not_closed {
                taken.next = reader.samples_closed();
                return Ok(taken);
            }
        }
        taken.resume(is_there, syncs)?;
        Ok(taken)
    }

    fn resume(&mut self, is_there: bool, syncs: bool) -> Result<(), recording::Error> {
        let (path, schemas) = (&self.path, self.decoder.schemas());
        let options = WriterOptions { sync_blocks: syncs, ..WriterOptions::default() };
        let (meta, file_id) = (self.decoder.meta(), self.decoder.file_id());
        let is_empty = path.metadata().is_ok_and(|facts| facts.len() == 0);
        let writer = match is_there && !is_empty {
            true => Writer::resume(path, schemas, options)?.0,
            false => Writer::create_as(path, meta, schemas, options, file_id)?,
        };
        self.next = writer.samples();
        self.writer = Some(writer);
        Ok(())
    }

    /// Writes those samples of a message that it lacks.
    fn write(&mut self, head: &Head, mut frames: &[u8], syncs: bool) -> Result<(), String> {
        if head.next > self.next && self.writer.is_none() {
            self.resume(true, syncs).map_err(|error| with_causes(&error))?;
        }
        let mut number = head.first;
        while self.decoder.decode(&mut frames, &mut self.snapshot).map_err(damaged)? {
            let is_lacking = number >= self.next;
            number += 1;
            let Some(writer) = self.writer.as_mut().filter(|_| is_lacking) else { continue };
            let failed = |error: recording::WriteError| with_causes(&error);
            if number - 1 > self.next {
                writer.leave_out(number - 1 - self.next).map_err(failed)?;
                self.next = number - 1;
            }
            writer.append_with_texts(&self.snapshot, self.decoder.texts()).map_err(failed)?;
            self.next = number;
        }
        if number != head.next {
            return Err("there are not as many samples as a frame says".to_owned());
        }
        match self.writer.as_mut().filter(|_| syncs) {
            Some(writer) => writer.flush().map_err(|error| with_causes(&error)),
            None => Ok(()),
        }
    }
}
