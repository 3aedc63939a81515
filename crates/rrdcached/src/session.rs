//! A client's commands, from lines to answers.
//!
//! A session is given line after line and gathers its answers and the journal's records; `end`
//! appends the records and then lets the answers go.  An update costs no allocation and no system
//! call: its share is that of the read which brought it and of one write to the journal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rrd::header::Time;
use rrd::update::Updater;
use rrd::{Access, File};
use rustix::io::Errno;
use service_account::NOT_WRITTEN;

use crate::cache::{Alias, CacheState, Entry, FileStamp};
use crate::daemon::CachingDaemon;
use crate::heads::Heads;
use crate::help;
use crate::journal::{Acknowledge, Chunk, NoRoom};
use crate::locks::lock;
use crate::paths;
use crate::protocol::{Command, Fields, Permissions};
use crate::writers::{self, WriteOutcome};
use order::NameOrder;

mod files;
mod order;
mod shown;

/// What follows a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// The next line.
    Line,
    /// The end of the connection, after the answers.
    Close,
}

/// A command that cannot be answered otherwise: the text after `-1`.
type Refused = Cow<'static, str>;
type Answer = Result<(), Refused>;

/// A reading of an UPDATE, and its time.
type TimedReading<'a> = (Time, Cow<'a, [u8]>);

/// Commands between BATCH and the dot.
#[derive(Debug, Default)]
struct Batch {
    commands: u64,
    error_count: u64,
    errors: Vec<u8>,
}

/// The answer to BATCH, which promises nothing.
const GO_AHEAD: &str = "Go ahead.  End with dot '.' on its own line.";

/// Most bytes of errors that a batch may gather; a client with more sends something else.
const BATCH_ERRORS_MAX: usize = 8 << 20;

/// Whether answers say of anything that it was done.
fn promises(out: &[u8]) -> bool {
    let begun = out.strip_prefix(b"0 ").and_then(|out| out.strip_suffix(b"\n"));
    !out.is_empty() && begun != Some(GO_AHEAD.as_bytes())
}

/// Answers that are longer are sent at once.
const OUT_BYTES_MAX: usize = 256 << 10;

/// A client.
pub struct ClientSession {
    daemon: Arc<CachingDaemon>,
    permissions: Permissions,
    acknowledge: Acknowledge,
    out: Vec<u8>,
    /// Where answers go.
    peer: Box<dyn Write + Send>,
    batch: Option<Batch>,
    chunk: Option<Chunk>,
    updater: Updater,
    names: NameOrder,
    /// Not yet added to the daemon's counters.
    counts: Counts,
    /// Lines since the answers were last sent.
    lines: u64,
    closes: bool,
    now: i64,
}

#[derive(Debug, Default)]
struct Counts {
    received: u64,
    accepted: u64,
    refused: u64,
    bytes: usize,
}

impl std::fmt::Debug for ClientSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ClientSession")
            .field("acknowledge", &self.acknowledge)
            .finish_non_exhaustive()
    }
}

impl ClientSession {
    /// A session of a client that came through a socket of these rights.
    #[must_use]
    pub fn new(
        daemon: Arc<CachingDaemon>,
        permissions: Permissions,
        acknowledge: Acknowledge,
        peer: Box<dyn Write + Send>,
    ) -> Self {
        let waits = acknowledge == Acknowledge::Disk;
        let chunk = daemon.journal.as_ref().map(|journal| journal.chunk(waits));
        Self {
            daemon,
            permissions,
            acknowledge,
            out: Vec::new(),
            peer,
            batch: None,
            chunk,
            updater: Updater::default(),
            names: NameOrder::default(),
            counts: Counts::default(),
            lines: 0,
            closes: false,
            now: 0,
        }
    }

    /// Begins with what a read brought.
    pub fn begin(&mut self) {
        self.now = self.daemon.now();
        if let (Some(journal), Some(chunk)) = (&self.daemon.journal, &mut self.chunk) {
            journal.open_chunk(chunk);
        }
    }

    /// Runs a line, without its end.
    pub fn line(&mut self, line: &[u8]) -> NextStep {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.lines += 1;
        if let Some(batch) = &mut self.batch {
            batch.commands += 1;
        }
        let answer = match Command::update_fields(line) {
            Some(mut fields) if self.permissions.has(Command::Update) => self.update(&mut fields),
            _ => self.command(&mut Fields::of(line)),
        };
        if let Err(text) = answer {
            self.refuse(&text);
        }
        match self.closes {
            true => NextStep::Close,
            false => NextStep::Line,
        }
    }

