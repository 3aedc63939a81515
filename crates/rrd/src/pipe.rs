//! Commands from a pipe (`rrdtool -`): a line each, with a line `OK …` or `ERROR: …` after it.
//!
//! Files that are updated stay open, mapped and parsed.  Updates that wait in the input are done
//! together, file by file: lock, look whether the name still means that file, change all in memory,
//! compare the header with the one that was known (another program may have changed it; then all
//! is done again), write it at once, unlock.  An update is in its file when its line is answered.
//!
//! A program that waits for each answer has each update done at once, for five system calls; one
//! that writes ahead shares them among all updates of a file that wait.
//!
//! Memory has limits: open files ([`FILES_MAX`]), names, and bytes of lines that wait.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::command::{self, CommandEnvironment, Failure};
use crate::error::{Result, reason, refuse};
use crate::file::{Access, File, LiveWrite};
use crate::update::{Options, Updater};

/// What follows a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next one.
    Line,
    /// The end.
    Quit,
}

/// A command that this session does not have: another part of the program may.
pub type Other<'a> =
    &'a mut dyn FnMut(&str, &[String], &mut dyn Write) -> Option<Result<(), Failure>>;

/// A session.
#[derive(Debug)]
pub struct Session {
    files: Vec<UpdatedFile>,
    /// Index in `files` by name.
    names: HashMap<Arc<str>, u32>,
    /// Files that are open.
    open: usize,
    /// Most files that are kept open.
    files_max: usize,
    /// Files that were not open when they were wanted, since all places were taken.
    misses: usize,
    /// Where the search for a file to be closed goes on.
    hand: usize,
    updater: Updater,
    words: Vec<String>,
    batch: Batch,
    /// The updates of one file in the batch.
    group: Vec<u32>,
}

/// A file that was updated; it may be closed.
#[derive(Debug)]
struct UpdatedFile {
    name: Arc<str>,
    file: Option<Box<File>>,
    /// The first and the last update of the file in the batch, or [`NONE`].
    first: u32,
    last: u32,
}

/// Updates that wait to be done together.
#[derive(Debug, Default)]
struct Batch {
    /// The lines of the updates, one after the other.
    text: Vec<u8>,
    /// The readings: ranges of `text`.
    readings: Vec<(u32, u32)>,
    updates: Vec<Waiting>,
    /// The files that they are of.
    files: Vec<u32>,
    /// Why updates were refused, by their index.
    refused: Vec<(u32, String)>,
}

/// An update that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// The first and the end of its readings in [`Batch::readings`].
    first: u32,
    end: u32,
    /// The next update of the same file, or [`NONE`].
    next: u32,
}

/// No update.
const NONE: u32 = u32::MAX;

/// Bytes of lines that may always wait.
const BATCH_BYTES: usize = 4 << 20;

/// Most bytes of lines that wait, while the files have less than [`SHARED`] updates each.  With
/// what is kept of each line that is some 60 MB.
const BATCH_BYTES_MAX: usize = 32 << 20;

/// Updates of a file among which the cost of locking and writing it is small.
const SHARED: usize = 16;

/// Most files that are kept open: with their headers and mappings some 8 KB each.
const FILES_MAX: usize = 16_384;

/// Most names that are kept: some 200 bytes each.
const NAMES_MAX: usize = 1 << 18;

/// One of so many files that find no place takes the place of another.  Files that are updated in
/// turn are more than there are places, so each one that is opened last would push out the one that
/// is wanted next.
const MISSES_PER_CHANGE: usize = 16;

impl Session {
    /// A session that keeps at most some number of files open, and [`FILES_MAX`].
    #[must_use]
    pub fn new(files_max: usize) -> Self {
        Self {
            files: Vec::new(),
            names: HashMap::new(),
            open: 0,
            files_max: files_max.clamp(1, FILES_MAX),
            misses: 0,
            hand: 0,
            updater: Updater::default(),
            words: Vec::new(),
            batch: Batch::default(),
            group: Vec::new(),
        }
    }

