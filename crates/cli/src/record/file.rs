//! The recording that a recorder writes: opened, rolled, synced, and carried over a full disk.
//!
//! Cost: the writer's one `write` a sample; a comparison of integers for rolls and syncs.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use procfs::Host;
use recording::{Error, Writer, WriterOptions};
use sample::{Meta, Moment, Snapshot, SourceDef};
use source::RecorderCounters;

use super::messages::{Messages, Severity, local};
use super::names::Place;

/// A recording that exists already was begun within the same second: so often the next second's
/// name is tried.
const NAMES_TRIED: i64 = 10;

const SECOND_NS: i64 = 1_000_000_000;

/// The recording being written.
pub(crate) struct RecordingFile {
    place: Place,
    meta: Meta,
    defs: Vec<&'static SourceDef>,
    options: WriterOptions,
    writer: Writer,
    counters: Arc<RecorderCounters>,
    beside_others: bool,
    /// `--raw`.
    keeps_text: bool,
    told_texts_left_out: bool,
    /// `--sync`: how long written samples may be only in memory.
    sync_ns: Option<u64>,
    synced_ns: u64,
    /// Samples lost since writing last worked.
    lost: u64,
}

/// How to record.
pub(crate) struct RecordingOptions {
    pub(crate) keeps_text: bool,
    pub(crate) sync_ns: Option<u64>,
    /// Whether others may record in the same place at the same time: a name that one of them has
    /// is passed over then, and is an error otherwise, as nobody wants two recorders by mistake.
    pub(crate) beside_others: bool,
}

impl RecordingFile {
    /// Begins the first recording at `now`.
    ///
    /// # Errors
    /// The file cannot be made, or another recorder has it.
    pub(crate) fn create(
        place: Place,
        meta: Meta,
        defs: Vec<&'static SourceDef>,
        wanted: &RecordingOptions,
        counters: Arc<RecorderCounters>,
        (now, messages): (Moment, &Messages),
    ) -> anyhow::Result<Self> {
        let options =
            WriterOptions { sync_blocks: wanted.sync_ns.is_some(), ..WriterOptions::default() };
        let others = wanted.beside_others;
        let writer = open(&place, &meta, &defs, (options, others), now, messages)?;
        Ok(RecordingFile {
            beside_others: others,
            place,
            meta,
            defs,
            options,
            writer,
            counters,
            keeps_text: wanted.keeps_text,
            told_texts_left_out: false,
            sync_ns: wanted.sync_ns,
            synced_ns: now.monotonic_ns,
            lost: 0,
        })
    }

    /// Writes a sample.  What cannot be written is counted, told once, and tried again with the
    /// next one.
    #[inline]
    pub(crate) fn append(&mut self, snapshot: &Snapshot, host: &Host, messages: &Messages) {
        let written = if self.keeps_text {
            self.tell_texts_left_out(host, moment(snapshot), messages);
            self.writer.append_with_texts(snapshot, host.texts())
        } else {
            self.writer.append(snapshot)
        };
        let now = moment(snapshot);
        match written {
            Ok(written) => {
                // Closing a block takes three calls (see the writer).
                self.counters.calls.add(if written.closed_block { 4 } else { 1 });
                self.counters.written_bytes.add(written.bytes);
                if self.lost > 0 {
                    let text = format!(
                        "{}: written again after {} lost samples",
                        self.writer.path().display(),
                        std::mem::take(&mut self.lost)
                    );
                    messages.say(now, Severity::Warning, &text);
                }
            }
            Err(error) => {
                self.counters.calls.add(1);
                self.counters.samples_unwritten.add(1);
                self.lost += 1;
                if self.lost == 1 {
                    let error = anyhow::Error::from(error);
                    messages.say(now, Severity::Error, &format!("{error:#}"));
                }
            }
        }
        if self.sync_ns.is_some_and(|ns| now.monotonic_ns.saturating_sub(self.synced_ns) >= ns) {
            self.sync(now, messages);
        }
    }

    /// Says once that not all of the kernel's text is kept.
    fn tell_texts_left_out(&mut self, host: &Host, now: Moment, messages: &Messages) {
        let left_out = host.texts_left_out();
        if left_out > 0 && !self.told_texts_left_out {
            self.told_texts_left_out = true;
            let text = format!(
                "--raw: the text of {left_out} files is not kept: there is more of it than a \
                 sample may hold"
            );
            messages.say(now, Severity::Warning, &text);
        }
    }

    /// Has all samples on the disk.
    pub(crate) fn sync(&mut self, now: Moment, messages: &Messages) {
        self.synced_ns = now.monotonic_ns;
        self.counters.calls.add(1);
        if let Err(error) = self.writer.flush() {
            let error = anyhow::Error::from(error);
            messages.say(now, Severity::Error, &format!("{error:#}"));
        }
    }

    /// Begins another file.  The new one is made before the old one is closed: if it cannot be,
    /// the old one goes on.
    pub(crate) fn roll(&mut self, now: Moment, messages: &Messages) {
        self.meta.set("started_ns", now.realtime_ns.to_string());
        let date = local(now, &messages.zone).strftime("%Y%m%d-%H%M%S").to_string();
        self.meta.set("date", date);
        let options = (self.options, self.beside_others);
        match open(&self.place, &self.meta, &self.defs, options, now, messages) {
            Ok(writer) => {
                let old = std::mem::replace(&mut self.writer, writer);
                close(old, now, messages);
                self.synced_ns = now.monotonic_ns;
            }
            Err(error) => {
                let text = format!("cannot begin a new recording, the old one goes on: {error:#}");
                messages.say(now, Severity::Error, &text);
            }
        }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The recording is whole all the same, only larger.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        Ok(self.writer.close()?)
    }

    /// The file being written.
    pub(crate) fn path(&self) -> PathBuf {
        self.writer.path().to_owned()
    }

    /// How long the file is.
    pub(crate) fn bytes(&self) -> u64 {
        self.writer.bytes_closed()
    }
}

/// When a tick began.
pub(crate) fn moment(snapshot: &Snapshot) -> Moment {
    Moment { monotonic_ns: snapshot.monotonic_ns, realtime_ns: snapshot.realtime_ns }
}

fn open(
    place: &Place,
    meta: &Meta,
    defs: &[&'static SourceDef],
    (options, beside_others): (WriterOptions, bool),
    now: Moment,
    messages: &Messages,
) -> anyhow::Result<Writer> {
    let own = Some(std::process::id());
    let mut tried = 0;
    loop {
        let realtime_ns = now.realtime_ns + tried * SECOND_NS;
        let path = place.recording(&local(Moment { realtime_ns, ..now }, &messages.zone));
        match Writer::create(&path, meta, defs, options) {
            Err(Error::Exists { .. }) if tried < NAMES_TRIED => tried += 1,
            // Our own, begun in this very second: a roll needs another name.
            Err(Error::Locked { pid, .. })
                if (pid == own || beside_others) && tried < NAMES_TRIED =>
            {
                tried += 1;
            }
            Ok(writer) => return Ok(writer),
            Err(error) => {
                let hint = "the directory of -f must exist and be writable";
                let is_missing = matches!(&error, Error::Io { .. });
                let error = anyhow::Error::from(error);
                return if is_missing { Err(error).context(hint) } else { Err(error) };
            }
        }
    }
}

fn close(writer: Writer, now: Moment, messages: &Messages) {
    if let Err(error) = writer.close() {
        let error = anyhow::Error::from(error);
        messages.say(now, Severity::Error, &format!("{error:#}"));
    }
}
