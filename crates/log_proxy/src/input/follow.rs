//! A file that is followed: a record for each line, through rotation by name and by truncation.
//!
//! The cursor is device, inode, offset, and a checksum of the file's first bytes, since inodes are used
//! again.  A file that was renamed is read to its end, then those that were rotated after it, then the one
//! that has the name now.  In a folder it is found by its inode, whatever its name has become.

use std::ffi::OsStr;
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::unix::fs::{DirEntryExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use logring::{LogLevel, LogValue};

use super::cursor::{CURSOR, CursorFile, Saved, WrittenPlace};
use super::fields::left_out;
use super::frames::{InputFrame, InputFrames};
use super::output::InputRecords;
use super::{InputPlace, PATIENCE};

/// Bytes of a file's begin by which it is known again.
const HEAD_MAX: u64 = 256;
/// The place of a file that was removed, while those are there that were rotated from it: the next one
/// of its name is read from its begin.
const REMOVED: &[u8] = b"removed";
/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// A file that is read.
struct Followed {
    file: File,
    device: u64,
    inode: u64,
    frames: InputFrames,
    /// Bytes that were read, and those of whole lines among them.
    read: u64,
    whole: u64,
}

pub(super) fn run(place: &mut InputPlace) -> io::Result<()> {
    let path = PathBuf::from(&place.target);
    let mut current = match place.cursor.take_saved() {
        Some(saved) => resume(&path, &saved, place)?,
        None => oldest(&path, place)?,
    };
    note(place, current.as_ref())?;
    let mut bytes = vec![0; READ];
    while !place.is_ending() {
        let Some(followed) = &mut current else {
            current = open(&path, 0)?;
            note(place, current.as_ref())?;
            match &current {
                // Before its first record, so that a kill finds the file again.
                Some(followed) => place.cursor.save(&followed.place()?)?,
                None if place.control.is_once => return Ok(()),
                None => std::thread::sleep(PATIENCE),
            }
            continue;
        };
        if followed.read_piece(place.records, &mut place.cursor, &mut bytes)? {
            continue;
        }
        let is_cut = followed.file.metadata()?.len() < followed.read;
        let next = if is_cut { None } else { next_after(&path, followed)? };
        if is_cut {
            place
                .records
                .write_own(LogLevel::Warning, "the file was cut: it is read from its begin");
            followed.finish(place.records, &mut place.cursor)?;
            followed.begin_again();
            place.cursor.save(&followed.place()?)?;
        } else if let Some(next) = next {
            // What was written until it was renamed, and meanwhile.
            while followed.read_piece(place.records, &mut place.cursor, &mut bytes)? {}
            followed.finish(place.records, &mut place.cursor)?;
            leave_behind(place, followed)?;
            place.cursor.save(&next.place()?)?;
            current = Some(next);
            note(place, current.as_ref())?;
        } else if place.control.is_once {
            followed.finish(place.records, &mut place.cursor)?;
            return place.cursor.settle(&WrittenPlace::Number(followed.whole));
        } else if place.folder.is_some() && followed.is_removed()? && !path.exists() {
            while followed.read_piece(place.records, &mut place.cursor, &mut bytes)? {}
            followed.finish(place.records, &mut place.cursor)?;
            return match rotated(&path).is_empty() {
                true => place.cursor.remove(),
                // Those that were rotated from it are still there, and were read.
                false => place.cursor.save(REMOVED),
            };
        } else {
            std::thread::sleep(PATIENCE);
        }
    }
    Ok(())
}

/// Notes what a file of a folder reads, so that nobody reads it again under another name.
fn note(place: &InputPlace, followed: Option<&Followed>) -> io::Result<()> {
    if let Some(followed) = followed.filter(|_| place.folder.is_some()) {
        place.control.note_read(&followed.file.metadata()?);
    }
    Ok(())
}

/// Gives a file of a folder that was read a cursor of the name that it has got, if that is none of
/// rotation: by that name it is a file of its own, of which nothing is to come again.
fn leave_behind(place: &InputPlace, followed: &Followed) -> io::Result<()> {
    let (Some(folder), path) = (&place.folder, Path::new(&place.target)) else { return Ok(()) };
    let of_rotation = rotated(path);
    for other in files_of_inode(path, followed.inode) {
        let is_rotated = of_rotation.iter().any(|(one, _)| *one == other);
        let name = other.file_name().and_then(OsStr::to_str);
        let Some(name) = name.filter(|name| !is_rotated && folder.takes(name)) else { continue };
        let input = folder.input_of(name);
        let facts = std::fs::metadata(&other);
        let is_it = facts.is_ok_and(|facts| is_file(&facts, followed.device, followed.inode));
        if is_it && !CursorFile::is_kept(&place.control.cursors, &input) {
            place.control.cursor(&input)?.save_settled(&followed.place()?)?;
        }
    }
    Ok(())
}

impl Followed {
    fn new(file: File, facts: &Metadata, offset: u64) -> Self {
        let (device, inode, frames) = (facts.dev(), facts.ino(), InputFrames::lines(offset));
        Followed { file, device, inode, frames, read: offset, whole: offset }
    }

    fn begin_again(&mut self) {
        (self.read, self.whole, self.frames) = (0, 0, InputFrames::lines(0));
    }

    /// Whether it has no name any more, and so is nobody's but of those who have it open.
    fn is_removed(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.nlink() == 0)
    }

    /// The cursor: where the file was read to.
    fn place(&self) -> io::Result<Vec<u8>> {
        let length = self.whole.min(HEAD_MAX);
        let sum = head_sum(&self.file, length)?;
        let Followed { device, inode, whole, .. } = self;
        Ok(format!("{device} {inode} {whole} {length} {sum}").into_bytes())
    }

    /// Reads a piece, and writes the lines that are whole; gives whether there was something.
    fn read_piece(
        &mut self,
        records: InputRecords,
        cursor: &mut CursorFile,
        bytes: &mut [u8],
    ) -> io::Result<bool> {
        let length = match self.file.read_at(bytes, self.read) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        let mut frames = std::mem::replace(&mut self.frames, InputFrames::lines(0));
        let mut done = Ok(());
        frames.add_bytes(&bytes[..length], |frame| {
            if done.is_ok() {
                done = self.write(records, cursor, &frame);
            }
        });
        self.frames = frames;
        self.read += length as u64;
        done.map(|()| length > 0)
    }

    /// Writes the line that no newline ends.
    fn finish(&mut self, records: InputRecords, cursor: &mut CursorFile) -> io::Result<()> {
        let mut frames = std::mem::replace(&mut self.frames, InputFrames::lines(self.read));
        let mut done = Ok(());
        frames.finish(|frame| done = self.write(records, cursor, &frame));
        done
    }

    fn write(
        &mut self,
        records: InputRecords,
        cursor: &mut CursorFile,
        frame: &InputFrame<'_>,
    ) -> io::Result<()> {
        if cursor.is_due() {
            cursor.save(&self.place()?)?;
        }
        let cursor = (CURSOR, LogValue::Unsigned(frame.end));
        match left_out(frame) {
            None => records.write(LogLevel::Info, frame.bytes, &[cursor]),
            Some(left_out) => records.write(LogLevel::Info, frame.bytes, &[cursor, left_out]),
        }
        self.whole = frame.end;
        Ok(())
    }
}

