//! The collector: opens the descriptors that jobs write to, and copies their output to ours.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::color::Colors;
use super::compressed::{CompressionCommands, Compressor};
use super::groups::GroupedOutput;
use super::latest::LatestLines;
use super::lines::{LineStreams, Outlet};
use super::order::{HeldOutput, HeldPart, Order, Store};
use super::results::{self, Saved};
use super::sink::{self, Buffers, GeneratedBytes, Marks, Sink, Text};
use super::slot::Slot;
use super::space::Space;
use super::temporary::Temporary;
use super::{CollectError, JobText, Mode, OutputOptions, Results, Streams, TableFormat, table};
use crate::job::JobResult;
use template::Record;

/// Collects the output of jobs.
#[derive(Debug)]
pub struct Collector {
    options: OutputOptions,
    outputs: Outputs,
    slots: Vec<Slot>,
    order: Order,
    /// The groups of jobs, if output is written by group.
    groups: Option<GroupedOutput>,
    store: Store,
    space: Space,
    /// Buffer for what is read from pipes.
    chunk: Vec<u8>,
    /// Jobs whose output is written and that [`Collector::next_written`] has not returned yet.
    written: VecDeque<JobResult>,
    /// State of the sequence of names for `--files`.
    number: u64,
}

/// Where output is written in the end.
#[derive(Debug)]
struct Outputs {
    sinks: [Sink; 2],
    table: Option<Table>,
    buffers: Buffers,
    colors: Colors,
    latest: Option<LatestLines>,
}

#[derive(Debug)]
struct Table {
    format: TableFormat,
    sink: Option<Sink>,
    has_header: bool,
}

impl Outputs {
    fn table_with_header(
        &mut self,
        names: &[Vec<u8>],
        records: &[Record],
    ) -> Result<(), CollectError> {
        let Outputs { sinks: [stdout, _], table, .. } = self;
        match table {
            Some(Table { format, sink, has_header }) if !*has_header => {
                *has_header = true;
                sink.as_mut().unwrap_or(stdout).write(&table::header(*format, names, records))
            }
            _ => Ok(()),
        }
    }

    /// Writes all the output of a job.
    fn write(
        &mut self,
        finished: &JobResult,
        texts: &[Text<'_>; 2],
        name: Option<&[u8]>,
    ) -> Result<(), CollectError> {
        let Outputs { sinks: [stdout, stderr], table, buffers, colors, .. } = self;
        if let Some(name) = name {
            stdout.write(name)?;
        }
        let Some(Table { format, sink, .. }) = table else {
            let color = colors.of(finished);
            for (text, sink) in texts.iter().zip([stdout, stderr]) {
                if !text.is_empty() {
                    let marks = Marks { color, ..text.marks };
                    sink.output(&Text { marks, ..*text }, buffers)?;
                }
            }
            return Ok(());
        };
        let sink = sink.as_mut().unwrap_or(stdout);
        let path = name.map(|name| Text::plain(&name[..name.len() - 1]));
        let first = path.as_ref().unwrap_or(&texts[0]);
        let mut row = Vec::new();
        table::row(*format, finished, first, &texts[1], buffers, &mut |bytes| {
            row.extend_from_slice(bytes);
            if row.len() < sink::CHUNK_BYTES {
                return Ok(());
            }
            sink.write(&row)?;
            row.clear();
            Ok(())
        })?;
        sink.write(&row)
    }
}

impl Collector {
    /// A collector that writes to these two descriptors.
    ///
    /// The file of a result table is created at once, so that an error is reported before any job
    /// runs.
    pub fn new(
        options: OutputOptions,
        stdout: OwnedFd,
        stderr: OwnedFd,
    ) -> Result<Self, CollectError> {
        let sinks = [Sink::new(stdout, "standard output"), Sink::new(stderr, "standard error")];
        let colors = Colors { all: options.color, failed: options.color_failed };
        let table = match &options.results {
            Some(Results::Table(..)) if options.mode == Mode::LineBuffer => {
                let what = "--line-buffer and a table of --results";
                return Err(CollectError::Together { what });
            }
            Some(Results::Table(format, path)) => {
                let sink = path.as_deref().map(create).transpose()?;
                Some(Table { format: *format, sink, has_header: false })
            }
            _ => None,
        };
        let latest = options.latest_line.map(LatestLines::new);
        let outputs = Outputs { sinks, table, buffers: Buffers::default(), colors, latest };
        Ok(Collector {
            store: Store::new(options.held_files_max, options.directory.clone()),
            groups: options.grouped.then(|| GroupedOutput::new(options.keep_order)),
            options,
            outputs,
            slots: Vec::new(),
            order: Order::default(),
            space: Space::default(),
            chunk: Vec::new(),
            written: VecDeque::new(),
            number: u64::from(std::process::id()),
        })
    }

