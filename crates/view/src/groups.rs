//! Instances by group (`--by command`, `user`, `cgroup`): a line for each group with the sums of
//! its instances, including those that ended in the interval, then a line that compares the total
//! with the machine's own counters.
//!
//! A missing number adds nothing to a sum; a sum of missing numbers only is missing.  Instances
//! whose group is unknown form the group `-`.

use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Frame, Options};
use sample::{Meta, SourceDef};

use crate::groups::sums::{Group, GroupTally, Plan, shown};
use crate::tally::Close;
use crate::{TableForm, View};

pub(crate) mod lines;
mod machine;
mod sums;
#[cfg(test)]
mod tests;

pub use sums::{GroupLine, GroupSums};

/// The view.
pub struct Groups {
    form: TableForm,
    zone: TimeZone,
    host: String,
    groups: GroupTally,
    header_written: bool,
    intervals: u64,
    out: Vec<u8>,
}

impl Groups {
    /// A view of groups.
    pub fn new(form: TableForm, zone: TimeZone) -> Self {
        Groups {
            form,
            zone,
            host: String::new(),
            groups: GroupTally::default(),
            header_written: false,
            intervals: 0,
            out: Vec::new(),
        }
    }
}

/// The machine's own counters for the interval, to compare the sums with.
#[derive(Clone, Copy)]
struct Attribution {
    busy_ns: Option<f64>,
    attributed_ns: Option<f64>,
    unattributed_ns: Option<f64>,
    ends_lost: Option<f64>,
}

impl Attribution {
    fn of(close: &Close) -> Self {
        let Close { busy_ns, attributed_ns, ends_lost, .. } = *close;
        let unattributed_ns = busy_ns.zip(attributed_ns).map(|(busy, known)| busy - known);
        Attribution { busy_ns, attributed_ns, unattributed_ns, ends_lost }
    }
}

impl View for Groups {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        meta.host().clone_into(&mut self.host);
        self.groups.begin(defs, options)
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(close) = self.groups.add(frame) else { return Ok(()) };
        let Some(plan) = self.groups.plan else { return Ok(()) };
        self.write(&plan, frame, &close, out)?;
        self.groups.sums.clear();
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

impl Groups {
    fn write(
        &mut self,
        plan: &Plan,
        frame: &Frame<'_>,
        close: &Close,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let total = self.groups.sums.total();
        let groups = &mut self.groups.sums.groups;
        groups.truncate(plan.count);
        self.intervals += 1;
        self.out.clear();
        let interval =
            Interval { plan, frame, close, total: &total, attribution: Attribution::of(close) };
        match self.form {
            TableForm::Text => {
                lines::push(&mut self.out, &interval, groups, &self.zone, self.intervals);
            }
            TableForm::Csv => {
                if !self.header_written {
                    machine::push_csv_header(&mut self.out, plan);
                }
                machine::push_csv(&mut self.out, &interval, groups, &self.host);
            }
            TableForm::Json => machine::push_json(&mut self.out, &interval, groups, &self.host),
        }
        self.header_written = true;
        out.write_all(&self.out)
    }
}

/// What is written for an interval besides its groups.
struct Interval<'a> {
    plan: &'a Plan,
    frame: &'a Frame<'a>,
    close: &'a Close,
    total: &'a Group,
    attribution: Attribution,
}
