//! Records of a central server: each page is a question of its own, by time.
//!
//! The server knows times and no keys, so records of the time at which a page ends are asked for
//! again; those that are known already are left out.

use std::ops::ControlFlow;
use std::time::Duration;

use connection::SocketStream;
use log_protocol::handshake::FrameReader;
use log_store::Item;
use log_store::archive::{LogOrder, RecordKey};
use log_store::query::Filter;
use log_store::remote::{RemoteAnswer, RemotePart, RemoteQuery};

use crate::error::ViewError;
use crate::origin::{LogOrigin, LooksForEnd, Page, PageAsked, VisitRecord};
use crate::row::Row;

/// Between two questions for new records.
const PAUSE: Duration = Duration::from_secs(1);
/// Records that are asked for beyond a page: of the time at which it begins there may be some.
const BESIDE: usize = 64;
/// Most records of a question.  More of one ns are not told apart: the page ends behind them.
const ASKED_MAX: usize = 1 << 14;

/// Opens a connection to the server, or says why not.
pub type Connect = Box<dyn FnMut() -> Result<(FrameReader, SocketStream), String>>;

/// Records of a central server.
pub(crate) struct CentralOrigin {
    connect: Connect,
    name: String,
}

impl CentralOrigin {
    pub(crate) fn new(name: String, connect: Connect) -> Self {
        CentralOrigin { connect, name }
    }

    /// Asks, and visits what comes until the end or the visitor's.
    fn ask(
        &mut self,
        query: &RemoteQuery,
        visit: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Option<String>, ViewError> {
        let failed = |error: std::io::Error| ViewError::Central(error.to_string());
        let (reader, mut writer) = (self.connect)().map_err(ViewError::Central)?;
        let mut answer = RemoteAnswer::ask(reader, &mut writer, query).map_err(failed)?;
        loop {
            match answer.next(visit).map_err(failed)? {
                RemotePart::Records if has_ended() => return Err(ViewError::Interrupted),
                RemotePart::Records => {}
                RemotePart::Enough => return Ok(None),
                RemotePart::End { damaged, .. } => return Ok(damaged.into_iter().next()),
            }
        }
    }

    /// The rows of a question of at most `count` records, in the order of their keys.
    fn rows(
        &mut self,
        filter: &Filter,
        (order, count): (LogOrder, usize),
        has_ended: &LooksForEnd<'_>,
    ) -> Result<(Vec<Row>, Option<String>), ViewError> {
        let newest = u32::try_from(count).unwrap_or(u32::MAX);
        let query = RemoteQuery {
            filter: filter.clone(),
            newest: (order == LogOrder::NewestFirst).then_some(newest),
            limit: if order == LogOrder::NewestFirst { 0 } else { count as u64 },
            ..RemoteQuery::default()
        };
        let (mut rows, mut scratch) = (Vec::new(), Vec::new());
        let complaint = self.ask(
            &query,
            &mut |item| {
                if let Some(record) = filter.wanted(item, &mut scratch) {
                    rows.push(Row::of(RecordKey::of(item), &record));
                }
                // A server is not trusted to keep to what it was asked.
                match rows.len() > 2 * ASKED_MAX {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
            has_ended,
        )?;
        rows.sort_by_key(|row| row.key);
        rows.dedup_by_key(|row| row.key);
        Ok((rows, complaint))
    }
}

/// The filter of a question that goes on behind a record.
fn onward(filter: &Filter, asked: &PageAsked<'_>) -> Result<Filter, ViewError> {
    let mut filter = filter.clone();
    if let Some(search) = asked.search {
        if filter.regex.is_some() {
            let why =
                "a central server searches for one text at a time: clear the filter (x) first";
            return Err(ViewError::Central(why.to_owned()));
        }
        filter.regex = Some(search.clone());
    }
    match (asked.order, asked.behind) {
        (_, None) => {}
        (LogOrder::NewestFirst, Some(key)) => {
            let until = key.time_ns.saturating_add(1);
            filter.until_ns = Some(filter.until_ns.map_or(until, |own| own.min(until)));
        }
        (LogOrder::OldestFirst, Some(key)) => {
            filter.from_ns = Some(filter.from_ns.map_or(key.time_ns, |own| own.max(key.time_ns)));
        }
    }
    Ok(filter)
}

impl LogOrigin for CentralOrigin {
    fn name(&self) -> &str {
        &self.name
    }

    fn page(
        &mut self,
        filter: &Filter,
        asked: PageAsked<'_>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Page, ViewError> {
        let filter = onward(filter, &asked)?;
        let mut count = asked.limit + BESIDE;
        loop {
            let (mut rows, complaint) = self.rows(&filter, (asked.order, count), has_ended)?;
            let is_all = rows.len() < count;
            // Of the last time there may be more than came: the next page has them all.
            let last = match asked.order {
                LogOrder::NewestFirst => rows.first(),
                LogOrder::OldestFirst => rows.last(),
            };
            let last_ns = last.map_or(0, |row| row.key.time_ns);
            if !is_all && count < ASKED_MAX {
                rows.retain(|row| row.key.time_ns != last_ns);
            }
            if asked.order == LogOrder::NewestFirst {
                rows.reverse();
            }
            if let Some(behind) = asked.behind {
                rows.retain(|row| match asked.order {
                    LogOrder::NewestFirst => row.key < behind,
                    LogOrder::OldestFirst => row.key > behind,
                });
            }
            if rows.is_empty() && !is_all && count < ASKED_MAX {
                count = (count * 4).min(ASKED_MAX);
                continue;
            }
            let has_more = !is_all || rows.len() > asked.limit;
            rows.truncate(asked.limit);
            return Ok(Page { rows, has_more, complaint });
        }
    }

    fn visit(
        &mut self,
        filter: &Filter,
        visit: &mut VisitRecord<'_>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<(), ViewError> {
        let query = RemoteQuery { filter: filter.clone(), ..RemoteQuery::default() };
        let mut scratch = Vec::new();
        let asked = self.ask(
            &query,
            &mut |item| match filter.wanted(item, &mut scratch) {
                Some(record) => visit(&record),
                None => ControlFlow::Continue(()),
            },
            has_ended,
        );
        asked.map(drop)
    }

    fn pause(&self) -> Option<Duration> {
        Some(PAUSE)
    }

    fn has_news(&mut self) -> bool {
        true
    }
}