    /// Whether an earlier run has written the results of this job.
    pub fn has_results(&self, text: &JobText<'_>) -> bool {
        let results = self.options.results.as_ref();
        results.is_some_and(|results| super::has_results(results, &self.options.names, text))
    }

    /// The job `seq` is about to start in `slot` (from 1).
    pub fn open(
        &mut self,
        slot: u32,
        seq: u64,
        text: &JobText<'_>,
    ) -> Result<Streams, CollectError> {
        let index = self.index(slot);
        self.outputs.table_with_header(&self.options.names, text.records)?;
        if self.keeps_order() {
            self.order.begin(seq, slot);
        }
        let slot = &mut self.slots[index];
        (slot.seq, slot.group, slot.running) = (seq, text.group, true);
        slot.tag.set(text.tag);
        slot.heading.set(text.heading);
        if let Some(saved) = self.saved(text)? {
            return self.open_saved(index, saved);
        }
        match self.options.mode {
            Mode::Group => match self.options.compression.clone() {
                Some(compression) => self.open_compressed(index, &compression),
                None => self.open_files(index),
            },
            Mode::LineBuffer => self.open_lines(index),
            Mode::Ungroup => {
                let Outputs { sinks: [stdout, stderr], .. } = &mut self.outputs;
                if let Some(heading) = text.heading {
                    stdout.write(&[heading, b"\n"].concat())?;
                }
                let stdout = Some(stdout.descriptor().as_raw_fd());
                Ok(Streams { stdout, stderr: stderr.descriptor().as_raw_fd(), watch: None })
            }
        }
    }

    /// One of [`Streams::watch`] is readable.  Level-triggered: call it again for what is left.
    pub fn readable(&mut self, watched: RawFd) -> Result<(), CollectError> {
        let Collector { slots, outputs, chunk, options, .. } = self;
        let is_its = |slot: &&mut Slot| {
            slot.lines.as_ref().is_some_and(|lines| lines.reading().contains(&watched))
        };
        let Some(slot) = slots.iter_mut().find(is_its) else { return Ok(()) };
        let Some(lines) = &mut slot.lines else { return Ok(()) };
        let mut outlet = outputs.outlet(slot.seq, slot.tag.get(), &options.directory, chunk);
        lines.readable(watched, &mut outlet)?;
        if slot.running { Ok(()) } else { lines.forget() }
    }

    /// The job in `finished.slot` has ended for good: writes its output, or holds it until the
    /// output of earlier jobs is written, and adds its size to `receive_bytes`.
    ///
    /// `leftovers`: its process group is not empty, so its files and pipes must not be given to
    /// another job.
    pub fn close(&mut self, finished: JobResult, leftovers: bool) -> Result<(), CollectError> {
        let index = self.index(finished.slot);
        self.slots[index].running = false;
        if self.slots[index].saved.is_some() {
            self.close_saved(index, finished)?;
        } else {
            match self.options.mode {
                Mode::Group => match self.options.compression.clone() {
                    Some(compression) => self.close_compressed(index, finished, &compression)?,
                    None => self.close_files(index, finished)?,
                },
                Mode::LineBuffer => self.close_lines(index, finished)?,
                Mode::Ungroup => {
                    let nothing = Text::plain(b"");
                    self.outputs.write(&finished, &[nothing, nothing], None)?;
                    self.written.push_back(finished);
                }
            }
        }
        if leftovers {
            self.renew(index);
        }
        Ok(())
    }

