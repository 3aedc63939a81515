//! Levels that last: kept in the folder of the store, for the proxies.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use log_protocol::levels::{Lasting, LevelOrder};
use logring::KeptLevels;

/// The levels; `None`: none was ever kept here, so that a new store takes none away.
pub(super) struct ProcessLevels {
    folder: PathBuf,
    levels: Mutex<Option<KeptLevels>>,
}

impl ProcessLevels {
    /// Reads the levels of the folder of a store.
    pub(super) fn open(folder: &Path) -> Self {
        let levels = Mutex::new(KeptLevels::read(folder).ok());
        ProcessLevels { folder: folder.to_owned(), levels }
    }

    fn lock(&self) -> MutexGuard<'_, Option<KeptLevels>> {
        // It is replaced as a whole.
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an order that is to last, or to last no longer; then gives all that last to `tell`, before
    /// any other order can come.
    ///
    /// # Errors
    /// Why it cannot last.
    pub(super) fn note(&self, order: &LevelOrder, tell: impl FnOnce(&str)) -> Result<(), String> {
        let level = order.to_kept();
        if !level.can_last() || order.process.parse::<u32>().is_ok() {
            return Err("only levels of ACS and names in plain characters last, and no process by its number"
                .to_owned());
        }
        let mut known = self.lock();
        let mut kept = known.clone().unwrap_or_default();
        match order.lasting {
            Lasting::Keep => kept.keep(level),
            Lasting::Forget => kept.forget(&level),
            Lasting::No => return Ok(()),
        }
        let folder = self.folder.display();
        kept.write(&self.folder)
            .map_err(|error| format!("the level does not last: {folder}/levels: {error}"))?;
        tell(&kept.to_text());
        *known = Some(kept);
        Ok(())
    }

    /// Gives all that last to `tell`, if there ever were any.
    pub(super) fn tell(&self, tell: impl FnOnce(&str)) {
        if let Some(kept) = &*self.lock() {
            tell(&kept.to_text());
        }
    }
}
