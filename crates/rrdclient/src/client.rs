//! A connection to a daemon, and its commands.
//!
//! One command is under way at a time; threads take turns.  A connection that broke is opened again at
//! the next command: the daemon may have been restarted.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use connection::{Address, SocketStream};

use crate::address::{self, TlsFiles};
use crate::error::ClientError;
use crate::reply::{self, FetchReply, InfoField, Reply};

/// Longest command, in bytes: the daemon cuts longer ones in its journal.
const COMMAND_BYTES_MAX: usize = 4096;

/// A client of a daemon.
#[derive(Debug)]
pub struct Client {
    /// The address as it was given.
    name: String,
    address: Address,
    /// Folder whose name the daemon does not know.
    stripped: Option<String>,
    tls: TlsFiles,
    connection: Mutex<Option<BufReader<SocketStream>>>,
    /// How long the daemon may take to send or to accept bytes.
    timeout: OnceLock<Duration>,
}

/// Readings of a batch that the daemon has refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedUpdate {
    /// Which of the updates.
    pub index: usize,
    /// What the daemon said.
    pub message: String,
}

/// What a daemon is to make a file from.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateRequest<'a> {
    /// Seconds of a step.
    pub step_s: Option<u64>,
    /// Time of the last update, in seconds since 1970.
    pub start_s: Option<i64>,
    /// Whether an existing file stays.
    pub keeps_existing: bool,
    /// Files whose rows fill the new one.
    pub sources: &'a [PathBuf],
    /// A file whose sources and archives come first.
    pub template: Option<&'a Path>,
    /// `DS:…` and `RRA:…`.
    pub definitions: &'a [&'a str],
}

impl Client {
    /// Connects to a daemon.  `stripped` is a folder that is taken off the names of files for a
    /// daemon of another machine (`RRDCACHED_STRIPPATH`); `tls` is used if the address asks for it.
    ///
    /// # Errors
    /// If the address is none, or the daemon cannot be reached or does not trust this client.
    pub fn connect(
        name: &str,
        stripped: Option<&str>,
        tls: &TlsFiles,
    ) -> Result<Self, ClientError> {
        let address = address::parse(name)?;
        let connection = address::connect(&address, tls)?;
        Ok(Self {
            name: name.to_owned(),
            address,
            stripped: stripped.filter(|folder| !folder.is_empty()).map(str::to_owned),
            tls: tls.clone(),
            connection: Mutex::new(Some(BufReader::new(connection))),
            timeout: OnceLock::new(),
        })
    }

