//! Commands from a pipe (`rrdtool -`): a line each, with a line `OK …` or `ERROR: …` after it.
//!
//! Files that are updated stay open, mapped and parsed.  Updates that wait in the input are done
//! together, file by file: lock, look whether the name still means that file, compare the header
//! with the one that is known (another program may have changed it), change all in memory, write
//! it at once, unlock.  An update is in its file when its line is answered.
//!
//! A program that waits for each answer has each update done at once, for seven system calls; one
//! that writes ahead shares them among all updates of a file that wait.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::command::{self, Failure, World};
use crate::error::{Result, reason, refuse};
use crate::file::{Access, File};
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
    files: Vec<Known>,
    /// Index in `files` by name.
    names: HashMap<String, u32>,
    /// Files that are open.
    open: usize,
    /// Most files that are kept open.
    files_max: usize,
    updater: Updater,
    words: Vec<String>,
    batch: Batch,
}

/// A file that was updated; it may be closed.
#[derive(Debug)]
struct Known {
    name: String,
    file: Option<File>,
}

/// Updates that wait to be done together.
#[derive(Debug, Default)]
struct Batch {
    /// Their lines, one after the other.
    text: Vec<u8>,
    /// The readings: ranges of `text`.
    readings: Vec<(u32, u32)>,
    updates: Vec<Waiting>,
    /// Why updates were refused, by their index.
    refused: Vec<(u32, String)>,
}

/// An update that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    file: u32,
    /// Its readings.
    first: u32,
    end: u32,
}

/// Most bytes of lines that wait.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Most mapped files: a process may have 65,530 mappings, by default.
const MAPPED_MAX: usize = 50_000;

impl Session {
    /// A session that keeps some number of files open.
    #[must_use]
    pub fn new(files_max: usize) -> Self {
        Self {
            files: Vec::new(),
            names: HashMap::new(),
            open: 0,
            files_max: files_max.max(1),
            updater: Updater::default(),
            words: Vec::new(),
            batch: Batch::default(),
        }
    }

    /// Keeps a line that is a plain update (`update FILE READING…`), to be done by
    /// [`Session::flush`] together with others.  `false`: the line is another one, or too many
    /// wait already; flush, and give it to [`Session::run`].
    pub fn add(&mut self, line: &[u8]) -> bool {
        let Some(rest) = line.strip_prefix(b"update ") else { return false };
        let is_plain = !rest.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'\t'));
        if !is_plain || self.batch.text.len() + line.len() > BATCH_BYTES_MAX {
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
        let file = self.number(name);
        self.batch.text.extend_from_slice(rest);
        self.batch.updates.push(Waiting { file, first: first as u32, end: end as u32 });
        true
    }

    /// The number of a file.
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = self.files.len() as u32;
        self.files.push(Known { name: name.to_owned(), file: None });
        self.names.insert(name.to_owned(), number);
        number
    }

    /// Does all updates that wait, those of a file together, and answers each, in their order:
    /// by `answer`, or with `ERROR: ` and why.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn flush(
        &mut self,
        world: &dyn World,
        out: &mut dyn Write,
        answer: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.batch.updates.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        let mut order: Vec<u32> = (0..batch.updates.len() as u32).collect();
        order.sort_by_key(|index| batch.updates[*index as usize].file);
        let file_of = |index: u32| batch.updates[index as usize].file;
        let mut refused = std::mem::take(&mut batch.refused);
        for group in order.chunk_by(|one, next| file_of(*one) == file_of(*next)) {
            self.update_group(&batch, group, world, &mut refused);
        }
        refused.sort_by_key(|(index, _)| *index);
        let mut errors = refused.iter().peekable();
        for index in 0..batch.updates.len() as u32 {
            match errors.next_if(|(own, _)| *own == index) {
                Some((_, why)) => writeln!(out, "ERROR: {why}")?,
                None => answer(out)?,
            }
        }
        batch.text.clear();
        batch.readings.clear();
        batch.updates.clear();
        self.batch = batch;
        self.forget_some();
        Ok(())
    }

    /// Does updates of one file.
    fn update_group(
        &mut self,
        batch: &Batch,
        group: &[u32],
        world: &dyn World,
        refused: &mut Vec<(u32, String)>,
    ) {
        let Some(first) = group.first() else { return };
        let number = batch.updates[*first as usize].file as usize;
        let options = Options { locking: world.locking(), ..Options::default() };
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
            let Waiting { first, end, .. } = batch.updates[group[turn] as usize];
            let readings = batch.readings[first as usize..end as usize].iter();
            readings.map(|(start, end)| &batch.text[*start as usize..*end as usize])
        };
        let done = self.updater.update_all(
            &mut file,
            &options,
            group.len(),
            world,
            |turn| arguments(turn).collect(),
            |turn, error| refused.push((group[turn], error.to_string())),
        );
        if let Err(error) = done {
            // Nothing was written.
            refuse_all(refused, error.to_string());
        }
        file.unlock();
        if number > MAPPED_MAX {
            file.unmap();
        }
        self.files[number].file = Some(file);
        self.open += 1;
    }

    /// An open and locked file, with its header as it stands in the file now.
    fn take_locked(&mut self, number: usize, options: &Options<'_>) -> Result<File> {
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
        File::open(Path::new(&self.files[number].name), Access::Write(options.locking))
    }

    /// Closes files if too many are open: every second one, because of files that are updated in
    /// turn the oldest is the next.
    fn forget_some(&mut self) {
        if self.open < self.files_max {
            return;
        }
        let open = self.files.iter_mut().filter(|known| known.file.is_some());
        for known in open.step_by(2) {
            known.file = None;
            self.open -= 1;
        }
        if self.files.len() > self.files_max.saturating_mul(4) {
            self.forget_all();
        }
    }

    fn forget_all(&mut self) {
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
        world: &dyn World,
        out: &mut dyn Write,
        usage: &str,
        other: Other<'_>,
    ) -> Result<Next, Failure> {
        let mut words = std::mem::take(&mut self.words);
        let done = split(line, &mut words)
            .map_err(Failure::from)
            .and_then(|()| self.run_words(&words, world, out, usage, other));
        self.words = words;
        done
    }

    fn run_words(
        &mut self,
        words: &[String],
        world: &dyn World,
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
            (_, []) => out.write_all(usage.as_bytes())?,
            _ => {
                let done = command::run(command, arguments, world, out);
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

/// Splits a line at blanks; quotes of both kinds join words.  The words of the line before lend
/// their memory.
fn split(line: &str, words: &mut Vec<String>) -> Result<()> {
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
