//! Kernel texts: the text of every file read at a tick, for a recorder that keeps it beside the
//! numbers.
//!
//! A registered file of a [`Host`] has its text in its own buffer.  For files that are opened for
//! one read, or whose readers keep the descriptors (cgroups, which share one buffer), a copy is
//! made here, but only after [`Host::keep_texts`].
//!
//! Cost: otherwise nothing; with it a copy of each such text, into memory that is kept.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sample::State;

use super::{File, Host};

/// The most text of one tick: half of the limit of a sample in a recording.  4,096 cgroups have
/// about 12 MB.
const TEXTS_BYTES_MAX: usize = 32 << 20;

/// Copies of texts, as of one tick.
#[derive(Default)]
pub(super) struct TextCopies {
    tick: u64,
    /// Paths and texts, alternating.
    bytes: Vec<u8>,
    /// Where each path and each text ends.
    ends: Vec<(usize, usize)>,
    left_out: u64,
}

impl TextCopies {
    fn begin(&mut self, tick: u64) {
        if self.tick != tick {
            self.tick = tick;
            self.bytes.clear();
            self.ends.clear();
            self.left_out = 0;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        starts
            .zip(&self.ends)
            .map(|(start, &(path, end))| (&self.bytes[start..path], &self.bytes[path..end]))
    }
}

impl Host {
    /// From now on [`Host::texts`] returns the texts of all files.
    pub fn keep_texts(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Whether [`Host::keep_text`] does anything; if not, callers need not build the path.
    pub fn keeps_texts(&self) -> bool {
        self.kept.is_some()
    }

    /// Keeps the text of a file that was opened with [`Host::open`] until the tick ends.
    pub fn keep_text(&mut self, path: &Path, text: &[u8]) {
        let Some(kept) = &mut self.kept else { return };
        kept.begin(self.tick);
        let path = path.as_os_str().as_bytes();
        if kept.bytes.len() + path.len() + text.len() > TEXTS_BYTES_MAX {
            kept.left_out += 1;
            return;
        }
        kept.bytes.extend_from_slice(path);
        let path_end = kept.bytes.len();
        kept.bytes.extend_from_slice(text);
        kept.ends.push((path_end, kept.bytes.len()));
    }

    /// Path and text of every file read at this tick, up to 32 MiB.  Files that were not read
    /// through a [`FileId`](super::FileId) are included only after [`Host::keep_texts`].
    pub fn texts(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let mut left = TEXTS_BYTES_MAX;
        self.all_texts().filter(move |(path, text)| {
            let fits = left.checked_sub(path.len() + text.len());
            left = fits.unwrap_or(left);
            fits.is_some()
        })
    }

    /// The number of texts of this tick that [`Host::texts`] leaves out because of its limit.
    pub fn texts_left_out(&self) -> u64 {
        let kept = self.kept.as_ref().filter(|kept| kept.tick == self.tick);
        let fit = self.texts().count();
        (self.all_texts().count() - fit) as u64 + kept.map_or(0, |kept| kept.left_out)
    }

    fn all_texts(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let read = |file: &&File| file.tick == self.tick && file.state == State::Ok;
        let files = self.files.iter().flatten().filter(read);
        let files = files.map(|file| (file.path.as_bytes(), &file.buffer[..file.len]));
        let kept = self.kept.iter().filter(|kept| kept.tick == self.tick);
        files.chain(kept.flat_map(TextCopies::iter))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReadMode;
    use super::*;

    fn texts(host: &Host) -> Vec<(String, usize)> {
        let owned =
            |(path, text): (&[u8], &[u8])| (String::from_utf8(path.to_vec()).unwrap(), text.len());
        host.texts().map(owned).collect()
    }

    #[test]
    fn files_without_an_id_are_kept_if_asked_for() {
        let mut host = Host::new("/");
        let stat = host.file("/proc/stat", ReadMode::Whole);
        let (uptime, mut buffer) = (Path::new("/proc/uptime"), Vec::new());
        for asked in [false, true, true] {
            if asked {
                host.keep_texts();
            }
            host.begin_tick();
            assert!(texts(&host).is_empty(), "texts of the tick before");
            let stat_bytes = host.read(stat).unwrap().len();
            let open = host.open(uptime).unwrap();
            let count = host.read_open(&open, &mut buffer).unwrap();
            host.keep_text(uptime, &buffer[..count]);
            let loadavg = host.read_once("/proc/loadavg").unwrap();
            let mut expected = vec![("/proc/stat".to_owned(), stat_bytes)];
            if asked {
                expected.push(("/proc/uptime".to_owned(), count));
                expected.push(("/proc/loadavg".to_owned(), loadavg.len()));
            }
            assert_eq!(texts(&host), expected);
            assert_eq!(host.texts_left_out(), 0);
        }
    }

    #[test]
    fn what_is_too_much_is_left_out_and_counted() {
        let mut host = Host::in_memory();
        host.keep_texts();
        let large = vec![b'x'; TEXTS_BYTES_MAX / 2];
        host.put("/proc/large", Some(&large));
        let file = host.file("/proc/large", ReadMode::Whole);
        for _ in 0..2 {
            host.begin_tick();
            host.read(file).unwrap();
            for path in ["/sys/one", "/sys/two", "/sys/three"] {
                host.keep_text(Path::new(path), &large[..large.len() - 100]);
            }
            host.keep_text(Path::new("/sys/small"), b"small");
            let paths: Vec<_> = texts(&host).into_iter().map(|(path, _)| path).collect();
            assert_eq!(paths, ["/proc/large", "/sys/one", "/sys/small"]);
            assert_eq!(host.texts_left_out(), 2);
        }
    }
}
