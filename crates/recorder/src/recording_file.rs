//! The recording that a recorder writes: opened, rolled, synced, and continued after a full disk.
//!
//! Cost: the writer's one `write` a sample; a comparison of integers for rolls and syncs.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use procfs::Host;
use recording::{Error, Interference, Reader, Writer, WriterOptions};
use sample::{Meta, Moment, Snapshot, SourceDef};
use service_account::{NOT_WRITTEN, WRITTEN_AGAIN};
use source::RecorderCounters;
use text::error_text::with_causes;

use crate::RecorderError;
use crate::messages::{MessageLog, Severity, local};
use crate::names::FileNames;
use crate::plot_output::ensure_directory;

/// If a recording of this second exists, how many later seconds are tried for its name.
const NAMES_TRIED: i64 = 10;

const SECOND_NS: i64 = 1_000_000_000;

/// Least time between two checks that the file still has a name and its length.
const CHECK_NS: u64 = 1_000_000_000;

/// The key of a recording whose writer may write beside others.
const BESIDE_OTHERS: &str = "beside_others";

/// The recording being written.
pub struct RecordingFile {
    names: FileNames,
    zone: TimeZone,
    meta: Meta,
    defs: Vec<Arc<SourceDef>>,
    options: WriterOptions,
    writer: Writer,
    counters: Arc<RecorderCounters>,
    beside_others: bool,
    /// Whether kernel texts are kept too.
    keeps_text: bool,
    /// Whether it was reported that some texts are left out.
    reported_texts_left_out: bool,
    /// The longest time that written samples are not synced.
    sync_ns: Option<u64>,
    synced_ns: u64,
    /// Samples lost since writing last worked.
    lost: u64,
    /// When it was last checked that no other program deleted or truncated the file, and the samples
    /// it had then.
    checked_ns: u64,
    checked_samples: u64,
}

/// How to record.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingOptions {
    /// Whether kernel texts are kept beside the samples.
    pub keeps_text: bool,
    /// Time between two syncs to the disk; `None` leaves it to the kernel.
    pub sync_ns: Option<u64>,
    /// Whether other recorders may write to the same directory at the same time.  If so, a name in
    /// use is skipped; otherwise it is an error, so that nobody runs two by mistake.
    pub beside_others: bool,
}

impl RecordingFile {
    /// Begins the first recording at `now`.
    ///
    /// # Errors
    /// The file cannot be created, or another recorder has locked it.
    pub fn create(
        (names, zone): (FileNames, TimeZone),
        meta: Meta,
        defs: Vec<Arc<SourceDef>>,
        wanted: RecordingOptions,
        counters: Arc<RecorderCounters>,
        now: Moment,
    ) -> Result<Self, RecorderError> {
        let options =
            WriterOptions { sync_blocks: wanted.sync_ns.is_some(), ..WriterOptions::default() };
        let others = wanted.beside_others;
        let mut meta = meta;
        if others {
            meta.set(BESIDE_OTHERS, "yes");
        } else {
            refuse_second_recorder(&names)?;
        }
        let writer = open((&names, &zone), &meta, &defs, (options, others), now)?;
        Ok(RecordingFile {
            beside_others: others,
            names,
            zone,
            meta,
            defs,
            options,
            writer,
            counters,
            keeps_text: wanted.keeps_text,
            reported_texts_left_out: false,
            sync_ns: wanted.sync_ns,
            synced_ns: now.monotonic_ns,
            lost: 0,
            checked_ns: now.monotonic_ns,
            checked_samples: 0,
        })
    }

