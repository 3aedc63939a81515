//! Commands from a pipe (`rrdtool -`): a line each, with a line `OK …` or `ERROR: …` after it.
//!
//! Files that are updated stay open, mapped and parsed.  Each update takes the lock, looks whether
//! the name still means that file, and compares the header with the one it knows: what other
//! programs do to a file is seen by the next update.  An update is in the file when its line is
//! answered.
//!
//! An update of a known file costs six system calls.

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
    files: HashMap<String, File>,
    /// Most files that are kept open.
    files_max: usize,
    updater: Updater,
    words: Vec<String>,
}

/// Most mapped files: a process may have 65,530 mappings, by default.
const MAPPED_MAX: usize = 50_000;

impl Session {
    /// A session that keeps some number of files open.
    #[must_use]
    pub fn new(files_max: usize) -> Self {
        Self {
            files: HashMap::new(),
            files_max: files_max.max(1),
            updater: Updater::default(),
            words: Vec::new(),
        }
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
            ("update", [file, readings @ ..])
                if !readings.is_empty() && words[1..].iter().all(|word| !word.starts_with('-')) =>
            {
                self.update(file, readings, world)?;
            }
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

    fn update(&mut self, name: &str, readings: &[String], world: &dyn World) -> Result<()> {
        let options = Options { locking: world.locking(), ..Options::default() };
        if let Some(file) = self.files.get_mut(name) {
            match file.lock_again(options.locking) {
                Ok(true) => {}
                Ok(false) => {
                    self.files.remove(name);
                }
                Err(error) => {
                    file.unlock();
                    self.files.remove(name);
                    return Err(error);
                }
            }
        }
        let is_new = !self.files.contains_key(name);
        if is_new {
            self.make_room();
            let file = File::open(Path::new(name), Access::Write(options.locking))?;
            self.files.insert(name.to_owned(), file);
        }
        let is_crowded = self.files.len() > MAPPED_MAX;
        let Some(file) = self.files.get_mut(name) else { return Ok(()) };
        let mut list = [&[][..]; 16];
        let done = if readings.len() <= list.len() {
            for (slot, reading) in list.iter_mut().zip(readings) {
                *slot = reading.as_bytes();
            }
            self.updater.update(file, &options, &list[..readings.len()], world, None)
        } else {
            let list: Vec<&[u8]> = readings.iter().map(String::as_bytes).collect();
            self.updater.update(file, &options, &list, world, None)
        };
        if is_crowded && is_new {
            file.unmap();
        }
        file.unlock();
        done
    }

    /// Closes a file if there are too many; any one, because files that are updated in turn would
    /// all be closed before their turn comes if it were the oldest.
    fn make_room(&mut self) {
        if self.files.len() < self.files_max {
            return;
        }
        if let Some(name) = self.files.keys().next().cloned() {
            self.files.remove(&name);
        }
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
                self.files.clear();
                std::env::set_current_dir(folder)
                    .map_err(|error| refuse!("chdir {folder} {}", reason(&error)))?;
            }
            ("mkdir", [folder]) => std::fs::create_dir(folder)
                .map_err(|error| refuse!("mkdir {folder}: {}", reason(&error)))?,
            ("pwd", []) => {
                let folder = std::env::current_dir()
                    .map_err(|error| refuse!("getcwd {}", reason(&error)))?;
                writeln!(out, "{}", folder.display())?;
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