    /// Ends what a read brought: appends it to the journal and sends the answers.
    ///
    /// # Errors
    /// If the client does not take them.
    pub fn end(&mut self) -> io::Result<()> {
        let sent = match self.acknowledge {
            Acknowledge::None => self.send(),
            _ => Ok(()),
        };
        let committed = self.commit();
        if let Some(chunk) = &mut self.chunk {
            chunk.close();
        }
        sent.and_then(|()| self.send())?;
        match committed {
            true => Ok(()),
            false => Err(io::Error::other("the journal cannot be written")),
        }
    }

    fn send(&mut self) -> io::Result<()> {
        let done = self.peer.write_all(&self.out);
        self.out.clear();
        self.out.shrink_to(OUT_BYTES_MAX);
        done
    }

    /// Sends the answers until now, if they are long.
    fn send_if_long(&mut self) -> Result<(), Refused> {
        if self.out.len() < OUT_BYTES_MAX {
            return Ok(());
        }
        if !self.commit() || self.send().is_err() {
            self.closes = true;
            return Err("closed".into());
        }
        Ok(())
    }

    /// Appends what the lines said to the journal; whether that was done.
    fn commit(&mut self) -> bool {
        let counts = std::mem::take(&mut self.counts);
        if counts.received > 0 {
            let counters = &self.daemon.counters;
            counters.updates_received.add(counts.received);
            counters.readings_accepted.add(counts.accepted);
            counters.readings_refused.add(counts.refused);
            self.daemon.cache.add_bytes(counts.bytes);
        }
        let (Some(journal), Some(chunk)) = (&self.daemon.journal, &mut self.chunk) else {
            return true;
        };
        let (promises, lines) = (promises(&self.out), std::mem::take(&mut self.lines));
        let mut done = journal.append(chunk);
        // The end of the batch waits for all of it.
        let waits = self.acknowledge == Acknowledge::Disk && promises;
        if done.is_ok() && waits {
            done = journal.wait_for_disk(chunk);
        }
        let Err(error) = done else { return true };
        let text = self.journal_failed(&error);
        if self.batch.is_some() && !promises {
            self.refuse(&text);
            return true;
        }
        // What the answers say is not true.  One can be replaced; of several a client would not know
        // which is for which command.
        self.out.clear();
        let _ = writeln!(self.out, "-1 {text}");
        self.closes = lines != 1 || self.acknowledge == Acknowledge::None;
        !self.closes
    }

    /// Counts and logs that the journal was not written; what to answer.
    fn journal_failed(&self, error: &io::Error) -> String {
        self.daemon.counters.journal_errors.add(1);
        match NoRoom::of(error) {
            Some(why) => {
                let text = why.to_string();
                // The daemon says when there is room again.
                self.daemon.error(&format!("{NOT_WRITTEN}{text}"));
                text
            }
            None => {
                let text = format!("cannot write the journal: {}", rrd::reason(error));
                self.daemon.error(&text);
                text
            }
        }
    }

    /// Appends what a batch brought before its end is answered, which says then what failed.
    fn append_batch(&mut self) {
        if promises(&self.out) {
            return;
        }
        let (Some(journal), Some(chunk)) = (&self.daemon.journal, &mut self.chunk) else { return };
        if let Err(error) = journal.append(chunk) {
            let text = self.journal_failed(&error);
            self.refuse(&text);
        }
    }

    fn command(&mut self, fields: &mut Fields<'_>) -> Answer {
        let name = match fields.next_field() {
            Ok(name) => name.unwrap_or_default(),
            Err(_) => return Err("Unable parse command.".into()),
        };
        let Some(command) = Command::of(&name) else {
            return Err(format!("Unknown command: {}", String::from_utf8_lossy(&name)).into());
        };
        if !self.permissions.has(command) {
            return Err("Permission denied.".into());
        }
        let fits = match self.batch {
            Some(_) => command.is_for_batches(),
            None => command.is_for_single_lines(),
        };
        if !fits {
            return Err(format!("Can't use '{}' here.", command.name()).into());
        }
        self.run(command, fields)
    }

