//! The recordings of a folder, and which of them are still to be read: in the order of their times.
//!
//! The files of those that are written stay open, so that what is deleted is read to its end.  For them the
//! limit of descriptors is raised; those for which it does not suffice are closed while they wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use feed::{Origin, RecordedFile, in_order, left_out, recordings_in};
use jiff::tz::TimeZone;
use recording::Reader;
use sample::SourceDef;

use crate::SendError;
use crate::clock;
use crate::cursor::{RecordingCursor, SendCursor};

/// Most recordings whose files stay open while they wait.
const OPEN_MAX: u64 = 4096;

/// Descriptors that are left for everything but them.
const DESCRIPTORS_LEFT: u64 = 48;

/// The recordings of a folder.
pub(crate) struct RecordingFiles {
    folder: PathBuf,
    /// Recordings that were found, with their inodes and their numbers: they are not opened again.
    known: BTreeMap<PathBuf, (u64, u64)>,
    /// Recordings that are opened when those before them are read, and the next sample of each.
    pub(crate) waiting: VecDeque<(PathBuf, RecordingCursor)>,
    /// Recordings that are read to their end since the last settling.
    finished: BTreeMap<u64, ReadToEnd>,
    /// The end that was found last: of the recording of a number, and the bytes of its file.
    end: Option<(u64, u64)>,
    /// Samples that could not be read since the last settling.
    unreadable: u64,
    /// Recordings of which that was said.
    damaged: BTreeSet<u64>,
    /// What is to be said of them.
    notes: Vec<String>,
    /// What was said of files that are left out.
    complaints: BTreeMap<PathBuf, String>,
    /// So many files stay open while their recordings wait.
    open_max: usize,
    /// Recordings whose files were closed, and were not there when they were to be opened again.
    gone: BTreeMap<u64, PathBuf>,
}

/// A recording that is read to its end.
struct ReadToEnd {
    /// The number behind that of its last sample.
    next: u64,
    /// The bytes of its file: if it has others, somebody has gone on with it.
    bytes: u64,
}

/// What a look at a folder found.
#[derive(Default)]
pub(crate) struct FolderContents {
    /// New sentences: files that are left out, and what is missing in another way.
    pub(crate) complaints: Vec<String>,
    /// Samples or records that were deleted before they were sent.
    pub(crate) deleted: u64,
}

impl RecordingFiles {
    /// The recordings of a folder; raises the limit of descriptors for them.
    pub(crate) fn new(folder: &Path) -> Self {
        let descriptors = connection::allow_descriptors(OPEN_MAX + DESCRIPTORS_LEFT);
        let open_max = descriptors.saturating_sub(DESCRIPTORS_LEFT);
        RecordingFiles {
            folder: folder.to_owned(),
            known: BTreeMap::new(),
            waiting: VecDeque::new(),
            finished: BTreeMap::new(),
            end: None,
            unreadable: 0,
            damaged: BTreeSet::new(),
            notes: Vec::new(),
            complaints: BTreeMap::new(),
            open_max: usize::try_from(open_max).unwrap_or(usize::MAX),
            gone: BTreeMap::new(),
        }
    }

    /// Looks which recordings there are: new ones will be read, those that are gone are told.
    pub(crate) fn look(
        &mut self,
        cursor: &mut SendCursor,
        is_open: &dyn Fn(u64) -> bool,
    ) -> Result<FolderContents, SendError> {
        let mut looked = FolderContents::default();
        let (mut files, mut present) = (Vec::new(), BTreeSet::new());
        for path in recordings_in(&self.folder)? {
            let (inode, bytes) = facts_of(&path);
            let known = self.known.get(&path).filter(|(known, _)| *known == inode);
            if let Some((_, file_id)) = known {
                let sent = cursor.recordings.get(file_id);
                if sent.is_none_or(|one| !has_grown(one, bytes)) {
                    present.insert(*file_id);
                    continue;
                }
            }
            match RecordedFile::open(path.clone(), &TimeZone::UTC) {
                Ok(file) if file.origin == Origin::Whit => files.push(file),
                Ok(_) => self.complain(&mut looked, path, |path| {
                    format!("{}: collectl's recordings are not sent; left out", path.display())
                }),
                // It was deleted meanwhile, or its head is not yet written.
                Err(error) => self.complain(&mut looked, path, |_| left_out(&error)),
            }
        }
        for file in in_order(files, |file| file) {
            let reader = Reader::open(&file.path, &[]);
            let Ok(reader) = reader else { continue };
            let file_id = reader.file_id();
            present.insert(file_id);
            let known = cursor.recordings.entry(file_id).or_default();
            known.name = name_of(&file.path);
            known.samples = known.samples.max(reader.samples_closed());
            let (inode, bytes) = facts_of(&file.path);
            if has_grown(known, bytes) {
                known.is_done = false;
            }
            if known.is_done {
                // What an earlier version did not note.
                known.bytes = known.bytes.or(Some(bytes));
            }
            // One that was renamed is read on as it is open.
            if !known.is_done && !is_open(file_id) {
                self.waiting.push_back((file.path.clone(), known.clone()));
            }
            self.known.insert(file.path.clone(), (inode, file_id));
        }
        self.known.retain(|_, (_, file_id)| present.contains(file_id));
        for (file_id, path) in std::mem::take(&mut self.gone) {
            if !present.contains(&file_id) {
                let most = self.open_max;
                self.complain(&mut looked, path, |path| {
                    format!(
                        "{}: deleted; what came since the last look is not sent: with more than {most} \
                         recordings it was closed (a higher limit of open files keeps more open)",
                        path.display()
                    )
                });
            }
        }
        // A file that is open is read to its end although it was deleted.
        cursor.recordings.retain(|id, one| {
            let stays = present.contains(id) || is_open(*id);
            if !stays && !one.is_done {
                looked.deleted += one.samples.saturating_sub(one.next);
            }
            stays
        });
        Ok(looked)
    }

