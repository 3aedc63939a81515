//! The values of one source as they are written: between delimiters, otherwise unchanged.

use std::io::{ErrorKind, Read};
use std::mem;

use memchr::{memchr, memmem};

use super::InputError;

/// Most bytes of a value, with all columns of a line.  An argument has at most 128 KiB
/// (`MAX_ARG_STRLEN`, execve(2)); a line of many columns may be longer.
pub(super) const VALUE_BYTES_MAX: usize = 16 << 20;

/// Bytes for one read(2): the default capacity of a pipe.
const READ_BYTES: usize = 64 << 10;

/// Reads values from a stream, or takes them from the command line.
pub(super) struct Lines {
    /// The file, or `standard input`, for messages.
    name: String,
    delimiter: Vec<u8>,
    from: From,
    /// Bytes that were read; those from `start` on are not used yet.
    buffer: Vec<u8>,
    start: usize,
    /// Offset in the buffer from which the delimiter was not searched yet.
    searched: usize,
    ended: bool,
}

enum From {
    Arguments(std::vec::IntoIter<Vec<u8>>),
    Stream(Box<dyn Read + Send>),
}

impl Lines {
    /// Values on the command line.  They are what a file with one of them in each line would give:
    /// a value that contains the delimiter is several values.
    pub(super) fn of_arguments(arguments: Vec<Vec<u8>>, delimiter: &[u8]) -> Lines {
        let from = From::Arguments(arguments.into_iter());
        Lines::new("the command line".to_owned(), delimiter, from)
    }

    /// Values of a file or standard input, called `name` in messages.
    pub(super) fn of_stream(name: String, stream: Box<dyn Read + Send>, delimiter: &[u8]) -> Lines {
        Lines::new(name, delimiter, From::Stream(stream))
    }

    fn new(name: String, delimiter: &[u8], from: From) -> Lines {
        let delimiter = delimiter.to_vec();
        Lines { name, delimiter, from, buffer: Vec::new(), start: 0, searched: 0, ended: false }
    }

    /// The name of the source in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What ends a value.
    pub(super) fn delimiter(&self) -> &[u8] {
        &self.delimiter
    }

    /// Whether at most one value is left, as far as that is known without reading.
    pub(super) fn at_most_one(&self) -> bool {
        match &self.from {
            From::Arguments(left) => match left.as_slice() {
                [] => true,
                [one] => self.find(one).is_none(),
                _ => false,
            },
            From::Stream(_) => false,
        }
    }

    /// The next value, without its delimiter; `None` at the end.  After a temporary error
    /// (`WouldBlock`) it may be called again: nothing that was read is lost.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, InputError> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            if self.buffer.len() - self.start > VALUE_BYTES_MAX {
                self.ended = true;
                self.buffer = Vec::new();
                (self.start, self.searched) = (0, 0);
                return Err(InputError::TooLong {
                    name: self.name.clone(),
                    limit: VALUE_BYTES_MAX,
                });
            }
            self.fill()?;
        }
    }

    /// The next value in the buffer; at the end of the stream, the rest of the buffer.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        let unused = &self.buffer[self.start..];
        // A delimiter of several bytes may have begun at the end of what was searched.
        let from = self.searched.saturating_sub(self.delimiter.len() - 1).min(unused.len());
        if let Some(at) = self.find(&unused[from..]) {
            let line = unused[..from + at].to_vec();
            self.start += from + at + self.delimiter.len();
            self.searched = 0;
            return Some(line);
        }
        if self.ended && !unused.is_empty() {
            let line = unused.to_vec();
            self.start = self.buffer.len();
            return Some(line);
        }
        self.searched = unused.len();
        None
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        match *self.delimiter.as_slice() {
            [byte] => memchr(byte, bytes),
            ref long => memmem::find(bytes, long),
        }
    }

    /// Reads more.
    fn fill(&mut self) -> Result<(), InputError> {
        self.buffer.drain(..mem::take(&mut self.start));
        match &mut self.from {
            From::Arguments(left) => match left.next() {
                Some(argument) => {
                    self.buffer.extend_from_slice(&argument);
                    self.buffer.extend_from_slice(&self.delimiter);
                }
                None => self.ended = true,
            },
            From::Stream(stream) => {
                let used = self.buffer.len();
                self.buffer.resize(used + READ_BYTES, 0);
                let read = loop {
                    match stream.read(&mut self.buffer[used..]) {
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        other => break other,
                    }
                };
                self.buffer.truncate(used + *read.as_ref().unwrap_or(&0));
                match read {
                    Ok(0) => self.ended = true,
                    Ok(_) => {}
                    Err(error) => {
                        return Err(InputError::Read { name: self.name.clone(), error });
                    }
                }
            }
        }
        Ok(())
    }
}
