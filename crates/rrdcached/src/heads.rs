//! Heads of files as they were before they were written: what makes files whole again after the
//! machine has lost its power.  `docs/format-rrd-journal.md` defines every byte.
//!
//! A write changes several pages of a file, and the disk may have some of them only: a head that
//! says that a reading is there, and no row of it.  So with `--ack disk` a file's head, which is all
//! of it but its rows, goes to the folder of the journal, and to the disk, before the first write
//! after each checkpoint.  At a start after another boot heads are put back; then the journal brings
//! all readings since, which are written once more, into the same rows.
//!
//! A checkpoint lets the disk have all files (`syncfs`); then heads from before it are removed, and
//! only then segments of the journal that no file needs.  The cost is a head of some kB for each
//! file and checkpoint, and one `fdatasync` for the files that a writer takes at once.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use segments::{SegmentNames, SharedFile, is_own_file, sync_folder};

use crate::cache::Entry;
use crate::journal::NoRoom;
use crate::locks::lock;
use crate::paths::{self, PathRules};

/// How files are named.
const NAMES: SegmentNames =
    SegmentNames { prefix: "whit.heads.", suffix: "", is_hexadecimal: false };
const MAGIC: &[u8; 16] = b"whit rrd heads 1";
/// Magic number, the boot in 44 bytes, a checksum of both.
const START_BYTES: usize = 64;
const BOOT_BYTES: usize = 44;
/// Length and checksum of a record.
const RECORD_HEAD_BYTES: usize = 8;
/// Longest record: the head of a file of 4,096 sources and archives has less than 64 MiB, and those
/// in use some kB.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// The heads of a daemon.
#[derive(Debug)]
pub(crate) struct Heads {
    folder: PathBuf,
    boot: Vec<u8>,
    /// Held for reading while a file is written, so that a checkpoint falls between two writes.
    current: RwLock<HeadFile>,
    /// A file of each device that was written to.
    devices: Mutex<HashMap<u64, PathBuf>>,
}

/// Where heads are kept since the last checkpoint.
#[derive(Debug)]
pub(crate) struct HeadFile {
    /// Also the number of the checkpoint, from 1.
    number: u64,
    file: Result<SharedFile, NoRoom>,
}

/// While it lives there is no checkpoint.
pub(crate) type Writing<'a> = RwLockReadGuard<'a, HeadFile>;

impl Heads {
    /// Whether a folder has heads of an earlier process.
    pub(crate) fn are_in(folder: &Path) -> io::Result<bool> {
        Ok(!found(folder)?.is_empty())
    }

    /// Puts heads of an earlier boot back, and begins to keep new ones.  Gives how many were put
    /// back, and what is wrong with those that were not.
    pub(crate) fn open(
        folder: &Path,
        boot: &str,
        rules: &PathRules,
    ) -> io::Result<(Self, usize, Vec<String>)> {
        let mut own = boot.as_bytes().to_vec();
        own.resize(BOOT_BYTES, 0);
        let found = found(folder)?;
        let (restored, refused) = restore(&found, &own, rules)?;
        let number = found.last().map_or(0, |(number, _)| *number) + 1;
        if let Some(above) = folder.parent() {
            sync_folder(above)?;
        }
        let heads = Self {
            folder: folder.to_owned(),
            current: RwLock::new(HeadFile::create(folder, number, &own).or_else(|error| {
                NoRoom::of(&error).map(|why| HeadFile::absent(number, why)).ok_or(error)
            })?),
            boot: own,
            devices: Mutex::default(),
        };
        Ok((heads, restored, refused))
    }