    /// Keeps a line that is a plain update (`update FILE READING…`), to be done by
    /// [`Session::flush`] together with others.  `false`: the line is another one, or too many
    /// wait already; flush, and give it to [`Session::run`].
    pub fn add(&mut self, line: &[u8]) -> bool {
        let Some(rest) = line.strip_prefix(b"update ") else { return false };
        let is_plain = !rest.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'\t'));
        if !is_plain || self.is_full(line.len()) {
            return false;
        }
        let base = self.batch.text.len();
        let first = self.batch.readings.len();
        let mut name = None;
        let mut start = 0;
        for word in rest.split(|byte| *byte == b' ') {
            let range = start..start + word.len();
            start = range.end + 1;
            match (word.first(), &name) {
                (None, _) => {}
                (Some(b'-'), _) => {
                    self.batch.readings.truncate(first);
                    return false;
                }
                (_, None) => name = Some(range),
                _ => {
                    let range = ((base + range.start) as u32, (base + range.end) as u32);
                    self.batch.readings.push(range);
                }
            }
        }
        let end = self.batch.readings.len();
        let name = name.filter(|_| end > first);
        let Some(name) = name.and_then(|name| std::str::from_utf8(&rest[name]).ok()) else {
            self.batch.readings.truncate(first);
            return false;
        };
        let number = self.number(name);
        let index = self.batch.updates.len() as u32;
        let known = &mut self.files[number as usize];
        if known.first == NONE {
            known.first = index;
            self.batch.files.push(number);
        } else {
            self.batch.updates[known.last as usize].next = index;
        }
        known.last = index;
        self.batch.text.extend_from_slice(rest);
        self.batch.updates.push(Waiting { first: first as u32, end: end as u32, next: NONE });
        true
    }

    /// Whether there is no room for some more bytes.  More lines wait where they are of many files,
    /// so that some are of the same.
    fn is_full(&self, bytes: usize) -> bool {
        let Batch { text, updates, files, .. } = &self.batch;
        let is_shared = updates.len() >= SHARED * files.len();
        let max = if is_shared { BATCH_BYTES } else { BATCH_BYTES_MAX };
        text.len() + bytes > max
    }

    /// The number of a file.
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = self.files.len() as u32;
        let name: Arc<str> = name.into();
        self.files.push(UpdatedFile { name: name.clone(), file: None, first: NONE, last: NONE });
        self.names.insert(name, number);
        number
    }

    /// Does all updates that wait, those of a file together, and answers each, in their order:
    /// by `answer`, or with `ERROR: ` and why.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn flush(
        &mut self,
        environment: &dyn CommandEnvironment,
        out: &mut dyn Write,
        answer: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.batch.updates.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        let mut refused = std::mem::take(&mut batch.refused);
        let mut group = std::mem::take(&mut self.group);
        for number in batch.files.drain(..) {
            let known = &mut self.files[number as usize];
            group.clear();
            let mut next = known.first;
            (known.first, known.last) = (NONE, NONE);
            while let Some(update) = batch.updates.get(next as usize) {
                group.push(next);
                next = update.next;
            }
            let texts = (&*batch.text, &*batch.readings, &*batch.updates);
            self.update_group(number as usize, texts, &group, environment, &mut refused);
        }
        self.group = group;
        refused.sort_by_key(|(index, _)| *index);
        let mut errors = refused.drain(..).peekable();
        // All are done by now, so all have the same times.
        let mut line = Vec::new();
        answer(&mut line)?;
        for index in 0..batch.updates.len() as u32 {
            match errors.next_if(|(own, _)| *own == index) {
                Some((_, why)) => writeln!(out, "ERROR: {why}")?,
                None => out.write_all(&line)?,
            }
        }
        drop(errors);
        batch.text.clear();
        batch.readings.clear();
        batch.updates.clear();
        batch.refused = refused;
        if batch.text.capacity() > BATCH_BYTES {
            batch = Batch::default();
        }
        self.batch = batch;
        if self.files.len() > NAMES_MAX {
            self.forget_all();
        }
        Ok(())
    }

    /// Does updates of one file.
    fn update_group(
        &mut self,
        number: usize,
        (text, readings, updates): (&[u8], &[(u32, u32)], &[Waiting]),
        group: &[u32],
        environment: &dyn CommandEnvironment,
        refused: &mut Vec<(u32, String)>,
    ) {
        let options = Options { locking: environment.locking(), ..Options::default() };
        let begun = refused.len();
        let refuse_all = |refused: &mut Vec<(u32, String)>, why: String| {
            refused.truncate(begun);
            refused.extend(group.iter().map(|index| (*index, why.clone())));
        };
        let mut file = match self.take_locked(number, &options) {
            Ok(file) => file,
            Err(error) => return refuse_all(refused, error.to_string()),
        };
        let arguments = |turn: usize| {
            let Waiting { first, end, .. } = updates[group[turn] as usize];
            let readings = readings[first as usize..end as usize].iter();
            readings.map(|(start, end)| &text[*start as usize..*end as usize])
        };
        loop {
            let done = self.updater.update_all(
                &mut file,
                &options,
                group.len(),
                environment,
                arguments,
                |turn, error| refused.push((group[turn], error.to_string())),
            );
            let done = match done {
                // What was refused may be wrong as well.
                Err(_) if !file.is_current() => file.read_again().map(|()| LiveWrite::Stale),
                done => done,
            };
            match done {
                Ok(LiveWrite::Done) => break,
                Ok(LiveWrite::Stale) => refused.truncate(begun),
                // Nothing was written.
                Err(error) => {
                    refuse_all(refused, error.to_string());
                    break;
                }
            }
        }
        self.keep(number, file);
    }

    /// An open and locked file.
    fn take_locked(&mut self, number: usize, options: &Options<'_>) -> Result<Box<File>> {
        if let Some(mut file) = self.files[number].file.take() {
            self.open -= 1;
            match file.lock_again(options.locking) {
                Ok(true) => return Ok(file),
                Ok(false) => {}
                Err(error) => {
                    file.unlock();
                    return Err(error);
                }
            }
        }
        let path = Path::new(&*self.files[number].name);
        File::open(path, Access::Write(options.locking)).map(Box::new)
    }

    /// Gives the lock back and keeps the file open, if there is a place or it is its turn to take
    /// another's.
    fn keep(&mut self, number: usize, file: Box<File>) {
        if self.open >= self.files_max {
            self.misses += 1;
            if !self.misses.is_multiple_of(MISSES_PER_CHANGE) {
                return;
            }
            self.close_one();
        }
        file.unlock();
        self.files[number].file = Some(file);
        self.open += 1;
    }

    /// Closes the next open file.
    fn close_one(&mut self) {
        let count = self.files.len();
        for _ in 0..count {
            self.hand = (self.hand + 1) % count;
            if self.files[self.hand].file.take().is_some() {
                self.open -= 1;
                return;
            }
        }
    }

    fn forget_all(&mut self) {
        self.hand = 0;
        self.files.clear();
        self.names.clear();
        self.open = 0;
    }

    /// Runs a line and writes what it says, but for the line `OK`.  `usage` is what is written for
    /// a line without a complete command.
    ///
    /// # Errors
    /// Why the command failed; the caller writes `ERROR: ` and this.
    pub fn run(
        &mut self,
        line: &str,
        environment: &dyn CommandEnvironment,
        out: &mut dyn Write,
        usage: &str,
        other: Other<'_>,
    ) -> Result<Next, Failure> {
        let mut words = std::mem::take(&mut self.words);
        let done = split(line, &mut words)
            .map_err(Failure::from)
            .and_then(|()| self.run_words(&words, environment, out, usage, other));
        self.words = words;
        done
    }

    fn run_words(
        &mut self,
        words: &[String],
        environment: &dyn CommandEnvironment,
        out: &mut dyn Write,
        usage: &str,
        other: Other<'_>,
    ) -> Result<Next, Failure> {
        let Some((command, arguments)) = words.split_first() else {
            out.write_all(usage.as_bytes())?;
            return Ok(Next::Line);
        };
        match (command.as_str(), arguments) {
            ("quit", []) => return Ok(Next::Quit),
            ("cd" | "mkdir" | "pwd" | "ls" | "quit", _) => {
                self.folder(command, arguments, out)?;
            }
            ("help", _) | (_, []) => out.write_all(usage.as_bytes())?,
            _ => {
                let done = command::run(command, arguments, environment, out);
                match done.or_else(|| other(command, arguments, out)) {
                    Some(done) => done?,
                    None => return Err(refuse!("unknown function '{command}'").into()),
                }
            }
        }
        Ok(Next::Line)
    }

    fn folder(
        &mut self,
        command: &str,
        arguments: &[String],
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let invalid = || refuse!("invalid parameter count for {command}");
        match (command, arguments) {
            ("cd", [folder]) => {
                // Names mean other files from now on.
                self.forget_all();
                rustix::process::chdir(folder)
                    .map_err(|error| refuse!("chdir {folder} {}", reason(&error.into())))?;
            }
            ("mkdir", [folder]) => std::fs::create_dir(folder)
                .map_err(|error| refuse!("mkdir {folder}: {}", reason(&error)))?,
            ("pwd", []) => {
                let folder = rustix::process::getcwd(Vec::new())
                    .map_err(|error| refuse!("getcwd {}", reason(&error.into())))?;
                writeln!(out, "{}", folder.to_string_lossy())?;
            }
            ("ls", []) => write_entries(out)?,
            _ => return Err(invalid().into()),
        }
        Ok(())
    }
}

