//! A pane in place of the list: titles, and a line for each row; CPUs with bars.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use terminal::{Canvas, name as put_name};

use super::panel;
use crate::app::App;
use crate::panes::{Pane, PaneTable};

/// Columns that a name keeps at least.
const NAME_WIDTH_MIN: u16 = 10;

/// Draws the pane from line `from` to before line `to`.
pub(super) fn draw(app: &mut App, canvas: &mut Canvas<'_>, from: u16, to: u16) {
    let height = usize::from(to.saturating_sub(from + 1));
    app.page = height.saturating_sub(1).max(1);
    let pane = app.pane;
    let Some(table) = PaneTable::of(pane, &app.readings.frame(), app.pane_sort) else { return };
    app.pane_first = app.pane_first.min(table.rows.len().saturating_sub(height));
    let bar = if pane == Pane::Cpus && canvas.area.width >= 60 { panel::BAR_WIDTH + 2 } else { 0 };
    let shown = table.fitting(canvas.area.width, NAME_WIDTH_MIN + bar);
    let ends = titles(app.pane_sort, canvas, (&table, pane, shown), (from, bar));
    (app.drawn.titles, app.drawn.pane_columns) = (from, ends);
    for (row, y) in table.rows.iter().skip(app.pane_first).zip(from + 1..to) {
        let mut x = 0;
        for column in 0..shown {
            let mut text = canvas.take_buffer();
            table.write(column, row, &mut text);
            let width = table.title(column).1;
            canvas.field(x, y, &text, width, false, Style::new());
            canvas.return_buffer(text);
            x += width + 1;
        }
        if bar > 0 {
            // Busy, then waiting for a disk.
            let share = |column| table.number(column, row).unwrap_or(0.0);
            panel::bar(canvas, x, y, &[(share(0), Color::Green), (share(3), Color::Yellow)]);
            x += bar;
        }
        let mut text = canvas.take_buffer();
        put_name(&mut text, row.name(), &mut canvas.bytes, canvas.theme.ascii);
        let room = usize::from(canvas.area.width.saturating_sub(x));
        let (cut, end) = end_of_path(&text, room, canvas.theme.ascii);
        canvas.put(x, y, cut, canvas.theme.faint());
        canvas.put(x + u16::from(!cut.is_empty()), y, end, Style::new());
        canvas.return_buffer(text);
    }
    if table.rows.is_empty() {
        let why = match table.state {
            sample::State::Ok => "none",
            state => state.word(),
        };
        canvas.put(0, from + 1, why, canvas.theme.faint());
    }
}

/// A name that is a path and has no room loses its beginning: the ends tell paths apart.
fn end_of_path(name: &str, room: usize, ascii: bool) -> (&'static str, &str) {
    let length = name.chars().count();
    if length <= room || !name.starts_with('/') || room < 2 {
        return ("", name);
    }
    let start = name.char_indices().nth(length - room + 1).map_or(0, |(at, _)| at);
    // Whole parts, if one fits.
    let part = name[start..].find('/').filter(|part| start + part + 1 < name.len());
    (if ascii { ">" } else { "…" }, &name[start + part.unwrap_or(0)..])
}

/// Draws the titles; returns the column of the screen that follows each.
fn titles(
    sort: Option<usize>,
    canvas: &mut Canvas<'_>,
    (table, pane, shown): (&PaneTable<'_>, Pane, usize),
    (y, bar): (u16, u16),
) -> Vec<u16> {
    let style = canvas.theme.header();
    canvas.buffer.set_style(Rect::new(0, y, canvas.area.width, 1), style);
    let mut x = 0;
    let mut ends = Vec::with_capacity(shown);
    for column in 0..shown {
        let (title, width) = table.title(column);
        let sorted = sort == Some(column);
        let style =
            if sorted { style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED) } else { style };
        canvas.field(x, y, title, width, false, style);
        x += width + 1;
        ends.push(x);
    }
    canvas.put(x + bar, y, pane.of_names(), style);
    ends
}

#[cfg(test)]
mod tests {
    use super::end_of_path;

    #[test]
    fn a_path_without_room_keeps_its_last_parts() {
        let name = "/system.slice/nginx.service";
        assert_eq!(end_of_path(name, 27, false), ("", name));
        assert_eq!(end_of_path(name, 26, false), ("…", "/nginx.service"));
        assert_eq!(end_of_path(name, 15, true), (">", "/nginx.service"));
        assert_eq!(end_of_path(name, 10, false), ("…", "x.service"));
        assert_eq!(end_of_path("/ä/öü", 4, false), ("…", "/öü"));
        assert_eq!(end_of_path("vda1234", 3, false), ("", "vda1234"));
        assert_eq!(end_of_path("/abc", 0, false), ("", "/abc"));
    }
}