    /// Bounds how long the daemon may take to send or to accept bytes, from now on; later calls
    /// change nothing.
    ///
    /// # Errors
    /// If the system does not take the option.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), ClientError> {
        let timeout = self.timeout.get_or_init(|| timeout);
        let held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map_or(Ok(()), |connection| bound(connection.get_ref(), *timeout))?;
        Ok(())
    }

    /// The address, as it was given.
    pub fn address(&self) -> &str {
        &self.name
    }

    /// Sends a command and reads its answer.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn request(&self, words: &[&str]) -> Result<Reply, ClientError> {
        let line = command(words)?;
        self.converse(|connection| {
            send(connection, line.as_bytes())?;
            let reply = Reply::read(connection)?;
            self.accepted(reply)
        })
    }

    /// An answer that is no refusal.
    fn accepted(&self, reply: Reply) -> Result<Reply, ClientError> {
        if reply.status < 0 {
            let message = reply.message;
            return Err(ClientError::Refused { address: self.name.clone(), message });
        }
        Ok(reply)
    }

    /// Talks to the daemon; the connection is kept unless it broke.
    fn converse<T>(
        &self,
        talk: impl FnOnce(&mut BufReader<SocketStream>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let mut held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut connection = match held.take() {
            Some(connection) => connection,
            None => {
                let stream = address::connect(&self.address, &self.tls)?;
                if let Some(timeout) = self.timeout.get() {
                    bound(&stream, *timeout)?;
                }
                BufReader::new(stream)
            }
        };
        let said = talk(&mut connection);
        if matches!(said, Ok(_) | Err(ClientError::Refused { .. })) {
            *held = Some(connection);
        }
        said
    }

    /// The name of a file as the daemon knows it.
    fn path(&self, file: &str) -> Result<String, ClientError> {
        if matches!(self.address, Address::Unix(_)) {
            return Ok(absolute(Path::new(file)));
        }
        let stripped = self.stripped.as_deref().and_then(|folder| {
            let rest = file.strip_prefix(folder.trim_end_matches('/'))?;
            rest.strip_prefix('/').map(|rest| rest.trim_start_matches('/'))
        });
        match stripped {
            Some(rest) => Ok(rest.to_owned()),
            None if file.starts_with('/') => Err(ClientError::AbsolutePath),
            None => Ok(file.to_owned()),
        }
    }

    /// Hands over readings: `seconds:reading:…`.  Many are sent as several commands.
    ///
    /// # Errors
    /// The first that the daemon refuses; those of the commands before it are taken.
    pub fn update<T: AsRef<str>>(&self, file: &str, readings: &[T]) -> Result<(), ClientError> {
        let path = self.path(file)?;
        for words in commands(&path, readings) {
            self.request(&words)?;
        }
        Ok(())
    }

    /// Hands over readings of many files in one batch: names of files with their readings.  Gives
    /// those that the daemon has refused; all others are taken.
    ///
    /// # Errors
    /// If the connection breaks: then some may be taken.
    pub fn update_batch<T: AsRef<str>>(
        &self,
        updates: &[(&str, &[T])],
    ) -> Result<Vec<RefusedUpdate>, ClientError> {
        let mut text = String::from("batch\n");
        // The update of each command.
        let mut indices = Vec::new();
        for (index, (file, readings)) in updates.iter().enumerate() {
            let path = self.path(file)?;
            for words in commands(&path, readings) {
                text.push_str(&command(&words)?);
                indices.push(index);
            }
        }
        text.push_str(".\n");
        let reply = self.converse(|connection| {
            send(connection, text.as_bytes())?;
            self.accepted(Reply::read(connection)?)?;
            self.accepted(Reply::read(connection)?)
        })?;
        let refused = reply.lines.iter().filter_map(|line| {
            let (number, message) = line.split_once(' ')?;
            let place = number.parse::<usize>().ok()?.checked_sub(1)?;
            let index = *indices.get(place)?;
            Some(RefusedUpdate { index, message: message.to_owned() })
        });
        Ok(refused.collect())
    }

    /// Has the daemon write what it holds of a file, and waits for that.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn flush(&self, file: &str) -> Result<(), ClientError> {
        self.request(&["flush", &self.path(file)?]).map(drop)
    }

    /// Has the daemon begin to write all that it holds.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn flush_all(&self) -> Result<(), ClientError> {
        self.request(&["flushall"]).map(drop)
    }

    /// Has the daemon drop what it holds of a file.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn forget(&self, file: &str) -> Result<(), ClientError> {
        self.request(&["forget", &self.path(file)?]).map(drop)
    }

    /// Asks whether the daemon is there.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn ping(&self) -> Result<(), ClientError> {
        self.request(&["ping"]).map(drop)
    }

    /// The daemon's counters.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn stats(&self) -> Result<Vec<(String, u64)>, ClientError> {
        Ok(reply::stats(&self.request(&["stats"])?))
    }

    /// What a file keeps and its state.
    ///
    /// # Errors
    /// If the connection breaks, the daemon refuses, or its answer makes no sense.
    pub fn info(&self, file: &str) -> Result<Vec<(String, InfoField)>, ClientError> {
        reply::info(&self.request(&["info", &self.path(file)?])?)
    }

    /// Rows from a start to an end, in seconds since 1970.
    ///
    /// # Errors
    /// If the connection breaks, the daemon refuses, or its answer makes no sense.
    pub fn fetch(
        &self,
        file: &str,
        function: &str,
        start_s: i64,
        end_s: i64,
    ) -> Result<FetchReply, ClientError> {
        let (start, end) = (start_s.to_string(), end_s.to_string());
        let reply = self.request(&["fetch", &self.path(file)?, function, &start, &end])?;
        reply::fetch(&reply)
    }

    /// Time of the last update, in seconds since 1970.
    ///
    /// # Errors
    /// If the connection breaks, the daemon refuses, or its answer makes no sense.
    pub fn last(&self, file: &str) -> Result<i64, ClientError> {
        self.time("last", &["last", &self.path(file)?])
    }

    /// End of the oldest row of an archive, in seconds since 1970.
    ///
    /// # Errors
    /// If the connection breaks, the daemon refuses, or its answer makes no sense.
    pub fn first(&self, file: &str, archive: usize) -> Result<i64, ClientError> {
        self.time("first", &["first", &self.path(file)?, &archive.to_string()])
    }

    fn time(&self, command: &'static str, words: &[&str]) -> Result<i64, ClientError> {
        let reply = self.request(words)?;
        let unreadable = |_| ClientError::Reply { command, what: "no time".to_owned() };
        reply.message.trim().parse().map_err(unreadable)
    }

    /// Makes a file.  Sources and template are files of the daemon, which writes what it holds of
    /// them first: rrdcached does not do so by itself for names that are relative.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn create(&self, file: &str, request: &CreateRequest<'_>) -> Result<(), ClientError> {
        for used in request.sources.iter().map(PathBuf::as_path).chain(request.template) {
            match self.flush(&used.to_string_lossy()) {
                // The daemon may permit CREATE only, and says below what is wrong with the file.
                Ok(()) | Err(ClientError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut words = vec!["create".to_owned(), self.path(file)?];
        let mut option = |letter: &str, value: String| words.extend([letter.to_owned(), value]);
        if let Some(start_s) = request.start_s {
            option("-b", start_s.to_string());
        }
        if let Some(step_s) = request.step_s {
            option("-s", step_s.to_string());
        }
        for source in request.sources {
            option("-r", self.path(&source.to_string_lossy())?);
        }
        if let Some(template) = request.template {
            option("-t", self.path(&template.to_string_lossy())?);
        }
        if request.keeps_existing {
            words.push("-O".to_owned());
        }
        words.extend(request.definitions.iter().map(|word| (*word).to_owned()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.request(&words).map(drop)
    }

    /// Names of databases and folders of a folder below the daemon's own.
    ///
    /// # Errors
    /// If the connection breaks, or the daemon refuses.
    pub fn list(&self, folder: &str, recursive: bool) -> Result<Vec<String>, ClientError> {
        let reply = match recursive {
            true => self.request(&["list", "RECURSIVE", folder])?,
            false => self.request(&["list", folder])?,
        };
        Ok(reply.lines)
    }
}

/// Bounds how long the daemon may take to send or to accept bytes.
fn bound(connection: &SocketStream, timeout: Duration) -> std::io::Result<()> {
    connection.set_read_timeout(Some(timeout))?;
    connection.set_write_timeout(Some(timeout))
}

/// The words of each command that hands over readings of a file: as many as fit.
fn commands<'a, T: AsRef<str>>(path: &'a str, readings: &'a [T]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    let mut rest = readings;
    while !rest.is_empty() {
        let mut words = vec!["update", path];
        // Every byte may need a backslash.
        let mut room = COMMAND_BYTES_MAX.saturating_sub(2 * path.len() + words[0].len() + 4);
        while let Some((first, others)) = rest.split_first() {
            let bytes = 2 * first.as_ref().len() + 1;
            if bytes > room && words.len() > 2 {
                break;
            }
            room = room.saturating_sub(bytes);
            words.push(first.as_ref());
            rest = others;
        }
        all.push(words);
    }
    all
}

/// A line of words.
fn command(words: &[&str]) -> Result<String, ClientError> {
    let mut line = String::new();
    for word in words {
        push_word(&mut line, word)?;
    }
    line.push('\n');
    match line.len() > COMMAND_BYTES_MAX {
        true => Err(ClientError::Word("the command is longer than 4096 bytes")),
        false => Ok(line),
    }
}

fn send(connection: &mut BufReader<SocketStream>, bytes: &[u8]) -> Result<(), ClientError> {
    let Err(error) = connection.get_mut().write_all(bytes) else { return Ok(()) };
    // A daemon that refuses a certificate says so after the handshake, and then ends.
    if connection.get_ref().is_encrypted()
        && let Err(refusal) = connection.fill_buf()
        && connection::reason(&refusal).is_some()
    {
        return Err(refusal.into());
    }
    Err(error.into())
}

/// Adds a word to a line: blanks and backslashes get a backslash before them.
fn push_word(line: &mut String, word: &str) -> Result<(), ClientError> {
    if word.contains(['\n', '\r', '\0']) {
        return Err(ClientError::Word("it contains the end of a line"));
    }
    if !line.is_empty() {
        line.push(' ');
    }
    for character in word.chars() {
        if matches!(character, ' ' | '\\') {
            line.push('\\');
        }
        line.push(character);
    }
    Ok(())
}

/// The name of a file from the root, without links if it or its folder exists.
fn absolute(file: &Path) -> String {
    let of_folder = || {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        Some(folder.canonicalize().ok()?.join(file.file_name()?))
    };
    let found = file.canonicalize().ok().or_else(of_folder);
    let path = found.or_else(|| std::path::absolute(file).ok()).unwrap_or_else(|| file.to_owned());
    debug_assert!(path.components().next() == Some(Component::RootDir) || file == path);
    path.to_string_lossy().into_owned()
}
