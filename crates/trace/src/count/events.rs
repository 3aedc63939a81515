//! Calls counted from the events of an engine that cannot count by itself.
//!
//! Costs what the engine costs, and a lookup in a tree for each call.  The name of a task is read
//! from `/proc` when it is first seen and when it calls `execve`.

use std::collections::HashMap;

use bpf::Split;

use crate::event::error_of;
use crate::select::{CallStatus, CallStatuses};
use crate::tasks::TaskMap;
use crate::{CallId, CallTally, EventKind, SplitKey, TraceEvent};

/// Most tasks whose names are kept; beyond that all names are dropped and read again.
const NAMES_MAX: usize = 65_536;

/// Most tasks that are kept although they are in no call.
const TASKS_MAX: usize = 65_536;

/// Which calls of the events are counted.
#[derive(Clone, Copy, Debug)]
pub struct CountCriteria {
    /// How the calls must have ended.
    pub statuses: CallStatuses,
    /// How long the calls must have taken at least.
    pub slower_than_ns: u64,
    /// The unit by which they are counted, beside the sum.
    pub split: Split,
}

/// A tally that grows with each event.
#[derive(Debug)]
pub struct EventCounts {
    criteria: CountCriteria,
    tally: CallTally,
    names: HashMap<i32, Vec<u8>>,
    /// Calls under way, by thread.
    under_way: TaskMap<Option<CallId>>,
}

impl EventCounts {
    /// Nothing counted so far.
    #[must_use]
    pub fn new(criteria: CountCriteria) -> Self {
        EventCounts {
            criteria,
            tally: CallTally::default(),
            names: HashMap::new(),
            under_way: TaskMap::default(),
        }
    }

    /// Counts an event.
    pub fn add(&mut self, event: &TraceEvent) {
        match event.what {
            EventKind::Enter(call) => {
                if self.under_way.len() > TASKS_MAX {
                    // So many exit events are missing.
                    self.under_way.retain(|_, call| call.is_some());
                }
                self.under_way.insert(event.thread, Some(call.id));
            }
            EventKind::Exit { call, result, wall_ns, cpu_ns, .. } => {
                if let Some(under_way) = self.under_way.get_mut(&event.thread) {
                    *under_way = None;
                }
                if result == 0 && call.id.known_name() == Some("execve") {
                    self.names.remove(&event.thread);
                    self.names.remove(&event.process);
                }
                self.count(event, call.id, result, wall_ns, cpu_ns);
            }
            EventKind::Ended(_) | EventKind::Detached => {
                if let Some(Some(id)) = self.under_way.remove(&event.thread) {
                    *self.tally.unfinished.entry(id).or_default() += 1;
                }
                self.names.remove(&event.thread);
            }
            _ => {}
        }
    }

    fn count(
        &mut self,
        event: &TraceEvent,
        id: CallId,
        result: i64,
        wall_ns: u64,
        cpu_ns: Option<u64>,
    ) {
        let failed = error_of(result).is_some();
        let status = if failed { CallStatus::Failed } else { CallStatus::Successful };
        if !self.criteria.statuses.has(status) || wall_ns < self.criteria.slower_than_ns {
            return;
        }
        self.tally.add(id, result, wall_ns, cpu_ns);
        let unit = match self.criteria.split {
            Split::None => return,
            Split::Process => SplitKey::Process(event.process, self.name(event.process)),
            Split::Thread => SplitKey::Thread(event.thread, self.name(event.thread)),
            Split::Command => SplitKey::Command(self.name(event.thread)),
            Split::ProcessGroup => {
                let process = rustix::process::Pid::from_raw(event.process);
                let group = rustix::process::getpgid(process);
                SplitKey::ProcessGroup(
                    group.map_or(0, |group| group.as_raw_nonzero().get().unsigned_abs().into()),
                )
            }
        };
        self.tally.units.entry((unit, id)).or_default().add(failed, wall_ns, cpu_ns);
    }

    /// The current name of a task, or the last one read; empty if it cannot be read.
    fn name(&mut self, task: i32) -> Vec<u8> {
        if self.names.len() > NAMES_MAX {
            self.names.clear();
        }
        let read = || {
            let mut name = std::fs::read(format!("/proc/{task}/comm")).unwrap_or_default();
            name.pop_if(|byte| *byte == b'\n');
            name
        };
        self.names.entry(task).or_insert_with(read).clone()
    }

    /// Everything counted so far.
    #[must_use]
    pub fn tally(&self) -> CallTally {
        let mut tally = self.tally.clone();
        for id in self.under_way.values().flatten() {
            *tally.unfinished.entry(*id).or_default() += 1;
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, WaitStatus};

    #[test]
    fn calls_are_counted_as_asked_and_those_under_way_are_unfinished() {
        let read = CallId::native(0);
        let event = |thread, what| TraceEvent { time_ns: 0, thread, process: thread, what };
        let exit = |result, wall_ns| EventKind::Exit {
            call: Call { id: read, arguments: [0; 6] },
            result,
            wall_ns,
            cpu_ns: None,
            changes: crate::CallChanges::default(),
        };
        let criteria = CountCriteria {
            statuses: CallStatuses::only(CallStatus::Failed),
            slower_than_ns: 10,
            split: Split::Process,
        };
        let mut counts = EventCounts::new(criteria);
        for (result, wall_ns) in [(0, 100), (-2, 5), (-2, 50)] {
            counts.add(&event(1, exit(result, wall_ns)));
        }
        let enter = EventKind::Enter(Call { id: read, arguments: [0; 6] });
        counts.add(&event(1, enter));
        counts.add(&event(2, enter));
        counts.add(&event(2, EventKind::Ended(WaitStatus::Exited(0))));
        let tally = counts.tally();
        assert_eq!((tally.calls[&read].calls, tally.calls[&read].errors), (1, 1));
        assert_eq!(tally.units.len(), 1);
        assert_eq!(tally.unfinished[&read], 2);
    }
}