/// The checksum of so many bytes of a file's begin, as far as it has them.
fn head_sum(file: &File, length: u64) -> io::Result<u32> {
    let mut bytes = [0; HEAD_MAX as usize];
    let mut filled = 0;
    let wanted = length.min(HEAD_MAX) as usize;
    while filled < wanted {
        match file.read_at(&mut bytes[filled..wanted], filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(crc32c::crc32c(&bytes[..filled]))
}

/// Opens a file of lines; `None`: it is not there.
fn open(path: &Path, offset: u64) -> io::Result<Option<Followed>> {
    match open_regular(path) {
        Ok((file, facts)) => Ok(Some(Followed::new(file, &facts, offset))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens what must be a file to be read by positions.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    // A pipe without a writer must not stop the input.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::other("it is no file: only files can be followed"));
    }
    Ok((file, facts))
}

/// Whether this is what rotation puts behind a name: `.1`, `-20261126`.
fn is_rotated(end: &[u8]) -> bool {
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    end.first().is_some_and(|first| matches!(first, b'.' | b'-')) && end.iter().all(is_number)
}

/// The names from which rotation may have made this one.
pub(super) fn rotation_bases(name: &str) -> impl Iterator<Item = &str> {
    let places = name.char_indices().map(|(place, _)| place).filter(|place| *place > 0);
    places
        .map(|place| name.split_at(place))
        .filter_map(|(base, end)| is_rotated(end.as_bytes()).then_some(base))
}

/// The folder in which a path is.
pub(super) fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// The files that were rotated, and the file itself, the oldest first.
fn rotated(path: &Path) -> Vec<(PathBuf, Metadata)> {
    let Some(name) = path.file_name() else { return Vec::new() };
    let is_of = |other: &OsStr| {
        let rest = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        rest.is_some_and(|rest| rest.is_empty() || is_rotated(rest))
    };
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten().flatten();
    let mut all: Vec<(PathBuf, Metadata)> = entries
        .filter(|entry| is_of(&entry.file_name()))
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .filter(|(_, facts)| facts.is_file())
        .collect();
    // The one that has the name is the newest, whenever it was written.
    all.sort_by_key(|(other, facts)| {
        let is_path = other.file_name() == path.file_name();
        (is_path, facts.mtime(), facts.mtime_nsec())
    });
    all
}

fn is_file(facts: &Metadata, device: u64, inode: u64) -> bool {
    (facts.dev(), facts.ino()) == (device, inode)
}

/// The files of a file's folder that have an inode.
fn files_of_inode(path: &Path, inode: u64) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten().flatten();
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let found = entries.filter(|entry| entry.ino() == inode && is_file(entry));
    found.map(|entry| entry.path()).collect()
}

/// The file that was begun after one that has lost its name; `None`: it has it still, or nobody has.
fn next_after(path: &Path, current: &Followed) -> io::Result<Option<Followed>> {
    let is_own = |facts: &Metadata| is_file(facts, current.device, current.inode);
    match std::fs::metadata(path) {
        Ok(facts) if !is_own(&facts) => {}
        _ => return Ok(None),
    }
    let all = rotated(path);
    let own = current.file.metadata()?;
    let later = all.into_iter().filter(|(other, facts)| {
        let is_later = (facts.mtime(), facts.mtime_nsec()) > (own.mtime(), own.mtime_nsec());
        !is_own(facts) && (is_later || other.file_name() == path.file_name())
    });
    for (other, _) in later {
        if let Some(next) = open(&other, 0)? {
            return Ok(Some(next));
        }
    }
    Ok(None)
}

/// The oldest of the files that have had a name since its folder is followed; `None`: the one that has
/// the name, if there is one.
fn oldest(path: &Path, place: &InputPlace) -> io::Result<Option<Followed>> {
    let Some(since) = place.folder.as_ref().map(|folder| folder.since) else { return Ok(None) };
    let is_new = |other: &Path, facts: &Metadata| {
        other != path
            && facts.created().is_ok_and(|created| created >= since)
            && !place.control.is_followed(other)
    };
    match rotated(path).into_iter().find(|(other, facts)| is_new(other, facts)) {
        Some((other, _)) => open(&other, 0),
        None => Ok(None),
    }
}

/// Goes on where a cursor says; `None`: at the begin of the file that has the name.
fn resume(path: &Path, saved: &Saved, place: &InputPlace) -> io::Result<Option<Followed>> {
    let Some(kept) = KeptPlace::of(saved) else { return Ok(None) };
    let found = kept.find(path, place.folder.is_some())?;
    if found.is_none() {
        let text = format!(
            "the file that was read up to byte {} is gone: what it had behind that is lost",
            kept.offset
        );
        place.records.write_own(LogLevel::Warning, &text);
    }
    Ok(found)
}

/// What the cursor of a file of a folder has read, if it is there: whoever follows it, whatever its name.
pub(super) fn kept_file(path: &Path, saved: &Saved) -> io::Result<Option<Metadata>> {
    let Some(kept) = KeptPlace::of(saved) else { return Ok(None) };
    kept.find(path, true)?.map(|found| found.file.metadata()).transpose()
}

/// What a cursor says of a file.
struct KeptPlace {
    device: u64,
    inode: u64,
    offset: u64,
    /// Bytes of its begin, and their checksum.
    length: u64,
    sum: u64,
}

impl KeptPlace {
    fn of(saved: &Saved) -> Option<Self> {
        let text = String::from_utf8_lossy(&saved.place);
        let numbers: Vec<u64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [device, inode, offset, length, sum] = numbers[..] else { return None };
        let offset = if let WrittenPlace::Number(offset) = saved.written { offset } else { offset };
        Some(KeptPlace { device, inode, offset, length, sum })
    }

    /// Opens the file, which has its name, or one of rotation, or of any file of its folder.
    fn find(&self, path: &Path, has_any_name: bool) -> io::Result<Option<Followed>> {
        let is_it = |facts: &Metadata| is_file(facts, self.device, self.inode);
        let mut paths: Vec<PathBuf> = match std::fs::metadata(path) {
            Ok(facts) if is_it(&facts) => vec![path.to_owned()],
            _ => Vec::new(),
        };
        if paths.is_empty() {
            let all = rotated(path).into_iter().filter(|(_, facts)| is_it(facts));
            paths.extend(all.map(|(other, _)| other));
        }
        if paths.is_empty() && has_any_name {
            paths = files_of_inode(path, self.inode);
        }
        for other in paths {
            let Some(followed) = open(&other, self.offset)? else { continue };
            let is_same = is_it(&followed.file.metadata()?);
            if is_same && u64::from(head_sum(&followed.file, self.length)?) == self.sum {
                // One that was cut meanwhile is found shorter, and read from its begin.
                return Ok(Some(followed));
            }
        }
        Ok(None)
    }
}