    /// Writes a sample.  Samples that cannot be written are counted, and the error is reported once;
    /// the next sample is tried again.
    #[inline]
    pub fn append(&mut self, snapshot: &Snapshot, host: &Host, messages: &dyn MessageLog) {
        let now = moment(snapshot);
        if now.monotonic_ns.saturating_sub(self.checked_ns) >= CHECK_NS {
            self.checked_ns = now.monotonic_ns;
            self.counters.calls.add(1);
            if let Some(interference) = self.interference()
                && let Err(error) = self.replace(interference, now, messages)
            {
                self.lose(&error, now, messages);
                return;
            }
            self.checked_samples = self.writer.samples();
        }
        let written = if self.keeps_text {
            self.report_texts_left_out(host, moment(snapshot), messages);
            self.writer.append_with_texts(snapshot, host.texts())
        } else {
            self.writer.append(snapshot)
        };
        match written {
            Ok(written) => {
                // Closing a block takes three system calls (see the writer).
                self.counters.calls.add(if written.closed_block { 4 } else { 1 });
                self.counters.written_bytes.add(written.bytes);
                if self.lost > 0 {
                    let text = format!(
                        "{WRITTEN_AGAIN} after {} lost samples: {}",
                        std::mem::take(&mut self.lost),
                        self.writer.path().display()
                    );
                    messages.log(now, Severity::Warning, &text);
                }
            }
            Err(error) => {
                self.counters.calls.add(1);
                self.lose(&error, now, messages);
            }
        }
        if self.sync_ns.is_some_and(|ns| now.monotonic_ns.saturating_sub(self.synced_ns) >= ns) {
            self.sync(now, messages);
        }
    }

    /// Counts a sample that cannot be written, and reports the first of several.
    fn lose(&mut self, error: &dyn std::error::Error, now: Moment, messages: &dyn MessageLog) {
        self.counters.samples_unwritten.add(1);
        self.lost += 1;
        if self.lost == 1 {
            messages.log(now, Severity::Error, &format!("{NOT_WRITTEN}{}", with_causes(error)));
        }
    }

    /// What another program did to the file since the last check.
    fn interference(&mut self) -> Option<Interference> {
        // The sample before this one is among those of the check, if none was skipped.
        self.writer.interference(self.writer.samples() > self.checked_samples + 1)
    }

    /// Begins another file in place of one that another program deleted or truncated.  The samples
    /// in it count as lost, and are the gap before the first sample of the new one.
    #[cold]
    fn replace(
        &mut self,
        interference: Interference,
        now: Moment,
        messages: &dyn MessageLog,
    ) -> Result<(), RecorderError> {
        // The directory may be deleted, too.
        ensure_directory(&self.names)?;
        let mut writer = self.open_next(now)?;
        let samples = self.writer.samples();
        writer.add_unwritten(samples + std::mem::take(&mut self.lost));
        let old = std::mem::replace(&mut self.writer, writer);
        self.counters.samples_unwritten.add(samples);
        let text = format!(
            "{}; {} is begun in its place",
            interfered(&old, interference),
            self.writer.path().display()
        );
        messages.log(now, Severity::Error, &text);
        Ok(())
    }

    /// Opens the file that begins at `now`.
    fn open_next(&mut self, now: Moment) -> Result<Writer, RecorderError> {
        self.meta.set("started_ns", now.realtime_ns.to_string());
        let date = local(now, &self.zone).strftime("%Y%m%d-%H%M%S").to_string();
        self.meta.set("date", date);
        let options = (self.options, self.beside_others);
        open((&self.names, &self.zone), &self.meta, &self.defs, options, now)
    }

    /// Reports once that some kernel texts are not kept.
    fn report_texts_left_out(&mut self, host: &Host, now: Moment, messages: &dyn MessageLog) {
        let left_out = host.texts_left_out();
        if left_out > 0 && !self.reported_texts_left_out {
            self.reported_texts_left_out = true;
            let text = format!(
                "--raw: the text of {left_out} files is not kept: there is more of it than a \
                 sample may hold"
            );
            messages.log(now, Severity::Warning, &text);
        }
    }

    /// Syncs all samples to the disk.
    pub fn sync(&mut self, now: Moment, messages: &dyn MessageLog) {
        self.synced_ns = now.monotonic_ns;
        self.counters.calls.add(1);
        if let Err(error) = self.writer.flush() {
            messages.log(now, Severity::Error, &with_causes(&error));
        }
    }

