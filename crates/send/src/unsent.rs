//! Which recordings of a folder engines still wait for, by their cursors: for whoever deletes recordings.

use std::collections::BTreeSet;
use std::path::Path;

use crate::SendError;
use crate::cursor::{CursorFile, SendCursor};

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

    /// The name of an engine that has not all of a recording, by its number.
    #[must_use]
    pub fn engine_for(&self, file_id: u64) -> Option<&str> {
        let is_done =
            |cursor: &SendCursor| cursor.recordings.get(&file_id).is_some_and(|one| one.is_done);
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
        assert_eq!(Unsent::read(folder.path()).unwrap().engine_for(1), None);
        let (mut file, mut cursor) = CursorFile::open(folder.path(), "b").unwrap();
        assert_eq!(Unsent::read(folder.path()).unwrap().engine_for(1), Some("b"));
        for (file_id, is_done) in [(1, true), (2, false)] {
            let known = RecordingCursor { is_done, next: 7, samples: 7, ..Default::default() };
            cursor.recordings.insert(file_id, known);
        }
        file.write(&cursor).unwrap();
        let unsent = Unsent::read(folder.path()).unwrap();
        assert_eq!([1, 2, 3].map(|id| unsent.engine_for(id)), [None, Some("b"), Some("b")]);
        std::fs::write(folder.path().join(".send-a.json"), "{").unwrap();
        assert!(Unsent::read(folder.path()).is_err());
    }
}