    fn run(&mut self, command: Command, fields: &mut Fields<'_>) -> Answer {
        match command {
            Command::Update => self.update(fields),
            Command::Flush => self.flush(fields),
            Command::FlushAll => self.flush_all(),
            Command::Pending => self.pending(fields),
            Command::Forget => self.forget(fields),
            Command::Queue => self.queue(),
            Command::Stats => self.stats(fields),
            Command::Help => self.help(fields),
            Command::Ping => {
                self.answer("PONG");
                Ok(())
            }
            Command::Batch => {
                self.answer(GO_AHEAD);
                self.batch = Some(Batch::default());
                Ok(())
            }
            Command::Dot => {
                self.append_batch();
                let Batch { error_count, errors, .. } = self.batch.take().unwrap_or_default();
                let _ = writeln!(self.out, "{error_count} errors");
                self.out.extend_from_slice(&errors);
                Ok(())
            }
            Command::Suspend => self.suspend(fields, true),
            Command::Resume => self.suspend(fields, false),
            Command::SuspendAll => self.suspend_all(true),
            Command::ResumeAll => self.suspend_all(false),
            Command::Quit => {
                self.closes = true;
                Ok(())
            }
            Command::Wrote => Err("Can't use 'WROTE' here.".into()),
            _ => self.file_command(command, fields),
        }
    }

    /// Answers that a command is done.
    fn answer(&mut self, text: &str) {
        if self.batch.is_none() {
            self.out.extend_from_slice(b"0 ");
            self.out.extend_from_slice(text.as_bytes());
            self.out.push(b'\n');
        }
    }

    /// Answers with lines: the first one has their number.
    fn answer_lines(&mut self, text: &str, lines: &[String]) {
        let _ = writeln!(self.out, "{} {text}", lines.len());
        for line in lines {
            self.out.extend_from_slice(line.as_bytes());
            self.out.push(b'\n');
        }
    }

    fn refuse(&mut self, text: &str) {
        let Some(batch) = &mut self.batch else {
            let _ = writeln!(self.out, "-1 {text}");
            return;
        };
        batch.error_count += 1;
        let _ = writeln!(batch.errors, "{} {text}", batch.commands);
        if batch.errors.len() > BATCH_ERRORS_MAX {
            self.batch = None;
            self.closes = true;
            self.out.extend_from_slice(b"-1 too many errors in a batch\n");
        }
    }

    fn update(&mut self, fields: &mut Fields<'_>) -> Answer {
        // Apart from the session, whose other parts change: no reference is counted.
        let mut names = std::mem::take(&mut self.names);
        let answer = self.update_next(&mut names, fields);
        self.names = names;
        answer
    }

