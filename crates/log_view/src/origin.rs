//! Where records come from: pages of them, and all of them in turn.

use std::ops::ControlFlow;
use std::time::Duration;

use log_format::LogRecord;
use log_store::archive::{LogOrder, RecordKey};
use log_store::query::Filter;
use regex::bytes::Regex;

use crate::error::ViewError;
use crate::row::Row;

/// Whether the user waits no more.
pub(crate) type LooksForEnd<'a> = dyn Fn() -> bool + 'a;

/// What is done with each record.
pub(crate) type VisitRecord<'a> = dyn FnMut(&LogRecord<'_>) -> ControlFlow<()> + 'a;

/// Which of the records that a filter lets through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageAsked<'a> {
    /// Which end comes first.
    pub(crate) order: LogOrder,
    /// Only those behind this one, in this order.
    pub(crate) behind: Option<RecordKey>,
    /// So many at most.
    pub(crate) limit: usize,
    /// Only those whose message fits this, too.
    pub(crate) search: Option<&'a Regex>,
}

/// Some records, in the order that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    /// Whether there are more behind the last.
    pub(crate) has_more: bool,
    /// What is damaged or missing of the period, if something is.
    pub(crate) complaint: Option<String>,
}

/// Where records come from.
pub(crate) trait LogOrigin {
    /// What it is, for the title.
    fn name(&self) -> &str;

    /// A page of records.
    fn page(
        &mut self,
        filter: &Filter,
        asked: PageAsked<'_>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Page, ViewError>;

    /// Visits all records that a filter lets through, in the order of time.
    fn visit(
        &mut self,
        filter: &Filter,
        visit: &mut VisitRecord<'_>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<(), ViewError>;

    /// How long a look for new records waits for the next; `None`: nothing new comes.
    fn pause(&self) -> Option<Duration>;

    /// Whether something may be new since the last call.
    fn has_news(&mut self) -> bool;
}
