//! What counting has cost, as the end of every run reports.

use crate::engine::{EngineCost, TraceWay};
use serde_json::{Map, Value};

/// What tracing has cost.
#[derive(Debug)]
pub(super) struct CountingCost {
    pub(super) way: TraceWay,
    /// What was measured, for all calls or for a part of them.
    pub(super) measured: EngineCost,
    /// Calls that were counted.
    pub(super) calls: u64,
    /// Calls that should have been counted and were not.
    pub(super) lost: u64,
    /// CPU time of the command and its descendants, if there was one and it has exited.
    pub(super) command_s: Option<f64>,
}

impl CountingCost {
    /// The time added to all calls, extrapolated from the calls that were measured.
    fn added_s(&self) -> Option<f64> {
        Some(self.measured.call_ns()? * self.calls as f64 / 1e9)
    }

    /// By how much the command's CPU time has grown, in percent.  Unknown with ptrace, where most
    /// of the time is spent in this process and in the scheduler.
    fn growth(&self) -> Option<f64> {
        let (added, all) = (self.added_s()?, self.command_s?);
        (self.way == TraceWay::Kernel && all > added).then(|| added / (all - added) * 100.0)
    }

    /// As one line of text.
    pub(super) fn text(&self) -> String {
        let by = match self.way {
            TraceWay::Kernel => "Counted in the kernel",
            TraceWay::Seccomp => "Counted by ptrace with a filter",
            TraceWay::Ptrace => "Counted by ptrace",
        };
        // The context switches between the tasks and the tracer are not measured.
        let at_least = if self.way == TraceWay::Kernel { "" } else { "at least " };
        let mut text = format!("{by}: {} calls", self.calls);
        match (self.measured.call_ns(), self.added_s()) {
            (Some(call_ns), Some(seconds)) => {
                text += &format!(
                    ", which took {at_least}{} more each ({} in all; {} measured)",
                    crate::duration(call_ns as u64),
                    crate::duration((seconds * 1e9) as u64),
                    self.measured.times / 2,
                );
            }
            _ => text += ", too few to measure what that costs",
        }
        if let Some(growth) = self.growth() {
            text += &format!("; the command's CPU time grew by {growth:.1} %");
        }
        format!("{text}; lost: {}.", self.lost)
    }

    /// As JSON.
    pub(super) fn json(&self) -> Value {
        let mut object = Map::new();
        object.insert("way".to_owned(), self.way.name().into());
        object.insert("calls".to_owned(), self.calls.into());
        if let Some(call_ns) = self.measured.call_ns() {
            object.insert("call_ns".to_owned(), rounded(call_ns));
            object.insert("calls_measured".to_owned(), (self.measured.times / 2).into());
        }
        if let Some(growth) = self.growth() {
            object.insert("cpu_growth_percent".to_owned(), rounded(growth));
        }
        object.into()
    }
}

/// Three digits after the decimal point.
pub(super) fn rounded(value: f64) -> Value {
    serde_json::json!((value * 1e3).round() / 1e3)
}