    fn update_next(&mut self, names: &mut NameOrder, fields: &mut Fields<'_>) -> Answer {
        let Some(alias) = fields.rest().and_then(|rest| names.expected(rest)) else {
            let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Update)) };
            self.admit()?;
            return self.update_named(&name, names, fields);
        };
        fields.pass(alias.name.len());
        self.admit()?;
        if let Some(answer) = self.update_entry(&alias.entry, fields) {
            return answer;
        }
        let name = Arc::clone(&alias.name);
        self.update_named(&name, names, fields)
    }

    /// Refuses what the journal must have while that cannot be written.
    #[inline]
    fn check_journal(&self) -> Answer {
        match self.chunk.as_ref().and_then(Chunk::refusal) {
            None => Ok(()),
            Some(why) => Err(why.to_string().into()),
        }
    }

    /// Counts an update, and waits until there is memory for it.
    #[inline]
    fn admit(&mut self) -> Answer {
        self.counts.received += 1;
        if let Err(text) = self.check_journal() {
            self.counts.refused += 1;
            return Err(text);
        }
        if self.daemon.wait_for_memory() {
            return Ok(());
        }
        self.counts.refused += 1;
        Err("too many readings wait to be written".into())
    }

    fn update_named(
        &mut self,
        name: &[u8],
        names: &mut NameOrder,
        fields: &mut Fields<'_>,
    ) -> Answer {
        loop {
            let alias = match self.daemon.cache.find(name) {
                Some(alias) => alias,
                None => self.resolve(name)?,
            };
            if let Some(answer) = self.update_entry(&alias.entry, fields) {
                names.remember(alias);
                return answer;
            }
            self.daemon.cache.forget_name(name);
        }
    }

    /// Takes readings of a file; `None` if it was dropped from the cache.
    fn update_entry(&mut self, entry: &Arc<Entry>, fields: &mut Fields<'_>) -> Option<Answer> {
        let mut count = 0;
        let mut taken = self.take_readings(entry, fields, &mut count)?;
        // Nothing is refused because of what the file was before somebody else changed it.
        if taken.is_err() && load(entry).unwrap_or(false) {
            taken = self.take_readings(entry, fields, &mut count)?;
        }
        Some(match (taken, count) {
            (Ok(()), 0) => Err("No values updated.".into()),
            (Ok(()), 1) => {
                self.answer("errors, enqueued 1 value(s).");
                Ok(())
            }
            (Ok(()), count) => {
                self.answer(&format!("errors, enqueued {count} value(s)."));
                Ok(())
            }
            (Err(text), _) => {
                self.counts.refused += 1;
                Err(text)
            }
        })
    }

    /// Takes readings up to the first bad one, with which the fields begin then, and counts them.
    /// `None` if the file was dropped from the cache.
    fn take_readings(
        &mut self,
        entry: &Arc<Entry>,
        fields: &mut Fields<'_>,
        count: &mut u64,
    ) -> Option<Answer> {
        let mut state = entry.lock();
        if state.is_gone {
            return None;
        }
        loop {
            let (time, reading) = match next_reading(entry, &state, fields) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(text) => return Some(Err(text)),
            };
            state.last = Some(time);
            let segment = self.chunk.as_ref().map_or(0, Chunk::segment);
            state.pending.push(&reading, segment);
            self.counts.bytes += reading.len() + 1;
            if let Some(chunk) = &mut self.chunk {
                chunk.update(&entry.name, &reading);
            }
            *count += 1;
        }
        self.counts.accepted += *count;
        self.daemon.enqueue_if_due(entry, &mut state, self.now);
        Some(Ok(()))
    }

    /// Finds the file of a name that was not used before, and reads its rules.
    fn resolve(&self, name: &[u8]) -> Result<Alias, Refused> {
        let shown = self.allowed(name)?;
        let shown_text = || String::from_utf8_lossy(&shown).into_owned();
        let path = paths::path(&shown);
        let metadata = std::fs::metadata(path).map_err(|error| match error.raw_os_error() {
            Some(code) if code == Errno::NOENT.raw_os_error() => {
                format!("No such file: {}", shown_text())
            }
            code => format!("stat failed with error {}.", code.unwrap_or(0)),
        })?;
        if !metadata.is_file() {
            return Err(format!("Not a regular file: {}", shown_text()).into());
        }
        rustix::fs::access(path, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK)
            .map_err(|error| {
                let error = rrd::reason(&error.into());
                format!("Cannot read/write {}: {error}", shown_text())
            })?;
        let real = path.canonicalize().map_err(|_| format!("No such file: {}", shown_text()))?;
        if !self.daemon.settings.paths.allows_file(&real) {
            return Err(format!("{}: Permission denied", shown_text()).into());
        }
        let entry = self.daemon.cache.file(&real, self.now);
        if let Err(error) = load(&entry) {
            if entry.lock().unwritten().is_empty() {
                entry.lock().is_gone = true;
                self.daemon.cache.remove(&entry);
            }
            return Err(format!("RRD Error: {}", shown::as_named(&error, &shown)).into());
        }
        Ok(self.daemon.cache.remember(name, &entry))
    }

    /// The name as it is shown, if clients may use it.
    fn allowed(&self, name: &[u8]) -> Result<Vec<u8>, Refused> {
        let paths = &self.daemon.settings.paths;
        let shown = paths.shown(name);
        if !paths.allows_name(&shown) {
            let shown = String::from_utf8_lossy(&shown);
            return Err(format!("{shown}: Permission denied").into());
        }
        Ok(shown)
    }

    /// The name as it is shown, the file's real name, and the file if it is known.  Waits until
    /// old readings are in memory.
    fn known(&self, name: &[u8]) -> Result<(String, PathBuf, Option<Arc<Entry>>), Refused> {
        let shown = self.allowed(name)?;
        self.daemon.wait_for_replay();
        let path = paths::path(&shown);
        let real = real_name(path);
        let text = String::from_utf8_lossy(&shown).into_owned();
        if !self.daemon.settings.paths.allows_file(&real) {
            return Err(format!("{text}: Permission denied").into());
        }
        let entry = self.daemon.cache.find_file(&real);
        Ok((text, real, entry))
    }

    fn flush(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Flush)) };
        self.daemon.counters.flushes_received.add(1);
        let (shown, path, entry) = self.known(&name)?;
        match entry {
            Some(entry) => {
                let written = self.write(&entry).map_err(|error| format!("{shown}: {error}"))?;
                if let Some(text) = written.refusal {
                    return Err(format!("{shown}: {text}").into());
                }
                self.answer(&format!("Successfully flushed {shown}."));
                Ok(())
            }
            None if path.exists() => {
                self.answer(&format!("Nothing to flush: {shown}."));
                Ok(())
            }
            None => Err(format!("No such file: {shown}.").into()),
        }
    }

    /// Writes a file's readings now.
    fn write(&mut self, entry: &Arc<Entry>) -> Result<WriteOutcome, String> {
        writers::write(&self.daemon, entry, &mut self.updater, self.chunk.as_mut())
    }

    fn flush_all(&mut self) -> Answer {
        self.daemon.wait_for_replay();
        self.daemon.counters.flushes_received.add(1);
        self.daemon.enqueue_all();
        self.answer("Started flush.");
        Ok(())
    }

    fn pending(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Pending)) };
        let readings = match self.known(&name)?.2 {
            Some(entry) => entry.lock().unwritten(),
            None => Default::default(),
        };
        let _ = writeln!(self.out, "{} updates pending", readings.count);
        self.out.extend_from_slice(&readings.text);
        Ok(())
    }

    fn forget(&mut self, fields: &mut Fields<'_>) -> Answer {
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(Command::Forget)) };
        let Some(entry) = self.known(&name)?.2 else {
            return Err("No such file or directory".into());
        };
        self.check_journal()?;
        self.forget_entry(&entry)?;
        self.answer("Gone!");
        Ok(())
    }

    /// Drops a file's readings and the file from the cache.
    fn forget_entry(&mut self, entry: &Arc<Entry>) -> Answer {
        let daemon = Arc::clone(&self.daemon);
        let writing = daemon.heads.as_ref().map(Heads::writing);
        // A write that is under way is waited for: what it writes is not forgotten.
        let _io = lock(&entry.io);
        if entry.path.exists() {
            // Nor is what it has written: a replay would drop it with the rest.
            self.replaced(&entry.path, Some(entry), writing.as_ref())?;
        }
        let mut state = entry.lock();
        let dropped = std::mem::take(&mut state.pending);
        state.is_gone = true;
        self.daemon.cache.remove(entry);
        // Readings that this session has just taken are not counted yet.
        self.daemon.cache.add_bytes(std::mem::take(&mut self.counts.bytes));
        self.daemon.cache.release_bytes(dropped.text.len());
        if let (Some(journal), Some(chunk)) = (&self.daemon.journal, &mut self.chunk) {
            // Appended while the file is locked, so that a later reading comes after it.
            chunk.forget(&entry.name);
            let done = journal.append(chunk);
            done.map_err(|error| format!("cannot write the journal: {}", rrd::reason(&error)))?;
        }
        Ok(())
    }

    fn queue(&mut self) -> Answer {
        let mut lines = Vec::new();
        for entry in self.daemon.queue.files() {
            let count = entry.lock().pending.count;
            lines.push(format!("{count} {}", entry.path.display()));
        }
        self.answer_lines("in queue.", &lines);
        Ok(())
    }

    fn stats(&mut self, fields: &mut Fields<'_>) -> Answer {
        let is_extended = matches!(
            fields.next_field(),
            Ok(Some(word)) if word.eq_ignore_ascii_case(b"EXT")
        );
        self.daemon.counters.updates_received.add(std::mem::take(&mut self.counts.received));
        let mut lines = shown::stats(&self.daemon);
        if is_extended {
            lines.extend(shown::extended_stats(&self.daemon));
        }
        self.answer_lines("Statistics follow", &lines);
        Ok(())
    }

    fn help(&mut self, fields: &mut Fields<'_>) -> Answer {
        let command = match fields.next_field() {
            Ok(Some(name)) if !name.eq_ignore_ascii_case(b"HELP") || fields.is_done() => {
                Command::of(&name)
            }
            _ => None,
        };
        let (text, lines) = help::help(command);
        self.answer_lines(&text, &lines);
        Ok(())
    }

    fn suspend(&mut self, fields: &mut Fields<'_>, suspends: bool) -> Answer {
        let command = if suspends { Command::Suspend } else { Command::Resume };
        let Ok(Some(name)) = fields.next_field() else { return Err(usage(command)) };
        let (shown, _, entry) = self.known(&name)?;
        let entry = entry.ok_or_else(|| format!("{shown} - No such file or directory"))?;
        let mut state = entry.lock();
        let word = match (suspends, state.is_suspended) {
            (true, true) => "already suspended",
            (true, false) => "suspended",
            (false, true) => "resumed",
            (false, false) => "not suspended",
        };
        state.is_suspended = suspends;
        drop(state);
        self.answer(&format!("{shown} {word}"));
        Ok(())
    }

    fn suspend_all(&mut self, suspends: bool) -> Answer {
        self.daemon.wait_for_replay();
        let mut count = 0;
        for entry in self.daemon.cache.files() {
            let mut state = entry.lock();
            count += u64::from(state.is_suspended != suspends);
            state.is_suspended = suspends;
        }
        let word = if suspends { "suspend" } else { "resumed" };
        self.answer(&format!("{count} rrds {word}"));
        Ok(())
    }
}