    /// The job in `slot` has ended, but is tried again, or its output is not wanted: drops its
    /// output, except for lines that were written already.
    pub fn abandon(&mut self, slot: u32, leftovers: bool) -> Result<(), CollectError> {
        let index = self.index(slot);
        let Collector { slots, outputs, chunk, options, .. } = self;
        let slot = &mut slots[index];
        slot.running = false;
        slot.compressors = [None, None];
        if let Some(saved) = slot.saved.take()
            && saved.stderr.is_none()
        {
            // It may not exist; then there is nothing to do.
            let _ = std::fs::remove_file(&saved.name);
        }
        let lengths = slot.lengths();
        for (file, length) in slot.files.iter().zip(lengths) {
            if let (Some(file), true) = (file, length > 0) {
                file.clear()?;
            }
        }
        if let Some(lines) = &mut slot.lines {
            lines.end(&mut outputs.outlet(slot.seq, slot.tag.get(), &options.directory, chunk))?;
            lines.forget()?;
        }
        outputs.end_latest(slot.seq, false)?;
        if leftovers {
            self.renew(index);
        }
        Ok(())
    }

    /// The next job whose output is written, in the order in which joblog lines are due (with
    /// `--keep-order` that of the jobs' numbers).  Call it after each [`close`](Self::close) until
    /// it returns none; the job's joblog line comes before any other output.
    ///
    /// # Errors
    ///
    /// If the job's output cannot be written.
    pub fn next_written(&mut self) -> Result<Option<JobResult>, CollectError> {
        if let Some(finished) = self.written.pop_front() {
            return Ok(Some(finished));
        }
        if let Some(groups) = &mut self.groups {
            let ready = groups.next_ready();
            return ready.map(|held| self.write_held(held)).transpose();
        }
        if !self.keeps_order() {
            return Ok(None);
        }
        while let Some(held) = self.order.next_ended() {
            let Some(held) = held else { continue };
            return self.write_held(*held).map(Some);
        }
        self.advance()?;
        Ok(None)
    }

    fn write_held(&mut self, held: HeldOutput) -> Result<JobResult, CollectError> {
        self.outputs.write(&held.finished, &held.texts(&self.store), held.name.as_deref())?;
        let HeldOutput { mut finished, pieces, .. } = held;
        if let HeldPart::Compressed(file) = &pieces[0] {
            // Only now is it known.
            finished.receive_bytes += GeneratedBytes::length(file);
        }
        self.store.release(pieces)?;
        Ok(finished)
    }

    /// The job `seq` will start later, after jobs with higher numbers.
    pub fn expect(&mut self, seq: u64) {
        if self.keeps_order() {
            // Slots count from 1.
            self.order.begin(seq, 0);
        }
    }

    /// The job `seq` will not start after all.
    pub fn pass_over(&mut self, seq: u64) {
        self.order.end(seq, None);
    }

    /// No further job of this group comes: its output is ready for [`Collector::next_written`].
    pub fn end_group(&mut self, group: usize) {
        if let Some(groups) = &mut self.groups {
            groups.end(group);
        }
    }

    /// No further job comes: the output that is held for unfinished groups is ready.
    pub fn end_all_groups(&mut self) {
        if let Some(groups) = &mut self.groups {
            groups.end_all();
        }
    }

    /// Writes to standard error at once (`-t`, and messages).
    pub fn note(&mut self, bytes: &[u8]) -> Result<(), CollectError> {
        self.outputs.sinks[1].write(bytes)
    }

    /// The outputs that could not be written, each once: the jobs go on.
    pub fn take_losses(&mut self) -> impl Iterator<Item = CollectError> {
        let Outputs { sinks, table, .. } = &mut self.outputs;
        let table = table.as_mut().and_then(|table| table.sink.as_mut());
        sinks.iter_mut().chain(table).filter_map(Sink::take_loss)
    }

    /// Jobs that have ended and wait for earlier jobs.  If those never end, their output is never
    /// written, as in GNU parallel.
    pub fn held_count(&self) -> usize {
        self.order.held_count() + self.groups.as_ref().map_or(0, GroupedOutput::held_count)
    }

    fn keeps_order(&self) -> bool {
        self.options.keep_order && self.options.mode != Mode::Ungroup && self.groups.is_none()
    }

