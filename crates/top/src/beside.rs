//! Panes beside the list of processes: which one is shown, and what keys do there.

use crate::app::App;
use crate::keys::{self, Action};
use crate::panes::{Pane, PaneTable};

impl App {
    /// Shows the next pane of the feed, or the one before.
    pub(crate) fn turn_pane(&mut self, step: isize) {
        self.pane = self.pane.next(&self.readings.frame(), step);
        (self.pane_first, self.pane_sort) = (0, None);
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