    /// From now on there is no checkpoint, until what is given is dropped.
    pub(crate) fn writing(&self) -> Writing<'_> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the heads of files that are not kept since the last checkpoint.  The caller writes none
    /// of them meanwhile; files that cannot be read are left out.
    ///
    /// # Errors
    /// If heads cannot be written: then the files must not be.
    pub(crate) fn keep(&self, entries: &[&Entry], writing: &Writing<'_>) -> io::Result<()> {
        let is_old = |entry: &&&Entry| entry.head.load(Ordering::Acquire) != writing.number;
        let mut bytes = Vec::new();
        let mut kept = Vec::new();
        for entry in entries.iter().filter(is_old) {
            let Ok((head, file_bytes, device)) = head_of(&entry.path) else { continue };
            push_record(&mut bytes, &entry.path, file_bytes, &head);
            lock(&self.devices).entry(device).or_insert_with(|| entry.path.clone());
            kept.push(*entry);
        }
        if kept.is_empty() {
            return Ok(());
        }
        writing.append(&bytes)?;
        for entry in kept {
            entry.head.store(writing.number, Ordering::Release);
        }
        Ok(())
    }

    /// Lets the disk have a file that was made or changed otherwise than by readings; heads of what
    /// was there before do not count any more.
    pub(crate) fn replaced(
        &self,
        path: &Path,
        entry: Option<&Entry>,
        base: &Path,
        writing: &Writing<'_>,
    ) -> io::Result<()> {
        File::open(path)?.sync_all()?;
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(base)) {
            sync_folder(folder)?;
        }
        let mut bytes = Vec::new();
        push_record(&mut bytes, path, 0, &[]);
        writing.append(&bytes)?;
        if let Some(entry) = entry {
            entry.head.store(0, Ordering::Release);
        }
        Ok(())
    }

    /// Begins a file, if there was no room for one before.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let is_absent = self.writing().file.is_err();
        if is_absent { self.begin_checkpoint() } else { Ok(()) }
    }

    /// Begins a checkpoint: from now on files are kept anew.  Waits for writes that have begun.
    pub(crate) fn begin_checkpoint(&self) -> io::Result<()> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = HeadFile::create(&self.folder, current.number + 1, &self.boot)?;
        Ok(())
    }

    /// Lets the disk have all that was written before, and removes heads from before; when this is
    /// done, readings that were written before are not needed.
    pub(crate) fn end_checkpoint(&self) -> io::Result<()> {
        let number = self.writing().number;
        let devices: Vec<PathBuf> = lock(&self.devices).values().cloned().collect();
        for path in devices {
            // A file that is gone was on the device of its folder.
            let opened = File::open(&path).or_else(|error| match path.parent() {
                Some(folder) => File::open(folder),
                None => Err(error),
            });
            rustix::fs::syncfs(&opened?)?;
        }
        for (_, path) in found(&self.folder)?.iter().filter(|(own, _)| *own < number) {
            std::fs::remove_file(path)?;
        }
        sync_folder(&self.folder)
    }
}

impl HeadFile {
    /// One that has no file, as there is no room for it: until there is another, no file is written.
    fn absent(number: u64, why: NoRoom) -> Self {
        Self { number, file: Err(why) }
    }

    fn create(folder: &Path, number: u64, boot: &[u8]) -> io::Result<Self> {
        let mut start = [&MAGIC[..], boot].concat();
        start.extend_from_slice(&crc32c::crc32c(&start).to_le_bytes());
        let file = SharedFile::create(&NAMES.path(folder, number), &start)?;
        Ok(Self { number, file: Ok(file) })
    }

    /// Appends records, and waits until the disk has them.
    fn append(&self, records: &[u8]) -> io::Result<()> {
        let file = self.file.as_ref().map_err(|why| why.error())?;
        file.append(records)?;
        file.sync()
    }
}

/// A file's head, its size and its device.
fn head_of(path: &Path) -> io::Result<(Vec<u8>, u64, u64)> {
    let opened = rrd::File::open(path, rrd::Access::Read).map_err(io::Error::other)?;
    let (head_bytes, file_bytes) = (opened.header_bytes(), opened.file_bytes());
    let file = File::open(path)?;
    let mut head = vec![0; usize::try_from(head_bytes).map_err(io::Error::other)?];
    if head.len() + path.as_os_str().len() + 12 > RECORD_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.read_exact_at(&mut head, 0)?;
    Ok((head, file_bytes, file.metadata()?.dev()))
}

