//! Which recordings of a folder engines still wait for, by their cursors: for whoever deletes recordings.

use std::collections::BTreeSet;
use std::path::Path;

use crate::SendError;
use crate::cursor::{CursorFile, SendCursor};
use crate::recording_files::has_grown;

/// The engines that recordings of a folder are sent to, and what each has.
#[derive(Debug, Default)]
pub struct Unsent(Vec<(String, SendCursor)>);

impl Unsent {
    /// Reads the cursors of a folder.  An engine that has acknowledged nothing yet has the lock of a cursor
    /// alone.
    ///
    /// # Errors
    /// If the folder or a cursor cannot be read.
    pub fn read(folder: &Path) -> Result<Self, SendError> {
        let failed =
            |source| SendError::Cursor { action: "look for", path: folder.to_owned(), source };
        let mut names: BTreeSet<String> =
            CursorFile::names_in(folder).map_err(failed)?.into_iter().collect();
        names.extend(CursorFile::locks_in(folder).map_err(failed)?);
        let read = |name: String| {
            let cursor = CursorFile::read(folder, &name)?.unwrap_or_default();
            Ok((name, cursor))
        };
        names.into_iter().map(read).collect::<Result<_, _>>().map(Unsent)
    }

    /// The name of an engine that has not all of a recording, by its number and its file.
    #[must_use]
    pub fn engine_for(&self, file_id: u64, path: &Path) -> Option<&str> {
        let bytes = path.metadata().map_or(0, |facts| facts.len());
        let is_done = |cursor: &SendCursor| {
            let known = cursor.recordings.get(&file_id);
            known.is_some_and(|one| one.is_done && !has_grown(one, bytes))
        };
        let mut of_recordings = self.0.iter().filter(|(_, cursor)| cursor.store.is_none());
        of_recordings.find(|(_, cursor)| !is_done(cursor)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::RecordingCursor;

    #[test]
    fn an_engine_waits_for_what_it_has_not_acknowledged_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.whit");
        std::fs::write(&path, "four").unwrap();
        let engine = |id| {
            let unsent = Unsent::read(folder.path()).unwrap();
            unsent.engine_for(id, &path).map(str::to_owned)
        };
        assert_eq!(engine(1), None);
        let (mut file, mut cursor) = CursorFile::open(folder.path(), "b").unwrap();
        assert_eq!(engine(1).as_deref(), Some("b"));
        // One is as it was when it was done, one was gone on with, of one an earlier version noted nothing.
        for (file_id, is_done, bytes) in
            [(1, true, Some(4)), (2, false, None), (4, true, Some(3)), (5, true, None)]
        {
            let known =
                RecordingCursor { is_done, bytes, next: 7, samples: 7, ..Default::default() };
            cursor.recordings.insert(file_id, known);
        }
        file.write(&cursor).unwrap();
        let waits = [1, 2, 3, 4, 5].map(|id| engine(id).is_some());
        assert_eq!(waits, [false, true, true, true, false]);
        std::fs::write(folder.path().join(".send-a.json"), "{").unwrap();
        assert!(Unsent::read(folder.path()).is_err());
    }
}
