//! The names of segments: a number in 16 digits, with text before and after it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Digits of a number.
const DIGITS: usize = 16;

/// How the segments of a kind of folder are named.
#[derive(Debug, Clone, Copy)]
pub struct SegmentNames {
    /// What a name begins with.
    pub prefix: &'static str,
    /// What a name ends with.
    pub suffix: &'static str,
    /// Whether numbers are hexadecimal; otherwise they are decimal.
    pub is_hexadecimal: bool,
}

impl SegmentNames {
    /// The path of a segment.
    #[must_use]
    pub fn path(&self, folder: &Path, number: u64) -> PathBuf {
        let Self { prefix, suffix, is_hexadecimal } = self;
        folder.join(match is_hexadecimal {
            true => format!("{prefix}{number:016x}{suffix}"),
            false => format!("{prefix}{number:016}{suffix}"),
        })
    }

    /// The number of a file; `None` if it is no segment.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix)?.strip_suffix(self.suffix)?;
        let radix = if self.is_hexadecimal { 16 } else { 10 };
        let is_number =
            digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, radix).ok().filter(|_| is_number);
        // There must be one after the last.
        number.filter(|number| *number < u64::MAX)
    }

    /// The numbers of a folder's segments, lowest first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn list(&self, folder: &Path) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(|name| self.number(name)));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Whether a path is a file of this process's user, which nobody else can write.
///
/// # Errors
/// If the path is not there, or its folder cannot be searched.
pub fn is_own_file(path: &Path) -> io::Result<bool> {
    let metadata = std::fs::symlink_metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    Ok(metadata.is_file() && metadata.uid() == own && metadata.mode() & 0o022 == 0)
}

/// Lets the disk have the names of a folder: a file that is new is found after a loss of power.
///
/// # Errors
/// If the folder cannot be opened, or the disk does not take it.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEXADECIMAL: SegmentNames =
        SegmentNames { prefix: "", suffix: ".logs", is_hexadecimal: true };
    const DECIMAL: SegmentNames =
        SegmentNames { prefix: "whit.journal.", suffix: "", is_hexadecimal: false };

    #[test]
    fn a_name_has_its_number() {
        let folder = Path::new("/f");
        for (names, number, path) in [
            (HEXADECIMAL, 0x2a, "/f/000000000000002a.logs"),
            (DECIMAL, 42, "/f/whit.journal.0000000000000042"),
        ] {
            let named = names.path(folder, number);
            assert_eq!(named, Path::new(path));
            assert_eq!(names.number(named.file_name().unwrap().to_str().unwrap()), Some(number));
        }
        for name in ["2a.logs", "+00000000000002a.logs", "ffffffffffffffff.logs", "lock"] {
            assert_eq!(HEXADECIMAL.number(name), None, "{name}");
        }
        assert_eq!(DECIMAL.number("whit.journal.lock"), None);
        assert_eq!(DECIMAL.number("whit.journal.000000000000004f"), None);
    }
}