    fn complain(
        &mut self,
        looked: &mut FolderContents,
        path: PathBuf,
        text: impl FnOnce(&Path) -> String,
    ) {
        self.complaints.entry(path).or_insert_with_key(|path| {
            let text = text(path);
            looked.complaints.push(text.clone());
            text
        });
    }

    /// Opens one that waited.  One that cannot be opened is found again at the next look, which says why.
    pub(crate) fn open(&mut self, path: &Path, known: &[Arc<SourceDef>]) -> Option<Reader> {
        let opened = Reader::open(path, known);
        if opened.is_err() {
            self.known.remove(path);
        }
        opened.ok()
    }

    /// Lets a recording wait for what comes, which is open at this place among all.
    pub(crate) fn wait(&self, reader: &mut Reader, place: usize) {
        if place >= self.open_max {
            reader.close_file();
        }
    }

    /// Whether a recording could not be read on since its file is gone: it is found again if it has another
    /// name, else that is told.
    pub(crate) fn has_lost(&mut self, reader: &Reader, error: &SendError) -> bool {
        let is_gone = matches!(error, SendError::Recording(error) if error.is_gone());
        if is_gone {
            self.known.retain(|_, (_, file_id)| *file_id != reader.file_id());
            self.gone.insert(reader.file_id(), reader.path().to_owned());
        }
        is_gone
    }

    /// Whether a recording without a further sample that nobody writes is read to its end.  It is to be
    /// read again before that: another writer may have come and gone meanwhile, and left a longer file.
    pub(crate) fn is_at_end(&mut self, reader: &Reader) -> bool {
        let bytes = reader.length().unwrap_or(0);
        let end = Some((reader.file_id(), bytes));
        if std::mem::replace(&mut self.end, end) != end {
            return false;
        }
        self.end = None;
        let next = reader.next_number();
        self.finished.insert(reader.file_id(), ReadToEnd { next, bytes });
        true
    }

    /// Counts what could not be read of a recording since so many of its samples were counted.
    pub(crate) fn count_damage(&mut self, reader: &Reader, counted: &mut u64) {
        let all = reader.damage().samples_unreadable;
        let Some(new) = all.checked_sub(*counted).filter(|new| *new > 0) else { return };
        *counted = all;
        self.unreadable += new;
        if self.damaged.insert(reader.file_id()) {
            self.notes.push(format!(
                "{}: damaged; samples that cannot be read are counted, the others are sent",
                reader.path().display()
            ));
        }
    }

    /// Notes what was acknowledged: recordings that are read to their end are done.  Gives what is to be
    /// told.
    pub(crate) fn settle(&mut self, cursor: &mut SendCursor) -> Vec<String> {
        cursor.samples_unreadable += std::mem::take(&mut self.unreadable);
        for (id, end) in std::mem::take(&mut self.finished) {
            if let Some(one) = cursor.recordings.get_mut(&id) {
                one.is_done = true;
                one.bytes = Some(end.bytes);
                one.next = one.next.max(end.next);
                one.samples = one.samples.max(one.next);
            }
        }
        std::mem::take(&mut self.notes)
    }

    /// Goes back to the cursor: what was found since is found again.
    pub(crate) fn rewind(&mut self) {
        self.known.clear();
        self.waiting.clear();
        self.finished.clear();
        (self.end, self.unreadable) = (None, 0);
        self.gone.clear();
    }
}

/// How long ago the newest of these was written; nothing if that is to come by the clock.
pub(crate) fn age_of<'a>(readers: impl Iterator<Item = &'a Reader>) -> Option<Duration> {
    readers.filter_map(Reader::written).max().and_then(clock::age)
}

/// Whether a recording that was done has other bytes now.
pub(crate) fn has_grown(sent: &RecordingCursor, bytes: u64) -> bool {
    sent.is_done && sent.bytes.is_some_and(|known| known != bytes)
}

/// What tells a file from another one of its name, and its bytes; 0 if it is gone.
fn facts_of(path: &Path) -> (u64, u64) {
    path.metadata().map_or((0, 0), |facts| (facts.ino(), facts.len()))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