/// Databases and folders of the current folder, as `ls` shows them.
fn write_entries(out: &mut dyn Write) -> Result<(), Failure> {
    let failed = |error: io::Error| refuse!("opendir .: {}", reason(&error));
    let entries = std::fs::read_dir(".").map_err(failed)?;
    let mut names: Vec<(PathBuf, bool)> = vec![(".".into(), true), ("..".into(), true)];
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let is_folder = std::fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_dir());
        names.push((entry.file_name().into(), is_folder));
    }
    for (name, is_folder) in names {
        if is_folder {
            writeln!(out, "d {}", name.display())?;
        } else if name.extension().is_some_and(|extension| extension == "rrd") {
            writeln!(out, "- {}", name.display())?;
        }
    }
    Ok(())
}

/// Splits a line of arguments at blanks; quotes of both kinds join words.  The words of the line before
/// lend their memory.
///
/// # Errors
/// If a quote is not closed.
pub fn split(line: &str, words: &mut Vec<String>) -> Result<()> {
    let mut count = 0;
    let mut is_open = false;
    let mut quote = None;
    for letter in line.chars() {
        if letter == ' ' && quote.is_none() {
            is_open = false;
            continue;
        }
        if !is_open {
            match words.get_mut(count) {
                Some(word) => word.clear(),
                None => words.push(String::new()),
            }
            count += 1;
            is_open = true;
        }
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, _) => words[count - 1].push(letter),
        }
    }
    words.truncate(count);
    match quote {
        Some(_) => Err(refuse!("creating arguments")),
        None => Ok(()),
    }
}