fn push_record(bytes: &mut Vec<u8>, path: &Path, file_bytes: u64, head: &[u8]) {
    let name = path.as_os_str().as_bytes();
    let start = bytes.len();
    bytes.extend_from_slice(&[0; RECORD_HEAD_BYTES]);
    bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&file_bytes.to_le_bytes());
    bytes.extend_from_slice(head);
    let body = start + RECORD_HEAD_BYTES;
    let length = (bytes.len() - body) as u32;
    let sum = crc32c::crc32c(&bytes[body..]);
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    bytes[start + 4..body].copy_from_slice(&sum.to_le_bytes());
}

/// Files of heads in a folder, oldest first.
fn found(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let own = |number| {
        let path = NAMES.path(folder, number);
        if !is_own_file(&path)? {
            let text = format!("{} is not this user's alone", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok((number, path))
    };
    match NAMES.list(folder) {
        // There was no room for the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        numbers => numbers?.into_iter().map(own).collect(),
    }
}

/// Where a head lies: index of the file, offset and length of the record's body.
type HeadRange = (usize, u64, usize);

/// Puts back the oldest head of each file that counts.
fn restore(
    files: &[(u64, PathBuf)],
    boot: &[u8],
    rules: &PathRules,
) -> io::Result<(usize, Vec<String>)> {
    let mut places: HashMap<Vec<u8>, HeadRange> = HashMap::new();
    let mut is_of_another_boot = false;
    for (index, (_, path)) in files.iter().enumerate() {
        let mut input = BufReader::with_capacity(1 << 20, File::open(path)?);
        // One without a start was made when the power went, and has nothing.
        let Some(own) = read_start(&mut input)? else { continue };
        is_of_another_boot |= own != boot;
        let mut offset = START_BYTES as u64;
        while let Some(body) = read_record(&mut input)? {
            let at = offset + RECORD_HEAD_BYTES as u64;
            offset = at + body.len() as u64;
            let Some((name, _, head)) = parts(&body) else { break };
            if head.is_empty() {
                places.remove(name);
            } else {
                places.entry(name.to_vec()).or_insert((index, at, body.len()));
            }
        }
    }
    let mut refused = Vec::new();
    if !is_of_another_boot {
        return Ok((0, refused));
    }
    let mut order: Vec<HeadRange> = places.into_values().collect();
    order.sort_unstable();
    let mut opened: Option<(usize, File)> = None;
    let mut restored = 0;
    for (index, at, length) in order {
        if opened.as_ref().is_none_or(|(own, _)| *own != index) {
            opened = Some((index, File::open(&files[index].1)?));
        }
        let Some((_, file)) = &mut opened else { continue };
        let mut body = vec![0; length];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut body)?;
        let Some((name, file_bytes, head)) = parts(&body) else { continue };
        match put_back(paths::path(name), file_bytes, head, rules) {
            Ok(()) => restored += 1,
            Err(text) => refused.push(format!("{}: {text}", paths::path(name).display())),
        }
    }
    Ok((restored, refused))
}

fn put_back(path: &Path, file_bytes: u64, head: &[u8], rules: &PathRules) -> Result<(), String> {
    let text = |error: io::Error| rrd::reason(&error);
    if !rules.allows_file(&path.canonicalize().map_err(text)?) {
        return Err("it is outside of the base folder".to_owned());
    }
    let file = OpenOptions::new().write(true).open(path).map_err(text)?;
    let metadata = file.metadata().map_err(text)?;
    if !metadata.is_file() || metadata.len() != file_bytes {
        return Err("it has another size than it had".to_owned());
    }
    file.write_all_at(head, 0).map_err(text)
}

/// The boot of a file of heads; `None` if its start is not sound.
fn read_start(input: &mut impl io::Read) -> io::Result<Option<Vec<u8>>> {
    let mut start = [0; START_BYTES];
    if !read_whole(input, &mut start)? || &start[..MAGIC.len()] != MAGIC {
        return Ok(None);
    }
    let (said, sum) = start.split_at(START_BYTES - 4);
    let is_sound = crc32c::crc32c(said).to_le_bytes() == *sum;
    Ok(is_sound.then(|| said[MAGIC.len()..].to_vec()))
}

/// The body of the next record; `None` at the end, which may be cut.
fn read_record(input: &mut impl io::Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; RECORD_HEAD_BYTES];
    if !read_whole(input, &mut head)? {
        return Ok(None);
    }
    let [a, b, c, d, sum @ ..] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > RECORD_BYTES_MAX {
        return Ok(None);
    }
    // The length may be damaged: no more memory than there are bytes.
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body)?;
    let is_sound = body.len() == length && crc32c::crc32c(&body).to_le_bytes() == sum;
    Ok(is_sound.then_some(body))
}

