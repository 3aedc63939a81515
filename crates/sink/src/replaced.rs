//! A file with the latest message: written under another name and renamed, so that a reader never
//! sees half of a message.  Four system calls a message.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Message, Sink, SinkCounts};

/// A file that each message replaces as a whole.
#[derive(Debug)]
pub struct ReplacedFile {
    path: PathBuf,
    counts: SinkCounts,
}

impl ReplacedFile {
    /// The file at `path`; the first message creates it.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        ReplacedFile { path: path.to_owned(), counts: SinkCounts::default() }
    }
}

impl Sink for ReplacedFile {
    /// # Errors
    /// The file cannot be written.
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        whole_file::replace(&self.path, message.payload).map_err(|error| {
            let text = format!("cannot write {}: {error}", self.path.display());
            io::Error::new(error.kind(), text)
        })?;
        self.counts.sent += 1;
        self.counts.calls += 4;
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_latest_message_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("L");
        let mut file = ReplacedFile::new(&path);
        for payload in [&b"longer\n"[..], b"two\n"] {
            file.send(&Message { source: "h", sequence: 0, payload }).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), payload);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("no/such/L");
        let message = Message { source: "h", sequence: 0, payload: b"x" };
        let error = ReplacedFile::new(&nowhere).send(&message).unwrap_err();
        assert!(error.to_string().contains("no/such/L"), "{error}");
    }
}
