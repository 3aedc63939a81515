//! The mouse: a click on a title sorts, one on a line selects, a second one there opens it, one on the name
//! of a pane shows that, and the wheel moves.

use ratatui_crossterm::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::app::{App, NextStep, Prompt};
use crate::columns::Column;
use crate::panes::Pane;

/// Lines of a turn of the wheel.
const WHEEL_LINES: isize = 3;

impl App {
    /// Handles the mouse.  A question is for the keyboard alone.
    pub(crate) fn mouse(&mut self, mouse: &MouseEvent) -> NextStep {
        let lines = match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => return self.click(mouse.column, mouse.row),
            MouseEventKind::ScrollUp => -WHEEL_LINES,
            MouseEventKind::ScrollDown => WHEEL_LINES,
            _ => return NextStep::Nothing,
        };
        if let Prompt::Help { first } = &mut self.prompt {
            *first = first.saturating_add_signed(lines).min(crate::keys::HELP.len());
        } else if self.prompt != Prompt::None {
            return NextStep::Nothing;
        } else if let Some(detail) = &mut self.detail {
            detail.first = detail.first.saturating_add_signed(lines);
        } else if self.pane != Pane::Processes {
            self.pane_first = self.pane_first.saturating_add_signed(lines);
        } else {
            self.list.step(&self.readings.values(), lines);
        }
        NextStep::Draw
    }

    fn click(&mut self, x: u16, y: u16) -> NextStep {
        if self.prompt != Prompt::None || self.detail.is_some() {
            return NextStep::Nothing;
        }
        if self.pane != Pane::Processes {
            return self.click_on_pane(x, y);
        }
        let drawn = &self.drawn;
        if y == drawn.titles {
            let column = drawn.columns.iter().find(|(end, _)| x < *end).map(|(_, column)| *column);
            self.list.sort_by(column.unwrap_or(Column::Command));
            self.list.update(&self.readings.values());
        } else if y > drawn.titles && y < drawn.end {
            let index = self.list.first + usize::from(y - drawn.titles - 1);
            if index >= self.list.lines.len() {
                return NextStep::Nothing;
            }
            if self.list.selected.is_some() && self.list.cursor == index {
                self.open();
            } else {
                self.list.select(&self.readings.values(), index);
            }
        } else {
            return NextStep::Nothing;
        }
        NextStep::Draw
    }

    fn click_on_pane(&mut self, x: u16, y: u16) -> NextStep {
        let drawn = &self.drawn;
        if y == drawn.end {
            let pane =
                drawn.panes.iter().find(|(place, _)| place.contains(&x)).map(|(_, pane)| *pane);
            return pane.map_or(NextStep::Nothing, |pane| self.show_pane(pane));
        }
        let column = drawn.pane_columns.iter().position(|end| x < *end);
        if y != drawn.titles || column.is_none() {
            return NextStep::Nothing;
        }
        self.pane_sort = column;
        NextStep::Draw
    }
}