    /// Begins another file.  It is created before the old one is closed: if that fails, recording
    /// continues in the old one.
    pub fn roll(&mut self, now: Moment, messages: &dyn MessageLog) {
        match self.open_next(now) {
            Ok(writer) => {
                let mut old = std::mem::replace(&mut self.writer, writer);
                let interference = old.interference(true);
                if let Some(interference) = interference {
                    let error = interfered(&old, interference);
                    messages.log(now, Severity::Error, &with_causes(&error));
                } else {
                    close(old, now, messages);
                }
                self.synced_ns = now.monotonic_ns;
                self.checked_samples = 0;
            }
            Err(error) => {
                let error = with_causes(&error);
                let text = format!("cannot begin a new recording, the old one continues: {error}");
                messages.log(now, Severity::Error, &text);
            }
        }
    }

    /// Closes the recording.
    ///
    /// # Errors
    /// If the file cannot be written; the recording is complete nevertheless, only larger.  Another program
    /// deleted or truncated it.
    pub fn close(mut self) -> Result<(), RecorderError> {
        if let Some(interference) = self.writer.interference(true) {
            return Err(interfered(&self.writer, interference));
        }
        Ok(self.writer.close()?)
    }

    /// Removes the file, of which nothing is wanted: it has a head and no sample.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) fn discard(self) -> Result<(), RecorderError> {
        let path = self.path();
        std::fs::remove_file(&path).map_err(|error| RecorderError::WriteDirectory { path, error })
    }

    /// The file being written.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.writer.path().to_owned()
    }

    /// The length of the file in bytes, without the open block.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.writer.bytes_closed()
    }
}

/// When a tick began.
pub(crate) fn moment(snapshot: &Snapshot) -> Moment {
    Moment { monotonic_ns: snapshot.monotonic_ns, realtime_ns: snapshot.realtime_ns }
}

/// Fails if another recorder writes a recording of the same names in this folder, begun at any time.
/// What may be beside others does no harm: `whit run --record`, `whit poll`.
fn refuse_second_recorder(names: &FileNames) -> Result<(), RecorderError> {
    let entries = std::fs::read_dir(&names.directory).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| names.is_recording(name));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // One that cannot be read is nobody's.
        let Ok(reader) = Reader::open(&entry.path(), &[]) else { continue };
        if reader.is_being_written() && reader.meta().get(BESIDE_OTHERS).is_none() {
            return Err(RecorderError::SecondRecorder {
                path: entry.path(),
                pid: reader.writer_pid(),
            });
        }
    }
    Ok(())
}

fn open(
    (names, zone): (&FileNames, &TimeZone),
    meta: &Meta,
    defs: &[Arc<SourceDef>],
    (options, beside_others): (WriterOptions, bool),
    now: Moment,
) -> Result<Writer, RecorderError> {
    let own = Some(std::process::id());
    let mut tried = 0;
    loop {
        let realtime_ns = now.realtime_ns + tried * SECOND_NS;
        let path = names.recording(&local(Moment { realtime_ns, ..now }, zone));
        match Writer::create(&path, meta, defs, options) {
            Err(Error::Exists { .. }) if tried < NAMES_TRIED => tried += 1,
            // Our own file, begun in the same second: a roll needs another name.
            Err(Error::Locked { pid, .. })
                if (pid == own || beside_others) && tried < NAMES_TRIED =>
            {
                tried += 1;
            }
            Ok(writer) => return Ok(writer),
            Err(error @ Error::Io { .. }) => return Err(RecorderError::CreateRecording(error)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The loss of all samples of a file.
fn interfered(writer: &Writer, interference: Interference) -> RecorderError {
    let what = match interference {
        Interference::Deleted => "deleted",
        Interference::Truncated => "truncated",
    };
    let (path, samples) = (writer.path().to_owned(), writer.samples());
    RecorderError::Interference { path, what, samples }
}

fn close(writer: Writer, now: Moment, messages: &dyn MessageLog) {
    if let Err(error) = writer.close() {
        messages.log(now, Severity::Error, &with_causes(&error));
    }
}