    fn index(&mut self, slot: u32) -> usize {
        let index = slot.saturating_sub(1) as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Slot::default);
        }
        index
    }

    /// Gives the next job of the slot new files and pipes.
    fn renew(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.files = [None, None];
        slot.lines = None;
    }
}

/// Output that is saved to files.
impl Collector {
    fn saved(&mut self, text: &JobText<'_>) -> Result<Option<Saved>, CollectError> {
        let saved = match (&self.options.results, text.place) {
            (Some(Results::Tree(root)), _) => {
                let folder = results::folder_of(root, &self.options.names, text.records);
                results::in_folder(&folder)?
            }
            (Some(Results::Template), Some(place)) => results::by_name(place)?,
            _ if self.options.files.is_some() => {
                results::unnamed(&self.options.directory, &mut self.number)?
            }
            _ => return Ok(None),
        };
        if let Some(heading) = text.heading {
            results::write_heading(&saved, heading)?;
        }
        Ok(Some(saved))
    }

    fn open_saved(&mut self, index: usize, saved: Saved) -> Result<Streams, CollectError> {
        let slot = &mut self.slots[index];
        slot.heading.set(None);
        let stderr = match &saved.stderr {
            Some(stderr) => stderr.as_raw_fd(),
            None => temporary(&mut slot.files[1], &self.options.directory)?,
        };
        let streams = Streams { stdout: Some(saved.stdout.as_raw_fd()), stderr, watch: None };
        slot.saved = Some(saved);
        Ok(streams)
    }

    fn close_saved(&mut self, index: usize, mut finished: JobResult) -> Result<(), CollectError> {
        let Some(saved) = self.slots[index].saved.take() else { return Ok(()) };
        let lengths = saved.lengths();
        let folder = saved.name.parent().filter(|folder| !folder.as_os_str().is_empty());
        let now_ns = finished.start_ns + finished.wall_ns;
        let folder = folder.unwrap_or(Path::new("."));
        let checked = self.space.check(now_ns, lengths, saved.stdout.as_fd(), folder);
        checked.map_err(|error| match error {
            CollectError::Full { what } if self.options.results.is_some() => {
                let error = std::io::ErrorKind::StorageFull.into();
                CollectError::Io { what: format!("save results in {what}"), error }
            }
            error => error,
        })?;
        saved.complete(finished.seq)?;
        if self.options.removes_files {
            saved.remove_unnamed()?;
        }
        finished.receive_bytes += match self.options.mode {
            Mode::Group => lengths[0],
            Mode::LineBuffer => lengths[0] + lengths[1],
            Mode::Ungroup => 0,
        };
        // GNU parallel prints the names with --line-buffer even without --files.
        let line_buffer = (self.options.mode == Mode::LineBuffer).then_some(b'\n');
        let name = self.options.files.or(line_buffer).map(|end| {
            let mut name = Vec::new();
            if let Some(tag) = self.slots[index].tag.get() {
                name.extend_from_slice(tag);
                name.push(b'\t');
            }
            name.extend_from_slice(saved.name.as_os_str().as_bytes());
            name.push(end);
            name
        });
        let length = if saved.stderr.is_none() { self.slots[index].lengths()[1] } else { 0 };
        self.deliver(index, finished, [0, length], name)
    }
}

/// Output in unnamed files.
impl Collector {
    fn open_files(&mut self, index: usize) -> Result<Streams, CollectError> {
        let [stdout, stderr] = &mut self.slots[index].files;
        let folder = &self.options.directory;
        let stdout = match self.options.stdout_unused {
            true => None,
            false => Some(temporary(stdout, folder)?),
        };
        Ok(Streams { stdout, stderr: temporary(stderr, folder)?, watch: None })
    }

    fn close_files(&mut self, index: usize, mut finished: JobResult) -> Result<(), CollectError> {
        let slot = &self.slots[index];
        let lengths = slot.lengths();
        if let Some(file) = &slot.files[0] {
            let now_ns = finished.start_ns + finished.wall_ns;
            self.space.check(now_ns, lengths, file.as_fd(), &self.options.directory)?;
        }
        finished.receive_bytes += slot.texts(lengths)[0].length();
        self.deliver(index, finished, lengths, None)
    }

