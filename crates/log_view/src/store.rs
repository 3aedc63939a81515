//! Records of a store, by its archive: a page costs the blocks that have it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use log_store::StoreReader;
use log_store::archive::{LogArchive, LogArchiveError, LogPage, LogSearch};
use log_store::query::Filter;

use crate::error::ViewError;
use crate::origin::{LogOrigin, LooksForEnd, Page, PageAsked, VisitRecord};
use crate::row::Row;

/// Between two looks for new records.
const PAUSE: Duration = Duration::from_millis(250);
/// Bytes of a page: more than its records have at most.
const PAGE_BYTES_MAX: usize = 64 << 20;
/// Records after which it is looked whether the user waits no more.
const LOOK_EVERY: u64 = 4096;

/// Records of a store.
pub(crate) struct StoreOrigin {
    archive: LogArchive,
    name: String,
    /// Whether more is written to it.
    grows: bool,
    /// The newest file and its bytes, at the last look.
    newest: Option<(PathBuf, u64)>,
}

impl StoreOrigin {
    pub(crate) fn new(folder: &Path, name: String, grows: bool) -> Self {
        StoreOrigin { archive: LogArchive::new(folder), name, grows, newest: None }
    }
}

impl LogOrigin for StoreOrigin {
    fn name(&self) -> &str {
        &self.name
    }

    fn page(
        &mut self,
        filter: &Filter,
        asked: PageAsked<'_>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Page, ViewError> {
        let words = asked.search.into_iter().cloned().collect();
        let search = LogSearch { filter: filter.clone(), words };
        let PageAsked { order, behind, limit, .. } = asked;
        let page = LogPage { order, limit, bytes_max: PAGE_BYTES_MAX, behind };
        let mut make = |key, record: &log_format::LogRecord<'_>| Row::of(key, record).encode();
        let found = self.archive.records(&search, page, has_ended, &mut make)?;
        let rows = found.records.iter().filter_map(|one| Row::decode(one.key, &one.text));
        let damaged = found.losses.damaged.first();
        let complaint = damaged.map(|(path, from, to)| {
            format!("{}: bytes {from} to {to} are damaged", path.display())
        });
        Ok(Page { rows: rows.collect(), has_more: found.has_more, complaint })
    }

    fn visit(
        &mut self,
        filter: &Filter,
        visit: &mut VisitRecord<'_>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<(), ViewError> {
        let folder = self.archive.folder();
        let failed = |source| ViewError::Io { path: folder.to_owned(), source };
        let mut reader = StoreReader::open(folder).map_err(failed)?;
        reader.look_up(filter.keys());
        let looked = Cell::new(0_u64);
        let is_over = || {
            looked.set(looked.get() + 1);
            looked.get().is_multiple_of(LOOK_EVERY) && has_ended()
        };
        let (mut scratch, mut is_ended) = (Vec::new(), false);
        let wants = |chunk: &_, block: &_| filter.wants_block(chunk, block);
        let flow = reader.visit_all(&wants, &mut |item| {
            if is_over() {
                is_ended = true;
                return ControlFlow::Break(());
            }
            match filter.wanted(item, &mut scratch) {
                Some(record) => visit(&record),
                None => ControlFlow::Continue(()),
            }
        });
        let _ = flow.map_err(failed)?;
        if is_ended { Err(LogArchiveError::Ended.into()) } else { Ok(()) }
    }

    fn pause(&self) -> Option<Duration> {
        self.grows.then_some(PAUSE)
    }

    fn has_news(&mut self) -> bool {
        let entries = std::fs::read_dir(self.archive.folder()).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path());
        let newest = files.filter(|path| path.extension().is_some_and(|end| end == "logs")).max();
        let newest = newest.map(|path| {
            let bytes = path.metadata().map_or(0, |file| file.len());
            (path, bytes)
        });
        let is_new = newest != self.newest;
        self.newest = newest;
        is_new
    }
}
