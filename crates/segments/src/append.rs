//! A file that is appended to: a write that fails leaves nothing of it in front of the next one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file, and where its next bytes go.
#[derive(Debug)]
pub struct AppendFile {
    /// The file; readers may read it, and another thread may sync it.
    pub file: Arc<File>,
    /// The path of the file.
    pub path: PathBuf,
    /// The number of bytes that were appended, or were there before.
    pub end: u64,
}

impl AppendFile {
    /// Makes an empty file, also in place of another one, with these permissions.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(path: PathBuf, mode: u32) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(mode);
        let file = Arc::new(options.open(&path)?);
        Ok(Self { file, path, end: 0 })
    }

    /// Opens a file, to append to it.
    ///
    /// # Errors
    /// If the file is not there, or may not be read and written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let end = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), path: path.to_owned(), end })
    }

    /// Appends bytes; readers see them.
    ///
    /// # Errors
    /// If the file does not take all; then it has none of them.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all_at(bytes, self.end) {
            // What was written of it is cut; if that fails too, the next start cuts it.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Cuts what is behind a place: the next bytes go there.
    ///
    /// # Errors
    /// If the system cannot cut it.
    pub fn cut(&mut self, end: u64) -> io::Result<()> {
        self.file.set_len(end)?;
        self.end = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_appended_after_what_is_sound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment");
        AppendFile::create(path.clone(), 0o600).unwrap().append(b"one torn").unwrap();
        let mut file = AppendFile::open(&path).unwrap();
        assert_eq!(file.end, 8);
        file.cut(3).unwrap();
        file.append(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
        file.file = Arc::new(File::open(&path).unwrap());
        assert!(file.append(b"three").is_err(), "the file may not be written");
        assert_eq!(file.end, 6);
    }
}