/// The next reading of an UPDATE, which its file will take; `None` after the last one.  One that is
/// refused stays the next.
#[inline]
fn next_reading<'a>(
    entry: &Entry,
    state: &CacheState,
    fields: &mut Fields<'a>,
) -> Result<Option<TimedReading<'a>>, Refused> {
    if let (Some(rest), Some(rules)) = (fields.rest(), &state.rules)
        && let Some((time, length)) = rules.plain(rest)
    {
        follows(time, state.last)?;
        fields.pass(length);
        return Ok(Some((time, Cow::Borrowed(&rest[..length]))));
    }
    let before = fields.clone();
    let Ok(Some(reading)) = fields.next_field() else { return Ok(None) };
    match time_of(&reading, entry, state) {
        Ok(time) => Ok(Some((time, reading))),
        Err(text) => {
            *fields = before;
            Err(text)
        }
    }
}

/// The time of a reading that its file will take.
fn time_of(reading: &[u8], entry: &Entry, state: &CacheState) -> Result<Time, Refused> {
    // The rules were read when the name was resolved.
    let Some(rules) = &state.rules else { return Err("Internal error.".into()) };
    let Some((time, values)) = rules.time(reading) else {
        let reading = String::from_utf8_lossy(reading);
        return Err(format!("Cannot find timestamp in '{reading}'!").into());
    };
    follows(time, state.last)?;
    let checked = rules.check(reading, values);
    checked.map_err(|error| format!("{}: {error}", entry.path.display()))?;
    Ok(time)
}

/// Whether a time comes after the last one.
#[inline]
fn follows(time: Time, last: Option<Time>) -> Answer {
    match last.filter(|last| time <= *last) {
        Some(last) => Err(shown::past(time, last).into()),
        None => Ok(()),
    }
}

/// How a command is written.
fn usage(command: Command) -> Refused {
    format!("Usage: {}", command.usage()).into()
}

/// Reads the rules of a file, if they are not known or the file was changed or replaced since; whether
/// it did.
pub(crate) fn load(entry: &Entry) -> Result<bool, rrd::Error> {
    let stamp = FileStamp::of(&entry.path);
    let is_as_known =
        |state: &CacheState| state.rules.is_some() && (stamp.is_none() || state.stamp == stamp);
    if is_as_known(&entry.lock()) {
        return Ok(false);
    }
    let _io = lock(&entry.io);
    // Of before the header is read: a change meanwhile is found by the next look.
    let stamp = FileStamp::of(&entry.path);
    let file = File::open(&entry.path, Access::Read)?;
    entry.lock().take_header(file.header(), stamp);
    Ok(true)
}

/// A name with all links resolved, also of a file that is not there.
fn real_name(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}
