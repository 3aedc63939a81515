//! What is beside the list of processes: panes, which one is shown and what keys do there, and the speed of
//! a recording.

use crate::app::{App, INTERVAL_SECONDS_MAX, INTERVAL_SECONDS_MIN, NextStep};
use crate::keys::{self, Action};
use crate::panes::{Pane, PaneTable};

impl App {
    /// Shows a pane; of this machine with a sample, since its source may not have been read.
    pub(crate) fn show_pane(&mut self, pane: Pane) -> NextStep {
        (self.pane, self.pane_first, self.pane_sort) = (pane, 0, None);
        if self.is_live() { NextStep::Tick } else { NextStep::Draw }
    }

    /// Plays a recording twice as fast, or with a negative step half as fast, and tells the speed.
    pub(crate) fn change_speed(&mut self, step: i32) {
        let interval = self.interval_seconds * 2f64.powi(-step);
        self.interval_seconds = interval.clamp(INTERVAL_SECONDS_MIN, INTERVAL_SECONDS_MAX);
        let recorded_seconds = self.readings.meta.interval_ns() as f64 / 1e9;
        let mut text = format!("a sample every {} s", self.interval_seconds);
        if recorded_seconds > 0.0 {
            let times = recorded_seconds / self.interval_seconds;
            text.push_str(&format!(": {times} times as fast as recorded"));
        }
        if self.paused {
            text.push_str("; Space plays");
        }
        self.notice = Some(text);
    }

    /// Handles an action on a pane; false if it is none of a pane, or as on the list.
    pub(crate) fn pane_act(&mut self, action: Action) -> bool {
        if self.pane == Pane::Processes || action == Action::Quit {
            return false;
        }
        let page = self.page.max(1).cast_signed();
        let move_by = |first: usize, lines| first.saturating_add_signed(lines);
        match action {
            Action::Step(lines) => self.pane_first = move_by(self.pane_first, lines),
            Action::Page(pages) => {
                self.pane_first = move_by(self.pane_first, pages.saturating_mul(page));
            }
            Action::Top => self.pane_first = 0,
            Action::Bottom => self.pane_first = usize::MAX / 2,
            Action::Deselect => (self.pane, self.pane_first) = (Pane::Processes, 0),
            Action::SortBeside(step) => {
                let table = PaneTable::of(self.pane, &self.readings.frame(), None);
                let last = table.map_or(0, |table| table.count().saturating_sub(1));
                // The first step sorts by the first column.
                let next = self.pane_sort.map_or(0, |sort| sort.saturating_add_signed(step));
                self.pane_sort = Some(next.min(last));
            }
            Action::Pane(_) => return false,
            // What changes the list would not be seen here.
            action => return !keys::is_of_detail(action) || action == Action::AskSignal,
        }
        true
    }
}
