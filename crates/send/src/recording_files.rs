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
    /// Recordings that are read to their end: until a file of another size is there.
    pub(crate) finished: BTreeSet<u64>,
    /// What was said of files that are left out.
    complaints: BTreeMap<PathBuf, String>,
    /// So many files stay open while their recordings wait.
    open_max: usize,
    /// Recordings whose files were closed, and were not there when they were to be opened again.
    gone: BTreeMap<u64, PathBuf>,
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
            finished: BTreeSet::new(),
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
            let known = self.known.get(&path).filter(|(inode, _)| *inode == inode_of(&path));
            if let Some((_, file_id)) = known {
                present.insert(*file_id);
                continue;
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
            // One that was renamed is read on as it is open.
            if !known.is_done && !is_open(file_id) {
                self.waiting.push_back((file.path.clone(), known.clone()));
            }
            self.known.insert(file.path.clone(), (inode_of(&file.path), file_id));
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

    /// Notes what was acknowledged: recordings that are read to their end are done.
    pub(crate) fn settle(&mut self, cursor: &mut SendCursor) {
        for id in std::mem::take(&mut self.finished) {
            if let Some(one) = cursor.recordings.get_mut(&id) {
                one.is_done = true;
                one.samples = one.samples.max(one.next);
            }
        }
    }

    /// Goes back to the cursor: what was found since is found again.
    pub(crate) fn rewind(&mut self) {
        self.known.clear();
        self.waiting.clear();
        self.finished.clear();
        self.gone.clear();
    }
}

/// How long ago the newest of these was written; nothing if that is to come by the clock.
pub(crate) fn age_of<'a>(readers: impl Iterator<Item = &'a Reader>) -> Option<Duration> {
    readers.filter_map(Reader::written).max().and_then(clock::age)
}

/// What tells a file from another one of its name; 0 if it is gone.
fn inode_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.ino())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
