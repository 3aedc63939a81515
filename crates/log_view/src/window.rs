//! The records around the chosen one, in the order of time: a bounded window that moves over all.

use std::collections::VecDeque;

use log_store::archive::{LogOrder, RecordKey};
use log_store::query::Filter;
use regex::bytes::Regex;

use crate::error::ViewError;
use crate::origin::{LogOrigin, LooksForEnd, PageAsked};
use crate::row::Row;

/// Records of a page that is read at once.
const PAGE: usize = 500;
/// Most records in memory.
const ROWS_MAX: usize = 3000;

/// The records around the chosen one.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) rows: VecDeque<Row>,
    /// The chosen one.
    pub(crate) cursor: usize,
    /// The first on the screen.
    pub(crate) first: usize,
    has_older: bool,
    has_newer: bool,
    /// What is damaged, if something that was read is.
    pub(crate) complaint: Option<String>,
}

/// What a window reads from.
pub(crate) struct Reach<'a> {
    pub(crate) origin: &'a mut dyn LogOrigin,
    pub(crate) filter: &'a Filter,
    pub(crate) has_ended: &'a LooksForEnd<'a>,
}

impl Reach<'_> {
    fn page(
        &mut self,
        order: LogOrder,
        behind: Option<RecordKey>,
        limit: usize,
        search: Option<&Regex>,
    ) -> Result<crate::origin::Page, ViewError> {
        let asked = PageAsked { order, behind, limit, search };
        self.origin.page(self.filter, asked, self.has_ended)
    }
}

impl Window {
    /// The key of the chosen record.
    pub(crate) fn key(&self) -> Option<RecordKey> {
        self.rows.get(self.cursor).map(|row| row.key)
    }

    /// The newest records; the last is chosen.
    pub(crate) fn newest(reach: &mut Reach<'_>) -> Result<Self, ViewError> {
        let page = reach.page(LogOrder::NewestFirst, None, PAGE, None)?;
        let rows: VecDeque<Row> = page.rows.into_iter().rev().collect();
        let cursor = rows.len().saturating_sub(1);
        let (has_older, complaint) = (page.has_more, page.complaint);
        Ok(Window { rows, cursor, first: cursor, has_older, has_newer: false, complaint })
    }

    /// The oldest records; the first is chosen.
    pub(crate) fn oldest(reach: &mut Reach<'_>) -> Result<Self, ViewError> {
        let page = reach.page(LogOrder::OldestFirst, None, PAGE, None)?;
        let (has_newer, complaint) = (page.has_more, page.complaint);
        Ok(Window { rows: page.rows.into(), has_newer, complaint, ..Window::default() })
    }

    /// The records from a time on, of which the first is chosen; `None` if there are none.
    pub(crate) fn at(reach: &mut Reach<'_>, time_ns: u64) -> Result<Option<Self>, ViewError> {
        let from_ns = reach.filter.from_ns.map_or(time_ns, |own| own.max(time_ns));
        let filter = Filter { from_ns: Some(from_ns), ..reach.filter.clone() };
        let asked =
            PageAsked { order: LogOrder::OldestFirst, behind: None, limit: PAGE, search: None };
        let page = reach.origin.page(&filter, asked, reach.has_ended)?;
        Self::around(reach, page.rows, page.has_more)
    }

    /// The records around one that was found; `row` is chosen.
    pub(crate) fn from(reach: &mut Reach<'_>, row: Row) -> Result<Option<Self>, ViewError> {
        let page = reach.page(LogOrder::OldestFirst, Some(row.key), PAGE, None)?;
        let rows = std::iter::once(row).chain(page.rows).collect();
        Self::around(reach, rows, page.has_more)
    }

    /// Rows with some before them.
    fn around(
        reach: &mut Reach<'_>,
        rows: Vec<Row>,
        has_newer: bool,
    ) -> Result<Option<Self>, ViewError> {
        if rows.is_empty() {
            return Ok(None);
        }
        let mut window =
            Window { rows: rows.into(), has_newer, has_older: true, ..Window::default() };
        window.older(reach)?;
        Ok(Some(window))
    }

    fn older(&mut self, reach: &mut Reach<'_>) -> Result<(), ViewError> {
        let Some(key) = self.rows.front().map(|row| row.key) else { return Ok(()) };
        let page = reach.page(LogOrder::NewestFirst, Some(key), PAGE, None)?;
        self.has_older = page.has_more;
        self.complaint = page.complaint.or(self.complaint.take());
        self.cursor += page.rows.len();
        self.first += page.rows.len();
        page.rows.into_iter().for_each(|row| self.rows.push_front(row));
        if self.rows.len() > ROWS_MAX {
            self.rows.truncate(ROWS_MAX);
            self.has_newer = true;
        }
        Ok(())
    }

    fn newer(&mut self, reach: &mut Reach<'_>) -> Result<(), ViewError> {
        let Some(key) = self.rows.back().map(|row| row.key) else { return Ok(()) };
        let page = reach.page(LogOrder::OldestFirst, Some(key), PAGE, None)?;
        self.has_newer = page.has_more;
        self.complaint = page.complaint.or(self.complaint.take());
        self.rows.extend(page.rows);
        let over = self.rows.len().saturating_sub(ROWS_MAX);
        if over > 0 {
            self.rows.drain(..over);
            self.cursor = self.cursor.saturating_sub(over);
            self.first = self.first.saturating_sub(over);
            self.has_older = true;
        }
        Ok(())
    }

    /// Moves the choice by lines; records are read when it comes near an end.
    pub(crate) fn step(&mut self, lines: isize, reach: &mut Reach<'_>) -> Result<(), ViewError> {
        let far = lines.unsigned_abs();
        if lines < 0 && self.has_older && self.cursor < far {
            self.older(reach)?;
        }
        let is_near = self.cursor.saturating_add(far) >= self.rows.len();
        // At the end something may have come since.
        if lines > 0 && (is_near && (self.has_newer || reach.origin.pause().is_some())) {
            self.newer(reach)?;
        }
        let last = self.rows.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(lines).min(last);
        Ok(())
    }

    /// Finds the next record whose message fits, before or behind the chosen one; whether there is one.
    pub(crate) fn search(
        &mut self,
        search: &Regex,
        order: LogOrder,
        reach: &mut Reach<'_>,
    ) -> Result<bool, ViewError> {
        let page = reach.page(order, self.key(), 1, Some(search))?;
        let Some(row) = page.rows.into_iter().next() else { return Ok(false) };
        if let Some(at) = self.rows.iter().position(|one| one.key == row.key) {
            self.cursor = at;
            return Ok(true);
        }
        if let Some(window) = Window::from(reach, row)? {
            *self = window;
        }
        Ok(true)
    }

    /// Puts the chosen line on a screen of `height` lines.
    pub(crate) fn scroll(&mut self, height: usize) {
        self.first = self.first.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
        self.first = self.first.min(self.rows.len().saturating_sub(height));
    }
}
