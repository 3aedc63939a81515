//! Bytes and packets that each process received and sent, where the feed has the source `process_net`.
//!
//! Rows of traffic have the names of the rows of `process`: id and start time.  Once for each sample
//! the rows are found by these, in one pass; a feed without the source costs nothing.  The numbers are
//! those of the source's own layouts, so that all views show the same.

use std::collections::HashMap;
use std::sync::Arc;

use layout::{Frame, Of, Row};
use sample::{Level, SourceDef, State};

use super::fields::identity;

/// The source.
pub(crate) const SOURCE: &str = "process_net";

/// Bytes of a KiB, in which the layouts count.
const KIB: f64 = 1024.0;

/// A number of the traffic of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    BytesIn,
    BytesOut,
    PacketsIn,
    PacketsOut,
}

/// The number of [`Flow`]s.
pub(crate) const FLOWS: usize = 4;

impl Flow {
    /// All of them.
    pub(crate) const ALL: [Flow; FLOWS] =
        [Flow::BytesIn, Flow::BytesOut, Flow::PacketsIn, Flow::PacketsOut];
}

type Rate = fn(&Row<'_>) -> Option<f64>;

/// Where the numbers are.
#[derive(Clone, Debug)]
struct Columns {
    index: usize,
    /// In the order of [`Flow`]; bytes in KiB/s.
    rates: [Rate; FLOWS],
    command: Option<usize>,
    cgroup: Option<usize>,
}

impl Columns {
    fn find(defs: &[Arc<SourceDef>]) -> Option<Self> {
        let index = defs.iter().position(|def| def.name == SOURCE)?;
        let layouts = source::find(SOURCE)?.layouts;
        let layout = layouts.iter().find(|one| one.level == Level::Detail)?;
        let all = || layout.metrics.iter().chain(layout.plot.iter().flat_map(|plot| plot.columns));
        let rate = |name: &str| match all().find(|column| column.name == name)?.value {
            Of::Number(rate) => Some(rate),
            _ => None,
        };
        let bytes = ["processnetinfo.kbin.{}", "processnetinfo.kbout.{}"];
        let rates = [rate(bytes[0])?, rate(bytes[1])?, rate("RxPkt")?, rate("TxPkt")?];
        let field = |name| defs[index].field(name);
        Some(Columns { index, rates, command: field("command"), cgroup: field("cgroup") })
    }
}

/// The traffic of the processes of a sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    columns: Option<Columns>,
    /// Rows by pid and start.
    rows: HashMap<(i32, u64), u32>,
    is_there: bool,
}

impl Traffic {
    /// Finds the source among those of a feed.
    pub(crate) fn of(defs: &[Arc<SourceDef>]) -> Self {
        Traffic { columns: Columns::find(defs), ..Traffic::default() }
    }

    /// Whether the sample has the traffic of processes.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// The state of the source, if the feed has it.
    pub(crate) fn state(&self, frame: &Frame<'_>) -> Option<State> {
        Some(frame.tracks.get(self.columns.as_ref()?.index)?.current.state)
    }

    /// Finds the rows of the latest sample.
    pub(crate) fn update(&mut self, frame: &Frame<'_>) {
        self.rows.clear();
        self.is_there = self.state(frame) == Some(State::Ok);
        let Some(whole) = self.whole(frame) else { return };
        let named = (0..).zip(whole.rows()).filter_map(|(index, row)| {
            let (pid, start) = identity(row.name())?;
            Some(((pid, start?), index))
        });
        let mut rows = std::mem::take(&mut self.rows);
        rows.extend(named);
        self.rows = rows;
    }

    /// The source as a whole.
    fn whole<'a>(&self, frame: &Frame<'a>) -> Option<Row<'a>> {
        let columns = self.columns.as_ref().filter(|_| self.is_there)?;
        Some(frame.whole(frame.tracks.get(columns.index)?))
    }

    /// The row of a process, by the name of its instance.
    pub(crate) fn row(&self, name: &[u8]) -> Option<u32> {
        if self.rows.is_empty() {
            return None;
        }
        let (pid, start) = identity(name)?;
        self.rows.get(&(pid, start?)).copied()
    }

    /// Bytes or packets per second of a row.
    pub(crate) fn rate(&self, frame: &Frame<'_>, index: u32, flow: Flow) -> Option<f64> {
        let mut row = self.whole(frame)?;
        row.index = index as usize;
        let rate = (self.columns.as_ref()?.rates[flow as usize])(&row)?;
        Some(if matches!(flow, Flow::BytesIn | Flow::BytesOut) { rate * KIB } else { rate })
    }

    /// The rows of a sample: index, command, control group.  The row of what belongs to no process is
    /// among them.
    pub(crate) fn all<'a>(
        &self,
        frame: &Frame<'a>,
    ) -> impl Iterator<Item = (u32, Option<&'a [u8]>, Option<&'a [u8]>)> {
        let columns = self.columns.as_ref();
        let text = |row: &Row<'a>, field: Option<usize>| row.text(field?);
        let (command, cgroup) = columns.map_or((None, None), |all| (all.command, all.cgroup));
        let rows = self.whole(frame).into_iter().flat_map(|whole| whole.rows());
        (0..).zip(rows).map(move |(index, row)| (index, text(&row, command), text(&row, cgroup)))
    }
}