fn read_whole(input: &mut impl io::Read, bytes: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Name, size of the file and head of a record.
fn parts(body: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (file_bytes, head) = rest.split_first_chunk::<8>()?;
    Some((name, u64::from_le_bytes(*file_bytes), head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;

    /// A head is put back after another boot, the oldest of several, unless its record is cut or the
    /// file was created again since.
    #[test]
    fn heads_are_put_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("folder");
        let base = folder.path().canonicalize().expect("name");
        let (journal, path) = (base.join("journal"), base.join("a.rrd"));
        std::fs::create_dir(&journal).expect("journal");
        let definitions = ["DS:x:GAUGE:90:U:U", "RRA:LAST:0:1:10"];
        let options = rrd::create::Options { step_seconds: Some(1), ..Default::default() };
        rrd::create::create(&path, &options, &definitions, 1_600_000_000).expect("file");
        let before = std::fs::read(&path).expect("file");
        let rules = PathRules::new(&base, true, false).expect("rules");
        let entry = Cache::new().file(&path, 0);
        let (heads, restored, _) = Heads::open(&journal, "one", &rules).expect("heads");
        assert_eq!(restored, 0);
        heads.keep(&[&entry], &heads.writing()).expect("kept");
        let mut changed = before.clone();
        // The time of the last update.
        changed[368] ^= 1;
        std::fs::write(&path, &changed).expect("file");
        heads.begin_checkpoint().expect("checkpoint");
        heads.keep(&[&entry], &heads.writing()).expect("kept");
        drop(heads);
        let open = |boot: &str| {
            let found = found(&journal).expect("folder");
            let mut own = boot.as_bytes().to_vec();
            own.resize(BOOT_BYTES, 0);
            restore(&found, &own, &rules).expect("restored").0
        };
        assert_eq!(open("one"), 0, "the same boot");
        assert_eq!(std::fs::read(&path).expect("file"), changed);
        assert_eq!(open("two"), 1);
        assert_eq!(std::fs::read(&path).expect("file"), before);

        let files = found(&journal).expect("folder");
        std::fs::remove_file(&files[1].1).expect("remove");
        let whole = std::fs::read(&files[0].1).expect("heads");
        for cut in 0..whole.len() {
            std::fs::write(&files[0].1, &whole[..cut]).expect("heads");
            std::fs::write(&path, &changed).expect("file");
            assert_eq!(open("two"), 0, "cut at {cut}");
            assert_eq!(std::fs::read(&path).expect("file"), changed, "cut at {cut}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            std::fs::write(&files[0].1, &damaged).expect("heads");
            assert_eq!(open("two"), 0, "damaged at {place}");
        }
        let mut replaced = whole.clone();
        push_record(&mut replaced, &path, 0, &[]);
        std::fs::write(&files[0].1, &replaced).expect("heads");
        assert_eq!(open("two"), 0, "the file is another one");
    }
}