    /// Writes the contents of the slot's files, or holds them, and truncates the files.
    fn deliver(
        &mut self,
        index: usize,
        finished: JobResult,
        lengths: [u64; 2],
        name: Option<Vec<u8>>,
    ) -> Result<(), CollectError> {
        let keeps_order = self.keeps_order();
        let Collector { slots, order, groups, store, outputs, written, .. } = self;
        let slot = &mut slots[index];
        if groups.is_none() && (!keeps_order || order.is_first(slot.seq)) {
            outputs.write(&finished, &slot.texts(lengths), name.as_deref())?;
            written.push_back(finished);
            if keeps_order {
                order.end(slot.seq, None);
            }
        } else {
            let mut pieces = [HeldPart::Nothing, HeldPart::Nothing];
            for which in 0..2 {
                pieces[which] = match &mut slot.files[which] {
                    file if store.wants_file(lengths[which]) => match file.take() {
                        Some(file) => store.hold_file(file, lengths[which]),
                        None => HeldPart::Nothing,
                    },
                    _ => store.hold(slot.texts(lengths)[which].source)?,
                };
            }
            let (tag, heading) = (slot.tag.to_owned(), slot.heading.to_owned());
            let held = HeldOutput { finished, tag, heading, pieces, name };
            match groups {
                Some(groups) => groups.hold(slot.group, held),
                None => order.end(slot.seq, Some(Box::new(held))),
            }
        }
        for (file, length) in slot.files.iter().zip(lengths) {
            if let (Some(file), true) = (file, length > 0) {
                file.clear()?;
            }
        }
        Ok(())
    }
}

/// Output in compressed files.
impl Collector {
    fn open_compressed(
        &mut self,
        index: usize,
        compression: &CompressionCommands,
    ) -> Result<Streams, CollectError> {
        let start = || Compressor::start(compression, &self.options.directory);
        let stdout = if self.options.stdout_unused { None } else { Some(start()?) };
        let stderr = start()?;
        let streams = Streams {
            stdout: stdout.as_ref().map(Compressor::writing),
            stderr: stderr.writing(),
            watch: None,
        };
        self.slots[index].compressors = [stdout, Some(stderr)];
        Ok(streams)
    }

    /// Writes the output of the slot's job, or holds it.
    fn close_compressed(
        &mut self,
        index: usize,
        mut finished: JobResult,
        compression: &CompressionCommands,
    ) -> Result<(), CollectError> {
        let keeps_order = self.keeps_order();
        let Collector { slots, order, groups, store, .. } = self;
        let slot = &mut slots[index];
        let (seq, group) = (slot.seq, slot.group);
        let mut pieces = [HeldPart::Nothing, HeldPart::Nothing];
        for (piece, compressor) in pieces.iter_mut().zip(&mut slot.compressors) {
            let Some(compressor) = compressor.take() else { continue };
            *piece = store.hold_compressed(compressor.finish(compression)?)?;
        }
        finished.receive_bytes += slot.texts([0, 0])[0].length();
        if let HeldPart::Spooled(_, length) = pieces[0] {
            finished.receive_bytes += length;
        }
        let (tag, heading) = (slot.tag.to_owned(), slot.heading.to_owned());
        let held = HeldOutput { finished, tag, heading, pieces, name: None };
        match groups {
            Some(groups) => groups.hold(group, held),
            None if keeps_order && !order.is_first(seq) => order.end(seq, Some(Box::new(held))),
            None => {
                let finished = self.write_held(held)?;
                self.written.push_back(finished);
                if keeps_order {
                    self.order.end(seq, None);
                }
            }
        }
        Ok(())
    }
}

/// Output line by line.
impl Collector {
    fn open_lines(&mut self, index: usize) -> Result<Streams, CollectError> {
        let live = !self.keeps_order() || self.order.is_first(self.slots[index].seq);
        let Collector { slots, outputs, .. } = self;
        let slot = &mut slots[index];
        let mut watch = None;
        let lines = match &mut slot.lines {
            Some(lines) => lines,
            none => {
                let lines = none.insert(LineStreams::new()?);
                watch = Some(lines.reading());
                lines
            }
        };
        lines.live = live;
        lines.received = slot.heading.get().map_or(0, |heading| heading.len() as u64 + 1);
        let [stdout, stderr] = lines.writing();
        if live {
            outputs.write_heading(slot)?;
        }
        Ok(Streams { stdout: Some(stdout), stderr, watch })
    }

