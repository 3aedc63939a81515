//! What tracing events has cost, as the end of a trace reports.

use crate::engine::{EngineCost, TraceWay};

/// What tracing events has cost.
pub(super) struct EventCost {
    pub(super) way: TraceWay,
    pub(super) measured: EngineCost,
    pub(super) lost: u64,
    /// Calls that were written.
    pub(super) calls: u64,
    /// Why the trace was not done in the kernel.
    pub(super) not_kernel: Option<String>,
}

impl EventCost {
    /// One line, and a second one if the trace was not done in the kernel.
    pub(super) fn text(&self) -> String {
        let EventCost { way, measured, lost, calls, .. } = self;
        let (times, held) = (measured.times, crate::duration(measured.held_ns));
        let filter = if *way == TraceWay::Seccomp { " with a filter" } else { "" };
        let cost = match (way, measured.call_ns()) {
            (TraceWay::Kernel, Some(call_ns)) if *calls > 0 => {
                let each = crate::duration(call_ns as u64);
                format!("in the kernel: {calls} calls took {each} more each")
            }
            (TraceWay::Kernel, _) => format!("in the kernel: {calls} calls"),
            // The context switches between a task and the tracer are not measured.
            _ => format!("by ptrace{filter}: {times} stops, {held} or more, which times include"),
        };
        let mut text = format!("{cost}; lost: {lost}");
        if let Some(why) = &self.not_kernel {
            text += &format!("\nwhit: not in the kernel, which costs less: {why}");
        }
        text
    }
}