    fn close_lines(&mut self, index: usize, mut finished: JobResult) -> Result<(), CollectError> {
        let Collector { slots, order, store, outputs, written, chunk, options, .. } = self;
        let slot = &mut slots[index];
        let Some(lines) = &mut slot.lines else { return Ok(()) };
        lines.end(&mut outputs.outlet(slot.seq, slot.tag.get(), &options.directory, chunk))?;
        finished.receive_bytes += lines.received;
        outputs.end_latest(slot.seq, true)?;
        if lines.live {
            written.push_back(finished);
            order.end(slot.seq, None);
            return Ok(());
        }
        let pieces = lines.take_pieces(store)?;
        let (tag, heading) = (slot.tag.to_owned(), slot.heading.to_owned());
        let held = HeldOutput { finished, tag, heading, pieces, name: None };
        order.end(slot.seq, Some(Box::new(held)));
        Ok(())
    }

    /// Writes all output that need not wait any longer.
    fn advance(&mut self) -> Result<(), CollectError> {
        let Collector { slots, order, outputs, chunk, options, .. } = self;
        let Some((seq, number)) = order.first_running() else { return Ok(()) };
        let Some(slot) = slots.get_mut(number.saturating_sub(1) as usize) else { return Ok(()) };
        if slot.seq != seq || !slot.running || slot.lines.as_ref().is_none_or(|lines| lines.live) {
            return Ok(());
        }
        outputs.write_heading(slot)?;
        match &mut slot.lines {
            Some(lines) => lines.go_live(&mut outputs.outlet(
                slot.seq,
                slot.tag.get(),
                &options.directory,
                chunk,
            )),
            None => Ok(()),
        }
    }
}

impl Outputs {
    fn outlet<'a>(
        &'a mut self,
        seq: u64,
        tag: Option<&'a [u8]>,
        folder: &'a Path,
        chunk: &'a mut Vec<u8>,
    ) -> Outlet<'a> {
        let marks = Marks { tag, color: self.colors.of_running(seq) };
        let Outputs { sinks, buffers, latest, .. } = self;
        let latest = latest.as_mut().map(|latest| (latest, seq));
        Outlet { sinks, buffers, marks, latest, folder, chunk }
    }

    /// A job has ended, or is run again: what is shown of it stays only in the first case.
    fn end_latest(&mut self, seq: u64, counts: bool) -> Result<(), CollectError> {
        match &mut self.latest {
            Some(latest) => latest.end(seq, counts, &mut self.sinks[0]),
            None => Ok(()),
        }
    }

    fn write_heading(&mut self, slot: &mut Slot) -> Result<(), CollectError> {
        let Some(text) = Some(slot.texts([0, 0])[0]).filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        let marks = Marks { color: self.colors.of_running(slot.seq), ..text.marks };
        if let (Some(latest), Some(heading)) = (&mut self.latest, text.heading) {
            let line = [heading, b"\n"].concat();
            latest.add(slot.seq, 0, &line, marks, &mut self.sinks[0])?;
            slot.heading.set(None);
            return Ok(());
        }
        self.sinks[0].output(&Text { marks, ..text }, &mut self.buffers)?;
        slot.heading.set(None);
        Ok(())
    }
}

/// The slot's file, created if there is none.
fn temporary(file: &mut Option<Temporary>, folder: &Path) -> Result<RawFd, CollectError> {
    let file = match file {
        Some(file) => file,
        none => none.insert(Temporary::for_job(folder)?),
    };
    Ok(file.as_fd().as_raw_fd())
}

fn create(path: &Path) -> Result<Sink, CollectError> {
    match File::create(path) {
        Ok(file) => Ok(Sink::new(file.into(), path)),
        Err(source) => {
            Err(CollectError::Io { what: format!("write to {}", path.display()), error: source })
        }
    }
}
